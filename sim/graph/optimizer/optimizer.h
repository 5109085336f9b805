/* optimizer.h - what a step leaves to the next: parameters and the optimizer's state, updated.
 *
 * An optimizer is a row of `optimizers` and a file: from a parameter and its gradient it makes the
 * parameter of the next step, and arrays of its own that stay from step to step ("opt/..."), which
 * begin as zeros.  All of it is ordinary nodes of phase GRAPH_OPTIMIZER, so that where state and
 * updates lie (ZeRO's stages) is a matter of shardings alone.
 *
 * Where parameters are kept in another type than the model's, what is updated is a master of each,
 * a state that begins as the parameter; the parameter of the next step is its master's, rounded, so
 * that what is gathered to devices is of the model's type.
 *
 * The rate of each step, and the corrections that depend on its number, are arrays without
 * dimensions whose value changes from step to step.
 *
 * Thread class: as graph.h, which is extended.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_OPTIMIZER_OPTIMIZER_H
#define GRAPH_OPTIMIZER_OPTIMIZER_H

#include "graph/optimizer/state.h"

struct optimizer {
    const char *name;
    /* Add what changes from step to step: nodes without dimensions. */
    void (*prepare)(struct graph *graph, const struct optimizer_opts *opts, uint32_t *by_step);
    /* Return the parameter of the next step. */
    uint32_t (*update)(struct graph *graph, const struct optimizer_opts *opts,
                       const uint32_t *by_step, const struct optimizer_param *param);
};

extern const struct optimizer optimizer_sgd;
extern const struct optimizer optimizer_adamw;
extern const struct optimizer *const optimizers[]; /* ended by NULL */

const struct optimizer *optimizer_find(const char *name); /* NULL: there is none */

#define OPTIMIZER_NORM "grad_norm" /* the output's name */

/* Add the update of all parameters by their gradients, and outputs: OPTIMIZER_NORM, the norm of all
 * gradients before they are clipped, and every array's next value.  A gradient becomes the
 * constraint by which it can be asked for.  `scale` is what the loss was scaled by, or GRAPH_NONE.
 * Errors stay in the graph. */
void optimizer_add(struct graph *graph, const struct optimizer_opts *opts, uint32_t scale,
                   const uint32_t *params, uint32_t *gradients, uint32_t nparams);

/* A parameter's gradient in another type. */
uint32_t optimizer_convert_gradient(struct graph *graph, uint32_t param, enum shd_dtype dtype,
                                    uint32_t gradient);

#endif /* GRAPH_OPTIMIZER_OPTIMIZER_H */
