/* Muon: the momentum of a matrix, made nearly orthogonal (Jordan and others,
 * https://kellerjordan.github.io/posts/muon/), as torch.optim.Muon defines it:
 *   m = momentum m + (1 - momentum) g;  u = momentum m + (1 - momentum) g, or m without Nesterov
 *   X = u / max(|u|, 1e-7);  repeated: A = X X^T;  X = a X + (b A + c A A) X
 *   p = p (1 - rate * decay) - rate * ratio * X
 * with X as wide as it is high or wider: A is the Gram matrix of the shorter side.
 *
 * All of this are ordinary nodes.  Where a matrix is computed, constraints say:
 * "opt/muon/PARAMETER" before the first product.  With homes, matrices of equal sides are stacked
 * along a new dimension, [stack, numbers, shorter, longer], padded with zeros to a multiple of the
 * homes, and the constraints "opt/muon/home/PARAMETER" and "opt/muon/back/PARAMETER" of the stack,
 * named for its first matrix, move it to shards of whole matrices and back.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "graph/optimizer/optimizer.h"

#include <math.h>
#include <string.h>

#include "graph/optimizer/stack.h"

#define NORM_EPS 1e-7 /* torch.optim.Muon's eps */

enum { RATE, KEPT };

static double kept(const struct optimizer_opts *opts, uint32_t step)
{
    return 1 - optimizer_rate(opts, step) * opts->weight_decay;
}

static void prepare(struct graph *graph, const struct optimizer_opts *opts, uint32_t *by_step)
{
    by_step[RATE] = optimizer_by_step(graph, opts, "opt/muon/rate", optimizer_rate);
    by_step[KEPT] = opts->weight_decay != 0 ? optimizer_by_step(graph, opts, "opt/muon/kept", kept)
                                            : GRAPH_NONE;
}

/* part * a + (1 - part) * b */
static uint32_t between(struct graph *graph, const char *name, double part, uint32_t a, uint32_t b)
{
    a = graph_map(graph, name, KERN_SCALE, a, GRAPH_NONE, part);
    b = graph_map(graph, name, KERN_SCALE, b, GRAPH_NONE, 1 - part);
    return graph_map(graph, name, KERN_ADD, a, b, 0);
}

/* The momentum that is made orthogonal. */
static uint32_t momentum(struct graph *graph, const struct optimizer_opts *opts,
                         const struct optimizer_param *param)
{
    const char *name = graph_text(graph, "opt/momentum/%s", param->name);
    uint32_t state, m;

    if (opts->momentum == 0)
        return param->gradient;
    state = optimizer_state(graph, "momentum", param, opts->types.moments,
                            (struct kern_source){.scale = 0});
    m = graph_convert(graph, name, opts->types.parameters, state);
    m = between(graph, name, opts->momentum, m, param->gradient);
    m = optimizer_next(graph, param, state, m);
    return opts->muon.nesterov ? between(graph, graph_text(graph, "opt/nesterov/%s", param->name),
                                         opts->momentum, m, param->gradient)
                               : m;
}

/* ---- Newton-Schulz steps ---- */

/* A matrix, or many: the dimensions of the shorter side, their other names, those of the longer
 * side, and those that number matrices, which come first in products. */
struct sides {
    uint32_t nnumbers, nshort, nlong;
    uint32_t numbers[GRAPH_RANK_MAX], shorter[GRAPH_RANK_MAX], other[GRAPH_RANK_MAX];
    uint32_t longer[GRAPH_RANK_MAX];
};

/* Name the other dimensions of the shorter side, with one apostrophe. */
static bool name_others(struct sides *s, struct graph *graph, const char *name)
{
    for (uint32_t d = 0; d < s->nshort; d++)
        s->other[d] = graph_dim(graph, graph_text(graph, "%s'", graph->dims[s->shorter[d]].name),
                                graph->dims[s->shorter[d]].size);
    if (2 * s->nshort > GRAPH_RENAMES_MAX || s->nnumbers + 2 * s->nshort > GRAPH_RANK_MAX)
        graph_fail(graph, SHD_ERANGE, "'%s' has %u dimensions on its shorter side; expected %d",
                   name, s->nshort, GRAPH_RENAMES_MAX / 2);
    return graph->err.status == SHD_OK;
}

/* The sides of a parameter, without other names. */
static struct sides sides_of(const struct graph *graph, const struct optimizer_param *param)
{
    const struct graph_node *n = &graph->nodes[param->of];
    uint16_t shorter = optimizer_shorter(graph, param->of, param->matrix);
    uint16_t longer = optimizer_longer(graph, param->of, param->matrix);
    struct sides s = {.nnumbers = 0};

    for (uint32_t d = 0; d < n->rank; d++)
        if (shorter >> d & 1)
            s.shorter[s.nshort++] = n->dims[d];
        else if (longer >> d & 1)
            s.longer[s.nlong++] = n->dims[d];
        else
            s.numbers[s.nnumbers++] = n->dims[d];
    return s;
}

/* Rename the dimensions `from` of operand k. */
static void add_renames(struct graph_renames *r, uint32_t k, const uint32_t *from,
                        const uint32_t *to, uint32_t n)
{
    for (uint32_t d = 0; d < n; d++) {
        r->list[r->n].operand = k;
        r->list[r->n].dim = from[d];
        r->list[r->n++].as = to[d];
    }
}

/* The Gram matrices of x: [numbers, shorter, other]. */
static uint32_t gram(struct graph *graph, const char *name, const struct sides *s, uint32_t x)
{
    struct graph_renames r = {.n = 0};
    uint32_t dims[GRAPH_RANK_MAX], rank = s->nnumbers + 2 * s->nshort;

    memcpy(dims, s->numbers, s->nnumbers * sizeof *dims);
    memcpy(dims + s->nnumbers, s->shorter, s->nshort * sizeof *dims);
    memcpy(dims + s->nnumbers + s->nshort, s->other, s->nshort * sizeof *dims);
    add_renames(&r, 1, s->shorter, s->other, s->nshort);
    return graph_einsum_renamed(graph, name, x, x, &r, dims, rank);
}

/* b A + c A A for symmetric matrices A: A[i, k] A[j, k], which is A[i, k] A[k, j]. */
static uint32_t polynomial(struct graph *graph, const char *name, const struct sides *s, uint32_t a,
                           double b, double c)
{
    struct graph_renames r = {.n = 0};
    uint32_t summed[GRAPH_RANK_MAX], square;

    for (uint32_t d = 0; d < s->nshort; d++)
        summed[d] = graph_dim(graph, graph_text(graph, "%s''", graph->dims[s->shorter[d]].name),
                              graph->dims[s->shorter[d]].size);
    if (graph->err.status != SHD_OK)
        return GRAPH_NONE;
    add_renames(&r, 0, s->other, summed, s->nshort);
    add_renames(&r, 1, s->shorter, summed, s->nshort);
    square =
        graph_einsum_renamed(graph, name, a, a, &r, graph->nodes[a].dims, graph->nodes[a].rank);
    a = graph_map(graph, name, KERN_SCALE, a, GRAPH_NONE, b);
    square = graph_map(graph, name, KERN_SCALE, square, GRAPH_NONE, c);
    return graph_map(graph, name, KERN_ADD, a, square, 0);
}

/* a x + p x, for p[shorter, other]. */
static uint32_t step(struct graph *graph, const char *name, const struct sides *s, uint32_t x,
                     uint32_t p, double a)
{
    struct graph_renames r = {.n = 0};
    uint32_t product;

    if (graph->err.status != SHD_OK)
        return GRAPH_NONE;
    add_renames(&r, 1, s->shorter, s->other, s->nshort);
    product =
        graph_einsum_renamed(graph, name, p, x, &r, graph->nodes[x].dims, graph->nodes[x].rank);
    x = graph_map(graph, name, KERN_SCALE, x, GRAPH_NONE, a);
    return graph_map(graph, name, KERN_ADD, x, product, 0);
}

/* x / max(|x|, eps), the norm of each matrix in float32 or wider. */
static uint32_t normalized(struct graph *graph, const struct optimizer_opts *opts, const char *name,
                           const struct sides *s, uint32_t x)
{
    uint32_t norm = graph_convert(graph, name, opts->types.parameters, x), least;

    norm = graph_map(graph, name, KERN_MUL, norm, norm, 0);
    norm = graph_reduce(graph, name, SHD_SUM, norm, s->numbers, s->nnumbers);
    norm = graph_map(graph, name, KERN_SQRT, norm, GRAPH_NONE, 0);
    least = graph_map(graph, name, KERN_FILL, norm, GRAPH_NONE, NORM_EPS);
    norm = graph_map(graph, name, KERN_MAX, norm, least, 0);
    return graph_map(graph, name, KERN_DIV, x, graph_convert(graph, name, opts->muon.dtype, norm),
                     0);
}

/* Make x, of the type of the steps, nearly orthogonal. */
static uint32_t orthogonal(struct graph *graph, const struct optimizer_opts *opts, uint32_t x,
                           struct sides *s, const char *param)
{
    const char *name = graph_text(graph, "opt/muon/%s", param);
    const double *c = opts->muon.coefficients;

    if (graph->err.status != SHD_OK || !name_others(s, graph, param))
        return GRAPH_NONE;
    x = normalized(graph, opts, name, s, x);
    for (uint32_t i = 0; i < opts->muon.steps && graph->err.status == SHD_OK; i++)
        x = step(graph, name, s, x, polynomial(graph, name, s, gram(graph, name, s, x), c[1], c[2]),
                 c[0]);
    return x;
}

/* ---- stacks of matrices with homes ---- */

static double shorter_size(const struct graph *graph, const struct optimizer_param *param)
{
    return optimizer_side(graph, param->of, optimizer_shorter(graph, param->of, param->matrix));
}

static double longer_size(const struct graph *graph, const struct optimizer_param *param)
{
    return optimizer_side(graph, param->of, optimizer_longer(graph, param->of, param->matrix));
}

/* The sides of a matrix with one dimension each. */
static struct sides flat_sides(struct graph *graph, const struct optimizer_param *param)
{
    struct sides s = sides_of(graph, param);
    struct sides flat = {.nnumbers = s.nnumbers, .nshort = 1, .nlong = 1};
    double shorter = shorter_size(graph, param), longer = longer_size(graph, param);

    memcpy(flat.numbers, s.numbers, sizeof flat.numbers);
    flat.shorter[0] =
        graph_dim(graph, graph_text(graph, "shorter/%.0f", shorter), (int64_t)shorter);
    flat.longer[0] = graph_dim(graph, graph_text(graph, "longer/%.0f", longer), (int64_t)longer);
    return flat;
}

/* The dimensions of all sides, in the order in which stacks have them. */
static uint32_t list_dims(uint32_t *dims, const struct sides *s)
{
    memcpy(dims, s->numbers, s->nnumbers * sizeof *dims);
    memcpy(dims + s->nnumbers, s->shorter, s->nshort * sizeof *dims);
    memcpy(dims + s->nnumbers + s->nshort, s->longer, s->nlong * sizeof *dims);
    return s->nnumbers + s->nshort + s->nlong;
}

/* x with its dimensions in the order of stacks. */
static uint32_t ordered(struct graph *graph, const char *name, uint32_t x, const struct sides *s)
{
    uint32_t dims[3 * GRAPH_RANK_MAX], rank = list_dims(dims, s);

    if (graph->err.status != SHD_OK || !memcmp(dims, graph->nodes[x].dims, rank * sizeof *dims))
        return x;
    return graph_transpose(graph, name, x, dims, rank);
}

/* x, of the dimensions of a stack's element, as the parameter has them. */
static uint32_t restored(struct graph *graph, const char *name, uint32_t x, const struct sides *s,
                         uint32_t param)
{
    uint32_t dims[3 * GRAPH_RANK_MAX], rank = list_dims(dims, s);

    x = graph_reshape(graph, name, x, dims, rank);
    if (graph->err.status != SHD_OK || !memcmp(dims, graph->nodes[param].dims, rank * sizeof *dims))
        return x;
    return graph_transpose(graph, name, x, graph->nodes[param].dims, rank);
}

/* ---- the update ---- */

/* The factor of the rate by a matrix's shape: torch.optim.Muon's adjust_lr_fn. */
static double ratio_of(const struct graph *graph, const struct optimizer_opts *opts,
                       const struct optimizer_param *param)
{
    double out = optimizer_side(graph, param->node, param->matrix->out);
    double in = optimizer_side(graph, param->node, param->matrix->in);

    switch (opts->muon.ratio) {
    case MUON_MATCH_RMS_ADAMW:
        return 0.2 * sqrt(fmax(out, in));
    case MUON_SPECTRAL:
        return sqrt(out / in);
    case MUON_ORIGINAL:
        break;
    }
    return sqrt(fmax(1, out / in));
}

static uint32_t moved(struct graph *graph, const struct optimizer_opts *opts,
                      const uint32_t *by_step, const struct optimizer_param *param, uint32_t x)
{
    const char *name = graph_text(graph, "update/%s", param->name);
    uint32_t p = param->node;

    x = graph_convert(graph, name, opts->types.parameters, x);
    x = graph_map(graph, name, KERN_SCALE, x, GRAPH_NONE, ratio_of(graph, opts, param));
    x = graph_map(graph, name, KERN_MUL, x, by_step[RATE], 0);
    if (by_step[KEPT] != GRAPH_NONE)
        p = graph_map(graph, name, KERN_MUL, p, by_step[KEPT], 0);
    return graph_map(graph, name, KERN_SUB, p, x, 0);
}

/* A constraint on a parameter's matrices, or on a stack of those and others. */
static uint32_t constraint(struct graph *graph, enum graph_matrix_place place,
                           const struct optimizer_param *param, uint32_t x)
{
    static const char *const names[] = {
        [GRAPH_MATRIX] = "", [GRAPH_HOME] = "home/", [GRAPH_BACK] = "back/"};
    uint32_t node =
        graph_constraint(graph, graph_text(graph, "opt/muon/%s%s", names[place], param->name), x);

    if (node == GRAPH_NONE)
        return node;
    graph->nodes[node].state_of = param->of;
    graph->nodes[node].attr.constraint.place = place;
    graph->nodes[node].attr.constraint.shorter = optimizer_shorter(graph, param->of, param->matrix);
    graph->nodes[node].attr.constraint.longer = optimizer_longer(graph, param->of, param->matrix);
    return node;
}

/* Make matrices of equal sides orthogonal, each in its home. */
static void orthogonal_in_homes(struct graph *graph, const struct optimizer_opts *opts,
                                const struct optimizer_param *params, uint32_t n, uint32_t *x)
{
    const char *home = graph_text(graph, "opt/muon/home/%s", params[0].name);
    const char *back = graph_text(graph, "opt/muon/back/%s", params[0].name);
    struct sides s, flat = flat_sides(graph, &params[0]);
    uint32_t dims[3 * GRAPH_RANK_MAX], rank = list_dims(dims, &flat), stack;

    for (uint32_t i = 0; i < n; i++) {
        s = sides_of(graph, &params[i]);
        x[i] = ordered(graph, home, x[i], &s);
    }
    stack = stack_make(graph, home, x, n, params[0].matrix->homes, dims, rank);
    stack = constraint(graph, GRAPH_HOME, &params[0], stack);
    if (graph->err.status != SHD_OK)
        return;
    memmove(flat.numbers + 1, flat.numbers, flat.nnumbers++ * sizeof *flat.numbers);
    flat.numbers[0] = graph->nodes[stack].dims[0];
    stack = orthogonal(graph, opts, stack, &flat, params[0].name);
    stack = constraint(graph, GRAPH_BACK, &params[0], stack);
    for (uint32_t i = 0; i < n && graph->err.status == SHD_OK; i++) {
        s = sides_of(graph, &params[i]);
        x[i] = restored(graph, back, stack_take(graph, back, stack, i), &s, params[i].of);
    }
}

static void update(struct graph *graph, const struct optimizer_opts *opts, const uint32_t *by_step,
                   const struct optimizer_param *params, uint32_t n, uint32_t *next)
{
    struct sides s;

    for (uint32_t i = 0; i < n && graph->err.status == SHD_OK; i++)
        next[i] = graph_convert(graph, graph_text(graph, "opt/muon/%s", params[i].name),
                                opts->muon.dtype, momentum(graph, opts, &params[i]));
    if (params[0].matrix->homes > 0) {
        orthogonal_in_homes(graph, opts, params, n, next);
    } else {
        s = sides_of(graph, &params[0]);
        next[0] = constraint(graph, GRAPH_MATRIX, &params[0], next[0]);
        next[0] = orthogonal(graph, opts, next[0], &s, params[0].name);
    }
    for (uint32_t i = 0; i < n && graph->err.status == SHD_OK; i++)
        next[i] = moved(graph, opts, by_step, &params[i], next[i]);
}

/* Whether two matrices are stacked: of equal sides and one stage, numbered by the same dimensions.
 * One without homes is in no stack, not even its own. */
static bool together(const struct graph *graph, const struct optimizer_param *a,
                     const struct optimizer_param *b)
{
    const struct graph_node *x = &graph->nodes[a->of], *y = &graph->nodes[b->of];
    struct sides s, t;

    if (a->matrix->homes == 0 || a->matrix->homes != b->matrix->homes || x->stage != y->stage ||
        x->dtype != y->dtype)
        return false;
    s = sides_of(graph, a);
    t = sides_of(graph, b);
    return s.nnumbers == t.nnumbers &&
           !memcmp(s.numbers, t.numbers, s.nnumbers * sizeof *s.numbers) &&
           shorter_size(graph, a) == shorter_size(graph, b) &&
           longer_size(graph, a) == longer_size(graph, b);
}

const struct optimizer optimizer_muon = {
    .name = "muon", .prepare = prepare, .together = together, .update_all = update};
