/* optimizer.h - the optimizer: updates of parameters and of optimizer state, for the next step.
 *
 * An optimizer is a row of `optimizers` and a file: from a parameter and its gradient it makes the
 * next step's parameter, and states of its own ("opt/..."), which begin as zeros.  All are ordinary
 * nodes of phase GRAPH_OPTIMIZER, so that the placement of states and updates (ZeRO's stages) is
 * only a matter of shardings.
 *
 * If parameters are kept in another type than the model's, the update works on a master copy of
 * each, a state that begins with the parameter's value; the next step's parameter is the rounded
 * master, so that devices gather the model's type.
 *
 * The learning rate of each step, and corrections that depend on its number, are scalars whose
 * value changes from step to step.
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
    /* Add the scalars that change from step to step. */
    void (*prepare)(struct graph *graph, const struct optimizer_opts *opts, uint32_t *by_step);
    /* Return the parameter of the next step.  NULL: update_all(). */
    uint32_t (*update)(struct graph *graph, const struct optimizer_opts *opts,
                       const uint32_t *by_step, const struct optimizer_param *param);
    /* Whether two parameters are updated together, and of a parameter and itself whether any other
     * may be with it; NULL with update(). */
    bool (*together)(const struct graph *graph, const struct optimizer_param *a,
                     const struct optimizer_param *b);
    /* Set next[i] to params[i] of the next step, for parameters that are updated together. */
    void (*update_all)(struct graph *graph, const struct optimizer_opts *opts,
                       const uint32_t *by_step, const struct optimizer_param *params, uint32_t n,
                       uint32_t *next);
};

extern const struct optimizer optimizer_sgd;
extern const struct optimizer optimizer_adamw;
extern const struct optimizer optimizer_muon; /* of matrices */
extern const struct optimizer *const optimizers[]; /* NULL-terminated */

const struct optimizer *optimizer_find(const char *name); /* NULL: unknown name */

#define OPTIMIZER_NORM "grad_norm" /* the output's name */

/* Add the update of all parameters by their gradients, and outputs: OPTIMIZER_NORM, the norm of all
 * gradients before clipping, and the next value of every array. gradients[i] becomes the constraint
 * under which a sharding can be asked for.  `scale` is the loss scale, or GRAPH_NONE.  Errors stay
 * in the graph. */
void optimizer_add(struct graph *graph, const struct optimizer_opts *opts, uint32_t scale,
                   const uint32_t *params, uint32_t *gradients, uint32_t nparams);

/* A parameter's gradient converted to another type. */
uint32_t optimizer_convert_gradient(struct graph *graph, uint32_t param, enum shd_dtype dtype,
                                    uint32_t gradient);

#endif /* GRAPH_OPTIMIZER_OPTIMIZER_H */
