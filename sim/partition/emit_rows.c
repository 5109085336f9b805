/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/emit_rows.h"

#include "program/row_nodes.h"
#include "program/rows.h"

/* ---- one op ---- */

static const char *why(struct emit *e, const struct program_op *op, uint32_t node)
{
    const char *from = e->graph->nodes[e->graph->nodes[node].inputs[0]].name;
    char axes[128];

    program_axes_print(e->program, op->rows.axes, op->rows.naxes, axes, sizeof axes);
    if (op->rows.way == PROGRAM_ROWS_BETWEEN && op->rows.combines)
        return program_text(e->program,
                            "%s needs its tokens' row sums, one from each node with experts of a "
                            "token; %s numbers the nodes",
                            op->name, axes);
    if (op->rows.way == PROGRAM_ROWS_BETWEEN)
        return program_text(e->program,
                            "%s needs each token routed to experts of its node once; the tokens "
                            "(%s) are sharded over %s, the node axis",
                            op->name, from, axes);
    return op->rows.combines
               ? program_text(
                     e->program,
                     "%s needs the rows of its tokens; the experts (%s) are sharded over %s",
                     op->name, from, axes)
               : program_text(e->program,
                              "%s needs the tokens routed to its experts; the tokens (%s) are "
                              "sharded over %s",
                              op->name, from, axes);
}

/* Complete an op whose buffers and way are set, and add it. */
static int add(struct emit *e, uint32_t node, struct program_op *op)
{
    int status = op->rows.way == PROGRAM_ROWS_BETWEEN ? program_nodes_set(e->program, op, e->err)
                                                      : program_rows_set(e->program, op, e->err);

    if (status != SHD_OK)
        return status;
    if (program_communicates(op))
        op->why = why(e, op, node);
    return program_add_op(e->program, op, e->err);
}

/* ---- two ops ---- */

/* The node axes of the program's mesh, of size 2 or more. */
static uint32_t node_axes(const struct emit *e)
{
    const uint8_t *asked = e->placement->request->node_axis;
    const struct program *program = e->program;
    uint32_t axes = 0;

    for (uint8_t a = 0; asked && a < shd_mesh_naxes(program->mesh); a++)
        if (program->asked_axis[a] == *asked && shd_mesh_axis_size(program->mesh, a) > 1)
            axes |= UINT32_C(1) << a;
    return axes;
}

static uint32_t number_of_axes(uint32_t axes)
{
    uint32_t n = 0;

    for (; axes; axes &= axes - 1)
        n++;
    return n;
}

/* The sharding of a token array without the axes of nodes, over which it is `partial` or whole. */
static int without_nodes(uint32_t *number, const struct emit *e, uint32_t tokens, uint32_t axes,
                         bool partial)
{
    struct shd_sharding s = *price_sharding(e->placement->price, tokens);
    struct shd_dim_axes *batch = &s.dims[0];

    for (uint32_t n = number_of_axes(axes); n > 0; n--) {
        if (batch->naxes == 0 || !(axes >> batch->axes[batch->naxes - 1] & 1))
            return shd_error_set(e->err, SHD_EINVAL,
                                 "moe.node_axis: the tokens at experts are not sharded over the "
                                 "axis, last of the axes of their batch");
        batch->axes[--batch->naxes] = 0;
    }
    if (partial) {
        s.partial |= axes;
        s.partial_op = SHD_SUM;
    }
    *number = price_number(e->placement->price, &s);
    return SHD_OK;
}

/* Check that the node axis shards the experts of an array of their rows. */
static int check_experts(const struct emit *e, uint32_t buffer, uint32_t axes)
{
    const struct shd_dim_axes *experts = &e->program->buffers[buffer].sharding.dims[0];

    for (uint8_t i = 0; i < experts->naxes; i++)
        axes &= ~(UINT32_C(1) << experts->axes[i]);
    if (axes == 0)
        return SHD_OK;
    return shd_error_set(e->err, SHD_EINVAL,
                         "moe.node_axis: experts are not sharded over the axis");
}

/* Tokens go to the devices of other nodes, and from there to experts. */
static int dispatch(struct emit *e, uint32_t node, struct program_op *op, uint32_t axes)
{
    uint32_t tokens = e->graph->nodes[node].inputs[0], number;
    struct program_op between = *op;
    int status = without_nodes(&number, e, e->placement->nodes[node].needs[0], axes, false);

    between.rows.way = PROGRAM_ROWS_BETWEEN;
    between.rows.node_axes = axes;
    between.rows.experts = op->outputs[0];
    if (status == SHD_OK)
        status = check_experts(e, op->outputs[0], axes);
    if (status == SHD_OK)
        status = emit_add_alone(e, tokens, number, &between.outputs[0]);
    if (status == SHD_OK)
        status = add(e, node, &between);
    op->inputs[0] = between.outputs[0];
    return status == SHD_OK ? add(e, node, op) : status;
}

/* Bring the ids, or slots, of all tokens of which a device adds up its node's rows. */
static int bring_ids(struct emit *e, uint32_t node, uint32_t k, uint32_t axes, uint32_t *buffer)
{
    uint32_t ids = e->graph->nodes[node].inputs[k], number;
    int status = without_nodes(&number, e, e->placement->nodes[node].needs[k], axes, false);

    if (status != SHD_OK)
        return status;
    if (e->only != GRAPH_NONE)
        return emit_add_alone(e, ids, number, buffer);
    return emit_bring(e, ids, number, emit_spot_of(e, node), e->graph->nodes[node].name, buffer);
}

/* Rows are added up in the node of their experts, and then between nodes. */
static int combine(struct emit *e, uint32_t node, struct program_op *op, uint32_t axes)
{
    struct program_op inside = *op;
    uint32_t number;
    int status = without_nodes(&number, e, e->placement->nodes[node].home, axes, true);

    if (status == SHD_OK)
        status = check_experts(e, op->inputs[0], axes);
    inside.rows.way = PROGRAM_ROWS_IN_NODE;
    inside.rows.node_axes = axes;
    for (uint32_t k = 1; k < 3 && status == SHD_OK; k++)
        status = bring_ids(e, node, k, axes, &inside.inputs[k]);
    if (status == SHD_OK)
        status = emit_add_alone(e, node, number, &inside.outputs[0]);
    if (status == SHD_OK)
        status = add(e, node, &inside);
    op->rows.way = PROGRAM_ROWS_BETWEEN;
    op->rows.node_axes = axes;
    op->rows.experts = op->inputs[0];
    op->inputs[0] = inside.outputs[0];
    return status == SHD_OK ? add(e, node, op) : status;
}

int emit_rows(struct emit *e, uint32_t node, struct program_op *op)
{
    const struct graph_node *n = &e->graph->nodes[node];
    uint32_t axes = node_axes(e);

    rule_of(n->op)->lower(op, NULL, e->graph, node, &e->placement->nodes[node].rule, NULL);
    if (axes == 0 || !n->attr.experts.sums)
        return add(e, node, op);
    return op->rows.combines ? combine(e, node, op, axes) : dispatch(e, node, op, axes);
}
