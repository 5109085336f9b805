/* Tests base/literal.h.  With the name of a language, the program prints a document of that
 * language with the names of standard input, each ended by a NUL, for other programs to read
 * (foreign_names.sh).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/json_out.h"
#include "base/literal.h"
#include "base/yaml.h"
#include "../support/tap.h"

static void add_json(struct text *out, const char *string)
{
    struct json_out json;

    json_out_init_text(&json, out, JSON_OUT_COMPACT);
    json_out_string(&json, string);
    (void)json_out_fini(&json);
}

/* The parts of a document with every name in it. */
static const struct {
    const char *language, *begin, *before, *behind, *end;
    void (*add)(struct text *out, const char *string);
} languages[] = {
    {"python", "[\n", "  ", ",\n", "]\n", literal_add_python},
    {"shell", "set --", " ", "", "\n", literal_add_shell},
    {"xml", "<r>", "<a b=\"", "\"/>", "</r>", literal_add_xml},
    {"csv", "", "1,", ",2\r\n", "", literal_add_csv},
    {"markdown", "", "| ", " |\n", "", literal_add_markdown},
    {"yaml", "", "- ", "\n", "", yaml_print_string},
    {"flow", "[", "", ", ", "]\n", yaml_print_string},
    {"quoted", "", "- ", "\n", "", yaml_print_quoted},
    {"comment", "", "# ", "\n", "", escape_add},
    {"json", "[", "", ",", "0]", add_json},
};

static int write_document(const char *language)
{
    struct text names = TEXT_INIT, out = TEXT_INIT;
    char chunk[4096];
    size_t n, l = 0;

    while ((n = fread(chunk, 1, sizeof chunk, stdin)) > 0)
        text_add_bytes(&names, chunk, n);
    while (strcmp(languages[l].language, language) != 0)
        l++;
    text_add(&out, languages[l].begin);
    for (size_t at = 0; at < names.length; at += strlen(names.data + at) + 1) {
        text_add(&out, languages[l].before);
        languages[l].add(&out, names.data + at);
        text_add(&out, languages[l].behind);
    }
    text_add(&out, languages[l].end);
    fwrite(text_get(&out), 1, out.length, stdout);
    text_fini(&names);
    text_fini(&out);
    return fflush(stdout) ? 1 : 0;
}

static const struct {
    const char *what, *in, *out;
    void (*add)(struct text *out, const char *string);
} rows[] = {
    {"Python: quotes and backslashes", "a\"b\\c'", "\"a\\\"b\\\\c'\"", literal_add_python},
    {"Python: ends of lines", "a\n\rb\u2028", "\"a\\x0a\\x0db\\u2028\"", literal_add_python},
    {"Python: C1, a tag", "\xc2\x85\U000e0041", "\"\\x85\\U000e0041\"", literal_add_python},
    {"Python: no UTF-8", "\xff", "\"\\ufffd\"", literal_add_python},
    {"shell: a path", "a/b-c.yaml", "a/b-c.yaml", literal_add_shell},
    {"shell: nothing", "", "''", literal_add_shell},
    {"shell: a home", "~a", "'~a'", literal_add_shell},
    {"shell: a quote", "a'b $(c)", "'a'\\''b $(c)'", literal_add_shell},
    {"shell: a runner's command", "::error::a", "'::error::a'", literal_add_shell},
    {"shell: a comment on a separate line", "a\n::b\t::c::d", "'a\n''::b\t''::c::d'",
     literal_add_shell},
    {"XML: all it reserves", "<a&\"'>", "&lt;a&amp;&quot;&#39;&gt;", literal_add_xml},
    {"XML: no character of it", "\x01\uffff", "\\x01\\uffff", literal_add_xml},
    {"CSV: a comma and a quote", "a,\"b", "\"a,\"\"b\"", literal_add_csv},
    {"CSV: a formula", "=1+1", "'=1+1", literal_add_csv},
    {"CSV: a formula in quotes", "@a,b", "\"'@a,b\"", literal_add_csv},
    {"CSV: a line's end", "a\nb", "a\\nb", literal_add_csv},
    {"Markdown: a cell's end, HTML and a link", "a|<b>[c](d)`", "a\\|\\<b\\>\\[c\\](d)\\`",
     literal_add_markdown},
    {"Markdown: a line's end", "a\n# b", "a\\\\n# b", literal_add_markdown},
};

int main(int argc, char **argv)
{
    struct text text = TEXT_INIT;

    if (argc == 2)
        return write_document(argv[1]);
    plan(0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        text_clear(&text);
        rows[i].add(&text, rows[i].in);
        if (!ok(strcmp(text_get(&text), rows[i].out) == 0, "%s", rows[i].what))
            diag("%s", text_get(&text));
    }
    text_fini(&text);
    return done();
}
