/* regex/parse.h - a Python pattern being translated into one for PCRE2.
 *
 * The pattern is read once, in tokens: a character, or a backslash and the character behind it.
 * What Python's `re` rejects is rejected; what is left is written out in a form that PCRE2 reads
 * the same way, with no flags but (?i), no names, and every odd character as \x{...}.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REGEX_PARSE_H
#define REGEX_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shd/error.h>

/* The character of the token that ends a pattern.  It is none of Unicode's. */
#define REGEX_END UINT32_MAX

struct regex_token {
    uint32_t c;      /* in Unicode */
    bool escaped;    /* there is a backslash in front of it */
    size_t position; /* in characters from the pattern's start */
};

enum {
    REGEX_IGNORECASE = 1 << 0,
    REGEX_MULTILINE = 1 << 1,
    REGEX_DOTALL = 1 << 2,
    REGEX_VERBOSE = 1 << 3,
    REGEX_ASCII = 1 << 4,
    REGEX_UNICODE = 1 << 5
};

/* How many characters something can match. */
struct regex_width {
    uint64_t min;
    uint64_t max; /* REGEX_WIDTH_MAX where it is that or more */
};

/* Far more characters than any text has, and still small enough that two of them can be added. */
#define REGEX_WIDTH_MAX (UINT64_C(1) << 62)

/* A group that captures what it matches. */
struct regex_group {
    struct regex_width width;
    bool closed;
    size_t name; /* the token at which its name starts; 0: it has no name */
    size_t name_length;
};

struct regex_parse {
    struct regex_token *tokens; /* ended by one of REGEX_END */
    size_t at;                  /* the next token to read */
    unsigned flags;
    unsigned depth;             /* of groups */
    struct regex_group *groups; /* [0] is the whole pattern */
    size_t ngroups;
    size_t lookbehind_groups; /* groups before the outermost open lookbehind; 0: none is open */
    size_t last_condition;    /* the largest number of a group that a condition asks for */
    size_t last_condition_position;
    char *out; /* the translation */
    size_t length;
    size_t size; /* bytes allocated for it; 0, with out NULL, after an allocation has failed */
    struct shd_error *err;
};

/* What an escape or an item of a class stands for. */
struct regex_char {
    bool category; /* c is one of the letters dDsSwW */
    uint32_t c;
};

enum regex_item { REGEX_ITEM_NONE, REGEX_ITEM_PLACE, REGEX_ITEM_REPEAT, REGEX_ITEM_OTHER };

/* What stands in a row.  The width of the last item is kept apart, since a repeat may follow it. */
struct regex_sequence {
    struct regex_width before;
    struct regex_width last;
    enum regex_item item; /* the last one's kind */
};

/* Fill err: the message and the place, in Python's manner. */
int regex_fail(const struct regex_parse *parse, size_t position, const char *what);

/* Whether the next token is this character, not escaped; regex_match() also steps over it. */
bool regex_sees(const struct regex_parse *parse, uint32_t c);
bool regex_match(struct regex_parse *parse, uint32_t c);

/* Step over the next token unless it is the last, and return it. */
const struct regex_token *regex_get(struct regex_parse *parse);

bool regex_sees_digit(const struct regex_parse *parse);

/* Append to the output. */
void regex_put(struct regex_parse *parse, const char *text);
void regex_put_number(struct regex_parse *parse, uint64_t number);
void regex_put_char(struct regex_parse *parse, uint32_t c);

/* Append a character that stands for itself, and its other case where the flags ask for it. */
void regex_put_literal(struct regex_parse *parse, uint32_t c);

/* Append the category of characters that one of the letters dDsSwW stands for. */
void regex_put_category(struct regex_parse *parse, uint32_t letter);

/* Read the rest of an escape whose first token has been read.  It must not be one that stands for a
 * place or, outside of a class, one with a digit from 1 to 9. */
int regex_read_escape(struct regex_parse *parse, const struct regex_token *token, bool in_class,
                      struct regex_char *out);

/* Translate a class whose '[' has been read. */
int regex_read_class(struct regex_parse *parse);

/* Decode a pattern into parse->tokens, which has room. */
int regex_read_tokens(struct regex_parse *parse, const char *pattern);

/* Where the next token is, in characters. */
size_t regex_position(const struct regex_parse *parse);

/* Append an item to a sequence. */
void regex_add_item(struct regex_sequence *sequence, enum regex_item item,
                    struct regex_width width);

/* The width of what matches either the one or the other. */
struct regex_width regex_either(struct regex_width a, struct regex_width b);

/* Translate items up to '|', ')' or the end.  `first` says that global flags may stand here. */
int regex_parse_sequence(struct regex_parse *parse, bool first, struct regex_width *width);

/* Translate sequences with '|' between them.  `top` says that they are the whole pattern. */
int regex_parse_alternatives(struct regex_parse *parse, bool top, struct regex_width *width);

/* Translate what starts with the '(' that has been read at `position`. */
int regex_parse_group(struct regex_parse *parse, size_t position, bool first,
                      struct regex_sequence *sequence);

/* Translate a backslash and a digit from 1 to 9.  Three octal digits stand for a character; else
 * one or two digits refer to a group. */
int regex_parse_number_escape(struct regex_parse *parse, const struct regex_token *token,
                              struct regex_sequence *sequence);

#endif /* REGEX_PARSE_H */
