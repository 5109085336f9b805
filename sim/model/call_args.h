/* call_args.h - the arguments of a function of a `graph:` section, read and judged.
 *
 * Each of these that cannot read an argument notes an error with its place.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MODEL_CALL_ARGS_H
#define MODEL_CALL_ARGS_H

#include "model/lines.h"

/* A dim given as an argument: a bare name. */
uint32_t call_dim(struct lines *l, const struct expr *e);

/* A dim argument that the array must have. */
uint32_t call_dim_of(struct lines *l, const struct expr *e, uint32_t node);

/* The argument with a key, or NULL. */
const struct expr *call_key(const struct expr *call, const char *key);

/* The n-th argument without a key, or NULL. */
const struct expr *call_positional(const struct expr *call, uint32_t n);

/* Read a true or false argument by key; returns false with an error for anything else. */
bool call_flag(struct lines *l, const struct expr *call, const char *key, bool *out);

/* Read a number; false after an error.  By key: *out keeps its default where the key is not given.
 */
bool call_number(struct lines *l, const struct expr *e, double *out);
bool call_number_key(struct lines *l, const struct expr *call, const char *key, double *out);

/* Read arguments: of each letter of `takes` an array of fractions in the result's dims (x), any
 * array (a), a dim of the array before (d), or any dim (n).  False after an error; all arguments
 * are judged. */
bool call_args(struct lines *l, const struct expr *call, const struct expr_dims *target,
               const char *takes, uint32_t *out);

/* Whether a dim is among `count` dims. */
bool call_lists(const uint32_t *dims, uint32_t count, uint32_t dim);

/* Transpose x to have `dim` last, or first, as the graph's ops require. */
uint32_t call_with_dim(struct lines *l, uint32_t x, uint32_t dim, bool last);

#endif /* MODEL_CALL_ARGS_H */
