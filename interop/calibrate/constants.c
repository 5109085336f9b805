/* The constants that a calibration may change (constants.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "calibrate/constants.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/nearest.h"

/* ---- ranges ---- */

/* Set the range and scale in which to search for a constant.  A share of a peak below a twentieth
 * or a latency over a millisecond is no property of hardware any more. */
static bool set_range(struct constant *c)
{
    switch (c->key.type) {
    case KEY_SHARE:
        c->least = 0.05;
        c->most = 1;
        c->scale = 0.1;
        return true;
    case KEY_SECONDS:
        c->most = fmax(1e-3, c->start);
        c->scale = fmax(c->start / 2, 2e-6);
        return true;
    case KEY_FRACTION:
        c->most = fmax(1, c->start);
        c->scale = fmax(c->start / 4, 0.02);
        return true;
    case KEY_NUMBER:
        c->most = fmax(2000, c->start);
        c->scale = fmax(c->start / 2, 16);
        return true;
    case KEY_FACTOR:
        c->least = 1;
        c->most = fmax(10, c->start);
        c->scale = 0.2;
        return true;
    case KEY_RATE:
    case KEY_FLOPS:
    case KEY_BYTES:
        c->least = c->start / 10;
        c->most = c->start * 10;
        c->log = true;
        c->scale = 0.2;
        return c->start > 0;
    case KEY_SIZE:
    case KEY_COUNT:
    case KEY_TEXT:
    case KEY_YES_NO:
    case KEY_OTHER:
        break;
    }
    return false;
}

double constant_to_search(const struct constant *c, double value)
{
    return (c->log ? log(value / c->start) : value) / c->scale;
}

double constant_of_search(const struct constant *c, double x)
{
    double value = c->log ? c->start * exp(x * c->scale) : x * c->scale;

    return fmin(fmax(value, c->least), c->most);
}

void constants_set(struct hardware *hardware, const struct constants *constants,
                   const double *values)
{
    for (size_t i = 0; i < constants->n; i++)
        memcpy((char *)hardware + constants->items[i].key.offset, &values[i], sizeof values[i]);
}

/* ---- selection ---- */

static void report_unknown(const char *path, const struct hardware *hardware, struct diag *diag)
{
    struct text names = TEXT_INIT;
    struct nearest nearest;

    for (size_t i = 0; hardware_constant_path(&names, hardware, i); i++)
        text_add_char(&names, '\n');
    nearest_init(&nearest, path);
    for (char *name = names.data, *end; name && *name; name = end + 1) {
        end = strchr(name, '\n');
        *end = '\0';
        nearest_add(&nearest, name);
    }
    diag_error(diag, (struct place){.file = NULL},
               "--constants: unknown constant '%.60s'; expected a name such as kernels.launch or "
               "tiers.0.step%s",
               path, nearest_hint(&nearest).text);
    text_fini(&names);
}

static void add(struct constants *out, const struct hardware *hardware, const char *path,
                struct diag *diag)
{
    struct constant *c;

    if (!array_make_room(&out->items, out->n, sizeof *out->items)) {
        diag_no_memory(diag);
        return;
    }
    c = out->items + out->n;
    *c = (struct constant){.path = NULL};
    if (!hardware_constant_find(&c->key, hardware, path)) {
        report_unknown(path, hardware, diag);
        return;
    }
    for (size_t i = 0; i < out->n; i++)
        if (!strcmp(out->items[i].path, path))
            return;
    if (c->key.type != KEY_COUNT)
        memcpy(&c->start, (const char *)hardware + c->key.offset, sizeof c->start);
    c->value = c->start;
    if (!set_range(c)) {
        diag_error(diag, (struct place){.file = NULL}, "--constants: %s cannot be fitted: it is %s",
                   path,
                   c->key.type == KEY_COUNT  ? "a whole number"
                   : c->key.type == KEY_SIZE ? "the hardware's own"
                                             : "not in the file");
        return;
    }
    c->path = strdup(path);
    if (!c->path)
        diag_no_memory(diag);
    else
        out->n++;
}

int constants_read(struct constants *out, const struct hardware *hardware, const char *paths,
                   struct diag *diag)
{
    size_t before = diag->nerrors;
    char *copy = paths ? strdup(paths) : NULL, *rest = copy;

    *out = (struct constants){.items = NULL};
    if (paths && !copy)
        diag_no_memory(diag);
    for (char *path; copy && (path = strtok_r(rest, ",", &rest));)
        add(out, hardware, path, diag);
    for (size_t i = 0; !paths && hardware->fitted && hardware->fitted[i]; i++)
        add(out, hardware, hardware->fitted[i], diag);
    free(copy);
    if (out->n == 0 && diag->nerrors == before && !diag->no_memory)
        diag_error(diag, (struct place){.file = hardware->place},
                   "names no fitted constant; expected a list `fitted` in the file, or --constants "
                   "such as kernels.launch");
    if (diag_status(diag, before) != SHD_OK)
        constants_fini(out);
    return diag_status(diag, before);
}

void constants_fini(struct constants *constants)
{
    for (size_t i = 0; i < constants->n; i++)
        free(constants->items[i].path);
    free(constants->items);
    *constants = (struct constants){.items = NULL};
}

/* ---- as written in a file ---- */

double constant_rounded(const struct constant *constant, double value)
{
    double unit = value > 0 ? pow(10, floor(log10(value)) - 3) : 1;

    if (constant->key.type == KEY_SECONDS)
        unit = 1e-9;
    if (constant->key.type == KEY_BYTES)
        unit = 1;
    return round(value / unit) * unit;
}

/* Print four digits without an exponent, as quantities are written. */
static void print_digits(struct text *out, double value)
{
    int before = value >= 1 ? (int)floor(log10(value)) + 1 : 0;
    int zeros = value > 0 && value < 1 ? (int)floor(-log10(value)) : 0;

    text_addf(out, "%.*f", before >= 4 ? 0 : 4 - before + zeros, value);
}

static void print_scaled(struct text *out, double value, const char *per, const char *unit)
{
    static const struct {
        const char *name;
        double size;
    } prefixes[] = {{"T", 1e12}, {"G", 1e9}, {"M", 1e6}, {"k", 1e3}};

    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (value >= prefixes[i].size) {
            print_digits(out, value / prefixes[i].size);
            text_addf(out, "%s%s%s", prefixes[i].name, unit, per);
            return;
        }
    text_addf(out, "%.0f%s%s", value, unit, per);
}

void constant_print(struct text *out, const struct constant *constant, double value)
{
    switch (constant->key.type) {
    case KEY_SECONDS:
        text_addf(out, "%.3fus", value * 1e6); /* to the nanosecond, as in files */
        break;
    case KEY_RATE:
        print_scaled(out, value, "/s", "B");
        break;
    case KEY_FLOPS:
        print_scaled(out, value, "/s", "FLOP");
        break;
    case KEY_SIZE:
    case KEY_BYTES:
        text_addf(out, "%.0f", value);
        break;
    default:
        print_digits(out, value);
        break;
    }
}
