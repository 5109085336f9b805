/* A comparison as data (CSV and JSON), and the choice of a format.  compare_text.c has the formats
 * for people.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/compare.h"

#include <math.h>
#include <string.h>

#include "base/literal.h"
#include "report/compare_rows.h"
#include "report/compare_text.h"
#include "report/compare_verdict.h"

static const struct {
    const char *name, *ending;
} formats[COMPARE_NFORMATS] = {
    [COMPARE_TABLE] = {"table", ".txt"},
    [COMPARE_MARKDOWN] = {"markdown", ".md"},
    [COMPARE_CSV] = {"csv", ".csv"},
    [COMPARE_JSON] = {"json", ".json"},
};

const char *compare_format_name(enum compare_format format)
{
    return formats[format].name;
}

bool compare_format_of(enum compare_format *out, const char *path)
{
    const char *ending = strrchr(path, '.');

    for (int f = 0; ending && f < COMPARE_NFORMATS; f++)
        if (!strcmp(ending, formats[f].ending)) {
            *out = (enum compare_format)f;
            return true;
        }
    return false;
}

/* ---- CSV ---- */

static void add_csv_value(struct text *out, size_t c, const struct figure_value *v)
{
    char number[32];

    if (!v->known)
        return;
    if (figure_table[c].unit == FIGURE_TEXT)
        literal_add_csv(out, text_get(&v->text));
    else if (figure_is_whole((enum figure_id)c))
        text_add(out, UINT128_DIGITS(v->whole));
    else if (isfinite(v->number))
        text_add(out, json_out_print_double(number, sizeof number, v->number));
    else
        text_add(out, "nan");
}

static void print_csv(const struct compare_rows *rows, struct text *out)
{
    for (size_t c = 0; c < NFIGURES; c++)
        text_addf(out, "%s%s", c ? "," : "", figure_table[c].key);
    text_add(out, "\r\n");
    for (size_t i = 0; i < rows->nshown; i++) {
        for (size_t c = 0; c < NFIGURES; c++) {
            text_add(out, c ? "," : "");
            add_csv_value(out, c, &rows->rows[rows->order[i]].values[c]);
        }
        text_add(out, "\r\n");
    }
}

/* ---- JSON ---- */

static void write_text(struct json_out *out, const char *key, const char *value)
{
    json_out_key_string(out, key, value);
}

static void write_value(struct json_out *out, const struct figures *row, enum figure_id id)
{
    const struct figure_value *v = &row->values[id];

    json_out_key(out, figure_table[id].key);
    if (!v->known)
        json_out_null(out);
    else if (figure_table[id].unit == FIGURE_TEXT)
        json_out_string(out, text_get(&v->text));
    else
        json_out_double(out, v->number);
}

/* Names of the strategies that a row ties with in a column. */
static void write_ties(struct json_out *out, const struct compare_rows *rows, size_t i,
                       const char *key, enum figure_id id)
{
    json_out_key_flat_array(out, key);
    for (size_t k = 0; k < rows->compare->nresults; k++)
        if (k != i && compare_is_tie(rows, id, i, k))
            json_out_string(out, rows->compare->results[k].strategy);
    json_out_end_array(out);
}

static void write_strategy(struct json_out *out, const struct compare_rows *rows, size_t i)
{
    const struct figures *row = &rows->rows[i];

    json_out_begin_object(out);
    write_value(out, row, FIGURE_SCENARIO);
    write_value(out, row, FIGURE_STRATEGY);
    write_value(out, row, FIGURE_BYTES_TIMES);
    write_value(out, row, FIGURE_MEMORY_TIMES);
    write_value(out, row, FIGURE_STEP_TIMES);
    json_out_key_flat_array(out, "best");
    for (size_t c = 0; c < NFIGURES; c++)
        if (rows->best[i][c])
            json_out_string(out, figure_table[c].key);
    json_out_end_array(out);
    write_value(out, row, FIGURE_DOMINATED);
    write_value(out, row, FIGURE_WHY);
    write_ties(out, rows, i, "within_noise", FIGURE_REPLAYED_STEP);
    write_ties(out, rows, i, "within_model_error", FIGURE_MODELLED_STEP);
    json_out_end_object(out);
}

static void write_skipped(struct json_out *out, const struct compare *c)
{
    json_out_key_array(out, "skipped");
    for (size_t i = 0; i < c->nskipped; i++) {
        json_out_begin_object(out);
        write_text(out, "scenario", c->skipped[i].scenario);
        write_text(out, "strategy", c->skipped[i].strategy);
        write_text(out, "why", c->skipped[i].why);
        json_out_end_object(out);
    }
    json_out_end_array(out);
}

static int print_json(const struct compare_rows *rows, struct text *text, struct shd_error *err)
{
    const struct compare *c = rows->compare;
    struct text verdict = TEXT_INIT;
    struct json_out out;
    int status = SHD_OK;

    json_out_init_text(&out, text, JSON_OUT_PRETTY);
    json_out_begin_object(&out);
    write_text(&out, "schema", "shardsim.compare/1");
    json_out_key_flat_object(&out, "base");
    write_text(&out, "scenario", c->results[c->base].scenario);
    write_text(&out, "strategy", c->results[c->base].strategy);
    json_out_end_object(&out);
    json_out_key_array(&out, "strategies");
    for (size_t i = 0; i < c->nresults; i++)
        write_strategy(&out, rows, i);
    json_out_end_array(&out);
    write_skipped(&out, c);
    compare_verdict(rows, &verdict);
    json_out_key(&out, "verdict");
    json_out_join(&out, &verdict);
    json_out_key_array(&out, "results");
    for (size_t i = 0; i < c->nresults && status == SHD_OK; i++)
        if (c->planned)
            json_out_lines(&out, &c->planned[i].json);
        else
            status = result_json(&c->results[i], &out, err);
    if (status != SHD_OK)
        return status;
    json_out_end_array(&out);
    json_out_end_object(&out);
    json_out_newline(&out);
    (void)json_out_fini(&out); /* a lack of memory is in the text */
    return SHD_OK;
}

int compare_print(const struct compare *compare, enum compare_format format,
                  const struct screen *screen, struct text *out, struct shd_error *err)
{
    struct compare_rows rows;
    int status = compare_rows_init(&rows, compare, err);

    if (status == SHD_OK && format == COMPARE_TABLE)
        compare_print_table(&rows, screen, out);
    else if (status == SHD_OK && format == COMPARE_MARKDOWN)
        compare_print_markdown(&rows, out);
    else if (status == SHD_OK && format == COMPARE_CSV)
        print_csv(&rows, out);
    else if (status == SHD_OK)
        status = print_json(&rows, out, err);
    compare_rows_fini(&rows);
    if (status == SHD_OK && out->failed)
        status = shd_error_set(err, SHD_ENOMEM, "no memory for the comparison");
    return status;
}
