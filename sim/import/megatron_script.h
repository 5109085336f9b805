/* import/megatron_script.h - finds the options of Megatron-LM's command in the script that launches
 * the command.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef IMPORT_MEGATRON_SCRIPT_H
#define IMPORT_MEGATRON_SCRIPT_H

#include "import/job.h"

/* Read a command, or the script that launches one, with the given variables of the job.  Faults are
 * reported, and unknown values that matter. */
void megatron_read_script(struct import_job *job, struct place first, const char *text,
                          struct diag *diag);

#endif /* IMPORT_MEGATRON_SCRIPT_H */
