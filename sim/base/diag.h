/* base/diag.h - messages about input: where, what, and what was expected.
 *
 * All errors of a run are collected and printed together, sorted by place:
 *     FILE:LINE:COLUMN: error: what, and what was expected
 * The same message at the same place is kept once; one that differs in the numbers of paths alone,
 * as of the layers of a model, is told as "and N more like it".
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_DIAG_H
#define BASE_DIAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <shd/export.h>

#include "base/text.h"

/* Lines and columns count from 1; columns are characters, not bytes.  Line 0: the file as a whole,
 * printed without numbers; file NULL: no place, only "error: ...". */
struct place {
    const char *file; /* not owned */
    int line;
    int column;
};

struct diag_message {
    char *file; /* copied; NULL: no place */
    int line;
    int column;
    char *text;
    char *of_any;  /* the same for any layer; NULL: it names none */
    size_t nalike; /* others that differ from it in the numbers of layers */
};

#define DIAG_KEPT_MAX 1000 /* messages stored; with these it is full and looks at no more */
#define DIAG_PRINT_MAX 20  /* messages printed; then "and N more" */

struct diag {
    struct diag_message *messages;
    size_t nmessages;
    size_t nerrors; /* reported, stored or not: 0 means all is well */
    bool no_memory; /* for the work or for a message: no other message is to be believed */
};

#define DIAG_INIT         \
    {                     \
        NULL, 0, 0, false \
    }

void diag_init(struct diag *diag);
void diag_fini(struct diag *diag);

/* Report an error: a lower-case sentence without a full stop, in printable form (control bytes are
 * replaced). */
void diag_error(struct diag *diag, struct place place, const char *fmt, ...) SHD_PRINTF(3, 4);

/* Report that memory ran out, which takes none. */
void diag_no_memory(struct diag *diag);

/* Report that a call failed: what it says, or for SHD_ENOMEM that memory ran out. */
void diag_failure(struct diag *diag, struct place place, int status, const char *fmt, ...)
    SHD_PRINTF(4, 5);

/* What has come of work since there were `before` errors: SHD_OK, SHD_ENOMEM, or SHD_EINVAL. */
int diag_status(const struct diag *diag, size_t before);

/* Report what was reported elsewhere. */
void diag_append(struct diag *diag, const struct diag *more);

/* No further message is kept: a reader of hostile input may stop. */
bool diag_is_full(const struct diag *diag);

/* All messages, sorted by file, line, column; one line each. */
void diag_print(const struct diag *diag, struct text *out);
/* For people: below each the line of the file that it is about, with a mark at the column, where
 * the file can be read. */
void diag_write(const struct diag *diag, FILE *file);

#endif /* BASE_DIAG_H */
