/* lines.h - names, errors and values, shared by the readers of a `graph:` section's lines.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MODEL_LINES_H
#define MODEL_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include <shd/export.h>

#include "base/diag.h"
#include "base/map.h"
#include "graph/graph.h"
#include "model/expr.h"

/* A name and its node; GRAPH_NONE after an error in its line. */
struct lines_name {
    const char *name;
    uint32_t node;
    bool computed; /* defined by a line, neither an input nor a parameter */
    bool output;
};

struct lines {
    struct graph *graph;
    struct diag *diag;
    struct place place; /* of the line's first character */
    const char *left;   /* the name on the left side */
    enum shd_dtype dtype; /* of arrays that are made of numbers alone */
    struct lines_name *names;
    uint32_t nnames;
    struct map by_name; /* of `names` */
    bool stopped; /* the graph's own error was reported */
};

/* The value of an expression; NOTHING after a reported error. */
struct lines_value {
    enum { LINES_NOTHING, LINES_NUMBER, LINES_NODE } is;
    double number;
    uint32_t node;
};

/* Report an error at a byte of the line; returns GRAPH_NONE. */
uint32_t lines_error(struct lines *l, size_t at, const char *fmt, ...) SHD_PRINTF(3, 4);

/* Report the error of a failed call at a byte of the line; returns GRAPH_NONE. */
uint32_t lines_failure(struct lines *l, size_t at, const struct shd_error *err);

/* Report the graph's error, once for all lines, at byte `at`, and return GRAPH_NONE; without an
 * error, return `node`. */
uint32_t lines_checked(struct lines *l, size_t at, uint32_t node);

/* Add a name that is not there yet; `names` has room for it.  Without memory the graph fails. */
void lines_add(struct lines *l, const char *name, uint32_t node, bool computed);
const struct lines_name *lines_find(const struct lines *l, const char *name);

/* The number of a dimension; reports an error and returns GRAPH_NONE for an unknown name. */
uint32_t lines_dim(struct lines *l, const char *name, size_t at);

/* The numbers of dims[EXPR_DIMS_MAX]; reports an error and returns false for an unknown or repeated
 * dim.
 */
bool lines_dims(struct lines *l, const struct expr_dims *dims, uint32_t *out);

/* Format a node's dims, such as "[b,s,d]", as a text of the graph. */
const char *lines_print_dims(struct lines *l, uint32_t node);

/* Evaluate an expression.  `target` has the result dims for its products and sums, or is NULL. */
struct lines_value lines_eval(struct lines *l, const struct expr *e,
                              const struct expr_dims *target);

/* Evaluate an expression that must be an array of floating-point numbers, or of any type;
 * GRAPH_NONE otherwise. */
uint32_t lines_eval_array(struct lines *l, const struct expr *e, const struct expr_dims *target);
uint32_t lines_eval_any(struct lines *l, const struct expr *e, const struct expr_dims *target);

/* Report that an array holds whole numbers where fractions are expected; returns GRAPH_NONE. */
uint32_t lines_refuse_whole(struct lines *l, size_t at, uint32_t node);

/* A node in exactly the given dims, transposed if necessary. */
uint32_t lines_conform(struct lines *l, uint32_t node, const struct expr_dims *dims, size_t at);

/* A name for the node of a call, such as "h/gelu". */
const char *lines_node_name(struct lines *l, const char *function);

/* ---- calls.c ---- */

/* Adds the nodes of a call; `target` as in lines_eval(). */
typedef uint32_t lines_build_fn(struct lines *l, const struct expr *call,
                                const struct expr_dims *target);

struct lines_function {
    const char *name;
    uint32_t min_args, max_args;
    const char *arguments; /* as messages have them: "x, dim, eps=1e-6", where eps is a key */
    const char *help;
    lines_build_fn *build;
};

extern const struct lines_function lines_functions[]; /* ends with a NULL name */

/* ---- elementwise.c ---- */

/* An elementwise function of numbers and arrays. */
struct lines_value lines_elementwise(struct lines *l, const struct expr *call, enum kern_fn fn,
                                     const struct expr_dims *target);

/* Functions of lines_functions that elementwise ones make up. */
lines_build_fn lines_build_swapped, lines_build_clamp, lines_build_select;

#endif /* MODEL_LINES_H */
