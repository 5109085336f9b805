/* lines.h - what the readers of a `graph:` section's lines share: names, errors, values.
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
#include "graph/graph.h"
#include "model/expr.h"

/* A name of the section and what it stands for; GRAPH_NONE after an error in its line. */
struct lines_name {
    const char *name;
    uint32_t node;
    bool computed; /* by a line: neither input nor parameter */
};

struct lines {
    struct graph *graph;
    struct diag *diag;
    struct place place; /* of the line's first character */
    const char *left;   /* the name on its left side */
    struct lines_name *names;
    uint32_t nnames;
    bool stopped; /* the graph's own error was reported */
};

/* What an expression is worth; NOTHING after an error, which was reported. */
struct lines_value {
    enum { LINES_NOTHING, LINES_NUMBER, LINES_NODE } is;
    double number;
    uint32_t node;
};

/* Report an error at a byte of the line; returns GRAPH_NONE. */
uint32_t lines_error(struct lines *l, size_t at, const char *fmt, ...) SHD_PRINTF(3, 4);

/* The same for a call that failed. */
uint32_t lines_failure(struct lines *l, size_t at, const struct shd_error *err);

/* Report the error that the graph has, once, as that of what begins at `at`; returns `node`. */
uint32_t lines_checked(struct lines *l, size_t at, uint32_t node);

const struct lines_name *lines_find(const struct lines *l, const char *name);

/* The number of a dimension, or GRAPH_NONE and an error. */
uint32_t lines_dim(struct lines *l, const char *name, size_t at);

/* The numbers of dims[EXPR_DIMS_MAX]; false and an error when one is not known or is there twice.
 */
bool lines_dims(struct lines *l, const struct expr_dims *dims, uint32_t *out);

/* "[b,s,d]" of a node, as a text of the graph. */
const char *lines_print_dims(struct lines *l, uint32_t node);

/* Evaluate an expression.  `target` are the dims that its products and sums result in, or NULL. */
struct lines_value lines_eval(struct lines *l, const struct expr *e,
                              const struct expr_dims *target);

/* The same, for what must be an array of floating-point numbers, or of any; GRAPH_NONE otherwise.
 */
uint32_t lines_eval_array(struct lines *l, const struct expr *e, const struct expr_dims *target);
uint32_t lines_eval_any(struct lines *l, const struct expr *e, const struct expr_dims *target);

/* A node in exactly the dims given, transposed if need be. */
uint32_t lines_conform(struct lines *l, uint32_t node, const struct expr_dims *dims, size_t at);

/* A name for the node of a call: "h/gelu". */
const char *lines_node_name(struct lines *l, const char *function);

/* ---- calls.c ---- */

struct lines_function {
    const char *name;
    uint32_t min_args, max_args;
    const char *keys[3];   /* that arguments may be given by */
    const char *arguments; /* for messages: "x, dim" */
    const char *help;
    uint32_t (*build)(struct lines *l, const struct expr *call, const struct expr_dims *target);
};

extern const struct lines_function lines_functions[]; /* ends with a NULL name */

/* ---- elementwise.c ---- */

/* An elementwise function of numbers and arrays. */
struct lines_value lines_elementwise(struct lines *l, const struct expr *call, enum kern_fn fn,
                                     const struct expr_dims *target);

#endif /* MODEL_LINES_H */
