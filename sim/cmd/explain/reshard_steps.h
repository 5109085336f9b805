/* reshard_steps.h - the steps of a reshard on the links of a cluster: the collective, time and
 * bound of each.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_EXPLAIN_RESHARD_STEPS_H
#define CMD_EXPLAIN_RESHARD_STEPS_H

#include <shd/reshard.h>

#include "base/json_out.h"
#include "base/text.h"
#include "hardware/hardware.h"

struct reshard_steps {
    const struct shd_reshard_plan *plan;
    const int64_t *shape;
    const struct hardware *hardware; /* laid out for the mesh; NULL: no times (JSON only) */
};

/* Print a line for each step, of `width` where possible; or one JSON array. */
void reshard_steps_text(const struct reshard_steps *steps, struct text *out, size_t width);
void reshard_steps_json(const struct reshard_steps *steps, struct json_out *out);

#endif /* CMD_EXPLAIN_RESHARD_STEPS_H */
