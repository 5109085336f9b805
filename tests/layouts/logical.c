/* Tests shd/logical.h: rules for logical axes, their priorities, and the specs made of them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/logical.h>

#include "../support/layout_text.h"
#include "../support/tap.h"

static void add(struct shd_logical_rules *rules, const char *name, const char *axes)
{
    char copy[64];
    const char *words[8];
    struct shd_spec_entry entry = {words, split_words(copy, sizeof copy, axes, words)};

    ok(shd_logical_rules_add(rules, name, &entry, NULL) == SHD_OK, "rule %s -> '%s'", name, axes);
}

static struct shd_logical_rules *standard(int activations, int parameters)
{
    struct shd_logical_rules *rules = NULL;
    int status = shd_logical_rules_standard(&rules, activations, parameters, NULL, NULL);

    ok(status == SHD_OK, "standard rules (%d,%d)", activations, parameters);
    return rules;
}

/* Rules as "name=axis+axis ...". */
static const char *rules_text(char *buf, size_t size, const struct shd_logical_rules *rules)
{
    size_t length = 0;

    for (size_t i = 0; i < shd_logical_rules_count(rules); i++) {
        const struct shd_spec_entry *axes = shd_logical_rules_axes(rules, i);

        length += (size_t)snprintf(buf + length, size - length, "%s%s=", i > 0 ? " " : "",
                                   shd_logical_rules_name(rules, i));
        for (size_t a = 0; a < axes->naxes; a++)
            length += (size_t)snprintf(buf + length, size - length, "%s%s", a > 0 ? "+" : "",
                                       axes->axes[a]);
    }
    return buf;
}

static void test_standard(void)
{
    static const char tail[] = " relpos_buckets= abspos_buckets= length= layers= stack= "
                               "mlp_activations=";
    static const struct {
        int activations, parameters;
        const char *rules;
    } rows[] = {
        {1, 1, "batch=data vocab=model embed= mlp=model heads=model kv= joined_kv=model"},
        {2, 1, "batch=data vocab=model mlp=model heads=model kv= joined_kv=model embed=model"},
        {1, 2, "batch=data vocab=model mlp=model heads=model kv= joined_kv=model embed=data"},
        {2, 2,
         "batch=data vocab=model mlp=model heads=model kv= joined_kv=model embed=model "
         "embed=data"},
    };
    static const int64_t bad[][2] = {{0, 1}, {1, 0}, {3, 1}, {2, 3}, {-1, 1}, {1, INT64_MAX}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct shd_logical_rules *rules = standard(rows[i].activations, rows[i].parameters);
        char text[1024], want[1024];

        snprintf(want, sizeof want, "%s%s", rows[i].rules, tail);
        ok(!strcmp(rules_text(text, sizeof text, rules), want), "standard: their order");
        shd_logical_rules_destroy(rules);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct shd_logical_rules *rules = NULL;

        ok(shd_logical_rules_standard(&rules, bad[i][0], bad[i][1], NULL, NULL) == SHD_EINVAL &&
               !rules,
           "standard: no rules for (%d,%d)", (int)bad[i][0], (int)bad[i][1]);
    }
}

static void test_additional(void)
{
    struct shd_logical_rules *more, *rules;
    struct shd_spec *spec;
    static const char *const names[] = {"batch", "mine"};

    ok(shd_logical_rules_create(&more, NULL) == SHD_OK, "create");
    add(more, "batch", "model");
    add(more, "mine", "data model");
    ok(shd_logical_rules_standard(&rules, 1, 1, more, NULL) == SHD_OK &&
           shd_logical_rules_count(rules) == 15,
       "additional rules are appended");
    ok(shd_logical_rules_spec(&spec, rules, names, 2, NULL) == SHD_OK &&
           spec_is(spec, "[\"data\",null]"),
       "additional rules have the lowest priority");
    ok(shd_logical_rules_append(rules, rules, NULL) == SHD_OK &&
           shd_logical_rules_count(rules) == 30,
       "rules can be appended to themselves");
    shd_logical_rules_destroy(more);
    shd_logical_rules_destroy(rules);
}

static void expect(const struct shd_logical_rules *rules, const char *names, const char *want)
{
    char copy[128];
    const char *words[16];
    size_t n = split_words(copy, sizeof copy, names, words);
    struct shd_spec *spec = NULL;
    int status = shd_logical_rules_spec(&spec, rules, words, n, NULL);

    ok(status == SHD_OK && spec_is(spec, want), "[%s] is %s", names, want);
}

static void test_spec(void)
{
    struct shd_logical_rules *rules = standard(2, 2);

    expect(rules, "embed mlp", "[\"data\",\"model\"]");
    expect(rules, "batch embed", "[\"data\",\"model\"]");
    expect(rules, "embed", "[\"model\"]");
    expect(rules, "vocab embed", "[\"model\",\"data\"]");
    expect(rules, "- embed - nothing", "[null,\"model\",null,null]");
    expect(rules, "", "[]");
    expect(rules, "- -", "[null,null]");
    shd_logical_rules_destroy(rules);
}

static void test_priority(void)
{
    struct shd_logical_rules *rules;

    ok(shd_logical_rules_create(&rules, NULL) == SHD_OK, "create");
    expect(rules, "a b", "[null,null]");
    add(rules, "embed", "");
    add(rules, "embed", "model");
    add(rules, "heads", "model data");
    add(rules, "heads", "model");
    add(rules, "mlp", "data");
    add(rules, "seq", "x y");
    expect(rules, "embed", "[null]");
    expect(rules, "heads mlp", "[[\"model\",\"data\"],null]");
    expect(rules, "mlp heads seq", "[null,[\"model\",\"data\"],[\"x\",\"y\"]]");
    shd_logical_rules_destroy(rules);

    ok(shd_logical_rules_create(&rules, NULL) == SHD_OK, "create");
    add(rules, "mlp", "data");
    add(rules, "heads", "model data");
    add(rules, "heads", "model");
    expect(rules, "heads mlp", "[\"model\",\"data\"]");
    shd_logical_rules_destroy(rules);
}

static void test_bad(void)
{
    static const char *const twice[] = {"mlp", NULL, "mlp"};
    static const char *const empty[] = {"", "data"};
    const struct shd_spec_entry entry = {empty, 1}, half = {empty, 2};
    struct shd_logical_rules *rules = standard(1, 1);
    struct shd_spec *spec = NULL;
    struct shd_error err;

    ok(shd_logical_rules_spec(&spec, rules, twice, 3, &err) == SHD_EDUPAXIS && !spec &&
           strstr(err.text, "mlp"),
       "a name twice is refused, and named");
    ok(shd_logical_rules_add(rules, "e", &entry, NULL) == SHD_OK &&
           shd_logical_rules_axes(rules, 13)->naxes == 0,
       "an empty axis is no axis");
    ok(shd_logical_rules_add(rules, "f", &half, NULL) == SHD_OK &&
           shd_logical_rules_axes(rules, 14)->naxes == 1 &&
           !strcmp(shd_logical_rules_axes(rules, 14)->axes[0], "data"),
       "nor is one beside another");
    shd_logical_rules_destroy(rules);
    shd_logical_rules_destroy(NULL);
}

int main(void)
{
    plan(0);
    test_standard();
    test_additional();
    test_spec();
    test_priority();
    test_bad();
    return done();
}
