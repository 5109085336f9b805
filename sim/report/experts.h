/* experts.h - how even the work of experts is: tokens of each expert and rank, drops, and the bytes
 * of their all-to-all.
 *
 * Of a run they are what devices counted; of a plan what the routing says, which is `assumed` where
 * a router decides.  Layers that are alike in all of it are one row.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_EXPERTS_H
#define REPORT_EXPERTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json_out.h"
#include "base/text.h"
#include "program/record.h"

/* Numbers of which one is the largest. */
struct experts_load {
    uint64_t *loads;
    uint32_t n, most;   /* the first of the largest */
    double mean, times; /* the largest is so many times the mean; 1: all are alike */
};

struct experts_link {
    int32_t from, to; /* positions */
    uint64_t bytes;   /* in the step */
};

/* Those pairs of devices between which any bytes go in the op. */
struct experts_links {
    uint64_t n;                /* 0: nothing moves, or a router has decided and nobody counted */
    struct experts_link *each; /* NULL above RECORD_LINKS_MAX devices */
    struct experts_link most;
    double mean_bytes;
};

struct experts_row {
    char *where;    /* "layers/.../moe/dispatch" */
    uint32_t count; /* ops alike, of different layers */
    uint32_t op;    /* the first */
    bool assumed;
    uint64_t choices, kept;       /* of a step; the others are dropped */
    struct experts_load experts;  /* rows of each */
    struct experts_load ranks;    /* rows of each shard of experts and slots */
    int32_t device;               /* the first that holds the fullest shard */
    struct experts_load received; /* bytes into each device by the op itself; none: nothing moves */
    struct experts_links links;
};

struct experts {
    struct experts_row *rows;
    uint32_t nrows; /* 0: there are no experts */
};

/* SHD_ENOMEM. */
SHD_MUST_CHECK int experts_init(struct experts *out, const struct record *record,
                                struct shd_error *err);
void experts_fini(struct experts *experts);

/* Whether devices have as many rows, but for some percent. */
bool experts_are_even(const struct experts_row *row);

/* "device 5 holds expert 3, which has 3.1x the mean": why the fullest device is so. */
void experts_why(const struct experts_row *row, const struct record *record, struct text *out);

void experts_text(const struct experts *experts, const struct record *record, struct text *out);
void experts_json(const struct experts *experts, const struct record *record, struct json_out *out);

#endif /* REPORT_EXPERTS_H */
