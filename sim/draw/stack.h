/* stack.h - a chart of bytes over time: kinds stacked on one another, a column for each moment.
 *
 * Text and SVG show the same.  With more moments than columns, a column shows the one of its
 * moments with the most bytes, so that no peak is lost.
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

/* A range of moments, up to the next span. */
struct stack_span {
    size_t from;
    const char *name;
    const char *mark; /* used instead if names do not fit */
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
    const char *across;       /* meaning of the horizontal axis: a sentence below it */
    const char *marks;        /* meaning of the spans' marks, if they have any */
    uint128 limit_bytes;      /* a line in the picture, if not far above the peak; 0: none */
    uint128 top_bytes;        /* end of the scale, at least the peak; 0: automatic */
    const char *const *notes; /* sentences below the drawing */
    size_t nnotes;
};

void stack_draw_text(const struct stack *stack, const struct figure_style *style, struct text *out);
void stack_draw_svg(const struct stack *stack, struct text *out);

/* All bytes at a moment. */
uint128 stack_total(const struct stack *stack, size_t moment);

/* The moment shown in column `column` of `ncolumns`; there must be no more columns than moments. */
size_t stack_moment(const struct stack *stack, size_t column, size_t ncolumns);

/* How spans are labelled on an axis with a width in characters: by names, or else by marks.  If not
 * all fit, only every `every`-th span and the last are labelled. */
struct stack_labels {
    bool marks;
    size_t every;
};
struct stack_labels stack_labels_for(const struct stack *stack, double width);

/* The label of a span, "" if it has none. */
const char *stack_label(const struct stack *stack, const struct stack_labels *labels, size_t span);

/* Whether a label is left of its moment, because the axis has no room to the right. */
bool stack_label_is_before(const struct stack *stack, const char *label, size_t span, double width);

/* Append the sentence below the axis. */
void stack_add_across(struct text *out, const struct stack *stack,
                      const struct stack_labels *labels);

/* Bytes at the highest moment, and the end of the scale. */
uint128 stack_most(const struct stack *stack);
uint128 stack_top(const struct stack *stack);

#endif /* DRAW_STACK_H */
