/* Nodes of products, elementwise functions, sums and transposes (graph.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "graph/graph.h"

#include <math.h>
#include <string.h>

static bool listed(const uint32_t *dims, uint32_t rank, uint32_t dim)
{
    for (uint32_t d = 0; d < rank; d++)
        if (dims[d] == dim)
            return true;
    return false;
}

/* `a` summed over the dimensions that neither `b` nor the result has. */
static uint32_t presum(struct graph *graph, const char *name, uint32_t a, uint32_t b,
                       const uint32_t *dims, uint32_t rank)
{
    const struct graph_node *from = &graph->nodes[a];
    uint32_t keep[GRAPH_RANK_MAX], nkeep = 0;

    for (uint32_t d = 0; d < from->rank; d++)
        if (listed(dims, rank, from->dims[d]) || graph_has_dim(&graph->nodes[b], from->dims[d]))
            keep[nkeep++] = from->dims[d];
    if (nkeep == from->rank)
        return a;
    return graph_reduce(graph, name, SHD_SUM, a, keep, nkeep);
}

/* Whether the result is `a` with each element multiplied by an element of `b`, without a sum. */
static bool product_by_elements(const struct graph *graph, uint32_t a, uint32_t b,
                                const uint32_t *dims, uint32_t rank)
{
    const struct graph_node *x = &graph->nodes[a], *y = &graph->nodes[b];

    if (x->rank != rank || (rank > 0 && memcmp(x->dims, dims, rank * sizeof *dims) != 0))
        return false;
    for (uint32_t d = 0; d < y->rank; d++)
        if (!graph_has_dim(x, y->dims[d]))
            return false;
    return true;
}

uint32_t graph_einsum(struct graph *graph, const char *name, uint32_t a, uint32_t b,
                      const uint32_t *dims, uint32_t rank)
{
    struct graph_node node = {.op = GRAPH_EINSUM, .rank = rank, .ninputs = 2};

    if (!graph_usable(graph, a) || !graph_usable(graph, b))
        return GRAPH_NONE;
    if (graph->nodes[a].dtype != graph->nodes[b].dtype)
        return graph_fail(graph, SHD_ETYPE, "'%s' multiplies %s by %s", name,
                          shd_dtype_name(graph->nodes[a].dtype),
                          shd_dtype_name(graph->nodes[b].dtype));
    for (uint32_t d = 0; d < rank && d < GRAPH_RANK_MAX; d++) {
        node.dims[d] = dims[d];
        if (!graph_has_dim(&graph->nodes[a], dims[d]) && !graph_has_dim(&graph->nodes[b], dims[d]))
            return graph_fail(graph, SHD_EINVAL,
                              "'%s' has dimension '%s', which neither operand has", name,
                              dims[d] < graph->ndims ? graph->dims[dims[d]].name : "?");
    }
    node.inputs[0] = presum(graph, name, a, b, dims, rank);
    node.inputs[1] = presum(graph, name, b, a, dims, rank);
    if (!graph_usable(graph, node.inputs[0]) || !graph_usable(graph, node.inputs[1]))
        return GRAPH_NONE;
    if (product_by_elements(graph, node.inputs[0], node.inputs[1], dims, rank))
        return graph_map(graph, name, KERN_MUL, node.inputs[0], node.inputs[1], 0);
    if (product_by_elements(graph, node.inputs[1], node.inputs[0], dims, rank))
        return graph_map(graph, name, KERN_MUL, node.inputs[1], node.inputs[0], 0);
    node.dtype = graph->nodes[a].dtype;
    return graph_add(graph, &node, name);
}

uint32_t graph_read_as(const struct graph_node *node, uint32_t k, uint32_t dim)
{
    const struct graph_renames *r = &node->attr.renames;

    for (uint32_t i = 0; node->op == GRAPH_EINSUM && i < r->n; i++)
        if (r->list[i].operand == k && r->list[i].dim == dim)
            return r->list[i].as;
    return dim;
}

/* Whether operand k has a dimension as the node reads its dimensions. */
static bool reads_dim(const struct graph *graph, const struct graph_node *node, uint32_t k,
                      uint32_t dim)
{
    const struct graph_node *x = &graph->nodes[node->inputs[k]];

    for (uint32_t d = 0; d < x->rank; d++)
        if (graph_read_as(node, k, x->dims[d]) == dim)
            return true;
    return false;
}

uint32_t graph_einsum_renamed(struct graph *graph, const char *name, uint32_t a, uint32_t b,
                              const struct graph_renames *renames, const uint32_t *dims,
                              uint32_t rank)
{
    struct graph_node node = graph_like(graph, GRAPH_EINSUM, a);

    if (!graph_usable(graph, a) || !graph_usable(graph, b))
        return GRAPH_NONE;
    node.ninputs = 2;
    node.inputs[0] = a;
    node.inputs[1] = b;
    node.attr.renames = *renames;
    node.rank = rank;
    memcpy(node.dims, dims, rank * sizeof *dims);
    for (uint32_t d = 0; d < rank; d++)
        if (!reads_dim(graph, &node, 0, dims[d]) && !reads_dim(graph, &node, 1, dims[d]))
            return graph_fail(graph, SHD_EINVAL,
                              "'%s' has a dimension that neither operand is read with", name);
    for (uint32_t k = 0; k < 2; k++)
        for (uint32_t d = 0; d < graph->nodes[node.inputs[k]].rank; d++) {
            uint32_t dim = graph->nodes[node.inputs[k]].dims[d];
            uint32_t as = graph_read_as(&node, k, dim);

            if (graph->dims[as].size != graph->dims[dim].size ||
                (!listed(dims, rank, as) && !reads_dim(graph, &node, 1 - k, as)))
                return graph_fail(graph, SHD_EINVAL,
                                  "'%s' reads '%s' of '%s' as no dimension that "
                                  "it has",
                                  name, graph->dims[dim].name, graph->nodes[node.inputs[k]].name);
        }
    return graph_add(graph, &node, name);
}

/* Add the dimensions of `from` that the node lacks. */
static bool join_dims(struct graph *graph, struct graph_node *node, const char *name, uint32_t from)
{
    const struct graph_node *y = &graph->nodes[from];

    for (uint32_t d = 0; d < y->rank; d++) {
        if (graph_has_dim(node, y->dims[d]))
            continue;
        if (node->rank == GRAPH_RANK_MAX) {
            graph_fail(graph, SHD_ERANGE, "'%s' has more than %d dimensions", name, GRAPH_RANK_MAX);
            return false;
        }
        node->dims[node->rank++] = y->dims[d];
    }
    return true;
}

/* Whether a function takes its operands' types: one type, but what is asked for truth may be of
 * another. */
static bool check_types(struct graph *graph, const char *name, const struct graph_node *node)
{
    const struct kern_fn_info *info = &kern_fns[node->fn];
    uint32_t nvalues =
        node->fn == KERN_GATE || node->fn == KERN_SELECT ? info->noperands - 1u : info->noperands;

    for (uint32_t k = 1; k < nvalues; k++)
        if (graph->nodes[node->inputs[k]].dtype != node->dtype) {
            graph_fail(graph, SHD_ETYPE, "'%s' combines %s and %s", name,
                       shd_dtype_name(node->dtype),
                       shd_dtype_name(graph->nodes[node->inputs[k]].dtype));
            return false;
        }
    if (!kern_is_whole(node->dtype)) {
        if (info->takes == KERN_WHOLE)
            graph_fail(graph, SHD_ETYPE, "'%s' is %s of floats; expected integers", name,
                       info->name);
        return graph->err.status == SHD_OK;
    }
    if (info->takes == KERN_FRACTIONS)
        graph_fail(graph, SHD_ETYPE, "'%s' is %s of integers; expected floats", name, info->name);
    else if (info->has_scalar && node->scalar != floor(node->scalar))
        graph_fail(graph, SHD_ETYPE, "'%s' combines integers with %g", name, node->scalar);
    return graph->err.status == SHD_OK;
}

/* An elementwise function of `inputs`, whose dimensions are those of input `like`, then others. */
static uint32_t add_map(struct graph *graph, const char *name, enum kern_fn fn,
                        const uint32_t *inputs, uint32_t like, double scalar)
{
    struct graph_node node = graph_like(graph, GRAPH_MAP, inputs[like]);

    node.fn = fn;
    node.scalar = scalar;
    node.ninputs = kern_fns[fn].noperands;
    if (!graph_usable(graph, inputs[0]))
        return GRAPH_NONE;
    node.inputs[0] = inputs[0]; /* also of a fill, which has no operand */
    node.dtype = graph->nodes[inputs[0]].dtype;
    for (uint32_t k = 0; k < node.ninputs; k++) {
        node.inputs[k] = inputs[k];
        if (!graph_usable(graph, inputs[k]) || !join_dims(graph, &node, name, inputs[k]))
            return GRAPH_NONE;
    }
    return check_types(graph, name, &node) ? graph_add(graph, &node, name) : GRAPH_NONE;
}

uint32_t graph_map(struct graph *graph, const char *name, enum kern_fn fn, uint32_t a, uint32_t b,
                   double scalar)
{
    return add_map(graph, name, fn, (const uint32_t[]){a, b}, 0, scalar);
}

uint32_t graph_select(struct graph *graph, const char *name, uint32_t condition, uint32_t a,
                      uint32_t b)
{
    const uint32_t inputs[] = {a, b, condition};
    uint32_t like = 0;

    for (uint32_t k = 0; k < 3; k++) {
        if (!graph_usable(graph, inputs[k]))
            return GRAPH_NONE;
        if (graph->nodes[inputs[k]].rank > graph->nodes[inputs[like]].rank)
            like = k;
    }
    return add_map(graph, name, KERN_SELECT, inputs, like, 0);
}

uint32_t graph_convert(struct graph *graph, const char *name, enum shd_dtype dtype, uint32_t a)
{
    struct graph_node node = graph_like(graph, GRAPH_MAP, a);

    if (!graph_usable(graph, a))
        return GRAPH_NONE;
    if (node.dtype == dtype)
        return a;
    if ((kern_is_whole(node.dtype) && node.dtype != SHD_I32) ||
        (kern_is_whole(dtype) && dtype != SHD_I32))
        return graph_fail(graph, SHD_ETYPE, "'%s' holds codes, which cannot be converted", name);
    node.fn = KERN_CONVERT;
    node.dtype = dtype;
    return graph_add(graph, &node, name);
}

uint32_t graph_reduce(struct graph *graph, const char *name, enum shd_reduce_op op, uint32_t a,
                      const uint32_t *dims, uint32_t rank)
{
    struct graph_node node = {.op = GRAPH_REDUCE, .rank = rank, .ninputs = 1, .inputs = {a}};
    double count = 1;
    uint32_t sum;

    if (!graph_usable(graph, a))
        return GRAPH_NONE;
    if ((unsigned)op > SHD_MIN)
        return graph_fail(graph, SHD_EINVAL, "'%s' is reduced by %d, which is not a reduction",
                          name, (int)op);
    for (uint32_t d = 0; d < rank && d < GRAPH_RANK_MAX; d++) {
        node.dims[d] = dims[d];
        if (!graph_has_dim(&graph->nodes[a], dims[d]))
            return graph_fail(graph, SHD_EINVAL, "'%s' keeps a dimension that '%s' does not have",
                              name, graph->nodes[a].name);
    }
    if (op == SHD_MEAN && kern_is_whole(graph->nodes[a].dtype))
        return graph_fail(graph, SHD_ETYPE, "'%s' is the mean of integers; expected floats", name);
    node.reduce = op == SHD_MEAN ? SHD_SUM : op;
    node.dtype = graph->nodes[a].dtype;
    for (uint32_t d = 0; d < graph->nodes[a].rank; d++)
        if (!listed(dims, rank, graph->nodes[a].dims[d]))
            count *= (double)graph->dims[graph->nodes[a].dims[d]].size;
    sum = graph_add(graph, &node, name);
    if (op != SHD_MEAN)
        return sum;
    return graph_map(graph, name, KERN_SCALE, sum, GRAPH_NONE, 1 / count);
}

uint32_t graph_transpose(struct graph *graph, const char *name, uint32_t x, const uint32_t *dims,
                         uint32_t rank)
{
    struct graph_node node = {.op = GRAPH_MAP, .fn = KERN_COPY, .rank = rank, .ninputs = 1};

    if (!graph_usable(graph, x))
        return GRAPH_NONE;
    node.inputs[0] = x;
    node.dtype = graph->nodes[x].dtype;
    if (rank != graph->nodes[x].rank)
        return graph_fail(graph, SHD_EINVAL, "'%s' orders %u of %u dimensions", name, rank,
                          graph->nodes[x].rank);
    for (uint32_t d = 0; d < rank; d++) {
        node.dims[d] = dims[d];
        if (!graph_has_dim(&graph->nodes[x], dims[d]))
            return graph_fail(graph, SHD_EINVAL, "'%s' orders a dimension that '%s' does not have",
                              name, graph->nodes[x].name);
    }
    return graph_add(graph, &node, name);
}
