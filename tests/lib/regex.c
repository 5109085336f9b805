/* Tests shd/regex.h: searches, patterns that are refused, and limits.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include <shd/regex.h>

#include "../support/tap.h"

#define NO     \
    {          \
        -1, -1 \
    }

/* The first match in each text, as a span of characters; -1: no match. */
static const struct {
    const char *pattern;
    const char *text;
    long span[2];
} searches[] = {
    {"", "", {0, 0}},
    {"b+", "abbc", {1, 3}},
    {"^b", "ab", NO},
    {"b", "\u00e9\u00e9b", {2, 3}},
    {"a|ab", "ab", {0, 1}},
    {"a.c", "a\nc", NO},
    {"(?s)a.c", "a\nc", {0, 3}},
    {"a$", "a\n", {0, 1}},
    {"a$", "a\n\n", NO},
    {"a\\Z", "a\n", NO},
    {"a\\Z", "ba", {1, 2}},
    {"(?m)^b$", "a\nb\n", {2, 3}},
    {"(?m)^\\Z", "a\n", {2, 2}},
    {"x{,2}y", "xxxy", {1, 4}},
    {"x{,}y", "xxxy", {0, 4}},
    {"x{a}", "x{a}", {0, 4}},
    {"x{", "x{", {0, 2}},
    {"x{}", "x{}", {0, 3}},
    {"x{1,a}", "x{1,a}", {0, 6}},
    {"a{2}?a", "aaa", {0, 3}},
    {"[[:alpha:]]", "a]", {0, 2}},
    {"[[:alpha:]]", ":x", NO},
    {"[]a]+", "a]", {0, 2}},
    {"[^]a]", "a]b", {2, 3}},
    {"[a-]+", "a-", {0, 2}},
    {"[\\w-]+", "a-b", {0, 3}},
    {"[\\]]", "]", {0, 1}},
    {"[\\b]", "a\b", {1, 2}},
    {"\\u00e9", "e\u00e9", {1, 2}},
    {"\\U0001F600", "\U0001F600", {0, 1}},
    {"\\x41", "A", {0, 1}},
    {"\\101", "A", {0, 1}},
    {"\\0", "0", NO},
    {"\\07", "\a", {0, 1}},
    {"[\\101]", "A", {0, 1}},
    {"(a)\\1", "aa", {0, 2}},
    {"(a)\\1\\061", "aa1", {0, 3}},
    {"(?P<x>a|b)(?P=x)", "abb", {1, 3}},
    {"(?P<x>a)?b(?(x)c|d)", "bd", {0, 2}},
    {"(a)?b(?(1)c|d)", "abd", {1, 3}},
    {"(?i)FOO", "xfoo", {1, 4}},
    {"a(?i:B)c", "abc", {0, 3}},
    {"a(?i:B)c", "abC", NO},
    {"(?i)a(?-i:b)", "AB", NO},
    {"(?i)\u00c9", "\u00e9", {0, 1}},
    {"(?i)k", "\u212a", {0, 1}},
    {"(?ai)k", "\u212a", NO},
    {"(?ai)k", "K", {0, 1}},
    {"(?s:a).", "a\n", NO},
    {"(?x: a ) b", "a b", {0, 3}},
    {"(?ai)[i-l]", "K", {0, 1}},
    {"(?a)\\w", "\u00e9", NO},
    {"\\w", "\u00e9", {0, 1}},
    {"\\d", "\u0663", {0, 1}},
    {"(?a)\\d", "\u0663", NO},
    {"\\s", "\x1c", {0, 1}},
    {"[\\S]", "\x1c", NO},
    {"\\s", "\u180e", NO},
    {"\\bfoo\\b", "a foo", {2, 5}},
    {"\\B", "", NO},
    {"\\Bo", "foo", {1, 2}},
    {"(?x) a b # c\n +", "abb", {0, 3}},
    {"(?x)a\\ b", "a b", {0, 3}},
    {"a(?#x)*b", "aab", {0, 3}},
    {"(?<=a)b", "ab", {1, 2}},
    {"(?<!a)b", "abb", {2, 3}},
    {"(?<=ab|cd)e", "cde", {2, 3}},
    {"(?<=(?:ab){2})c", "ababc", {4, 5}},
    {"(?>a+)a", "aaa", NO},
    {"a++a", "aaa", NO},
    {"a?+b", "ab", {0, 2}},
    {"\\ud800|a", "a", {0, 1}},
    {"[^\\ud800]", "a", {0, 1}},
    {"layers_\\d+/.*kernel$", "model/layers_12/mlp/kernel", {6, 26}},
};

/* Patterns that Python rejects as well. */
static const char *const rejected[] = {
    "(",
    ")",
    "a)",
    "*",
    "+a",
    "?",
    "{2}",
    "a**",
    "a*?*",
    "a{1}{2}",
    "^*",
    "$+",
    "\\b*",
    "|*",
    "(*)",
    "[",
    "[]",
    "[^]",
    "[a",
    "[z-a]",
    "[\\d-a]",
    "[a-\\d]",
    "[\\A]",
    "[\\8]",
    "\\",
    "a\\",
    "\\h",
    "\\K",
    "\\Q",
    "\\R",
    "\\X",
    "\\C",
    "\\G",
    "\\z",
    "\\p{L}",
    "\\x4",
    "\\u12",
    "\\U00110000",
    "\\8",
    "\\400",
    "[\\400]",
    "\\1",
    "(a\\1)",
    "(a)\\2",
    "(?R)",
    "(?1)",
    "(?",
    "(?<n>a)",
    "(?'n'a)",
    "(?|a)",
    "(?&n)",
    "(?C)",
    "(?P<1a>x)",
    "(?P<>x)",
    "(?P<a",
    "(?P=a)",
    "(?P>a)",
    "(?P<a>x)(?P<a>y)",
    "(?P<a>(?P=a))",
    "(?(1)a)",
    "(a)(?(2)b)",
    "(?(0)a)",
    "(?(x)a)",
    "(a)(?(1)b|c|d)",
    "(?(?=a)b)",
    "(?<=a*)b",
    "(?<=ab|c)",
    "(?<=a?)b",
    "(?<=(a)\\1)",
    "(?<a)",
    "a(?i)",
    "(?i",
    "(?i-)",
    "(?-i)",
    "(?i-i:a)",
    "(?L)",
    "(?au)",
    "(?a)(?u)",
    "(?-a:b)",
    "(?j)",
    "(?z:a)",
    "(?#",
    "x{2,1}",
    "x{4294967295}",
    "\xff",
    "\xed\xa0\x80",
    "a\xc3",
};

static void test_search_table(void)
{
    for (size_t i = 0; i < sizeof(searches) / sizeof(searches[0]); i++) {
        struct shd_regex *regex = NULL;
        struct shd_regex_match match;
        struct shd_error err = {0};
        const long *span = searches[i].span;
        int right = 0;

        if (!shd_regex_compile(&regex, searches[i].pattern, &err) &&
            !shd_regex_search(&match, regex, searches[i].text, &err))
            right = match.found ? (long)match.start == span[0] && (long)match.end == span[1]
                                : span[0] < 0;
        ok(right, "search %s", searches[i].pattern);
        if (err.status)
            diag("%s", err.text);
        shd_regex_destroy(regex);
    }
}

static void test_rejected(void)
{
    for (size_t i = 0; i < sizeof(rejected) / sizeof(rejected[0]); i++) {
        struct shd_regex *regex = NULL;
        struct shd_error err = {0};
        int status = shd_regex_compile(&regex, rejected[i], &err);

        ok(status == SHD_EREGEX && !regex && strstr(err.text, "position"), "rejected, row %zu", i);
        shd_regex_destroy(regex);
    }
}

static void test_unsupported(void)
{
    struct shd_regex *regex = NULL;

    ok(shd_regex_compile(&regex, "\\N{DIGIT ONE}", NULL) == SHD_EUNSUPPORTED,
       "a character by name");
    ok(shd_regex_compile(&regex, "a{65536}", NULL) == SHD_EUNSUPPORTED, "too many repeats");
    ok(!regex, "output untouched");
}

static void test_deep(void)
{
    enum { DEPTH = 100000 };
    struct shd_regex *regex = NULL;
    char *pattern = malloc(2 * DEPTH + 1);

    if (!ok(pattern != NULL, "memory"))
        return;
    memset(pattern, '(', DEPTH);
    memset(pattern + DEPTH, ')', DEPTH);
    pattern[2 * DEPTH] = '\0';
    ok(shd_regex_compile(&regex, pattern, NULL) == SHD_EREGEX, "nested far too deeply");
    pattern[DEPTH + 200] = '\0';
    ok(!shd_regex_compile(&regex, pattern + DEPTH - 200, NULL), "nested deeply");
    shd_regex_destroy(regex);
    free(pattern);
}

static void test_limits(void)
{
    struct shd_regex *regex = NULL;
    struct shd_regex_match match = {.start = 42};

    if (!ok(!shd_regex_compile(&regex, "(?:a|a)*(?:a|a)*\\d(?<=x)", NULL), "limit: compile"))
        return;
    ok(shd_regex_search(&match, regex, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1", NULL) == SHD_EREGEX,
       "limit: told");
    ok(shd_regex_search(&match, regex, "\xff", NULL) == SHD_EINVAL, "text that is no UTF-8");
    ok(match.start == 42, "limit: output untouched");
    shd_regex_destroy(regex);
    shd_regex_destroy(NULL);
}

int main(void)
{
    plan(0);
    test_search_table();
    test_rejected();
    test_unsupported();
    test_deep();
    test_limits();
    return done();
}
