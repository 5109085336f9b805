/* Tests shd/rules.h: rules are matched in order, wrong ones are refused, and patterns that are
 * found as plain texts match like searched ones.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <shd/regex.h>
#include <shd/rules.h>

#include "../support/layout.h"
#include "../support/tap.h"

static int add(struct shd_rules *rules, const char *pattern, const char *text,
               struct shd_error *err)
{
    struct shd_spec *spec;
    int status = shd_spec_parse(&spec, text, err);

    if (status)
        return status;
    status = shd_rules_add(rules, pattern, spec, err);
    shd_spec_destroy(spec);
    return status;
}

static void test_match(struct shd_rules *rules)
{
    static const struct {
        const char *name;
        int status;
        size_t rule;
    } cases[] = {
        {"model/mlp/up/kernel", SHD_OK, 0},
        {"model/mlp/up_kernel", SHD_OK, 1},
        {"attn/Kernel", SHD_ENOTFOUND, 0},
        {"attn/bias", SHD_OK, 2},
        {"attn/bias_scale", SHD_OK, 3},
        {"attn", SHD_ENOTFOUND, 0},
        {"", SHD_ENOTFOUND, 0},
        {"a\xff", SHD_EINVAL, 0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t rule = 99;
        int status = shd_rules_match(&rule, rules, cases[i].name, NULL);

        ok(status == cases[i].status && rule == (status ? 99 : cases[i].rule), "match '%s'",
           cases[i].name);
    }
}

static void test_errors(struct shd_rules *rules)
{
    struct shd_error err = {0};
    size_t rule = 99;

    ok(add(rules, "a(b", "[]", &err) == SHD_EREGEX && strstr(err.text, "position 1"),
       "add: a bad pattern, with its place");
    ok(shd_rules_count(rules) == 4, "add: nothing was added");
    ok(shd_rules_match(&rule, rules, "attn", &err) == SHD_ENOTFOUND && strstr(err.text, "'attn'"),
       "match: names what has no rule");
}

static void test_many(void)
{
    struct shd_rules *rules = NULL;
    size_t rule = 0;
    char pattern[32];
    int all = 1;

    if (!ok(!shd_rules_create(&rules, NULL), "many: create"))
        return;
    ok(shd_rules_match(&rule, rules, "a", NULL) == SHD_ENOTFOUND, "no rules at all");
    for (int i = 0; i < 100; i++) {
        snprintf(pattern, sizeof(pattern), "layer_%d/", i);
        all &= !add(rules, pattern, "[a]", NULL);
    }
    for (size_t i = 0; i < 100; i++) {
        snprintf(pattern, sizeof(pattern), "x/layer_%zu/y", i);
        all &= !shd_rules_match(&rule, rules, pattern, NULL) && rule == i;
    }
    ok(all, "many: all found");
    shd_rules_destroy(rules);
}

static uint32_t state = 12345;

static uint32_t below(uint32_t n)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 16) % n;
}

static void join(char *out, const char *const *pieces, uint32_t npieces, uint32_t most)
{
    *out = '\0';
    for (uint32_t i = 0, n = below(most + 1); i < n; i++)
        out = stpcpy(out, pieces[below(npieces)]);
}

/* Most patterns are found as plain texts instead of searched: a name must match as in a search. */
static void test_texts(void)
{
    static const char *const pieces[] = {
        "a",     "b",       "ab",           "\\.",   "/",    "(",   ")",  "|",
        "(a|b)", "(?:ab|)", "(a|(b|/)\\.)", ".*",    ".*?",  "^",   "$",  "a?",
        "[ab]",  "\\d",     "\\/",          "(b$)",  "()",   "\\Z", "a*", "(^a)",
        "(?i)",  "{",       "b{2}",         "(.*a)", "(b.*)"};
    static const char *const letters[] = {"a", "b",  "A",  ".", "/",       "\n",
                                          "1", "ba", "ab", "{", "\xc3\xa9"};
    char pattern[64], name[64];
    size_t ncompiled = 0, nfound = 0, nwrong = 0;

    for (int i = 0; i < 20000; i++) {
        struct shd_rules *rules = NULL;
        struct shd_regex *regex = NULL;

        join(pattern, pieces, sizeof(pieces) / sizeof(pieces[0]), 5);
        if (shd_regex_compile(&regex, pattern, NULL))
            continue;
        ncompiled++;
        must(shd_rules_create(&rules, NULL), "rules");
        must(add(rules, pattern, "[]", NULL), "a rule");
        for (int k = 0; k < 8; k++) {
            struct shd_regex_match match;
            size_t rule;

            join(name, letters, sizeof(letters) / sizeof(letters[0]), 5);
            must(shd_regex_search(&match, regex, name, NULL), "a search");
            nfound += match.found;
            if (match.found == (shd_rules_match(&rule, rules, name, NULL) == SHD_OK))
                continue;
            if (nwrong++ < 5)
                diag("'%s' in '%s'", pattern, name);
        }
        shd_rules_destroy(rules);
        shd_regex_destroy(regex);
    }
    ok(nwrong == 0 && ncompiled > 5000 && nfound > 10000,
       "texts: %zu patterns match what a search finds, %zu times", ncompiled, nfound);
}

/* An escaped character counts as itself where the escape has no other meaning, and a text just too
 * long to be found as plain text is searched. */
static void test_plain_texts(void)
{
    size_t ncompiled = 0, nwrong = 0;

    for (int c = 1; c < 400; c++) {
        struct shd_regex *regex = NULL;
        struct shd_rules *rules = NULL;
        struct shd_regex_match match;
        char pattern[512] = "(x)()()()()()()()()y\\", name[512] = "xyx";
        size_t rule, length = strlen(pattern);

        if (c < 128) {
            pattern[length] = name[2] = (char)c;
        } else {
            memset(pattern, 'a', (size_t)c - 128);
            memcpy(pattern + c - 128, "bc", 3);
            memcpy(name, pattern, sizeof(name));
            name[c - 128] = c % 3 ? 'b' : 'd';
        }
        if (shd_regex_compile(&regex, pattern, NULL))
            continue;
        ncompiled++;
        must(shd_rules_create(&rules, NULL), "rules");
        must(add(rules, pattern, "[]", NULL), "a rule");
        for (int cut = 0; cut < 2; cut++) {
            must(shd_regex_search(&match, regex, name, NULL), "a search");
            if (match.found != (shd_rules_match(&rule, rules, name, NULL) == SHD_OK) &&
                nwrong++ < 5)
                diag("'%s' in '%s'", pattern, name);
            name[strlen(name) - 1] = '\0';
        }
        shd_rules_destroy(rules);
        shd_regex_destroy(regex);
    }
    ok(nwrong == 0 && ncompiled > 300, "texts: %zu escapes and lengths match what a search finds",
       ncompiled);
}

/* Invalid UTF-8 is an error, whether a pattern is found as plain text or searched. */
static void test_no_text(void)
{
    static const char *const patterns[] = {"kernel", "kernel.+x", "[k]", "(up|down)$"};

    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
        struct shd_rules *rules = NULL;
        size_t rule;

        must(shd_rules_create(&rules, NULL), "rules");
        must(add(rules, patterns[i], "[]", NULL), "a rule");
        ok(shd_rules_match(&rule, rules, "layers\xff", NULL) == SHD_EINVAL,
           "'%s' in what is no UTF-8", patterns[i]);
        shd_rules_destroy(rules);
    }
}

#define LONG "a0123456789b0123456789c0123456789d0123456789e0123456789f0123456789g0123456789"

static void test_long_texts(void)
{
    static const char *const names[] = {"x/abcdefghijklmnopqrstuvwxyz/y", "x/q/a/u/y", "x/t/d/z/y"};
    char pattern[400], *end = pattern;
    struct shd_rules *rules = NULL;
    size_t rule;

    /* More and longer alternatives than are found as plain texts. */
    must(shd_rules_create(&rules, NULL), "rules");
    for (int i = 0; i < 8; i++)
        end = stpcpy(end, "abcdefghijklmnopqrstuvwxyz0123456789");
    must(add(rules, pattern, "[]", NULL), "a long text");
    must(add(rules, "(q|r|s)/(a|b|c)/(u|v|w)", "[]", NULL), "27 texts");
    must(add(rules, "t/(a|b|c|d|e|f)/(z|y)", "[]", NULL), "12 texts");
    must(add(rules, "(" LONG ")(" LONG ")", "[]", NULL), "two long groups");
    ok(shd_rules_match(&rule, rules, pattern, NULL) == SHD_OK && rule == 0, "texts: a long one");
    ok(shd_rules_match(&rule, rules, names[0], NULL) == SHD_ENOTFOUND, "texts: only the whole");
    ok(shd_rules_match(&rule, rules, names[1], NULL) == SHD_OK && rule == 1, "texts: many");
    ok(shd_rules_match(&rule, rules, names[2], NULL) == SHD_OK && rule == 2, "texts: a dozen");
    ok(shd_rules_match(&rule, rules, "x" LONG LONG, NULL) == SHD_OK && rule == 3 &&
           shd_rules_match(&rule, rules, "x" LONG "y" LONG, NULL) == SHD_ENOTFOUND,
       "texts: long groups");
    shd_rules_destroy(rules);
}

int main(void)
{
    struct shd_rules *rules = NULL;
    char text[16];

    plan(0);
    ok(!shd_rules_create(&rules, NULL), "create");
    ok(!add(rules, "mlp/up/kernel", "[null, tp]", NULL) && !add(rules, "kernel", "[fsdp]", NULL) &&
           !add(rules, "bias$", "[]", NULL) && !add(rules, "bias|scale", "[tp]", NULL),
       "add");
    ok(shd_rules_count(rules) == 4 && !strcmp(shd_rules_pattern(rules, 2), "bias$"), "count");
    shd_spec_print(shd_rules_spec(rules, 0), SHD_SPEC_YAML, text, sizeof(text));
    ok(!strcmp(text, "[null, tp]"), "spec: copied");
    test_match(rules);
    test_errors(rules);
    test_many();
    test_texts();
    test_long_texts();
    test_plain_texts();
    test_no_text();
    shd_rules_destroy(rules);
    shd_rules_destroy(NULL);
    return done();
}
