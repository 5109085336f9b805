/* expr.h - one line of a `graph:` section, as a tree: h[b,s,f] = gelu(einsum(x[b,s,d], w1[d,f])).
 *
 *   line     = name [dims] "=" sum
 *   sum      = product { ("+" | "-") product }
 *   product  = factor { ("*" | "/") factor }
 *   factor   = "-" factor | number | "inf" | name [dims] | call | "(" sum ")"
 *   call     = name "(" [argument { "," argument }] ")" [dims]
 *   argument = [name "="] sum
 *   dims     = "[" [name { "," name }] "]"
 *
 * Operators are calls of add, sub, mul, div and neg.  Names are letters, digits, '_' and '.'.
 *
 * Thread class: a line is immutable once parsed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MODEL_EXPR_H
#define MODEL_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shd/error.h>

#include "base/text.h"

#define EXPR_DIMS_MAX 12   /* of one array; equals GRAPH_RANK_MAX */
#define EXPR_ARGS_MAX 9    /* of one call: all those of `windows` */
#define EXPR_DEPTH_MAX 64  /* nesting of calls, brackets and signs: the parser is recursive */
#define EXPR_NODES_MAX 1000 /* operators, calls and names of one line; people write a few dozen */
#define EXPR_LINE_MAX 4000 /* bytes: a scenario's lines have at most half of that */

struct expr_dims {
    bool given; /* true also for "[]" */
    uint32_t count;
    const char *names[EXPR_DIMS_MAX];
    size_t at[EXPR_DIMS_MAX]; /* byte in the line */
};

enum expr_kind { EXPR_NUMBER, EXPR_NAME, EXPR_CALL };

struct expr {
    enum expr_kind kind;
    size_t at;        /* first byte in the line; for an operator, the operator's byte */
    const char *name; /* array name (EXPR_NAME) or function name */
    double number;
    struct expr_dims dims;
    uint32_t nargs;
    const struct expr *args[EXPR_ARGS_MAX];
    const char *keys[EXPR_ARGS_MAX]; /* "causal" of causal=true, else NULL */
    struct expr *next;               /* in order of creation */
};

struct expr_line {
    const char *name;
    struct expr_dims dims;
    const struct expr *value;
    struct expr *all;
    char *names; /* storage of all names */
};

/* Parse a line.  On success stores it in *out; free it with expr_destroy().  On failure returns
 * SHD_EINVAL, SHD_ERANGE (over a limit) or SHD_ENOMEM, with the faulty byte in *at. */
SHD_MUST_CHECK int expr_parse(struct expr_line **out, const char *text, size_t *at,
                              struct shd_error *err);
void expr_destroy(struct expr_line *line); /* NULL is allowed */

/* Print the line with every operator as a call; the text parses to the same tree. */
void expr_print(const struct expr_line *line, struct text *out);

#endif /* MODEL_EXPR_H */
