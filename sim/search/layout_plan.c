/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "search/layout_plan.h"

#include "base/hash.h"

/* Of what the ops are and work on.  Programs of equal hashes may still move their arrays over other
 * links, which their seconds tell. */
static uint64_t hash_of(const struct program *p)
{
    uint64_t hash = HASH_BEGIN;

    for (uint32_t i = 0; i < p->nops; i++) {
        const struct program_op *op = &p->ops[i];

        hash = hash_word(hash, (uint32_t)op->kind);
        hash = hash_word(hash, (uint32_t)op->part);
        hash = hash_word(hash, op->stage);
        for (uint32_t k = 0; k < op->ninputs; k++)
            hash = hash_word(hash, op->inputs[k]);
        for (uint32_t k = 0; k < op->noutputs; k++)
            hash = hash_word(hash, (uint32_t)p->buffers[op->outputs[k]].bytes);
    }
    return hash;
}

int plan_layout(struct plan *out, const struct subject *subject, const struct layout *layout,
                struct shd_error *err)
{
    struct variant attempt;
    struct plan plan = {.state = VARIANT_REFUSED};
    int status =
        attempt_init(&attempt, subject, layout, ATTEMPT_WHOLE, 0, SCENARIO_NLAYER_TYPES, err);

    if (status == SHD_OK) {
        if (subject->filter.check)
            status = subject->filter.check(subject->filter.arg, &attempt.trial, err);
        if (status == SHD_OK)
            status = variant_plan(&attempt, false, err);
        if (status == SHD_OK) {
            plan.program = hash_of(attempt.trial.program);
            modelled_figures_of(&plan.figures, attempt.trial.record,
                                (uint64_t)(subject->space.batch * subject->space.seq));
            plan.state = attempt.outcome;
        }
        variant_fini(&attempt);
    }
    *out = plan;
    return status == SHD_ENOMEM ? SHD_ENOMEM : SHD_OK;
}
