/* Parsing and printing quantities with units (base/units.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/units.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct unit {
    const char *name;
    uint64_t size;
};

static const struct unit byte_units[] = {
    {"", 1},
    {"B", 1},
    {"KiB", UINT64_C(1) << 10},
    {"MiB", UINT64_C(1) << 20},
    {"GiB", UINT64_C(1) << 30},
    {"TiB", UINT64_C(1) << 40},
    {"PiB", UINT64_C(1) << 50},
    {"EiB", UINT64_C(1) << 60},
    {"kB", UINT64_C(1000)},
    {"MB", UINT64_C(1000000)},
    {"GB", UINT64_C(1000000000)},
    {"TB", UINT64_C(1000000000000)},
    {"PB", UINT64_C(1000000000000000)},
    {"EB", UINT64_C(1000000000000000000)},
};

static const struct unit rate_units[] = {
    {"B/s", 1},
    {"kB/s", UINT64_C(1000)},
    {"MB/s", UINT64_C(1000000)},
    {"GB/s", UINT64_C(1000000000)},
    {"TB/s", UINT64_C(1000000000000)},
    {"PB/s", UINT64_C(1000000000000000)},
    {"KiB/s", UINT64_C(1) << 10},
    {"MiB/s", UINT64_C(1) << 20},
    {"GiB/s", UINT64_C(1) << 30},
    {"TiB/s", UINT64_C(1) << 40},
};

static const struct unit flops_units[] = {
    {"FLOP/s", 1},
    {"MFLOP/s", UINT64_C(1000000)},
    {"GFLOP/s", UINT64_C(1000000000)},
    {"TFLOP/s", UINT64_C(1000000000000)},
    {"PFLOP/s", UINT64_C(1000000000000000)},
};

static const struct unit time_units[] = {
    {"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}, {"min", UINT64_C(60000000000)},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define NIEC_UNITS 8           /* leading entries of byte_units: no unit to EiB */
#define NDECIMAL_RATES 6       /* leading entries of rate_units */
#define FRACTION_DIGITS_MAX 18 /* 10^digits fits a uint64_t */

/* A decimal number: `whole` and `fraction` / 10^ndigits. */
struct decimal {
    uint64_t whole;
    uint64_t fraction;
    unsigned ndigits;
};

enum decimal_fault { DECIMAL_OK, DECIMAL_NONE, DECIMAL_TOO_LARGE, DECIMAL_TOO_FINE };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Read digits and an optional fraction; *end is set to the character after them. */
static enum decimal_fault read_decimal(struct decimal *out, const char *text, const char **end)
{
    struct decimal d = {0, 0, 0};

    if (!is_digit(*text))
        return DECIMAL_NONE;
    for (; is_digit(*text); text++) {
        uint64_t digit = (uint64_t)(*text - '0');
        if (d.whole > (UINT64_MAX - digit) / 10)
            return DECIMAL_TOO_LARGE;
        d.whole = d.whole * 10 + digit;
    }
    if (*text == '.') {
        text++;
        if (!is_digit(*text))
            return DECIMAL_NONE;
        for (; is_digit(*text); text++) {
            if (d.ndigits == FRACTION_DIGITS_MAX)
                return DECIMAL_TOO_FINE;
            d.fraction = d.fraction * 10 + (uint64_t)(*text - '0');
            d.ndigits++;
        }
    }
    while (d.ndigits > 0 && d.fraction % 10 == 0) {
        d.fraction /= 10;
        d.ndigits--;
    }
    *out = d;
    *end = text;
    return DECIMAL_OK;
}

static const struct unit *find_unit(const struct unit *units, size_t nunits, const char *name)
{
    for (size_t i = 0; i < nunits; i++)
        if (strcmp(units[i].name, name) == 0)
            return &units[i];
    return NULL;
}

/* Compute fraction / 10^ndigits * unit; false if that is not whole.  Factors of ten are
 * cancelled first, so that the product cannot overflow: with none left in the denominator it is
 * below `unit`. */
static bool scale_fraction(uint64_t *out, const struct decimal *d, uint64_t unit)
{
    uint64_t fraction = d->fraction;
    uint64_t twos = 0;
    uint64_t fives = 0;

    if (fraction == 0) {
        *out = 0;
        return true;
    }
    for (twos = d->ndigits; twos > 0 && fraction % 2 == 0; twos--)
        fraction /= 2;
    for (; twos > 0 && unit % 2 == 0; twos--)
        unit /= 2;
    for (fives = d->ndigits; fives > 0 && fraction % 5 == 0; fives--)
        fraction /= 5;
    for (; fives > 0 && unit % 5 == 0; fives--)
        unit /= 5;
    if (twos > 0 || fives > 0)
        return false;
    *out = fraction * unit;
    return true;
}

static bool scale(uint64_t *out, const struct decimal *d, uint64_t unit, uint64_t fraction)
{
    if (d->whole > UINT64_MAX / unit)
        return false;
    uint64_t whole = d->whole * unit;
    if (whole > UINT64_MAX - fraction)
        return false;
    *out = whole + fraction;
    return true;
}

/* A kind of quantity, with its words for messages. */
struct quantity {
    const struct unit *units;
    size_t nunits;
    const char *what;
    const char *expected;
    const char *finest;
    uint64_t max;
};

/* The unit probably meant by a name in the wrong case (gb, MIB) or an initial alone (G); NULL:
 * none. */
static const struct unit *find_meant(const struct quantity *q, const char *name)
{
    size_t length = strlen(name);

    for (size_t i = 0; length > 0 && i < q->nunits; i++)
        if (!strcasecmp(q->units[i].name, name))
            return &q->units[i];
    for (size_t i = 0; length == 1 && i < q->nunits; i++)
        if (!strncasecmp(q->units[i].name, name, 1))
            return &q->units[i];
    return NULL;
}

static int refuse_unit(const char *text, const char *number_end, const char *name,
                       const struct quantity *q, struct shd_error *err)
{
    const struct unit *meant = number_end > text ? find_meant(q, name) : NULL;

    if (!meant)
        return shd_error_set(err, SHD_EINVAL, "'%.40s' is not a valid %s; expected %s", text,
                             q->what, q->expected);
    return shd_error_set(err, SHD_EINVAL,
                         "'%.40s' is not a valid %s; expected %s; did you mean '%.*s%s'?", text,
                         q->what, q->expected, (int)(number_end - text), text, meant->name);
}

static int parse(uint64_t *out, const char *text, const struct quantity *q, struct shd_error *err)
{
    struct decimal d;
    const char *end = text;
    uint64_t fraction;
    uint64_t value;

    enum decimal_fault fault = read_decimal(&d, text, &end);
    if (fault == DECIMAL_TOO_LARGE)
        return shd_error_set(err, SHD_ERANGE, "%s '%.40s' is too large", q->what, text);
    if (fault == DECIMAL_TOO_FINE)
        return shd_error_set(err, SHD_EINVAL, "%s '%.40s' has too many digits", q->what, text);
    const char *name = end + (fault == DECIMAL_OK ? strspn(end, " ") : 0);
    if (*name == '\0')
        name = end; /* spaces are allowed between number and unit only */
    const struct unit *unit = NULL;
    if (fault == DECIMAL_OK)
        unit = find_unit(q->units, q->nunits, name);
    if (fault == DECIMAL_OK && *end == '\0' && d.whole == 0 && d.fraction == 0)
        unit = &q->units[0]; /* zero is zero in any unit */
    if (!unit)
        return refuse_unit(text, fault == DECIMAL_OK ? end : text, name, q, err);
    if (!scale_fraction(&fraction, &d, unit->size))
        return shd_error_set(err, SHD_EINVAL, "%s '%.40s' is not a whole number of %s", q->what,
                             text, q->finest);
    if (!scale(&value, &d, unit->size, fraction) || value > q->max)
        return shd_error_set(err, SHD_ERANGE, "%s '%.40s' is too large", q->what, text);
    *out = value;
    return SHD_OK;
}

int units_parse_bytes(uint64_t *out, const char *text, struct shd_error *err)
{
    static const struct quantity bytes = {
        byte_units, COUNT(byte_units),
        "size",     "a number and B, KiB, MiB, GiB, TiB, kB, MB, GB or TB",
        "bytes",    UINT64_MAX,
    };

    return parse(out, text, &bytes, err);
}

int units_parse_memory(uint64_t *out, const char *text, struct shd_error *err)
{
    size_t length = strspn(text, "0123456789.");
    uint64_t bytes;
    int status = units_parse_bytes(&bytes, text, err);

    if (status == SHD_OK && bytes > 0 && !text[length])
        return shd_error_set(err, SHD_EINVAL,
                             "'%.20s' has no unit; expected %.20sGiB, %.20sGB or, if bytes are "
                             "meant, %.20sB",
                             text, text, text, text);
    if (status == SHD_OK)
        *out = bytes;
    return status;
}

int units_parse_ns(int64_t *out, const char *text, struct shd_error *err)
{
    static const struct quantity time = {
        time_units,    COUNT(time_units), "time", "a number and ns, us, ms, s or min",
        "nanoseconds", INT64_MAX,
    };
    uint64_t value;

    int status = parse(&value, text, &time, err);
    if (status == SHD_OK)
        *out = (int64_t)value;
    return status;
}

int units_parse_rate(uint64_t *out, const char *text, struct shd_error *err)
{
    static const struct quantity rate = {
        rate_units,       COUNT(rate_units), "rate", "a number and B/s, MB/s, GB/s, TB/s or GiB/s",
        "bytes a second", UINT64_MAX,
    };

    return parse(out, text, &rate, err);
}

int units_parse_flops(uint64_t *out, const char *text, struct shd_error *err)
{
    static const struct quantity flops = {
        flops_units,
        COUNT(flops_units),
        "rate",
        "a number and GFLOP/s, TFLOP/s or PFLOP/s",
        "operations a second",
        UINT64_MAX,
    };

    return parse(out, text, &flops, err);
}

static void print_pattern(struct text *out, const struct unit *units, size_t nunits)
{
    text_add(out, "^[0-9]+([.][0-9]+)?( *(");
    for (size_t i = 0; i < nunits; i++)
        text_addf(out, "%s%s", i ? "|" : "", units[i].name);
    text_add(out, "))$");
}

void units_print_bytes_pattern(struct text *out)
{
    text_add(out, "^[0-9]+([.][0-9]+)?$|"); /* without a unit no space is allowed either */
    print_pattern(out, byte_units + 1, COUNT(byte_units) - 1);
}

void units_print_ns_pattern(struct text *out)
{
    text_add(out, "^0+([.]0+)?$|"); /* zero in any unit */
    print_pattern(out, time_units, COUNT(time_units));
}

void units_print_rate_pattern(struct text *out)
{
    print_pattern(out, rate_units, COUNT(rate_units));
}

/* Divide by `base` until below it, or the names end; a value that rounds up to `base` moves on.
 * Print three digits: 1.50, 12.3, 123. */
static void print_prefixed(struct units_text *out, double value, double base,
                           const char *const *names, size_t nnames)
{
    size_t i = 0;
    int decimals;

    while (i + 1 < nnames && value >= base - 0.5) {
        value /= base;
        i++;
    }
    decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    snprintf(out->text, sizeof out->text, "%.*f %s", decimals, value, names[i]);
}

struct units_text units_print_bytes(uint128 bytes)
{
    struct units_text out;
    static const char *const names[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"};

    if (bytes < 1024)
        snprintf(out.text, sizeof out.text, "%u B", (unsigned)bytes);
    else
        print_prefixed(&out, (double)bytes / 1024, 1024, names, COUNT(names));
    return out;
}

/* Print in the largest unit that divides the value; zero in the smallest.  `units` ascend. */
static struct units_text print_exact(uint64_t value, const struct unit *units, size_t nunits)
{
    struct units_text out;
    const struct unit *best = &units[0];

    for (size_t i = 0; i < nunits && value > 0; i++)
        if (value % units[i].size == 0)
            best = &units[i];
    snprintf(out.text, sizeof out.text, "%llu%s", (unsigned long long)(value / best->size),
             best->name);
    return out;
}

struct units_text units_print_bytes_exact(uint64_t bytes)
{
    return print_exact(bytes, byte_units + 1, NIEC_UNITS - 1);
}

struct units_text units_print_rate_exact(uint64_t bytes_per_s)
{
    return print_exact(bytes_per_s, rate_units, NDECIMAL_RATES);
}

struct units_text units_print_ns_exact(int64_t ns)
{
    return print_exact((uint64_t)ns, time_units, COUNT(time_units));
}

struct units_text units_print_number(double number, int decimals)
{
    struct units_text out;

    if (number >= 10)
        snprintf(out.text, sizeof out.text, "%.*f", decimals, number);
    else
        snprintf(out.text, sizeof out.text, "%.2g", number);
    return out;
}

struct units_text units_print_count(uint128 count)
{
    struct units_text out;
    static const char *const names[] = {"k", "M", "G", "T", "P", "E", "Z", "Y"};

    if (count < 1000)
        snprintf(out.text, sizeof out.text, "%u", (unsigned)count);
    else
        print_prefixed(&out, (double)count / 1000, 1000, names, COUNT(names));
    return out;
}

struct units_text units_print_seconds(double seconds)
{
    struct units_text out;
    static const char *const names[] = {"ns", "us", "ms", "s"};

    if (!isfinite(seconds))
        snprintf(out.text, sizeof out.text, "-");
    else if (seconds == 0)
        snprintf(out.text, sizeof out.text, "0 s");
    else if (seconds < 0)
        snprintf(out.text, sizeof out.text, "%.3g s", seconds);
    else
        print_prefixed(&out, seconds * 1e9, 1000, names, COUNT(names));
    return out;
}

double units_printed_bytes(uint128 bytes)
{
    static const char units[] = "BKMGTPEZY";
    struct units_text text = units_print_bytes(bytes);
    char *end;
    const char *unit;
    double value;

    value = strtod(text.text, &end);
    end += strspn(end, " ");
    unit = *end ? strchr(units, *end) : NULL;
    return unit ? ldexp(value, 10 * (int)(unit - units)) : value;
}

double units_printed_seconds(double seconds)
{
    double digit;

    if (!isfinite(seconds) || seconds <= 0)
        return seconds;
    digit = pow(10, floor(log10(seconds)) - 2);
    return round(seconds / digit) * digit;
}

struct units_text units_print_rate(double bytes_per_s)
{
    struct units_text out;
    static const char *const names[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s"};

    if (!isfinite(bytes_per_s) || bytes_per_s < 0)
        snprintf(out.text, sizeof out.text, "-");
    else
        print_prefixed(&out, bytes_per_s, 1000, names, COUNT(names));
    return out;
}
