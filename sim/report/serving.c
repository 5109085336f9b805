/* Figures of a step of serving (serving.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/serving.h"

#include <inttypes.h>

#include "base/units.h"
#include "hardware/hardware.h"
#include "report/para.h"

#define VALUE_COLUMN 14 /* as in result_text.c */

/* Add an array of the cache, [batch, tokens, ..], as every device has it.  What a token takes is of
 * all arrays, whether or not their layers keep as many tokens. */
static void add_array(struct serving *out, const struct program_buffer *b, int32_t ndevices)
{
    uint128 bytes = (uint128)program_buffer_filled(b) * (uint128)ndevices;
    uint128 tokens = (uint128)b->shape[0] * (uint128)b->shape[1];

    out->cache_bytes_most += program_buffer_filled(b);
    out->cache_bytes += bytes;
    out->token_bytes += tokens > 0 ? bytes / tokens : 0;
}

void serving_of(struct serving *out, const struct result *result)
{
    const struct record *r = result->record;
    const struct record_modelled *m = r->modelled;
    double step_s;

    *out = (struct serving){.cache_bytes_most = 0};
    for (uint32_t i = 0; i < r->program->nbuffers; i++)
        if (r->program->buffers[i].use == PROGRAM_CACHE && r->program->buffers[i].argument)
            add_array(out, &r->program->buffers[i], r->ndevices);
    if (!m || !result->serves)
        return;
    step_s = (double)m->timeline->step_ns * 1e-9;
    out->bound = modelled_bound_of(r);
    out->token_s = result->decodes ? step_s / result->made : step_s;
    if (step_s <= 0)
        return;
    out->tokens_per_s = result->decodes ? (double)result->sequences / out->token_s
                                        : (double)result->tokens / step_s;
    out->device_tokens_per_s = out->tokens_per_s / (double)r->ndevices;
    out->mbu = m->moved_bytes / m->hardware->memory_bytes_per_s / step_s;
}

static void print_times(const struct result *result, const struct serving *s, struct text *out)
{
    struct text line = TEXT_INIT;
    struct units_text step = units_print_seconds(s->token_s);

    if (result->decodes)
        text_addf(&line, "%s per token", step.text);
    else
        text_addf(&line, "%" PRId64 " prompt%s take%s %s", result->sequences,
                  result->sequences == 1 ? "" : "s", result->sequences == 1 ? "s" : "", step.text);
    text_addf(&line, ": %s tokens/s", units_print_number(s->tokens_per_s, 0).text);
    if (result->decodes)
        text_addf(&line, " of %" PRId64 " sequence%s", result->sequences,
                  result->sequences == 1 ? "" : "s");
    text_addf(&line, ", %s per device", units_print_number(s->device_tokens_per_s, 1).text);
    para_print_titled(out, result->columns, VALUE_COLUMN, "serving", &line);
    text_addf(&line, "%s (%.0f %% of the step); MBU %.0f %%", s->bound.what, 100 * s->bound.share,
              100 * s->mbu);
    para_print_titled(out, result->columns, VALUE_COLUMN, "  bound by", &line);
}

static void print_sequences(const struct result *result, struct text *out)
{
    struct text line = TEXT_INIT;

    if (result->sequences_that_fit < 0)
        return;
    if (result->sequences_that_fit == 0)
        text_addf(&line,
                  "no sequence of %" PRId64
                  " tokens fits in the devices' memory beside the weights",
                  result->kept);
    else
        text_addf(&line,
                  "%" PRId64 " of %" PRId64 " tokens fit in the devices' memory beside the weights",
                  result->sequences_that_fit, result->kept);
    para_print_titled(out, result->columns, VALUE_COLUMN, "  sequences", &line);
}

static void print_untimed(const struct result *result, struct text *out)
{
    struct text line = TEXT_INIT;

    text_addf(&line,
              "%" PRId64
              " sequence%s; 'shardsim plan -s hardware=h100-sxm' models the time per token",
              result->sequences, result->sequences == 1 ? "" : "s");
    para_print_titled(out, result->columns, VALUE_COLUMN, "serving", &line);
}

void serving_text(const struct result *result, struct text *out)
{
    struct text line = TEXT_INIT;
    struct serving s;

    serving_of(&s, result);
    text_add(out, "\n");
    if (result->record->modelled)
        print_times(result, &s, out);
    else
        print_untimed(result, out);
    print_sequences(result, out);
    text_addf(&line, "%s on each device, %s in all; %s a token",
              units_print_bytes(s.cache_bytes_most).text, units_print_bytes(s.cache_bytes).text,
              units_print_bytes(s.token_bytes).text);
    para_print_titled(out, result->columns, VALUE_COLUMN, "  cache", &line);
}
