/* kernel_question.h - the kernel that a question of kernel.time asks about.
 *
 * The op, type and sizes of a question are the columns of tables of measured kernels
 * (hardware/kernel_row.h); columns that a question does not have are those of a usual measurement.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef QUERY_KERNEL_QUESTION_H
#define QUERY_KERNEL_QUESTION_H

#include <jansson.h>

#include "hardware/kernel_row.h"

/* Read `op`, `type` and `sizes`.  SHD_ETYPE: one is missing or of another JSON type; SHD_EINVAL:
 * there is no such op, type or size, or sizes contradict each other; SHD_ENOMEM. */
SHD_MUST_CHECK int kernel_question_read(struct kernel_row *out, const json_t *in,
                                        struct shd_error *err);

#endif /* QUERY_KERNEL_QUESTION_H */
