/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tried.h"

#include "cost/plan.h"
#include "step.h"

/* AdamW in float16 may divide 0 by 0, as small moments underflow: then run and reference only have
 * to agree. */
static bool is_right(const struct variant *tried)
{
    const struct record *record = tried->trial.record;

    return tried->file->scenarios[0].model.dtype == SHD_F16 ? record_matches(record)
                                                            : record_verified_ok(record);
}

bool tried_check(struct variant *tried, const char *what)
{
    struct record *plan = NULL;
    struct shd_error err = {SHD_OK, ""};
    bool good = trial_execute(&tried->trial, NULL, &err) == SHD_OK &&
                plan_create(&plan, tried->trial.program, &err) == SHD_OK;
    const char *other = good ? step_disagreement(plan, tried->trial.record) : NULL;

    if (!good || other)
        diag("%s", other ? other : err.text);
    good =
        ok(good && is_right(tried), "%s: the unsharded numbers", what) &
        ok(good && !other, "%s: bytes, flops and peak memory of each device are the plan's", what);
    record_destroy(plan);
    return good;
}
