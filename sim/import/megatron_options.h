/* import/megatron_options.h - what Megatron-LM's options and torchrun's mean for a layout, a row
 * each: read, not to be said by a scenario, or known to say nothing of the layout.
 *
 * Thread class: the table is immutable; a job is owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef IMPORT_MEGATRON_OPTIONS_H
#define IMPORT_MEGATRON_OPTIONS_H

#include "import/job.h"

extern const struct import_option megatron_options[]; /* ended by one without a name */

/* Put an option where it belongs; `value` is NULL where there is none. */
void megatron_set(struct import_job *job, const char *name, const char *value, struct place place,
                  struct place of_value, struct diag *diag);

#endif /* IMPORT_MEGATRON_OPTIONS_H */
