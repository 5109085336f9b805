/* regex/parse.h - translating a Python pattern into one for PCRE2.
 *
 * The pattern is read once, as tokens: a character, or a backslash with the next character.
 * Patterns that Python's `re` rejects are rejected; others are written in a form that PCRE2 reads
 * with the same meaning, with no flags but (?i), no names, and every unusual character as \x{...}.
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

/* The end token's character; no Unicode character has this code. */
#define REGEX_END UINT32_MAX

struct regex_token {
    uint32_t c;      /* Unicode code point */
    bool escaped;    /* preceded by a backslash */
    size_t position; /* in characters from the start of the pattern */
};

enum {
    REGEX_IGNORECASE = 1 << 0,
    REGEX_MULTILINE = 1 << 1,
    REGEX_DOTALL = 1 << 2,
    REGEX_VERBOSE = 1 << 3,
    REGEX_ASCII = 1 << 4,
    REGEX_UNICODE = 1 << 5
};

/* Minimum and maximum length of a match, in characters. */
struct regex_width {
    uint64_t min;
    uint64_t max; /* at most REGEX_WIDTH_MAX, which stands for all larger values */
};

/* Far longer than any text, and small enough to add two such widths. */
#define REGEX_WIDTH_MAX (UINT64_C(1) << 62)

/* A capturing group. */
struct regex_group {
    struct regex_width width;
    bool closed;
    size_t name; /* first token of its name; 0: unnamed */
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

/* The meaning of an escape or of an item in a class. */
struct regex_char {
    bool category; /* c is one of the letters dDsSwW */
    uint32_t c;
};

enum regex_item { REGEX_ITEM_NONE, REGEX_ITEM_PLACE, REGEX_ITEM_REPEAT, REGEX_ITEM_OTHER };

/* A sequence of items.  The width of the last item is separate, since a repeat may follow it. */
struct regex_sequence {
    struct regex_width before;
    struct regex_width last;
    enum regex_item item; /* kind of the last item */
};

/* Set err to a message with the position, in Python's style. */
int regex_fail(const struct regex_parse *parse, size_t position, const char *what);

/* Whether the next token is this character, unescaped; regex_match() also consumes it. */
bool regex_sees(const struct regex_parse *parse, uint32_t c);
bool regex_match(struct regex_parse *parse, uint32_t c);

/* Consume and return the next token; the last one is not consumed. */
const struct regex_token *regex_get(struct regex_parse *parse);

bool regex_sees_digit(const struct regex_parse *parse);

/* Append to the output. */
void regex_put(struct regex_parse *parse, const char *text);
void regex_put_number(struct regex_parse *parse, uint64_t number);
void regex_put_char(struct regex_parse *parse, uint32_t c);

/* Append a literal character, in both cases if the flags require it. */
void regex_put_literal(struct regex_parse *parse, uint32_t c);

/* Append the category of one of the letters dDsSwW. */
void regex_put_category(struct regex_parse *parse, uint32_t letter);

/* Read the rest of an escape whose first token was read.  It must not be a position (such as \b)
 * or, outside a class, begin with a digit from 1 to 9. */
int regex_read_escape(struct regex_parse *parse, const struct regex_token *token, bool in_class,
                      struct regex_char *out);

/* Translate a class whose '[' was read. */
int regex_read_class(struct regex_parse *parse);

/* Decode a pattern into parse->tokens, which must have room. */
int regex_read_tokens(struct regex_parse *parse, const char *pattern);

/* The position of the next token, in characters. */
size_t regex_position(const struct regex_parse *parse);

/* Append an item to a sequence. */
void regex_add_item(struct regex_sequence *sequence, enum regex_item item,
                    struct regex_width width);

/* The width of either of two alternatives. */
struct regex_width regex_either(struct regex_width a, struct regex_width b);

/* Translate items up to '|', ')' or the end.  `first`: global flags are allowed here. */
int regex_parse_sequence(struct regex_parse *parse, bool first, struct regex_width *width);

/* Translate sequences separated by '|'.  `top`: they are the whole pattern. */
int regex_parse_alternatives(struct regex_parse *parse, bool top, struct regex_width *width);

/* Translate a group whose '(' was read at `position`. */
int regex_parse_group(struct regex_parse *parse, size_t position, bool first,
                      struct regex_sequence *sequence);

/* Translate a backslash and a digit from 1 to 9: three octal digits are a character, otherwise one
 * or two digits refer to a group. */
int regex_parse_number_escape(struct regex_parse *parse, const struct regex_token *token,
                              struct regex_sequence *sequence);

#endif /* REGEX_PARSE_H */
