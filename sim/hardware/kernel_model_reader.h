/* kernel_model_reader.h - the models of kernels in a cluster's file.
 *
 *   measured_kernels: h100-sxm   those of a shipped cluster with the same devices, or
 *   measured_kernels:
 *     - no_slower_than: h100-sxm    a shipped cluster whose device has no larger rate: whose times
 *                                   are never exceeded, whatever scatter there was in measuring
 *     - kernel: product
 *       type: bfloat16
 *       constants: {start_us: 2.8, memory: 0.83, ..}
 *       axes: [[0, 9], [5, 7], [5, 7]]    log2 of the first point's size, and how many points
 *       correction: 0 1 -3 ..             hundredths of a natural logarithm, the last axis first
 *       sizes: {m: [1, 32768], ..}        the least and the most that were measured
 *       error: [18204, 0.029, 0.084]      rows, median and 90th percentile, of rows not fitted to
 *       by_size: [[6068, 0.03, 0.1], ..]  the same by the first of the sizes, in classes; of kinds
 *                                         whose types are names there is none
 *
 * Names stay names here; shipped_models.h has the models of them.
 *
 * Thread class: any thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef HARDWARE_KERNEL_MODEL_READER_H
#define HARDWARE_KERNEL_MODEL_READER_H

#include "base/diag.h"
#include "base/yaml.h"
#include "hardware/hardware.h"

#define KERNEL_MODELS_KEY "measured_kernels"
#define KERNEL_NO_SLOWER_KEY "no_slower_than"

/* Of a unit of the correction's numbers. */
#define KERNEL_HUNDREDTH 0.01

/* Read the models of a cluster's file, or the names of the clusters whose they are, if it has some;
 * the rates of its device were read.  Faults go to `diag`. */
void kernel_models_read(struct hardware *out, const struct yaml_node *root, struct diag *diag);

#endif /* HARDWARE_KERNEL_MODEL_READER_H */
