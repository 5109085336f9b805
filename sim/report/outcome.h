/* outcome.h - the outcome of a check, as TAP, as JUnit XML, and as an annotation of GitHub Actions.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_OUTCOME_H
#define REPORT_OUTCOME_H

#include "base/diag.h"
#include "base/pack.h"
#include "base/text.h"

enum outcome_kind {
    OUTCOME_PASSED,
    OUTCOME_SKIPPED,
    /* failures: */
    OUTCOME_CHANGED,
    OUTCOME_TOOL_CHANGED, /* the file is unchanged, the version of shardsim is not */
    OUTCOME_NEW,          /* no baseline to compare with */
    OUTCOME_DOES_NOT_FIT, /* in the memory of a device */
    OUTCOME_WRONG,        /* numbers */
    OUTCOME_NOT_RUN,
    OUTCOME_MISSING, /* in the baseline, but no longer in the scenario */
    /* errors, files that could not be read: */
    OUTCOME_BAD_SCENARIO,
    OUTCOME_BAD_BASELINE,
    OUTCOME_NKINDS
};

/* Notes on a check that may have passed. */
enum outcome_note {
    OUTCOME_PLANNED, /* why the strategy was not executed here */
    OUTCOME_OLDER,   /* what the older baseline lacks */
    OUTCOME_NNOTES
};

struct outcome {
    enum outcome_kind kind;
    char *file;         /* as opened, for messages; owned, like the strings below */
    char *suite, *name; /* "dp_tp.yaml", the strategy; name is "" for the file as a whole */
    char *notes[OUTCOME_NNOTES]; /* NULL: no such note */
    uint64_t time_ns;            /* that the check took; 0: not measured */
    struct diag reasons;         /* why it failed or was skipped, or the changes accepted */
};

bool outcome_is_failure(enum outcome_kind kind);
bool outcome_is_error(enum outcome_kind kind);

/* An outcome without reasons; false: no memory. */
bool outcome_init(struct outcome *out, const char *file, const char *suite, const char *name);
void outcome_fini(struct outcome *outcome);
/* NULL: none.  False: no memory. */
bool outcome_set_note(struct outcome *outcome, enum outcome_note note, const char *words);

/* Pack an outcome as bytes for another process, and unpack; false: no memory, or not the bytes of
 * an outcome. */
void outcome_pack(const struct outcome *outcome, struct text *out);
bool outcome_unpack(struct outcome *out, struct unpack *from);

/* Print a test point with its number from 1, the notes as a comment, and the details as a YAML
 * block. */
void outcome_print_tap(const struct outcome *outcome, size_t number, struct text *out);

/* Print "::error file=...,line=...::..." for a failure or an error. */
void outcome_print_annotation(const struct outcome *outcome, struct text *out);

/* Print all outcomes as JUnit XML, in the order of their suites. */
void outcome_print_junit(const struct outcome *list, size_t n, struct text *out);

#endif /* REPORT_OUTCOME_H */
