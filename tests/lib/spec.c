/* Tests shd/spec.h: specs are parsed from each notation, and print in each notation.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include <shd/spec.h>

#include "../support/tap.h"

/* Each text as JSON; NULL if the text is refused. */
static const struct {
    const char *text;
    const char *json;
} cases[] = {
    {"P(('dp', 'fsdp'), None, 'tp')", "[[\"dp\",\"fsdp\"],null,\"tp\"]"},
    {"PartitionSpec((\"dp\",\"fsdp\"), None, \"tp\")", "[[\"dp\",\"fsdp\"],null,\"tp\"]"},
    {"[[dp, fsdp], null, tp]", "[[\"dp\",\"fsdp\"],null,\"tp\"]"},
    {"((\"dp\", \"fsdp\"), None, \"tp\")", "[[\"dp\",\"fsdp\"],null,\"tp\"]"},
    {" [ ~ , ~ ] ", "[null,null]"},
    {"[]", "[]"},
    {"P()", "[]"},
    {"()", "[]"},
    {"[null]", "[null]"},
    {"P(None,)", "[null]"},
    {"[[a]]", "[\"a\"]"},
    {"P(('a',), ())", "[\"a\",null]"},
    {"['', ['', a, '']]", "[null,\"a\"]"},
    {"['None', 'null', \"~\"]", "[\"None\",\"null\",\"~\"]"},
    {"[P]", "[\"P\"]"},
    {"[\"it's\", 'say \\'hi\\'']", "[\"it's\",\"say 'hi'\"]"},
    {"[\n\ta,\n\tb\n]", "[\"a\",\"b\"]"},
    {"", NULL},
    {"dp", NULL},
    {"[a", NULL},
    {"[a)", NULL},
    {"(a]", NULL},
    {"[a b]", NULL},
    {"[a,, b]", NULL},
    {"[,]", NULL},
    {"[a] b", NULL},
    {"[[a, null]]", NULL},
    {"[[[a]]]", NULL},
    {"['a]", NULL},
    {"['a\\", NULL},
    {"Q(a)", NULL},
    {"[a: b]", NULL},
    {"{a}", NULL},
};

static void test_parse_table(void)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct shd_spec *spec = NULL;
        struct shd_error err = {0};
        char json[128];
        int status = shd_spec_parse(&spec, cases[i].text, &err);

        if (!cases[i].json) {
            ok(status == SHD_EINVAL && !spec && strstr(err.text, "column"), "parse '%s': refused",
               cases[i].text);
            continue;
        }
        if (!ok(!status, "parse '%s'", cases[i].text))
            continue;
        shd_spec_print(spec, SHD_SPEC_JSON, json, sizeof(json));
        ok(!strcmp(json, cases[i].json), "parse '%s': %s", cases[i].text, json);
        shd_spec_destroy(spec);
    }
}

/* Every notation parses back to the same spec. */
static void test_print(void)
{
    static const char *const texts[] = {
        "[]",
        "[null]",
        "[[dp, fsdp], null, tp]",
        "['a b', 'null', 'it\\'s', 'x\"y', 'b\\\\s']",
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct shd_spec *spec = NULL;

        if (!ok(!shd_spec_parse(&spec, texts[i], NULL), "print %s: parse", texts[i]))
            continue;
        for (int n = SHD_SPEC_PYTHON; n <= SHD_SPEC_JSON; n++) {
            struct shd_spec *again = NULL;
            char text[128];
            size_t length = shd_spec_print(spec, (enum shd_spec_notation)n, text, sizeof(text));

            ok(length == strlen(text) && !shd_spec_parse(&again, text, NULL) &&
                   shd_spec_equal(spec, again),
               "print %s: %s parses back", texts[i], text);
            shd_spec_destroy(again);
        }
        shd_spec_destroy(spec);
    }
}

static void test_notations(void)
{
    static const char *const want[] = {
        [SHD_SPEC_PYTHON] = "P(('dp', 'fsdp'), None, 'tp')",
        [SHD_SPEC_YAML] = "[[dp, fsdp], null, tp]",
        [SHD_SPEC_JSON] = "[[\"dp\",\"fsdp\"],null,\"tp\"]",
    };
    struct shd_spec *spec = NULL;
    char text[64];
    char small[6];

    if (!ok(!shd_spec_parse(&spec, want[SHD_SPEC_YAML], NULL), "notations: parse"))
        return;
    for (int n = SHD_SPEC_PYTHON; n <= SHD_SPEC_JSON; n++) {
        shd_spec_print(spec, (enum shd_spec_notation)n, text, sizeof(text));
        ok(!strcmp(text, want[n]), "notations: %s", want[n]);
    }
    ok(shd_spec_print(spec, SHD_SPEC_YAML, small, sizeof(small)) == strlen(want[SHD_SPEC_YAML]) &&
           !strcmp(small, "[[dp,"),
       "print: cut, the whole length told");
    shd_spec_destroy(spec);
}

static void test_create(void)
{
    const char *const axes[] = {"a", "", "b"};
    const struct shd_spec_entry entries[] = {{axes, 3}, {NULL, 0}, {axes + 1, 1}, {axes, 1}};
    struct shd_spec *spec = NULL;
    struct shd_spec *copy = NULL;
    struct shd_spec *shorter = NULL;

    ok(!shd_spec_create(&spec, entries, 4, NULL), "create");
    ok(shd_spec_nentries(spec) == 4, "create: entries are kept");
    ok(shd_spec_naxes(spec, 0) == 2 && !strcmp(shd_spec_axis(spec, 0, 1), "b"),
       "create: an empty name is no axis");
    ok(shd_spec_naxes(spec, 1) == 0 && shd_spec_naxes(spec, 2) == 0, "create: none");
    ok(shd_spec_naxes(spec, 3) == 1 && !strcmp(shd_spec_axis(spec, 3, 0), "a"),
       "create: duplicates are not looked for");
    ok(!shd_spec_copy(&copy, spec, NULL) && shd_spec_equal(spec, copy), "copy");
    ok(!shd_spec_create(&shorter, entries, 3, NULL) && !shd_spec_equal(spec, shorter),
       "equal: the number of entries counts");
    shd_spec_destroy(spec);
    ok(!strcmp(shd_spec_axis(copy, 0, 0), "a"), "copy: lives by itself");
    shd_spec_destroy(copy);
    shd_spec_destroy(shorter);
    shd_spec_destroy(NULL);
}

static void test_equal(void)
{
    static const struct {
        const char *a;
        const char *b;
        int equal;
    } pairs[] = {
        {"[]", "[null]", 0},
        {"[a]", "[[a]]", 1},
        {"[[a, b]]", "[[b, a]]", 0},
        {"[[a, b]]", "[a, b]", 0},
        {"[a, null]", "[a]", 0},
        {"[[], a]", "[null, a]", 1},
        {"[[a], [b, c]]", "[[a, b], c]", 0},
    };

    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        struct shd_spec *a = NULL;
        struct shd_spec *b = NULL;

        ok(!shd_spec_parse(&a, pairs[i].a, NULL) && !shd_spec_parse(&b, pairs[i].b, NULL) &&
               shd_spec_equal(a, b) == pairs[i].equal,
           "equal: %s and %s", pairs[i].a, pairs[i].b);
        shd_spec_destroy(a);
        shd_spec_destroy(b);
    }
}

int main(void)
{
    plan(0);
    test_parse_table();
    test_print();
    test_notations();
    test_create();
    test_equal();
    return done();
}
