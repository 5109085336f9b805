/* stack.h - a drawing of bytes over time: kinds on top of one another, a column for each moment.
 *
 * The same is drawn as text and as SVG.  Where there are more moments than columns, a column is the
 * one of its moments with the most bytes, so that no peak is lost.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef DRAW_STACK_H
#define DRAW_STACK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "base/uint128.h"
#include "draw/figure.h"

#define STACK_KINDS_MAX 16

struct stack_kind {
    char mark; /* in the terminal */
    const char *name;
};

/* Moments from one on, up to the next span. */
struct stack_span {
    size_t from;
    const char *name;
    const char *mark; /* in its place where there is no room for all names */
};

/* All pointers are the caller's. */
struct stack {
    const char *title;
    const struct stack_kind *kinds; /* the lowest first; at most STACK_KINDS_MAX */
    size_t nkinds;
    const uint128 *bytes; /* [moment][kind] */
    size_t nmoments;
    const struct stack_span *spans; /* by `from`, the first from 0 */
    size_t nspans;
    const char *across;       /* what goes from left to right: a sentence below the axis */
    const char *marks;        /* what marks of spans mean, where there are some */
    uint128 limit_bytes;      /* a line in the picture, where it is not far above all; 0: none */
    uint128 top_bytes;        /* where the scale ends, at least the most; 0: as is best */
    const char *const *notes; /* sentences below the drawing */
    size_t nnotes;
};

void stack_draw_text(const struct stack *stack, const struct figure_style *style, struct text *out);
void stack_draw_svg(const struct stack *stack, struct text *out);

/* All kinds at a moment. */
uint128 stack_total(const struct stack *stack, size_t moment);

/* The moment that stands for column `column` of `ncolumns`; there are at most as many columns as
 * moments. */
size_t stack_moment(const struct stack *stack, size_t column, size_t ncolumns);

/* How spans are told on an axis of a width in characters: by names, else by marks; of more than
 * there is room for each so many, so that what is told is regular, and the last. */
struct stack_labels {
    bool marks;
    size_t every;
};
struct stack_labels stack_labels_for(const struct stack *stack, double width);

/* What is told of a span, "" if nothing is. */
const char *stack_label(const struct stack *stack, const struct stack_labels *labels, size_t span);

/* Whether a label stands before its moment, for there is no room behind it on the axis. */
bool stack_label_is_before(const struct stack *stack, const char *label, size_t span, double width);

/* The sentence below the axis. */
void stack_add_across(struct text *out, const struct stack *stack,
                      const struct stack_labels *labels);

/* Bytes at the highest moment, and where the scale ends. */
uint128 stack_most(const struct stack *stack);
uint128 stack_top(const struct stack *stack);

#endif /* DRAW_STACK_H */
