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

enum outcome_kind { OUTCOME_PASSED, OUTCOME_FAILED, OUTCOME_SKIPPED };

struct outcome {
    enum outcome_kind kind;
    char *file;          /* as it was opened, for messages; owned, as all that follows */
    char *suite, *name;  /* "dp_tp.yaml", the strategy; name is "" for the file as a whole */
    struct diag reasons; /* why it failed or was skipped, or what was accepted */
};

/* Nothing said yet; false: no memory. */
bool outcome_init(struct outcome *out, const char *file, const char *suite, const char *name);
void outcome_fini(struct outcome *outcome);

/* As bytes for another process, and back; false: no memory, or the bytes are none of an outcome. */
void outcome_pack(const struct outcome *outcome, struct text *out);
bool outcome_unpack(struct outcome *out, struct unpack *from);

/* A test point with its number from 1, and what is to be said of it: a YAML block. */
void outcome_print_tap(const struct outcome *outcome, size_t number, struct text *out);

/* "::error file=...,line=...::..." of one that failed. */
void outcome_print_annotation(const struct outcome *outcome, struct text *out);

/* All of them, in the order of their suites. */
void outcome_print_junit(const struct outcome *list, size_t n, struct text *out);

#endif /* REPORT_OUTCOME_H */
