/* experts.h - how even the work of experts is: tokens of each expert and rank, drops, and the bytes
 * of their all-to-all.
 *
 * The figures of a run are the devices' counts; those of a plan follow the routing, which is
 * `assumed` where a router decides.  Equal layers share a row.
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

/* Loads, and which is the largest. */
struct experts_load {
    uint64_t *loads;
    uint32_t n, most;   /* index of the first of the largest */
    double mean, times; /* largest / mean; 1: all are equal */
};

struct experts_link {
    int32_t from, to; /* positions */
    uint64_t bytes;   /* in the step */
};

/* The pairs of devices that exchange bytes in the op. */
struct experts_links {
    uint64_t n;                /* 0: nothing moves, or a router has decided and nothing was
                                  counted */
    struct experts_link *each; /* NULL above RECORD_LINKS_MAX devices */
    struct experts_link most;
    double mean_bytes;
};

struct experts_row {
    char *where;    /* "layers/.../moe/dispatch" */
    uint32_t count; /* equal ops, of different layers */
    uint32_t op;    /* the first */
    bool assumed;
    uint64_t choices, kept;       /* in a step; the other choices are dropped */
    struct experts_load experts;  /* rows of each expert */
    struct experts_load ranks;    /* rows of each shard of experts and slots */
    int32_t device;               /* the first holder of the fullest shard */
    struct experts_load received; /* bytes into each device in this op; empty: nothing moves */
    struct experts_links links;
};

struct experts {
    struct experts_row *rows;
    uint32_t nrows; /* 0: no experts */
};

/* SHD_ENOMEM. */
SHD_MUST_CHECK int experts_init(struct experts *out, const struct record *record,
                                struct shd_error *err);
void experts_fini(struct experts *experts);

/* Whether all devices have about the same number of rows. */
bool experts_are_even(const struct experts_row *row);

/* "device 5 holds expert 3, which has 3.1x the mean": why the fullest device is the fullest. */
void experts_why(const struct experts_row *row, const struct record *record, struct text *out);

void experts_text(const struct experts *experts, const struct record *record, struct text *out);
void experts_json(const struct experts *experts, const struct record *record, struct json_out *out);

#endif /* REPORT_EXPERTS_H */
