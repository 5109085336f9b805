/* Tests base/escape.h: characters that a terminal acts upon are escaped, once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "../support/tap.h"

static const struct {
    const char *what, *in, *out;
} rows[] = {
    {"nothing", "", ""},
    {"ASCII with a backslash", "layers/\\d+ ~", "layers/\\d+ ~"},
    {"letters of other scripts", "\u00e9\u4e2d\U0001f600\u00a0", "\u00e9\u4e2d\U0001f600\u00a0"},
    {"a colour", "a\033[31mb", "a\\x1b[31mb"},
    {"ends of lines and a tab", "a\nb\r\tc", "a\\nb\\r\\tc"},
    {"DEL", "\x7f", "\\x7f"},
    {"C1's CSI",
     "\xc2\x9b"
     "2J",
     "\\u009b2J"},
    {"override and isolate", "\u202e\u2066\u2069", "\\u202e\\u2066\\u2069"},
    {"line and paragraph separators", "\u2028\u2029", "\\u2028\\u2029"},
    {"not seen", "\u200b\u00ad\ufeff", "\\u200b\\u00ad\\ufeff"},
    {"a tag", "\U000e0041", "\\U000e0041"},
    {"no characters", "\xef\xbf\xbf\xf0\x9f\xbf\xbe", "\\uffff\\U0001fffe"},
    {"stray bytes", "\x9b\xff\xc3", "\\x9b\\xff\\xc3"},
    {"a surrogate", "\xed\xa0\x80", "\\xed\\xa0\\x80"},
    {"a runner's command", "::error::a::b", "\\x3a:error::a::b"},
    {"where a sentence may be wrapped", "a ::b: \u00a0::c d::e", "a \\x3a:b: \u00a0\\x3a:c d::e"},
    {"a runner's older command", "##[set a]b ##vso[c] #[d] ##E[f]",
     "##\\x5bset a]b ##vso\\x5bc] #[d] ##E[f]"},
    {"a colon alone", ":", ":"},
    {"an overlong ESC", "\xc0\x9b", "\\xc0\\x9b"},
};

static bool puts_same(const char *in, const char *out)
{
    char seen[100] = "";
    FILE *file = tmpfile();

    if (!file)
        return false;
    escape_put(file, in);
    rewind(file);
    seen[fread(seen, 1, sizeof seen - 1, file)] = '\0';
    fclose(file);
    return !strcmp(seen, out);
}

int main(void)
{
    struct text text = TEXT_INIT;

    plan(0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        text_clear(&text);
        escape_add(&text, rows[i].in);
        ok(!strcmp(text_get(&text), rows[i].out), "%s", rows[i].what);
        escape_from(&text, 0);
        ok(!strcmp(text_get(&text), rows[i].out), "again: the same");
        ok(puts_same(rows[i].in, rows[i].out), "onto a file");
    }
    text_clear(&text);
    text_add(&text, "\033[1m\n");
    escape_add_bytes(&text, "a\0b\n", 4);
    ok(text.length == 5 + 8 && !memcmp(text.data + 5, "a\\x00b\\n", 8), "bytes, a NUL among them");
    text_clear(&text);
    text_add(&text, "\033[1m\n\033");
    escape_from(&text, 5);
    ok(!strcmp(text_get(&text), "\033[1m\n\\x1b"), "from: what was before stays");
    escape_from(&text, 100);
    escape_add(&text, NULL);
    ok(text.length == 9, "from behind the end, and NULL: nothing");
    text_fini(&text);
    return done();
}
