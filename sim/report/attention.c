/* The report on the balance of attention, as text and as JSON.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/attention.h"

#include <stdlib.h>
#include <string.h>

#include "base/wrap.h"
#include "report/by_device.h"

#define LINE_COLUMNS 80 /* of the text, as in the rest of the report */
#define VALUE_COLUMN 14

/* ---- text ---- */

static void add_sentence(const struct attention_row *row, const struct record *record,
                         struct text *out)
{
    attention_why(row, record, out);
    if (row->nsteps > 1 && row->lockstep * ATTENTION_EVEN > 1)
        text_addf(out, ", in each of the ring's %u steps, too", row->nsteps);
    else if (row->nsteps > 1)
        text_addf(out,
                  "; if all wait for the slowest device in each of the ring's %u steps, %.0f %% of "
                  "their time is work",
                  row->nsteps, 100 * row->lockstep);
}

/* The sentence of a row after the names of all rows that have the same. */
static void print_row(const struct attention *attention, const struct text *sentences, uint32_t r,
                      struct text *out)
{
    const char *sentence = text_get(&sentences[r]);
    struct text t = TEXT_INIT;

    for (uint32_t k = r; k < attention->nrows; k++)
        if (!strcmp(text_get(&sentences[k]), sentence))
            text_addf(&t, "%s%s%s", k > r ? ", " : "", attention->rows[k].where,
                      attention->rows[k].count > 1 ? " of each layer" : "");
    text_addf(&t, ": %s", sentence);
    wrap_add(out, LINE_COLUMNS, VALUE_COLUMN, VALUE_COLUMN, text_get(&t));
    text_drop(out, &t);
}

static bool is_new(const struct text *sentences, uint32_t r)
{
    for (uint32_t k = 0; k < r; k++)
        if (!strcmp(text_get(&sentences[k]), text_get(&sentences[r])))
            return false;
    return sentences[r].length > 0;
}

void attention_text(const struct attention *attention, const struct record *record,
                    struct text *out)
{
    struct text *sentences = calloc((size_t)attention->nrows + 1, sizeof *sentences);
    bool first = true;

    out->failed |= !sentences;
    for (uint32_t r = 0; sentences && r < attention->nrows; r++)
        if (!attention_is_even(&attention->rows[r]) || attention->rows[r].nsteps > 1)
            add_sentence(&attention->rows[r], record, &sentences[r]);
    for (uint32_t r = 0; sentences && r < attention->nrows; r++) {
        if (!is_new(sentences, r))
            continue;
        text_addf(out, "%s%-*s", first ? "\n" : "", VALUE_COLUMN, first ? "attention" : "");
        print_row(attention, sentences, r, out);
        first = false;
    }
    for (uint32_t r = 0; sentences && r < attention->nrows; r++) {
        text_drop(out, &sentences[r]);
    }
    free(sentences);
}

/* ---- JSON ---- */

/* Write the pairs of each device; 0 for devices without a part in the attention. */
static int pairs_json(struct json_out *out, const char *key, const struct attention_row *row,
                      const uint128 *pairs, const struct record *record)
{
    uint128 *all = calloc((size_t)record->nrows + 1, sizeof *all);
    int status;

    if (!all)
        return SHD_ENOMEM;
    for (uint32_t d = 0; d < row->ndoers; d++)
        all[row->doers[d]] = pairs[d];
    status = by_device_json(out, key, all, record);
    free(all);
    return status;
}

static int steps_json(struct json_out *out, const struct attention_row *row,
                      const struct record *record)
{
    int status = SHD_OK;

    json_out_key_array(out, "steps");
    for (uint32_t s = 0; s < row->nsteps && status == SHD_OK; s++) {
        json_out_begin_object(out);
        json_out_key_int(out, "blocks_moved",
                         record->program->ops[row->ops[s]].desc->attention.shift);
        status = pairs_json(out, "pairs", row, row->pairs + (size_t)s * row->ndoers, record);
        json_out_end_object(out);
    }
    json_out_end_array(out);
    return status;
}

static int row_json(const struct attention_row *row, const struct record *record,
                    struct json_out *out)
{
    struct program_class most = record_row(record, row->doers[row->most]);
    struct text why = TEXT_INIT;
    int status;

    json_out_begin_object(out);
    json_out_key_string(out, "where", row->where);
    json_out_key_string(out, "phase", program_phase_name(row->phase));
    json_out_key_uint(out, "count", row->count);
    json_out_key_uint(out, "flops_of_a_pair", row->pair_flops);
    status = pairs_json(out, "pairs", row, row->all, record);
    json_out_key_double(out, "mean", row->mean);
    json_out_key_int(out, "most", shd_mesh_device_id(record->program->mesh, most.first));
    json_out_key_double(out, "times_the_mean", row->times);
    if (row->busy >= 0) {
        json_out_key_double(out, "busy_balance", row->busy);
    }
    if (row->nsteps > 1) {
        json_out_key_double(out, "lockstep", row->lockstep);
        if (status == SHD_OK)
            status = steps_json(out, row, record);
    }
    attention_why(row, record, &why);
    json_out_key(out, "why");
    json_out_join(out, &why);
    json_out_end_object(out);
    return status;
}

int attention_json(const struct attention *attention, const struct record *record,
                   struct json_out *out)
{
    int status = SHD_OK;

    json_out_begin_array(out);
    for (uint32_t r = 0; r < attention->nrows && status == SHD_OK; r++)
        status = row_json(&attention->rows[r], record, out);
    json_out_end_array(out);
    return status;
}
