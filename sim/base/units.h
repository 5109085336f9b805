/* base/units.h - quantities as people write and read them: "16GiB", "25us".
 *
 * Bytes are uint64_t (sums of them uint128), times int64_t nanoseconds, all exact: what does not
 * fit or is finer than the unit is an error, never rounded.  Parsing takes a fraction ("1.5GiB")
 * and a space before the unit.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>

#include <shd/error.h>

#include "base/text.h"
#include "base/uint128.h"

#define UNITS_TEXT_MAX 32 /* enough for anything printed here */

/* A printed quantity, so that a call can be an argument: units_print_bytes(n).text. */
struct units_text {
    char text[UNITS_TEXT_MAX];
};

/* "16GiB", "1.5 MiB", "4096", "64kB": a number without a unit is bytes; KiB is 1024, kB is 1000.
 * SHD_EINVAL (not a size), SHD_ERANGE (over 2^64-1). */
SHD_MUST_CHECK int units_parse_bytes(uint64_t *out, const char *text, struct shd_error *err);

/* As units_parse_bytes(), for quantities usually given in GiB, such as a device's memory: a number
 * without a unit, except 0, is SHD_EINVAL, as hardly anybody means 80 bytes. */
SHD_MUST_CHECK int units_parse_memory(uint64_t *out, const char *text, struct shd_error *err);

/* "25us", "1.5 ms", "0": a unit of ns, us, ms, s or min is needed unless the number is 0.
 * SHD_EINVAL (not a time, or finer than 1 ns), SHD_ERANGE. */
SHD_MUST_CHECK int units_parse_ns(int64_t *out, const char *text, struct shd_error *err);

/* "200GB/s", "1.5 TiB/s": bytes a second, the unit and "/s" are needed.
 * SHD_EINVAL (not a rate, or finer than 1 B/s), SHD_ERANGE. */
SHD_MUST_CHECK int units_parse_rate(uint64_t *out, const char *text, struct shd_error *err);

/* "312TFLOP/s": floating-point operations a second, the unit is needed.
 * SHD_EINVAL (not such a rate, or finer than 1 FLOP/s), SHD_ERANGE. */
SHD_MUST_CHECK int units_parse_flops(uint64_t *out, const char *text, struct shd_error *err);

/* A regular expression for a parser's input, for schemas; it also matches sizes that are too large
 * or too fine. */
void units_print_bytes_pattern(struct text *out);
void units_print_ns_pattern(struct text *out);
void units_print_rate_pattern(struct text *out);

/* For people, three digits or more: "0 B", "1023 B", "64.0 KiB", "1.50 GiB". */
struct units_text units_print_bytes(uint128 bytes);

/* The value rounded as it is printed: values with equal results are printed alike. */
double units_printed_bytes(uint128 bytes);
double units_printed_seconds(double seconds);

/* Exact and parseable, in the largest IEC unit that divides: "64MiB", "1025B", "0B". */
struct units_text units_print_bytes_exact(uint64_t bytes);

/* Exact and parseable: "200GB/s", "1B/s"; "5us", "0ns". */
struct units_text units_print_rate_exact(uint64_t bytes_per_s);
struct units_text units_print_ns_exact(int64_t ns);

/* For people: a number with so many decimals, or two significant digits below 10. */
struct units_text units_print_number(double number, int decimals);

/* For people, decimal: "999", "12.3 k", "4.00 G". */
struct units_text units_print_count(uint128 count);

/* For people: "0 s", "25.0 us", "1.50 ms", "2.00 s", "90.0 s"; not a number prints "-". */
struct units_text units_print_seconds(double seconds);

/* Bytes a second, decimal like the ratings of links: "46.0 GB/s". */
struct units_text units_print_rate(double bytes_per_s);

#endif /* BASE_UNITS_H */
