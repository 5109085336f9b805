/* Tests base/text.h, base/utf8.h, base/nearest.h and base/divisor.h: growing texts, UTF-8,
 * suggestions for misspelt words, and nearest divisors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#include "base/divisor.h"
#include "base/file.h"
#include "base/nearest.h"
#include "base/utf8.h"
#include "base/words.h"
#include "../support/tap.h"

static int is_text(const struct text *text, const char *expected)
{
    return strcmp(text_get(text), expected) == 0 && text->length == strlen(expected);
}

static void test_add(void)
{
    struct text text = TEXT_INIT;

    ok(is_text(&text, ""), "nothing added: empty");
    text_add(&text, "");
    ok(is_text(&text, ""), "adding nothing: empty");
    text_add(&text, "abc");
    text_add_char(&text, '-');
    text_addf(&text, "%d%s", 42, "!");
    text_add_bytes(&text, "xyz", 2);
    ok(is_text(&text, "abc-42!xy"), "pieces stand in order");
    text_clear(&text);
    ok(is_text(&text, "") && text.capacity > 0, "clear keeps the storage");
    for (int i = 0; i < 10000; i++)
        text_addf(&text, "%04d", i);
    ok(text.length == 40000 && strncmp(text_get(&text) + 39996, "9999", 5) == 0, "grows");
    text_fini(&text);
    ok(is_text(&text, "") && !text.data, "fini leaves an empty text");
}

static void test_take(void)
{
    struct text text = TEXT_INIT;

    char *taken = text_take(&text);
    ok(taken && taken[0] == '\0', "take: of an empty text is \"\"");
    free(taken);
    text_add(&text, "mine");
    taken = text_take(&text);
    ok(taken && strcmp(taken, "mine") == 0 && is_text(&text, ""), "take: hands the storage over");
    free(taken);
    text_add_bytes(&text, "x", (size_t)-1);
    ok(text.failed && is_text(&text, ""), "a length that cannot be: failed, unchanged");
    text_add(&text, "more");
    ok(is_text(&text, ""), "failed: stays so");
    ok(!text_take(&text), "take: NULL when failed");
}

static void test_pad(void)
{
    struct text text = TEXT_INIT;

    text_add(&text, "ab\n\xc3\xa9");
    text_pad(&text, 3, 4);
    ok(is_text(&text, "ab\n\xc3\xa9   "), "pad: counts characters, not bytes");
    text_pad(&text, 3, 2);
    ok(is_text(&text, "ab\n\xc3\xa9   "), "pad: longer than the width is left");
    text_fini(&text);
}

static const struct {
    const char *what;
    const char *bytes;
    size_t length;
    size_t result;
    uint32_t code;
} characters[] = {
    {"ASCII", "a", 1, 1, 'a'},
    {"NUL", "\0", 1, 1, 0},
    {"two bytes", "\xc3\xa9", 2, 2, 0xe9},
    {"three bytes", "\xe2\x82\xac", 3, 3, 0x20ac},
    {"four bytes", "\xf0\x9f\x98\x80", 4, 4, 0x1f600},
    {"the last", "\xf4\x8f\xbf\xbf", 4, 4, 0x10ffff},
    {"over the last", "\xf4\x90\x80\x80", 4, 0, 0},
    {"nothing", "", 0, 0, 0},
    {"cut", "\xe2\x82", 2, 0, 0},
    {"stray", "\x80", 1, 0, 0},
    {"overlong two", "\xc0\x80", 2, 0, 0},
    {"overlong three", "\xe0\x80\x80", 3, 0, 0},
    {"overlong four", "\xf0\x80\x80\x80", 4, 0, 0},
    {"surrogate", "\xed\xa0\x80", 3, 0, 0},
    {"0xff", "\xff", 1, 0, 0},
};

static void test_utf8(void)
{
    for (size_t i = 0; i < sizeof(characters) / sizeof(characters[0]); i++) {
        uint32_t code = 0;
        size_t n = utf8_next(characters[i].bytes, characters[i].length, &code);
        ok(n == characters[i].result && code == characters[i].code, "utf8: %s", characters[i].what);
    }
    ok(utf8_columns("a\xc3\xa9\xff", 4) == 3, "utf8: a bad byte has a column");
    ok(utf8_columns("\xe5\xb1\x82\xf0\x9f\x9a\x80", 7) == 4, "utf8: wide characters have two");
    ok(utf8_columns("e\xcc\x81z", 4) == 2, "utf8: a mark above another has none");
    ok(utf8_cut("a\xc3\xa9z", 4, 2) == 1 && utf8_cut("a\xc3\xa9z", 4, 3) == 3 &&
           utf8_cut("abc", 3, 9) == 3,
       "utf8: a cut is between characters");
}

static const struct {
    const char *word;
    const char *best;
} near[] = {
    {"mehs", "mesh"},        /* two letters swapped */
    {"d_modell", "d_model"}, /* one letter too many */
    {"dmodel", "d_model"},   /* one letter too few */
    {"d-model", "d_model"},  /* - instead of _ */
    {"D_MODEL", "d_model"},  /* other case */
    {"layres", "layers"},
    {"tq", "tp"},
    {"elephant", NULL},
    {"x", NULL}, /* one edit from "b", but also from every other letter */
    {"B", "b"},
    {"", NULL},
    {"a-word-far-too-long-to-be-meant-by-anybody-at-all", NULL},
};

static void test_join(void)
{
    struct text text = TEXT_INIT, part = TEXT_INIT;

    text_add(&text, "a");
    text_add(&part, "bc");
    text_join(&text, &part);
    ok(!strcmp(text_get(&text), "abc") && !text.failed && !part.data, "join: added and freed");
    part.failed = true;
    text_join(&text, &part);
    ok(text.failed && !strcmp(text_get(&text), "abc"), "join: a part that failed fails the whole");
    text_fini(&text);
}

/* Suggestions for names of other systems, for beginnings of names, and for names that fit
 * several. */
static void test_meant(void)
{
    static const char *const paths[] = {"model.size", "model.d_model", "batch.size", "moe.d_ff",
                                        "mesh.tp",    "h100-80g-roce", "h100-sxm",   "tpu-v4",
                                        "tpu-v5e",    "mlp/up/kernel", "bfloat16"};
    static const struct {
        const char *word, *best;
    } meant[] = {
        {"hidden_size", "model.d_model"},
        {"model.hidden_size", "model.d_model"},
        {"Hidden-Size", "model.d_model"},
        {"global_batch_size", "batch.size"},
        {"modle.size", "model.size"},
        {"d_ff", "moe.d_ff"},
        {"tensor_model_parallel_size", "mesh.tp"},
        {"tp", "mesh.tp"},
        {"h100", "h100-sxm"},
        {"tpu-v5", "tpu-v5e"},
        {"bf16", "bfloat16"},
        {"mlp/up/weight", "mlp/up/kernel"},
        {"mlp/down/weight", NULL}, /* a path in another module */
        {"hidden_sizes_of_all", NULL},
    };
    struct nearest slip;

    for (size_t i = 0; i < sizeof meant / sizeof *meant; i++) {
        const char *best = nearest_find(meant[i].word, paths, sizeof paths / sizeof *paths);

        ok(meant[i].best ? best && !strcmp(best, meant[i].best) : !best, "meant by '%s'",
           meant[i].word);
    }
    nearest_init(&slip, "--num-layer");
    nearest_add(&slip, "--num-layers");
    ok(nearest_is_slip(&slip), "nearest: a slip");
    nearest_init(&slip, "--encoder-num-layers");
    nearest_add(&slip, "--decoder-num-layers");
    ok(slip.best && !nearest_is_slip(&slip), "nearest: two letters are another word");
}

static void test_nearest(void)
{
    static const char *const words[] = {"mesh", "d_model", "layers", "tp", "batch", "b"};
    struct nearest nearest;

    for (size_t i = 0; i < sizeof(near) / sizeof(near[0]); i++) {
        const char *best = nearest_find(near[i].word, words, 6);
        ok(near[i].best ? best && strcmp(best, near[i].best) == 0 : !best, "nearest: '%s'",
           near[i].word);
    }
    nearest_init(&nearest, "phi-4");
    nearest_add(&nearest, "phi-2");
    nearest_add(&nearest, "phi4");
    ok(!strcmp(nearest.best, "phi4"), "nearest: punctuation is less than a version");
    nearest_init(&nearest, "tpp");
    nearest_add(&nearest, "tp");
    ok(strcmp(nearest_hint(&nearest).text, "; did you mean 'tp'?") == 0, "nearest: hint");
    nearest_init(&nearest, "tpp");
    ok(nearest_hint(&nearest).text[0] == '\0', "nearest: no hint");
}

/* The limits of nearness: words that just get a suggestion, and words that just do not. */
static void test_bounds(void)
{
    static const struct {
        const char *word, *candidate;
        bool near;
    } rows[] = {
        {"abcdefgh", "abcdefxy", true},      /* a third of the letters differs, rounded down */
        {"abcdexyz", "abcdefgh", false},     /* one letter more differs */
        {"abcdefghi", "xabcydezfghi", true}, /* a third of the letters is too many */
        {"xabcydezfghi", "abcdefghi", true}, /* a third of the letters is missing */
        {"abcdefgh", "abcdef12345", true},   /* three quarters of the word begin alike */
        {"abcdefghi", "abcdef12345", false}, /* only two thirds of the word begin alike */
        {"xy", "xz", true},                  /* one of two letters may differ, but none may be
                                              * added */
        {"xy", "xyz", false},
        {"x", "y", false},
        {"ab_cde", "ab-cde", true},
        {"abdc", "abcd", true},
        {"abc", "abc-long-name", true},
        {"ab", "ab-long-name", false},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        ok((nearest_find(rows[i].word, &rows[i].candidate, 1) != NULL) == rows[i].near,
           "nearest: '%s' is %s'%s'", rows[i].word, rows[i].near ? "" : "not ", rows[i].candidate);
}

static void test_divisors(void)
{
    bool right = true;

    for (int64_t whole = 1; whole <= 40; whole++)
        for (int64_t number = 0; number <= 50; number++) {
            int64_t common = 0, below = 0, above = 0;

            for (int64_t n = 1; n <= whole; n++) {
                if (whole % n != 0)
                    continue;
                common = number % n == 0 ? n : common;
                below = n < number ? n : below;
                above = n > number && above == 0 ? n : above;
            }
            right &= divisor_common(whole, number) == common &&
                     divisor_common(number, whole) == common &&
                     divisor_below(whole, number) == below && divisor_above(whole, number) == above;
        }
    ok(right, "divisors: the common name, and the nearest names");
}

static void test_words(void)
{
    const char *at = " --lr  --min-lr ";
    size_t length;
    int n = 0;

    while (words_next(&at, &length))
        n++;
    ok(n == 2, "words: words between any number of spaces");
    ok(words_has("--lr --min-lr", "--lr") && words_has("--lr --min-lr", "--min-lr"),
       "words: the first and the last");
    ok(!words_has("--lr --min-lr", "--min") && !words_has("--lr", "--lr-") &&
           !words_has("--lr --min-lr", "--lr --min-lr") && !words_has("--lr", ""),
       "words: no part of one, nor several");
    ok(words_has_bytes("--lr --min-lr", "--lr=1", 4), "words: of a longer text its beginning");
}

static void test_ends(void)
{
    ok(text_ends_with("a.py", ".py") && text_ends_with(".py", ".py") && text_ends_with("a", ""),
       "text: what it ends with");
    ok(!text_ends_with("py", ".py") && !text_ends_with("a.pyc", ".py"), "text: and what not");
    ok(!strcmp(file_name("/a/b.py"), "b.py") && !strcmp(file_name("b.py"), "b.py") &&
           !strcmp(file_name("a/"), ""),
       "file: the name at the end of a path");
}

int main(void)
{
    plan(0);
    test_add();
    test_take();
    test_join();
    test_pad();
    test_utf8();
    test_nearest();
    test_bounds();
    test_divisors();
    test_meant();
    test_words();
    test_ends();
    return done();
}
