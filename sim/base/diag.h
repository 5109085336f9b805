/* base/diag.h - error messages about input: place, fault, and what was expected.
 *
 * All errors of a run are collected and printed together, sorted by place:
 *   FILE:LINE:COLUMN: error: what, and what was expected
 * A repeated message at the same place is kept once.  Messages at one place that differ only in the
 * numbers inside paths, such as those of a model's layers, are printed as "and N more like it".
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
    char *of_any;  /* the text with all layer numbers replaced; NULL: it has none */
    size_t nalike; /* further messages that differ only in layer numbers */
};

#define DIAG_KEPT_MAX 1000 /* messages stored; more are only counted */
#define DIAG_PRINT_MAX 20  /* messages printed; then "and N more" */

struct diag {
    struct diag_message *messages;
    size_t nmessages;
    size_t nerrors; /* reported errors, stored or not; 0: no error */
    bool internal;  /* a mistake of this program is among the errors, not only of the input */
    bool no_memory; /* memory ran out, so that the messages are incomplete and not to be relied
                       on */
};

#define DIAG_INIT         \
    {                     \
        NULL, 0, 0, false, false \
    }

void diag_init(struct diag *diag);
void diag_fini(struct diag *diag);

/* Report an error: a lower-case sentence without a full stop, in printable form (control bytes are
 * replaced). */
void diag_error(struct diag *diag, struct place place, const char *fmt, ...) SHD_PRINTF(3, 4);

/* Report that memory ran out; needs no memory. */
void diag_no_memory(struct diag *diag);

/* Report a failed call: the given text, or for SHD_ENOMEM that memory ran out. */
void diag_failure(struct diag *diag, struct place place, int status, const char *fmt, ...)
    SHD_PRINTF(4, 5);

/* The status of work that began with `before` errors: SHD_OK, SHD_ENOMEM, or SHD_EINVAL. */
int diag_status(const struct diag *diag, size_t before);

/* Report all messages of another diag. */
void diag_append(struct diag *diag, const struct diag *more);

/* The text of the first message, or `none`; it lives as long as `diag`. */
const char *diag_first(const struct diag *diag, const char *none);

/* Whether no further message is kept: a reader of hostile input may stop. */
bool diag_is_full(const struct diag *diag);

/* All messages, sorted by file, line, column; one line each. */
void diag_print(const struct diag *diag, struct text *out);
/* For people: below each message the source line, if the file can be read, with a mark at the
 * column. */
void diag_write(const struct diag *diag, FILE *file);

#endif /* BASE_DIAG_H */
