/* Sharding rule of reshapes: the arrays' dimensions are read from left to right in blocks of equal
 * size.  The first dimension of a block may be cut, as far as axes divide it in both arrays, since
 * each device then has the same elements under both; the others must be whole.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "partition/rule.h"

static int64_t size_at(const struct graph *graph, const struct graph_node *n, uint32_t d)
{
    return graph->dims[n->dims[d]].size;
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

static void set_whole(struct rule *out, const int8_t *factors, uint32_t first, uint32_t end)
{
    for (uint32_t d = first; d < end; d++)
        out->factors[factors[d]].whole = true;
}

/* Dimensions [x, x_end) of the operand become [n, n_end) of the result, as many elements. */
struct block {
    uint32_t x, x_end, n, n_end;
};

/* The block that begins where `b` ends: the shortest lists of dimensions with equal products. */
static void next_block(struct block *b, const struct graph *graph, const struct graph_node *x,
                       const struct graph_node *n)
{
    int64_t x_size = 1, n_size = 1;

    b->x = b->x_end;
    b->n = b->n_end;
    do {
        if (b->x_end < x->rank && (x_size <= n_size || b->n_end == n->rank))
            x_size *= size_at(graph, x, b->x_end++);
        else if (b->n_end < n->rank)
            n_size *= size_at(graph, n, b->n_end++);
        else
            return;
    } while (x_size != n_size || b->n == b->n_end);
}

/* The first dimension of [first, end) that has more than one element; `end` if there is none. */
static uint32_t major_of(const struct graph *graph, const struct graph_node *n, uint32_t first,
                         uint32_t end)
{
    while (first < end && size_at(graph, n, first) == 1)
        first++;
    return first;
}

static void rule(struct rule *out, const struct graph *graph, uint32_t node)
{
    const struct graph_node *n = &graph->nodes[node], *x = &graph->nodes[n->inputs[0]];
    struct block b = {0};

    rule_by_names(out, graph, node);
    while (b.x_end < x->rank || b.n_end < n->rank) {
        uint32_t n_major, x_major;
        int8_t first;

        next_block(&b, graph, x, n);
        set_whole(out, out->result[0], b.n, b.n_end);
        set_whole(out, out->operand[0], b.x, b.x_end);
        n_major = major_of(graph, n, b.n, b.n_end);
        x_major = major_of(graph, x, b.x, b.x_end);
        if (n_major == b.n_end || x_major == b.x_end)
            continue;
        first = out->result[0][n_major];
        out->operand[0][x_major] = first;
        out->factors[first].whole = false;
        out->factors[first].size =
            common_divisor(size_at(graph, n, n_major), size_at(graph, x, x_major));
    }
}

/* The elements of a shard, whatever its dimensions are called. */
static void lower(struct program_op *op, union kern_desc *desc, const struct graph *graph,
                  uint32_t node, const struct rule *rule, const int64_t *extents)
{
    const struct graph_node *n = &graph->nodes[node];
    int64_t outer = 1, inner = 1;

    (void)op;
    for (uint32_t d = 0; d < n->rank; d++) {
        int8_t f = rule->result[0][d];
        int64_t parts = extents[f] > 0 ? rule->factors[f].size / extents[f] : 1;
        int64_t extent = extents[f] > 0 ? graph->dims[n->dims[d]].size / parts : 0;

        *(d == 0 ? &outer : &inner) *= extent;
    }
    desc->window = (struct kern_window){.dtype = n->dtype,
                                        .ninputs = 1,
                                        .outer = outer,
                                        .inner = inner,
                                        .out_extent = 1,
                                        .in_extent = {1},
                                        .count = {1}};
}

const struct rule_op rule_reshape = {.rule = rule, .kernel = &kern_kernel_window, .lower = lower};
