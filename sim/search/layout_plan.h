/* search/layout_plan.h - plans a layout: whether it fits, and its modelled figures.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_LAYOUT_PLAN_H
#define SEARCH_LAYOUT_PLAN_H

#include "report/modelled.h"
#include "search/attempt.h"

struct plan {
    enum variant_outcome state;
    struct modelled_figures figures; /* zeros if the layout was refused */
    uint64_t program;                /* a hash: equal programs have equal ones */
};

/* Plan a layout.  SHD_OK, also for a refused layout: then `err` says why.  SHD_ENOMEM. */
SHD_MUST_CHECK int plan_layout(struct plan *out, const struct subject *subject,
                               const struct layout *layout, struct shd_error *err);

#endif /* SEARCH_LAYOUT_PLAN_H */
