/* fields.h - checking a question against the documented fields of its op.
 *
 * The rows that `query --list` prints are the known fields: a key without a row is an error, in
 * nested objects, too.  A row's name is its path, "layout.zero.stage", in which '*' matches any
 * key.  An object without rows below it has keys that only the op knows.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef QUESTION_FIELDS_H
#define QUESTION_FIELDS_H

#include <jansson.h>

#include "question/op.h"

/* Check an object; `where` names it in messages: the op, or "a leaf".  SHD_EINVAL: unknown key;
 * SHD_ETYPE: a value of another type than whole number, number, text, boolean, object or list as
 * its row requires (null counts as missing); SHD_ERANGE: a whole number outside the range of its
 * row. */
SHD_MUST_CHECK int fields_check(const struct query_field *fields, const char *where,
                                const json_t *in, struct shd_error *err);

/* SHD_EINVAL for an unknown key of `where`, whose keys are `keys`. */
SHD_MUST_CHECK int fields_unknown(const char *key, const char *where, const char *const *keys,
                                  size_t nkeys, struct shd_error *err);

#endif /* QUESTION_FIELDS_H */
