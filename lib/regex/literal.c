/* Finding a literal that every match of a pattern contains (regex/literal.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "literal.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The character after the group that starts at p.  NULL if finding it requires parsing, since a
 * class may contain parentheses, or if the group sets flags, which could change the meaning of all
 * other text. */
static const char *skip_group(const char *p)
{
    size_t depth = 0;

    for (; *p; p++) {
        if (*p == '[')
            return NULL;
        if (*p == '\\' && p[1]) {
            p++;
        } else if (*p == '(') {
            if (p[1] == '?' && !strchr(":=!<P", p[2]))
                return NULL;
            depth++;
        } else if (*p == ')' && --depth == 0) {
            return p + 1;
        }
    }
    return NULL;
}

static bool is_plain(char c)
{
    return (unsigned char)c < 0x80 && c && !strchr("\\^$.|?*+()[]{}", c);
}

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* The current run of literal characters, and the longest one so far. */
struct runs {
    const char *start, *longest;
    size_t length, most;
};

static void end_run(struct runs *runs)
{
    if (runs->length > runs->most) {
        runs->longest = runs->start;
        runs->most = runs->length;
    }
    runs->length = 0;
}

/* End the run at the operator at p; returns where to continue, or NULL to stop. */
static const char *pass(struct runs *runs, const char *p)
{
    bool optional = *p == '*' || *p == '?' || *p == '{';

    if (optional && runs->length > 0)
        runs->length--; /* the operator makes the character before it optional */
    end_run(runs);
    if (*p == '(')
        return skip_group(p);
    if (*p == '{' || *p == '[') /* numbers, or arbitrary text, follow */
        return NULL;
    if (*p != '\\')
        return p + 1;
    if (is_alnum(p[1]) && !strchr("AZbBdDsSwW", p[1])) /* the escape's digits follow */
        return NULL;
    return p[1] ? p + 2 : NULL;
}

/* Whether no group sets flags.  With flags such as (?i) a match need not contain the text as
 * written. */
static bool is_simple(const char *pattern)
{
    for (const char *p = pattern; *p; p++) {
        if (*p == '\\' && p[1])
            p++;
        else if (*p == '(' && p[1] == '?' && !strchr(":=!<P", p[2]))
            return false;
    }
    return true;
}

char *regex_literal_find(const char *pattern)
{
    struct runs runs = {NULL, NULL, 0, 0};
    const char *p = pattern;

    if (!is_simple(pattern))
        return NULL;
    while (p && *p) {
        if (*p == '|')
            return NULL;
        if (is_plain(*p)) {
            if (runs.length++ == 0)
                runs.start = p;
            p++;
        } else {
            p = pass(&runs, p);
        }
    }
    /* Stopped early: a '|' further on would make the run only one alternative. */
    if (!p && strchr(pattern, '|'))
        return NULL;
    end_run(&runs);
    if (runs.most == 0)
        return NULL;
    return strndup(runs.longest, runs.most);
}
