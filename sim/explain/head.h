/* head.h - what stands above an explanation: the step, its mesh, and what decided its placement.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EXPLAIN_HEAD_H
#define EXPLAIN_HEAD_H

#include "explain/lesson.h"

/* The step, and how many of its ops communicate how much. */
void head_add(const struct lesson *lesson, struct text *out);

/* What decided how ops are sharded, and how to read a layout. */
void head_add_placement(const struct lesson *lesson, struct text *out);

#endif /* EXPLAIN_HEAD_H */
