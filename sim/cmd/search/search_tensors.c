/* Searching with --tensors (search_tensors.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/search/search_tensors.h"

#include <inttypes.h>

#include "base/json_out.h"
#include "base/units.h"
#include "command/command.h"
#include "report/para.h"
#include "report/table.h"
#include "command/write.h"

static const char *const states[] = {"refused", "too big", "fits"};

/* ---- for people ---- */

static void add_plan(struct table *table, const struct tensors *t, const char *name,
                     const struct tensors_plan *plan)
{
    struct text batch = TEXT_INIT;

    tensors_print_batch(&batch, t, &plan->way);
    table_add(table, "%s", name);
    if (plan->state == VARIANT_REFUSED) {
        table_add(table, "-");
        table_add(table, "-");
    } else {
        table_add(table, "%s", units_print_seconds(plan->step_s).text);
        table_add(table, "%s", units_print_bytes(plan->peak_bytes).text);
    }
    table_add(table, "%s", text_get(&batch));
    table_add(table, "%s", plan->state == VARIANT_FITS ? "" : states[plan->state]);
    table->failed |= batch.failed;
    text_fini(&batch);
}

static void print_plans(struct text *out, const struct tensors *t)
{
    struct table table;

    table_init(&table, "lrrll");
    table_heads(&table, "choice|step|peak memory|batch|");
    if (t->found)
        add_plan(&table, t, "best", &t->best);
    for (uint32_t i = 0; i < t->ntextbook; i++)
        add_plan(&table, t, tensors_textbook_name((enum tensors_textbook)i), &t->textbook[i]);
    table_print(&table, 2, out);
    table_fini(&table);
}

static void print_specs(struct text *out, const struct tensors *t)
{
    struct table table;

    text_add(out, "\nthe best, tensor by tensor\n");
    table_init(&table, "lll");
    for (size_t k = 0; k < t->nkinds; k++) {
        struct text spec = TEXT_INIT;

        tensors_print_spec(&spec, t, &t->best.way, k);
        table_add(&table, "%s", t->kinds[k].name);
        table_add(&table, "%s", text_get(&spec));
        table_add(&table, "%s", t->kinds[k].held ? "the scenario's own" : "");
        table.failed |= spec.failed;
        text_fini(&spec);
    }
    table_print(&table, 2, out);
    table_fini(&table);
}

static void print_text(struct text *out, const struct tensors *t)
{
    struct text refused = TEXT_INIT;

    text_addf(out,
              "%" PRIu64 " ways to shard %zu kinds of tensors: %" PRIu64
              " planned, of which %" PRIu64 " fit",
              t->nways, t->nkinds, t->nplanned, t->nfit);
    if (t->memory_bytes > 0)
        text_addf(out, " %s", units_print_bytes(t->memory_bytes).text);
    text_addf(out, "; for %" PRIu64 " the parameters alone do not fit\n",
              t->stopped ? 0 : t->nways - t->nplanned);
    if (t->refusals.n > 0) {
        text_addf(&refused, "%zu are refused", t->refusals.n);
        refusals_tell(&refused, &t->refusals);
        para_print(out, 0, 0, text_get(&refused));
        text_fini(&refused);
    }
    text_add_char(out, '\n');
    print_plans(out, t);
    if (t->found)
        print_specs(out, t);
    else
        text_add(out, "\n"
                      "no choice fits\n");
}

/* ---- for programs ---- */

static void json_plan(struct json_out *out, const struct tensors *t,
                      const struct tensors_plan *plan)
{
    struct text text = TEXT_INIT;

    json_out_begin_object(out);
    json_out_key_string(out, "state", states[plan->state]);
    if (plan->state != VARIANT_REFUSED) {
        json_out_key_double(out, "step_seconds", plan->step_s);
        json_out_key_uint(out, "peak_bytes", plan->peak_bytes);
    }
    tensors_print_batch(&text, t, &plan->way);
    json_out_key_string(out, "batch", text_get(&text));
    json_out_key_object(out, "specs");
    for (size_t k = 0; k < t->nkinds; k++) {
        text_clear(&text);
        tensors_print_spec(&text, t, &plan->way, k);
        json_out_key_string(out, t->kinds[k].name, text_get(&text));
    }
    json_out_end_object(out);
    json_out_end_object(out);
    text_fini(&text);
}

static void print_json(struct json_out *out, const struct tensors *t)
{
    json_out_begin_object(out);
    json_out_key_string(out, "schema", "shardsim.search-tensors/1");
    json_out_key_uint(out, "ways", t->nways);
    json_out_key_uint(out, "planned", t->nplanned);
    json_out_key_uint(out, "fit", t->nfit);
    json_out_key_uint(out, "too_big", t->ntoo_big);
    json_out_key_uint(out, "refused", t->refusals.n);
    json_out_key(out, "best");
    if (t->found)
        json_plan(out, t, &t->best);
    else
        json_out_null(out);
    json_out_key_object(out, "textbook");
    for (uint32_t i = 0; i < t->ntextbook; i++) {
        json_out_key(out, tensors_textbook_name((enum tensors_textbook)i));
        json_plan(out, t, &t->textbook[i]);
    }
    json_out_end_object(out);
    json_out_end_object(out);
}

/* ---- both ---- */

static int put(const struct tensors *t, bool as_json)
{
    struct text text = TEXT_INIT;
    struct json_out json;
    int exit;

    if (as_json) {
        json_out_init_text(&json, &text, JSON_OUT_PRETTY);
        print_json(&json, t);
        text_add_char(&text, '\n');
    } else {
        print_text(&text, t);
    }
    exit = cmd_put_last(&text);
    text_fini(&text);
    return exit;
}

static int write_best(const struct tensors *t, const char *path)
{
    struct text text = TEXT_INIT;
    struct shd_error err;
    int status = tensors_scenario(&text, t, &t->best.way, &err);

    if (status == SHD_OK)
        status = store_write(path, &text, &err);
    text_fini(&text);
    return status == SHD_OK ? CMD_OK : cmd_cannot(&err);
}

int search_tensors_run(const struct trial *trial, const struct search_tensors *asked)
{
    struct tensors found;
    struct shd_error err;
    int exit, status = tensors_run(&found, trial, &asked->opts, &err);

    if (status != SHD_OK)
        return cmd_refused(&err);
    exit = put(&found, asked->json);
    if (exit == CMD_OK && !found.found)
        exit = CMD_FAILED;
    if (exit == CMD_OK && asked->output)
        exit = write_best(&found, asked->output);
    if (found.stopped)
        exit = CMD_INTERRUPTED;
    tensors_fini(&found);
    return exit;
}
