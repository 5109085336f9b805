/* fields.h - a question held to the fields that are told of its op.
 *
 * The rows that `query --list` prints are what is known: a key that has no row is an error, in
 * objects below as well.  The name of a row is the way to it, "layout.zero.stage"; '*' in it is any
 * key.  An object without rows below it has keys of its own, which the op knows.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef QUERY_FIELDS_H
#define QUERY_FIELDS_H

#include <jansson.h>

#include "query/query.h"

/* `where` is what the object is, for messages: the op, or "a leaf".  SHD_EINVAL: an unknown key;
 * SHD_ETYPE: a whole number, number, text, boolean, object or list that is none (null is as if it were
 * not there); SHD_ERANGE: a whole number out of the range of its row. */
SHD_MUST_CHECK int fields_check(const struct query_field *fields, const char *where,
                                const json_t *in, struct shd_error *err);

/* SHD_EINVAL: an unknown key of `where`, which knows `keys`. */
SHD_MUST_CHECK int fields_unknown(const char *key, const char *where, const char *const *keys,
                                  size_t nkeys, struct shd_error *err);

#endif /* QUERY_FIELDS_H */
