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

enum loss_scale_kind { LOSS_SCALE_NONE, LOSS_SCALE_STATIC, LOSS_SCALE_DYNAMIC };

struct optimizer;

/* Types, chosen one by one.  What is computed is of the model's own type, and so are the parameters
 * that it reads. */
struct optimizer_types {
    enum shd_dtype
        parameters;           /* that are updated: of another type than the model's they are masters
                                 of its parameters, kept beside these as "opt/master/NAME" */
    enum shd_dtype gradients; /* of their sum over microbatches */
    enum shd_dtype moments;   /* as they are kept; updates are computed in the parameters' type */
    enum shd_dtype reduce;    /* in which gradients are combined over devices */
};

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
    struct optimizer_types types;
    bool reduce_each; /* gradients are combined over devices for each microbatch, not once a step */
    struct {
        enum loss_scale_kind kind;
        double initial;
        uint32_t growth_interval; /* good steps, at least 1 */
    } loss_scale;
};

/* Numbers that are 1 and 0 in a step whose update is done, 0 and 1 in one that is skipped;
 * GRAPH_NONE where none is. */
struct optimizer_skip {
    uint32_t done, skipped;
};

/* A parameter in its update. */
struct optimizer_param {
    const char *name;
    uint32_t node;     /* the parameter, or its master */
    uint32_t gradient; /* of the same type, clipped already */
    struct optimizer_skip skip;
};

#define OPTIMIZER_BY_STEP_MAX 3

/* The rate of step `step`, from 0: rate * min(1, (step + 1) / warmup), and with a cosine, from the
 * end of the warm-up on, times (1 + cos(pi * (step - warmup) / (steps - warmup))) / 2. */
double optimizer_rate(const struct optimizer_opts *opts, uint32_t step);

/* A node without dimensions whose value in each step is `value(opts, step)`. */
uint32_t optimizer_by_step(struct graph *graph, const struct optimizer_opts *opts, const char *name,
                           double (*value)(const struct optimizer_opts *, uint32_t step));

/* An array like a parameter that stays from step to step: "opt/`kind`/`name of the parameter`". */
uint32_t optimizer_state(struct graph *graph, const char *kind, const struct optimizer_param *param,
                         enum shd_dtype dtype, struct kern_source source);

/* Make `next`, of the parameters' type, a state's next value: unless the step is skipped, and
 * rounded to the state's type.  Returns what is kept, in the type of `next`. */
uint32_t optimizer_next(struct graph *graph, const struct optimizer_param *param, uint32_t state,
                        uint32_t next);

/* Make `next` a state's next value as it stands. */
void optimizer_keep(struct graph *graph, uint32_t state, uint32_t next);

#endif /* GRAPH_OPTIMIZER_STATE_H */
