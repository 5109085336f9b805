/* search/plan.h - what the plan of a layout says.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_PLAN_H
#define SEARCH_PLAN_H

#include "report/modelled.h"
#include "search/attempt.h"

enum plan_state {
    PLAN_REFUSED, /* there is no such program */
    PLAN_TOO_BIG, /* it does not fit */
    PLAN_FITS
};

struct plan {
    enum plan_state state;
    struct modelled_figures figures; /* zeros where it was refused */
};

/* Plan a layout.  SHD_OK, and where it was refused `err` says why; SHD_ENOMEM. */
SHD_MUST_CHECK int plan_layout(struct plan *out, const struct subject *subject,
                               const struct layout *layout, struct shd_error *err);

#endif /* SEARCH_PLAN_H */
