/* attention.h - how even attention is: pairs of query and key that each device works on, in all and
 * in each step of a ring, and why the one that has most has.
 *
 * Told is attention that passes over pairs which no query sees (a causal mask, documents, a
 * window), so that it depends on a device's tokens how much it has to do.  Counted are the pairs of
 * the tiles that are worked on (kern/attention.h): of a run as its kernels counted them, of a plan
 * in closed form.  Layers that are alike in all of it are one row.
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

/* An attention or its gradient: one op, or the steps of a ring, which follow each other. */
struct attention_row {
    char *where; /* "layers/.../attn/heads" */
    uint8_t phase;
    uint32_t count;  /* alike, of different layers */
    uint32_t nsteps; /* of the ring; 1: there is none */
    uint32_t *ops;   /* [step] of the first of them */
    uint32_t ndoers; /* rows of the record whose devices have a part */
    uint32_t *doers; /* [ndoers] their numbers in the record */
    uint128 *pairs;  /* [step][ndoers], of a device, all times that a step of training does it */
    uint128 *all;    /* [ndoers]: of all steps */
    uint64_t pair_flops;
    uint32_t most;      /* of the doers: the first of those that have most */
    double mean, times; /* of all devices that have a part; the most is so many times the mean */
    double busy;        /* mean / max over devices of the time of all steps in the replay, 1 is
                           even; negative: not replayed */
    double lockstep;    /* what part of their time devices have work, 0 to 1, where all wait in each
                           step of the ring for the one that has most in it */
};

struct attention {
    struct attention_row *rows;
    uint32_t nrows; /* 0: there is no attention that passes over pairs, or one device only */
};

/* SHD_ENOMEM. */
SHD_MUST_CHECK int attention_init(struct attention *out, const struct record *record,
                                  struct shd_error *err);
void attention_fini(struct attention *attention);

#define ATTENTION_EVEN 1.05 /* the most is less than so many times the mean: nobody loses by it */

/* Whether devices have as much to do, but for some percent. */
bool attention_is_even(const struct attention_row *row);

/* "device 7 has 1.9x the mean of attention: it has the last tokens of each sequence, which see
 * most": why the device that has most has, and what other order of tokens would help. */
void attention_why(const struct attention_row *row, const struct record *record, struct text *out);

/* Only of what is uneven, and of rings. */
void attention_text(const struct attention *attention, const struct record *record,
                    struct text *out);
/* Of all.  SHD_ENOMEM. */
SHD_MUST_CHECK int attention_json(const struct attention *attention, const struct record *record,
                                  struct json_out *out);

#endif /* REPORT_ATTENTION_H */
