/* state.h - what optimizers are made of: what people choose, numbers by step, arrays that stay.
 *
 * Called by the files of optimizers; optimizer.h is for everybody else.
 *
 * Thread class: as graph.h, which is extended.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_OPTIMIZER_STATE_H
#define GRAPH_OPTIMIZER_STATE_H

#include "graph/graph.h"

enum optimizer_decay { OPTIMIZER_CONSTANT, OPTIMIZER_COSINE };

struct optimizer;

struct optimizer_opts {
    const struct optimizer *kind;
    double rate;     /* at its highest */
    uint32_t warmup; /* steps in which the rate grows, in a straight line; 0: none */
    enum optimizer_decay decay;
    uint32_t steps; /* at least 1; a cosine ends with them */
    double clip;    /* the norm that all gradients together are scaled down to; 0: they are not */
    double weight_decay;
    double momentum;          /* SGD */
    double beta1, beta2, eps; /* AdamW */
    enum shd_dtype dtype;     /* of numbers that change from step to step: the parameters' */
};

/* A parameter in its update. */
struct optimizer_param {
    const char *name;
    uint32_t node, gradient; /* the gradient is clipped already */
};

#define OPTIMIZER_BY_STEP_MAX 3

/* The rate of step `step`, from 0: rate * min(1, (step + 1) / warmup), and with a cosine, from the
 * end of the warm-up on, times (1 + cos(pi * (step - warmup) / (steps - warmup))) / 2. */
double optimizer_rate(const struct optimizer_opts *opts, uint32_t step);

/* A node without dimensions whose value in each step is `value(opts, step)`. */
uint32_t optimizer_by_step(struct graph *graph, const struct optimizer_opts *opts, const char *name,
                           double (*value)(const struct optimizer_opts *, uint32_t step));

/* An array like a parameter that begins as zeros: "opt/`kind`/`name of the parameter`"; and its
 * next value. */
uint32_t optimizer_state(struct graph *graph, const char *kind,
                         const struct optimizer_param *param);
void optimizer_next(struct graph *graph, uint32_t state, uint32_t next);

#endif /* GRAPH_OPTIMIZER_STATE_H */
