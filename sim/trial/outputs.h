/* trial/outputs.h - the outputs of an executed program, put together from the devices' shards.
 *
 * Thread class: owned by one thread at a time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRIAL_OUTPUTS_H
#define TRIAL_OUTPUTS_H

#include "base/text.h"
#include "program/program.h"

struct outputs;

/* Room for all whole outputs of a program.  SHD_ENOMEM. */
SHD_MUST_CHECK int outputs_create(struct outputs **out, const struct program *program,
                                  struct shd_error *err);
void outputs_destroy(struct outputs *outputs); /* NULL is allowed */

/* A walk_together_fn, of struct outputs: collect the outputs after a step; all devices must be in
 * this process.  Of replicas, the lowest device's shard is used. */
void outputs_take(void *outputs, uint32_t step, const void *const *const *results);

/* Add the outputs as a safetensors file. */
void outputs_print(const struct outputs *outputs, struct text *out);

#endif /* TRIAL_OUTPUTS_H */
