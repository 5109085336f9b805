/* Pad a graph (pad.h), and track the contents of padding.
 *
 * The value in an array's padding is tracked from the leaves, which are zero there: a known number,
 * or unknown.  An op applied to a known number gives a known number everywhere in the padding, so
 * most padding stays zero by itself: of heads, of hidden layers, of sequences without biases.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "graph/pad.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Value in the padding of an array along one dimension. */
struct within {
    bool known;
    double value;
};

struct row {
    struct within at[GRAPH_RANK_MAX]; /* by dimension; unused for unpadded dimensions */
};

struct padding {
    const struct graph *from;
    struct graph *to;
    uint32_t *moved;  /* by node of `from`: its new number ... */
    uint32_t *result; /* ... and the number that outputs use, with padding overwritten if needed */
    bool *stays;      /* by node of `from`: a state */
    uint32_t *masked; /* by node of `to`: a copy with its padding overwritten; GRAPH_NONE: none */
    struct row *rows; /* by node of `to` */
    uint32_t nrows;   /* capacity of the tables */
};

static const struct within zero = {true, 0}, unknown = {false, 0};

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
                                 "'%s' of %" PRId64 " and '%s' of %" PRId64
                                 " cannot both be padded to multiples of %" PRId64 " and %" PRId64,
                                 graph->dims[few].name, graph->dims[few].size,
                                 graph->dims[many].name, graph->dims[many].size, multiples[few],
                                 multiples[many]);
    sizes[few] = n;
    sizes[many] = n * times;
    return SHD_OK;
}

/* Two dimensions of a node whose ratio must stay the same (heads and key heads); false: none.  A
 * single key head may have any number of copies. */
static bool tied(const struct graph *graph, const int64_t *sizes, const struct graph_node *n,
                 uint32_t *few, uint32_t *many)
{
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

int graph_padded_sizes(int64_t *sizes, const struct graph *graph, const int64_t *multiples,
                       struct shd_error *err)
{
    int status = SHD_OK;
    bool changed = true;

    for (uint32_t d = 0; d < graph->ndims; d++)
        sizes[d] = rounded_up(graph->dims[d].size, multiples[d]);
    while (changed && status == SHD_OK) {
        changed = false;
        for (uint32_t i = 0; i < graph->nnodes && status == SHD_OK; i++) {
            uint32_t few, many;

            if (!tied(graph, sizes, &graph->nodes[i], &few, &many) ||
                sizes[many] * graph->dims[few].size == sizes[few] * graph->dims[many].size)
                continue;
            changed = true;
            status = pair_sizes(sizes, graph, multiples, few, many, err);
        }
    }
    return status;
}

/* ---- contents of padding ---- */

static bool is_padded(const struct padding *p, uint32_t dim)
{
    return p->to->dims[dim].size > p->to->dims[dim].held;
}

/* Index of a dimension in an array; -1: none. */
static int place_of(const struct graph_node *array, uint32_t dim)
{
    for (uint32_t d = 0; d < array->rank; d++)
        if (array->dims[d] == dim)
            return (int)d;
    return -1;
}

/* Value in the padding along a dimension; unknown for an array without the dimension. */
static struct within within(const struct padding *p, uint32_t node, uint32_t dim)
{
    int d = place_of(&p->to->nodes[node], dim);

    return d < 0 ? unknown : p->rows[node].at[d];
}

static bool is_zero(struct within w)
{
    return w.known && w.value == 0;
}

/* ---- nodes ---- */

static bool make_room(struct padding *p)
{
    uint32_t n = p->nrows ? 2 * p->nrows : 64;
    struct row *rows;
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

/* Append a node unchanged; its padding is unknown so far. */
static uint32_t append(struct padding *p, const struct graph_node *node)
{
    uint32_t added;

    if (!make_room(p))
        return GRAPH_NONE;
    added = graph_add(p->to, node, node->name);
    if (added == GRAPH_NONE)
        return added;
    p->to->nodes[added] = *node;
    p->rows[added] = (struct row){.at = {unknown}};
    p->masked[added] = GRAPH_NONE;
    return added;
}

static bool same_part(const struct graph_node *a, const struct graph_node *b)
{
    return a->phase == b->phase && a->stage == b->stage && a->again == b->again;
}

/* The node that a reader gets: the copy with padding overwritten, if there is one in the reader's
 * part of the step.
 */
static uint32_t newest(const struct padding *p, uint32_t node, const struct graph_node *reader)
{
    uint32_t masked = p->masked[node];

    return masked != GRAPH_NONE && same_part(&p->to->nodes[masked], reader) ? masked : node;
}

/* Overwrite the padding of a node along a dimension, in the reader's part of the step. */
static uint32_t overwrite(struct padding *p, uint32_t node, uint32_t dim, double value,
                          const struct graph_node *reader)
{
    struct graph_node mask = p->to->nodes[node];
    uint32_t added, at = newest(p, node, reader);

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
        return graph_fail(p->to, SHD_EUNSUPPORTED, "the whole numbers '%s' are padded",
                          p->to->nodes[node].name);
    added = append(p, &mask);
    if (added == GRAPH_NONE)
        return added;
    for (uint32_t d = 0; d < mask.rank; d++) {
        struct within was = p->rows[at].at[d];

        p->rows[added].at[d] = mask.dims[d] == dim               ? (struct within){true, value}
                               : was.known && was.value == value ? was
                                                                 : unknown;
    }
    p->masked[node] = added;
    return added;
}

/* Make an operand equal `value` in the padding of a dimension, if it has the dimension. */
static void want(struct padding *p, struct graph_node *reader, uint32_t k, uint32_t dim,
                 double value)
{
    uint32_t node = reader->inputs[k];
    struct within w = within(p, node, dim);

    if (p->to->err.status != SHD_OK || place_of(&p->to->nodes[node], dim) < 0 ||
        (w.known && w.value == value))
        return;
    node = overwrite(p, node, dim, value, reader);
    if (node != GRAPH_NONE)
        reader->inputs[k] = node;
}

static void refuse(struct padding *p, const struct graph_node *n, uint32_t dim, const char *why)
{
    graph_fail(p->to, SHD_EUNSUPPORTED,
               "'%s' of %" PRId64 " elements would be padded to %" PRId64 ", and %s of '%s' %s",
               p->to->dims[dim].name, p->to->dims[dim].held, p->to->dims[dim].size,
               graph_op_name(n->op), n->name, why);
}

#define LOOKS_ACROSS "looks across them"

/* Refuse every padded dimension of operands and result, except those of the array `allowed`.
 */
static void refuse_all_but(struct padding *p, const struct graph_node *n,
                           const struct graph_node *allowed, const char *why)
{
    for (uint32_t k = 0; k <= n->ninputs; k++) {
        const struct graph_node *array = k < n->ninputs ? &p->to->nodes[n->inputs[k]] : n;

        for (uint32_t d = 0; d < array->rank; d++)
            if (is_padded(p, array->dims[d]) && (!allowed || place_of(allowed, array->dims[d]) < 0))
                refuse(p, n, array->dims[d], why);
    }
}

/* ---- ops: requirements on operands' padding, and contents of the result's ---- */

/* Product: along a summed dimension, one operand must be zero in the padding, and the other
 * finite. */
static void need_product(struct padding *p, struct graph_node *n)
{
    for (uint32_t k = 0; k < 2; k++)
        for (uint32_t d = 0; d < p->to->nodes[n->inputs[k]].rank; d++) {
            uint32_t dim = p->to->nodes[n->inputs[k]].dims[d];
            struct within a = within(p, n->inputs[0], dim), b = within(p, n->inputs[1], dim);

            if (!is_padded(p, dim) || graph_has_dim(n, dim))
                continue;
            if (!is_zero(a) && !is_zero(b))
                want(p, n, k, dim, 0);
            else if (a.known && !isfinite(a.value))
                want(p, n, 0, dim, 0);
            else if (b.known && !isfinite(b.value))
                want(p, n, 1, dim, 0);
        }
}

static struct within product(struct within a, struct within b)
{
    if ((is_zero(a) && (!b.known || isfinite(b.value))) ||
        (is_zero(b) && (!a.known || isfinite(a.value))))
        return zero;
    return unknown;
}

static void need_grouped(struct padding *p, struct graph_node *n)
{
    const uint32_t dims[] = {n->attr.experts.expert_dim, n->attr.experts.slot_dim};

    for (int i = 0; i < 2; i++)
        if (dims[i] != GRAPH_NONE && is_padded(p, dims[i]))
            refuse(p, n, dims[i], "counts them");
    need_product(p, n);
}

/* Value of an elementwise function at known operands. */
static double value_of(const struct graph_node *n, const struct within *operands)
{
    struct kern_map map = {.dtype = SHD_F64, .ninputs = n->ninputs, .ninstrs = 1};
    const void *in[2] = {&operands[0].value, &operands[1].value};
    double out = NAN;

    map.in_dtype[0] = map.in_dtype[1] = SHD_F64;
    map.instrs[0] = (struct kern_instr){
        .fn = n->fn == KERN_CONVERT ? KERN_COPY : n->fn, .src = {0, 1}, .scalar = n->scalar};
    kern_map_run(&map, in, &out, 1);
    return out;
}

static struct within mapped(const struct padding *p, const struct graph_node *n, uint32_t dim)
{
    struct within operands[2] = {unknown, unknown};
    bool all = true;

    for (uint32_t k = 0; k < n->ninputs && k < 2; k++) {
        operands[k] = within(p, n->inputs[k], dim);
        all = all && operands[k].known;
    }
    if (all || n->fn == KERN_FILL)
        return (struct within){true, value_of(n, operands)};
    if (n->fn == KERN_MUL)
        return product(operands[0], operands[1]);
    if ((n->fn == KERN_DIV && is_zero(operands[0])) ||
        (n->fn == KERN_GATE && (is_zero(operands[0]) || is_zero(operands[1]))))
        return zero;
    if ((n->fn == KERN_ADD || n->fn == KERN_SUB) && operands[0].known && isinf(operands[0].value))
        return operands[0];
    return unknown;
}

/* Neutral element of a reduction: 0 for a sum, an infinity for a maximum or minimum. */
static double left_out(enum shd_reduce_op op)
{
    return op == SHD_MAX ? -INFINITY : op == SHD_MIN ? INFINITY : 0;
}

static void need_reduce(struct padding *p, struct graph_node *n)
{
    for (uint32_t d = 0; d < p->to->nodes[n->inputs[0]].rank; d++) {
        uint32_t dim = p->to->nodes[n->inputs[0]].dims[d];

        if (is_padded(p, dim) && !graph_has_dim(n, dim))
            want(p, n, 0, dim, left_out(n->reduce));
    }
}

static struct within reduced(const struct graph_node *n, struct within operand)
{
    return n->reduce == SHD_MAX || n->reduce == SHD_MIN || is_zero(operand) ? operand : unknown;
}

/* Attention: heads and sequences of the batch are independent and may be padded; so may positions
 * behind all others if causal, since no other position sees them. */
static void need_attention(struct padding *p, struct graph_node *n)
{
    const struct graph_node *q = &p->to->nodes[n->inputs[0]], *k = &p->to->nodes[n->inputs[1]];
    const struct graph_node *v = &p->to->nodes[n->inputs[2]];
    bool ahead = n->attr.attention.causal && !n->attr.attention.sight &&
                 n->attr.attention.blocks <= 1 && q->dims[1] == k->dims[1];

    for (int i = 0; i < 2; i++) {
        uint32_t dim = i ? k->dims[1] : q->dims[1];

        if (is_padded(p, dim) && !ahead)
            refuse(p, n, dim, LOOKS_ACROSS);
    }
    for (uint32_t i = 3; i < n->ninputs; i++) {
        const struct graph_node *seen = &p->to->nodes[n->inputs[i]];

        for (uint32_t d = 0; d < seen->rank && seen->dtype == SHD_I32; d++)
            if (is_padded(p, seen->dims[d]))
                refuse(p, n, seen->dims[d], "reckons with what each sees");
    }
    if (is_padded(p, q->dims[3]))
        refuse(p, n, q->dims[3], LOOKS_ACROSS);
    if (is_padded(p, v->dims[3]))
        refuse(p, n, v->dims[3], LOOKS_ACROSS);
}

static void need_attention_grad(struct padding *p, struct graph_node *n)
{
    const struct graph_node *g = &p->to->nodes[n->inputs[5]];

    need_attention(p, n);
    for (uint32_t d = 0; d < g->rank; d++)
        if (is_padded(p, p->to->nodes[n->inputs[5]].dims[d]))
            want(p, n, 5, p->to->nodes[n->inputs[5]].dims[d], 0);
}

/* Padding of o along sequences and heads: zero if v's is. */
static struct within attended(const struct padding *p, const struct graph_node *n, uint32_t d)
{
    uint32_t v = n->inputs[2];

    if (d == 1 || n->attr.attention.goes_on || !is_padded(p, p->to->nodes[v].dims[d]))
        return unknown;
    return is_zero(p->rows[v].at[d]) ? zero : unknown;
}

/* Gradients of a look-up or a choice are summed over tokens, so they must be zero in the
 * padding. */
static void need_ids_grad(struct padding *p, struct graph_node *n)
{
    for (uint32_t d = 0; d < p->to->nodes[n->inputs[1]].rank; d++) {
        uint32_t dim = p->to->nodes[n->inputs[1]].dims[d];

        if (is_padded(p, dim) && !graph_has_dim(n, dim))
            want(p, n, 1, dim, 0);
    }
}

static void need_rows(struct padding *p, struct graph_node *n)
{
    const struct graph_node *ids = &p->to->nodes[n->inputs[1]];
    const uint32_t dims[] = {n->attr.experts.expert_dim, n->attr.experts.slot_dim};

    for (uint32_t d = 0; d < ids->rank; d++)
        if (is_padded(p, ids->dims[d]))
            refuse(p, n, ids->dims[d], "counts them");
    for (int i = 0; i < 2; i++)
        if (dims[i] != GRAPH_NONE && is_padded(p, dims[i]))
            refuse(p, n, dims[i], "counts them");
}

/* Overwrite operands' padding where an op requires it, and refuse what overwriting does not
 * help. */
static void need(struct padding *p, struct graph_node *n)
{
    switch (n->op) {
    case GRAPH_EINSUM:
        need_product(p, n);
        break;
    case GRAPH_GROUPED:
        need_grouped(p, n);
        break;
    case GRAPH_REDUCE:
        need_reduce(p, n);
        break;
    case GRAPH_ATTENTION:
        need_attention(p, n);
        break;
    case GRAPH_ATTENTION_GRAD:
        need_attention_grad(p, n);
        break;
    case GRAPH_EMBED_GRAD:
    case GRAPH_PICK_GRAD:
        need_ids_grad(p, n);
        break;
    case GRAPH_SHIFT:
        if (is_padded(p, n->attr.shift.dim))
            refuse(p, n, n->attr.shift.dim, LOOKS_ACROSS);
        break;
    case GRAPH_ROPE:
        if (is_padded(p, n->attr.rope.pair_dim))
            refuse(p, n, n->attr.rope.pair_dim, LOOKS_ACROSS);
        break;
    case GRAPH_TOPK:
    case GRAPH_SLOTS:
    case GRAPH_COUNT:
        refuse_all_but(p, n, NULL, "counts them");
        break;
    case GRAPH_EXTRA:
        if (p->to->nodes[n->inputs[0]].op == GRAPH_SLOTS)
            refuse_all_but(p, n, NULL, "counts them");
        break;
    case GRAPH_DISPATCH:
    case GRAPH_COMBINE:
        need_rows(p, n);
        break;
    default:
        break;
    }
}

/* Value in the padding along dimension d of a result. */
static struct within made(const struct padding *p, const struct graph_node *n, uint32_t d)
{
    uint32_t dim = n->dims[d], x = n->ninputs > 0 ? n->inputs[0] : GRAPH_NONE;
    struct within w;

    switch (n->op) {
    case GRAPH_INPUT:
    case GRAPH_PARAM:
        return zero;
    case GRAPH_EINSUM:
    case GRAPH_GROUPED:
        return product(within(p, x, dim), within(p, n->inputs[1], dim));
    case GRAPH_MAP:
        return mapped(p, n, dim);
    case GRAPH_REDUCE:
        return reduced(n, within(p, x, dim));
    case GRAPH_CONSTRAINT:
    case GRAPH_ACCUMULATE:
    case GRAPH_SHIFT:
        return within(p, x, dim);
    case GRAPH_EXTRA:
        return p->to->nodes[x].op == GRAPH_ATTENTION_GRAD ? zero : unknown;
    case GRAPH_ATTENTION:
        return attended(p, n, d);
    case GRAPH_ATTENTION_GRAD:
        return zero;
    case GRAPH_ROPE:
    case GRAPH_DISPATCH:
    case GRAPH_COMBINE:
        return is_zero(within(p, x, dim)) ? zero : unknown;
    case GRAPH_CAUSAL:
        w = within(p, x, dim);
        return dim != n->attr.causal.query_dim && dim != n->attr.causal.key_dim && w.known &&
                       w.value == n->attr.causal.masked
                   ? w
                   : unknown;
    case GRAPH_EMBED: /* an id in the padding is a valid id */
    case GRAPH_PICK:
        return place_of(&p->to->nodes[x], dim) >= 0 ? within(p, x, dim) : unknown;
    case GRAPH_EMBED_GRAD:
    case GRAPH_PICK_GRAD: /* no id lies in the padding of classes */
        return dim == n->attr.choice.dim || is_zero(within(p, n->inputs[1], dim)) ? zero : unknown;
    case GRAPH_REPEAT:
    case GRAPH_REPEAT_SUM: /* the result's dimensions are in the operand's order */
        w = p->rows[x].at[d];
        return n->op == GRAPH_REPEAT || is_zero(w) ? w : unknown;
    case GRAPH_WINDOW: /* a window's places are numbers, which exclude the padding */
        for (uint32_t k = 0; k < n->ninputs; k++)
            if (dim != n->attr.window.to_dim && !is_zero(within(p, n->inputs[k], dim)))
                return unknown;
        return zero;
    default:
        return unknown;
    }
}

/* ---- the walk ---- */

/* Whether an operand is a gradient with nonzero padding: then the node passes padding on instead of
 * creating it, and is overwritten only if required. */
static bool comes_from_gradient(const struct padding *p, const struct graph_node *n, uint32_t dim)
{
    for (uint32_t k = 0; k < n->ninputs; k++) {
        const struct graph_node *of = &p->to->nodes[n->inputs[k]];

        if (of->phase == GRAPH_BACKWARD && of->gradient_of != GRAPH_NONE &&
            place_of(of, dim) >= 0 && !is_zero(within(p, n->inputs[k], dim)))
            return true;
    }
    return false;
}

/* Whether a node creates nonzero padding: looked-up tokens, and gradients that start here.  It is
 * overwritten at once, so that padding behind it stays zero. */
static bool begins_here(const struct padding *p, uint32_t node, uint32_t d)
{
    const struct graph_node *n = &p->to->nodes[node];

    if (is_zero(p->rows[node].at[d]))
        return false;
    if (n->op == GRAPH_EMBED)
        return place_of(&p->to->nodes[n->inputs[0]], n->dims[d]) < 0;
    return n->phase == GRAPH_BACKWARD && n->gradient_of != GRAPH_NONE &&
           !comes_from_gradient(p, n, n->dims[d]);
}

/* Whether a state's next value has nonzero padding: it is overwritten, since the state had zeros
 * there. */
static bool is_kept(const struct padding *p, uint32_t old, uint32_t dim)
{
    return p->stays[old] && !is_zero(within(p, p->result[old], dim));
}

static void pad_node(struct padding *p, uint32_t old)
{
    struct graph_node n = p->from->nodes[old];
    uint32_t added;

    for (uint32_t k = 0; k < n.ninputs; k++) {
        n.inputs[k] = p->moved[n.inputs[k]];
        if (n.op != GRAPH_EXTRA)
            n.inputs[k] = newest(p, n.inputs[k], &n);
    }
    if (n.gradient_of != GRAPH_NONE)
        n.gradient_of = p->moved[n.gradient_of];
    if (n.state_of != GRAPH_NONE)
        n.state_of = p->moved[n.state_of];
    need(p, &n);
    if (p->to->err.status != SHD_OK)
        return;
    added = append(p, &n);
    p->moved[old] = added;
    for (uint32_t d = 0; added != GRAPH_NONE && d < n.rank; d++)
        if (is_padded(p, n.dims[d]))
            p->rows[added].at[d] = made(p, &n, d);
    p->result[old] = added;
    for (uint32_t d = 0; p->result[old] != GRAPH_NONE && d < n.rank; d++)
        if (is_padded(p, n.dims[d]) && (begins_here(p, added, d) || is_kept(p, old, n.dims[d])))
            p->result[old] = overwrite(p, added, n.dims[d], 0, &n);
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
