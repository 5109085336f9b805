/* kernel_write.h - models of measured kernels as a cluster's file has them.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CALIBRATE_KERNEL_WRITE_H
#define CALIBRATE_KERNEL_WRITE_H

#include "base/text.h"
#include "hardware/kernel_model.h"

/* Append the file `text` without its list `measured_kernels` (or the name in its place), and then
 * the list of these models. */
void kernel_write(struct text *out, const char *text, const struct kernel_models *models);

#endif /* CALIBRATE_KERNEL_WRITE_H */
