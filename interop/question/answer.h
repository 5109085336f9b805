/* answer.h - parts of any answer: a value of the question given back, and an error.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef QUESTION_ANSWER_H
#define QUESTION_ANSWER_H

#include <jansson.h>

#include "base/json_out.h"

/* Copy a value of the question unchanged; NULL is null. */
void answer_copy(struct json_out *out, const json_t *value);

/* Write the key "err" and {"kind", "message"} into an open object. */
void answer_error(struct json_out *out, const char *kind, const char *message);

#endif /* QUESTION_ANSWER_H */
