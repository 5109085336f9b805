/* Proposals of a draft (trial/serve.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "trial/serve.h"

#include <stdlib.h>
#include <string.h>

#include "base/pace.h"
#include "base/stored_array.h"
#include "model/serving.h"
#include "trial/collect.h"
#include "trial/given.h"
#include "trial/handoff.h"

/* The tokens of a decode without a draft, one a step. */
struct made {
    const struct program *program;
    int32_t *tokens; /* [batch][count] */
    int64_t batch, count;
    bool failed; /* no memory */
};

/* A walk_together_fn: keep all tokens that were made. */
static void keep(void *arg, uint32_t step, const void *const *const *results)
{
    struct made *m = arg;

    (void)step;
    for (uint32_t r = 0; r < m->program->nresults; r++) {
        const struct program_result *result = &m->program->results[r];
        const struct program_buffer *b = &m->program->buffers[result->buffer];

        if (result->kind != PROGRAM_OUTPUT || strcmp(result->name, SERVING_MADE) != 0)
            continue;
        m->batch = b->shape[0];
        m->count = b->shape[1];
        free(m->tokens);
        m->tokens = calloc((size_t)(m->batch * m->count) + 1, sizeof *m->tokens);
        m->failed |= !m->tokens;
        for (int32_t d = 0; m->tokens && d < shd_mesh_size(m->program->mesh); d++)
            collect_place(m->program, b, d, results[d][r], m->tokens);
    }
}

/* Execute the same decode without a draft, for as many tokens as proposals are compared with. */
static int make_alone(struct made *out, const struct trial *trial, const int *stop_request,
                      struct shd_error *err)
{
    struct scenario plain = *trial->scenario;
    struct trial alone;
    int status;

    plain.decode.tokens += plain.decode.draft;
    plain.decode.draft = 0;
    plain.decode.accepted = 0;
    plain.steps = scenario_decode_steps(&plain);
    status = trial_init_made(&alone, &plain, "without a draft", err);
    if (status != SHD_OK)
        return status;
    *out = (struct made){.program = alone.program};
    alone.nthreads = trial->nthreads;
    alone.memory = trial->memory;
    alone.together = keep;
    alone.together_arg = out;
    status = handoff_execute(&alone, stop_request, err);
    if (status == SHD_OK && (out->failed || !out->tokens))
        status = shd_error_set(err, SHD_ENOMEM, "no memory for the proposals of a draft");
    trial_fini(&alone);
    return status;
}

/* What is proposed for the token `at` of a sequence, rightly or not. */
static int32_t proposal(const struct made *m, int64_t row, int64_t at, bool right, int64_t vocab)
{
    int32_t token = m->tokens[row * m->count + (at < m->count ? at : m->count - 1)];

    return right ? token : (int32_t)((token + 1) % vocab);
}

/* Set the proposals of all steps, [step][batch][draft]. */
static void propose(int32_t *out, const struct made *m, const struct scenario *s)
{
    double each = scenario_step_tokens(s);

    for (int64_t step = 0; step < s->steps; step++) {
        int64_t before = pace_tokens(each, step), accepted = pace_tokens_of(each, step) - 1;

        for (int64_t row = 0; row < m->batch; row++)
            for (int64_t i = 0; i < s->decode.draft; i++)
                *out++ = proposal(m, row, before + i, i < accepted, s->model.vocab);
    }
}

/* Let the draft of a trial propose these. */
static bool give(const struct trial *trial, const struct made *m)
{
    uint64_t each = (uint64_t)(m->batch * trial->scenario->decode.draft);
    size_t count = (size_t)(each * (uint64_t)trial->scenario->steps);
    int32_t *all = graph_memory(trial->graph, count, sizeof *all);
    struct stored_array *array = graph_memory(trial->graph, 1, sizeof *array);
    struct kern_source source = {.stored = array, .place = {.per_step = each}};

    if (!all || !array)
        return false;
    propose(all, m, trial->scenario);
    *array = (struct stored_array){.dtype = SHD_I32, .bytes = count * sizeof *all, .memory = all};
    given_set(trial, SERVING_DRAFT, &source);
    return true;
}

int serve_execute(struct trial *trial, const int *stop_request, struct shd_error *err)
{
    struct made made = {.tokens = NULL};
    int status = SHD_OK;

    if (trial->scenario->step.decode && trial->scenario->decode.draft > 0) {
        if (trial->over_ranks)
            return shd_error_set(
                err, SHD_EUNSUPPORTED,
                "decode.draft: speculative decoding is executed in one process only");
        status = make_alone(&made, trial, stop_request, err);
        if (status == SHD_OK && !give(trial, &made))
            status = shd_error_set(err, SHD_ENOMEM, "no memory for the proposals of a draft");
        free(made.tokens);
    }
    return status == SHD_OK ? handoff_execute(trial, stop_request, err) : status;
}
