/* Pad a graph (pad.h): the sizes, and the walk over its nodes (ops/padding.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "graph/pad.h"

#include <inttypes.h>
#include <stdlib.h>

#include "graph/ops/padding.h"

/* ---- sizes ---- */

static int64_t rounded_up(int64_t n, int64_t multiple)
{
    return n / multiple * multiple + (n % multiple ? multiple : 0);
}

#define LONGER_MAX 16 /* most times that padding may lengthen a dimension */

/* The smallest allowed sizes of two dimensions, one of which is a fixed multiple of the other. */
static int pair_sizes(int64_t *sizes, const struct graph *graph, const int64_t *multiples,
                      uint32_t few, uint32_t many, struct shd_error *err)
{
    int64_t times = graph->dims[many].size / graph->dims[few].size;
    int64_t n = sizes[few] > (sizes[many] + times - 1) / times ? sizes[few]
                                                               : (sizes[many] + times - 1) / times;

    while (n % multiples[few] || n * times % multiples[many])
        if (++n > LONGER_MAX * graph->dims[few].size)
            return shd_error_set(err, SHD_EINDIVISIBLE,
                                 "cannot pad '%s' (size %" PRId64 ") and '%s' (size %" PRId64
                                 "): their sizes must be multiples of %" PRId64 " and %" PRId64,
                                 graph->dims[few].name, graph->dims[few].size,
                                 graph->dims[many].name, graph->dims[many].size, multiples[few],
                                 multiples[many]);
    sizes[few] = n;
    sizes[many] = n * times;
    return SHD_OK;
}

/* Two dimensions of a node whose ratio must stay the same (heads and key heads, a dimension and its
 * other name), of several pairs one; false: none.  A single key head may have any number of
 * copies. */
static bool tied(const struct graph *graph, const int64_t *sizes, const struct graph_node *n,
                 uint32_t pair, uint32_t *few, uint32_t *many)
{
    if (n->op == GRAPH_EINSUM && pair < n->attr.renames.n) {
        *few = n->attr.renames.list[pair].dim;
        *many = n->attr.renames.list[pair].as;
        return sizes[*few] > 0;
    }
    if (pair > 0)
        return false;
    if (n->op == GRAPH_ATTENTION) {
        *many = graph->nodes[n->inputs[0]].dims[2];
        *few = graph->nodes[n->inputs[1]].dims[2];
    } else if (n->op == GRAPH_REPEAT) {
        *few = n->attr.repeat.from_dim;
        *many = n->attr.repeat.to_dim;
    } else {
        return false;
    }
    return *few != *many && graph->dims[*few].size > 0 && sizes[*few] > 1;
}

/* Lengthen the dimensions of a node that are tied, but not in their ratio. */
static int tie_node(int64_t *sizes, const struct graph *graph, const int64_t *multiples,
                    const struct graph_node *n, bool *changed, struct shd_error *err)
{
    int status = SHD_OK;

    for (uint32_t pair = 0; pair <= GRAPH_RENAMES_MAX && status == SHD_OK; pair++) {
        uint32_t few, many;

        if (!tied(graph, sizes, n, pair, &few, &many) ||
            sizes[many] * graph->dims[few].size == sizes[few] * graph->dims[many].size)
            continue;
        *changed = true;
        status = pair_sizes(sizes, graph, multiples, few, many, err);
    }
    return status;
}

int graph_padded_sizes(int64_t *sizes, const struct graph *graph, const int64_t *multiples,
                       struct shd_error *err)
{
    int status = SHD_OK;
    bool changed = true;

    for (uint32_t d = 0; d < graph->ndims; d++)
        sizes[d] = rounded_up(graph->dims[d].size, multiples[d]);
    while (changed && status == SHD_OK) {
        changed = false;
        for (uint32_t i = 0; i < graph->nnodes && status == SHD_OK; i++)
            status = tie_node(sizes, graph, multiples, &graph->nodes[i], &changed, err);
    }
    return status;
}

/* ---- the walk ---- */

/* Whether an operand is a gradient with nonzero padding: then the node passes padding on instead of
 * creating it, and is overwritten only if required. */
static bool comes_from_gradient(const struct padding *p, const struct graph_node *n, uint32_t dim)
{
    for (uint32_t k = 0; k < n->ninputs; k++) {
        const struct graph_node *of = &p->to->nodes[n->inputs[k]];

        if (of->phase == GRAPH_BACKWARD && of->gradient_of != GRAPH_NONE &&
            graph_has_dim(of, dim) && !padding_is_zero(padding_within(p, n->inputs[k], dim)))
            return true;
    }
    return false;
}

/* Whether a node creates nonzero padding: looked-up tokens, and gradients that start here.  It is
 * overwritten at once, so that padding behind it stays zero. */
static bool begins_here(const struct padding *p, uint32_t node, uint32_t d)
{
    const struct graph_node *n = &p->to->nodes[node];

    if (padding_is_zero(p->rows[node].at[d]))
        return false;
    if (n->op == GRAPH_EMBED)
        return !graph_has_dim(&p->to->nodes[n->inputs[0]], n->dims[d]);
    return n->phase == GRAPH_BACKWARD && n->gradient_of != GRAPH_NONE &&
           !comes_from_gradient(p, n, n->dims[d]);
}

/* Whether a state's next value has nonzero padding: it is overwritten, since the state had zeros
 * there. */
static bool is_kept(const struct padding *p, uint32_t old, uint32_t dim)
{
    return p->stays[old] && !padding_is_zero(padding_within(p, p->result[old], dim));
}

static void pad_node(struct padding *p, uint32_t old)
{
    struct graph_node n = p->from->nodes[old];
    const struct graph_op_row *op = graph_op(n.op);
    uint32_t added;

    for (uint32_t k = 0; k < n.ninputs; k++) {
        n.inputs[k] = p->moved[n.inputs[k]];
        if (n.op != GRAPH_EXTRA)
            n.inputs[k] = padding_newest(p, n.inputs[k], &n);
    }
    if (n.gradient_of != GRAPH_NONE)
        n.gradient_of = p->moved[n.gradient_of];
    if (n.state_of != GRAPH_NONE)
        n.state_of = p->moved[n.state_of];
    p->op = op->name;
    if (op->need)
        op->need(p, &n);
    if (p->to->err.status != SHD_OK)
        return;
    added = padding_append(p, &n);
    p->moved[old] = added;
    for (uint32_t d = 0; added != GRAPH_NONE && d < n.rank; d++)
        if (padding_in(p, n.dims[d]))
            p->rows[added].at[d] = op->made ? op->made(p, &n, d) : padding_unknown;
    p->result[old] = added;
    for (uint32_t d = 0; p->result[old] != GRAPH_NONE && d < n.rank; d++)
        if (padding_in(p, n.dims[d]) && (begins_here(p, added, d) || is_kept(p, old, n.dims[d])))
            p->result[old] = padding_overwrite(p, added, n.dims[d], 0, &n);
}

/* Add outputs in their nodes' order, which is the order of a program's results. */
static void pad_outputs(struct padding *p)
{
    for (uint32_t o = 0; o < p->from->noutputs; o++) {
        const struct graph_output *output = &p->from->outputs[o];

        graph_output(p->to, output->kind, output->name, p->result[output->node],
                     output->of == GRAPH_NONE ? GRAPH_NONE : p->moved[output->of]);
    }
}

static void pad_nodes(struct padding *p)
{
    for (uint32_t old = 0; old < p->from->nnodes && p->to->err.status == SHD_OK; old++)
        pad_node(p, old);
    for (uint32_t old = 0; old < p->from->nnodes && p->to->err.status == SHD_OK; old++)
        for (uint32_t e = 0; e < p->from->nodes[old].nextras; e++)
            p->to->nodes[p->moved[old]].extras[e] = p->moved[p->from->nodes[old].extras[e]];
    if (p->to->err.status == SHD_OK)
        pad_outputs(p);
}

int graph_pad(struct graph **out, const struct graph *graph, const int64_t *sizes,
              struct shd_error *err)
{
    struct padding p = {.from = graph, .to = graph_create()};
    int status = SHD_ENOMEM;

    p.moved = malloc(2 * ((size_t)graph->nnodes + 1) * sizeof *p.moved);
    p.result = p.moved ? p.moved + graph->nnodes : NULL;
    p.stays = calloc((size_t)graph->nnodes + 1, sizeof *p.stays);
    if (!p.to || !p.moved || !p.stays) {
        shd_error_set(err, SHD_ENOMEM, "no memory for a padded graph");
    } else {
        for (uint32_t d = 0; d < graph->ndims; d++)
            if (graph_dim(p.to, graph->dims[d].name, sizes[d]) != GRAPH_NONE)
                p.to->dims[d].held = graph->dims[d].size;
        for (uint32_t o = 0; o < graph->noutputs; o++)
            p.stays[graph->outputs[o].node] |= graph->outputs[o].kind == GRAPH_NEXT;
        p.to->nstages = graph->nstages;
        p.to->microbatches = graph->microbatches;
        if (p.to->err.status == SHD_OK)
            pad_nodes(&p);
        status = graph_status(p.to, err);
    }
    free(p.moved);
    free(p.stays);
    free(p.masked);
    free(p.rows);
    if (status == SHD_OK)
        *out = p.to;
    else
        graph_destroy(p.to);
    return status;
}
