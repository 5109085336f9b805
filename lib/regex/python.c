/* Rewriting Python patterns for PCRE2 (regex/python.h).
 *
 * Both read most patterns alike, and what both reject PCRE2 rejects.  Rewritten is what they read
 * differently, and rejected what only PCRE2 reads.  Groups are written without names, and flags as
 * those of PCRE2; verbose mode and (?a), which it lacks, are written out.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "python.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rewrite.h"

#define REPEAT_MAX 65535 /* maximum of PCRE2 */

/* ---- the result ---- */

size_t rewrite_position(const struct rewrite *r, const char *at)
{
    size_t n = 0;

    for (const char *p = r->pattern; p < at; p++)
        n += ((unsigned char)*p & 0xc0) != 0x80;
    return n;
}

int rewrite_fail(const struct rewrite *r, const char *at, const char *format, ...)
{
    char what[120];
    va_list arguments;

    /* Error texts are Python's where Python has an equivalent: users can look them up. */
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return shd_error_set(r->err, SHD_EREGEX, "%s at position %zu", what, rewrite_position(r, at));
}

void rewrite_put(struct rewrite *r, const char *format, ...)
{
    va_list arguments, again;
    int length;

    va_start(arguments, format);
    va_copy(again, arguments);
    length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (r->out && r->length + (size_t)length + 1 > r->size) {
        char *out = realloc(r->out, 2 * (r->length + (size_t)length + 1));

        if (!out)
            free(r->out);
        r->size = out ? 2 * (r->length + (size_t)length + 1) : 0;
        r->out = out;
    }
    if (r->out)
        r->length += (size_t)vsnprintf(r->out + r->length, r->size - r->length, format, arguments);
    va_end(arguments);
}

/* ---- reading ---- */

static bool sees(const struct rewrite *r, const char *text)
{
    return !strncmp(r->at, text, strlen(text));
}

static bool match(struct rewrite *r, const char *text)
{
    bool found = sees(r, text);

    r->at += found ? strlen(text) : 0;
    return found;
}

/* ---- repeats ---- */

/* Read digits, if there are any; larger numbers count as UINT32_MAX. */
static bool read_count(struct rewrite *r, uint64_t *out)
{
    const char *start = r->at;

    for (uint64_t n = 0; *r->at >= '0' && *r->at <= '9'; r->at++, *out = n)
        n = n < UINT32_MAX ? n * 10 + (uint64_t)(*r->at - '0') : n;
    return r->at > start;
}

/* Read what follows a '{'; false, and nothing is read: it is a brace. */
static bool read_braces(struct rewrite *r, uint64_t *least, uint64_t *most)
{
    const char *start = r->at;
    bool any = read_count(r, least);

    if (match(r, ",")) {
        read_count(r, most);
        any = true;
    } else {
        *most = *least;
    }
    if (any && match(r, "}"))
        return true;
    r->at = start;
    return false;
}

static int rewrite_repeat(struct rewrite *r, char first)
{
    const char *start = r->at - 1;
    uint64_t least = first == '+', most = first == '?' ? 1 : UINT64_MAX;

    if (first == '{' && !read_braces(r, &least, &most)) {
        rewrite_put_char(r, '{');
        r->item = REWRITE_OTHER;
        return SHD_OK;
    }
    if (most < least)
        return rewrite_fail(r, start, "min repeat greater than max repeat");
    if (least >= UINT32_MAX || (most >= UINT32_MAX && most != UINT64_MAX))
        return rewrite_fail(r, start, "the repetition number is too large");
    if (least > REPEAT_MAX || (most > REPEAT_MAX && most != UINT64_MAX))
        return shd_error_set(r->err, SHD_EUNSUPPORTED,
                             "more than %d repeats at position %zu of the pattern", REPEAT_MAX,
                             rewrite_position(r, start));
    if (r->item == REWRITE_NONE || r->item == REWRITE_PLACE)
        return rewrite_fail(r, start, "nothing to repeat");
    if (r->item == REWRITE_REPEAT)
        return rewrite_fail(r, start, "multiple repeat");
    rewrite_put(r, "{%" PRIu64 ",", least);
    if (most != UINT64_MAX)
        rewrite_put(r, "%" PRIu64, most);
    rewrite_put(r, "}%s", match(r, "?") ? "?" : match(r, "+") ? "+" : "");
    r->item = REWRITE_REPEAT;
    return SHD_OK;
}

/* ---- places ---- */

/* Append \b, the edge of a word, or with `inner` \B, any other position.  Under (?a) words are of
 * ASCII characters.  In an empty text Python finds no \B. */
static void put_edge(struct rewrite *r, bool inner)
{
    rewrite_put(r, "%s", inner ? "(?!\\A\\z)" : "");
    if (r->flags & REWRITE_ASCII)
        rewrite_put(r, "(?%c(?<=[0-9A-Z_a-z])(?![0-9A-Z_a-z])|(?<![0-9A-Z_a-z])(?=[0-9A-Z_a-z]))",
                    inner ? '!' : ':');
    else
        rewrite_put(r, inner ? "\\B" : "\\b");
}

/* Rewrite a position, at its backslash or by its character; false: it is none. */
static bool rewrite_place(struct rewrite *r)
{
    if (match(r, "^"))
        rewrite_put(r, "^");
    else if (match(r, "$"))
        rewrite_put(r, "$");
    else if (match(r, "\\A"))
        rewrite_put(r, "\\A");
    else if (match(r, "\\Z"))
        rewrite_put(r, "\\z");
    else if (match(r, "\\b"))
        put_edge(r, false);
    else if (match(r, "\\B"))
        put_edge(r, true);
    else
        return false;
    r->item = REWRITE_PLACE;
    return true;
}

/* ---- groups ---- */

/* The group with a name; 0: there is none. */
static size_t find_group(const struct rewrite *r, const char *name, size_t length)
{
    for (size_t g = 1; g < r->ngroups; g++)
        if (r->groups[g].name && r->groups[g].length == length &&
            !memcmp(r->groups[g].name, name, length))
            return g;
    return 0;
}

static bool is_name(const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)name[i];
        bool letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';

        if (!letter && c != '_' && c < 0x80 && (i == 0 || c < '0' || c > '9'))
            return false;
    }
    return true;
}

/* Read a name, or a number, up to its end. */
static int read_name(struct rewrite *r, char end, const char **name, size_t *length)
{
    const char *stop = strchr(r->at, end);

    *name = r->at;
    if (!stop)
        return rewrite_fail(r, r->at, "unterminated group name");
    *length = (size_t)(stop - r->at);
    r->at = stop + 1;
    return *length > 0 ? SHD_OK : rewrite_fail(r, *name, "missing group name");
}

static int put_reference(struct rewrite *r, size_t group, const char *start)
{
    if (!r->groups[group].closed)
        return rewrite_fail(r, start, "cannot refer to an open group");
    if (r->looking_back > 0 && group >= r->looking_back)
        return rewrite_fail(r, start, "cannot refer to a group of the same look-behind pattern");
    rewrite_put(r, "\\g{%zu}", group);
    r->item = REWRITE_OTHER;
    return SHD_OK;
}

/* Rewrite a backslash with a digit that is not 0: a group, or three octal digits. */
static int rewrite_number(struct rewrite *r)
{
    const char *start = r->at++;
    size_t group = (size_t)(*r->at++ - '0');
    bool octal =
        group < 8 && r->at[0] >= '0' && r->at[0] <= '7' && r->at[1] >= '0' && r->at[1] <= '7';

    if (octal) {
        uint32_t c =
            (uint32_t)(group << 6) | (uint32_t)(r->at[0] - '0') << 3 | (uint32_t)(r->at[1] - '0');

        r->at += 2;
        if (c > 0377)
            return rewrite_fail(r, start, "octal escape value outside of range 0-0o377");
        rewrite_put_char(r, c);
        r->item = REWRITE_OTHER;
        return SHD_OK;
    }
    if (*r->at >= '0' && *r->at <= '9')
        group = group * 10 + (size_t)(*r->at++ - '0');
    if (group >= r->ngroups)
        return rewrite_fail(r, start, "invalid group reference");
    return put_reference(r, group, start);
}

/* Open a group whose beginning is written. */
static void open_group(struct rewrite *r, const char *start, struct rewrite_open open)
{
    open.at = start;
    open.flags = r->flags;
    r->open[r->depth++] = open;
    r->item = REWRITE_NONE;
}

static void open_capture(struct rewrite *r, const char *start, const char *name, size_t length)
{
    rewrite_put(r, "(");
    open_group(r, start, (struct rewrite_open){.group = r->ngroups});
    r->groups[r->ngroups++] = (struct rewrite_group){name, length, false};
}

/* Open what looks back.  The parenthesis inside makes PCRE2 reject alternatives of several lengths,
 * as Python does. */
static void open_look_back(struct rewrite *r, const char *start, bool negated)
{
    bool outermost = r->looking_back == 0;

    if (outermost)
        r->looking_back = r->ngroups;
    rewrite_put(r, negated ? "(?<!(?:" : "(?<=(?:");
    open_group(r, start, (struct rewrite_open){.looks_back = true, .outermost = outermost});
}

static int open_named(struct rewrite *r, const char *start)
{
    const char *name;
    size_t length;
    int status = read_name(r, '>', &name, &length);

    if (status)
        return status;
    if (!is_name(name, length))
        return rewrite_fail(r, name, "bad character in group name");
    if (find_group(r, name, length) > 0)
        return rewrite_fail(r, name, "redefinition of a group name");
    open_capture(r, start, name, length);
    return SHD_OK;
}

static int rewrite_named_reference(struct rewrite *r)
{
    const char *name;
    size_t length, group;
    int status = read_name(r, ')', &name, &length);

    if (status)
        return status;
    group = find_group(r, name, length);
    return group > 0 ? put_reference(r, group, name) : rewrite_fail(r, name, "unknown group name");
}

/* Open what depends on a group, which may be defined further on: PCRE2 rejects one that is not. */
static int open_condition(struct rewrite *r, const char *start)
{
    const char *name;
    size_t length, group;
    int status = read_name(r, ')', &name, &length);

    if (status)
        return status;
    group = find_group(r, name, length);
    if (group == 0 && (strspn(name, "0123456789") != length || length > 9))
        return rewrite_fail(r, name, "unknown group name");
    if (group == 0)
        group = strtoul(name, NULL, 10);
    if (group == 0)
        return rewrite_fail(r, name, "bad group number");
    if (r->looking_back > 0 && (group >= r->looking_back || !r->groups[group].closed))
        return rewrite_fail(r, name,
                            "cannot refer to an open group or one of the same look-behind pattern");
    rewrite_put(r, "(?(%zu)", group);
    open_group(r, start, (struct rewrite_open){0});
    return SHD_OK;
}

/* ---- flags ---- */

static const char letters[] = "imsxau";

static unsigned read_flags(struct rewrite *r)
{
    unsigned flags = 0;

    for (const char *found; *r->at && (found = strchr(letters, *r->at)) != NULL; r->at++)
        flags |= 1U << (found - letters);
    return flags;
}

/* Append "(?^ims", all flags that PCRE2 has to know, and `end`. */
static void put_flags(struct rewrite *r, char end)
{
    bool folds = r->flags & REWRITE_IGNORECASE && !(r->flags & REWRITE_ASCII);

    rewrite_put(r, "(?^%s%s%s%c", folds ? "i" : "", r->flags & REWRITE_MULTILINE ? "m" : "",
                r->flags & REWRITE_DOTALL ? "s" : "", end);
}

/* Rewrite flags: "ims)" for the whole pattern, or "ims-x:" for a group. */
static int rewrite_flags(struct rewrite *r, const char *start)
{
    const unsigned type = REWRITE_ASCII | REWRITE_UNICODE;
    unsigned on = read_flags(r), off = 0;

    if ((on & type) == type)
        return rewrite_fail(r, start, "flags 'a' and 'u' are incompatible");
    if (on && match(r, ")")) {
        r->flags |= on;
        if (r->begun)
            return rewrite_fail(r, start, "global flags not at the start of the expression");
        if ((r->flags & type) == type)
            return rewrite_fail(r, start, "flags 'a' and 'u' are incompatible");
        put_flags(r, ')');
        return SHD_OK;
    }
    if (match(r, "-")) {
        off = read_flags(r);
        if (!off || off & type)
            return rewrite_fail(r, start, "bad flags to turn off");
    }
    if (!match(r, ":"))
        return rewrite_fail(r, r->at, "unknown flag or missing ':' or ')'");
    if (on & off)
        return rewrite_fail(r, start, "a flag is turned on and off");
    open_group(r, start, (struct rewrite_open){0});
    r->flags = ((on & type ? r->flags & ~type : r->flags) | on) & ~off;
    put_flags(r, ':');
    return SHD_OK;
}

/* ---- parentheses ---- */

static int skip_comment(struct rewrite *r, const char *start)
{
    const char *end = strchr(r->at, ')');

    if (!end)
        return rewrite_fail(r, start, "missing ), unterminated comment");
    r->at = end + 1;
    return SHD_OK;
}

static int rewrite_parenthesis(struct rewrite *r)
{
    static const char *const alike[] = {"(?:", "(?>", "(?=", "(?!"};
    const char *start = r->at;

    if (match(r, "(?#"))
        return skip_comment(r, start);
    for (size_t i = 0; i < sizeof alike / sizeof *alike; i++)
        if (match(r, alike[i])) {
            rewrite_put(r, "%s", alike[i]);
            open_group(r, start, (struct rewrite_open){0});
            return SHD_OK;
        }
    if (sees(r, "(?<=") || sees(r, "(?<!")) {
        r->at += 4;
        open_look_back(r, start, r->at[-1] == '!');
        return SHD_OK;
    }
    if (match(r, "(?P<"))
        return open_named(r, start);
    if (match(r, "(?P="))
        return rewrite_named_reference(r);
    if (match(r, "(?("))
        return open_condition(r, start);
    if (!match(r, "(?")) {
        r->at++;
        open_capture(r, start, NULL, 0);
        return SHD_OK;
    }
    return *r->at && strchr("imsxau-", *r->at) ? rewrite_flags(r, start)
                                               : rewrite_fail(r, start, "unknown extension");
}

static int close_group(struct rewrite *r)
{
    const struct rewrite_open *open;

    if (r->depth == 0)
        return rewrite_fail(r, r->at, "unbalanced parenthesis");
    r->at++;
    open = &r->open[--r->depth];
    rewrite_put(r, open->looks_back ? "))" : ")");
    if (open->outermost)
        r->looking_back = 0;
    if (open->group > 0)
        r->groups[open->group].closed = true;
    r->flags = open->flags;
    r->item = REWRITE_OTHER;
    return SHD_OK;
}

/* ---- the pattern ---- */

/* Skip white space and comments of verbose mode; false: there is none. */
static bool skip_verbose(struct rewrite *r)
{
    size_t length = *r->at == '#' ? strcspn(r->at, "\n") : strspn(r->at, " \t\n\v\f\r");

    if (!(r->flags & REWRITE_VERBOSE) || length == 0)
        return false;
    r->at += length;
    return true;
}

static int rewrite_branch(struct rewrite *r)
{
    r->at++;
    rewrite_put(r, "|");
    r->item = REWRITE_NONE;
    return SHD_OK;
}

/* Rewrite an item that a repeat may follow. */
static int rewrite_item(struct rewrite *r)
{
    uint32_t c;
    int status;

    if (r->at[0] == '\\' && r->at[1] >= '1' && r->at[1] <= '9')
        return rewrite_number(r);
    r->item = REWRITE_OTHER;
    if (match(r, "\\"))
        return rewrite_escape(r);
    if (match(r, "["))
        return rewrite_class(r);
    if (match(r, ".")) {
        rewrite_put(r, ".");
        return SHD_OK;
    }
    status = rewrite_read(r, &c);
    if (!status)
        rewrite_put_char(r, c);
    return status;
}

static int rewrite_next(struct rewrite *r)
{
    bool flags = sees(r, "(?");
    int status = SHD_OK;

    if (*r->at == '(')
        status = rewrite_parenthesis(r);
    else if (*r->at == ')')
        status = close_group(r);
    else if (*r->at == '|')
        status = rewrite_branch(r);
    else if (strchr("*+?{", *r->at))
        status = rewrite_repeat(r, *r->at++);
    else if (!rewrite_place(r))
        status = rewrite_item(r);
    /* Flags and comments leave no item before them. */
    r->begun = r->begun || !flags || r->depth > 0 || r->item != REWRITE_NONE;
    return status;
}

static int rewrite_all(struct rewrite *r)
{
    int status = SHD_OK;

    while (!status && *r->at)
        if (!skip_verbose(r))
            status = rewrite_next(r);
    if (!status && r->depth > 0)
        status = rewrite_fail(r, r->open[r->depth - 1].at, "missing ), unterminated subpattern");
    return status;
}

int regex_python_translate(char **out, const char *pattern, struct shd_error *err)
{
    size_t size = strlen(pattern) + 2; /* never more groups than characters */
    struct rewrite r = {.pattern = pattern, .at = pattern, .ngroups = 1, .size = size, .err = err};
    int status = SHD_OK;

    r.groups = calloc(size, sizeof *r.groups);
    r.open = calloc(size, sizeof *r.open);
    r.out = calloc(1, size);
    if (r.groups && r.open && r.out)
        status = rewrite_all(&r);
    if (!status && !(r.groups && r.open && r.out))
        status = shd_error_set(err, SHD_ENOMEM, "no memory for a pattern");
    free(r.groups);
    free(r.open);
    if (status)
        free(r.out);
    else
        *out = r.out;
    return status;
}
