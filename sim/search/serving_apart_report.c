/* Printing how devices are shared out (search/serving_apart.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>

#include "base/json_out.h"
#include "base/units.h"
#include "hardware/margin.h"
#include "report/figures.h"
#include "report/para.h"
#include "report/table.h"
#include "search/serving_apart.h"

#define VALUE_COLUMN 12

/* ---- for people ---- */

static void add_pool(struct text *line, const struct serving_pool *pool)
{
    text_addf(line, "%" PRId64 " replica%s of %s with %" PRId64, pool->replicas,
              pool->replicas == 1 ? "" : "s", pool->layout.mesh, pool->layout.batch);
}

static void add_figures(struct text *line, const struct serving_split *s)
{
    text_addf(line,
              ": %.0f tokens/s, %.1f per device; time to first token %s, time per output token %s",
              s->tokens_per_s, s->device_tokens_per_s, units_print_seconds(s->first_s).text,
              units_print_seconds(s->token_s).text);
}

static void print_apart(struct text *out, const struct serving_apart *a)
{
    const struct serving_split *best = a->splits;
    struct text line = TEXT_INIT;

    if (a->nsplits == 0) {
        text_add(&line, "none: no pair of layouts fits and meets the time limits");
        para_print_titled(out, 0, VALUE_COLUMN, "apart", &line);
        return;
    }
    add_pool(&line, &best->prefill);
    text_addf(&line, " prompt%s for prefill, and ", best->prefill.layout.batch == 1 ? "" : "s");
    add_pool(&line, &best->decode);
    text_addf(&line, " sequence%s for decode", best->decode.layout.batch == 1 ? "" : "s");
    add_figures(&line, best);
    text_addf(&line, "; the KV cache of a prompt is sent in %s",
              units_print_seconds(best->sent_s).text);
    para_print_titled(out, 0, VALUE_COLUMN, "apart", &line);
}

static void print_together(struct text *out, const struct serving_apart *a)
{
    struct text line = TEXT_INIT;

    if (a->together.decode.replicas == 0) {
        text_add(&line, "none: no layout fits both steps and meets the time limits");
    } else {
        add_pool(&line, &a->together.decode);
        text_addf(&line, " sequence%s for both", a->together.decode.layout.batch == 1 ? "" : "s");
        add_figures(&line, &a->together);
        text_add(&line, " on average, including interleaved prefill steps");
    }
    para_print_titled(out, 0, VALUE_COLUMN, "together", &line);
}

static void print_verdict(struct text *out, const struct serving_apart *a)
{
    double apart = a->nsplits > 0 ? a->splits[0].tokens_per_s : 0;
    double together = a->together.tokens_per_s;
    struct text line = TEXT_INIT;

    if (!(apart > 0) || !(together > 0))
        return;
    text_addf(&line,
              "%s, by %.0f %%; time per output token is %s apart, %s together. Queueing is not "
              "modelled here: use 'shardsim serve'",
              apart > together ? "disaggregated is faster" : "colocated is faster",
              100 * (apart > together ? apart / together - 1 : together / apart - 1),
              units_print_seconds(a->splits[0].token_s).text,
              units_print_seconds(a->together.token_s).text);
    para_print_titled(out, 0, VALUE_COLUMN, "verdict", &line);
}

static void print_counts(struct text *out, const struct serving_apart *a)
{
    struct text line = TEXT_INIT;
    size_t n = 0, nunsaid = 0;

    for (size_t i = 0; i < a->nsearches; i++) {
        n += a->searches[i].nwithin;
        nunsaid += a->searches[i].nunsaid;
    }
    text_addf(&line, "%zu layouts of both steps on 1, 2, 4, .. %" PRId64 " devices that fit", n,
              a->nsearches > 0 ? a->searches[a->nsearches - 1].wants.devices : 0);
    if (hardware_margin(a->trial->hardware) > 0)
        text_addf(&line, " with %.0f %% of the memory kept free",
                  100 * hardware_margin(a->trial->hardware));
    text_addf(&line, ", in %zu plans; answers of %" PRId64 " tokens", a->nplans, a->tokens);
    if (nunsaid > 0)
        text_addf(&line, "; meshes that %s cannot express are left out, %zu of all searches",
                  a->wants.filter->system, nunsaid);
    if (!a->over)
        text_add(&line, ", until the search was interrupted");
    para_print_titled(out, 0, VALUE_COLUMN, "of", &line);
}

static void add_row(struct table *table, const struct serving_split *s)
{
    table_add(table, "%" PRId64 " x %s", s->prefill.replicas, s->prefill.layout.mesh);
    table_add(table, "%" PRId64, s->prefill.layout.batch);
    table_add(table, "%" PRId64 " x %s", s->decode.replicas, s->decode.layout.mesh);
    table_add(table, "%" PRId64, s->decode.layout.batch);
    table_add(table, "%.1f", s->device_tokens_per_s);
    table_add(table, "%.3g", s->requests_per_s);
    table_add(table, "%s", units_print_seconds(s->first_s).text);
    table_add(table, "%s", units_print_seconds(s->token_s).text);
}

void serving_apart_text(struct text *out, const struct serving_apart *apart, size_t ntop,
                        size_t columns)
{
    struct table table;

    print_apart(out, apart);
    print_together(out, apart);
    print_verdict(out, apart);
    print_counts(out, apart);
    if (apart->nsplits == 0)
        return;
    table_init(&table, "lrlrrRrr");
    table_heads(&table, "prefill|batch|decode|batch|/device|req/s|first|token");
    for (size_t i = 0; i < apart->nsplits && i < ntop; i++)
        add_row(&table, &apart->splits[i]);
    text_add(out, "\n");
    table_print_within(&table, 0, columns, out);
    table_fini(&table);
}

/* ---- for programs ---- */

static void write_pool(struct json_out *out, const char *key, const struct serving_pool *pool)
{
    json_out_key(out, key);
    if (pool->replicas == 0) {
        json_out_null(out);
        return;
    }
    json_out_begin_object(out);
    json_out_key_string(out, "mesh", pool->layout.mesh);
    json_out_key_int(out, "devices", pool->devices);
    json_out_key_int(out, "replicas", pool->replicas);
    json_out_key_int(out, "batch", pool->layout.batch);
    json_out_key_double(out, "step_seconds", pool->layout.token_s);
    json_out_end_object(out);
}

static void write_split(struct json_out *out, const struct serving_split *s)
{
    json_out_begin_object(out);
    write_pool(out, "prefill", &s->prefill);
    write_pool(out, "decode", &s->decode);
    json_out_key_double(out, "first_token_seconds", s->first_s);
    json_out_key_double(out, "sent_seconds", s->sent_s);
    json_out_key_double(out, figure_short_key(FIGURE_MODELLED_TOKEN), s->token_s);
    json_out_key_double(out, "requests_per_second", s->requests_per_s);
    json_out_key_double(out, figure_short_key(FIGURE_MODELLED_TOKENS), s->tokens_per_s);
    json_out_key_double(out, figure_short_key(FIGURE_MODELLED_DEVICE_TOKENS),
                        s->device_tokens_per_s);
    json_out_end_object(out);
}

void serving_apart_json(struct text *out, const struct serving_apart *apart)
{
    struct json_out json;

    json_out_init_text(&json, out, JSON_OUT_PRETTY);
    json_out_begin_object(&json);
    json_out_key_string(&json, "schema", "shardsim.search-serving-apart/1");
    json_out_key_string(&json, "hardware", apart->trial->hardware->name);
    if (apart->wants.filter && apart->wants.filter->system)
        json_out_key_string(&json, "for", apart->wants.filter->system);
    json_out_key_int(&json, "devices", apart->wants.devices);
    json_out_key_int(&json, "tokens", apart->tokens);
    json_out_key_uint(&json, "plans", apart->nplans);
    json_out_key_double(&json, "memory_margin", hardware_margin(apart->trial->hardware));
    json_out_key_bool(&json, "over", apart->over);
    json_out_key_array(&json, "apart");
    for (size_t i = 0; i < apart->nsplits; i++)
        write_split(&json, &apart->splits[i]);
    json_out_end_array(&json);
    json_out_key(&json, "together");
    if (apart->together.decode.replicas > 0)
        write_split(&json, &apart->together);
    else
        json_out_null(&json);
    json_out_end_object(&json);
    json_out_newline(&json);
    out->failed |= json_out_fini(&json) != SHD_OK;
}
