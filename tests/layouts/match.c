/* Tests shd/match.h: names are matched to rules as by the original, also to rules added late.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/match.h>

#include "../support/layout.h"
#include "../support/tap.h"

#define NRULES_MAX 3

static const struct {
    const char *what;
    const char *rules[NRULES_MAX][2]; /* pattern and spec; "none" for a rule without a spec */
    const char *name;
    size_t rank;
    int64_t shape[3];
    int64_t min_elements;
    bool strict;
    int status;
    const char *spec;
} cases[] = {
    {"trimmed to the rank", {{"w", "[tp, dp]"}}, "w", 1, {65536}, 16384, false, SHD_OK, "[tp]"},
    {"trimmed to two", {{"w", "[tp, dp, sp]"}}, "w", 2, {256, 256}, 1, false, SHD_OK, "[tp, dp]"},
    {"never padded", {{"w", "[tp]"}}, "w", 3, {64, 64, 64}, 16384, false, SHD_OK, "[tp]"},
    {"nothing is cut", {{"w", "[tp, null]"}}, "w", 2, {256, 256}, 1, false, SHD_OK, "[tp, null]"},
    {"below the threshold", {{"w", "[dp]"}}, "w", 1, {16383}, 16384, false, SHD_OK, "[]"},
    {"at the threshold", {{"w", "[dp]"}}, "w", 1, {16384}, 16384, false, SHD_OK, "[dp]"},
    {"no elements", {{"w", "[dp]"}}, "w", 2, {0, 99999}, 16384, false, SHD_OK, "[]"},
    {"rank 0 needs no rule", {{NULL, NULL}}, "w", 0, {0}, 0, false, SHD_OK, "[]"},
    {"no rule", {{"x", "[dp]"}}, "w", 1, {65536}, 16384, false, SHD_ENOTFOUND, NULL},
    {"no rule, though small", {{"x", "[dp]"}}, "w", 1, {1}, 16384, false, SHD_ENOTFOUND, NULL},
    {"the first rule", {{"w", "[tp]"}, {"w1", "[dp]"}}, "w1", 1, {65536}, 1, false, SHD_OK, "[tp]"},
    {"a look-ahead",
     {{"^(?!.*bias).*$", "[tp]"}, {".*", "[]"}},
     "mlp/bias", 1, {65536}, 1, false, SHD_OK, "[]"},
    {"a bad pattern in front", {{"(", "[tp]"}, {"w", "[dp]"}}, "w", 1, {65536}, 1, false,
     SHD_EREGEX, NULL},
    {"a bad pattern behind", {{"w", "[dp]"}, {"(", "[tp]"}}, "w", 1, {65536}, 1, false, SHD_OK,
     "[dp]"},
    {"no spec", {{"w", "none"}}, "w", 1, {65536}, 16384, false, SHD_ETYPE, NULL},
    {"no spec, but small", {{"w", "none"}}, "w", 1, {8}, 16384, false, SHD_OK, "[]"},
    {"a count that wraps to 0", {{"w", "[dp]"}}, "w", 2, {INT64_C(1) << 40, INT64_C(1) << 30},
     16384, false, SHD_OK, "[]"},
    {"strict: it does not", {{"w", "[dp]"}}, "w", 2, {INT64_C(1) << 40, INT64_C(1) << 30}, 16384,
     true, SHD_OK, "[dp]"},
    {"strict: axes stay", {{"w", "[tp, dp]"}}, "w", 1, {65536}, 1, true, SHD_ESPECLONG, NULL},
    {"strict: a null entry is truncated", {{"w", "[tp, null]"}}, "w", 1, {65536}, 1, true, SHD_OK,
     "[tp]"},
    {"a name that is not UTF-8", {{"w", "[tp]"}}, "w\xff", 1, {65536}, 1, false, SHD_EINVAL, NULL},
};

static struct shd_rules *rules_of(const char *const rows[][2], size_t n)
{
    struct shd_rules *rules = NULL;

    must(shd_rules_create(&rules, NULL), "rules");
    for (size_t i = 0; i < n && rows[i][0]; i++) {
        struct shd_spec *spec = strcmp(rows[i][1], "none") ? spec_of(rows[i][1]) : NULL;

        must(shd_rules_add_late(rules, rows[i][0], spec, NULL), "a rule added late");
        shd_spec_destroy(spec);
    }
    return rules;
}

static void test_case(size_t row)
{
    struct shd_rules *rules = rules_of(cases[row].rules, NRULES_MAX);
    struct shd_match_options options = {cases[row].min_elements, cases[row].strict};
    struct shd_leaf leaf = {.name = cases[row].name,
                            .rank = cases[row].rank,
                            .shape = cases[row].shape};
    struct shd_match match;
    struct shd_spec *spec = NULL;
    int status = shd_match_leaf(&match, rules, &leaf, &options, NULL);

    if (!status)
        must(shd_match_spec(&spec, &match, NULL), "the spec");
    ok(status == cases[row].status && (status || !strcmp(text_of(spec), cases[row].spec)),
       "%s: %s", cases[row].what, text_of(spec));
    shd_spec_destroy(spec);
    shd_rules_destroy(rules);
}

static void test_tree(void)
{
    static const char *const rows[][2] = {
        {"layers/0/", "[tp]"}, {"^head", "[sp]"}, {"scale", "[]"}, {"layers/[1-9]", "[dp, tp]"}};
    static const char *const names[] = {"layers/0/k", "layers/1/k", "head", "layers/scale"};
    static const size_t found[] = {0, 3, 1, 2};
    const int64_t shape[] = {256, 256};
    struct shd_rules *rules = rules_of(rows, 4);
    struct shd_match_options options = shd_match_defaults();
    struct shd_match matches[5];
    struct shd_tree *tree = NULL;

    must(shd_tree_create(&tree, NULL), "a tree");
    for (size_t i = 0; i < 4; i++) {
        struct shd_leaf leaf = {.name = names[i], .rank = 2, .shape = shape};

        must(shd_tree_add(tree, &leaf, NULL), names[i]);
    }
    ok(options.min_elements == 16384 && !options.strict, "the defaults are the original's");
    ok(!shd_match_tree(matches, rules, tree, &options, NULL), "tree: matched");
    for (size_t i = 0; i < 4; i++)
        ok(matches[i].rule == found[i] && matches[i].spec == shd_rules_spec(rules, found[i]),
           "tree: '%s' has rule %zu", names[i], matches[i].rule);

    struct shd_leaf odd = {.name = "odd", .rank = 2, .shape = shape};
    struct shd_error err = {0};

    must(shd_tree_add(tree, &odd, NULL), "odd");
    ok(shd_match_tree(matches, rules, tree, &options, &err) == SHD_ENOTFOUND &&
           strstr(err.text, "'odd'"),
       "tree: the name without a rule is reported: %s", err.text);
    shd_tree_destroy(tree);
    shd_rules_destroy(rules);
}

/* The shortcuts of a search must not change its result. */
static void test_shortcuts(void)
{
    static const struct {
        const char *pattern, *name;
        bool found;
    } rows[] = {
        {"attn/kernel", "x/attn/kernel", true},   {"attn/kernel", "x/attn/kerne", false},
        {"ab*c", "ac", true},                     {"ab?c", "xacx", true},
        {"ab+c", "ac", false},                    {"ab{0,2}c", "ac", true},
        {"abc|x", "x", true},                     {"a(b|c)?d", "ad", true},
        {"(?i)ABC", "abc", true},                 {"(?i:A)bc", "abc", true},
        {"(?x) a b c", "abc", true},              {"\\x41b", "Ab", true},
        {"[a|b]c", "bc", true},                   {"x[)]y(z)?", "x)y", true},
        {"\\d+b", "12b", true},                   {"a\\.b", "a.b", true},
        {"(\\(|a)q", "aq", true},                 {"\xc3\xa9?x", "x", true},
        {"a(?#no )b", "ab", true},                {"k$", "k\n", true},
        {"kernel", "\xc3\xa9/kernel", true},      {"(?!abc)x", "x", true},
        {"a(?=b)b", "ab", true},                  {"(?P<n>a)(?P=n)z", "aaz", true},
        {"x(|y)z", "xz", true},                   {"\\u0061b", "ab", true},
        {"\\101b", "Ab", true},                   {"ab{c", "ab{c", true},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *const row[][2] = {{rows[i].pattern, "[]"}};
        struct shd_rules *rules = rules_of(row, 1);
        size_t rule;
        int status = shd_rules_match(&rule, rules, rows[i].name, NULL);

        ok(status == (rows[i].found ? SHD_OK : SHD_ENOTFOUND), "'%s' is %sfound, row %zu",
           rows[i].pattern, rows[i].found ? "" : "not ", i);
        shd_rules_destroy(rules);
    }
}

int main(void)
{
    plan(0);
    for (size_t row = 0; row < sizeof(cases) / sizeof(cases[0]); row++)
        test_case(row);
    test_tree();
    test_shortcuts();
    return done();
}
