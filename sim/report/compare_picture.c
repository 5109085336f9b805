/* Drawing strategies side by side as bars (compare_picture.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/compare_picture.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "draw/bars.h"
#include "report/compare_rows.h"
#include "report/compare_text.h"
#include "report/compare_value.h"
#include "report/compare_verdict.h"

/* Quantities that are drawn if no columns were asked for and any strategy has a value. */
static const enum figure_id quantities[] = {FIGURE_MODELLED_STEP, FIGURE_REPLAYED_STEP,
                                            FIGURE_RECEIVED_MOST, FIGURE_PEAK_MOST,
                                            FIGURE_FLOPS_MOST,    FIGURE_BUBBLE};
#define NQUANTITIES (sizeof quantities / sizeof quantities[0])

_Static_assert(NQUANTITIES <= BARS_QUANTITIES_MAX, "all have room");

/* Texts that must live while the picture is drawn. */
struct words {
    struct text *names, *values; /* [row], [row][quantity] */
    size_t nrows;
    struct text title, limit, verdict, heads[BARS_QUANTITIES_MAX];
};

/* ---- which columns ---- */

/* A number that is a length: ratios to the base are told in words. */
static bool is_length(size_t c)
{
    return figure_table[c].unit != FIGURE_TEXT && figure_table[c].unit != FIGURE_TIMES;
}

static int choose_asked(size_t used[BARS_QUANTITIES_MAX], size_t *n,
                        const struct compare_rows *rows, struct shd_error *err)
{
    for (size_t c = 0; c < NFIGURES; c++) {
        if (!rows->compare->columns[c] || !is_length(c) || !compare_is_shown(rows, c))
            continue;
        if (*n == BARS_QUANTITIES_MAX)
            return shd_error_set(err, SHD_EINVAL,
                                 "--columns: a picture has at most %d columns; expected fewer",
                                 BARS_QUANTITIES_MAX);
        used[(*n)++] = c;
    }
    if (*n == 0)
        return shd_error_set(
            err, SHD_EINVAL,
            "--columns: no numeric column to draw as bars; expected e.g. peak_memory_bytes_most");
    return SHD_OK;
}

static int choose_columns(size_t used[BARS_QUANTITIES_MAX], size_t *n,
                          const struct compare_rows *rows, struct shd_error *err)
{
    *n = 0;
    if (rows->compare->columns)
        return choose_asked(used, n, rows, err);
    for (size_t q = 0; q < NQUANTITIES; q++)
        if (compare_is_used(rows, quantities[q]))
            used[(*n)++] = quantities[q];
    return SHD_OK;
}

/* ---- words ---- */

/* The memory limit of all strategies drawn; 0 if none, or if limits differ. */
static uint64_t limit_of(const struct compare_rows *rows)
{
    uint64_t limit = rows->compare->results[rows->order[0]].memory_limit_bytes;

    for (size_t r = 1; r < rows->nshown; r++)
        if (rows->compare->results[rows->order[r]].memory_limit_bytes != limit)
            return 0;
    return limit;
}

/* "strategies: 4 strategies, planned; 2 layers of mlp gelu ...; mesh dp=4". */
static void add_title(struct text *out, const struct compare_rows *rows)
{
    const char *mesh = text_get(&rows->rows[0].values[FIGURE_MESH].text);

    compare_add_title(rows->compare, out);
    for (size_t i = 1; i < rows->compare->nresults; i++)
        if (strcmp(text_get(&rows->rows[i].values[FIGURE_MESH].text), mesh) != 0)
            return;
    text_addf(out, "; mesh %s", mesh);
}

static bool is_over(const struct result *result, const struct figures *row, size_t column)
{
    return column == FIGURE_PEAK_MOST && result->memory_limit_bytes > 0 &&
           row->values[column].whole > result->memory_limit_bytes;
}

static void add_value(struct text *out, const struct compare_rows *rows, size_t row, size_t column)
{
    const struct result *result = &rows->compare->results[row];

    compare_add_value(out, rows, row, column);
    if (is_over(result, &rows->rows[row], column))
        text_addf(out, ", does not fit %s", units_print_bytes(result->memory_limit_bytes).text);
}

/* ---- the picture ---- */

static void draw(struct text *out, const struct compare_rows *rows, struct words *w,
                 const char **names, struct bars_bar *bars, const size_t *used, size_t nused)
{
    const char *notes[2] = {"Bars begin at 0; each column has its own scale. Framed: the best "
                            "strategy that is correct and fits."};
    const char *titles[BARS_QUANTITIES_MAX];
    double limits[BARS_QUANTITIES_MAX] = {0};
    struct bars drawing = {.names = names,
                           .nrows = rows->nshown,
                           .quantities = titles,
                           .nquantities = nused,
                           .limits = limits,
                           .bars = bars,
                           .notes = notes,
                           .nnotes = 1};

    text_addf(&w->limit, "limit %s", units_print_bytes(limit_of(rows)).text);
    drawing.limit_name = text_get(&w->limit);
    add_title(&w->title, rows);
    drawing.title = text_get(&w->title);
    compare_verdict(rows, &w->verdict);
    if (w->verdict.length > 0)
        notes[drawing.nnotes++] = text_get(&w->verdict);
    for (size_t k = 0; k < nused; k++) {
        text_add(&w->heads[k], figure_table[used[k]].label);
        titles[k] = text_get(&w->heads[k]);
        if (used[k] == FIGURE_PEAK_MOST)
            limits[k] = (double)limit_of(rows);
    }
    for (size_t r = 0; r < rows->nshown; r++) {
        size_t i = rows->order[r];
        const struct figures *row = &rows->rows[i];

        compare_add_name(rows, i, &w->names[r]);
        names[r] = text_get(&w->names[r]);
        for (size_t k = 0; k < nused; k++) {
            struct text *value = &w->values[r * BARS_QUANTITIES_MAX + k];

            add_value(value, rows, i, used[k]);
            bars[r * nused + k] =
                (struct bars_bar){row->values[used[k]].known ? row->values[used[k]].number : -1,
                                  text_get(value), compare_is_marked(rows, i, used[k], out),
                                  is_over(&rows->compare->results[i], row, used[k])};
        }
    }
    bars_draw_svg(&drawing, out);
}

static void words_fini(struct words *w)
{
    for (size_t r = 0; w->names && r < w->nrows; r++)
        text_fini(&w->names[r]);
    for (size_t i = 0; w->values && i < w->nrows * BARS_QUANTITIES_MAX; i++)
        text_fini(&w->values[i]);
    for (size_t k = 0; k < BARS_QUANTITIES_MAX; k++)
        text_fini(&w->heads[k]);
    text_fini(&w->title);
    text_fini(&w->limit);
    text_fini(&w->verdict);
    free(w->names);
    free(w->values);
}

static bool has_failed(const struct words *w)
{
    bool failed = w->title.failed || w->limit.failed || w->verdict.failed;

    for (size_t k = 0; k < BARS_QUANTITIES_MAX; k++)
        failed |= w->heads[k].failed;
    for (size_t r = 0; r < w->nrows; r++)
        failed |= w->names[r].failed;
    for (size_t i = 0; i < w->nrows * BARS_QUANTITIES_MAX; i++)
        failed |= w->values[i].failed;
    return failed;
}

/* Draw the rows, with storage for all texts. */
static void draw_rows(struct text *out, const struct compare_rows *rows, const size_t *used,
                      size_t nused)
{
    struct words w = {.nrows = rows->nshown};
    size_t ncells = w.nrows * BARS_QUANTITIES_MAX;
    const char **names = calloc(w.nrows + 1, sizeof *names);
    struct bars_bar *bars = calloc(ncells + 1, sizeof *bars);

    w.names = calloc(w.nrows + 1, sizeof *w.names);
    w.values = calloc(ncells + 1, sizeof *w.values);
    if (names && bars && w.names && w.values) {
        draw(out, rows, &w, names, bars, used, nused);
        out->failed |= has_failed(&w);
    } else {
        out->failed = true;
    }
    words_fini(&w);
    free(names);
    free(bars);
}

int compare_picture(struct text *out, const struct compare *compare, struct shd_error *err)
{
    size_t used[BARS_QUANTITIES_MAX], nused = 0;
    struct compare_rows rows;
    int status = compare_rows_init(&rows, compare, err);

    if (status == SHD_OK)
        status = choose_columns(used, &nused, &rows, err);
    if (status == SHD_OK)
        draw_rows(out, &rows, used, nused);
    if (status == SHD_OK && out->failed)
        status = shd_error_set(err, SHD_ENOMEM, "no memory for the picture");
    compare_rows_fini(&rows);
    return status;
}
