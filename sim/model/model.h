/* model.h - the graph of a scenario's step, and the shardings that the scenario requests.
 *
 * One file per kind of model builds its graph; a table lists them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include <shd/mesh.h>
#include <shd/sharding.h>

#include "base/diag.h"
#include "base/text.h"
#include "graph/graph.h"
#include "scenario/scenario.h"

struct model_kind {
    enum scenario_kind kind;
    /* Add inputs, parameters, the forward computation and its outputs, which may include a loss.
     * Errors stay in the graph, or go to `diag` if that has a better place for them. */
    void (*build)(struct graph *graph, const struct scenario *scenario, struct diag *diag);
    /* "2 layers of mlp gelu, embed 256, ..." */
    void (*describe)(struct text *out, const struct scenario *scenario);
};

extern const struct model_kind model_mlp, model_attention, model_block, model_transformer;
extern const struct model_kind model_gpt2, model_llama3, model_mixtral, model_deepseek, model_t5,
    model_decoder;
extern const struct model_kind model_graph_text;

/* The graph of a scenario's step: the forward outputs, and with a backward step the loss and the
 * gradients of all parameters and floating-point inputs.  The loss is the model's own, or else the
 * sum of out * ct over all outputs; ct is an input called "ct", or "ct/OUT" when there are several
 * outputs.  Errors go to `diag`.  Free it with graph_destroy().
 *
 * With an update its outputs are the loss, "grad_norm", and the next values of the parameters and
 * the optimizer state; inputs differ in each step. */
SHD_MUST_CHECK int model_graph(struct graph **out, const struct scenario *scenario,
                               struct diag *diag);

/* Add the gradients, and the loss if there is none yet, as model_graph() does.  Errors stay in the
 * graph. */
void model_add_backward(struct graph *graph, uint64_t seed);

/* Describe the computation for people: model, type, batch and phases. */
void model_describe(struct text *out, const struct scenario *scenario);

/* The shardings that a scenario requests, by node and by output (partition/partition.h). */
struct model_shardings {
    struct shd_sharding *storage;
    const struct shd_sharding **nodes;
    const struct shd_sharding **outputs;
    const struct scenario_rule **rules; /* by node: the rule that requested its sharding; NULL:
                                           none, or it follows from the shape */
    uint32_t *stored; /* by node: axes that only ZeRO shards it over; bit a for axis a */
};

/* Resolve parameter rules, logical axes and constraints.  Reports to `diag`: a parameter that no
 * rule matches, a rule or constraint that matches nothing, a spec longer than the rank, a dimension
 * that does not divide, a logical axis that no input has. */
SHD_MUST_CHECK int model_shardings(struct model_shardings *out, const struct graph *graph,
                                   const struct shd_mesh *mesh, const struct scenario *scenario,
                                   struct diag *diag);
/* The same without ZeRO, and whether or not dimensions divide: what rules ask for. */
SHD_MUST_CHECK int model_shardings_asked(struct model_shardings *out, const struct graph *graph,
                                         const struct shd_mesh *mesh,
                                         const struct scenario *scenario, struct diag *diag);

/* Build a padded graph, in which all dimensions divide by their requested shardings (graph/pad.h);
 * `graph` keeps the names.  NULL where all divide already.  Reports to `diag`. */
SHD_MUST_CHECK int model_pad(struct graph **out, const struct graph *graph,
                             const struct shd_mesh *mesh, const struct scenario *scenario,
                             struct diag *diag);

/* Initialise without any request (SHD_ENOMEM); and derive the shardings of outputs once those of
 * nodes are set: gradients are sharded like their parameters or inputs, cotangents like their
 * outputs. */
SHD_MUST_CHECK int model_shardings_init(struct model_shardings *out, const struct graph *graph);
void model_shardings_bind_outputs(struct model_shardings *shardings, const struct graph *graph);

void model_shardings_fini(struct model_shardings *shardings);

/* The width of an array's random numbers: a matrix keeps the variance of what it multiplies. */
double model_scale(const struct graph *graph, const uint32_t *dims, uint32_t rank, bool param);

/* The content of a scenario's array: random numbers of width `scale`, determined by seed and
 * name. */
struct kern_source model_source(uint64_t seed, const char *name, double scale);

#endif /* MODEL_MODEL_H */
