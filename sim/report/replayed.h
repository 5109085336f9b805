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
#include "report/figures.h"

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

/* The value of "replayed", with the record's figures and the "repeats" in which its times were
 * taken; and of "busy_seconds" in the balance.  The record has a replay.  SHD_ENOMEM. */
SHD_MUST_CHECK int replayed_json(struct json_out *out, const struct record *record,
                                 const struct figures *figures, struct shd_error *err);
void replayed_json_balance(struct json_out *out, const struct record *record);

/* A part of each device's step. */
struct replayed_part {
    enum figure_id id; /* of its mean over the devices */
    const char *text;  /* NULL: not in the text */
    size_t offset;     /* of its nanoseconds in struct record_replayed */
    bool of_host;      /* only with offloading */
};
#define REPLAYED_NPARTS 6
extern const struct replayed_part replayed_parts[REPLAYED_NPARTS];

/* Whether a record has a part. */
bool replayed_has(const struct record *record, const struct replayed_part *part);

struct replayed_balance {
    double mean_s, max_s;
    int32_t slowest; /* the lowest device with the maximum */
};
struct replayed_balance replayed_balance_of(const struct record *record,
                                            const struct replayed_part *part);

/* Whether values of two replayed steps, in nanoseconds, differ by no more than the larger noise of
 * the steps (cost/steady.h).  Unknown noise counts as infinite. */
bool replayed_is_tie(const struct record_replay *a, double a_ns, const struct record_replay *b,
                     double b_ns);

/* The block `replayed`, in lines of `columns`.  SHD_ENOMEM. */
SHD_MUST_CHECK int replayed_text(struct text *out, const struct record *record, size_t columns,
                                 struct shd_error *err);

#endif /* REPORT_REPLAYED_H */
