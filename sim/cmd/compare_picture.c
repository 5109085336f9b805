/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "cmd/compare_picture.h"

#include <stdlib.h>

#include "base/units.h"
#include "draw/bars.h"
#include "report/compare_rows.h"

/* What bars are drawn of, as far as any strategy has it. */
static const struct {
    enum compare_id column;
    const char *what;
} quantities[] = {{COMPARE_MODELLED, "step, modelled"},
                  {COMPARE_STEP, "step, replayed"},
                  {COMPARE_DEVICE_RECEIVED, "received by a device"},
                  {COMPARE_PEAK, "peak memory of a device"},
                  {COMPARE_FLOPS, "flops of a device"}};
#define NQUANTITIES (sizeof quantities / sizeof quantities[0])

/* Texts, as long as the picture is made. */
struct words {
    struct text *names, *values; /* [row], [row][quantity] */
    size_t nrows, n;
};

static void print_value(struct text *out, enum compare_kind kind, const struct compare_value *value)
{
    char text[UNITS_TEXT_MAX];

    if (!value->known)
        text_add(out, "-");
    else if (kind == COMPARE_SECONDS)
        text_add(out, units_print_seconds(text, sizeof text, value->number));
    else if (kind == COMPARE_BYTES)
        text_add(out, units_print_bytes(text, sizeof text, value->whole));
    else
        text_add(out, units_print_count(text, sizeof text, value->whole));
}

static void draw(struct text *out, const struct compare_rows *rows, struct words *w,
                 const char **names, struct bars_bar *bars)
{
    static const char *const notes[] = {
        "Bars of a column begin at 0.  Framed: the best of those that are right and fit."};
    const char *titles[NQUANTITIES];
    struct bars drawing = {.title = "Strategies side by side",
                           .names = names,
                           .nrows = rows->nshown,
                           .quantities = titles,
                           .bars = bars,
                           .notes = notes,
                           .nnotes = 1};
    size_t used[NQUANTITIES];

    for (size_t q = 0; q < NQUANTITIES; q++)
        if (compare_is_used(rows, quantities[q].column)) {
            used[drawing.nquantities] = q;
            titles[drawing.nquantities++] = quantities[q].what;
        }
    for (size_t r = 0; r < rows->nshown; r++) {
        const struct compare_row *row = &rows->rows[rows->order[r]];

        compare_add_name(rows, rows->order[r], &w->names[r]);
        names[r] = text_get(&w->names[r]);
        for (size_t k = 0; k < drawing.nquantities; k++) {
            enum compare_id column = quantities[used[k]].column;
            struct text *value = &w->values[r * NQUANTITIES + k];

            print_value(value, compare_columns[column].kind, &row->values[column]);
            bars[r * drawing.nquantities + k] =
                (struct bars_bar){row->values[column].known ? row->values[column].number : -1,
                                  text_get(value), row->best[column]};
        }
    }
    bars_draw_svg(&drawing, out);
}

static void words_fini(struct words *w)
{
    for (size_t r = 0; w->names && r < w->nrows; r++)
        text_fini(&w->names[r]);
    for (size_t i = 0; w->values && i < w->nrows * NQUANTITIES; i++)
        text_fini(&w->values[i]);
    free(w->names);
    free(w->values);
}

int compare_picture(struct text *out, const struct compare *compare, struct shd_error *err)
{
    struct compare_rows rows;
    int status = compare_rows_init(&rows, compare, err);
    struct words w = {.nrows = status == SHD_OK ? rows.nshown : 0};
    const char **names = calloc(w.nrows + 1, sizeof *names);
    struct bars_bar *bars = calloc(w.nrows * NQUANTITIES + 1, sizeof *bars);

    w.names = calloc(w.nrows + 1, sizeof *w.names);
    w.values = calloc(w.nrows * NQUANTITIES + 1, sizeof *w.values);
    if (status == SHD_OK && names && bars && w.names && w.values)
        draw(out, &rows, &w, names, bars);
    else
        out->failed = true;
    for (size_t r = 0; w.names && r < w.nrows; r++)
        out->failed |= w.names[r].failed;
    for (size_t i = 0; w.values && i < w.nrows * NQUANTITIES; i++)
        out->failed |= w.values[i].failed;
    if (status == SHD_OK && out->failed)
        status = shd_error_set(err, SHD_ENOMEM, "no memory for the picture");
    words_fini(&w);
    free(names);
    free(bars);
    compare_rows_fini(&rows);
    return status;
}
