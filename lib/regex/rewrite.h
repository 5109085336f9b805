/* regex/rewrite.h - a Python pattern while it is rewritten for PCRE2.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REGEX_REWRITE_H
#define REGEX_REWRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shd/error.h>

enum {
    REWRITE_IGNORECASE = 1 << 0,
    REWRITE_MULTILINE = 1 << 1,
    REWRITE_DOTALL = 1 << 2,
    REWRITE_VERBOSE = 1 << 3,
    REWRITE_ASCII = 1 << 4,
    REWRITE_UNICODE = 1 << 5
};

/* A capturing group. */
struct rewrite_group {
    const char *name; /* NULL: unnamed */
    size_t length;
    bool closed;
};

/* An open parenthesis. */
struct rewrite_open {
    const char *at;
    size_t group;    /* that it captures; 0: none */
    unsigned flags;  /* outside of it */
    bool looks_back; /* PCRE2 has one parenthesis more */
    bool outermost;  /* of those that look back */
};

struct rewrite {
    const char *pattern;
    const char *at; /* the next character */
    unsigned flags;
    enum { REWRITE_NONE, REWRITE_PLACE, REWRITE_REPEAT, REWRITE_OTHER } item; /* the one before */
    bool begun;                   /* something but flags and comments was read */
    struct rewrite_group *groups; /* from 1 on */
    size_t ngroups;
    struct rewrite_open *open;
    size_t depth;
    size_t looking_back; /* groups before the outermost that looks back; 0: none does */
    char *out;
    size_t length, size; /* of it; size 0 and out NULL after a failed allocation */
    struct shd_error *err;
};

/* SHD_EREGEX with the place in characters. */
int rewrite_fail(const struct rewrite *r, const char *at, const char *format, ...) SHD_PRINTF(3, 4);

/* Characters of the pattern before `at`. */
size_t rewrite_position(const struct rewrite *r, const char *at);

void rewrite_put(struct rewrite *r, const char *format, ...) SHD_PRINTF(2, 3);

/* Append a character that stands for itself. */
void rewrite_put_char(struct rewrite *r, uint32_t c);

/* Read a character.  SHD_EREGEX if it is not UTF-8. */
int rewrite_read(struct rewrite *r, uint32_t *out);

/* Rewrite an escape behind its backslash that is neither a place nor a group; a class behind its
 * bracket. */
int rewrite_escape(struct rewrite *r);
int rewrite_class(struct rewrite *r);

#endif /* REGEX_REWRITE_H */
