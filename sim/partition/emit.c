/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/emit.h"

#include <shd/reshard.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition/local.h"

/* One array in one sharding, as a buffer of the program. */
struct version {
    uint32_t node;
    uint32_t sharding; /* number */
    uint32_t buffer;
    uint32_t next; /* older version of the same node, or PROGRAM_NONE */
};

struct emit {
    struct program *program;
    struct choose *choose;
    const struct graph *graph;
    struct version *versions;
    uint32_t nversions, room;
    uint32_t *newest; /* by node */
    struct shd_error *err;
};

static int keep_version(struct emit *e, uint32_t node, uint32_t sharding, uint32_t buffer)
{
    if (e->nversions == e->room) {
        uint32_t room = e->room ? 2 * e->room : 64;
        struct version *more = realloc(e->versions, room * sizeof *more);

        if (!more)
            return shd_error_set(e->err, SHD_ENOMEM, "no memory for the program");
        e->versions = more;
        e->room = room;
    }
    e->versions[e->nversions] = (struct version){node, sharding, buffer, e->newest[node]};
    e->newest[node] = e->nversions++;
    return SHD_OK;
}

/* A new buffer for a node's array in a sharding, kept as its newest version. */
static int add_version(struct emit *e, uint32_t node, uint32_t sharding, uint32_t *buffer)
{
    const struct graph_node *n = &e->graph->nodes[node];
    int64_t shape[GRAPH_RANK_MAX];
    int status;

    graph_shape(e->graph, node, shape);
    status = program_add_buffer(buffer, e->program, n->name, n->dtype, shape,
                                price_sharding(e->choose->price, sharding), e->err);
    return status == SHD_OK ? keep_version(e, node, sharding, *buffer) : status;
}

/* ---- why a step is there ---- */

static void axis_names(char *out, size_t size, const struct shd_mesh *mesh, uint32_t axes)
{
    size_t used = 0;

    out[0] = '\0';
    for (size_t a = 0; a < shd_mesh_naxes(mesh) && used < size; a++)
        if (axes >> a & 1)
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? " and " : "",
                                     shd_mesh_axis_name(mesh, a));
}

static uint32_t step_axes(const struct shd_reshard_step *step)
{
    uint32_t axes = 0;

    for (uint8_t a = 0; a < step->naxes; a++)
        axes |= 1u << step->axes[a];
    return axes;
}

/* The names of what the op behind a partial value sums over. */
static void summed_names(char *out, size_t size, const struct emit *e, uint32_t node)
{
    const struct op_dims *dims = &e->choose->nodes[node].dims;
    size_t used = 0;

    out[0] = '\0';
    for (uint32_t d = dims->nresult; d < dims->ndims && used < size; d++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", used ? " and " : "",
                                 e->graph->dims[dims->dims[d]].name);
}

static const char *why(struct emit *e, uint32_t node, const struct shd_reshard_step *step,
                       const char *reader)
{
    const struct graph_node *n = &e->graph->nodes[node];
    char axes[128], summed[128], sum[512];
    const char *dim = step->dim >= 0 ? e->graph->dims[n->dims[step->dim]].name : "";

    axis_names(axes, sizeof axes, e->program->mesh, step_axes(step));
    summed_names(summed, sizeof summed, e, node);
    if (summed[0])
        snprintf(sum, sizeof sum, "%s sums over %s, cut over %s", n->name, summed, axes);
    else
        snprintf(sum, sizeof sum, "%s is a sum of parts over %s", n->name, axes);
    switch (step->kind) {
    case SHD_RESHARD_ALL_REDUCE:
        return program_text(e->program, "%s; %s wants it whole", sum, reader);
    case SHD_RESHARD_REDUCE_SCATTER:
        return program_text(e->program, "%s; %s wants it with %s cut over %s", sum, reader, dim,
                            axes);
    case SHD_RESHARD_ALL_GATHER:
        return program_text(e->program, "%s wants %s with %s whole; it is cut over %s", reader,
                            n->name, dim, axes);
    case SHD_RESHARD_ALL_TO_ALL:
        return program_text(e->program, "%s wants %s with %s cut over %s, not %s", reader, n->name,
                            e->graph->dims[n->dims[step->dim2]].name, axes, dim);
    case SHD_RESHARD_PERMUTE:
        return program_text(e->program, "%s wants the shards of %s on other devices", reader,
                            n->name);
    case SHD_RESHARD_EXCHANGE:
        return program_text(e->program, "%s wants %s in another sharding", reader, n->name);
    default:
        return NULL; /* nothing is communicated */
    }
}

/* ---- steps ---- */

static int emit_step(struct emit *e, uint32_t node, const struct shd_reshard_step *step,
                     uint32_t reader, const char *asker, uint32_t *buffer)
{
    struct program_op op = {.kind = PROGRAM_RESHARD, .ninputs = 1, .inputs = {*buffer}};
    uint32_t sharding = price_number(e->choose->price, &step->to);
    int status;

    if (sharding == UINT32_MAX)
        return shd_error_set(e->err, SHD_ENOMEM, "no memory for the program");
    op.name = asker;
    op.why = why(e, node, step, asker);
    op.phase = (uint8_t)e->graph->nodes[reader].phase;
    op.reshard = *step;
    status = add_version(e, node, sharding, &op.output);
    if (status != SHD_OK)
        return status;
    *buffer = op.output;
    return program_add_op(e->program, &op, e->err);
}

/* A node's array in the sharding that is needed, from the cheapest version there is. */
static int bring(struct emit *e, uint32_t node, uint32_t need, uint32_t reader, const char *asker,
                 uint32_t *buffer)
{
    struct price *price = e->choose->price;
    const struct version *from = NULL;
    double best = PRICE_IMPOSSIBLE;
    struct shd_reshard_plan plan;
    int64_t shape[GRAPH_RANK_MAX];
    int status;

    for (uint32_t v = e->newest[node]; v != PROGRAM_NONE; v = e->versions[v].next) {
        double cost = price_reshard(price, node, e->versions[v].sharding, need);

        if (cost <= best) { /* of equals the oldest, as the search counts */
            best = cost;
            from = &e->versions[v];
        }
    }
    *buffer = from->buffer;
    if (from->sharding == need)
        return SHD_OK;
    graph_shape(e->graph, node, shape);
    status = shd_reshard_build(&plan, price_sharding(price, from->sharding),
                               price_sharding(price, need), shape, e->graph->nodes[node].dtype,
                               e->err);
    for (size_t s = 0; status == SHD_OK && s < plan.nsteps; s++)
        status = emit_step(e, node, &plan.steps[s], reader, asker, buffer);
    return status;
}

/* ---- ops ---- */

static int emit_leaf(struct emit *e, uint32_t node)
{
    const struct graph_node *n = &e->graph->nodes[node];
    struct program_op op = {.kind = PROGRAM_FILL, .name = n->name, .source = n->source};
    int status = add_version(e, node, e->choose->nodes[node].home, &op.output);

    if (status != SHD_OK)
        return status;
    e->program->buffers[op.output].argument = true;
    return program_add_op(e->program, &op, e->err);
}

static void local_extents(const struct emit *e, uint32_t node, int64_t *extents)
{
    const struct choose_node *n = &e->choose->nodes[node];

    memcpy(extents, n->dims.sizes, n->dims.ndims * sizeof *extents);
    for (size_t a = 0; a < shd_mesh_naxes(e->program->mesh); a++)
        if (n->assign.place[a] >= 0)
            extents[n->assign.place[a]] /= shd_mesh_axis_size(e->program->mesh, a);
}

static int emit_op(struct emit *e, uint32_t node)
{
    const struct graph_node *n = &e->graph->nodes[node];
    const struct choose_node *c = &e->choose->nodes[node];
    struct program_op op = {.name = n->name, .phase = (uint8_t)n->phase, .ninputs = n->ninputs};
    int64_t extents[ASSIGN_DIMS_MAX];
    int status;

    for (uint32_t k = 0; k < n->ninputs; k++) {
        status = bring(e, n->inputs[k], c->needs[k], node, n->name, &op.inputs[k]);
        if (status != SHD_OK)
            return status;
    }
    if (n->op == GRAPH_CONSTRAINT) /* the same array under another name */
        return keep_version(e, node, c->home, op.inputs[0]);
    local_extents(e, node, extents);
    local_op(&op, e->graph, node, &c->dims, extents);
    status = add_version(e, node, c->home, &op.output);
    return status == SHD_OK ? program_add_op(e->program, &op, e->err) : status;
}

/* Deliver a node to the outputs that it is, as soon as it is there. */
static int emit_outputs(struct emit *e, uint32_t node)
{
    static const enum program_result_kind kinds[] = {
        [GRAPH_OUTPUT] = PROGRAM_OUTPUT, [GRAPH_LOSS] = PROGRAM_LOSS,
        [GRAPH_GRADIENT] = PROGRAM_GRADIENT};
    uint32_t buffer;

    for (uint32_t o = e->choose->nodes[node].output; o < e->graph->noutputs; o++) {
        const struct graph_output *output = &e->graph->outputs[o];
        const char *asker;
        int status;

        if (output->node != node)
            continue;
        asker = program_text(e->program, "%s %s",
                             output->kind == GRAPH_GRADIENT ? "gradient of" : "result",
                             output->name);
        status = bring(e, node, choose_output_need(e->choose, o), node, asker, &buffer);
        if (status == SHD_OK)
            status = program_add_result(e->program, kinds[output->kind], output->name, buffer,
                                        e->err);
        if (status != SHD_OK)
            return status;
    }
    return SHD_OK;
}

static int emit_all(struct emit *e)
{
    int status = SHD_OK;

    for (uint32_t node = 0; node < e->graph->nnodes && status == SHD_OK; node++)
        if (e->choose->nodes[node].live && e->graph->nodes[node].op <= GRAPH_PARAM)
            status = emit_leaf(e, node);
    for (uint32_t node = 0; node < e->graph->nnodes && status == SHD_OK; node++) {
        if (!e->choose->nodes[node].live)
            continue;
        if (e->graph->nodes[node].op > GRAPH_PARAM)
            status = emit_op(e, node);
        if (status == SHD_OK)
            status = emit_outputs(e, node);
    }
    return status;
}

int emit_program(struct program *program, struct choose *choose, struct shd_error *err)
{
    struct emit e = {.program = program, .choose = choose, .graph = choose->graph, .err = err};
    int status;

    e.newest = malloc(((size_t)choose->graph->nnodes + 1) * sizeof *e.newest);
    if (!e.newest)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the program");
    memset(e.newest, 0xff, ((size_t)choose->graph->nnodes + 1) * sizeof *e.newest);
    status = emit_all(&e);
    free(e.newest);
    free(e.versions);
    return status;
}
