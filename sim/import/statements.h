/* import/statements.h - a file of Python or gin as what it gives names to.
 *
 *   NAME = value            a binding                    include 'file.gin'      told, not read
 *   a.b.c = value           a binding of gin             import x, from x import y     passed over
 *   scope/a.b:              gin: those indented below    def f(...):, class C:         passed over
 *     c = value             are a.b.c                    return value, value     without a name
 *
 * Of what is bound several times the last counts.  Statements that decide or repeat (if, for) are
 * errors.
 *
 * Thread class: owned by one thread while it is read; afterwards any number may read.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef IMPORT_STATEMENTS_H
#define IMPORT_STATEMENTS_H

#include "import/value.h"

#define STATEMENTS_MAX 10000 /* far above what people write */

struct statement {
    char *name; /* "" of a value without one; with the scope left out */
    bool include;
    struct place place;
    struct value *value;
};

struct statements {
    size_t count;
    struct statement *list;
};

/* Read a text, which ends with a NUL at `length`.  What is wrong is reported; it ends at the first
 * fault.  Free with statements_fini() either way. */
void statements_read(struct statements *out, struct place first, const char *text, size_t length,
                     struct diag *diag);
void statements_fini(struct statements *statements);

/* What `parameter` is bound to: by a binding whose name ends with it, or by the keyword of a call;
 * with an `owner` ("PjitPartitioner") only where that is the part before it, or the last part of
 * the call's name.  NULL: nothing is; else resolved. */
const struct value *statements_find(const struct statements *statements, const char *owner,
                                    const char *parameter);

/* What a plain name stands for, through others, as far as there are bindings. */
const struct value *statements_resolve(const struct statements *statements,
                                       const struct value *value);

#endif /* IMPORT_STATEMENTS_H */
