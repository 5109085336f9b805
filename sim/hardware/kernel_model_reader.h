/* kernel_model_reader.h - the models of kernels in a cluster's file.
 *
 *   measured_kernels: h100-sxm   those of a shipped cluster with the same devices, or
 *   measured_kernels:
 *     - kernel: product
 *       type: bfloat16
 *       constants: {start_us: 2.8, memory: 0.83, ..}
 *       axes: [[0, 9], [5, 7], [5, 7]]    log2 of the first point's size, and how many points
 *       correction: 0 1 -3 ..             hundredths of a natural logarithm, the last axis first
 *       rows: 18204
 *       error: [0.029, 0.084]             median and 90th percentile, of rows not fitted to
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef HARDWARE_KERNEL_MODEL_READER_H
#define HARDWARE_KERNEL_MODEL_READER_H

#include "base/diag.h"
#include "base/yaml.h"
#include "hardware/kernel_model.h"

/* Of a unit of the correction's numbers. */
#define KERNEL_HUNDREDTH 0.01

/* Read the models of a cluster's file; *out stays NULL if it has none.  Faults go to `diag`.  Free
 * *out with kernel_models_destroy(). */
void kernel_models_read(struct kernel_models **out, const struct yaml_node *root, struct diag *diag);

#endif /* HARDWARE_KERNEL_MODEL_READER_H */
