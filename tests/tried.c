/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tried.h"

#include "cost/plan.h"
#include "step.h"
#include "tap.h"

bool tried_init(struct tried *out, const char *text, size_t length)
{
    struct diag errors = DIAG_INIT;
    bool good;

    *out = (struct tried){.file = NULL};
    good = scenario_parse(&out->file, "test.yaml", text, length, NULL, 0, &errors) == SHD_OK &&
           trial_init(&out->trial, &out->file->scenarios[0], &errors) == SHD_OK;
    if (!good)
        diag("%s", errors.nmessages ? errors.messages[0].text : "no message");
    diag_fini(&errors);
    return good;
}

void tried_fini(struct tried *tried)
{
    trial_fini(&tried->trial);
    scenario_file_destroy(tried->file);
}

/* AdamW in float16 may divide 0 by 0, as small moments underflow: then run and reference only have
 * to agree. */
static bool is_right(const struct tried *tried)
{
    const struct record *record = tried->trial.record;

    return tried->file->scenarios[0].model.dtype == SHD_F16 ? record_matches(record)
                                                            : record_verified_ok(record);
}

bool tried_check(struct tried *tried, const char *what)
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
