/* rules/source.h - Python or gin text being read, with the place of the next byte.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RULES_SOURCE_H
#define RULES_SOURCE_H

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

/* Go one byte or `nbytes` bytes further, with line and column. */
void source_step(struct source *source);
void source_step_by(struct source *source, size_t nbytes);

/* Skip spaces and lines continued by a backslash; with `lines` also ends of lines and comments, as
 * between brackets. */
void source_skip(struct source *source, bool lines);

/* The length of the word that comes next if it is one of `words` (base/words.h); else 0. */
size_t source_word(const struct source *source, const char *words);

/* Read a dotted name of letters, digits and underscores into the caller's text; with `scopes` also
 * gin's scopes before a slash ("train/utils.Config").  False, and nothing read, if no name comes
 * next. */
bool source_name(struct source *source, struct text *out, bool scopes);

/* Report that the next text cannot be read here; `expected` says what can. */
void source_unexpected(struct source *source, const char *expected);

#endif /* RULES_SOURCE_H */
