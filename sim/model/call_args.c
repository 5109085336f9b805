/* Arguments of functions (call_args.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/call_args.h"

#include <string.h>

uint32_t call_dim(struct lines *l, const struct expr *e)
{
    if (e->kind != EXPR_NAME || e->dims.given)
        return lines_error(l, e->at, "an expression; expected the name of a dim");
    return lines_dim(l, e->name, e->at);
}

uint32_t call_dim_of(struct lines *l, const struct expr *e, uint32_t node)
{
    uint32_t dim = call_dim(l, e);

    if (dim != GRAPH_NONE && !graph_has_dim(&l->graph->nodes[node], dim))
        return lines_error(l, e->at, "the array is %s and has no dim '%s'",
                           lines_print_dims(l, node), e->name);
    return dim;
}

const struct expr *call_key(const struct expr *call, const char *key)
{
    for (uint32_t i = 0; i < call->nargs; i++)
        if (call->keys[i] && !strcmp(call->keys[i], key))
            return call->args[i];
    return NULL;
}

const struct expr *call_positional(const struct expr *call, uint32_t n)
{
    for (uint32_t i = 0; i < call->nargs; i++)
        if (!call->keys[i] && n-- == 0)
            return call->args[i];
    return NULL;
}

bool call_flag(struct lines *l, const struct expr *call, const char *key, bool *out)
{
    const struct expr *e = call_key(call, key);
    bool is_true;

    if (!e)
        return true;
    is_true = e->kind == EXPR_NAME && !strcmp(e->name, "true");
    if (!is_true && !(e->kind == EXPR_NAME && !strcmp(e->name, "false"))) {
        lines_error(l, e->at, "%s is neither true nor false", key);
        return false;
    }
    *out = is_true;
    return true;
}

bool call_number(struct lines *l, const struct expr *e, double *out)
{
    struct lines_value value = lines_eval(l, e, NULL);

    if (value.is == LINES_NODE)
        lines_error(l, e->at, "an array; expected a number");
    *out = value.number;
    return value.is == LINES_NUMBER;
}

bool call_number_key(struct lines *l, const struct expr *call, const char *key, double *out)
{
    const struct expr *e = call_key(call, key);

    return !e || call_number(l, e, out);
}

bool call_args(struct lines *l, const struct expr *call, const struct expr_dims *target,
               const char *takes, uint32_t *out)
{
    uint32_t array = GRAPH_NONE;
    bool good = true;

    for (uint32_t i = 0; takes[i]; i++) {
        const struct expr *e = call_positional(call, i);

        if (takes[i] == 'd' && array == GRAPH_NONE)
            continue; /* the array is an error, and its dims are not known */
        if (takes[i] == 'd')
            out[i] = call_dim_of(l, e, array);
        else if (takes[i] == 'n')
            out[i] = call_dim(l, e);
        else
            out[i] = array =
                takes[i] == 'x' ? lines_eval_array(l, e, target) : lines_eval_any(l, e, NULL);
        good &= out[i] != GRAPH_NONE;
    }
    return good;
}

bool call_lists(const uint32_t *dims, uint32_t count, uint32_t dim)
{
    for (uint32_t d = 0; d < count; d++)
        if (dims[d] == dim)
            return true;
    return false;
}

uint32_t call_with_dim(struct lines *l, uint32_t x, uint32_t dim, bool last)
{
    const struct graph_node *n = &l->graph->nodes[x];
    uint32_t dims[GRAPH_RANK_MAX], rank = 0;

    if (n->dims[last ? n->rank - 1 : 0] == dim)
        return x;
    if (!last)
        dims[rank++] = dim;
    for (uint32_t d = 0; d < n->rank; d++)
        if (n->dims[d] != dim)
            dims[rank++] = n->dims[d];
    if (last)
        dims[rank++] = dim;
    return graph_transpose(l->graph, lines_node_name(l, "transpose"), x, dims, rank);
}
