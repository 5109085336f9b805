/* A comparison as a text table and as Markdown (compare_text.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/compare_text.h"

#include <math.h>
#include <string.h>

#include "base/escape.h"
#include "base/literal.h"
#include "base/units.h"
#include "base/wrap.h"
#include "report/compare_value.h"
#include "report/compare_verdict.h"
#include "report/table.h"

/* Colour codes of terminals (ECMA-48, SGR). */
#define GREEN "\033[1;32m"
#define RED "\033[1;31m"
#define BOLD "\033[1m"
#define PLAIN "\033[0m"
#define LEGEND_COLUMNS 80 /* of the text below the table, whatever the terminal */

/* Whether two cells show the same: only of values this near to each other the texts are compared.
 */
#define NEAR 0.01

static bool shows_same(const struct compare_rows *rows, size_t a, size_t b, size_t c,
                       struct text *out)
{
    const struct figure_value *x = &rows->rows[a].values[c], *y = &rows->rows[b].values[c];
    double apart = fabs(x->number - y->number);
    struct text left = TEXT_INIT, right = TEXT_INIT;
    bool same;

    if (!x->known || !y->known || apart > NEAR * fmax(fabs(x->number), fabs(y->number)))
        return false;
    compare_add_value(&left, rows, a, c);
    compare_add_value(&right, rows, b, c);
    same = !strcmp(text_get(&left), text_get(&right));
    out->failed |= left.failed || right.failed;
    text_fini(&right);
    text_fini(&left);
    return same;
}

static bool counts(const struct compare_rows *rows, size_t row, size_t c)
{
    return rows->rows[row].values[c].known && (rows->rows[row].good || rows->none_is_good);
}

bool compare_is_marked(const struct compare_rows *rows, size_t row, size_t c, struct text *out)
{
    size_t n = rows->compare->nresults, best = 0;

    while (best < n && !rows->best[best][c])
        best++;
    if (best == n || !counts(rows, row, c) ||
        (!rows->best[row][c] && !shows_same(rows, best, row, c, out)))
        return false;
    for (size_t i = 0; i < n; i++)
        if (counts(rows, i, c) && !shows_same(rows, best, i, c, out))
            return true;
    return false;
}

static bool is_left(size_t c)
{
    return figure_table[c].unit == FIGURE_TEXT || figure_table[c].unit == FIGURE_TIMES;
}

/* Whether the attention of any strategy, or its experts, are uneven enough to be seen in a table of
 * two digits behind the point. */
static bool is_uneven(const struct compare_rows *rows, size_t c)
{
    for (size_t i = 0; i < rows->compare->nresults; i++) {
        const struct figure_value *v = &rows->rows[i].values[c];

        if (v->known && v->number < 0.995)
            return true;
    }
    return false;
}

bool compare_is_shown(const struct compare_rows *rows, size_t c)
{
    if (c == FIGURE_ATTENTION || c == FIGURE_EXPERTS)
        return is_uneven(rows, c);
    return figure_table[c].title && compare_is_used(rows, c);
}

/* Columns are placed in this order while the screen has room. */
static const enum figure_id first_columns[] = {FIGURE_DEVICES,
                                               FIGURE_MESH,
                                               FIGURE_MICROBATCHES,
                                               FIGURE_RECEIVED_MOST,
                                               FIGURE_PEAK_MOST,
                                               FIGURE_CACHE_MOST,
                                               FIGURE_FITS,
                                               FIGURE_MODELLED_STEP,
                                               FIGURE_MODELLED_DEVICE_TOKENS,
                                               FIGURE_SEQUENCES,
                                               FIGURE_MODELLED_MFU_CAUSAL_HALF,
                                               FIGURE_REPLAYED_STEP,
                                               FIGURE_REPLAYED_SPREAD,
                                               FIGURE_VERIFIED,
                                               FIGURE_BUBBLE,
                                               FIGURE_EXPERTS,
                                               FIGURE_ATTENTION,
                                               FIGURE_REPLAYED_EXPOSED,
                                               FIGURE_MODELLED_EXPOSED};

/* Whether a column tells strategies apart. */
static bool differs(const struct compare_rows *rows, size_t c)
{
    const struct figure_value *first = &rows->rows[0].values[c];

    for (size_t i = 1; i < rows->compare->nresults; i++) {
        const struct figure_value *v = &rows->rows[i].values[c];

        if (v->known != first->known || strcmp(text_get(&v->text), text_get(&first->text)) != 0 ||
            fabs(v->number - first->number) > 0)
            return true;
    }
    return rows->compare->nresults == 1;
}

static size_t column_width(const struct compare_rows *rows, size_t c, struct text *out);

/* Mark a column if its values differ and it fits in `*room`. */
static void choose(bool *shown, const struct compare_rows *rows, size_t c, size_t *room,
                   struct text *out)
{
    size_t width;

    if (shown[c] || !compare_is_shown(rows, c) || !differs(rows, c))
        return;
    width = column_width(rows, c, out);
    if (width < strlen(figure_table[c].group))
        width = strlen(figure_table[c].group); /* in case no other column of its group is
                                                     shown */
    if (width + 2 > *room)
        return;
    *room -= width + 2;
    shown[c] = true;
}

/* Mark the column on which the verdict rests, whatever room there is: a verdict that cannot be
 * checked by the table is none. */
static void choose_deciding(bool *shown, const struct compare_rows *rows, size_t *room,
                            struct text *out)
{
    size_t c = compare_verdict_column(rows), width;

    if (c == NFIGURES || !compare_is_shown(rows, c))
        return;
    width = column_width(rows, c, out);
    if (width < strlen(figure_table[c].group))
        width = strlen(figure_table[c].group);
    *room -= width + 2 < *room ? width + 2 : *room;
    shown[c] = true;
}

static size_t add_column(size_t order[NFIGURES], size_t n, const struct compare_rows *rows,
                         size_t c)
{
    if (c == NFIGURES || !compare_is_shown(rows, c))
        return n;
    for (size_t i = 0; i < n; i++)
        if (order[i] == c)
            return n;
    order[n] = c;
    return n + 1;
}

size_t compare_column_order(size_t order[NFIGURES], const struct compare_rows *rows)
{
    size_t n = add_column(order, 0, rows, FIGURE_STRATEGY);

    n = add_column(order, n, rows, compare_verdict_column(rows));
    for (size_t i = 0; i < sizeof first_columns / sizeof first_columns[0]; i++)
        if (differs(rows, first_columns[i]))
            n = add_column(order, n, rows, first_columns[i]);
    for (size_t c = 0; c < NFIGURES; c++)
        n = add_column(order, n, rows, c);
    return n;
}

/* Choose the columns of a table of `width` characters: the columns asked for, or as many columns
 * with differing values as fit. */
static void choose_columns(bool *shown, const struct compare_rows *rows, size_t width,
                           struct text *out)
{
    const bool *asked = rows->compare->columns;
    size_t name = column_width(rows, FIGURE_STRATEGY, out), room = width > name ? width - name : 0;

    for (size_t c = 0; c < NFIGURES; c++)
        shown[c] = asked && asked[c] && compare_is_shown(rows, c);
    if (!asked)
        choose_deciding(shown, rows, &room, out);
    for (size_t i = 0; !asked && i < sizeof first_columns / sizeof first_columns[0]; i++)
        choose(shown, rows, first_columns[i], &room, out);
    for (size_t c = FIGURE_STRATEGY + 1; !asked && c < NFIGURES; c++)
        if (c != FIGURE_BY_AXIS && c != FIGURE_BY_OP)
            choose(shown, rows, c, &room, out);
}

/* Print a row's cell of the column; in a column with marks every cell keeps room for a mark. */
static void print_cell(const struct compare_rows *rows, size_t row, size_t c, bool colour,
                       struct text *out)
{
    bool best = compare_is_marked(rows, row, c, out), ranked = figure_table[c].better != 0;
    struct text value = TEXT_INIT;
    const char *paint = "";

    compare_add_value(&value, rows, row, c);
    if (best)
        paint = GREEN;
    else if (!strcmp(text_get(&value), "NO") || !strcmp(text_get(&value), "NOT OK") ||
             !strcmp(text_get(&value), "not finite"))
        paint = RED;
    else if (c == FIGURE_STRATEGY && row == rows->compare->base)
        paint = BOLD;
    if (!colour)
        paint = "";
    text_addf(out, "%s%s%s%s", paint, text_get(&value),
              best     ? "*"
              : ranked ? " "
                       : "",
              paint[0] ? PLAIN : "");
    text_drop(out, &value);
}

/* Without memory to measure a cell, the text is marked as failed. */
static size_t column_width(const struct compare_rows *rows, size_t c, struct text *out)
{
    size_t width = strlen(figure_table[c].title) + (figure_table[c].better != 0);
    struct text cell = TEXT_INIT;

    for (size_t i = 0; i < rows->compare->nresults; i++) {
        text_clear(&cell);
        print_cell(rows, i, c, false, &cell);
        if (table_width(text_get(&cell)) > width)
            width = table_width(text_get(&cell));
    }
    text_drop(out, &cell);
    return width;
}

/* A block of the table: the strategies' names, and some columns beside them. */
struct block {
    size_t columns[NFIGURES];
    size_t widths[NFIGURES];
    size_t n;
    size_t screen; /* width of the screen */
};

static void pad(struct text *out, size_t n)
{
    while (n-- > 0)
        text_add_char(out, ' ');
}

/* Characters that the last column must grow by, so that the heading above its group ends before the
 * heading of the group that begins with column c. */
static size_t heading_room(const struct block *b, size_t c)
{
    const char *group = figure_table[b->columns[b->n - 1]].group;
    size_t width = 0, needed = strlen(group) + 2;

    if (!figure_table[c].group[0] || !strcmp(group, figure_table[c].group))
        return 0;
    for (size_t i = b->n; i-- > 0 && !strcmp(group, figure_table[b->columns[i]].group);)
        width += b->widths[i] + 2;
    return needed > width ? needed - width : 0;
}

/* Least width of a column on the screen: a group's heading, which begins above the group's first
 * column, may be wider than the column. */
static size_t least_width(const struct block *b, size_t c, size_t width)
{
    const char *group = figure_table[c].group;
    bool first = strcmp(group, figure_table[b->columns[b->n - 1]].group) != 0;

    return first && strlen(group) > width ? strlen(group) : width;
}

/* The group's name over its columns. */
static void print_groups(const struct block *b, struct text *out)
{
    size_t from = out->length, at = 0;

    for (size_t i = 0; i < b->n; at += b->widths[i] + 2, i++) {
        const char *group = figure_table[b->columns[i]].group;
        bool first = i == 0 || strcmp(group, figure_table[b->columns[i - 1]].group) != 0;

        if (!first || !group[0])
            continue;
        text_pad(out, from, at);
        text_add(out, group);
    }
    if (out->length > from)
        text_add_char(out, '\n');
}

/* A list in the last column, continued below where it does not fit beside the others. */
static void print_wrapped(const struct block *b, const char *cell, struct text *out)
{
    size_t start = 0, used;

    for (size_t i = 0; i + 1 < b->n; i++)
        start += b->widths[i] + 2;
    used = start;
    while (*cell) {
        const char *comma = strstr(cell, ", ");
        size_t length = comma ? (size_t)(comma + 1 - cell) : strlen(cell);

        if (used > start && used + 1 + length > b->screen) {
            text_add_char(out, '\n');
            pad(out, start);
            used = start;
        } else if (used > start) {
            text_add_char(out, ' ');
            used++;
        }
        text_add_bytes(out, cell, length);
        used += length;
        cell += length + (comma != NULL);
    }
    text_add_char(out, '\n');
}

static void print_aligned(const struct block *b, size_t i, const char *cell, struct text *out)
{
    size_t space = b->widths[i] - table_width(cell);

    if (i + 1 == b->n && figure_table[b->columns[i]].unit == FIGURE_TEXT) {
        print_wrapped(b, cell, out);
        return;
    }
    if (!is_left(b->columns[i]))
        pad(out, space);
    text_add(out, cell);
    if (i + 1 < b->n)
        pad(out, is_left(b->columns[i]) ? space + 2 : 2);
    else
        text_add_char(out, '\n');
}

static void trim_line(struct text *out)
{
    size_t length = out->length - 1;

    while (length > 0 && out->data[length - 1] == ' ')
        length--;
    out->data[length] = '\n';
    out->data[length + 1] = '\0';
    out->length = length + 1;
}

static void print_block(const struct compare_rows *rows, const struct block *b, bool colour,
                        struct text *out)
{
    struct text cell = TEXT_INIT;

    if (out->failed) /* then the widths were not measured */
        return;
    if (out->length > 0)
        text_add_char(out, '\n');
    print_groups(b, out);
    for (size_t i = 0; i < b->n; i++) {
        bool ranked = figure_table[b->columns[i]].better != 0;

        text_clear(&cell);
        text_addf(&cell, "%s%s", figure_table[b->columns[i]].title, ranked ? " " : "");
        print_aligned(b, i, text_get(&cell), out);
    }
    for (size_t r = 0; r < rows->nshown; r++) {
        if (!out->failed)
            trim_line(out);
        for (size_t i = 0; i < b->n; i++) {
            text_clear(&cell);
            print_cell(rows, rows->order[r], b->columns[i], colour, &cell);
            print_aligned(b, i, text_get(&cell), out);
        }
    }
    if (!out->failed)
        trim_line(out);
    text_drop(out, &cell);
}

/* The names only: the reasons were told as warnings when the strategies were skipped. */
static void print_skipped(const struct compare *c, struct text *out)
{
    size_t from = out->length;

    if (c->nskipped)
        text_add(out, "skipped, sizes not divisible:");
    for (size_t i = 0; i < c->nskipped && !out->failed; i++) {
        if (table_width(text_get(out) + from) + 2 + strlen(c->skipped[i].strategy) >
            LEGEND_COLUMNS) {
            text_add(out, "\n ");
            from = out->length - 1;
        }
        text_add_char(out, ' ');
        escape_add(out, c->skipped[i].strategy);
        text_add(out, i + 1 < c->nskipped ? "," : "\n");
    }
}

/* Warn that strategies compute different things, and list which compute the same: a strategy can
 * dominate only strategies of the same kind. */
static void print_kinds(const struct compare_rows *rows, struct text *out)
{
    const struct compare *c = rows->compare;
    struct text line = TEXT_INIT;

    text_add(&line, "warning: ");
    compare_add_different(rows, &line);
    text_add(&line, "; compare only equal ones:");
    wrap_add(out, LEGEND_COLUMNS, 0, 2, text_get(&line));
    for (size_t i = 0; i < c->nresults; i++) {
        bool known = false;

        for (size_t j = 0; j < i; j++)
            known |= !strcmp(c->results[j].what, c->results[i].what);
        if (known)
            continue;
        text_clear(&line);
        for (size_t j = i; j < c->nresults; j++) {
            if (strcmp(c->results[j].what, c->results[i].what) != 0)
                continue;
            text_add(&line, j > i ? ", " : "");
            compare_add_name(rows, j, &line);
        }
        text_addf(&line, ": %s", c->results[i].what);
        text_add(out, "  ");
        wrap_add(out, LEGEND_COLUMNS, 2, 4, text_get(&line));
    }
    text_drop(out, &line);
}

/* Say for each strategy with uneven flops why they are uneven. */
static void print_uneven(const struct compare_rows *rows, struct text *out)
{
    struct text line = TEXT_INIT;

    if (compare_is_used(rows, FIGURE_WHY))
        text_add(out, "why flops are uneven:\n");
    for (size_t i = 0; i < rows->compare->nresults; i++) {
        const struct figure_value *why = &rows->rows[i].values[FIGURE_WHY];

        if (!why->known)
            continue;
        text_clear(&line);
        compare_add_name(rows, i, &line);
        text_addf(&line, ": %s", text_get(&why->text));
        text_add(out, "  ");
        wrap_add(out, LEGEND_COLUMNS, 2, 4, text_get(&line));
    }
    text_drop(out, &line);
}

static void print_verdict(const struct compare_rows *rows, struct text *out)
{
    struct text line = TEXT_INIT;

    compare_verdict(rows, &line);
    if (line.length > 0) {
        text_add(out, "\nverdict: ");
        wrap_add(out, LEGEND_COLUMNS, 9, 2, text_get(&line));
    }
    text_drop(out, &line);
}

/* Explain the marks and headings that the table shows. */
static void print_meanings(const struct compare_rows *rows, const bool *shown, struct text *out)
{
    static const enum figure_id parts[] = {FIGURE_ATTENTION, FIGURE_EXPERTS};
    bool best = false;

    for (size_t i = 0; i < rows->nshown; i++)
        for (size_t c = 0; c < NFIGURES; c++)
            best |= shown[c] && compare_is_marked(rows, rows->order[i], c, out);
    if (best)
        text_add(out, "* the best of its column\n");
    if (shown[FIGURE_FLOPS_BALANCE] || shown[FIGURE_PEAK_BALANCE])
        text_add(out, "balance: mean / max over devices; 1 is even\n");
    if (shown[FIGURE_EFFICIENCY])
        text_add(
            out,
            "efficiency: unsharded flops / flops of all devices; below 1 work is redundant\n");
    for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++)
        if (shown[parts[k]])
            text_addf(out, "%s: the balance of the flops of %s alone\n",
                      figure_table[parts[k]].title, figure_table[parts[k]].title);
    if (shown[FIGURE_BUBBLE])
        wrap_add(out, LEGEND_COLUMNS, 0, 2,
                 "bubble: idle part of the step of pipeline ranks, from the schedule and uneven "
                 "stages; measured in flops, without transfers");
    if (shown[FIGURE_REPLAYED_STEP])
        text_add(out, "replayed: with one CPU core per device; a mean over devices\n");
    if (shown[FIGURE_REPLAYED_SPREAD])
        text_add(out,
                 "spread: of the step; differences up to the spread, or 1 %, are within noise\n");
    if (shown[FIGURE_MODELLED_STEP])
        text_add(out, "modelled: on the scenario's cluster\n");
    if (shown[FIGURE_DOMINATED])
        text_add(out,
                 "dominated: another strategy has less of one of devices, bytes, peak memory or\n"
                 "  flops (with the bubble), and no more of the others\n");
}

static void print_legend(const struct compare_rows *rows, const bool *shown, struct text *out)
{
    const struct compare *c = rows->compare;

    text_add(out, "\n");
    print_meanings(rows, shown, out);
    if (rows->nshown < c->nresults)
        text_addf(out, "%zu of %zu strategies; --top=N shows others\n", rows->nshown, c->nresults);
    if (!c->columns)
        text_add(out, "more columns: --columns=all, or names of --format=csv\n");
    print_uneven(rows, out);
    print_skipped(c, out);
    print_verdict(rows, out);
}

void compare_add_title(const struct compare *c, struct text *out)
{
    const struct result *first = &c->results[0];
    bool one = true, same = true, executed = false;

    for (size_t i = 0; i < c->nresults; i++) {
        one &= !strcmp(c->results[i].scenario, first->scenario);
        same &= !strcmp(c->results[i].what, first->what);
        executed |= !c->planned && c->results[i].record->mode == RECORD_EXECUTED;
    }
    if (one)
        text_addf(out, "%s: ", first->scenario);
    text_addf(out, "%zu %s, %s", c->nresults, c->nresults == 1 ? "strategy" : "strategies",
              executed ? "executed" : "planned");
    if (same)
        text_addf(out, "; %s", first->what);
}

static void print_title(const struct compare *c, size_t columns, struct text *out)
{
    struct text title = TEXT_INIT;

    compare_add_title(c, &title);
    wrap_add(out, columns, 0, 2, text_get(&title));
    text_drop(out, &title);
}

void compare_print_table(const struct compare_rows *rows, const struct screen *screen,
                         struct text *out)
{
    size_t name = column_width(rows, FIGURE_STRATEGY, out), used = name;
    struct block b = {{FIGURE_STRATEGY}, {name}, 1, screen->columns};

    bool shown[NFIGURES] = {false};

    choose_columns(shown, rows, screen->columns, out);
    print_title(rows->compare, screen->columns, out);
    if (!compare_same_model(rows))
        print_kinds(rows, out);
    for (size_t c = FIGURE_STRATEGY + 1; c < NFIGURES; c++) {
        size_t width, room;

        if (!shown[c])
            continue;
        width = column_width(rows, c, out);
        room = heading_room(&b, c);
        if (b.n > 1 && used + room + 2 + least_width(&b, c, width) > screen->columns) {
            print_block(rows, &b, screen->colour, out);
            b.n = 1;
            used = name;
            room = 0;
        }
        b.widths[b.n - 1] += room;
        used += room;
        b.columns[b.n] = c;
        b.widths[b.n++] = width;
        used += 2 + width;
    }
    print_block(rows, &b, screen->colour, out);
    print_legend(rows, shown, out);
}

/* ---- Markdown ---- */

static void print_markdown_head(const bool *shown, struct text *out)
{
    for (size_t c = 0; c < NFIGURES; c++) {
        if (!shown[c])
            continue;
        text_add(out, "| ");
        compare_add_heading(out, c, " ");
        text_add(out, " ");
    }
    text_add(out, "|\n");
    for (size_t c = 0; c < NFIGURES; c++)
        if (shown[c])
            text_add(out, is_left(c) ? "|:--" : "|--:");
    text_add(out, "|\n");
}

void compare_print_markdown(const struct compare_rows *rows, struct text *out)
{
    bool shown[NFIGURES] = {false};
    struct text value = TEXT_INIT;

    choose_columns(shown, rows, SIZE_MAX, out);
    shown[FIGURE_STRATEGY] = true;
    print_markdown_head(shown, out);
    for (size_t i = 0; i < rows->nshown; i++) {
        size_t r = rows->order[i];

        for (size_t c = 0; c < NFIGURES; c++) {
            const char *mark = compare_is_marked(rows, r, c, out) ? "**" : "";

            if (!shown[c])
                continue;
            text_clear(&value);
            compare_add_value(&value, rows, r, c);
            text_addf(out, "| %s", mark);
            literal_add_markdown(out, text_get(&value));
            text_addf(out, "%s ", mark);
        }
        text_add(out, "|\n");
    }
    text_add(out, "\n"
                  "Bold: the best of its column. Replayed: with one CPU core per device.\n");
    text_clear(&value);
    compare_verdict(rows, &value);
    if (value.length > 0) {
        text_add(out, "\nVerdict: ");
        literal_add_markdown(out, text_get(&value));
        text_add(out, "\n");
    }
    for (size_t i = 0; i < rows->compare->nresults; i++) {
        const struct figure_value *why = &rows->rows[i].values[FIGURE_WHY];

        if (!why->known)
            continue;
        text_clear(&value);
        compare_add_name(rows, i, &value);
        text_addf(&value, ": %s", text_get(&why->text));
        text_add(out, "\nWhy flops are uneven in ");
        literal_add_markdown(out, text_get(&value));
        text_add(out, ".\n");
    }
    for (size_t i = 0; i < rows->compare->nskipped; i++) {
        text_add(out, i ? "" : "\n");
        text_add(out, "- skipped ");
        literal_add_markdown(out, rows->compare->skipped[i].strategy);
        text_add(out, ": ");
        literal_add_markdown(out, rows->compare->skipped[i].why);
        text_add_char(out, '\n');
    }
    text_drop(out, &value);
}
