/* Printing changes that would make a step fit (fit.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/fit.h"

#include <inttypes.h>

#include "base/escape.h"
#include "base/units.h"
#include "report/table.h"

static void add_sets(const struct fit_change *change, const char *between, struct text *out)
{
    for (uint32_t i = 0; i < change->nsets; i++) {
        text_add(out, i ? between : "");
        escape_add(out, change->sets[i]);
    }
}

/* Add a change with the totals of the changed step. */
static void add_row(struct table *table, const struct fit_change *change)
{
    struct text sets = TEXT_INIT;

    add_sets(change, " ", &sets);
    table_add(table, "%s", units_print_bytes(change->totals.peak_bytes).text);
    table_add(table, "%s", units_print_bytes(change->totals.received_bytes).text);
    table_add(table, "%s", units_print_count(change->totals.flops).text);
    table_add(table, "%s", text_get(&sets));
    table->failed |= sets.failed;
    text_fini(&sets);
}

static void add_heads(struct table *table, const char *what)
{
    const char *const heads[] = {"peak", "received", "flops", what};

    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
        table_add(table, "%s", heads[i]);
}

static void add_tried(const struct fit *fit, struct text *out)
{
    text_addf(out, "of %u changed plan%s%s", fit->nplans, fit->nplans == 1 ? "" : "s",
              fit->cut ? ", the limit of the search" : "");
}

void fit_text(const struct fit *fit, struct text *out)
{
    struct table table;

    if (!fit->wanted)
        return;
    table_init(&table, "rrrl");
    if (fit->nchanges > 0 || fit->least.nsets > 0)
        add_heads(&table, fit->nchanges > 0 ? "would fit with" : "is nearest");
    for (uint32_t i = 0; i < fit->nchanges; i++)
        add_row(&table, &fit->changes[i]);
    if (fit->nchanges == 0 && fit->least.nsets > 0)
        add_row(&table, &fit->least);
    table_print(&table, 2, out);
    table_fini(&table);
    text_addf(out, "  (%s ", fit->nchanges > 0 ? "the smallest changes" : "none fits");
    add_tried(fit, out);
    text_add(out, ")\n");
}

static void add_one(const struct fit_change *change, struct text *out)
{
    add_sets(change, " -s ", out);
    text_addf(out, " (%s)", units_print_bytes(change->totals.peak_bytes).text);
}

void fit_sentence(const struct fit *fit, struct text *out)
{
    if (fit->nchanges == 0) {
        text_add(out, "none fits ");
        add_tried(fit, out);
        if (fit->least.nsets > 0) {
            text_add(out, "; the closest is -s ");
            add_one(&fit->least, out);
        }
        return;
    }
    for (uint32_t i = 0; i < fit->nchanges; i++) {
        text_add(out, i ? ", or -s " : "would fit with -s ");
        add_one(&fit->changes[i], out);
    }
}

#define WITHOUT_UNIT 1024 /* bytes: no step fits below */

void fit_unit(uint64_t limit_bytes, struct text *out)
{
    if (limit_bytes > 0 && limit_bytes < WITHOUT_UNIT)
        text_addf(out,
                  "the limit is %" PRIu64 " bytes (no unit means bytes); was %" PRIu64
                  "GiB meant?",
                  limit_bytes, limit_bytes);
}

static void write_change(const struct fit_change *change, struct json_out *out)
{
    json_out_begin_object(out);
    json_out_key_flat_array(out, "set");
    for (uint32_t i = 0; i < change->nsets; i++)
        json_out_string(out, change->sets[i]);
    json_out_end_array(out);
    json_out_key_int(out, "devices", change->ndevices);
    json_out_key_uint(out, "peak_bytes", change->totals.peak_bytes);
    json_out_key_uint(out, "received_bytes", change->totals.received_bytes);
    json_out_key_uint(out, "flops", change->totals.flops);
    json_out_end_object(out);
}

void fit_json(const struct fit *fit, struct json_out *out)
{
    json_out_begin_object(out);
    json_out_key_array(out, "changes");
    for (uint32_t i = 0; i < fit->nchanges; i++)
        write_change(&fit->changes[i], out);
    json_out_end_array(out);
    json_out_key(out, "least");
    if (fit->nchanges == 0 && fit->least.nsets > 0)
        write_change(&fit->least, out);
    else
        json_out_null(out);
    json_out_key_uint(out, "plans", fit->nplans);
    json_out_key_bool(out, "all_planned", !fit->cut);
    json_out_end_object(out);
}
