/* What shd/rules.h promises.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include <shd/rules.h>

#include "tap.h"

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
    shd_rules_destroy(rules);
    shd_rules_destroy(NULL);
    return done();
}
