/* training/megatron_options.h - the table of Megatron-LM's and torchrun's options: a row says that an
 * option is read, that a scenario cannot express it, or that it has no effect on the layout.
 *
 * Thread class: the table is immutable; a job is owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRAINING_MEGATRON_OPTIONS_H
#define TRAINING_MEGATRON_OPTIONS_H

#include "training/job.h"

extern const struct import_option megatron_options[]; /* ended by a row without a name */

/* Store the value of an option; `value` is NULL if there is none. */
void megatron_set(struct import_job *job, const char *name, const char *value, struct place place,
                  struct place of_value, struct diag *diag);

#endif /* TRAINING_MEGATRON_OPTIONS_H */
