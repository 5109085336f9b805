/* Names, errors and evaluation of a `graph:` section's lines (lines.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/lines.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/nearest.h"

uint32_t lines_error(struct lines *l, size_t at, const char *fmt, ...)
{
    struct place place = l->place;
    char text[400];
    va_list args;

    place.column += (int)at;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    diag_error(l->diag, place, "%s", text);
    return GRAPH_NONE;
}

uint32_t lines_failure(struct lines *l, size_t at, const struct shd_error *err)
{
    if (err->status != SHD_ENOMEM)
        return lines_error(l, at, "%s", err->text);
    diag_no_memory(l->diag);
    return GRAPH_NONE;
}

uint32_t lines_checked(struct lines *l, size_t at, uint32_t node)
{
    if (l->graph->err.status == SHD_OK)
        return node;
    if (!l->stopped)
        lines_failure(l, at, &l->graph->err);
    l->stopped = true;
    return GRAPH_NONE;
}

static uint64_t hash_of(const char *name)
{
    return hash_bytes(HASH_BEGIN, name, strlen(name));
}

void lines_add(struct lines *l, const char *name, uint32_t node, bool computed)
{
    if (!map_add(&l->by_name, hash_of(name), l->nnames))
        graph_fail(l->graph, SHD_ENOMEM, "no memory for the names of a graph");
    l->names[l->nnames++] = (struct lines_name){name, node, computed, false};
}

const struct lines_name *lines_find(const struct lines *l, const char *name)
{
    struct map_walk walk = map_find(&l->by_name, hash_of(name));
    uint32_t n;

    while ((n = map_next(&walk)) != MAP_NONE)
        if (!strcmp(l->names[n].name, name))
            return &l->names[n];
    return NULL;
}

uint32_t lines_dim(struct lines *l, const char *name, size_t at)
{
    uint32_t dim = graph_find_dim(l->graph, name);
    struct nearest near;

    if (dim != GRAPH_NONE)
        return dim;
    nearest_init(&near, name);
    for (uint32_t d = 0; d < l->graph->ndims; d++)
        nearest_add(&near, l->graph->dims[d].name);
    return lines_error(l, at, "unknown dim '%.60s'%s", name, nearest_hint(&near).text);
}

bool lines_dims(struct lines *l, const struct expr_dims *dims, uint32_t *out)
{
    for (uint32_t d = 0; d < dims->count; d++) {
        out[d] = lines_dim(l, dims->names[d], dims->at[d]);
        if (out[d] == GRAPH_NONE)
            return false;
        for (uint32_t e = 0; e < d; e++)
            if (out[e] == out[d]) {
                lines_error(l, dims->at[d], "dim '%s' appears twice", dims->names[d]);
                return false;
            }
    }
    return true;
}

const char *lines_print_dims(struct lines *l, uint32_t node)
{
    const struct graph_node *n = &l->graph->nodes[node];
    const char *text = "[";

    for (uint32_t d = 0; d < n->rank; d++)
        text = graph_text(l->graph, "%s%s%s", text, d ? "," : "", l->graph->dims[n->dims[d]].name);
    return graph_text(l->graph, "%s]", text);
}

const char *lines_node_name(struct lines *l, const char *function)
{
    return graph_text(l->graph, "%s/%s", l->left, function);
}

uint32_t lines_conform(struct lines *l, uint32_t node, const struct expr_dims *dims, size_t at)
{
    const struct graph_node *n;
    uint32_t want[EXPR_DIMS_MAX];

    if (node == GRAPH_NONE || !dims || !dims->given || !lines_dims(l, dims, want))
        return dims && dims->given ? GRAPH_NONE : node;
    n = &l->graph->nodes[node];
    for (uint32_t d = 0; d < dims->count; d++)
        if (!graph_has_dim(n, want[d]))
            return lines_error(l, dims->at[d], "dim '%s' is not one of the value's %s",
                               dims->names[d], lines_print_dims(l, node));
    if (dims->count < n->rank)
        return lines_error(l, at, "the value is %s; expected a sum over the dims to drop",
                           lines_print_dims(l, node));
    if (!memcmp(n->dims, want, n->rank * sizeof want[0]))
        return node;
    return lines_checked(
        l, at, graph_transpose(l->graph, lines_node_name(l, "transpose"), node, want, n->rank));
}

static uint32_t report_unknown_array(struct lines *l, const struct expr *e)
{
    struct nearest near;

    if (graph_find_dim(l->graph, e->name) != GRAPH_NONE)
        return lines_error(l, e->at, "'%s' is a dim; expected an array", e->name);
    nearest_init(&near, e->name);
    for (uint32_t n = 0; n < l->nnames; n++)
        nearest_add(&near, l->names[n].name);
    return lines_error(l, e->at, "no array '%.60s' before this line%s", e->name,
                       nearest_hint(&near).text);
}

/* Look up an array by name; dims after the name must be the array's own, in order. */
static uint32_t eval_name(struct lines *l, const struct expr *e)
{
    const struct lines_name *found = lines_find(l, e->name);
    const struct graph_node *n;
    uint32_t dims[EXPR_DIMS_MAX];

    if (!found)
        return report_unknown_array(l, e);
    if (found->node == GRAPH_NONE || !e->dims.given)
        return found->node;
    if (!lines_dims(l, &e->dims, dims))
        return GRAPH_NONE;
    n = &l->graph->nodes[found->node];
    if (e->dims.count != n->rank || memcmp(n->dims, dims, n->rank * sizeof dims[0]) != 0)
        return lines_error(l, e->at, "'%s' is %s", e->name, lines_print_dims(l, found->node));
    return found->node;
}

static uint32_t report_unknown_function(struct lines *l, const struct expr *e)
{
    struct nearest near;

    nearest_init(&near, e->name);
    for (int f = 0; f < KERN_NSAME; f++)
        nearest_add(&near, kern_fns[f].name);
    for (int f = 0; lines_functions[f].name; f++)
        nearest_add(&near, lines_functions[f].name);
    return lines_error(l, e->at, "unknown function '%.60s'%s", e->name,
                       near.best ? nearest_hint(&near).text
                                 : "; 'shardsim show functions' lists all");
}

/* Whether a key is among the arguments, as in "x, dim, eps=1e-6". */
static bool has_key(const char *arguments, const char *key)
{
    size_t n = strlen(key);

    for (const char *at = strstr(arguments, key); at; at = strstr(at + n, key))
        if (at[n] == '=' && at > arguments && at[-1] == ' ')
            return true;
    return false;
}

static bool check_keys(struct lines *l, const struct expr *call, const struct lines_function *f)
{
    uint32_t npositional = 0;

    for (uint32_t i = 0; i < call->nargs; i++) {
        bool known = call->keys[i] == NULL;

        npositional += known;
        if (!known && !has_key(f->arguments, call->keys[i])) {
            lines_error(l, call->args[i]->at, "%s has no argument '%.60s'; expected %s(%s)",
                        call->name, call->keys[i], f->name, f->arguments);
            return false;
        }
    }
    if (npositional >= f->min_args && npositional <= f->max_args)
        return true;
    lines_error(l, call->at, "%s of %u arguments; expected %s(%s)", call->name, npositional,
                f->name, f->arguments);
    return false;
}

/* Evaluate a call. max() and min() are reductions of one array, and elementwise functions of
 * two. */
static struct lines_value eval_call(struct lines *l, const struct expr *e,
                                    const struct expr_dims *target)
{
    struct lines_value value = {LINES_NOTHING, 0, GRAPH_NONE};

    for (int f = 0; f < KERN_NSAME; f++)
        if (!strcmp(kern_fns[f].name, e->name) && f != KERN_SELECT &&
            !(e->nargs == 1 && kern_fns[f].noperands == 2))
            return lines_elementwise(l, e, (enum kern_fn)f, target);
    for (const struct lines_function *f = lines_functions; f->name; f++) {
        if (strcmp(f->name, e->name) != 0)
            continue;
        if (check_keys(l, e, f))
            value.node = lines_checked(l, e->at, f->build(l, e, target));
        value.is = value.node == GRAPH_NONE ? LINES_NOTHING : LINES_NODE;
        return value;
    }
    for (int f = 0; f < KERN_NSAME; f++)
        if (!strcmp(kern_fns[f].name, e->name))
            return lines_elementwise(l, e, (enum kern_fn)f, target);
    value.node = report_unknown_function(l, e);
    return value;
}

struct lines_value lines_eval(struct lines *l, const struct expr *e, const struct expr_dims *target)
{
    struct lines_value value = {LINES_NUMBER, e->number, GRAPH_NONE};

    if (e->kind == EXPR_NUMBER)
        return value;
    if (e->kind == EXPR_NAME)
        value.node = eval_name(l, e);
    else
        value = eval_call(l, e, e->dims.given ? &e->dims : target);
    if (value.is == LINES_NUMBER && e->kind == EXPR_CALL)
        return value;
    if (e->kind == EXPR_CALL && value.node != GRAPH_NONE)
        value.node = lines_conform(l, value.node, &e->dims, e->at);
    value.is = value.node == GRAPH_NONE ? LINES_NOTHING : LINES_NODE;
    return value;
}

uint32_t lines_eval_any(struct lines *l, const struct expr *e, const struct expr_dims *target)
{
    struct lines_value value = lines_eval(l, e, target);

    if (value.is == LINES_NUMBER)
        return lines_error(l, e->at, "a number; expected an array");
    return value.node;
}

uint32_t lines_refuse_whole(struct lines *l, size_t at, uint32_t node)
{
    return lines_error(l, at,
                       "'%s' holds integers; expected floating point, as from convert(x, float32)",
                       l->graph->nodes[node].name);
}

uint32_t lines_eval_array(struct lines *l, const struct expr *e, const struct expr_dims *target)
{
    uint32_t node = lines_eval_any(l, e, target);

    if (node != GRAPH_NONE && kern_is_whole(l->graph->nodes[node].dtype))
        return lines_refuse_whole(l, e->at, node);
    return node;
}
