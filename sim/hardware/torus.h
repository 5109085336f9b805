/* torus.h - a collective on a torus of links.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef HARDWARE_TORUS_H
#define HARDWARE_TORUS_H

#include "hardware/hardware.h"

/* Compute the part of the innermost tier, a torus, in a collective over the group's members there.
 * `array_bytes` is the whole array: the result of an all-gather, else the operand of one member. */
void torus_part(struct hardware_part *out, const struct hardware_tier *tier, enum coll_kind kind,
                const struct hardware_group *group, double array_bytes);

/* Whether the group's members along an axis form a closed ring, rather than a line. */
bool torus_is_ring(const struct hardware_tier *tier, const struct hardware_group *group, int axis);

#endif /* HARDWARE_TORUS_H */
