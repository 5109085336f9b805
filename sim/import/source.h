/* import/source.h - Python or gin text that is read, with the place of what comes next.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef IMPORT_SOURCE_H
#define IMPORT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/diag.h"
#include "base/text.h"

struct source {
    const char *at; /* ends with a NUL */
    struct place place;
    struct diag *diag;
    int depth;
};

/* One byte on; a line or a column further. */
void source_step(struct source *source);
void source_step_by(struct source *source, size_t nbytes);

/* Over spaces and lines that go on with a backslash; with `lines` also over ends of lines and
 * comments, as between brackets. */
void source_skip(struct source *source, bool lines);

/* Whether a word ("include") comes next, and behind it no further letter. */
bool source_is_word(const struct source *source, const char *word);

/* A dotted name of letters, digits and underscores into the caller's text; with `scopes` also gin's
 * scopes before a slash ("train/utils.Config").  False, and nothing read, if none comes next. */
bool source_name(struct source *source, struct text *out, bool scopes);

/* Report what comes next as what cannot be read here; `expected` is what could. */
void source_unexpected(struct source *source, const char *expected);

#endif /* IMPORT_SOURCE_H */
