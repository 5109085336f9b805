/* layer_times.h - a modelled step by kinds of layers: the time of each kind on the busiest device,
 * and its limit: the rate of flops, the memory's bandwidth, launching kernels, tiles that leave
 * units idle, or the network.
 *
 * Layers whose names differ only in a number are of one kind, which includes the gradients of their
 * parameters; the optimizer is a kind of its own.  Transfers count with the time that computations
 * wait for them: the times of all kinds and the time of waiting for other devices add up to the
 * step.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_LAYER_TIMES_H
#define REPORT_LAYER_TIMES_H

#include "base/text.h"
#include "program/record.h"

enum layer_bound {
    LAYER_COMPUTE,
    LAYER_MEMORY,
    LAYER_LAUNCH,
    LAYER_TILES,
    LAYER_NETWORK,
    LAYER_HOST,
    LAYER_NBOUNDS
};

struct layer_time {
    struct text name;                /* "layers/N/mlp" */
    int64_t bound_ns[LAYER_NBOUNDS]; /* kernels by limit; the network: exposed transfers */
    int64_t hidden_ns;               /* transfers while computations go on */
};

struct layer_times {
    struct layer_time *layers; /* in descending order of time */
    uint32_t nlayers;
    int64_t step_ns;
    int nbounds; /* to be shown: without the host, unless a layer waits for it */
};

/* Heads of the columns: the bounds, and then two more. */
extern const char *const layer_time_heads[LAYER_NBOUNDS], *const layer_time_more[2];

/* Sum up a record that has a modelled step.  SHD_ENOMEM; free with layer_times_fini() either
 * way. */
SHD_MUST_CHECK int layer_times_init(struct layer_times *out, const struct record *record,
                                    struct shd_error *err);
void layer_times_fini(struct layer_times *times);

int64_t layer_time_ns(const struct layer_time *layer);

/* "compute", "memory", "launch", "tiles", "network" or "host": the limit that accounts for most of
 * the layer's time. */
const char *layer_time_bound(const struct layer_time *layer);

/* A section of the report, in lines of `columns`. */
void layer_times_text(const struct layer_times *times, size_t columns, struct text *out);

#endif /* REPORT_LAYER_TIMES_H */
