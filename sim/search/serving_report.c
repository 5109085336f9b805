/* Printing a search for serving (search/serving_report.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "search/serving_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/json_out.h"
#include "base/units.h"
#include "draw/points.h"
#include "hardware/margin.h"
#include "report/figures.h"
#include "report/para.h"
#include "report/table.h"

#define VALUE_COLUMN 12

/* ---- for people ---- */

static void add_limits(struct text *line, const struct serving_wants *wants)
{
    if (wants->ttft_s > 0)
        text_addf(line, "%s the first token within %s", line->length ? " and" : "",
                  units_print_seconds(wants->ttft_s).text);
    if (wants->tpot_s > 0)
        text_addf(line, "%s each token within %s", line->length ? " and" : "",
                  units_print_seconds(wants->tpot_s).text);
}

/* Why there is no best layout. */
static void add_none(struct text *line, const struct serving_search *s, const struct text *limits)
{
    if (s->nunsaid > 0 && s->nunsaid == s->nmeshes) {
        text_addf(line, "none: %s can express none of %zu mesh%s", s->wants.filter->system,
                  s->nmeshes, s->nmeshes == 1 ? "" : "es");
        refusals_tell(line, &s->refusals);
        return;
    }
    text_addf(line, "none: none of the %zu layouts that fit in memory has%s", s->nlayouts,
              limits->length ? text_get(limits) : " any");
}

static void add_best(struct text *line, const struct serving_layout *best)
{
    text_addf(line,
              "%s with %" PRId64
              " sequences: %s tokens/s, %s per device; %s per token, bound by %s",
              best->mesh, best->batch, units_print_number(best->tokens_per_s, 0).text,
              units_print_number(best->device_tokens_per_s, 1).text,
              units_print_seconds(best->token_s).text, best->bound);
    if (best->prompt_s >= 0)
        text_addf(line, ", and the first one %s", units_print_seconds(best->prompt_s).text);
    text_add(line, ". Prefill is not counted in tokens/s; --apart counts it");
}

static void print_best(struct text *out, const struct serving_search *s)
{
    struct text line = TEXT_INIT, limits = TEXT_INIT;

    add_limits(&limits, &s->wants);
    if (s->nwithin == 0)
        add_none(&line, s, &limits);
    else
        add_best(&line, s->layouts);
    para_print_titled(out, 0, VALUE_COLUMN, "best", &line);
    text_drop(out, &limits);
}

/* Print how many layouts were planned, and which were left out. */
static void print_counts(struct text *out, const struct serving_search *s)
{
    struct text line = TEXT_INIT, limits = TEXT_INIT;

    text_addf(&line, "%zu layouts that fit in memory", s->nlayouts);
    if (hardware_margin(s->trial->hardware) > 0)
        text_addf(&line, " with %.0f %% of it kept free",
                  100 * hardware_margin(s->trial->hardware));
    if (s->wants.ttft_s > 0 || s->wants.tpot_s > 0) {
        text_addf(&line, ", of which %zu have", s->nwithin);
        add_limits(&limits, &s->wants);
        text_add(&line, text_get(&limits));
        text_drop(&line, &limits);
    }
    text_addf(&line,
              "; on each of %zu meshes the batch was doubled, then bisected to a sixteenth of the "
              "limit, in %zu plans",
              s->nmeshes - s->nrefused, s->nplans);
    if (s->nlarge > 0)
        text_addf(&line, "; more than %" PRId64 " sequences are not tried, and may fit on %zu",
                  s->batch_max, s->nlarge);
    if (!s->over)
        text_add(&line, ", until the search was interrupted");
    para_print_titled(out, 0, VALUE_COLUMN, "of", &line);
    if (s->nrefused == 0)
        return;
    text_addf(&line, "%zu mesh%s not possible for the model", s->nrefused,
              s->nrefused == 1 ? "" : "es");
    if (s->nunsaid > 0)
        text_addf(&line, " or %s", s->wants.filter->system);
    refusals_tell(&line, &s->refusals);
    para_print_titled(out, 0, VALUE_COLUMN, "without", &line);
}

static void add_row(struct table *table, const struct serving_layout *l)
{
    table_add(table, "%s", l->best_of_user ? "*" : "");
    table_add(table, "%s", l->mesh);
    table_add(table, "%" PRId64, l->batch);
    table_add(table, "%s", units_print_number(l->device_tokens_per_s, 1).text);
    table_add(table, "%s", units_print_number(1 / l->token_s, 1).text);
    table_add(table, "%s", units_print_seconds(l->token_s).text);
    table_add(table, "%s", units_print_seconds(l->prompt_s >= 0 ? l->prompt_s : NAN).text);
    table_add(table, "%s", units_print_bytes((uint128)l->memory_bytes).text);
    table_add(table, "%s", l->bound);
}

static void print_rows(struct text *out, const struct serving_search *s, size_t ntop)
{
    struct table table;
    size_t told = 0;

    table_init(&table, "llrrrrrrl");
    table_heads(&table, "|mesh|batch|/device|/user|token|first|memory|bound by");
    for (size_t i = 0; i < s->nwithin; i++)
        if (i < ntop || s->layouts[i].best_of_user) {
            add_row(&table, &s->layouts[i]);
            told++;
        }
    if (told > 0) {
        text_add(out, "\n");
        table_print(&table, 0, out);
        text_addf(out,
                  "\n"
                  "/device, /user: tokens/s; *: Pareto-optimal in time per token and tokens/s\n");
    }
    table_fini(&table);
}

void serving_report_text(struct text *out, const struct serving_search *search, size_t ntop)
{
    print_best(out, search);
    print_counts(out, search);
    print_rows(out, search, ntop);
}

/* ---- for programs ---- */

static void write_layout(struct json_out *out, const struct serving_layout *l)
{
    json_out_begin_object(out);
    json_out_key_string(out, "mesh", l->mesh);
    json_out_key_int(out, "batch", l->batch);
    json_out_key_double(out, figure_short_key(FIGURE_MODELLED_TOKEN), l->token_s);
    json_out_key_double(out, figure_short_key(FIGURE_MODELLED_TOKENS), l->tokens_per_s);
    json_out_key_double(out, figure_short_key(FIGURE_MODELLED_DEVICE_TOKENS),
                        l->device_tokens_per_s);
    json_out_key_double(out, "tokens_per_second_per_user", 1 / l->token_s);
    json_out_key_double(out, "first_token_seconds", l->prompt_s >= 0 ? l->prompt_s : NAN);
    json_out_key_uint(out, figure_short_key(FIGURE_MODELLED_MEMORY), (uint128)l->memory_bytes);
    json_out_key_uint(out, figure_short_key(FIGURE_CACHE_MOST), l->cache_bytes);
    json_out_key_string(out, figure_short_key(FIGURE_MODELLED_BOUND), l->bound);
    json_out_key_bool(out, "within", l->within);
    json_out_key_bool(out, "frontier", l->best_of_user);
    json_out_end_object(out);
}

void serving_report_json(struct text *out, const struct serving_search *search)
{
    struct json_out json;

    json_out_init_text(&json, out, JSON_OUT_PRETTY);
    json_out_begin_object(&json);
    json_out_key_string(&json, "schema", "shardsim.search-serving/1");
    json_out_key_string(&json, "hardware", search->trial->hardware->name);
    json_out_key_uint(&json, "meshes", search->nmeshes);
    json_out_key_uint(&json, "refused", search->nrefused);
    if (search->wants.filter && search->wants.filter->system) {
        json_out_key_string(&json, "for", search->wants.filter->system);
        json_out_key_uint(&json, "inexpressible", search->nunsaid);
    }
    refusals_json(&json, &search->refusals);
    json_out_key_uint(&json, "more_may_fit", search->nlarge);
    json_out_key_uint(&json, "plans", search->nplans);
    json_out_key_double(&json, "memory_margin", hardware_margin(search->trial->hardware));
    json_out_key_bool(&json, "over", search->over);
    json_out_key_array(&json, "layouts");
    for (size_t i = 0; i < search->nlayouts; i++)
        write_layout(&json, &search->layouts[i]);
    json_out_end_array(&json);
    json_out_end_object(&json);
    json_out_newline(&json);
    out->failed |= json_out_fini(&json) != SHD_OK;
}

/* ---- as a picture ---- */

static void draw(struct text *out, const struct serving_search *s, struct points_point *points,
                 struct text *names)
{
    static const char *const notes[] = {
        "Every layout that fits and meets the limits, modelled. On the line: Pareto-optimal."};
    struct points drawing = {.points = points, .npoints = s->nwithin, .notes = notes, .nnotes = 1};
    struct text title = TEXT_INIT;
    double most_x = 0, most_y = 0;

    for (size_t i = 0; i < s->nwithin; i++) {
        const struct serving_layout *l = &s->layouts[i];

        text_addf(&names[i], "%s, batch %" PRId64, l->mesh, l->batch);
        points[i] = (struct points_point){.x = 1 / l->token_s,
                                          .y = l->device_tokens_per_s,
                                          .marked = l->best_of_user,
                                          .name = l->best_of_user ? text_get(&names[i]) : NULL};
        most_x = fmax(most_x, points[i].x);
        most_y = fmax(most_y, points[i].y);
    }
    text_addf(&title, "Serving on %s", s->trial->hardware->name);
    drawing.title = text_get(&title);
    drawing.x = (struct points_axis){.what = "tokens/s per user", .high = 1.1 * most_x};
    drawing.y = (struct points_axis){.what = "tokens/s per device", .high = 1.1 * most_y};
    points_draw_svg(&drawing, out);
    text_drop(out, &title);
}

void serving_report_picture(struct text *out, const struct serving_search *search)
{
    struct points_point *points = calloc(search->nwithin, sizeof *points);
    struct text *names = calloc(search->nwithin, sizeof *names);

    if (points && names)
        draw(out, search, points, names);
    else
        out->failed = true;
    for (size_t i = 0; names && i < search->nwithin; i++)
        text_drop(out, &names[i]);
    free(points);
    free(names);
}
