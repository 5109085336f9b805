/* state.h - building blocks of optimizers: options, scalars by step, and states.
 *
 * Used by the files of optimizers; all others include optimizer.h.
 *
 * Thread class: as graph.h, which is extended.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_OPTIMIZER_STATE_H
#define GRAPH_OPTIMIZER_STATE_H

#include "graph/graph.h"
#include "graph/optimizer/matrix.h"

enum optimizer_decay { OPTIMIZER_CONSTANT, OPTIMIZER_COSINE };

enum loss_scale_kind { LOSS_SCALE_NONE, LOSS_SCALE_STATIC, LOSS_SCALE_DYNAMIC };

struct optimizer;

/* How the rate of a matrix depends on its shape: torch.optim.Muon's adjust_lr_fn. */
enum muon_ratio {
    MUON_ORIGINAL,        /* sqrt(max(1, outputs / inputs)) */
    MUON_MATCH_RMS_ADAMW, /* 0.2 sqrt(max(outputs, inputs)): arXiv 2502.16982 */
    MUON_SPECTRAL         /* sqrt(outputs / inputs) */
};

/* Types of arrays, chosen independently.  Computation, and the parameters that it reads, have the
 * model's type. */
struct optimizer_types {
    enum shd_dtype
        parameters;           /* of the updated parameters; if not the model's type, these are
                                 master copies, kept beside the parameters as "opt/master/NAME" */
    enum shd_dtype gradients; /* of gradients summed over microbatches */
    enum shd_dtype moments;   /* of stored moments; updates are computed in the parameters' type */
    enum shd_dtype reduce;    /* in which gradients are reduced over devices */
};

struct optimizer_opts {
    const struct optimizer *kind;
    double rate;     /* learning rate at its highest */
    uint32_t warmup; /* steps in which the rate grows linearly; 0: none */
    enum optimizer_decay decay;
    uint32_t steps; /* at least 1; a cosine ends after them */
    double clip;    /* largest norm of all gradients together; 0: no clipping */
    double weight_decay;
    double momentum;          /* SGD, Muon */
    double beta1, beta2, eps; /* AdamW */
    struct {
        bool nesterov;
        uint32_t steps; /* Newton-Schulz steps */
        double coefficients[3];
        enum muon_ratio ratio;
        enum shd_dtype dtype; /* of the steps */
    } muon;
    /* By node: the matrices that `kind` updates; all other parameters have `rest` and its rate.
     * NULL: `kind` updates all. */
    const struct optimizer_matrix *matrices;
    const struct optimizer *rest;
    double rest_rate;
    struct optimizer_types types;
    bool reduce_each; /* reduce gradients over devices for each microbatch, instead of once a
                         step */
    struct {
        enum loss_scale_kind kind;
        double initial;
        uint32_t growth_interval; /* good steps, at least 1 */
    } loss_scale;
};

/* Scalars: 1 and 0 in a step that is done, 0 and 1 in a skipped step; GRAPH_NONE if steps are never
 * skipped. */
struct optimizer_skip {
    uint32_t done, skipped;
};

/* A parameter during its update. */
struct optimizer_param {
    const char *name;
    uint32_t of;                           /* the parameter */
    const struct optimizer_matrix *matrix; /* NULL: none that counts as one */
    uint32_t node;     /* the parameter, or its master copy */
    uint32_t gradient; /* of the same type, clipped */
    struct optimizer_skip skip;
};

#define OPTIMIZER_BY_STEP_MAX 3

/* The rate of step `step`, from 0: rate * min(1, (step + 1) / warmup), and with a cosine, from the
 * end of the warm-up on, times (1 + cos(pi * (step - warmup) / (steps - warmup))) / 2. */
double optimizer_rate(const struct optimizer_opts *opts, uint32_t step);

/* A scalar node whose value in each step is `value(opts, step)`. */
uint32_t optimizer_by_step(struct graph *graph, const struct optimizer_opts *opts, const char *name,
                           double (*value)(const struct optimizer_opts *, uint32_t step));

/* A state with the dimensions of a parameter: "opt/`kind`/`name of the parameter`". */
uint32_t optimizer_state(struct graph *graph, const char *kind, const struct optimizer_param *param,
                         enum shd_dtype dtype, struct kern_source source);

/* Make `next`, in the parameters' type, the next value of a state: rounded to the state's type, and
 * unchanged in a skipped step.  Returns the kept value, in the type of `next`. */
uint32_t optimizer_next(struct graph *graph, const struct optimizer_param *param, uint32_t state,
                        uint32_t next);

/* Make `next` the next value of a state, without rounding or skipping. */
void optimizer_keep(struct graph *graph, uint32_t state, uint32_t next);

#endif /* GRAPH_OPTIMIZER_STATE_H */
