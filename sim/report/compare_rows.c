/* The columns of a comparison, and each strategy's values (compare_rows.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/compare_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/units.h"
#include "hardware/hardware.h"
#include "report/modelled.h"
#include "report/replayed.h"
#include "report/traffic.h"
#include "report/uneven.h"

#define DIFFERENT_TOLD_MAX                                                \
    4 /* items by which models and steps differ; of more there is no list \
       */

/* The values that a strategy has by itself. */
static int set_row(struct figures *row, const struct compare *compare, size_t i,
                   struct shd_error *err)
{
    const struct figures *from = compare->planned ? compare->planned[i].row : NULL;

    if (!from)
        return figures_init(row, &compare->results[i], err);
    row->good = from->good;
    for (size_t c = 0; c < NFIGURES; c++) {
        struct figure_value *v = &row->values[c];

        *v = from->values[c];
        text_init(&v->text);
        text_add(&v->text, text_get(&from->values[c].text));
    }
    return SHD_OK;
}

/* ---- one strategy against the base ---- */

/* The ratio of this strategy's value to the base's. */
static void set_ratio(struct figures *row, const struct figures *base, enum figure_id from,
                      enum figure_id to)
{
    const struct figure_value *a = &base->values[from], *b = &row->values[from];

    if (a->known && b->known && b->number > 0)
        figures_set_number(row, to, a->number > 0 ? b->number / a->number : INFINITY);
    else if (a->known && b->known && a->number <= 0)
        figures_set_number(row, to, 1); /* both are 0 */
}

double compare_modelled_error(const struct compare_rows *rows, size_t row)
{
    const struct figure_value *own = &rows->rows[row].values[FIGURE_MODELLED_ERROR];

    return own->known ? own->number : rows->error_elsewhere;
}

bool compare_is_tie(const struct compare_rows *rows, size_t column, size_t a, size_t b)
{
    const struct figure_value *x = &rows->rows[a].values[column];
    const struct figure_value *y = &rows->rows[b].values[column];
    const struct result *results = rows->compare->results;

    if (column == FIGURE_MODELLED_STEP && x->known && y->known)
        return fabs(x->number - y->number) <=
               fmax(compare_modelled_error(rows, a), compare_modelled_error(rows, b)) *
                   fmin(x->number, y->number);
    if (figure_table[column].origin != FIGURE_REPLAYED || !x->known || !y->known)
        return false;
    return replayed_is_tie(results[a].record->replay, x->number * 1e9, results[b].record->replay,
                           y->number * 1e9);
}

size_t compare_fastest(const struct compare_rows *rows)
{
    size_t n = rows->compare->nresults, fastest = n;

    for (size_t i = 0; i < n; i++) {
        const struct figure_value *v = &rows->rows[i].values[FIGURE_REPLAYED_STEP];

        if (v->known && rows->rows[i].good &&
            (fastest == n || v->number < rows->rows[fastest].values[FIGURE_REPLAYED_STEP].number))
            fastest = i;
    }
    return fastest;
}

/* If another strategy ties with the best, neither is marked as best. */
static void drop_ties(struct compare_rows *rows, size_t c, size_t best)
{
    for (size_t i = 0; i < rows->compare->nresults; i++)
        if (i != best && rows->rows[i].good && compare_is_tie(rows, c, best, i))
            rows->best[i][c] = rows->best[best][c] = false;
}

/* Strategies that are wrong or do not fit are marked only where all are so. */
static bool counts(const struct compare_rows *rows, size_t row)
{
    return rows->rows[row].good || rows->none_is_good;
}

static bool is_alike(const struct compare_rows *rows, size_t a, size_t b)
{
    return strcmp(rows->compare->results[a].what, rows->compare->results[b].what) == 0;
}

bool compare_same_model(const struct compare_rows *rows)
{
    for (size_t i = 1; i < rows->compare->nresults; i++)
        if (!is_alike(rows, i, 0))
            return false;
    return true;
}

/* The length of the first item of "mlp gelu, embed 4, float32; batch 2x4"; *next is behind it. */
static size_t item_of(const char *items, const char **next)
{
    size_t length = strcspn(items, ",;");

    *next = items + length + strspn(items + length, ",; ");
    return length;
}

static bool has_item(const char *items, const char *item, size_t length)
{
    for (const char *next; *items; items = next)
        if (item_of(items, &next) == length && !strncmp(items, item, length))
            return true;
    return false;
}

static size_t count_with(const struct compare_rows *rows, size_t nrows, const char *item,
                         size_t length)
{
    size_t n = 0;

    for (size_t i = 0; i < nrows; i++)
        n += has_item(rows->compare->results[i].what, item, length);
    return n;
}

void compare_add_different(const struct compare_rows *rows, struct text *out)
{
    size_t all = rows->compare->nresults, n = 0;
    struct text items = TEXT_INIT;

    for (size_t i = 0; i < all; i++)
        for (const char *at = rows->compare->results[i].what, *next; *at; at = next) {
            size_t length = item_of(at, &next);

            if (count_with(rows, all, at, length) == all || count_with(rows, i, at, length) > 0)
                continue;
            text_addf(&items, "%s%.*s", n++ ? ", " : "", (int)length, at);
        }
    if (n <= DIFFERENT_TOLD_MAX)
        text_addf(out, "these differ in more than the layout (%s)", text_get(&items));
    else
        text_add(out, "these are different models or steps");
    text_drop(out, &items);
}

/* A padded vocabulary has at most so many times the words of the smallest: Megatron pads to
 * multiples of 128 for each device of tensor parallelism. */
#define PADDED_MOST 1.05

bool compare_is_by_token(const struct compare_rows *rows)
{
    size_t all = rows->compare->nresults;
    long least = 0, most = 0;

    for (size_t i = 0; i < all; i++) {
        if (!rows->rows[i].good || !rows->rows[i].values[FIGURE_MODELLED_TOKENS].known)
            return false;
        for (const char *at = rows->compare->results[i].what, *next; *at; at = next) {
            bool differs = count_with(rows, all, at, item_of(at, &next)) < all;
            long words = strncmp(at, "vocab ", 6) ? 0 : strtol(at + 6, NULL, 10);

            if (differs && words == 0 && strncmp(at, "batch ", 6) != 0)
                return false;
            least = words > 0 && (least == 0 || words < least) ? words : least;
            most = words > most ? words : most;
        }
    }
    return (double)most <= PADDED_MOST * (double)least;
}

/* Mark the best of a column, unless all are equal. */
static void mark_best(struct compare_rows *rows, size_t c)
{
    int better = figure_table[c].better;
    double best = 0, worst = 0;
    size_t n = 0;

    for (size_t i = 0; better && i < rows->compare->nresults; i++) {
        const struct figure_value *v = &rows->rows[i].values[c];
        double x = better * v->number;

        if (!v->known || !counts(rows, i))
            continue;
        best = n == 0 || x > best ? x : best;
        worst = n == 0 || x < worst ? x : worst;
        n++;
    }
    for (size_t i = 0; n > 1 && best > worst && i < rows->compare->nresults; i++) {
        const struct figure_value *v = &rows->rows[i].values[c];

        rows->best[i][c] = v->known && counts(rows, i) && !(better * v->number < best);
    }
    for (size_t i = 0; i < rows->compare->nresults; i++)
        if (rows->best[i][c])
            drop_ties(rows, c, i);
}

/* Most flops of a device, stretched by the pipeline's bubble. */
static double span_of(const struct figures *row)
{
    return row->values[FIGURE_FLOPS_MOST].number / (1 - row->values[FIGURE_BUBBLE].number);
}

static bool dominates(const struct compare_rows *rows, size_t a, size_t b)
{
    static const enum figure_id criteria[] = {FIGURE_DEVICES, FIGURE_RECEIVED, FIGURE_PEAK_MOST};
    const struct figures *x = &rows->rows[a], *y = &rows->rows[b];
    bool less = false;

    if (!x->good || !is_alike(rows, a, b))
        return false;
    for (size_t i = 0; i < sizeof criteria / sizeof criteria[0]; i++) {
        if (x->values[criteria[i]].whole > y->values[criteria[i]].whole)
            return false;
        less |= x->values[criteria[i]].whole < y->values[criteria[i]].whole;
    }
    return span_of(x) <= span_of(y) && (less || span_of(x) < span_of(y));
}

/* Name the strategy that dominates this one; of several, the one with the fewest bytes. */
static void set_dominated(struct compare_rows *rows, size_t row)
{
    size_t by = row;

    for (size_t i = 0; i < rows->compare->nresults; i++)
        if (dominates(rows, i, row) &&
            (by == row || rows->rows[i].values[FIGURE_RECEIVED].whole <
                              rows->rows[by].values[FIGURE_RECEIVED].whole))
            by = i;
    if (by == row)
        return;
    figures_set_text(&rows->rows[row], FIGURE_DOMINATED, "");
    compare_add_name(rows, by, &rows->rows[row].values[FIGURE_DOMINATED].text);
}

/* ---- which rows and columns are printed ---- */

bool compare_find_columns(bool *out, const char *name)
{
    bool found = false;

    for (size_t c = FIGURE_STRATEGY + 1; c < NFIGURES; c++)
        if (figure_table[c].title && (!strcmp(name, "all") || !strcmp(name, figure_table[c].key) ||
                                      !strcmp(name, figure_table[c].group)))
            found = out[c] = true;
    return found;
}

int compare_find_sort(const char *name)
{
    for (int c = FIGURE_STRATEGY + 1; c < NFIGURES; c++)
        if (figure_table[c].unit != FIGURE_TEXT && !strcmp(name, figure_table[c].key))
            return c;
    return -1;
}

struct nearest_text compare_hint(const char *name)
{
    struct nearest near;

    for (size_t c = 0; c < NFIGURES; c++)
        if (figure_table[c].was && !strcmp(name, figure_table[c].was)) {
            struct nearest_text now;

            snprintf(now.text, sizeof now.text, "; it is called '%s' now", figure_table[c].key);
            return now;
        }
    nearest_init(&near, name);
    for (size_t c = FIGURE_STRATEGY + 1; c < NFIGURES; c++)
        nearest_add(&near, figure_table[c].key);
    return nearest_hint(&near);
}

/* Whether row a comes before row b in the column that was asked for: what is not known is last. */
static bool comes_before(const struct compare_rows *rows, size_t a, size_t b)
{
    int c = rows->compare->sort;
    const struct figure_value *x = &rows->rows[a].values[c], *y = &rows->rows[b].values[c];

    if (!x->known || !y->known)
        return x->known && !y->known;
    return figure_table[c].better > 0 ? x->number > y->number : x->number < y->number;
}

/* Equals keep the order of the scenario. */
static void set_order(struct compare_rows *rows)
{
    const struct compare *c = rows->compare;

    for (size_t i = 0; i < c->nresults; i++) {
        size_t at = i;

        for (; c->sort >= 0 && at > 0 && comes_before(rows, i, rows->order[at - 1]); at--)
            rows->order[at] = rows->order[at - 1];
        rows->order[at] = i;
    }
    rows->nshown = c->top > 0 && c->top < c->nresults ? c->top : c->nresults;
}

static bool has_failed(const struct compare_rows *rows)
{
    for (size_t i = 0; i < rows->compare->nresults; i++)
        for (size_t c = 0; c < NFIGURES; c++)
            if (rows->rows[i].values[c].text.failed)
                return true;
    return false;
}

/* Whether two files have scenarios of the same name, so that only the file tells them apart.
 * Results of a file are consecutive. */
static bool has_namesakes(const struct compare *compare)
{
    const struct result *all = compare->results;

    for (size_t i = 1; i < compare->nresults; i++) {
        if (!all[i].file || !all[i - 1].file || !strcmp(all[i].file, all[i - 1].file))
            continue;
        for (size_t k = 0; k < i; k++)
            if (!strcmp(all[i].scenario, all[k].scenario) && strcmp(all[i].file, all[k].file) != 0)
                return true;
    }
    return false;
}

int compare_rows_init(struct compare_rows *out, const struct compare *compare,
                      struct shd_error *err)
{
    size_t n = compare->nresults;
    bool same;
    int status = SHD_OK;

    *out = (struct compare_rows){.compare = compare,
                                 .rows = calloc(n, sizeof *out->rows),
                                 .best = calloc(n, sizeof *out->best),
                                 .order = calloc(n, sizeof *out->order)};
    if (!out->rows || !out->best || !out->order)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the comparison");
    for (size_t i = 0; i < n && status == SHD_OK; i++) {
        status = set_row(&out->rows[i], compare, i, err);
        out->several_scenarios |=
            strcmp(compare->results[i].scenario, compare->results[0].scenario) != 0;
    }
    out->by_file = has_namesakes(compare);
    if (compare_is_used(out, FIGURE_MODELLED_STEP))
        out->error_elsewhere = hardware_error_elsewhere();
    if (status != SHD_OK)
        return status;
    for (size_t i = 0; i < n; i++) {
        const struct figures *base = &out->rows[compare->base];

        set_dominated(out, i);
        if (!is_alike(out, i, compare->base))
            continue; /* another model's bytes or step say nothing of the layout */
        set_ratio(&out->rows[i], base, FIGURE_RECEIVED_MOST, FIGURE_BYTES_TIMES);
        set_ratio(&out->rows[i], base, FIGURE_PEAK_MOST, FIGURE_MEMORY_TIMES);
        set_ratio(&out->rows[i], base, FIGURE_REPLAYED_STEP, FIGURE_STEP_TIMES);
    }
    out->none_is_good = true;
    for (size_t i = 0; i < n; i++)
        out->none_is_good &= !out->rows[i].good;
    same = compare_same_model(out);
    for (size_t c = 0; same && c < NFIGURES; c++)
        mark_best(out, c);
    set_order(out);
    return has_failed(out) ? shd_error_set(err, SHD_ENOMEM, "no memory for the comparison")
                           : SHD_OK;
}

void compare_rows_fini(struct compare_rows *rows)
{
    for (size_t i = 0; rows->rows && i < rows->compare->nresults; i++)
        figures_fini(&rows->rows[i]);
    free(rows->rows);
    free(rows->best);
    free(rows->order);
    rows->rows = NULL;
    rows->best = NULL;
    rows->order = NULL;
}

void compare_add_name(const struct compare_rows *rows, size_t row, struct text *out)
{
    const struct result *r = &rows->compare->results[row];
    const char *name = rows->by_file ? r->file : r->scenario;

    if (!rows->several_scenarios && !rows->by_file)
        text_add(out, r->strategy);
    else if (!strcmp(r->strategy, "default"))
        text_add(out, name);
    else
        text_addf(out, "%s: %s", name, r->strategy);
}

bool compare_is_used(const struct compare_rows *rows, size_t column)
{
    for (size_t i = 0; i < rows->compare->nresults; i++)
        if (rows->rows[i].values[column].known)
            return true;
    return false;
}
