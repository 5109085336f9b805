/* Elementwise functions of a `graph:` section.  A number operand becomes a scalar of the kernel.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <string.h>

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

/* The value of a call with numbers only: an infinite result of finite numbers (`given`) is an
 * error. */
static struct lines_value as_number(struct lines *l, const struct expr *call, bool given,
                                    double number)
{
    if (given && !isfinite(number)) {
        lines_error(l, call->at, "a number that is not finite");
        return nothing();
    }
    return (struct lines_value){LINES_NUMBER, number, GRAPH_NONE};
}

/* Evaluate fn(a, b) of two numbers. */
static struct lines_value fold(struct lines *l, const struct expr *call, enum kern_fn fn, double a,
                               double b)
{
    bool given = isfinite(a) && isfinite(b);

    switch (fn) {
    case KERN_ADD:
        return as_number(l, call, given, a + b);
    case KERN_SUB:
        return as_number(l, call, given, a - b);
    case KERN_MUL:
        return as_number(l, call, given, a * b);
    case KERN_DIV:
        return as_number(l, call, given, a / b);
    case KERN_NEG:
        return as_number(l, call, given, -a);
    default:
        lines_error(l, call->at, "%s of numbers only; expected an array among the arguments",
                    call->name);
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
        if (kern_is_whole(g->nodes[a].dtype))
            break;
        return as_node(l, call, graph_map(g, name, KERN_SCALE, a, GRAPH_NONE, 1 / number));
    default:
        break;
    }
    b = graph_map(g, name, KERN_FILL, a, GRAPH_NONE, number);
    return as_node(l, call, graph_map(g, name, fn, a, b, 0));
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

/* Evaluate an operand; whole numbers are refused where the function takes none. */
static struct lines_value operand(struct lines *l, const struct expr *e, enum kern_fn fn,
                                  const struct expr_dims *target)
{
    struct lines_value value = lines_eval(l, e, target);

    if (value.is == LINES_NODE && kern_is_whole(l->graph->nodes[value.node].dtype) &&
        kern_fns[fn].takes == KERN_FRACTIONS) {
        lines_refuse_whole(l, e->at, value.node);
        return nothing();
    }
    return value;
}

static struct lines_value binary(struct lines *l, const struct expr *call, enum kern_fn fn,
                                 const struct expr_dims *target)
{
    struct lines_value a = operand(l, call->args[0], fn, target);
    struct lines_value b = operand(l, call->args[1], fn, target);

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
    struct lines_value x = operand(l, call->args[0], fn, target);
    struct lines_value scalar = lines_eval(l, call->args[1], target);

    if (scalar.is == LINES_NODE)
        lines_error(l, call->args[1]->at, "an array; expected a number");
    if (x.is == LINES_NUMBER)
        lines_error(l, call->args[0]->at, "a number; expected an array");
    if (x.is != LINES_NODE || scalar.is != LINES_NUMBER)
        return nothing();
    return as_node(
        l, call,
        graph_map(l->graph, lines_node_name(l, call->name), fn, x.node, GRAPH_NONE, scalar.number));
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
    a = operand(l, call->args[0], fn, target);
    if (a.is == LINES_NUMBER)
        return fold(l, call, fn, a.number, 0);
    if (a.is == LINES_NOTHING)
        return nothing();
    return as_node(l, call,
                   graph_map(l->graph, lines_node_name(l, call->name), fn, a.node, GRAPH_NONE, 0));
}

/* ---- functions that these make up ---- */

/* A call of a function with up to two arguments in place of those of `call`. */
static struct expr renamed(const struct expr *call, const char *name, const struct expr *a,
                           const struct expr *b)
{
    struct expr made = *call;

    made.name = name;
    made.nargs = 2;
    made.args[0] = a;
    made.args[1] = b;
    return made;
}

static uint32_t node_of(struct lines *l, const struct expr *call, struct lines_value value)
{
    if (value.is == LINES_NUMBER)
        return lines_error(l, call->at, "%s of numbers only; expected an array among the arguments",
                           call->name);
    return value.is == LINES_NODE ? value.node : GRAPH_NONE;
}

/* greater(a, b) is less(b, a). */
uint32_t lines_build_swapped(struct lines *l, const struct expr *call,
                             const struct expr_dims *target)
{
    enum kern_fn fn = !strcmp(call->name, "greater") ? KERN_LESS : KERN_LESS_EQUAL;
    struct expr swapped = renamed(call, kern_fns[fn].name, call->args[1], call->args[0]);

    return node_of(l, call, lines_elementwise(l, &swapped, fn, target));
}

/* clamp(x, low, high) is min(max(x, low), high). */
uint32_t lines_build_clamp(struct lines *l, const struct expr *call, const struct expr_dims *target)
{
    struct expr inner = renamed(call, "max", call->args[0], call->args[1]);
    struct expr outer = renamed(call, "min", &inner, call->args[2]);

    inner.dims = (struct expr_dims){.given = false};
    return node_of(l, call, lines_elementwise(l, &outer, KERN_MIN, target));
}

/* A number in place of an array: like the array beside it. */
static uint32_t filled(struct lines *l, const struct lines_value *value, uint32_t like)
{
    if (value->is == LINES_NODE)
        return value->node;
    return graph_map(l->graph, lines_node_name(l, "fill"), KERN_FILL, like, GRAPH_NONE,
                     value->number);
}

uint32_t lines_build_select(struct lines *l, const struct expr *call,
                            const struct expr_dims *target)
{
    uint32_t condition = lines_eval_any(l, call->args[0], target), like;
    struct lines_value a = lines_eval(l, call->args[1], target);
    struct lines_value b = lines_eval(l, call->args[2], target);

    if (condition == GRAPH_NONE || a.is == LINES_NOTHING || b.is == LINES_NOTHING)
        return GRAPH_NONE;
    like = a.is == LINES_NODE ? a.node : b.is == LINES_NODE ? b.node : condition;
    return graph_select(l->graph, lines_node_name(l, "select"), condition, filled(l, &a, like),
                        filled(l, &b, like));
}
