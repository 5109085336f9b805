/* import/megatron.h - what Megatron-LM's programs train, and the files of its tests.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef IMPORT_MEGATRON_H
#define IMPORT_MEGATRON_H

#include "import/job.h"

/* A word of a command, or the path of a test's folder, that may be a program: "a/pretrain_t5.py".
 * What it trains is noted; one whose model no scenario has is an error with what to do. */
void megatron_read_program(struct import_job *job, const char *word, struct place place,
                           struct diag *diag);

/* Whether no program is named that trains something known; that is told in a comment. */
void megatron_note_program(struct import_job *job);

/* What is computed again, of all options together; experts and stages are known by then. */
void megatron_find_recompute(struct import_job *job, struct diag *diag);

/* Whether a text is a model_config.yaml of Megatron-LM's functional tests. */
bool megatron_is_test(const char *text);

/* Read one; job->end becomes its end. */
void megatron_read_test(struct import_job *job, struct place first, const char *text,
                        struct diag *diag);

#endif /* IMPORT_MEGATRON_H */
