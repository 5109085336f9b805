/* outcome.h - what a check came to, as TAP, as JUnit XML, and as GitHub Actions shows it.
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
    /* It failed: */
    OUTCOME_CHANGED,
    OUTCOME_NEW,          /* there is nothing that it could be compared with */
    OUTCOME_DOES_NOT_FIT, /* in the memory of a device */
    OUTCOME_WRONG,        /* numbers */
    OUTCOME_NOT_RUN,
    OUTCOME_MISSING, /* what is expected, and is not there any more */
    /* It could not be read: */
    OUTCOME_BAD_SCENARIO,
    OUTCOME_BAD_BASELINE,
    OUTCOME_NKINDS
};

/* What is to be known of one that passed, too. */
enum outcome_note {
    OUTCOME_PLANNED, /* why it was not executed here */
    OUTCOME_OLDER,   /* what its baseline does not hold */
    OUTCOME_NNOTES
};

struct outcome {
    enum outcome_kind kind;
    char *file;         /* as it was opened, for messages; owned, as all that follows */
    char *suite, *name; /* "dp_tp.yaml", the strategy; name is "" for the file as a whole */
    char *notes[OUTCOME_NNOTES]; /* NULL: nothing of that kind */
    struct diag reasons;         /* why it failed or was skipped, or what was accepted */
};

bool outcome_is_failure(enum outcome_kind kind);
bool outcome_is_error(enum outcome_kind kind);

/* Nothing said yet; false: no memory. */
bool outcome_init(struct outcome *out, const char *file, const char *suite, const char *name);
void outcome_fini(struct outcome *outcome);
/* NULL: none.  False: no memory. */
bool outcome_set_note(struct outcome *outcome, enum outcome_note note, const char *words);

/* As bytes for another process, and back; false: no memory, or the bytes are none of an outcome. */
void outcome_pack(const struct outcome *outcome, struct text *out);
bool outcome_unpack(struct outcome *out, struct unpack *from);

/* A test point with its number from 1, its notes as a comment, and what is to be said of it: a YAML
 * block. */
void outcome_print_tap(const struct outcome *outcome, size_t number, struct text *out);

/* "::error file=...,line=...::..." of one that failed or could not be read. */
void outcome_print_annotation(const struct outcome *outcome, struct text *out);

/* All of them, in the order of their suites. */
void outcome_print_junit(const struct outcome *list, size_t n, struct text *out);

#endif /* REPORT_OUTCOME_H */
