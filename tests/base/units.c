/* Tests base/units.h: parsing and printing of bytes, times, rates and flops.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/units.h"

#include <math.h>
#include <string.h>

#include "../support/tap.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct {
    const char *text;
    int status;
    uint64_t bytes;
} sizes[] = {
    {"0", SHD_OK, 0},
    {"0B", SHD_OK, 0},
    {"0GiB", SHD_OK, 0},
    {"4096", SHD_OK, 4096},
    {"1B", SHD_OK, 1},
    {"64KiB", SHD_OK, 65536},
    {"16GiB", SHD_OK, UINT64_C(16) << 30},
    {"16 GiB", SHD_OK, UINT64_C(16) << 30},
    {"1.5KiB", SHD_OK, 1536},
    {"0.5KiB", SHD_OK, 512},
    {"1.50 KiB", SHD_OK, 1536},
    {"2.000", SHD_OK, 2},
    {"64kB", SHD_OK, 64000},
    {"1.234kB", SHD_OK, 1234},
    {"0.000001MB", SHD_OK, 1},
    {"0.3GB", SHD_OK, 300000000},
    {"0.0009765625KiB", SHD_OK, 1},
    {"18446744073709551615", SHD_OK, UINT64_MAX},
    {"15.5EiB", SHD_OK, (UINT64_C(15) << 60) + (UINT64_C(1) << 59)},
    {"18446744073709551616", SHD_ERANGE, 0},
    {"16EiB", SHD_ERANGE, 0},
    {"18446744073709551.615kB", SHD_OK, UINT64_MAX},
    {"18446744073709551.616kB", SHD_ERANGE, 0},
    {"18446744073709551615KiB", SHD_ERANGE, 0},
    {"99999999999999999999999", SHD_ERANGE, 0},
    {"0.1", SHD_EINVAL, 0},
    {"1.3KiB", SHD_EINVAL, 0},
    {"1.0000000000000000000000001KiB", SHD_EINVAL, 0},
    {"", SHD_EINVAL, 0},
    {"GiB", SHD_EINVAL, 0},
    {"-1", SHD_EINVAL, 0},
    {"+1", SHD_EINVAL, 0},
    {" 1", SHD_EINVAL, 0},
    {"1 ", SHD_EINVAL, 0},
    {"1.", SHD_EINVAL, 0},
    {".5KiB", SHD_EINVAL, 0},
    {"1e3", SHD_EINVAL, 0},
    {"0x10", SHD_EINVAL, 0},
    {"16gib", SHD_EINVAL, 0},
    {"16K", SHD_EINVAL, 0},
    {"16KB", SHD_EINVAL, 0},
    {"16GiBs", SHD_EINVAL, 0},
    {"1,5GiB", SHD_EINVAL, 0},
};

static void test_parse_memory(void)
{
    uint64_t bytes = 77;
    struct shd_error err = {0};

    ok(units_parse_memory(&bytes, "80", &err) == SHD_EINVAL && bytes == 77 &&
           strstr(err.text, "expected 80GiB, 80GB or, if bytes are meant, 80B"),
       "parse_memory: a number alone is refused, with what may be meant");
    ok(units_parse_memory(&bytes, "1.5GiB", NULL) == SHD_OK && bytes == UINT64_C(3) << 29,
       "parse_memory: with a unit");
    ok(units_parse_memory(&bytes, "80B", NULL) == SHD_OK && bytes == 80, "parse_memory: bytes");
    ok(units_parse_memory(&bytes, "0", NULL) == SHD_OK && bytes == 0, "parse_memory: 0 is 0");
    ok(units_parse_memory(&bytes, "80XB", NULL) == SHD_EINVAL, "parse_memory: no such unit");
}

static void test_parse_bytes(void)
{
    for (size_t i = 0; i < COUNT(sizes); i++) {
        uint64_t bytes = 77;
        struct shd_error err = {0};
        int status = units_parse_bytes(&bytes, sizes[i].text, &err);
        uint64_t expected = status == SHD_OK ? sizes[i].bytes : 77;
        ok(status == sizes[i].status && bytes == expected && (status == SHD_OK || err.text[0]),
           "parse_bytes: '%s'", sizes[i].text);
    }
}

static const struct {
    const char *text;
    int status;
    int64_t ns;
} times[] = {
    {"25us", SHD_OK, 25000},
    {"1.5 ms", SHD_OK, 1500000},
    {"2s", SHD_OK, INT64_C(2000000000)},
    {"1min", SHD_OK, INT64_C(60000000000)},
    {"7ns", SHD_OK, 7},
    {"0", SHD_OK, 0},
    {"0.001us", SHD_OK, 1},
    {"9223372036854775807ns", SHD_OK, INT64_MAX},
    {"9223372036854775808ns", SHD_ERANGE, 0},
    {"9223372036855s", SHD_ERANGE, 0},
    {"0.5ns", SHD_EINVAL, 0},
    {"5", SHD_EINVAL, 0},
    {"5 h", SHD_EINVAL, 0},
    {"us", SHD_EINVAL, 0},
};

static void test_parse_ns(void)
{
    for (size_t i = 0; i < COUNT(times); i++) {
        int64_t ns = 77;
        int status = units_parse_ns(&ns, times[i].text, NULL);
        ok(status == times[i].status && ns == (status == SHD_OK ? times[i].ns : 77),
           "parse_ns: '%s'", times[i].text);
    }
}

static const struct {
    const char *text;
    int status;
    uint64_t bytes_per_s;
} rates[] = {
    {"200GB/s", SHD_OK, UINT64_C(200000000000)},
    {"1.5 TB/s", SHD_OK, UINT64_C(1500000000000)},
    {"2KiB/s", SHD_OK, 2048},
    {"1B/s", SHD_OK, 1},
    {"0", SHD_OK, 0},
    {"18446744073709551615B/s", SHD_OK, UINT64_MAX},
    {"18446744073709551616B/s", SHD_ERANGE, 0},
    {"20000PB/s", SHD_ERANGE, 0},
    {"0.5B/s", SHD_EINVAL, 0},
    {"200", SHD_EINVAL, 0},
    {"200GB", SHD_EINVAL, 0},
    {"200GB /s", SHD_EINVAL, 0},
    {"GB/s", SHD_EINVAL, 0},
    {"-1B/s", SHD_EINVAL, 0},
};

static void test_parse_rate(void)
{
    for (size_t i = 0; i < COUNT(rates); i++) {
        uint64_t rate = 77;
        int status = units_parse_rate(&rate, rates[i].text, NULL);
        ok(status == rates[i].status && rate == (status == SHD_OK ? rates[i].bytes_per_s : 77),
           "parse_rate: '%s'", rates[i].text);
    }
}

static const struct {
    const char *text;
    int status;
    uint64_t flops_per_s;
} flops[] = {
    {"312TFLOP/s", SHD_OK, UINT64_C(312000000000000)},
    {"19.5 TFLOP/s", SHD_OK, UINT64_C(19500000000000)},
    {"1PFLOP/s", SHD_OK, UINT64_C(1000000000000000)},
    {"2GFLOP/s", SHD_OK, UINT64_C(2000000000)},
    {"1FLOP/s", SHD_OK, 1},
    {"20000PFLOP/s", SHD_ERANGE, 0},
    {"0.5FLOP/s", SHD_EINVAL, 0},
    {"312", SHD_EINVAL, 0},
    {"312TFLOPS", SHD_EINVAL, 0},
    {"312TB/s", SHD_EINVAL, 0},
};

static void test_parse_flops(void)
{
    for (size_t i = 0; i < COUNT(flops); i++) {
        uint64_t rate = 77;
        int status = units_parse_flops(&rate, flops[i].text, NULL);
        ok(status == flops[i].status && rate == (status == SHD_OK ? flops[i].flops_per_s : 77),
           "parse_flops: '%s'", flops[i].text);
    }
}

static const struct {
    uint64_t value;
    const char *rate;
    const char *time;
} exacts[] = {
    {0, "0B/s", "0ns"},
    {1, "1B/s", "1ns"},
    {1001, "1001B/s", "1001ns"},
    {5000, "5kB/s", "5us"},
    {UINT64_C(200000000000), "200GB/s", "200s"},
    {UINT64_C(120000000000), "120GB/s", "2min"},
    {INT64_MAX, "9223372036854775807B/s", "9223372036854775807ns"},
};

static void test_print_exact(void)
{
    for (size_t i = 0; i < COUNT(exacts); i++) {
        struct units_text buf = units_print_rate_exact(exacts[i].value);
        uint64_t rate = 77;
        int64_t ns = 77;
        ok(!strcmp(buf.text, exacts[i].rate) && units_parse_rate(&rate, buf.text, NULL) == SHD_OK &&
               rate == exacts[i].value,
           "print_rate_exact: %s and back", buf.text);
        buf = units_print_ns_exact((int64_t)exacts[i].value);
        ok(!strcmp(buf.text, exacts[i].time) && units_parse_ns(&ns, buf.text, NULL) == SHD_OK &&
               ns == (int64_t)exacts[i].value,
           "print_ns_exact: %s and back", buf.text);
    }
}

static const struct {
    uint64_t value;
    const char *bytes;
    const char *exact;
    const char *count;
} wholes[] = {
    {0, "0 B", "0B", "0"},
    {1, "1 B", "1B", "1"},
    {999, "999 B", "999B", "999"},
    {1000, "1000 B", "1000B", "1.00 k"},
    {1023, "1023 B", "1023B", "1.02 k"},
    {1024, "1.00 KiB", "1KiB", "1.02 k"},
    {10234, "9.99 KiB", "10234B", "10.2 k"},
    {10235, "10.0 KiB", "10235B", "10.2 k"},
    {102348, "99.9 KiB", "102348B", "102 k"},
    {102360, "100 KiB", "102360B", "102 k"},
    {1025, "1.00 KiB", "1025B", "1.02 k"},
    {65536, "64.0 KiB", "64KiB", "65.5 k"},
    {999999, "977 KiB", "999999B", "1.00 M"},
    {1048575, "1.00 MiB", "1048575B", "1.05 M"},
    {UINT64_C(3) << 29, "1.50 GiB", "1536MiB", "1.61 G"},
    {UINT64_C(1) << 60, "1.00 EiB", "1EiB", "1.15 E"},
    {UINT64_MAX, "16.0 EiB", "18446744073709551615B", "18.4 E"},
};

static void test_print_wholes(void)
{
    struct units_text buf;

    for (size_t i = 0; i < COUNT(wholes); i++) {
        uint64_t value = wholes[i].value;
        unsigned long long shown = value;
        uint64_t back = 0;
        buf = units_print_bytes(value);
        ok(!strcmp(buf.text, wholes[i].bytes), "print_bytes: %llu is %s", shown, buf.text);
        buf = units_print_count(value);
        ok(!strcmp(buf.text, wholes[i].count), "print_count: %llu is %s", shown, buf.text);
        buf = units_print_bytes_exact(value);
        ok(!strcmp(buf.text, wholes[i].exact) &&
               units_parse_bytes(&back, buf.text, NULL) == SHD_OK && back == value,
           "print_bytes_exact: %llu is %s and back", shown, buf.text);
    }
    ok(!strcmp(units_print_bytes((uint128)1 << 64).text, "16.0 EiB"), "2^64 bytes");
    ok(!strcmp(units_print_bytes((uint128)3 << 80).text, "3.00 YiB"), "yobibytes");
    ok(!strcmp(units_print_bytes((uint128)1 << 100).text, "1048576 YiB"), "the last");
    buf = units_print_count((uint128)1 << 70);
    ok(!strcmp(buf.text, "1.18 Z"), "2^70 is %s", buf.text);
}

static const struct {
    double value;
    const char *seconds;
    const char *rate;
} reals[] = {
    {0, "0 s", "0.00 B/s"},
    {25e-6, "25.0 us", "0.00 B/s"},
    {1.5e-3, "1.50 ms", "0.00 B/s"},
    {2, "2.00 s", "2.00 B/s"},
    {90, "90.0 s", "90.0 B/s"},
    {46e9, "46000000000 s", "46.0 GB/s"},
    {999.7e-6, "1.00 ms", "0.00 B/s"},
    {1e-12, "0.00 ns", "0.00 B/s"},
    {-1, "-1 s", "-"},
    {(double)NAN, "-", "-"},
    {(double)INFINITY, "-", "-"},
};

static void test_print_reals(void)
{
    for (size_t i = 0; i < COUNT(reals); i++) {
        struct units_text seconds = units_print_seconds(reals[i].value);
        struct units_text rate = units_print_rate(reals[i].value);

        ok(!strcmp(seconds.text, reals[i].seconds), "print_seconds: %g is %s", reals[i].value,
           seconds.text);
        ok(!strcmp(rate.text, reals[i].rate), "print_rate: %g is %s", reals[i].value, rate.text);
    }
}

/* Values are rounded as for printing: values that print alike become equal, others stay
 * different. */
static void test_printed(void)
{
    const uint128 gib = (uint128)1 << 30;

    ok(fabs(units_printed_bytes(3 * gib / 2) - 1.5 * 1073741824.0) < 1, "printed: 1.50 GiB");
    ok(fabs(units_printed_bytes(3 * gib / 2) - units_printed_bytes(3 * gib / 2 + 999)) < 1,
       "printed: values within one printed digit are equal");
    ok(units_printed_bytes(3 * gib / 2 + gib / 50) > units_printed_bytes(3 * gib / 2),
       "printed: values two printed digits apart differ");
    ok(fabs(units_printed_bytes(1000) - 1000) < 1e-9, "printed: bytes stay exact");
    ok(fabs(units_printed_seconds(0.0012341) - units_printed_seconds(0.0012339)) < 1e-12 &&
           fabs(units_printed_seconds(0.0012341) - 0.00123) < 1e-12,
       "printed: seconds have three digits");
    ok(units_printed_seconds(0) == 0, "printed: no seconds");
}

int main(void)
{
    plan(0);
    test_printed();
    test_parse_bytes();
    test_parse_memory();
    test_parse_ns();
    test_parse_rate();
    test_parse_flops();
    test_print_exact();
    test_print_wholes();
    test_print_reals();
    return done();
}
