/* training/megatron.h - parts of the reader of Megatron-LM's options: its programs, its
 * recomputation, and the files of its tests.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRAINING_MEGATRON_H
#define TRAINING_MEGATRON_H

#include "training/job.h"
#include "training/launch_script.h"

extern const struct launch_system megatron_system;

/* Look for a program in a word of a command, or in the path of a test's folder: "a/pretrain_t5.py".
 * The program's model is noted; a model that no scenario has is an error, with a remedy. */
void megatron_read_program(struct import_job *job, const char *word, struct place place,
                           struct diag *diag);

/* Note for a comment if no known program is named. */
void megatron_note_program(struct import_job *job);

/* Report options that break rules which Megatron-LM checks at startup. Call before other options
 * are derived from the given ones. */
void megatron_check_rules(const struct import_job *job, struct diag *diag);

/* Find the recomputed values from all options together; experts and stages are known by then. */
void megatron_find_recompute(struct import_job *job, struct diag *diag);

/* Find the activations that go to the host; experts are known by then. */
void megatron_find_offload(struct import_job *job, struct diag *diag);

/* Whether a text is a model_config.yaml of Megatron-LM's functional tests. */
bool megatron_is_test(const char *text);

/* Read a model_config.yaml; job->end becomes the end of the file. */
void megatron_read_test(struct import_job *job, struct place first, const char *text,
                        struct diag *diag);

#endif /* TRAINING_MEGATRON_H */
