/* attention.h - how even attention is: pairs of query and key that each device works on, in all and
 * in each step of a ring, and why the device with the most pairs has so many.
 *
 * The report covers attention that skips pairs which no query sees (a causal mask, documents, a
 * window), so that a device's work depends on its tokens.  Counted are the pairs of the tiles that
 * are worked on (kern/attention.h): by the kernels of a run, in closed form for a plan.  Equal
 * layers share a row.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_ATTENTION_H
#define REPORT_ATTENTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json_out.h"
#include "base/text.h"
#include "program/record.h"

/* An attention or its gradient: one op, or the consecutive steps of a ring. */
struct attention_row {
    char *where; /* "layers/.../attn/heads" */
    uint8_t phase;
    uint32_t count;  /* equal ops, of different layers */
    uint32_t nsteps; /* of the ring; 1: no ring */
    uint32_t *ops;   /* [step] of the first layer */
    uint32_t ndoers; /* rows of the record whose devices have a part */
    uint32_t *doers; /* [ndoers] numbers of these rows */
    uint128 *pairs;  /* [step][ndoers], of a device, over all runs of the op in a training step */
    uint128 *all;    /* [ndoers] sum over the steps */
    uint64_t pair_flops;
    uint32_t most;      /* index of the first doer with the most pairs */
    double mean, times; /* mean pairs of devices with a part; the most pairs / mean */
    double busy;        /* mean / max over devices of the replayed time of all steps, 1 is even;
                           negative: not replayed */
    double lockstep;    /* the share of time, 0 to 1, in which devices work, if in each step of the
                           ring all wait for the device with the most pairs */
};

struct attention {
    struct attention_row *rows;
    uint32_t nrows; /* 0: no attention skips pairs, or one device only */
};

/* SHD_ENOMEM. */
SHD_MUST_CHECK int attention_init(struct attention *out, const struct record *record,
                                  struct shd_error *err);
void attention_fini(struct attention *attention);

#define ATTENTION_EVEN 1.05 /* attention is balanced if most / mean is below */

/* Whether all devices have about the same number of pairs (ATTENTION_EVEN). */
bool attention_is_even(const struct attention_row *row);

/* "device 7 has 1.9x the mean of attention: it has the last tokens of each sequence, which see
 * most": why the device with the most pairs has so many, and which other order of tokens would
 * help. */
void attention_why(const struct attention_row *row, const struct record *record, struct text *out);

/* Text on uneven attention and on rings only. */
void attention_text(const struct attention *attention, const struct record *record,
                    struct text *out);
/* All rows as JSON.  SHD_ENOMEM. */
SHD_MUST_CHECK int attention_json(const struct attention *attention, const struct record *record,
                                  struct json_out *out);

#endif /* REPORT_ATTENTION_H */
