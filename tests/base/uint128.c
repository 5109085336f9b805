/* Tests base/uint128.h: numbers beyond 64 bits are parsed and printed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/uint128.h"

#include <stdint.h>
#include <string.h>

#include "../support/tap.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* 2^64 * high + low */
static uint128 make(uint64_t high, uint64_t low)
{
    return (uint128)high << 64 | low;
}

static const struct {
    uint64_t high, low;
    const char *digits;
} values[] = {
    {0, 0, "0"},
    {0, 9, "9"},
    {0, 10, "10"},
    {0, UINT64_MAX, "18446744073709551615"},
    {1, 0, "18446744073709551616"},
    {2, UINT64_C(7724644465595383811), "44618132613014487043"},
    {UINT64_MAX, UINT64_MAX, "340282366920938463463374607431768211455"},
};

static const char *const wrong[] = {
    "",
    "-1",
    "+1",
    " 1",
    "1 ",
    "0x10",
    "1.0",
    "1e3",
    "a",
    "1_000",
    "340282366920938463463374607431768211456",  /* 2^128 */
    "3402823669209384634633746074317682114550", /* one digit more */
};

int main(void)
{
    char buf[UINT128_TEXT_MAX];
    uint128 back;

    plan(0);
    for (size_t i = 0; i < COUNT(values); i++) {
        uint128 value = make(values[i].high, values[i].low);

        ok(!strcmp(uint128_print(buf, sizeof buf, value), values[i].digits) &&
               !strcmp(UINT128_DIGITS(value), values[i].digits),
           "print: %s", buf);
        back = ~value;
        ok(uint128_parse(&back, values[i].digits) && back == value, "parse: %s", values[i].digits);
    }
    for (size_t i = 0; i < COUNT(wrong); i++) {
        back = 7;
        ok(!uint128_parse(&back, wrong[i]) && back == 7, "parse: not '%s'", wrong[i]);
    }
    ok(uint128_parse(&back, "007") && back == 7, "parse: zeros in front");
    ok(!strcmp(uint128_print(buf, 4, 12345), "123"), "print: cut where there is no room");
    return done();
}
