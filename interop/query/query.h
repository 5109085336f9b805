/* query.h - the library for other languages: JSON objects, one a line, in and out.
 *
 * A question is {"id": any, "op": "name", "in": {...}}; its answer {"id", "out"} or {"id", "err":
 * {"kind", "message"}}. A family of ops is one file with its own table; query.c lists the families
 * that need the simulator, and forwards to those of the layout systems
 * (layouts/query/layout_ops.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef QUERY_QUERY_H
#define QUERY_QUERY_H

#include <shd/error.h>

#include <stdio.h>

#include "question/op.h"

/* Op n, family by family; NULL after the last. */
const struct query_op *query_op_at(size_t n);

/* The op with a name; NULL: there is none. */
const struct query_op *query_op_find(const char *name);

/* Write "there is no op 'NAME'" into `buffer`, with the nearest op or a hint where ops are listed;
 * returns `buffer`. */
const char *query_no_op(const char *name, char *buffer, size_t size);

/* Families that need the simulator, each ended by a row without name. */
extern const struct query_op query_kernel_time_ops[];
extern const struct query_op query_layer_ops[];
extern const struct query_op query_moe_route_ops[];
extern const struct query_op query_pipeline_ops[];
extern const struct query_op query_plan_search_ops[];
extern const struct query_op query_replay_ops[];
extern const struct query_op query_reshard_ops[];
extern const struct query_op query_ring_balance_ops[];
extern const struct query_op query_scenario_ops[];
extern const struct query_op query_step_ops[];
extern const struct query_op query_train_ops[];
extern const struct query_op query_train_step_ops[];

/* Answer every line of a file until its end, or until *stop_request is set (NULL: never).  SHD_OK;
 * SHD_ESYSTEM when reading, or writing answers, fails; SHD_ENOMEM when there was no memory to
 * continue, or none for some answer: that answer is an error of kind "no-memory", or of kind
 * "system" for a lack of threads. */
SHD_MUST_CHECK int query_serve(FILE *in, FILE *out, const int *stop_request, struct shd_error *err);

#endif /* QUERY_QUERY_H */
