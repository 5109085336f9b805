/* head.h - the head of an explanation: the step, its mesh, and how its ops were placed.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_EXPLAIN_HEAD_H
#define CMD_EXPLAIN_HEAD_H

#include "cmd/explain/lesson.h"

/* Add the step, with the number of ops that communicate and their bytes. */
void head_add(const struct lesson *lesson, struct text *out);

/* Add how the ops' shardings were chosen, and how to read a sharding. */
void head_add_placement(const struct lesson *lesson, struct text *out);

#endif /* CMD_EXPLAIN_HEAD_H */
