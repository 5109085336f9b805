/* training/torchtitan.h - the table of torchtitan's options, and the readers of its two kinds of
 * files.
 *
 * The options are those of its TOML files of 2024 and 2025, and of the JSON that it writes of a
 * configuration in Python since 2026; a key is that of the file with its section, as
 * "training.seq_len".
 *
 * Thread class: the table is immutable; a job is owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRAINING_TORCHTITAN_H
#define TRAINING_TORCHTITAN_H

#include "training/job.h"

extern const struct import_option torchtitan_options[]; /* ended by a row without a name */

/* Whether a value has the quotes that its option wants: a number or a truth has none, in a file of
 * torchtitan every other text has some.  Else false, reported at `place`. */
bool torchtitan_check_quotes(const char *name, const char *value, bool quoted, struct place place,
                             struct diag *diag);

/* Store the value of an option; `value` is NULL if there is none.  An option with an effect may be
 * given only once. */
void torchtitan_set(struct import_job *job, const char *name, const char *value, struct place key,
                    struct place place, struct diag *diag);

/* Read the JSON of a whole configuration; job->end becomes the end of the text. */
void torchtitan_read_json(struct import_job *job, struct place first, const char *text,
                          struct diag *diag);

#endif /* TRAINING_TORCHTITAN_H */
