/* Tests shd/shape.h: counts, bytes and texts of shapes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include <shd/shape.h>

#include "../support/tap.h"

static const struct {
    const char *what;
    int64_t shape[3];
    size_t rank;
    int status;
    int64_t count;
    const char *text;
} cases[] = {
    {"scalar", {0}, 0, SHD_OK, 1, "()"},
    {"vector", {7}, 1, SHD_OK, 7, "(7,)"},
    {"matrix", {2, 3}, 2, SHD_OK, 6, "(2, 3)"},
    {"empty", {2, 0, 3}, 3, SHD_OK, 0, "(2, 0, 3)"},
    {"negative", {2, -1}, 2, SHD_EINVAL, 0, "(2, -1)"},
    {"negative and empty", {0, -1}, 2, SHD_EINVAL, 0, "(0, -1)"},
    {"largest", {INT64_MAX}, 1, SHD_OK, INT64_MAX, "(9223372036854775807,)"},
    {"too large", {INT64_C(1) << 40, INT64_C(1) << 23}, 2, SHD_ERANGE, 0, NULL},
    {"large but empty", {INT64_MAX, INT64_MAX, 0}, 3, SHD_OK, 0, NULL},
};

static void test_table(void)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t count = 42;
        char text[64];
        int status = shd_shape_count(&count, cases[i].shape, cases[i].rank, NULL);

        ok(status == cases[i].status, "count, %s: status", cases[i].what);
        ok(count == (cases[i].status ? 42 : cases[i].count), "count, %s", cases[i].what);
        if (!cases[i].text)
            continue;
        ok(shd_shape_print(text, sizeof(text), cases[i].shape, cases[i].rank) ==
                   strlen(cases[i].text) &&
               !strcmp(text, cases[i].text),
           "print, %s", cases[i].what);
    }
}

static void test_bytes(void)
{
    const int64_t small[] = {3, 5};
    const int64_t large[] = {INT64_MAX};
    uint64_t bytes = 0;

    ok(!shd_shape_bytes(&bytes, small, 2, SHD_BF16, NULL) && bytes == 30, "bytes: bf16");
    ok(!shd_shape_bytes(&bytes, large, 1, SHD_F16, NULL) && bytes == UINT64_MAX - 1,
       "bytes: the most that fits");
    ok(shd_shape_bytes(&bytes, large, 1, SHD_F32, NULL) == SHD_ERANGE, "bytes: too many");
    ok(bytes == UINT64_MAX - 1, "bytes: output untouched");
}

static void test_cut(void)
{
    const int64_t shape[] = {10, 20};
    char text[5] = "....";

    ok(shd_shape_print(text, sizeof(text), shape, 2) == 8, "print: the whole length");
    ok(!strcmp(text, "(10,"), "print: cut");
    ok(shd_shape_print(NULL, 0, shape, 2) == 8, "print: no buffer");
}

int main(void)
{
    plan(0);
    test_table();
    test_bytes();
    test_cut();
    return done();
}
