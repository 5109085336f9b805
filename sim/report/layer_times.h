/* layer_times.h - a modelled step by kinds of layers: what each takes of the busiest device, and
 * whether the rate of flops, the memory's bandwidth, launching kernels or the network bounds it.
 *
 * Layers of one name but for their number are of one kind, and have the gradients of their
 * parameters; the optimizer is a kind of its own.  Of transfers that time counts which computations
 * have to wait for: times of all kinds and the time of waiting for other devices add up to the
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

enum layer_bound { LAYER_COMPUTE, LAYER_MEMORY, LAYER_LAUNCH, LAYER_NETWORK, LAYER_NBOUNDS };

struct layer_time {
    struct text name;                /* "layers/N/mlp" */
    int64_t bound_ns[LAYER_NBOUNDS]; /* of kernels by what bounds them; exposed to the network */
    int64_t hidden_ns;               /* while bytes arrive and computations go on */
};

struct layer_times {
    struct layer_time *layers; /* what takes longest first */
    uint32_t nlayers;
    int64_t step_ns;
};

/* Of a record that has a modelled step.  SHD_ENOMEM; free with layer_times_fini() either way. */
SHD_MUST_CHECK int layer_times_init(struct layer_times *out, const struct record *record,
                                    struct shd_error *err);
void layer_times_fini(struct layer_times *times);

int64_t layer_time_ns(const struct layer_time *layer);

/* "compute", "memory", "launch" or "network": what most of its time goes by. */
const char *layer_time_bound(const struct layer_time *layer);

/* A section of the report. */
void layer_times_text(const struct layer_times *times, struct text *out);

#endif /* REPORT_LAYER_TIMES_H */
