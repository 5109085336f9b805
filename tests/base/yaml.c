/* Tests base/yaml.h: trees, places of faults, limits, scalars and printing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/yaml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/tap.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct place first = {"f", 1, 1};

static int parse_n(struct yaml_doc **doc, const char *text, size_t length, struct text *messages)
{
    struct diag errors = DIAG_INIT;

    *doc = NULL;
    int status = yaml_doc_parse(doc, first, text, length, &errors);
    text_clear(messages);
    diag_print(&errors, messages);
    if ((status == SHD_OK) != (errors.nerrors == 0) || (status == SHD_OK) != (*doc != NULL))
        status = -1000;
    diag_fini(&errors);
    return status;
}

static struct yaml_doc *parse(const char *text)
{
    struct text messages = TEXT_INIT;
    struct yaml_doc *doc;

    if (parse_n(&doc, text, strlen(text), &messages) != SHD_OK)
        diag("%s", text_get(&messages));
    text_fini(&messages);
    return doc;
}

static int is_at(const struct yaml_node *node, int line, int column)
{
    return node->place.line == line && node->place.column == column &&
           strcmp(node->place.file, "f") == 0;
}

static void test_tree(void)
{
    struct yaml_doc *doc = parse("a: 1\nb: [x, 'y',\n  {c: }]\n\xc3\xa9: |\n  text\n");
    const struct yaml_node *root = yaml_doc_root(doc);
    const struct yaml_node *list = yaml_find(root, "b");

    ok(root->kind == YAML_MAP && root->nitems == 3 && is_at(root, 1, 1), "map at the top");
    ok(is_at(root->keys[1], 2, 1) && is_at(list, 2, 4), "place of key and list");
    ok(list->kind == YAML_LIST && list->nitems == 3, "list");
    ok(!strcmp(list->items[0]->text, "x") && !list->items[0]->quoted && is_at(list->items[0], 2, 5),
       "plain text");
    ok(!strcmp(list->items[1]->text, "y") && list->items[1]->quoted && is_at(list->items[1], 2, 8),
       "quoted text");
    ok(list->items[2]->kind == YAML_MAP && is_at(list->items[2], 3, 3), "map in a list");
    ok(yaml_is_null(yaml_find(list->items[2], "c")), "a key without value is null");
    const struct yaml_node *block = yaml_find(root, "\xc3\xa9");
    ok(block && !strcmp(block->text, "text\n") && block->quoted && is_at(block, 4, 4),
       "block text; columns count characters");
    ok(!yaml_find(root, "z"), "find: a missing key");
    yaml_doc_destroy(doc);
    yaml_doc_destroy(NULL);
}

static void test_json(void)
{
    struct yaml_doc *doc = parse("\xef\xbb\xbf{\"a\": [1, -2.5, true, null, \"\\u00e9\\n\"], "
                                 "\"b\": {}}");
    const struct yaml_node *list = yaml_find(yaml_doc_root(doc), "a");
    double number = 0;

    ok(list && list->nitems == 5 && yaml_read_double(list->items[1], &number) && number == -2.5 &&
           yaml_is_null(list->items[3]) && !strcmp(list->items[4]->text, "\xc3\xa9\n"),
       "JSON is YAML");
    yaml_doc_destroy(doc);
}

static void test_empty(void)
{
    struct yaml_doc *list = parse("[]");
    struct yaml_doc *map = parse("{}");

    ok(yaml_doc_root(list)->nitems == 0 && yaml_doc_root(map)->nitems == 0, "empty list and map");
    yaml_doc_destroy(list);
    yaml_doc_destroy(map);
}

static void test_first_place(void)
{
    struct diag errors = DIAG_INIT;
    struct yaml_doc *doc = NULL;
    struct place place = {"--set", 3, 7};

    int status = yaml_doc_parse(&doc, place, "[a,\nb]", 6, &errors);
    const struct yaml_node *root = yaml_doc_root(doc);
    ok(status == SHD_OK && root->place.line == 3 && root->place.column == 7 &&
           root->items[1]->place.line == 4 && root->items[1]->place.column == 1,
       "places count from the first");
    yaml_doc_destroy(doc);
}

static const struct {
    const char *what;
    const char *text;
    int status;
    const char *message; /* the begin of the message */
} bad[] = {
    {"empty", "", SHD_EINVAL, "f:1:1: error: empty; expected"},
    {"only a comment", "# x\n", SHD_EINVAL, "f:1:1: error: empty; expected"},
    {"list not closed", "a: [1, 2\nb: 3\n", SHD_EINVAL, "f:2:2: error: did not find expected ','"},
    {"ends in a list", "a: [1, 2", SHD_EINVAL, "f:1:9: error: did not find expected"},
    {"tab", "a:\n\t- b\n", SHD_EINVAL,
     "f:2:1: error: a tab before the first word of a line; expected spaces"},
    {"bad indent", "a: 1\n  b: 2\n", SHD_EINVAL, "f:2:4: error: mapping values are not allowed"},
    {"bad escape", "a: \"\\q\"\n", SHD_EINVAL, "f:1:5: error: found unknown escape"},
    {"quote not closed", "a: 'x\n", SHD_EINVAL, "f:2:1: error: found unexpected end of stream"},
    {"anchor", "a: &x 1\nb: *x\n", SHD_EUNSUPPORTED, "f:1:4: error: anchors and aliases"},
    {"alias", "a: *x\n", SHD_EUNSUPPORTED, "f:1:4: error: anchors and aliases"},
    {"tag", "a: !!str 1\n", SHD_EUNSUPPORTED, "f:1:4: error: tag 'tag:yaml.org"},
    {"tag on a map", "!x {a: 1}\n", SHD_EUNSUPPORTED, "f:1:1: error: tag '!x' is not supported"},
    {"two documents", "a: 1\n---\nb: 2\n", SHD_EUNSUPPORTED, "f:2:1: error: a second document"},
    {"duplicate", "a: 1\nb: 2\na: 3\n", SHD_EINVAL,
     "f:3:1: error: key 'a' appears twice, first on line 1"},
    {"duplicate inside", "x: {a: 1, 'a': 2}\n", SHD_EINVAL, "f:1:11: error: key 'a' appears"},
    {"map as key", "? {a: 1}\n: 2\n", SHD_EINVAL, "f:1:3: error: a map as the key of a map"},
    {"list as key", "[a]: 2\n", SHD_EINVAL, "f:1:1: error: a list as the key of a map"},
    {"bad UTF-8", "a: 1\nb: x\xff\n", SHD_EINVAL, "f:2:5: error: byte 0xff is not UTF-8"},
    {"UTF-16", "\xff\xfe" "a", SHD_EINVAL, "f:1:1: error: byte 0xff is not UTF-8"},
    {"control", "a: \xc3\xa9\x01\n", SHD_EINVAL, "f:1:5: error: control character U+0001"},
    {"NUL in quotes", "a: \"x\\0y\"\n", SHD_EINVAL, "f:1:4: error: text with a NUL"},
    {"directives", "%A\n%B\n%C\n%D\n%E\n---\na\n", SHD_ERANGE, "f:5:1: error: too many lines"},
    {"reserved", "a: @b\n", SHD_EINVAL, "f:1:4: error: found character that cannot start"},
};

static void test_bad(void)
{
    struct text messages = TEXT_INIT;
    struct yaml_doc *doc;

    for (size_t i = 0; i < COUNT(bad); i++) {
        int status = parse_n(&doc, bad[i].text, strlen(bad[i].text), &messages);
        if (!ok(status == bad[i].status &&
                    !strncmp(text_get(&messages), bad[i].message, strlen(bad[i].message)),
                "refused: %s", bad[i].what))
            diag("%d %s", status, text_get(&messages));
        yaml_doc_destroy(doc);
    }
    int status = parse_n(&doc, "a\0b", 3, &messages);
    ok(status == SHD_EINVAL && strstr(text_get(&messages), "f:1:2: error: control"),
       "refused: a NUL byte");
    status = parse_n(&doc, "{a: 1, a: 2, b: 1, b: 2, a: 3}", 30, &messages);
    ok(status == SHD_EINVAL && strstr(text_get(&messages), "f:1:8:") &&
           strstr(text_get(&messages), "f:1:20:") && strstr(text_get(&messages), "f:1:26:"),
       "all duplicates are told at once");
    text_fini(&messages);
}

/* A text of `head`, n times `piece`, and `tail`. */
static char *repeat(const char *head, const char *piece, size_t n, const char *tail)
{
    struct text text = TEXT_INIT;

    text_add(&text, head);
    for (size_t i = 0; i < n; i++)
        text_add(&text, piece);
    text_add(&text, tail);
    return text_take(&text);
}

static void test_refused(const char *what, char *text, int status, const char *message)
{
    struct text messages = TEXT_INIT;
    struct yaml_doc *doc;

    int got = parse_n(&doc, text, strlen(text), &messages);
    if (!ok(got == status && strstr(text_get(&messages), message), "limit: %s", what))
        diag("%d %s", got, text_get(&messages));
    yaml_doc_destroy(doc);
    text_fini(&messages);
    free(text);
}

static void test_limits(void)
{
    test_refused("lists in lists", repeat("", "[", 100000, ""), SHD_ERANGE, "f:1:65: error: nested");
    test_refused("maps in maps", repeat("", "{a: ", 100000, ""), SHD_ERANGE, "error: nested too");
    test_refused("items in items", repeat("", "- ", 100000, "x"), SHD_ERANGE, "error: nested too");
    test_refused("keys in keys", repeat("", "? ", 100000, "x"), SHD_EINVAL, "f:1:3: error: a map as");
    test_refused("many values", repeat("[", "1,", 1000000, "1]"), SHD_ERANGE, "error: too many values");
    test_refused("many keys of one name", repeat("{", "a: 1,", 50000, "}"), SHD_EINVAL,
                 "error: and more than 980 more");
    test_refused("16 MiB", repeat("a: \"", "0123456789abcdef", 1 << 20, "\""), SHD_ERANGE,
                 "f:1:1: error: the text has 16.0 MiB; expected at most 16.0 MiB");
    test_refused("100 MB", repeat("", "- 0123456789abcdefghijklmno\n", 3600000, ""), SHD_ERANGE,
                 "f:1:1: error: the text has 96.1 MiB; expected at most 16.0 MiB");
    test_refused("aliases of aliases",
                 repeat("a: &a [x, x]\nb: &b [*a, *a]\n", "c: [*b, *b]\n", 10, ""),
                 SHD_EUNSUPPORTED, "f:1:4: error: anchors");
}

/* Texts within the limits are read: 64 levels, almost 16 MiB. */
static void test_within_limits(void)
{
    struct text messages = TEXT_INIT;
    struct yaml_doc *doc;
    char *deep = repeat("", "[", 64, "");
    char *all = repeat(deep, "]", 64, "");
    char *big = repeat("a: \"", "0123456789abcdef", (1 << 20) - 1, "\"");

    ok(parse_n(&doc, all, strlen(all), &messages) == SHD_OK, "64 levels are read");
    yaml_doc_destroy(doc);
    int status = parse_n(&doc, big, strlen(big), &messages);
    ok(status == SHD_OK && strlen(yaml_find(yaml_doc_root(doc), "a")->text) == (1 << 24) - 16,
       "a text just below the limit is read");
    yaml_doc_destroy(doc);
    text_fini(&messages);
    free(deep);
    free(all);
    free(big);
}

static const struct {
    const char *text;
    char type; /* type: n null, i int, d double, b bool, s string */
    double value;
} scalars[] = {
    {"null", 'n', 0},
    {"~", 'n', 0},
    {"NULL", 'n', 0},
    {"nulL", 's', 0},
    {"'null'", 's', 0},
    {"42", 'i', 42},
    {"-7", 'i', -7},
    {"+7", 'i', 7},
    {"007", 'i', 7},
    {"9223372036854775807", 'i', 9223372036854775807.0},
    {"9223372036854775808", 'd', 9223372036854775808.0},
    {"'42'", 's', 0},
    {"4.5", 'd', 4.5},
    {"4.", 'd', 4},
    {".5", 'd', 0.5},
    {"1e-4", 'd', 1e-4},
    {"1E+4", 'd', 1e4},
    {"1e999", 's', 0},
    {".inf", 's', 0},
    {"nan", 's', 0},
    {"0x10", 's', 0},
    {"1_000", 's', 0},
    {"1e", 's', 0},
    {".", 's', 0},
    {"-", 's', 0},
    {"1 2", 's', 0},
    {"true", 'b', 1},
    {"False", 'b', 0},
    {"TRUE", 'b', 1},
    {"yes", 's', 0},
    {"\"true\"", 's', 0},
};

static char type_of(const struct yaml_node *node, double *value)
{
    int64_t whole = 0;
    bool truth = false;

    *value = 0;
    if (yaml_is_null(node))
        return 'n';
    if (yaml_read_int(node, &whole)) {
        *value = (double)whole;
        return 'i';
    }
    if (yaml_read_double(node, value))
        return 'd';
    if (!yaml_read_bool(node, &truth))
        return 's';
    *value = truth;
    return 'b';
}

static void test_scalars(void)
{
    char item[64];

    for (size_t i = 0; i < COUNT(scalars); i++) {
        double value;
        snprintf(item, sizeof(item), "k: %s", scalars[i].text);
        if (!strcmp(scalars[i].text, "-"))
            snprintf(item, sizeof(item), "k: '-'");
        struct yaml_doc *doc = parse(item);
        char type = type_of(yaml_find(yaml_doc_root(doc), "k"), &value);
        ok(type == scalars[i].type && value == scalars[i].value, "%s is of type %c",
           scalars[i].text, scalars[i].type);
        yaml_doc_destroy(doc);
    }
}

static const struct {
    const char *string;
    const char *yaml; /* NULL: only parsing is tested */
} printed[] = {
    {"abc", "abc"},
    {"mlp/up/kernel", "mlp/up/kernel"},
    {"", "''"},
    {"null", "'null'"},
    {"~", "'~'"},
    {"true", "'true'"},
    {"no", "'no'"},
    {"42", "'42'"},
    {"-", "'-'"},
    {".*", "'.*'"},
    {"it's", "'it''s'"},
    {"layers/\\d+/", "'layers/\\d+/'"},
    {"a: b", "'a: b'"},
    {"a #b", "'a #b'"},
    {" x ", "' x '"},
    {"a\nb\t\"\\", "\"a\\U0000000Ab\\U00000009\\\"\\\\\""},
    {"\xc3\xa9", "'\xc3\xa9'"},
    {"\xe2\x80\xa8", NULL},
    {"\xc2\x85x\x7f", NULL},
    {"\xef\xbb\xbf", NULL},
    {"---", NULL},
    {"&a", NULL},
    {"%a", NULL},
    {"<<", NULL},
};

static void test_print(void)
{
    for (size_t i = 0; i < COUNT(printed); i++) {
        struct text text = TEXT_INIT;
        text_add(&text, "[");
        yaml_print_string(&text, printed[i].string);
        text_add(&text, "]");
        struct yaml_doc *doc = parse(text_get(&text));
        const struct yaml_node *item = doc ? yaml_doc_root(doc)->items[0] : NULL;
        bool same = item && item->kind == YAML_TEXT && !strcmp(item->text, printed[i].string);
        if (printed[i].yaml)
            same = same && text.length == strlen(printed[i].yaml) + 2 &&
                   !strncmp(text_get(&text) + 1, printed[i].yaml, text.length - 2);
        if (!ok(same, "printed and read back: string %zu", i))
            diag("%s", text_get(&text));
        yaml_doc_destroy(doc);
        text_fini(&text);
    }
}

static void test_describe(void)
{
    struct yaml_doc *doc = parse("[[], {}, null, ab, \"\", "
                                 "'0123456789012345678901234567890123456789012345678901234567890']");
    const struct yaml_node *const *items = yaml_doc_root(doc)->items;
    static const char *const expected[] = {
        "a list", "a map", "null", "'ab'", "''",
        "'012345678901234567890123456789012345678901234567890123456789...'",
    };

    for (size_t i = 0; i < COUNT(expected); i++) {
        ok(!strcmp(yaml_describe(items[i]).text, expected[i]), "describe: %s", expected[i]);
    }
    yaml_doc_destroy(doc);
}

static void test_load(void)
{
    static const struct {
        const char *path;
        const char *message;
    } files[] = {
        {"no/such/file", "no/such/file:1:1: error: cannot be opened: "},
        {".", ".:1:1: error: this is a directory"},
        {"/dev/null", "/dev/null:1:1: error: empty"},
        {"/dev/zero", "/dev/zero:1:1: error: the file has more than 16.0 MiB"},
    };

    for (size_t i = 0; i < COUNT(files); i++) {
        struct diag errors = DIAG_INIT;
        struct text text = TEXT_INIT;
        struct yaml_doc *doc = NULL;
        int status = yaml_doc_load(&doc, files[i].path, &errors);
        diag_print(&errors, &text);
        ok(status < 0 && !doc &&
               !strncmp(text_get(&text), files[i].message, strlen(files[i].message)),
           "load: %s", files[i].path);
        text_fini(&text);
        diag_fini(&errors);
    }
}

int main(void)
{
    plan(0);
    test_tree();
    test_json();
    test_empty();
    test_first_place();
    test_bad();
    test_limits();
    test_within_limits();
    test_scalars();
    test_print();
    test_describe();
    test_load();
    return done();
}
