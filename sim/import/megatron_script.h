/* import/megatron_script.h - the options of Megatron-LM's command, out of the script that launches
 * it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef IMPORT_MEGATRON_SCRIPT_H
#define IMPORT_MEGATRON_SCRIPT_H

#include "import/job.h"

/* Read a command, or the script that launches one, with the variables that the job is given.
 * What is wrong is reported, and what is not known and matters. */
void megatron_read_script(struct import_job *job, struct place first, const char *text,
                          struct diag *diag);

#endif /* IMPORT_MEGATRON_SCRIPT_H */
