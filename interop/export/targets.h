/* targets.h - all targets, for export.c and the files that define them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EXPORT_TARGETS_H
#define EXPORT_TARGETS_H

#include "export/export.h"

extern const struct export_target export_deepspeed;
extern const struct export_target export_jax;
extern const struct export_target export_megatron;
extern const struct export_target export_pytorch;
extern const struct export_target export_sglang;
extern const struct export_target export_torchtitan;
extern const struct export_target export_vllm;

#endif /* EXPORT_TARGETS_H */
