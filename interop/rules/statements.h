/* rules/statements.h - a file of Python or gin as a list of named values.
 *
 * NAME = value            a binding                    include 'file.gin'      told, not read
 * a.b.c = value           a binding of gin             import x, from x import y     passed over
 * scope/a.b:              gin: those indented below    def f(...):, class C:         passed over
 * c = value             are a.b.c                    return value, value     without a name
 *
 * If a name is bound several times the last binding counts.  Statements that decide or repeat (if,
 * for) are errors.
 *
 * Thread class: owned by one thread while it is read; afterwards any number may read.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RULES_STATEMENTS_H
#define RULES_STATEMENTS_H

#include "rules/value.h"

#define STATEMENTS_MAX 10000 /* far above what people write */

struct statement {
    char *name; /* without its scope; "" for a value without a name */
    bool include;
    struct place place;
    struct value *value;
};

struct statements {
    size_t count;
    struct statement *list;
};

/* Read a text, which ends with a NUL at `length`.  Reading ends at the first fault, which is
 * reported.  Free with statements_fini() either way. */
void statements_read(struct statements *out, struct place first, const char *text, size_t length,
                     struct diag *diag);
void statements_fini(struct statements *statements);

/* The value of `parameter`: of a binding whose name ends with `parameter`, or of a call's keyword;
 * with an `owner` ("PjitPartitioner") only if the owner is the part before, or the last part of the
 * call's name.  NULL: no value; else resolved. */
const struct value *statements_find(const struct statements *statements, const char *owner,
                                    const char *parameter);

/* The value bound to a plain name; names bound to names are followed. */
const struct value *statements_resolve(const struct statements *statements,
                                       const struct value *value);

#endif /* RULES_STATEMENTS_H */
