/* result.h - one strategy's record as text for people and as JSON for programs.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_RESULT_H
#define REPORT_RESULT_H

#include "base/json_out.h"
#include "base/text.h"
#include "program/record.h"
#include "report/fit.h"
#include "report/saving.h"

/* Follows "3 elements", for results that are infinite or not a number. */
#define RESULT_NONFINITE                                                                    \
    "that are infinite or not a number, also in the unsharded step: the layout is not the " \
    "reason; a lower optimizer.lr or loss_scale may keep them finite"

struct result {
    const char *scenario, *strategy;
    const char *file; /* of the scenario; NULL: not known */
    const char *what; /* the model in a few words: "2 layers mlp gelu, ..." */
    uint64_t memory_limit_bytes;
    uint64_t tokens; /* of a step; 0: unknown */
    bool serves, decodes; /* a serving step; a decode step */
    int64_t sequences;    /* of a serving step; */
    int64_t kept;         /* tokens kept of each at the end; */
    double made;          /* tokens that a decode step makes of each */
    int64_t sequences_that_fit; /* in the devices' memory; negative: not known */
    const struct record *record;
    struct saving saving;  /* by a search, if one was made */
    size_t columns;        /* text: width of a line; 0: 80 */
    bool verbose;          /* text: every kind of collective, however many */
    const struct fit *fit; /* changes that make the step fit; NULL: not searched for */
};

/* One object of schema shardsim.result/2.  SHD_ENOMEM. */
SHD_MUST_CHECK int result_json(const struct result *result, struct json_out *out,
                               struct shd_error *err);

/* A page of text.  SHD_ENOMEM. */
SHD_MUST_CHECK int result_text(const struct result *result, struct text *out,
                               struct shd_error *err);

#endif /* REPORT_RESULT_H */
