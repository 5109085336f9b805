/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/emit.h"

#include <shd/reshard.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition/fuse.h"

/* One array in one sharding, as a buffer of the program. */
struct version {
    uint32_t node;
    uint32_t sharding; /* number */
    uint32_t buffer;
    uint8_t phase; /* in which it was made */
    uint32_t next; /* older version of the same node, or PROGRAM_NONE */
};

struct emit {
    struct program *program;
    struct placement *placement;
    const struct graph *graph;
    struct version *versions;
    uint32_t nversions, room;
    uint32_t *newest; /* by node */
    bool *inlined;    /* by node: computed inside its reader */
    bool regather;    /* what was gathered in one phase is not kept for the next */
    struct shd_error *err;
};

static int keep_version(struct emit *e, uint32_t node, uint32_t sharding, uint32_t buffer,
                        uint8_t phase)
{
    if (e->nversions == e->room) {
        uint32_t room = e->room ? 2 * e->room : 64;
        struct version *more = realloc(e->versions, room * sizeof *more);

        if (!more)
            return shd_error_set(e->err, SHD_ENOMEM, "no memory for the program");
        e->versions = more;
        e->room = room;
    }
    e->versions[e->nversions] = (struct version){node, sharding, buffer, phase, e->newest[node]};
    e->newest[node] = e->nversions++;
    return SHD_OK;
}

/* A new buffer for a node's array in a sharding, kept as its newest version. */
static int add_version(struct emit *e, uint32_t node, uint32_t sharding, uint8_t phase,
                       uint32_t *buffer)
{
    const struct graph_node *n = &e->graph->nodes[node];
    int64_t shape[GRAPH_RANK_MAX];
    int status;

    graph_shape(e->graph, node, shape);
    status = program_add_buffer(buffer, e->program, n->name, n->dtype, shape,
                                price_sharding(e->placement->price, sharding), e->err);
    if (status != SHD_OK)
        return status;
    e->program->buffers[*buffer].stored = n->stored;
    return keep_version(e, node, sharding, *buffer, phase);
}

/* ---- why a step is there ---- */

/* The names of what the op behind a partial value sums over. */
static void summed_names(char *out, size_t size, const struct emit *e, uint32_t node)
{
    const struct graph_node *n = &e->graph->nodes[node];
    size_t used = 0;

    out[0] = '\0';
    for (uint32_t k = 0; k < n->ninputs && n->op != GRAPH_EXTRA; k++)
        for (uint32_t d = 0; d < e->graph->nodes[n->inputs[k]].rank && used < size; d++) {
            uint32_t dim = e->graph->nodes[n->inputs[k]].dims[d];

            if (!graph_has_dim(n, dim) && !strstr(out, e->graph->dims[dim].name))
                used += (size_t)snprintf(out + used, size - used, "%s%s", used ? " and " : "",
                                         e->graph->dims[dim].name);
        }
}

/* The op that made a value which several constraints may have named since. */
static uint32_t maker_of(const struct emit *e, uint32_t node)
{
    while (e->graph->nodes[node].op == GRAPH_CONSTRAINT && !e->placement->nodes[node].fixed)
        node = e->graph->nodes[node].inputs[0];
    return node;
}

static const char *why(struct emit *e, uint32_t value, const struct shd_reshard_step *step,
                       const char *reader)
{
    uint32_t node = maker_of(e, value);
    const struct graph_node *n = &e->graph->nodes[node];
    char axes[128], summed[128], sum[512];
    const char *dim = step->dim >= 0 ? e->graph->dims[n->dims[step->dim]].name : "";

    program_axes_print(e->program, step->axes, step->naxes, axes, sizeof axes);
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
    struct program_op op = {
        .kind = PROGRAM_RESHARD, .ninputs = 1, .noutputs = 1, .inputs = {*buffer}};
    uint32_t sharding = price_number(e->placement->price, &step->to);
    int status;

    if (price_failed(e->placement->price))
        return shd_error_set(e->err, SHD_ENOMEM, "no memory for the program");
    op.name = asker;
    op.why = why(e, node, step, asker);
    op.phase = (uint8_t)e->graph->nodes[reader].phase;
    op.reshard = *step;
    status = add_version(e, node, sharding, op.phase, &op.outputs[0]);
    if (status != SHD_OK)
        return status;
    *buffer = op.outputs[0];
    return program_add_op(e->program, &op, e->err);
}

/* A gathered copy of an earlier phase, larger than the array's own shard, that is made again rather
 * than kept. */
static bool forgotten(const struct emit *e, const struct version *v, uint8_t phase)
{
    const struct program_buffer *b = &e->program->buffers[v->buffer];
    const struct shd_sharding *home =
        price_sharding(e->placement->price, e->placement->nodes[v->node].home);

    return e->regather && v->phase != phase && !home->partial &&
           shd_sharding_axes(&b->sharding) != shd_sharding_axes(home) &&
           (shd_sharding_axes(&b->sharding) & ~shd_sharding_axes(home)) == 0;
}

/* A node's array in the sharding that is needed, from the cheapest version there is. */
static int bring(struct emit *e, uint32_t node, uint32_t need, uint32_t reader, const char *asker,
                 uint32_t *buffer)
{
    struct price *price = e->placement->price;
    const struct version *from = NULL;
    double best = PRICE_IMPOSSIBLE;
    struct shd_reshard_plan plan;
    int64_t shape[GRAPH_RANK_MAX];
    struct shd_error why;
    int status;

    for (uint32_t v = e->newest[node]; v != PROGRAM_NONE; v = e->versions[v].next) {
        double cost = price_reshard(price, node, e->versions[v].sharding, need);

        if (forgotten(e, &e->versions[v], (uint8_t)e->graph->nodes[reader].phase))
            continue;
        if (cost <= best) { /* of equals the oldest, as the search counts */
            best = cost;
            from = &e->versions[v];
        }
    }
    *buffer = from->buffer;
    if (from->sharding == need)
        return SHD_OK;
    graph_shape(e->graph, node, shape);
    status =
        shd_reshard_build(&plan, price_sharding(price, from->sharding), price_sharding(price, need),
                          shape, e->graph->nodes[node].dtype, &why);
    if (status != SHD_OK)
        return shd_error_set(e->err, status, "'%.100s': %.140s", e->graph->nodes[node].name,
                             why.text);
    for (size_t s = 0; status == SHD_OK && s < plan.nsteps; s++)
        status = emit_step(e, node, &plan.steps[s], reader, asker, buffer);
    return status;
}

/* ---- ops ---- */

static int emit_leaf(struct emit *e, uint32_t node)
{
    const struct graph_node *n = &e->graph->nodes[node];
    struct program_op op = {
        .kind = PROGRAM_FILL, .name = n->name, .noutputs = 1, .source = n->source};
    int status = add_version(e, node, e->placement->nodes[node].home, op.phase, &op.outputs[0]);

    if (status != SHD_OK)
        return status;
    e->program->buffers[op.outputs[0]].argument = true;
    return program_add_op(e->program, &op, e->err);
}

/* Buffers for all results of an op. */
static int add_outputs(struct emit *e, uint32_t node, struct program_op *op)
{
    const struct placement_node *c = &e->placement->nodes[node];
    int status = SHD_OK;

    op->kind = PROGRAM_KERNEL;
    op->noutputs = c->rule.nresults;
    for (uint32_t r = 0; r < c->rule.nresults && status == SHD_OK; r++) {
        uint32_t result = assign_result_node(e->graph, node, r);

        status =
            add_version(e, result, e->placement->nodes[result].home, op->phase, &op->outputs[r]);
    }
    memset(&op->desc, 0, sizeof op->desc);
    return status;
}

/* The op as one device would do it with whole arrays: `whole` is lowered to that. */
static void set_work(struct program_op *op, const struct program_op *whole,
                     const struct assign *assign)
{
    const int64_t first[KERN_OFFSETS_MAX] = {0};

    op->unsharded_flops = whole->kernel->flops(&whole->desc, first);
    op->model_flops = kern_dense_flops(whole->kernel, &whole->desc);
    for (uint32_t a = 0; a < SHD_MESH_AXES_MAX; a++)
        if (assign->place[a] >= 0)
            op->cut_axes |= UINT32_C(1) << a;
}

static void whole_extents(int64_t *extents, const struct rule *rule)
{
    for (uint32_t f = 0; f < rule->nfactors; f++)
        extents[f] = rule->factors[f].size;
}

static int add_kernel(struct emit *e, struct program_op *op)
{
    op->dense_flops = kern_dense_flops(op->kernel, &op->desc);
    if (op->kernel->workspace_bytes)
        op->workspace_bytes = op->kernel->workspace_bytes(&op->desc);
    if (op->dense_flops == UINT64_MAX || op->workspace_bytes == UINT64_MAX) /* where kernels stop */
        return shd_error_set(
            e->err, SHD_ERANGE, "'%.80s' (%s) is too large for one device: %s are 2^64 or more",
            op->name, program_phase_name(op->phase),
            op->dense_flops == UINT64_MAX ? "its flops" : "the bytes of its workspace");
    return program_add_op(e->program, op, e->err);
}

static int emit_kernel(struct emit *e, uint32_t node, struct program_op *op)
{
    const struct placement_node *c = &e->placement->nodes[node];
    const struct assigned a = {e->graph, node, &c->rule, &c->assign, e->program->mesh};
    const struct rule_op *row = rule_of(e->graph->nodes[node].op);
    int64_t extents[RULE_FACTORS_MAX];
    struct program_op whole;
    int status = add_outputs(e, node, op);

    if (status != SHD_OK)
        return status;
    whole = *op;
    whole_extents(extents, &c->rule);
    row->lower(&whole, e->graph, node, &c->rule, extents);
    assign_extents(extents, &a);
    row->lower(op, e->graph, node, &c->rule, extents);
    set_work(op, &whole, &c->assign);
    return add_kernel(e, op);
}

/* An elementwise expression: what is inlined into the node is computed with it. */
static int emit_map(struct emit *e, uint32_t node, struct program_op *op)
{
    const struct placement_node *c = &e->placement->nodes[node];
    const struct assigned a = {e->graph, node, &c->rule, &c->assign, e->program->mesh};
    int64_t extents[RULE_FACTORS_MAX];
    struct program_op whole;
    struct fused fused;
    int status = SHD_OK;

    fuse_collect(&fused, e->placement, e->inlined, node);
    op->ninputs = fused.ninputs;
    for (uint32_t i = 0; i < fused.ninputs && status == SHD_OK; i++)
        status = bring(e, fused.inputs[i], fused.needs[i], node, op->name, &op->inputs[i]);
    if (status == SHD_OK)
        status = add_outputs(e, node, op);
    if (status != SHD_OK)
        return status;
    whole = *op;
    whole_extents(extents, &c->rule);
    fuse_lower(&whole, &fused, e->placement, node, extents);
    assign_extents(extents, &a);
    fuse_lower(op, &fused, e->placement, node, extents);
    set_work(op, &whole, &c->assign);
    return add_kernel(e, op);
}

static int emit_op(struct emit *e, uint32_t node)
{
    const struct graph_node *n = &e->graph->nodes[node];
    const struct placement_node *c = &e->placement->nodes[node];
    struct program_op op = {.name = n->name, .phase = (uint8_t)n->phase, .ninputs = n->ninputs};
    int status;

    if (e->inlined[node])
        return SHD_OK;
    if (rule_of(n->op)->fuses)
        return emit_map(e, node, &op);
    for (uint32_t k = 0; k < n->ninputs; k++) {
        status = bring(e, n->inputs[k], c->needs[k], node, n->name, &op.inputs[k]);
        if (status != SHD_OK)
            return status;
    }
    if (!c->works) /* the same array under another name */
        return keep_version(e, node, c->home, op.inputs[0], op.phase);
    return emit_kernel(e, node, &op);
}

/* Deliver a node to the outputs that it is, as soon as it is there. */
static int emit_outputs(struct emit *e, uint32_t node)
{
    static const enum program_result_kind kinds[] = {[GRAPH_OUTPUT] = PROGRAM_OUTPUT,
                                                     [GRAPH_LOSS] = PROGRAM_LOSS,
                                                     [GRAPH_GRADIENT] = PROGRAM_GRADIENT};
    uint32_t buffer;

    for (uint32_t o = e->placement->nodes[node].output; o < e->graph->noutputs; o++) {
        const struct graph_output *output = &e->graph->outputs[o];
        const char *asker;
        int status;

        if (output->node != node)
            continue;
        asker =
            program_text(e->program, "%s %s",
                         output->kind == GRAPH_GRADIENT ? "gradient of" : "result", output->name);
        status = bring(e, node, placement_output_need(e->placement, o), node, asker, &buffer);
        if (status == SHD_OK)
            status =
                program_add_result(e->program, kinds[output->kind], output->name, buffer, e->err);
        if (status != SHD_OK)
            return status;
    }
    return SHD_OK;
}

static int emit_all(struct emit *e)
{
    int status = SHD_OK;

    for (uint32_t node = 0; node < e->graph->nnodes && status == SHD_OK; node++)
        if (e->placement->nodes[node].live && e->graph->nodes[node].op <= GRAPH_PARAM)
            status = emit_leaf(e, node);
    for (uint32_t node = 0; node < e->graph->nnodes && status == SHD_OK; node++) {
        if (!e->placement->nodes[node].live)
            continue;
        if (rule_of(e->graph->nodes[node].op))
            status = emit_op(e, node);
        if (status == SHD_OK)
            status = emit_outputs(e, node);
    }
    return status;
}

int emit_program(struct program *program, struct placement *placement, bool regather,
                 struct shd_error *err)
{
    size_t n = (size_t)placement->graph->nnodes + 1;
    struct emit e = {.program = program,
                     .placement = placement,
                     .graph = placement->graph,
                     .newest = malloc(n * sizeof *e.newest),
                     .inlined = calloc(n, sizeof *e.inlined),
                     .regather = regather,
                     .err = err};
    int status = SHD_OK;

    if (!e.newest || !e.inlined)
        status = shd_error_set(err, SHD_ENOMEM, "no memory for the program");
    if (status == SHD_OK) {
        memset(e.newest, 0xff, n * sizeof *e.newest);
        fuse_mark(e.inlined, placement);
        status = emit_all(&e);
    }
    free(e.newest);
    free(e.inlined);
    free(e.versions);
    return status;
}
