/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/versions.h"

uint32_t emit_stage_of(const struct emit *e, uint32_t node)
{
    return e->program && e->program->nstages > 1 ? e->graph->nodes[node].stage : 0;
}

/* Whether a value is made once a step, in a pipeline, whose codes of weights would otherwise wait
 * for the backward phase once for each microbatch under way: codes of parameters alone. */
static bool is_of_step(const struct emit *e, uint32_t node)
{
    const struct graph_node *n = &e->graph->nodes[node];

    if (!e->program || e->program->nstages == 1 || n->phase != GRAPH_FORWARD || n->again ||
        (n->op != GRAPH_AMAX && n->op != GRAPH_ENCODE && n->op != GRAPH_REDUCE))
        return false;
    for (uint32_t k = 0; k < n->ninputs; k++)
        if (e->graph->nodes[n->inputs[k]].op != GRAPH_PARAM && !is_of_step(e, n->inputs[k]))
            return false;
    return true;
}

struct spot emit_spot_of(const struct emit *e, uint32_t node)
{
    const struct graph_node *n = &e->graph->nodes[node];
    enum program_part part = e->opts.splits && n->weights ? PROGRAM_WEIGHTS
                             : is_of_step(e, node)        ? PROGRAM_START
                                                   : program_part_of_phase((uint8_t)n->phase);

    return (struct spot){(uint8_t)n->phase, (uint8_t)part, n->again, emit_stage_of(e, node)};
}

struct program_op emit_op_at(enum program_op_kind kind, const char *name, struct spot spot)
{
    return (struct program_op){.kind = kind,
                               .name = name,
                               .phase = spot.phase,
                               .part = spot.part,
                               .again = spot.again,
                               .stage = spot.stage};
}

void emit_keep_version(struct emit *e, uint32_t node, uint32_t sharding, uint32_t buffer,
                       struct spot spot)
{
    const bool *offloads = e->placement->request->offloads;
    const struct graph_node *made = &e->graph->nodes[node];
    struct program_buffer *b = &e->program->buffers[buffer];

    pool_make_room(e->pool, &e->versions, e->nversions, sizeof *e->versions);
    e->versions[e->nversions] =
        (struct version){node,      sharding,   buffer,     spot.phase,
                         spot.part, spot.again, spot.stage, e->newest[node - e->first]};
    e->newest[node - e->first] = e->nversions++;
    b->offloads |= offloads && offloads[node] && made->chunks == 0;
    b->inside |= made->inside;
    b->chunks = made->chunks > b->chunks ? made->chunks : b->chunks;
}

/* Use of an array that the next step reads: the use of the argument that it replaces. */
static enum program_use use_of_next(const struct emit *e, uint32_t node, enum program_use otherwise)
{
    for (uint32_t o = e->placement->nodes[node].output; o != GRAPH_NONE;
         o = e->placement->next_output[o]) {
        const struct graph_output *output = &e->graph->outputs[o];

        if (output->kind == GRAPH_NEXT)
            return e->graph->nodes[output->of].op == GRAPH_PARAM ? PROGRAM_PARAMETERS
                                                                 : PROGRAM_OPTIMIZER;
    }
    return otherwise;
}

/* Whether a value is a parameter's codes or their magnitudes. */
static bool is_of_coded_param(const struct graph *g, uint32_t node)
{
    bool coded = g->nodes[node].op == GRAPH_ENCODE || g->nodes[node].op == GRAPH_AMAX;

    while (g->nodes[node].op == GRAPH_ENCODE || g->nodes[node].op == GRAPH_AMAX ||
           g->nodes[node].op == GRAPH_CONSTRAINT)
        node = g->nodes[node].inputs[0];
    return coded && g->nodes[node].op == GRAPH_PARAM;
}

/* Whether a value is what is kept of tokens: before the step, or with those that it adds. */
static bool is_cache(const struct graph *g, uint32_t node)
{
    while (g->nodes[node].op == GRAPH_APPEND)
        node = g->nodes[node].inputs[0];
    return g->nodes[node].kept != NULL;
}

/* Use of a new array of a node's value. */
static enum program_use use_of(const struct emit *e, uint32_t node)
{
    const struct graph_node *n = &e->graph->nodes[node];
    bool first = e->newest[node - e->first] == PROGRAM_NONE;

    if (n->op == GRAPH_PARAM)
        return first ? PROGRAM_PARAMETERS : PROGRAM_GATHERED;
    if (n->op == GRAPH_INPUT && n->state_of != GRAPH_NONE)
        return PROGRAM_OPTIMIZER;
    if (is_of_coded_param(e->graph, node))
        return PROGRAM_GATHERED;
    if (is_cache(e->graph, node) && first)
        return PROGRAM_CACHE;
    if (n->op == GRAPH_INPUT && first)
        return PROGRAM_DATA;
    if (n->op == GRAPH_ACCUMULATE ||
        (n->gradient_of != GRAPH_NONE && e->graph->nodes[n->gradient_of].op == GRAPH_PARAM))
        return PROGRAM_GRADIENTS;
    return n->phase == GRAPH_OPTIMIZER ? use_of_next(e, node, PROGRAM_WORKSPACE)
                                       : PROGRAM_ACTIVATIONS;
}

int emit_add_alone(struct emit *e, uint32_t node, uint32_t sharding, uint32_t *buffer)
{
    const struct graph_node *n = &e->graph->nodes[node];
    int64_t shape[GRAPH_RANK_MAX];
    int status;

    graph_shape(e->graph, node, shape);
    status = program_add_buffer(buffer, e->program, n->name, n->dtype, shape,
                                price_sharding(e->placement->price, sharding), e->err);
    for (uint32_t d = 0; d < n->rank && status == SHD_OK; d++) {
        const struct graph_dim *dim = &e->graph->dims[n->dims[d]];

        e->program->buffers[*buffer].held[d] = dim->held;
        if (dim->routing && graph_has_dim(n, dim->experts)) {
            e->program->buffers[*buffer].routing = dim->routing;
            e->program->buffers[*buffer].expert_dim = (uint8_t)graph_place(n, dim->experts);
        }
    }
    return status;
}

int emit_add_version(struct emit *e, uint32_t node, uint32_t sharding, struct spot spot,
                     uint32_t *buffer)
{
    const struct graph_node *n = &e->graph->nodes[node];
    int status = emit_add_alone(e, node, sharding, buffer);

    if (status != SHD_OK)
        return status;
    e->program->buffers[*buffer].stored = n->stored;
    e->program->buffers[*buffer].use = use_of(e, node);
    e->program->buffers[*buffer].frozen = n->frozen;
    e->program->buffers[*buffer].packs = n->packs;
    emit_keep_version(e, node, sharding, *buffer, spot);
    return SHD_OK;
}
