/* hardware_text.h - the figures of a cluster in words.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_HARDWARE_TEXT_H
#define REPORT_HARDWARE_TEXT_H

#include "base/text.h"
#include "hardware/hardware.h"

/* A line: its name, flops, memory and rates. */
void hardware_row(const struct hardware *hardware, struct text *out, size_t width);

/* All figures, in lines of at most `width` columns: rates, links, constants, the roofline of a
 * matmul, and the measurements that validate the model. */
void hardware_figures(const struct hardware *hardware, struct text *out, size_t width);

#endif /* REPORT_HARDWARE_TEXT_H */
