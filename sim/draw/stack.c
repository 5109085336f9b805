/* Sums over moments, and the drawing for the terminal (stack.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "draw/stack.h"

#include <string.h>

#include "base/units.h"
#include "base/wrap.h"
#include "draw/colour.h"

#define ROWS 14
#define LABEL_COLUMNS 11 /* "1023.9 MiB " */
#define COLUMNS_MIN 20   /* of the drawing, however narrow the screen */
#define LIMIT_MOST 2     /* the scale includes a limit of up to this multiple of the peak */

uint128 stack_total(const struct stack *stack, size_t moment)
{
    uint128 total = 0;

    for (size_t k = 0; k < stack->nkinds; k++)
        total += stack->bytes[moment * stack->nkinds + k];
    return total;
}

uint128 stack_most(const struct stack *stack)
{
    uint128 most = 0;

    for (size_t m = 0; m < stack->nmoments; m++)
        most = stack_total(stack, m) > most ? stack_total(stack, m) : most;
    return most;
}

uint128 stack_top(const struct stack *stack)
{
    uint128 most = stack_most(stack), limit = stack->limit_bytes;

    if (stack->top_bytes > 0)
        return stack->top_bytes > most ? stack->top_bytes : most;
    return limit > most && limit <= LIMIT_MOST * most ? limit : most;
}

size_t stack_moment(const struct stack *stack, size_t column, size_t ncolumns)
{
    size_t best = stack->nmoments * column / ncolumns;
    size_t end = stack->nmoments * (column + 1) / ncolumns;

    for (size_t m = best + 1; m < end; m++)
        if (stack_total(stack, m) > stack_total(stack, best))
            best = m;
    return best;
}

/* ---- labels on the axis ---- */

static double place_of(const struct stack *stack, size_t span, double width)
{
    return (double)stack->spans[span].from * width / (double)stack->nmoments;
}

static bool is_told(const struct stack *stack, const struct stack_labels *labels, size_t span)
{
    return span % labels->every == 0 || span + 1 == stack->nspans;
}

const char *stack_label(const struct stack *stack, const struct stack_labels *labels, size_t span)
{
    if (!is_told(stack, labels, span))
        return "";
    return labels->marks ? stack->spans[span].mark : stack->spans[span].name;
}

bool stack_label_is_before(const struct stack *stack, const char *label, size_t span, double width)
{
    double at = place_of(stack, span, width), length = (double)strlen(label) + 1;

    return at + length > width && at >= length;
}

/* Whether no two labels overlap. */
static bool has_room(const struct stack *stack, const struct stack_labels *labels, double width)
{
    double free = 0;

    for (size_t s = 0; s < stack->nspans; s++) {
        const char *label = stack_label(stack, labels, s);
        double length = (double)strlen(label) + 1, at = place_of(stack, s, width);
        bool before = stack_label_is_before(stack, label, s, width);

        if (!*label)
            continue;
        if ((before ? at - length : at) < free)
            return false;
        free = before ? at : at + length;
    }
    return true;
}

struct stack_labels stack_labels_for(const struct stack *stack, double width)
{
    struct stack_labels labels = {false, 1};

    if (has_room(stack, &labels, width))
        return labels;
    labels.marks = true;
    /* an odd step shows both kinds of alternating spans */
    while (labels.every < stack->nspans && !has_room(stack, &labels, width))
        labels.every += 2;
    return labels;
}

void stack_add_across(struct text *out, const struct stack *stack,
                      const struct stack_labels *labels)
{
    text_add(out, stack->across);
    if (labels->marks)
        text_addf(out, "; %s", stack->marks);
    if (labels->every > 1)
        text_addf(out, "; one in %zu is named", labels->every);
}

/* ---- the terminal ---- */

/* The layout on the terminal. */
struct layout {
    const struct stack *stack;
    const struct figure_style *style;
    size_t ncolumns;
    uint128 most;
};

/* The kind at the middle of a row of a column; nkinds: above all kinds. */
static size_t kind_at(const struct layout *l, size_t moment, size_t row)
{
    double height = (double)l->most * ((double)(ROWS - row) - 0.5) / ROWS, sum = 0;
    size_t k = 0;

    for (; k < l->stack->nkinds; k++) {
        sum += (double)l->stack->bytes[moment * l->stack->nkinds + k];
        if (height < sum)
            break;
    }
    return k;
}

static void add_row(struct text *out, const struct layout *l, size_t row)
{
    struct units_text bytes = {""};
    size_t blanks = 1; /* pending; lines do not end with blanks */

    if (row % 4 == 0)
        bytes = units_print_bytes(l->most * (ROWS - row) / ROWS);
    text_addf(out, "%*s", LABEL_COLUMNS - 1, bytes.text);
    for (size_t c = 0; c < l->ncolumns; c++) {
        size_t k = kind_at(l, stack_moment(l->stack, c, l->ncolumns), row);

        if (k == l->stack->nkinds) {
            blanks++;
            continue;
        }
        text_addf(out, "%*s", (int)blanks, "");
        blanks = 0;
        if (l->style->colour)
            text_addf(out, "\033[30;48;5;%dm%c\033[0m", colour_terminal(colour_of((int32_t)k)),
                      l->stack->kinds[k].mark);
        else
            text_add_char(out, l->stack->kinds[k].mark);
    }
    text_add(out, "\n");
}

/* Print the labels of spans, below where the spans begin. */
static void add_spans(struct text *out, const struct layout *l, const struct stack_labels *labels)
{
    const struct stack *stack = l->stack;
    size_t begin = out->length;

    for (size_t s = 0; s < stack->nspans; s++) {
        const char *label = stack_label(stack, labels, s);
        size_t at = (size_t)place_of(stack, s, (double)l->ncolumns);

        if (!*label)
            continue;
        if (stack_label_is_before(stack, label, s, (double)l->ncolumns)) {
            text_pad(out, begin, LABEL_COLUMNS + at - strlen(label));
            text_addf(out, "%s|", label);
        } else {
            text_pad(out, begin, LABEL_COLUMNS + at);
            text_addf(out, "|%s", label);
        }
    }
    text_add(out, "\n");
}

static void add_across(struct text *out, const struct layout *l, const struct stack_labels *labels)
{
    struct text across = TEXT_INIT;

    stack_add_across(&across, l->stack, labels);
    wrap_add(out, l->style->width, 0, 0, text_get(&across));
    text_drop(out, &across);
}

static void add_keys(struct text *out, const struct layout *l)
{
    struct text keys = TEXT_INIT;

    for (size_t k = 0; k < l->stack->nkinds; k++)
        text_addf(&keys, "%s%c %s", k ? ", " : "", l->stack->kinds[k].mark,
                  l->stack->kinds[k].name);
    wrap_add(out, l->style->width, 0, 0, text_get(&keys));
    text_drop(out, &keys);
}

void stack_draw_text(const struct stack *stack, const struct figure_style *style, struct text *out)
{
    struct layout l = {stack, style, COLUMNS_MIN, stack_top(stack)};
    struct stack_labels labels;

    wrap_add(out, style->width, 0, 0, stack->title);
    if (style->width > LABEL_COLUMNS + COLUMNS_MIN)
        l.ncolumns = style->width - LABEL_COLUMNS;
    if (l.ncolumns > stack->nmoments)
        l.ncolumns = stack->nmoments;
    if (l.most > 0) {
        text_add(out, "\n");
        for (size_t row = 0; row < ROWS; row++)
            add_row(out, &l, row);
        labels = stack_labels_for(stack, (double)l.ncolumns);
        add_spans(out, &l, &labels);
        add_across(out, &l, &labels);
        text_add(out, "\n");
        add_keys(out, &l);
    }
    for (size_t i = 0; i < stack->nnotes; i++)
        wrap_add(out, style->width, 0, 0, stack->notes[i]);
}
