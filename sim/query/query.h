/* query.h - the library for other languages: a JSON object a line in, one a line out.
 *
 * A question is {"id": any, "op": "name", "in": {...}}; its answer {"id", "out"} or {"id", "err":
 * {"kind", "message"}}.  A family of ops is one file with a table of its own; query.c lists them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef QUERY_QUERY_H
#define QUERY_QUERY_H

#include <shd/error.h>

#include <jansson.h>
#include <stdio.h>

#include "base/json_out.h"

/* A key of a question or an answer; without a name, what any value of the object is.  Of a question
 * it is the way to the key, "layout.zero.stage", where '*' is any; a question is held to its rows
 * (fields.h). */
struct query_field {
    const char *name;
    const char *type; /* as man/query.txt explains them; "whole number from 0 to 3" has a range */
    /* What counts where it is not given; NULL: it must be given, or is of an answer. */
    const char *fallback;
    const char *about; /* a sentence */
};

/* Fields, ended by a row without a type. */
#define QUERY_FIELDS(...) \
    (const struct query_field[]){__VA_ARGS__, {NULL, NULL, NULL, NULL}}

/* An op, and what is told of it: by `query --list OP`, and in shardsim-query(7), which is made of
 * that.  The example is really asked (tests/query_manual.sh). */
struct query_op {
    const char *name;
    /* Write the answer's `out` value, or return a status and say why; what was written is dropped
     * then. */
    int (*answer)(const json_t *in, struct json_out *out, struct shd_error *err);
    const char *about; /* what it answers, in sentences */
    const struct query_field *in;
    const char *gives;             /* the type of `out` */
    const struct query_field *out; /* its keys, if it is an object; NULL: none */
    const char *errors;            /* kinds that not every op has; NULL: none */
    /* An example: `in`, and what is behind the id of the answer, where '...' stands for what is
     * left out.  JSON with ' for ", which nothing in it needs. */
    const char *question, *reply;
};

/* Op n, family by family; NULL behind the last. */
const struct query_op *query_op_at(size_t n);

/* The op of a name; NULL: there is none. */
const struct query_op *query_op_find(const char *name);

/* "there is no op 'NAME'", with the nearest there is or where they are listed; into `buffer`, which
 * is returned. */
const char *query_no_op(const char *name, char *buffer, size_t size);

/* Families, each ended by a row without name. */
extern const struct query_op query_easydel_ops[];
extern const struct query_op query_eformer_analyze_ops[];
extern const struct query_op query_eformer_auto_ops[];
extern const struct query_op query_eformer_axes_ops[];
extern const struct query_op query_eformer_extract_ops[];
extern const struct query_op query_eformer_match_ops[];
extern const struct query_op query_eformer_mesh_ops[];
extern const struct query_op query_eformer_partition_axis_ops[];
extern const struct query_op query_groups_ops[];
extern const struct query_op query_layer_ops[];
extern const struct query_op query_moe_route_ops[];
extern const struct query_op query_pipeline_ops[];
extern const struct query_op query_plan_search_ops[];
extern const struct query_op query_rank_order_ops[];
extern const struct query_op query_regex_ops[];
extern const struct query_op query_replay_ops[];
extern const struct query_op query_reshard_ops[];
extern const struct query_op query_ring_balance_ops[];
extern const struct query_op query_scenario_ops[];
extern const struct query_op query_sharding_ops[];
extern const struct query_op query_split_ops[];
extern const struct query_op query_step_ops[];
extern const struct query_op query_train_ops[];
extern const struct query_op query_train_step_ops[];
extern const struct query_op query_t5x_chunk_ops[];
extern const struct query_op query_t5x_mesh_ops[];
extern const struct query_op query_t5x_ops[];
extern const struct query_op query_tree_ops[];

/* Answer every line of a file until its end, or until *stop_request is set (NULL: never).  SHD_OK,
 * SHD_ESYSTEM when it cannot be read or the answers cannot be written, SHD_ENOMEM when there was no
 * memory to read on, or none for some answer, which is then an error of kind "no-memory", or of
 * kind "system" where there were no threads. */
SHD_MUST_CHECK int query_serve(FILE *in, FILE *out, const int *stop_request, struct shd_error *err);

#endif /* QUERY_QUERY_H */
