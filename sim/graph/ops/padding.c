/* What ops ask of the padding of their operands, and leave in that of their results (padding.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "graph/ops/padding.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

const struct within padding_unknown = {false, 0};
static const struct within zero = {true, 0};

bool padding_in(const struct padding *p, uint32_t dim)
{
    return dim != GRAPH_NONE && p->to->dims[dim].size > p->to->dims[dim].held;
}

struct within padding_within(const struct padding *p, uint32_t node, uint32_t dim)
{
    uint32_t d = graph_place(&p->to->nodes[node], dim);

    return d < p->to->nodes[node].rank ? p->rows[node].at[d] : padding_unknown;
}

bool padding_is_zero(struct within w)
{
    return w.known && w.value == 0;
}

static bool make_room(struct padding *p)
{
    uint32_t n = p->nrows ? 2 * p->nrows : 64;
    struct padding_row *rows;
    uint32_t *masked;

    if (p->to->nnodes < p->nrows)
        return true;
    rows = realloc(p->rows, n * sizeof *rows);
    p->rows = rows ? rows : p->rows;
    masked = realloc(p->masked, n * sizeof *masked);
    p->masked = masked ? masked : p->masked;
    if (!rows || !masked)
        return graph_fail(p->to, SHD_ENOMEM, "no memory for a graph of %u nodes", n) != GRAPH_NONE;
    p->nrows = n;
    return true;
}

uint32_t padding_append(struct padding *p, const struct graph_node *node)
{
    uint32_t added;

    if (!make_room(p))
        return GRAPH_NONE;
    added = graph_add(p->to, node, node->name);
    if (added == GRAPH_NONE)
        return added;
    p->to->nodes[added] = *node;
    p->rows[added] = (struct padding_row){.at = {padding_unknown}};
    p->masked[added] = GRAPH_NONE;
    return added;
}

static bool same_part(const struct graph_node *a, const struct graph_node *b)
{
    return a->phase == b->phase && a->stage == b->stage && a->again == b->again;
}

uint32_t padding_newest(const struct padding *p, uint32_t node, const struct graph_node *reader)
{
    uint32_t masked = p->masked[node];

    return masked != GRAPH_NONE && same_part(&p->to->nodes[masked], reader) ? masked : node;
}

uint32_t padding_overwrite(struct padding *p, uint32_t node, uint32_t dim, double value,
                           const struct graph_node *reader)
{
    struct graph_node mask = p->to->nodes[node];
    uint32_t added, at = padding_newest(p, node, reader);

    mask.op = GRAPH_CAUSAL;
    mask.attr.causal.query_dim = GRAPH_NONE;
    mask.attr.causal.key_dim = dim;
    mask.attr.causal.masked = value;
    mask.name = graph_text(p->to, "%s/held", mask.name);
    mask.phase = reader->phase;
    mask.stage = reader->stage;
    mask.again = reader->again;
    mask.weights = reader->weights;
    mask.forgotten = mask.again ? false : mask.forgotten && reader->forgotten;
    mask.unread = false;
    mask.ninputs = 1;
    mask.inputs[0] = at;
    mask.nextras = 0;
    if (mask.dtype == SHD_I32)
        return graph_fail(p->to, SHD_EUNSUPPORTED, "padding of integers '%s' is not supported",
                          p->to->nodes[node].name);
    added = padding_append(p, &mask);
    if (added == GRAPH_NONE)
        return added;
    for (uint32_t d = 0; d < mask.rank; d++) {
        struct within was = p->rows[at].at[d];

        p->rows[added].at[d] = mask.dims[d] == dim               ? (struct within){true, value}
                               : was.known && was.value == value ? was
                                                                 : padding_unknown;
    }
    p->masked[node] = added;
    return added;
}

void padding_want(struct padding *p, struct graph_node *reader, uint32_t k, uint32_t dim,
                  double value)
{
    uint32_t node = reader->inputs[k];
    struct within w = padding_within(p, node, dim);

    if (p->to->err.status != SHD_OK || !graph_has_dim(&p->to->nodes[node], dim) ||
        (w.known && w.value == value))
        return;
    node = padding_overwrite(p, node, dim, value, reader);
    if (node != GRAPH_NONE)
        reader->inputs[k] = node;
}

void padding_want_summed(struct padding *p, struct graph_node *reader, uint32_t k, double value)
{
    for (uint32_t d = 0; d < p->to->nodes[reader->inputs[k]].rank; d++) {
        uint32_t dim = p->to->nodes[reader->inputs[k]].dims[d];

        if (padding_in(p, dim) && !graph_has_dim(reader, dim))
            padding_want(p, reader, k, dim, value);
    }
}

void padding_refuse(struct padding *p, const struct graph_node *n, uint32_t dim, const char *why)
{
    if (padding_in(p, dim))
        graph_fail(p->to, SHD_EUNSUPPORTED,
                   "'%s' of %" PRId64 " elements would be padded to %" PRId64 ", and %s of '%s' %s",
                   p->to->dims[dim].name, p->to->dims[dim].held, p->to->dims[dim].size, p->op,
                   n->name, why);
}

void padding_refuse_all(struct padding *p, struct graph_node *n)
{
    for (uint32_t k = 0; k <= n->ninputs; k++) {
        const struct graph_node *array = k < n->ninputs ? &p->to->nodes[n->inputs[k]] : n;

        for (uint32_t d = 0; d < array->rank; d++)
            padding_refuse(p, n, array->dims[d], PADDING_COUNTS);
    }
}

struct within padding_zero(const struct padding *p, const struct graph_node *n, uint32_t d)
{
    (void)p, (void)n, (void)d;
    return zero;
}

struct within padding_kept(const struct padding *p, const struct graph_node *n, uint32_t d)
{
    return padding_within(p, n->inputs[0], n->dims[d]);
}

struct within padding_zero_kept(const struct padding *p, const struct graph_node *n, uint32_t d)
{
    return padding_is_zero(padding_kept(p, n, d)) ? zero : padding_unknown;
}

void padding_need_product(struct padding *p, struct graph_node *n)
{
    for (uint32_t k = 0; k < 2; k++)
        for (uint32_t d = 0; d < p->to->nodes[n->inputs[k]].rank; d++) {
            uint32_t dim = p->to->nodes[n->inputs[k]].dims[d];
            struct within a = padding_within(p, n->inputs[0], dim),
                          b = padding_within(p, n->inputs[1], dim);

            if (!padding_in(p, dim) || graph_has_dim(n, dim))
                continue;
            if (!padding_is_zero(a) && !padding_is_zero(b))
                padding_want(p, n, k, dim, 0);
            else if (a.known && !isfinite(a.value))
                padding_want(p, n, 0, dim, 0);
            else if (b.known && !isfinite(b.value))
                padding_want(p, n, 1, dim, 0);
        }
}

struct within padding_product(struct within a, struct within b)
{
    if ((padding_is_zero(a) && (!b.known || isfinite(b.value))) ||
        (padding_is_zero(b) && (!a.known || isfinite(a.value))))
        return zero;
    return padding_unknown;
}

struct within padding_multiplied(const struct padding *p, const struct graph_node *n, uint32_t d)
{
    return padding_product(padding_within(p, n->inputs[0], n->dims[d]),
                           padding_within(p, n->inputs[1], n->dims[d]));
}

void padding_need_ids_grad(struct padding *p, struct graph_node *n)
{
    padding_want_summed(p, n, 1, 0);
}

struct within padding_ids_grad(const struct padding *p, const struct graph_node *n, uint32_t d)
{
    return n->dims[d] == n->attr.choice.dim ||
                   padding_is_zero(padding_within(p, n->inputs[1], n->dims[d]))
               ? zero
               : padding_unknown;
}
