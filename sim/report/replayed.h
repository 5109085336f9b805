/* replayed.h - the replayed step as text and JSON: devices' busy and waiting times, and the
 * critical path.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_REPLAYED_H
#define REPORT_REPLAYED_H

#include <shd/error.h>

#include "base/json_out.h"
#include "base/text.h"
#include "program/record.h"

/* Time of one op of the model on the critical path, over all devices that the path visits. */
struct replayed_share {
    const char *op;    /* "einsum", "all-reduce" */
    const char *where; /* the op's name */
    uint8_t phase;
    uint32_t count;    /* stretches */
    int64_t ns;
};

/* The shares of the path, the largest first.  Free it.  NULL: no memory. */
struct replayed_share *replayed_shares(size_t *n, const struct record *record);

/* The value of "replayed", with "spread" (a fraction of the step; null: not known) and "repeats" in
 * which its times were taken; and of "busy_seconds" in the balance.  The record has a replay.
 * SHD_ENOMEM. */
SHD_MUST_CHECK int replayed_json(struct json_out *out, const struct record *record,
                                 struct shd_error *err);
void replayed_json_balance(struct json_out *out, const struct record *record);

/* The mean over devices of one of the values of "replayed": "busy_seconds" and the like. */
double replayed_mean_seconds(const struct record *record, const char *key);

/* Whether values of two replayed steps, in nanoseconds, differ by no more than the larger noise of
 * the steps (cost/steady.h).  A noise that is not known is larger than all. */
bool replayed_is_tie(const struct record_replay *a, double a_ns, const struct record_replay *b,
                     double b_ns);

/* The block `replayed`.  SHD_ENOMEM. */
SHD_MUST_CHECK int replayed_text(struct text *out, const struct record *record,
                                 struct shd_error *err);

#endif /* REPORT_REPLAYED_H */
