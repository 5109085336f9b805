/* traffic.h - the communication of a step, summed up: one row for equal collectives.
 *
 * Two are equal if they are the same collective over the same axes on equal shards, in the same
 * phase, requested at the same place of some layer ("layers/0/mlp/out" and "layers/1/mlp/out" are
 * the same place: "layers/N/mlp/out" with any number).
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_TRAFFIC_H
#define REPORT_TRAFFIC_H

#include "base/json_out.h"
#include "program/record.h"

struct traffic_row {
    const char *op; /* "all-gather" */
    char *axes;     /* "dp,tp" */
    uint32_t naxes;
    uint8_t axis[SHD_MESH_AXES_MAX];
    uint32_t group_size, groups;
    uint64_t count;
    uint8_t phase;
    enum shd_dtype dtype;
    const char *algorithm;                /* NULL: fetched box by box */
    uint64_t operand_bytes, result_bytes; /* of one device and step */
    uint128 received_bytes;               /* all devices, all `count` */
    char *where;                          /* op that requested it; '*' for the number of a layer */
    char *why;                            /* the first one's reason, also with '*' */
};

/* Bytes under a name: an axis (or several, "dp,tp"), a collective, a phase. */
struct traffic_sum {
    const char *name; /* points into the rows, or static */
    uint128 bytes;
};

struct traffic {
    struct traffic_row *rows;
    size_t nrows;
    struct traffic_sum *by_axis, *by_op, *by_phase;
    size_t nby_axis, nby_op, nby_phase;
};

/* SHD_ENOMEM. */
SHD_MUST_CHECK int traffic_init(struct traffic *out, const struct record *record,
                                struct shd_error *err);
void traffic_fini(struct traffic *traffic);

/* "dp,tp": the mesh axes that a communicating op runs over, or that the sharding change involves;
 * to be freed with free().  NULL: no memory. */
char *traffic_axes(const struct program *program, const struct program_op *op);

/* A row's axes as a list of names. */
void traffic_write_axes(struct json_out *out, const struct traffic_row *row);

#endif /* REPORT_TRAFFIC_H */
