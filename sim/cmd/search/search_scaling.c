/* Searching the best layout for several numbers of devices (search_scaling.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/search/search_scaling.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_out.h"
#include "base/units.h"
#include "command/command.h"
#include "command/picture.h"
#include "report/table.h"
#include "search/outcome.h"
#include "search/search_picture.h"

/* ---- counts ---- */

static int parse_count(int64_t *out, const char **text, struct shd_error *err)
{
    char *end;

    errno = 0;
    *out = strtoll(*text, &end, 10);
    if (end == *text || errno || *out < 1 || *out > INT32_MAX)
        return shd_error_set(
            err, SHD_EINVAL,
            "'%.30s' is not a valid count; expected 1 to %d, as 64, 64..4096 or 64,96,128", *text,
            INT32_MAX);
    *text = end;
    return SHD_OK;
}

static int add_count(int64_t counts[SCALING_MOST], size_t *n, int64_t count, struct shd_error *err)
{
    if (*n == SCALING_MOST)
        return shd_error_set(err, SHD_ERANGE, "--devices has more than %d counts", SCALING_MOST);
    if (*n > 0 && count <= counts[*n - 1])
        return shd_error_set(err, SHD_EINVAL, "%" PRId64 " after %" PRId64 "; counts must rise",
                             count, counts[*n - 1]);
    counts[(*n)++] = count;
    return SHD_OK;
}

static int add_doublings(int64_t counts[SCALING_MOST], size_t *n, int64_t first, int64_t last,
                         struct shd_error *err)
{
    int status = SHD_OK;

    if (last < first)
        return shd_error_set(err, SHD_EINVAL, "%" PRId64 "..%" PRId64 "; counts must rise", first,
                             last);
    for (int64_t count = first; count <= last && status == SHD_OK; count *= 2)
        status = add_count(counts, n, count, err);
    return status;
}

int scaling_parse(int64_t counts[SCALING_MOST], size_t *n, const char *text, struct shd_error *err)
{
    const char *whole = text;
    int64_t count, last;
    int status = parse_count(&count, &text, err);

    *n = 0;
    if (status == SHD_OK && strncmp(text, "..", 2) == 0) {
        text += 2;
        status = parse_count(&last, &text, err);
        if (status == SHD_OK)
            status = add_doublings(counts, n, count, last, err);
    } else {
        if (status == SHD_OK)
            status = add_count(counts, n, count, err);
        while (status == SHD_OK && *text == ',') {
            text++;
            status = parse_count(&count, &text, err);
            if (status == SHD_OK)
                status = add_count(counts, n, count, err);
        }
    }
    if (status == SHD_OK && *text)
        return shd_error_set(err, SHD_EINVAL, "'%.30s'; expected a count, 64..4096 or 64,96,128",
                             whole);
    return status;
}

/* ---- the searches ---- */

/* Seconds that the best of all counts may be shorter by are not shown: each row says whether it is
 * proven. */
struct row {
    int64_t devices;
    bool any;       /* a layout fits */
    bool undivided; /* no layout divides evenly */
    struct layout layout;
    struct modelled_figures figures;
    bool proven;
    double device_tokens_per_s;
};

static int find_row(struct row *out, const struct scaling *s, int64_t devices,
                    struct shd_error *err)
{
    struct subject subject;
    struct search found;
    int status = subject_init(&subject, s->trial, devices, s->ranges, s->nranges, s->filter, err);

    *out = (struct row){.devices = devices};
    if (status == SHD_OK) {
        status = search_run(&found, &subject, &s->opts, err);
        if (status == SHD_OK && found.nbest > 0) {
            const struct search_plan *best = &found.plans[found.best[0]];

            out->any = true;
            out->layout = found.items[best->item].layout;
            out->figures = best->plan.figures;
            out->proven = found.proven >= best->plan.figures.step_s;
            out->device_tokens_per_s = best->plan.figures.tokens_per_s / (double)devices;
        }
        if (status == SHD_OK)
            search_fini(&found);
    }
    subject_fini(&subject);
    out->undivided = status == SHD_ENOTFOUND;
    return status == SHD_ENOTFOUND ? SHD_OK : status;
}

static const struct row *first_of(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (rows[i].any)
            return &rows[i];
    return NULL;
}

/* The count that makes most of each device, which is also where a token costs least. */
static const struct row *best_of(const struct row *rows, size_t n)
{
    const struct row *best = NULL;

    for (size_t i = 0; i < n; i++)
        if (rows[i].any && (!best || rows[i].device_tokens_per_s > best->device_tokens_per_s))
            best = &rows[i];
    return best;
}

/* Price of a million tokens. */
static double cost_of(const struct scaling *s, const struct row *row)
{
    return s->price / 3600 / row->device_tokens_per_s * 1e6;
}

/* ---- for people ---- */

static void add_row(struct table *table, const struct scaling *s, const struct row *row,
                    const struct row *first)
{
    struct text words = TEXT_INIT;

    table_add(table, "%" PRId64, row->devices);
    if (!row->any) {
        for (int column = 0; column < (s->price > 0 ? 6 : 5); column++)
            table_add(table, "%s", "");
        table_add(table, "%s", row->undivided ? "no divisible layout" : "no layout fits");
        return;
    }
    table_add(table, "%s", units_print_seconds(row->figures.step_s).text);
    table_add(table, "%.1f %%", 100 * row->figures.mfu_causal_half);
    table_add(table, "%s", units_print_bytes((uint128)row->figures.memory_bytes).text);
    table_add(table, "%.0f", row->device_tokens_per_s);
    table_add(table, "%.1f %%", 100 * row->device_tokens_per_s / first->device_tokens_per_s);
    if (s->price > 0)
        table_add(table, "%.4g", cost_of(s, row));
    space_print(&words, &row->layout);
    table_add(table, "%s%s", text_get(&words), row->proven ? "" : " (not proven)");
    table->failed |= words.failed;
    text_fini(&words);
}

static void print_rows(struct text *out, const struct scaling *s, const struct row *rows)
{
    const struct row *first = first_of(rows, s->ncounts), *best = best_of(rows, s->ncounts);
    struct table table;

    table_init(&table, s->price > 0 ? "rrrrrrrl" : "rrrrrrl");
    table_heads(&table, "devices|step|MFU|memory|tokens/s/device|efficiency");
    table_heads(&table, s->price > 0 ? "cost of 1M tokens|the best layout" : "the best layout");
    for (size_t i = 0; i < s->ncounts; i++)
        add_row(&table, s, &rows[i], first);
    if (best)
        text_addf(out, "most of each  %" PRId64 " devices: %.0f tokens/s/device%s\n\n",
                  best->devices, best->device_tokens_per_s,
                  s->price > 0 ? ", and the lowest cost" : "");
    else
        text_add(out, "most of each  none: no planned layout fits; try more --devices\n\n");
    table_print(&table, 0, out);
    table_fini(&table);
}

/* ---- for programs ---- */

static void write_row(struct json_out *out, const struct scaling *s, const struct row *row)
{
    json_out_begin_object(out);
    json_out_key_uint(out, "devices", (uint64_t)row->devices);
    if (row->any) {
        outcome_json_layout(out, &row->layout);
        outcome_json_figures(out, &row->figures);
        json_out_key_double(out, "tokens_per_device_second", row->device_tokens_per_s);
        if (s->price > 0)
            json_out_key_double(out, "cost_per_million_tokens", cost_of(s, row));
        json_out_key_bool(out, "proven", row->proven);
    }
    json_out_end_object(out);
}

static void write_rows(struct text *text, const struct scaling *s, const struct row *rows)
{
    struct json_out json;

    json_out_init_text(&json, text, JSON_OUT_PRETTY);
    json_out_begin_object(&json);
    json_out_key_string(&json, "schema", "shardsim.search-scaling/1");
    json_out_key_string(&json, "hardware", s->trial->hardware->name);
    json_out_key_array(&json, "scaling");
    for (size_t i = 0; i < s->ncounts; i++)
        write_row(&json, s, &rows[i]);
    json_out_end_array(&json);
    json_out_end_object(&json);
    text_add_char(text, '\n');
}

/* ---- the whole ---- */

static int draw(const struct scaling *s, const struct row *rows)
{
    double devices[SCALING_MOST], tokens[SCALING_MOST];
    struct text text = TEXT_INIT;
    size_t n = 0;

    for (size_t i = 0; i < s->ncounts; i++)
        if (rows[i].any) {
            devices[n] = (double)rows[i].devices;
            tokens[n++] = rows[i].figures.tokens_per_s;
        }
    search_picture_scaling(&text, s->trial->hardware->name, devices, tokens, n);
    return picture_put(s->picture, &text);
}

static int put(const struct scaling *s, const struct row *rows)
{
    struct text text = TEXT_INIT;
    int exit;

    if (s->json)
        write_rows(&text, s, rows);
    else
        print_rows(&text, s, rows);
    exit = cmd_put_last(&text);
    text_fini(&text);
    return exit;
}

int scaling_run(const struct scaling *s)
{
    struct row rows[SCALING_MOST];
    struct shd_error err;
    bool fits;
    int exit;

    for (size_t i = 0; i < s->ncounts; i++) {
        int status = find_row(&rows[i], s, s->counts[i], &err);

        if (cmd_stop_request)
            return CMD_INTERRUPTED;
        if (status != SHD_OK)
            return cmd_refused(&err);
    }
    fits = first_of(rows, s->ncounts) != NULL;
    exit = s->picture && fits ? draw(s, rows) : CMD_OK;
    if (exit == CMD_OK)
        exit = put(s, rows);
    return exit == CMD_OK && !fits ? CMD_FAILED : exit;
}
