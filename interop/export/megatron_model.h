/* megatron_model.h - the model and its experts as options of Megatron-LM, and how options are
 * added; for megatron.c.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EXPORT_MEGATRON_MODEL_H
#define EXPORT_MEGATRON_MODEL_H

#include <stdint.h>

#include "export/roles.h"

/* Set the job's error to "Megatron-LM has no WHAT".  SHD_EUNSUPPORTED. */
int megatron_refuse(struct export_job *c, const char *what);

/* Add an option to the command, on a line of its own. */
void megatron_add_flag(struct export_job *c, const char *flag);
void megatron_add_number(struct export_job *c, const char *option, int64_t value);
void megatron_add_fraction(struct export_job *c, const char *option, double value);
void megatron_add_word(struct export_job *c, const char *option, const char *value);

/* Whether Megatron-LM has such a model; such a router, of a model that has one; such a layout of
 * experts. */
export_check megatron_check_model, megatron_check_router, megatron_check_experts;

void megatron_add_model(struct export_job *c);
void megatron_add_experts(struct export_job *c);

#endif /* EXPORT_MEGATRON_MODEL_H */
