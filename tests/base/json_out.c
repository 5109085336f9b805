/* Tests base/json_out.h: values, indentation and lines, numbers that read back the same, and
 * invalid UTF-8.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/json_out.h"

#include <float.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include <shd/error.h>

#include "../support/tap.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void write_sample(struct json_out *out)
{
    json_out_begin_object(out);
    json_out_key_int(out, "a", -1);
    json_out_key_array(out, "list");
    json_out_uint(out, 2);
    json_out_bool(out, true);
    json_out_null(out);
    json_out_string(out, NULL);
    json_out_raw(out, "{\"x\": 1}", 8);
    json_out_end_array(out);
    json_out_key_flat_array(out, "flat");
    json_out_begin_object(out);
    json_out_key_double(out, "b", 0.5);
    json_out_end_object(out);
    json_out_begin_array(out);
    json_out_end_array(out);
    json_out_end_array(out);
    json_out_key_object(out, "none");
    json_out_end_object(out);
    json_out_end_object(out);
}

static const char compact[] = "{\"a\":-1,\"list\":[2,true,null,null,{\"x\": 1}],"
                              "\"flat\":[{\"b\":0.5},[]],\"none\":{}}";
static const char pretty[] = "{\n  \"a\": -1,\n  \"list\": [\n    2,\n    true,\n    null,\n"
                             "    null,\n    {\"x\": 1}\n  ],\n"
                             "  \"flat\": [{\"b\": 0.5}, []],\n  \"none\": {}\n}";

static void test_styles(void)
{
    struct text text = TEXT_INIT;
    struct json_out out;

    json_out_init_text(&out, &text, JSON_OUT_COMPACT);
    write_sample(&out);
    ok(json_out_fini(&out) == SHD_OK && !strcmp(text_get(&text), compact), "compact");
    text_clear(&text);
    json_out_init_text(&out, &text, JSON_OUT_PRETTY);
    write_sample(&out);
    ok(json_out_fini(&out) == SHD_OK && !strcmp(text_get(&text), pretty), "pretty");
    text_clear(&text);
    json_out_init_text(&out, &text, JSON_OUT_COMPACT);
    json_out_int(&out, 1);
    json_out_newline(&out);
    json_out_begin_array(&out);
    json_out_end_array(&out);
    json_out_newline(&out);
    ok(json_out_fini(&out) == SHD_OK && !strcmp(text_get(&text), "1\n[]\n"), "JSON lines");
    text_fini(&text);
}

/* json_out_lines() gives the same text as the calls for a value in an array. */
static void test_lines(void)
{
    struct text text = TEXT_INIT, part = TEXT_INIT, whole = TEXT_INIT;
    struct json_out out;

    json_out_init_text(&out, &part, JSON_OUT_PRETTY);
    write_sample(&out);
    for (int lines = 0; lines < 2; lines++) {
        json_out_init_text(&out, lines ? &text : &whole, JSON_OUT_PRETTY);
        json_out_begin_array(&out);
        write_sample(&out);
        if (lines)
            json_out_lines(&out, &part);
        else
            write_sample(&out);
        json_out_end_array(&out);
        ok(json_out_fini(&out) == SHD_OK, "a value by %s", lines ? "lines" : "calls");
    }
    ok(!strcmp(text_get(&text), text_get(&whole)), "lines of a value are indented as calls do");
    text_fini(&text);
    text_fini(&part);
    text_fini(&whole);
}

static const struct {
    const char *what;
    const char *bytes;
    size_t length;
    const char *json;
} strings[] = {
    {"empty", "", 0, "\"\""},
    {"plain", "abc", 3, "\"abc\""},
    {"quotes", "a\"b\\c/", 6, "\"a\\\"b\\\\c/\""},
    {"controls", "\b\t\n\f\r\v\x01\x7f", 8, "\"\\b\\t\\n\\f\\r\\u000b\\u0001\\u007f\""},
    {"a command of a runner", "::a ##[b] [c]", 13, "\"::a ##\\u005bb] [c]\""},
    {"NUL", "a\0b", 3, "\"a\\u0000b\""},
    {"UTF-8", "\xc3\xa9\xf0\x9f\x98\x80", 6, "\"\xc3\xa9\xf0\x9f\x98\x80\""},
    {"bad byte", "a\xff" "b", 3, "\"a\xef\xbf\xbd" "b\""},
    {"cut character", "\xe2\x82", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\""},
};

static void test_strings(void)
{
    for (size_t i = 0; i < COUNT(strings); i++) {
        struct text text = TEXT_INIT;
        struct json_out out;
        json_out_init_text(&out, &text, JSON_OUT_COMPACT);
        json_out_string_n(&out, strings[i].bytes, strings[i].length);
        int status = json_out_fini(&out);
        json_t *parsed = json_loads(text_get(&text), JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        ok(status == SHD_OK && !strcmp(text_get(&text), strings[i].json) && parsed, "string: %s",
           strings[i].what);
        json_decref(parsed);
        text_fini(&text);
    }
}

static const struct {
    double value;
    const char *json;
} doubles[] = {
    {0, "0.0"},
    {-0.0, "-0.0"},
    {1, "1.0"},
    {0.1, "0.1"},
    {1.0 / 3, "0.3333333333333333"},
    {0.1 + 0.2, "0.30000000000000004"},
    {1e-4, "0.0001"},
    {1e-10, "1e-10"},
    {1e22, "1e+22"},
    {123456789012345680.0, "1.2345678901234568e+17"},
    {5e-324, "5e-324"},
    {DBL_MAX, "1.7976931348623157e+308"},
    {DBL_MIN, "2.2250738585072014e-308"},
    {(double)INFINITY, "null"},
    {-(double)INFINITY, "null"},
    {(double)NAN, "null"},
};

static void test_numbers(void)
{
    struct text text = TEXT_INIT;
    struct json_out out;

    for (size_t i = 0; i < COUNT(doubles); i++) {
        text_clear(&text);
        json_out_init_text(&out, &text, JSON_OUT_COMPACT);
        json_out_double(&out, doubles[i].value);
        ok(json_out_fini(&out) == SHD_OK && !strcmp(text_get(&text), doubles[i].json),
           "double: %s", doubles[i].json);
    }
    text_clear(&text);
    json_out_init_text(&out, &text, JSON_OUT_COMPACT);
    json_out_begin_array(&out);
    json_out_int(&out, INT64_MIN);
    json_out_int(&out, INT64_MAX);
    json_out_uint(&out, UINT64_MAX);
    json_out_end_array(&out);
    ok(json_out_fini(&out) == SHD_OK &&
           !strcmp(text_get(&text),
                   "[-9223372036854775808,9223372036854775807,18446744073709551615]"),
       "integers are exact");
    text_fini(&text);
}

/* Doubles of random bits are printed and read back without change. */
static void test_round_trip(void)
{
    uint64_t state = 1;
    int nwrong = 0;

    for (int i = 0; i < 20000; i++) {
        double value;
        char buf[32];
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint64_t bits = state ^ state >> 29;
        memcpy(&value, &bits, sizeof(value));
        if (isfinite(value))
            nwrong += strtod(json_out_print_double(buf, sizeof(buf), value), NULL) != value;
    }
    ok(nwrong == 0, "20000 doubles of any bits read back the same");
}

static void test_join(void)
{
    struct text text = TEXT_INIT, part = TEXT_INIT;
    struct json_out out;

    json_out_init_text(&out, &text, JSON_OUT_COMPACT);
    text_add(&part, "a\"b");
    json_out_join(&out, &part);
    ok(json_out_fini(&out) == SHD_OK && !strcmp(text_get(&text), "\"a\\\"b\""),
       "join: a string that was made apart");
    part.failed = true;
    json_out_join(&out, &part);
    ok(json_out_fini(&out) == SHD_ENOMEM, "join: a part that failed fails the document");
    text_fini(&text);
}

/* What an answer had begun gives way to its error. */
static void test_undo(void)
{
    struct text text = TEXT_INIT;
    struct json_out_mark mark;
    struct json_out out;

    json_out_init_text(&out, &text, JSON_OUT_COMPACT);
    json_out_begin_object(&out);
    json_out_key_int(&out, "id", 1);
    mark = json_out_mark(&out);
    json_out_key_array(&out, "out");
    json_out_begin_object(&out);
    json_out_key(&out, "half");
    json_out_undo(&out, &mark);
    json_out_key_string(&out, "err", "none");
    json_out_end_object(&out);
    ok(json_out_fini(&out) == SHD_OK && !strcmp(text_get(&text), "{\"id\":1,\"err\":\"none\"}"),
       "undo: as if nothing had been written since the mark");
    text_fini(&text);
}

static void test_file(void)
{
    FILE *file = tmpfile();
    struct json_out out;

    json_out_init_file(&out, file, JSON_OUT_COMPACT);
    json_out_begin_array(&out);
    for (int i = 0; i < 100000; i++)
        json_out_int(&out, i);
    ok(out.own.capacity < 1 << 20, "a file is streamed, not buffered");
    json_out_end_array(&out);
    ok(json_out_fini(&out) == SHD_OK, "file: written");
    rewind(file);
    json_t *parsed = json_loadf(file, 0, NULL);
    ok(json_array_size(parsed) == 100000 &&
           json_integer_value(json_array_get(parsed, 99999)) == 99999,
       "file: reads back");
    json_decref(parsed);
    fclose(file);
    file = fopen("/dev/full", "w");
    if (file) {
        json_out_init_file(&out, file, JSON_OUT_COMPACT);
        json_out_int(&out, 1);
        ok(json_out_fini(&out) == SHD_ESYSTEM, "file: a full disk is reported");
        fclose(file);
    }
}

int main(void)
{
    plan(0);
    test_styles();
    test_lines();
    test_strings();
    test_numbers();
    test_round_trip();
    test_join();
    test_undo();
    test_file();
    return done();
}
