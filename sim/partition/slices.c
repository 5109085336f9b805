/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/slices.h"

#include <string.h>

static const struct shd_sharding *need_of(const struct placement *p, uint32_t node, uint32_t k)
{
    return price_sharding(p->price, p->nodes[node].needs[k]);
}

/* What a device with a given number of the result's places gets of an operand: in the order of the
 * places, so that a step down in the result is one up, from the other end. */
static void find_reach(struct slices *s, const struct graph_node *n, uint32_t k, int64_t places)
{
    int64_t step = n->attr.window.from_step[k] ? n->attr.window.from_step[k] : 1;
    int64_t apart = n->attr.window.to_step[k] ? n->attr.window.to_step[k] : 1;
    int64_t last = apart < 0 ? n->attr.window.count[k] - 1 : 0;

    s->from[k] = n->attr.window.from[k] + last * step;
    s->place[k] = n->attr.window.to[k] + last * apart;
    s->count[k] = n->attr.window.count[k];
    if (apart < 0) {
        apart = -apart;
        step = -step;
    }
    s->reach[k] = (struct shd_reach){.by = places,
                                     .first = -s->place[k],
                                     .extent = (places + apart - 1) / apart,
                                     .apart = apart,
                                     .base = s->from[k],
                                     .stride = step};
}

/* Whether the reach writes all elements that the op does, and nothing else: all places, or those of
 * a whole operand among zeros. */
static bool is_alone(const struct slices *s, const struct graph *g, const struct graph_node *n)
{
    const struct graph_dim *from = &g->dims[n->attr.window.dim[0]];
    int64_t places = g->dims[n->attr.window.to_dim].size;

    if (n->ninputs > 1 || s->reach[0].apart > 1 || s->reach[0].extent == 0)
        return false;
    return (s->place[0] == 0 && s->count[0] == places) ||
           (n->attr.window.fill == 0 && s->reach[0].stride == 1 && s->from[0] == 0 &&
            s->count[0] == from->size);
}

bool slices_find(struct slices *s, const struct placement *p, uint32_t node)
{
    const struct graph_node *n = &p->graph->nodes[node];
    const struct shd_sharding *home;
    int64_t nshards, places;
    bool cut;

    if (n->op != GRAPH_WINDOW || p->nodes[node].home == PLACEMENT_UNKNOWN)
        return false;
    home = price_sharding(p->price, p->nodes[node].home);
    s->dim = graph_place(n, n->attr.window.to_dim);
    nshards = shd_sharding_nshards(home, s->dim);
    places = p->graph->dims[n->attr.window.to_dim].size / nshards;
    cut = nshards > 1;
    for (uint32_t k = 0; k < n->ninputs; k++) {
        if (p->nodes[node].needs[k] == PLACEMENT_UNKNOWN)
            return false;
        cut |= shd_sharding_nshards(need_of(p, node, k), s->dim) > 1;
        s->to[k] = *need_of(p, node, k);
        s->to[k].dims[s->dim] = home->dims[s->dim];
        find_reach(s, n, k, places);
    }
    s->alone = is_alone(s, p->graph, n);
    return cut;
}

static int build_step(struct shd_reshard_step *out, const struct placement *p, uint32_t node,
                      const struct slices *s, uint32_t k, struct shd_error *err)
{
    const struct graph_node *n = &p->graph->nodes[node];
    int64_t shape[GRAPH_RANK_MAX];

    graph_shape(p->graph, n->inputs[k], shape);
    return shd_reshard_reach(out, need_of(p, node, k), &s->to[k], shape, n->dtype, (int)s->dim,
                             &s->reach[k], err);
}

double slices_cost(const struct placement *p, uint32_t node, uint32_t operand)
{
    const struct graph_node *n = &p->graph->nodes[node];
    struct shd_reshard_step step;
    int64_t shape[GRAPH_RANK_MAX];
    struct slices s;

    if (!slices_find(&s, p, node) || s.reach[operand].extent == 0)
        return 0;
    if (build_step(&step, p, node, &s, operand, NULL) != SHD_OK)
        return PRICE_IMPOSSIBLE;
    graph_shape(p->graph, n->inputs[operand], shape);
    return step.kind == SHD_RESHARD_SLICE ? 0 : price_step(p->price, &step, shape, n->dtype);
}

/* ---- emission ---- */

static int add_buffer(struct emit *e, uint32_t node, const struct slices *s, uint32_t k,
                      const struct shd_reshard_step *step, uint32_t *buffer)
{
    const struct graph_node *n = &e->graph->nodes[node];
    int64_t shape[GRAPH_RANK_MAX], made[GRAPH_RANK_MAX];
    int status;

    graph_shape(e->graph, n->inputs[k], shape);
    shd_reshard_step_shape(step, shape, made);
    status = program_add_buffer(buffer, e->program, n->name, n->dtype, made, &s->to[k], e->err);
    if (status == SHD_OK)
        e->program->buffers[*buffer].stored = n->stored;
    return status;
}

int slices_emit_step(struct emit *e, uint32_t node, const struct slices *s, uint32_t k,
                     uint32_t made, uint32_t *buffer)
{
    const struct graph_node *n = &e->graph->nodes[node];
    struct program_op op = emit_op_at(PROGRAM_RESHARD, n->name, emit_spot_of(e, node));
    int status = build_step(&op.reshard, e->placement, node, s, k, e->err);

    op.ninputs = op.noutputs = 1;
    op.inputs[0] = *buffer;
    op.outputs[0] = made;
    if (status == SHD_OK && made == PROGRAM_NONE)
        status = add_buffer(e, node, s, k, &op.reshard, &op.outputs[0]);
    if (status != SHD_OK)
        return status;
    if (op.reshard.kind != SHD_RESHARD_SLICE)
        op.why = program_text(e->program, "%s needs elements of %s that other devices hold",
                              n->name, e->graph->nodes[n->inputs[k]].name);
    *buffer = op.outputs[0];
    return program_add_op(e->program, &op, e->err);
}

int slices_emit(struct emit *e, uint32_t node, const struct slices *s, struct program_op *op,
                union kern_desc *desc)
{
    struct kern_window *w = &desc->window;
    int status = SHD_OK;

    if (s->alone)
        return slices_emit_step(e, node, s, 0, op->outputs[0], &op->inputs[0]);
    for (uint32_t k = 0; k < op->ninputs && status == SHD_OK; k++) {
        status = slices_emit_step(e, node, s, k, PROGRAM_NONE, &op->inputs[k]);
        w->from[k] = s->from[k];
        w->to[k] = s->place[k];
        w->from_step[k] = s->reach[k].stride;
        w->to_step[k] = s->reach[k].apart;
        w->in_extent[k] = s->reach[k].extent;
    }
    w->cut = true;
    op->noffsets = 1;
    op->offsets[0] = (struct program_offset){op->outputs[0], s->dim};
    return status == SHD_OK ? program_add_op(e->program, op, e->err) : status;
}
