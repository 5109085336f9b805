/* Functions of a `graph:` section that number and choose elements: indices, scans, rows of tables.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "graph/layers/argmax.h"
#include "graph/layers/softmax.h"
#include "model/call_args.h"
#include "model/call_builders.h"

uint32_t lines_build_convert(struct lines *l, const struct expr *call,
                             const struct expr_dims *target)
{
    uint32_t x = lines_eval_any(l, call->args[0], target);
    const struct expr *type = call->args[1];
    enum shd_dtype dtype = SHD_NDTYPES;
    struct shd_error err;

    if (type->kind != EXPR_NAME || type->dims.given)
        return lines_error(l, type->at, "an expression; expected a type such as float32");
    if (shd_dtype_parse(&dtype, type->name, &err) != SHD_OK)
        return lines_failure(l, type->at, &err);
    if (dtype >= SHD_NCOMPUTE_DTYPES)
        return lines_error(l, type->at, "type %s is not supported in computations", type->name);
    return x == GRAPH_NONE ? x : graph_convert(l->graph, lines_node_name(l, "convert"), dtype, x);
}

uint32_t lines_build_iota(struct lines *l, const struct expr *call, const struct expr_dims *target)
{
    uint32_t dim = call_dim(l, call->args[0]);

    (void)target;
    return dim == GRAPH_NONE ? dim : layer_numbers(l->graph, dim);
}

uint32_t lines_build_one_hot(struct lines *l, const struct expr *call,
                             const struct expr_dims *target)
{
    uint32_t ids = lines_eval_any(l, call->args[0], NULL), dim = call_dim(l, call->args[1]);
    const char *name = lines_node_name(l, "one_hot");

    (void)target;
    if (ids == GRAPH_NONE || dim == GRAPH_NONE)
        return GRAPH_NONE;
    if (l->graph->nodes[ids].dtype != SHD_I32)
        return lines_error(l, call->args[0]->at, "a floating-point array; expected integers");
    ids = graph_map(l->graph, name, KERN_EQUAL, ids, layer_numbers(l->graph, dim), 0);
    return graph_convert(l->graph, name, l->dtype, ids);
}

/* The first place of the extreme along a dim. */
uint32_t lines_build_place(struct lines *l, const struct expr *call, const struct expr_dims *target)
{
    enum shd_reduce_op op = !strcmp(call->name, "argmax") ? SHD_MAX : SHD_MIN;
    uint32_t x = lines_eval_any(l, call->args[0], NULL), dim;

    (void)target;
    if (x == GRAPH_NONE)
        return GRAPH_NONE;
    dim = call_dim_of(l, call->args[1], x);
    return dim == GRAPH_NONE ? dim
                             : layer_argmax(l->graph, lines_node_name(l, call->name), op, x, dim,
                                            !kern_is_whole(l->graph->nodes[x].dtype));
}

uint32_t lines_build_log_sum_exp(struct lines *l, const struct expr *call,
                                 const struct expr_dims *target)
{
    uint32_t args[2]; /* x, dim */

    (void)target;
    if (!call_args(l, call, NULL, "xd", args))
        return GRAPH_NONE;
    return layer_log_sum_exp(l->graph, lines_node_name(l, "logsumexp"), args[0], args[1]);
}

/* cumsum(), cumprod(), cummax(), cummin(), and recurrence(a, b, dim). */
uint32_t lines_build_scan(struct lines *l, const struct expr *call, const struct expr_dims *target)
{
    static const char *const names[] = {[KERN_SCAN_SUM] = "cumsum",
                                        [KERN_SCAN_PROD] = "cumprod",
                                        [KERN_SCAN_MAX] = "cummax",
                                        [KERN_SCAN_MIN] = "cummin",
                                        [KERN_SCAN_LINEAR] = "recurrence"};
    uint32_t a = GRAPH_NONE, x, dim, fn = KERN_SCAN_SUM;
    const struct expr *along;
    bool reverse = false;

    while (strcmp(names[fn], call->name) != 0)
        fn++;
    if (fn == KERN_SCAN_LINEAR)
        a = lines_eval_array(l, call_positional(call, 0), target);
    x = lines_eval_any(l, call_positional(call, fn == KERN_SCAN_LINEAR), target);
    along = call_positional(call, fn == KERN_SCAN_LINEAR ? 2 : 1);
    if (x == GRAPH_NONE || (fn == KERN_SCAN_LINEAR && a == GRAPH_NONE) ||
        !call_flag(l, call, "reverse", &reverse))
        return GRAPH_NONE;
    dim = call_dim_of(l, along, x);
    if (dim == GRAPH_NONE)
        return GRAPH_NONE;
    return graph_scan(l->graph, lines_node_name(l, call->name), (enum kern_scan_fn)fn, x, a, dim,
                      reverse);
}

/* ---- choosing ---- */

/* Read an array of integers that are all below the size of a dim.  Without `below` they are a
 * file's, or 0 and 1, also beside a dim of one element: what lies outside a dim is 0. */
static uint32_t ids_argument(struct lines *l, const struct expr *e, uint32_t dim)
{
    uint32_t ids = lines_eval_any(l, e, NULL);
    const struct graph_node *n;

    if (ids == GRAPH_NONE)
        return GRAPH_NONE;
    n = &l->graph->nodes[ids];
    if (n->dtype != SHD_I32)
        return lines_error(l, e->at, "a floating-point array; expected an input with below: %s",
                           l->graph->dims[dim].name);
    if (n->source.modulus > 2 && (int64_t)n->source.modulus > l->graph->dims[dim].size)
        return lines_error(l, e->at, "'%s' goes up to %u, but dim '%s' has %lld elements", n->name,
                           n->source.modulus - 1, l->graph->dims[dim].name,
                           (long long)l->graph->dims[dim].size);
    return ids;
}

uint32_t lines_build_embed(struct lines *l, const struct expr *call, const struct expr_dims *target)
{
    uint32_t table = lines_eval_array(l, call->args[0], NULL), ids, dim;

    (void)target;
    if (table == GRAPH_NONE)
        return GRAPH_NONE;
    if (l->graph->nodes[table].rank < 1)
        return lines_error(l, call->args[0]->at, "a scalar; expected a table of rows");
    dim = call->nargs > 2 ? call_dim_of(l, call->args[2], table) : l->graph->nodes[table].dims[0];
    if (dim == GRAPH_NONE)
        return GRAPH_NONE;
    ids = ids_argument(l, call->args[1], dim);
    if (ids == GRAPH_NONE)
        return GRAPH_NONE;
    table = lines_checked(l, call->at, call_with_dim(l, table, dim, false));
    return graph_embed(l->graph, lines_node_name(l, "embed"), table, ids);
}

/* The array and ids of embed_add() and pick_add(), and the dim that they number; false after an
 * error. */
static bool read_sums(struct lines *l, const struct expr *call, uint32_t *x, uint32_t *ids,
                      uint32_t *dim)
{
    *x = lines_eval_array(l, call->args[0], NULL);
    *dim = call_dim(l, call->args[2]);
    if (*x == GRAPH_NONE || *dim == GRAPH_NONE)
        return false;
    *ids = ids_argument(l, call->args[1], *dim);
    return *ids != GRAPH_NONE;
}

uint32_t lines_build_embed_add(struct lines *l, const struct expr *call,
                               const struct expr_dims *target)
{
    uint32_t x, ids, dim;

    (void)target;
    if (!read_sums(l, call, &x, &ids, &dim))
        return GRAPH_NONE;
    return graph_embed_add(l->graph, lines_node_name(l, "embed_add"), x, ids, dim);
}

uint32_t lines_build_pick(struct lines *l, const struct expr *call, const struct expr_dims *target)
{
    uint32_t x = lines_eval_array(l, call->args[0], NULL), dim, ids;

    (void)target;
    if (x == GRAPH_NONE)
        return GRAPH_NONE;
    dim = call_dim_of(l, call->args[2], x);
    if (dim == GRAPH_NONE)
        return GRAPH_NONE;
    ids = ids_argument(l, call->args[1], dim);
    if (ids == GRAPH_NONE)
        return GRAPH_NONE;
    return graph_pick(l->graph, lines_node_name(l, "pick"), x, ids, dim);
}

/* Dims of the ids that the result lacks are choices. */
uint32_t lines_build_pick_add(struct lines *l, const struct expr *call,
                              const struct expr_dims *target)
{
    uint32_t x, ids, dim, dims[EXPR_DIMS_MAX], nchoices = 0;

    if (!read_sums(l, call, &x, &ids, &dim) || (target && !lines_dims(l, target, dims)))
        return GRAPH_NONE;
    if (target && target->given)
        while (nchoices < l->graph->nodes[ids].rank &&
               !call_lists(dims, target->count,
                           l->graph->nodes[ids].dims[l->graph->nodes[ids].rank - 1 - nchoices]))
            nchoices++;
    return graph_pick_add(l->graph, lines_node_name(l, "pick_add"), x, ids, dim, nchoices);
}

uint32_t lines_build_topk(struct lines *l, const struct expr *call, const struct expr_dims *target)
{
    struct graph_limits limits = {.groups = 1, .kept = 1};
    uint32_t args[3], scores; /* scores, dim, choice */

    (void)target;
    if (!call_args(l, call, NULL, "adn", args) || !call_flag(l, call, "smallest", &limits.smallest))
        return GRAPH_NONE;
    scores = lines_checked(l, call->at, call_with_dim(l, args[0], args[1], true));
    return graph_topk(l->graph, lines_node_name(l, "topk"), scores, args[1], args[2], &limits);
}
