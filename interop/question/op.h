/* op.h - an op of `query` as a row: its documented fields and the function that answers it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef QUESTION_OP_H
#define QUESTION_OP_H

#include <shd/error.h>

#include <jansson.h>

#include "base/json_out.h"

/* A field of a question or an answer; without a name, it describes any value of the object.  In a
 * question the name is a path, "layout.zero.stage", in which '*' matches any key; questions are
 * checked against these rows (fields.h). */
struct query_field {
    const char *name;
    const char *type; /* as man/query.txt explains types; "whole number from 0 to 3" has a range */
    /* Default value; NULL: required, or a field of an answer. */
    const char *fallback;
    const char *about; /* a sentence */
};

/* A list of fields, ended by a row without a type. */
#define QUERY_FIELDS(...) \
    (const struct query_field[]){__VA_ARGS__, {NULL, NULL, NULL, NULL}}

/* An op with its documentation, which `query --list OP` prints and shardsim-query(7) contains.
 * tests/query/query_manual.sh asks the example. */
struct query_op {
    const char *name;
    /* Write the answer's `out` value, or return a status and the reason; what was written is
     * discarded then. */
    int (*answer)(const json_t *in, struct json_out *out, struct shd_error *err);
    const char *about; /* description, in sentences */
    const struct query_field *in;
    const char *gives;             /* the type of `out` */
    const struct query_field *out; /* fields of `out`, if it is an object; NULL: none */
    const char *errors;            /* kinds of errors that not every op has; NULL: none */
    /* An example: `in`, and the answer after its id, where '...' stands for an omitted part.  JSON
     * with ' for ", so that no value may contain '. */
    const char *question, *reply;
};

#endif /* QUESTION_OP_H */
