/* Tests base/json_text.h: whole texts with places of faults, walks over values, and times.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/json_text.h"

#include <string.h>

#include "../support/tap.h"

/* ---- whole texts ---- */

static const struct {
    const char *what, *text;
    int line, column; /* of the fault; 0: no fault */
} texts[] = {
    {"an object", "{\"a\": 1, \"b\": [true, null, -2.5e+3]}\n", 0, 0},
    {"nothing in it", " [ ] ", 0, 0},
    {"within each other", "[[{\"a\": []}], {}]", 0, 0},
    {"an escaped quote", "[\"a\\\"b\\\\\", \"c\"]", 0, 0},
    {"what Python writes", "[NaN, Infinity, -Infinity]", 0, 0},
    {"a plain value", "12", 0, 0},
    {"nothing", "", 1, 1},
    {"a word", "[no]", 1, 2},
    {"no comma", "[1 2]", 1, 4},
    {"a comma too many", "[1,\n ]", 2, 2},
    {"another bracket", "[1}", 1, 3},
    {"no colon", "{\"a\" 1}", 1, 6},
    {"no name", "{1: 2}", 1, 2},
    {"a name without a value", "{\"a\": }", 1, 7},
    {"no end", "[1,\n2", 2, 2},
    {"a string without an end", "[\"\xc3\xa9\", \"ab]", 1, 7},
    {"an end that is escaped", "[\"ab\\\"]", 1, 2},
    {"a line break in a string", "[\"ab\ncd\"]", 1, 5},
    {"a minus alone", "[-]", 1, 2},
    {"an exponent alone", "[1e]", 1, 2},
    {"something behind it", "{}\n {}", 2, 2},
};

static void test_texts(void)
{
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct json_text j;
        struct place place;
        bool good;

        json_text_init(&j, texts[i].text, strlen(texts[i].text));
        good = json_text_skip(&j) && json_text_end(&j);
        place = json_text_place(&j, "f");
        ok(good == !texts[i].line && (good || (j.fault && place.line == texts[i].line &&
                                               place.column == texts[i].column)),
           "text: %s", texts[i].what);
        if (!good)
            diag("%d:%d: %s", place.line, place.column, j.fault ? j.fault : "no fault");
    }
}

static void test_depth(void)
{
    static char text[2 * JSON_TEXT_DEPTH_MAX + 2];
    struct json_text j;

    memset(text, '[', JSON_TEXT_DEPTH_MAX);
    memset(text + JSON_TEXT_DEPTH_MAX, ']', JSON_TEXT_DEPTH_MAX);
    json_text_init(&j, text, 2 * JSON_TEXT_DEPTH_MAX);
    ok(json_text_skip(&j) && json_text_end(&j), "depth: the largest depth is read");
    memset(text, '[', sizeof text);
    json_text_init(&j, text, sizeof text);
    ok(!json_text_skip(&j) && j.fault, "depth: deeper is refused");
}

/* ---- a walk ---- */

static void test_walk(void)
{
    static const char text[] =
        "{\"a\": [1, \"x\", 2.5, 99999999999999999999],\n \"b\": {\"c\": true}}";
    struct json_text j, again;
    struct json_piece key, piece;
    int64_t number = 0;
    bool more;

    json_text_init(&j, text, strlen(text));
    ok(!json_text_open(&j, '[') && json_text_open(&j, '{'),
       "walk: an object opens with {, not with [");
    ok(json_text_key(&j, &key) && json_piece_is(key, "a"), "walk: a name");
    again = json_text_again(&j);
    ok(json_text_open(&j, '[') && json_text_item(&j) && json_text_int(&j, &number) && number == 1,
       "walk: a number");
    ok(json_text_item(&j) && !json_text_int(&j, &number) && json_text_string(&j, &piece) &&
           json_piece_is(piece, "x"),
       "walk: a string, which is no number");
    ok(json_text_item(&j) && !json_text_int(&j, &number) && json_text_number(&j, &piece) &&
           json_piece_is(piece, "2.5"),
       "walk: a number with a fraction is not whole");
    ok(json_text_item(&j) && !json_text_int(&j, &number) && json_text_skip(&j),
       "walk: nor is a number that does not fit");
    more = json_text_item(&j);
    ok(!more && !j.fault, "walk: the end of the array");
    ok(json_text_key(&j, &key) && json_piece_is(key, "b") && j.line == 2, "walk: the next name");
    ok(json_text_open(&j, '{') && json_text_key(&j, &key) && json_text_true(&j), "walk: true");
    more = json_text_key(&j, &key);
    ok(!more && !json_text_key(&j, &key) && json_text_end(&j), "walk: the ends of both");
    ok(json_text_open(&again, '[') && json_text_item(&again) && json_text_int(&again, &number) &&
           number == 1,
       "walk: once more, from before");
}

/* ---- times ---- */

static const struct {
    const char *text;
    bool good;
    int64_t thousandths;
} times[] = {
    {"1", true, 1000},
    {"4704345631356.606", true, 4704345631356606},
    {"1712195495520854.8", true, 1712195495520854800},
    {"0.1239", true, 123},
    {"-2.5", true, -2500},
    {"9223372036854775807", false, 0},
    {"1e9", false, 0},
    {"-", false, 0},
    {"", false, 0},
    {"1.2.3", false, 0},
};

static void test_thousandths(void)
{
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        struct json_piece piece = {times[i].text, strlen(times[i].text)};
        int64_t found = 0;
        bool good = json_piece_thousandths(piece, &found);

        ok(good == times[i].good && (!good || found == times[i].thousandths), "thousandths: '%s'",
           times[i].text);
    }
}

int main(void)
{
    plan(0);
    test_texts();
    test_depth();
    test_walk();
    test_thousandths();
    return done();
}
