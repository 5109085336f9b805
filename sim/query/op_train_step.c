/* plan.train_step: the sizes of a decoder and how it is laid out in, memory and flops of one step
 * of its training out.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "query/query.h"
#include "query/train_step_trial.h"
#include "report/modelled.h"
#include "report/ranks.h"

static void write_memory(struct json_out *out, const struct program *program)
{
    struct program_memory memory;

    program_memory(&memory, program, program_peak_rank(program));
    json_out_key(out, "memory");
    json_out_begin_object(out);
    json_out_key(out, "by_kind");
    ranks_kinds_json(&memory, out);
    if (program->nranks > 1) {
        json_out_key(out, "by_rank");
        ranks_json(program, out);
    }
    json_out_end_object(out);
}

static void write_answer(struct json_out *out, const struct trial *trial, const struct text *text)
{
    const struct scenario *s = trial->scenario;
    uint64_t tokens = (uint64_t)s->batch.size * (uint64_t)s->batch.seq;
    struct modelled_figures figures;
    struct program_work work;

    program_work(&work, trial->program);
    modelled_figures_of(&figures, trial->record, tokens);
    json_out_begin_object(out);
    json_out_key_double(out, "step_seconds", figures.step_s);
    json_out_key(out, "model_flops");
    json_out_uint(out, work.model_flops);
    json_out_key_double(out, "mfu", figures.mfu);
    json_out_key_double(out, "hfu", figures.hfu);
    json_out_key_double(out, "peak_bytes", figures.memory_bytes);
    json_out_key(out, "fits");
    json_out_bool(out, figures.fits);
    json_out_key(out, "breakdown");
    modelled_json(out, trial->record, tokens);
    write_memory(out, trial->program);
    json_out_key(out, "scenario");
    json_out_string(out, text_get(text));
    json_out_end_object(out);
}

static int answer_train_step(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct train_step_trial planned;
    int status = train_step_trial_init(&planned, in, NULL, err);

    if (status != SHD_OK)
        return status;
    write_answer(out, &planned.trial, &planned.text);
    train_step_trial_fini(&planned);
    return SHD_OK;
}

const struct query_op query_train_step_ops[] = {{"plan.train_step", answer_train_step},
                                                {NULL, NULL}};
