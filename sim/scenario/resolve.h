/* scenario/resolve.h - replacing names of `partition_axis` in specs by mesh axes.
 *
 * Thread class: as the reader's.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_RESOLVE_H
#define SCENARIO_RESOLVE_H

#include "scenario/value_reader.h"

/* Resolve `partition_axis`, and with it `params`, `constraints` and `axes`, once all layers are
 * read.  Reports faults. */
void resolve_names(struct reader *r);

#endif /* SCENARIO_RESOLVE_H */
