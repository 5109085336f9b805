/* Elementwise functions of a `graph:` section.  A number operand becomes a scalar of the kernel.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>

#include "model/lines.h"

static struct lines_value nothing(void)
{
    return (struct lines_value){LINES_NOTHING, 0, GRAPH_NONE};
}

static struct lines_value as_node(struct lines *l, const struct expr *call, uint32_t node)
{
    node = lines_checked(l, call->at, node);
    if (node == GRAPH_NONE)
        return nothing();
    return (struct lines_value){LINES_NODE, 0, node};
}

static struct lines_value as_number(struct lines *l, const struct expr *call, double number)
{
    if (!isfinite(number)) {
        lines_error(l, call->at, "a number that is not finite");
        return nothing();
    }
    return (struct lines_value){LINES_NUMBER, number, GRAPH_NONE};
}

/* Evaluate fn(a, b) of two numbers. */
static struct lines_value fold(struct lines *l, const struct expr *call, enum kern_fn fn, double a,
                               double b)
{
    switch (fn) {
    case KERN_ADD:
        return as_number(l, call, a + b);
    case KERN_SUB:
        return as_number(l, call, a - b);
    case KERN_MUL:
        return as_number(l, call, a * b);
    case KERN_DIV:
        return as_number(l, call, a / b);
    case KERN_NEG:
        return as_number(l, call, -a);
    default:
        lines_error(l, call->at, "%s of numbers alone; expected an array in it", call->name);
        return nothing();
    }
}

/* fn(a, number) */
static struct lines_value with_number(struct lines *l, const struct expr *call, enum kern_fn fn,
                                      uint32_t a, double number)
{
    struct graph *g = l->graph;
    const char *name = lines_node_name(l, call->name);
    uint32_t b;

    if (fn == KERN_DIV && (number == 0 || !isfinite(1 / number))) {
        lines_error(l, call->args[1]->at, "division by %g", number);
        return nothing();
    }
    switch (fn) {
    case KERN_ADD:
        return as_node(l, call, graph_map(g, name, KERN_ADD_SCALAR, a, GRAPH_NONE, number));
    case KERN_SUB:
        return as_node(l, call, graph_map(g, name, KERN_ADD_SCALAR, a, GRAPH_NONE, -number));
    case KERN_MUL:
        return as_node(l, call, graph_map(g, name, KERN_SCALE, a, GRAPH_NONE, number));
    case KERN_DIV:
        return as_node(l, call, graph_map(g, name, KERN_SCALE, a, GRAPH_NONE, 1 / number));
    default:
        b = graph_map(g, name, KERN_FILL, a, GRAPH_NONE, number);
        return as_node(l, call, graph_map(g, name, fn, a, b, 0));
    }
}

/* fn(number, b) */
static struct lines_value of_number(struct lines *l, const struct expr *call, enum kern_fn fn,
                                    double number, uint32_t b)
{
    struct graph *g = l->graph;
    const char *name = lines_node_name(l, call->name);
    uint32_t a;

    if (fn == KERN_ADD || fn == KERN_MUL)
        return with_number(l, call, fn, b, number);
    a = graph_map(g, name, KERN_FILL, b, GRAPH_NONE, number);
    return as_node(l, call, graph_map(g, name, fn, a, b, 0));
}

/* Build fn(a, b) of two arrays.  If fn commutes, the array of higher rank goes first, so that the
 * result is sharded like it.
 */
static struct lines_value of_arrays(struct lines *l, const struct expr *call, enum kern_fn fn,
                                    uint32_t a, uint32_t b)
{
    struct graph *g = l->graph;
    bool commutes = fn == KERN_ADD || fn == KERN_MUL;

    if (commutes && g->nodes[b].rank > g->nodes[a].rank)
        return as_node(l, call, graph_map(g, lines_node_name(l, call->name), fn, b, a, 0));
    return as_node(l, call, graph_map(g, lines_node_name(l, call->name), fn, a, b, 0));
}

/* Evaluate an operand; arrays of integers are refused. */
static struct lines_value operand(struct lines *l, const struct expr *e,
                                  const struct expr_dims *target)
{
    if (e->kind == EXPR_NAME) {
        uint32_t node = lines_eval_array(l, e, target);

        return (struct lines_value){node == GRAPH_NONE ? LINES_NOTHING : LINES_NODE, 0, node};
    }
    return lines_eval(l, e, target);
}

static struct lines_value binary(struct lines *l, const struct expr *call, enum kern_fn fn,
                                 const struct expr_dims *target)
{
    struct lines_value a = operand(l, call->args[0], target);
    struct lines_value b = operand(l, call->args[1], target);

    if (a.is == LINES_NOTHING || b.is == LINES_NOTHING)
        return nothing();
    if (a.is == LINES_NUMBER && b.is == LINES_NUMBER)
        return fold(l, call, fn, a.number, b.number);
    if (b.is == LINES_NUMBER)
        return with_number(l, call, fn, a.node, b.number);
    if (a.is == LINES_NUMBER)
        return of_number(l, call, fn, a.number, b.node);
    return of_arrays(l, call, fn, a.node, b.node);
}

/* fn(x, number), for functions that take a scalar */
static struct lines_value with_scalar(struct lines *l, const struct expr *call, enum kern_fn fn,
                                      const struct expr_dims *target)
{
    uint32_t x = lines_eval_array(l, call->args[0], target);
    struct lines_value scalar = lines_eval(l, call->args[1], target);

    if (scalar.is == LINES_NODE)
        lines_error(l, call->args[1]->at, "an array; expected a number");
    if (x == GRAPH_NONE || scalar.is != LINES_NUMBER)
        return nothing();
    return as_node(
        l, call,
        graph_map(l->graph, lines_node_name(l, call->name), fn, x, GRAPH_NONE, scalar.number));
}

struct lines_value lines_elementwise(struct lines *l, const struct expr *call, enum kern_fn fn,
                                     const struct expr_dims *target)
{
    const struct kern_fn_info *info = &kern_fns[fn];
    uint32_t nargs = info->has_scalar ? 2 : info->noperands;
    struct lines_value a;

    for (uint32_t i = 0; i < call->nargs; i++)
        if (call->keys[i]) {
            lines_error(l, call->args[i]->at, "%s has no argument '%.60s'", call->name,
                        call->keys[i]);
            return nothing();
        }
    if (call->nargs != nargs) {
        lines_error(l, call->at, "%s of %u arguments; expected %u", call->name, call->nargs, nargs);
        return nothing();
    }
    if (info->has_scalar)
        return with_scalar(l, call, fn, target);
    if (nargs == 2)
        return binary(l, call, fn, target);
    a = operand(l, call->args[0], target);
    if (a.is == LINES_NUMBER)
        return fold(l, call, fn, a.number, 0);
    if (a.is == LINES_NOTHING)
        return nothing();
    return as_node(l, call,
                   graph_map(l->graph, lines_node_name(l, call->name), fn, a.node, GRAPH_NONE, 0));
}
