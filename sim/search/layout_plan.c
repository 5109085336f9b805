/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "search/layout_plan.h"

int plan_layout(struct plan *out, const struct subject *subject, const struct layout *layout,
                struct shd_error *err)
{
    struct attempt attempt;
    struct plan plan = {.state = PLAN_REFUSED};
    int status = attempt_init(&attempt, subject, layout, ATTEMPT_WHOLE, 0, err);

    if (status == SHD_OK) {
        status = trial_plan(&attempt.trial, err);
        if (status == SHD_OK) {
            modelled_figures_of(&plan.figures, attempt.trial.record,
                                (uint64_t)(subject->space.batch * subject->space.seq));
            plan.state = plan.figures.fits && trial_fits(&attempt.trial) ? PLAN_FITS : PLAN_TOO_BIG;
        }
        attempt_fini(&attempt);
    }
    *out = plan;
    return status == SHD_ENOMEM ? SHD_ENOMEM : SHD_OK;
}
