/* rules/value.h - values as Python writes them: literals, and calls that are kept as they stand.
 *
 *   None True 4 -1 1e-3 "text" r'\d+' (1, 2) [1, 2] {"a": 1} name a.b P("dp", None) f(n=2)
 *
 * and what gin adds: @module.function(), %MACRO.  Nothing is run: operators, conditions,
 * comprehensions, f-strings and indexing are errors at their place.  Nesting is bounded.
 *
 * Thread class: a value is owned by one thread while it is read; afterwards any number may read.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RULES_VALUE_H
#define RULES_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rules/source.h"

#define VALUE_DEPTH_MAX 64 /* brackets in brackets: several times what people write */

enum value_kind {
    VALUE_NONE,
    VALUE_BOOL,
    VALUE_INT,
    VALUE_REAL,
    VALUE_TEXT,
    VALUE_LIST, /* a list or a tuple */
    VALUE_DICT, /* its items are key, value, key, value, ... */
    VALUE_NAME, /* also `...`, gin's @name and %NAME */
    VALUE_CALL
};

struct value {
    enum value_kind kind;
    struct place place;
    char *text;     /* of TEXT; the dotted name of NAME and CALL, without gin's @ or % */
    int64_t number; /* of INT and BOOL */
    size_t nitems;  /* of LIST and DICT; arguments of CALL */
    struct value **items;
    char **keys; /* of CALL, one an argument: its keyword, or NULL; else NULL */
};

/* Read the next value, after spaces.  NULL with a report: no value comes next, or no memory.  Free
 * the value with value_destroy(). */
struct value *value_read(struct source *source);

void value_destroy(struct value *value); /* NULL is allowed */

/* The last part of the dotted name of a NAME or CALL; "" of others. */
const char *value_last_name(const struct value *value);

/* The argument of a call with a keyword, or else the argument without a keyword at `position`;
 * NULL: not given.  `keyword` may be NULL; position SIZE_MAX: none. */
const struct value *value_argument(const struct value *call, const char *keyword, size_t position);

/* Describe a value for messages: "None", "'text'", "a list of 3", "the name x". */
#define VALUE_DESCRIPTION_MAX 100
const char *value_describe(const struct value *value, char *buf, size_t size);

#endif /* RULES_VALUE_H */
