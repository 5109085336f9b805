/* manual.h - the documentation of an op: its input, its output, its errors, an example.
 *
 * `query --list OP` prints it, and shardsim-query(7) is generated from it (man/manual.sh).
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef QUERY_MANUAL_H
#define QUERY_MANUAL_H

#include "base/text.h"
#include "query/query.h"

/* Append an op's text.  A field is a line " NAME: TYPE; DEFAULT" and a line with its meaning; the
 * example's question and answer are a line each. */
void manual_print(struct text *out, const struct query_op *op);

#endif /* QUERY_MANUAL_H */
