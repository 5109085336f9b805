/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/emit.h"

#include <shd/reshard.h>

#include <stdlib.h>
#include <string.h>

#include "partition/carry.h"
#include "partition/emit_rows.h"
#include "partition/fuse.h"
#include "partition/halo.h"
#include "partition/slices.h"
#include "partition/versions.h"

/* ---- ops ---- */

/* Whether a shift moves elements between devices: the shifted dimension is sharded. */
static bool shifts_between_devices(const struct emit *e, uint32_t node)
{
    const struct graph_node *n = &e->graph->nodes[node];
    const struct shd_sharding *home =
        price_sharding(e->placement->price, e->placement->nodes[node].home);

    return n->op == GRAPH_SHIFT && home->dims[graph_place(n, n->attr.shift.dim)].naxes > 0;
}

/* Name of the op that reads a shifted array, past further shifts. */
static const char *reader_of_shift(const struct emit *e, uint32_t node)
{
    const struct placement_node *p = &e->placement->nodes[node];

    for (uint32_t r = 0; r < p->nreaders; r++)
        if (e->graph->nodes[p->readers[r].node].op != GRAPH_SHIFT)
            return e->graph->nodes[p->readers[r].node].name;
    return e->graph->nodes[node].name;
}

/* Why an array is shifted.  A sum that moves around a ring is read by the op that adds to it, which
 * has the same name. */
static const char *why_shifted(struct emit *e, uint32_t node)
{
    const char *name = e->graph->nodes[e->graph->nodes[node].inputs[0]].name;
    const char *reader = reader_of_shift(e, node);

    if (!strcmp(reader, name))
        return program_text(e->program, "the sum %s moves with its block", name);
    return program_text(e->program, "%s needs the next block of %s", reader, name);
}

/* Turn an op, whose operand and result are set, into a step that shifts shards between devices. */
static int set_shift(struct program_op *op, struct emit *e, uint32_t node)
{
    const struct graph_node *n = &e->graph->nodes[node];
    const struct program_buffer *b = &e->program->buffers[op->outputs[0]];

    op->kind = PROGRAM_RESHARD;
    op->why = why_shifted(e, node);
    return shd_reshard_shift(&op->reshard, &b->sharding, b->shape, b->dtype,
                             (int)graph_place(n, n->attr.shift.dim), n->attr.shift.by, e->err);
}

/* Generate a mask input once for each sharding in which it is read. */
static int emit_known(struct emit *e, uint32_t node, struct spot spot)
{
    const struct placement_node *n = &e->placement->nodes[node];
    int status = SHD_OK;

    for (uint32_t r = 0; r < n->nreaders && status == SHD_OK; r++) {
        uint32_t need = e->placement->nodes[n->readers[r].node].needs[n->readers[r].operand];
        const struct version *from = emit_cheapest(e, node, need, spot);

        if (!from || from->sharding != need)
            status = emit_fill(e, node, need, spot);
    }
    return status;
}

static int emit_leaf(struct emit *e, uint32_t node)
{
    struct spot spot = {GRAPH_FORWARD, PROGRAM_ARGUMENTS, false, emit_stage_of(e, node)};

    if (emit_is_filled_anew(e, node) ||
        (emit_is_known_everywhere(e, node) && e->program->nstages > 1))
        return SHD_OK;
    if (emit_is_known_everywhere(e, node))
        return emit_known(e, node, spot);
    return emit_fill(e, node, e->placement->nodes[node].home, spot);
}

/* Reshard all operands of an op as it needs them; operands of inlined maps are operands of the
 * op. */
static int bring_inputs(struct emit *e, uint32_t node, const struct fused *fused,
                        struct program_op *op)
{
    int status = SHD_OK;

    op->ninputs = fused->ninputs;
    for (uint32_t i = 0; i < fused->ninputs && status == SHD_OK; i++)
        if (e->only == GRAPH_NONE || fused->inputs[i] == e->only)
            status = emit_bring(e, fused->inputs[i], fused->needs[i], emit_spot_of(e, node),
                                op->name, &op->inputs[i]);
    return status;
}

/* Collect the operands of a node that is not inlined, and its expression if it has one. */
static void collect_inputs(struct fused *out, const struct placement *p, const bool *inlined,
                           uint32_t node)
{
    const struct graph_node *n = &p->graph->nodes[node];

    if (rule_of(n->op)->fuses) {
        fuse_collect(out, p, inlined, node);
        return;
    }
    out->ninputs = n->ninputs;
    memcpy(out->inputs, n->inputs, n->ninputs * sizeof *n->inputs);
    memcpy(out->needs, p->nodes[node].needs, n->ninputs * sizeof *out->needs);
}

/* Add buffers for all results of an op. */
static int add_outputs(struct emit *e, uint32_t node, struct program_op *op)
{
    const struct placement_node *c = &e->placement->nodes[node];
    int status = SHD_OK;

    op->noutputs = c->rule.nresults;
    for (uint32_t r = 0; r < c->rule.nresults && status == SHD_OK; r++) {
        uint32_t result = assign_result_node(e->graph, node, r);

        status = emit_add_version(e, result, e->placement->nodes[result].home,
                                  emit_spot_of(e, node), &op->outputs[r]);
    }
    return status;
}

/* Set the kernel of a node for given extents. */
static void lower(struct program_op *op, union kern_desc *desc, const struct placement *p,
                  uint32_t node, const struct fused *fused, const int64_t *extents)
{
    const struct rule_op *row = rule_of(p->graph->nodes[node].op);

    memset(desc, 0, sizeof *desc);
    op->kernel = row->kernel;
    op->desc = desc;
    if (row->fuses)
        fuse_lower(op, desc, fused, p, node, extents);
    else
        row->lower(op, desc, p->graph, node, &p->nodes[node].rule, extents);
}

/* Set the work of the unsharded op: `whole` is the op lowered to one device with whole arrays. */
static void set_work(struct program_op *op, const struct program_op *whole,
                     const struct assign *assign)
{
    const int64_t first[KERN_OFFSETS_MAX] = {0};

    op->unsharded_flops = kern_flops(whole->kernel, whole->desc, first);
    if (op->phase != GRAPH_OPTIMIZER || op->kernel != &kern_kernel_einsum)
        op->model_flops = kern_model_flops(whole->kernel, whole->desc);
    for (uint32_t a = 0; a < SHD_MESH_AXES_MAX; a++)
        if (assign->place[a] >= 0 || assign->place[a] == ASSIGN_FLAT)
            op->cut_axes |= UINT32_C(1) << a;
    op->dense_flops = kern_dense_flops(op->kernel, op->desc);
    if (op->kernel->workspace_bytes)
        op->workspace_bytes = op->kernel->workspace_bytes(op->desc);
}

/* Set the extents of an array's dimensions without their padding. */
static void set_held(int64_t *extents, const struct graph *graph, uint32_t array,
                     const int8_t *factors)
{
    const struct graph_node *n = &graph->nodes[array];

    for (uint32_t d = 0; d < n->rank; d++)
        if (graph->dims[n->dims[d]].held < graph->dims[n->dims[d]].size)
            extents[factors[d]] = graph->dims[n->dims[d]].held;
}

static void whole_extents(int64_t *extents, const struct graph *graph, uint32_t node,
                          const struct rule *rule)
{
    for (uint32_t f = 0; f < rule->nfactors; f++)
        extents[f] = rule->factors[f].size;
    set_held(extents, graph, node, rule->result[0]);
    for (uint32_t k = 0; k < rule->noperands; k++)
        set_held(extents, graph, graph->nodes[node].inputs[k], rule->operand[k]);
}

/* Set all of a kernel except its buffers, and its description, to which the op points then. */
static int set_kernel(struct program_op *op, union kern_desc *desc, const struct placement *p,
                      uint32_t node, const struct fused *fused, struct shd_error *err)
{
    const struct placement_node *c = &p->nodes[node];
    const struct assigned a = {p->graph, node, &c->rule, &c->assign, p->mesh};
    int64_t extents[RULE_FACTORS_MAX];
    union kern_desc whole_desc;
    struct program_op whole;

    op->kind = PROGRAM_KERNEL;
    whole = *op;
    whole_extents(extents, p->graph, node, &c->rule);
    lower(&whole, &whole_desc, p, node, fused, extents);
    assign_extents(extents, &a);
    lower(op, desc, p, node, fused, extents);
    set_work(op, &whole, &c->assign);
    if (op->dense_flops == UINT64_MAX || op->workspace_bytes == UINT64_MAX) /* the value at which
                                                                               kernels saturate */
        return shd_error_set(
            err, SHD_ERANGE, "mesh: '%.80s' (%s) is too large for one device: %s are 2^64 or more",
            op->name, program_phase_name(op->phase),
            op->dense_flops == UINT64_MAX ? "its flops" : "the bytes of its workspace");
    return SHD_OK;
}

static struct program_op op_of(const struct emit *e, uint32_t node)
{
    return emit_op_at(PROGRAM_KERNEL, e->graph->nodes[node].name, emit_spot_of(e, node));
}

/* The buffer of a value as it was made, or as the step begins: its oldest version. */
static uint32_t oldest_of(const struct emit *e, uint32_t node)
{
    uint32_t v = e->newest[node - e->first];

    while (e->versions[v].next != PROGRAM_NONE)
        v = e->versions[v].next;
    return e->versions[v].buffer;
}

/* Let an op hold a result of an earlier op. */
static void hold(struct program_op *op, const struct emit *e, uint32_t node)
{
    uint32_t holds = e->graph->nodes[node].holds;

    if (holds == 0 || e->newest[holds - 1 - e->first] == PROGRAM_NONE)
        return;
    op->holds = true;
    op->held = oldest_of(e, holds - 1);
}

/* Emit an op on windows that cross shards, or a scan over them. */
static int emit_with_halo(struct emit *e, uint32_t node, const struct halo *halo,
                          const struct fused *fused, struct program_op *op)
{
    enum graph_op kind = e->graph->nodes[node].op;
    union kern_desc desc;
    int status = kind == GRAPH_TAPS ? halo_emit_before(e, node, halo, op) : SHD_OK;

    if (status == SHD_OK)
        status = set_kernel(op, &desc, e->placement, node, fused, e->err);
    hold(op, e, node);
    if (status != SHD_OK)
        return status;
    if (kind == GRAPH_SCAN)
        return carry_emit(e, node, halo, op, &desc);
    halo_set(op, &desc, halo);
    return kind == GRAPH_TAPS ? program_add_op(e->program, op, e->err)
                              : halo_emit_sum(e, node, halo, op);
}

static int emit_op(struct emit *e, uint32_t node)
{
    const struct placement_node *c = &e->placement->nodes[node];
    struct program_op op = op_of(e, node);
    union kern_desc desc;
    struct fused fused;
    struct slices slices;
    struct halo halo;
    int status;

    if (e->inlined[node])
        return SHD_OK;
    collect_inputs(&fused, e->placement, e->inlined, node);
    status = bring_inputs(e, node, &fused, &op);
    if (status != SHD_OK)
        return status;
    if (!c->works) { /* an alias */
        emit_keep_version(e, node, c->home, op.inputs[0], emit_spot_of(e, node));
        return SHD_OK;
    }
    status = add_outputs(e, node, &op);
    if (status == SHD_OK && rule_of(e->graph->nodes[node].op)->moves_rows)
        return emit_rows(e, node, &op);
    if (status == SHD_OK &&
        (halo_find(&halo, e->placement, node) || carry_find(&halo, e->placement, node)))
        return emit_with_halo(e, node, &halo, &fused, &op);
    if (status == SHD_OK)
        status = shifts_between_devices(e, node)
                     ? set_shift(&op, e, node)
                     : set_kernel(&op, &desc, e->placement, node, &fused, e->err);
    hold(&op, e, node);
    if (status == SHD_OK && slices_find(&slices, e->placement, node))
        return slices_emit(e, node, &slices, &op, &desc);
    return status == SHD_OK ? program_add_op(e->program, &op, e->err) : status;
}

static int add_result(struct emit *e, const struct graph_output *output, uint32_t buffer)
{
    static const enum program_result_kind kinds[] = {[GRAPH_OUTPUT] = PROGRAM_OUTPUT,
                                                     [GRAPH_LOSS] = PROGRAM_LOSS,
                                                     [GRAPH_GRADIENT] = PROGRAM_GRADIENT,
                                                     [GRAPH_NEXT] = PROGRAM_NEXT};

    if (output->kind == GRAPH_NEXT && e->only == GRAPH_NONE)
        return program_add_next(e->program, output->name, buffer, oldest_of(e, output->of), e->err);
    return program_add_result(e->program, kinds[output->kind], output->name, buffer, e->err);
}

/* Deliver a node's value to the outputs it belongs to, once the value is made. */
static int emit_outputs(struct emit *e, uint32_t node)
{
    static const char *const askers[] = {[GRAPH_OUTPUT] = "result",
                                         [GRAPH_LOSS] = "result",
                                         [GRAPH_GRADIENT] = "gradient of",
                                         [GRAPH_NEXT] = "next step's"};
    uint32_t buffer;

    for (uint32_t o = e->placement->nodes[node].output; o != GRAPH_NONE;
         o = e->placement->next_output[o]) {
        const struct graph_output *output = &e->graph->outputs[o];
        const char *asker;
        int status;

        asker = program_text(e->program, "%s %s", askers[output->kind], output->name);
        status = emit_bring(e, node, placement_output_need(e->placement, o), emit_spot_of(e, node),
                            asker, &buffer);
        if (status == SHD_OK)
            status = add_result(e, output, buffer);
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
        if (rule_of(e->graph->nodes[node].op)->rule)
            status = emit_op(e, node);
        if (status == SHD_OK)
            status = emit_outputs(e, node);
    }
    return status;
}

int emit_program(struct program *program, struct placement *placement, const struct emit_opts *opts,
                 struct shd_error *err)
{
    struct pool *pool = pool_in(placement->pool);
    size_t n = placement->graph->nnodes;
    bool *inlined = pool_array(pool, n, sizeof *inlined);
    struct emit e = {.pool = pool,
                     .program = program,
                     .placement = placement,
                     .graph = placement->graph,
                     .newest = pool_array(pool, n, sizeof *e.newest),
                     .only = GRAPH_NONE,
                     .inlined = inlined,
                     .opts = *opts,
                     .err = err};
    int status;

    memset(e.newest, 0xff, n * sizeof *e.newest);
    fuse_mark(inlined, placement);
    status = emit_all(&e);
    pool_drop(placement->pool, pool);
    return status;
}

/* ---- parts of a program ---- */

/* The next op after `after` that reads a value, directly or in its expression; GRAPH_NONE: no
 * more. */
static uint32_t next_reader(const struct emit *e, uint32_t value, uint32_t after)
{
    const struct placement_node *n = &e->placement->nodes[value];
    uint32_t next = GRAPH_NONE;

    for (uint32_t r = 0; r < n->nreaders; r++) {
        uint32_t reader = n->readers[r].node;

        while (e->inlined[reader])
            reader = e->placement->nodes[reader].readers[0].node;
        if (reader > after && reader < next)
            next = reader;
    }
    return next;
}

/* Emit an op that moves rows of a value, op->inputs[0], as a step by itself. */
static int emit_rows_alone(struct emit *e, uint32_t node, struct program_op *op)
{
    const struct placement_node *c = &e->placement->nodes[node];
    const struct graph_node *n = &e->graph->nodes[node];
    int status = emit_add_alone(e, node, c->home, &op->outputs[0]);

    op->noutputs = 1;
    for (uint32_t k = 1; k < n->ninputs && status == SHD_OK; k++)
        status = emit_add_alone(e, n->inputs[k], c->needs[k], &op->inputs[k]);
    return status == SHD_OK ? emit_rows(e, node, op) : status;
}

/* Emit the steps that bring a value's elements to an op on slices. */
static int emit_slices_alone(struct emit *e, uint32_t node, uint32_t value,
                             const struct program_op *op)
{
    const struct graph_node *n = &e->graph->nodes[node];
    struct slices slices;
    int status = SHD_OK;

    if (!slices_find(&slices, e->placement, node))
        return SHD_OK;
    for (uint32_t k = 0; k < n->ninputs && status == SHD_OK; k++) {
        uint32_t buffer = op->inputs[k];

        if (n->inputs[k] == value)
            status = slices_emit_step(e, node, &slices, k, PROGRAM_NONE, &buffer);
    }
    return status;
}

static int emit_readers(struct emit *e, uint32_t value)
{
    int status = emit_outputs(e, value);

    for (uint32_t reader = next_reader(e, value, value); reader != GRAPH_NONE && status == SHD_OK;
         reader = next_reader(e, value, reader)) {
        struct program_op op = op_of(e, reader);
        struct fused fused;

        collect_inputs(&fused, e->placement, e->inlined, reader);
        status = bring_inputs(e, reader, &fused, &op);
        if (status == SHD_OK && rule_of(e->graph->nodes[reader].op)->moves_rows &&
            fused.inputs[0] == value)
            status = emit_rows_alone(e, reader, &op);
        else if (status == SHD_OK)
            status = emit_slices_alone(e, reader, value, &op);
    }
    return status;
}

int emit_steps(struct program *program, struct placement *placement, const bool *inlined,
               uint32_t value, struct shd_error *err)
{
    uint32_t newest = PROGRAM_NONE, buffer;
    struct emit e = {.pool = placement->pool,
                     .program = program,
                     .placement = placement,
                     .graph = placement->graph,
                     .newest = &newest,
                     .first = value,
                     .only = value,
                     .inlined = inlined,
                     .err = err};
    int status;

    if (inlined[value]) /* an inlined map has no array */
        return SHD_OK;
    status =
        emit_add_version(&e, value, placement->nodes[value].home, emit_spot_of(&e, value), &buffer);
    if (status == SHD_OK)
        status = emit_readers(&e, value);
    pool_drop(e.pool, e.versions);
    return status;
}

int emit_kernel(struct program_op *out, union kern_desc *desc, const struct placement *placement,
                const bool *inlined, uint32_t node, struct shd_error *err)
{
    const struct emit e = {.graph = placement->graph};
    struct fused fused;

    *out = op_of(&e, node);
    if (rule_of(placement->graph->nodes[node].op)->moves_rows) { /* no kernel, and no work */
        out->kind = PROGRAM_ROWS;
        return SHD_OK;
    }
    collect_inputs(&fused, placement, inlined, node);
    return set_kernel(out, desc, placement, node, &fused, err);
}
