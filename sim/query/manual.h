/* manual.h - what is told of an op: its input, its output, its errors, an example.
 *
 * `query --list OP` prints it, and shardsim-query(7) is made of it (man/manual.sh).
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef QUERY_MANUAL_H
#define QUERY_MANUAL_H

#include "base/text.h"
#include "query/query.h"

/* Append the text of an op.  A field is a line "  NAME: TYPE; DEFAULT" and one of what it means;
 * the question and the answer of the example are a line each. */
void manual_print(struct text *out, const struct query_op *op);

#endif /* QUERY_MANUAL_H */
