/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "scenario/stage_layout.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/scenario.h"

#define LENGTH_MAX ((size_t)1 << 20) /* letters, with repetitions written out */
#define REPEATS_MAX 1000000

static bool repeats(const char *star)
{
    return star[0] == '*' && star[1] >= '0' && star[1] <= '9';
}

/* Append `length` bytes as often as the number behind a star says; the text after the number. */
static const char *repeat(struct text *out, const char *what, size_t length, const char *star)
{
    char *end;
    unsigned long n = strtoul(star + 1, &end, 10);

    for (unsigned long i = 0; i < n && i < REPEATS_MAX && out->length <= LENGTH_MAX; i++)
        text_add_bytes(out, what, length);
    return end;
}

/* Write out repeated parentheses; commas mean nothing. */
static void expand_groups(struct text *out, const char *from)
{
    while (*from && out->length <= LENGTH_MAX) {
        const char *close = *from == '(' ? strchr(from, ')') : NULL;

        if (close && close > from + 1 && repeats(close + 1))
            from = repeat(out, from + 1, (size_t)(close - from) - 1, close + 1);
        else
            text_add_char(out, *from++);
    }
}

/* Write out repeated letters. */
static void expand_letters(struct text *out, const char *from)
{
    while (*from && out->length <= LENGTH_MAX)
        if (repeats(from + 1))
            from = repeat(out, from, 1, from + 1);
        else
            text_add_char(out, *from++);
}

static void leave_commas(struct text *out, const char *from)
{
    for (; *from; from++)
        if (*from != ',')
            text_add_char(out, *from);
}

static int check_letters(const char *layout, struct shd_error *err)
{
    size_t length = strlen(layout);
    const char *wrong = layout + strspn(layout, "EtL|");

    if (*wrong == 'm')
        return shd_error_set(err, SHD_EINVAL,
                             "'m', an MTP layer, is not supported in a layout; remove it, and "
                             "place its arrays with pipeline.place");
    if (*wrong)
        return shd_error_set(err, SHD_EINVAL,
                             "unknown letter '%c'; expected E, t, L, bars, *N and (...)*N", *wrong);
    if (layout[0] != 'E' || strchr(layout + 1, 'E'))
        return shd_error_set(err, SHD_EINVAL, "expected one E, at the start of the first stage");
    if (layout[length - 1] != 'L' || strchr(layout, 'L') != layout + length - 1)
        return shd_error_set(err, SHD_EINVAL, "expected one L, at the end of the last stage");
    return SHD_OK;
}

static int count_layers(int64_t **layers, size_t *nstages, const char *layout,
                        struct shd_error *err)
{
    size_t n = 1;
    int64_t *out;

    for (const char *c = layout; *c; c++)
        n += *c == '|';
    if (n > SCENARIO_STAGES_MAX)
        return shd_error_set(err, SHD_ERANGE, "%zu stages; expected at most %d", n,
                             SCENARIO_STAGES_MAX);
    out = calloc(n, sizeof *out);
    if (!out)
        return shd_error_set(err, SHD_ENOMEM, "no memory for %zu stages", n);
    n = 0;
    for (const char *c = layout; *c; c++) {
        n += *c == '|';
        out[n] += *c == 't';
    }
    *layers = out;
    *nstages = n + 1;
    return SHD_OK;
}

int stage_layout_parse(int64_t **layers, size_t *nstages, const char *text, struct shd_error *err)
{
    struct text plain = TEXT_INIT, groups = TEXT_INIT, layout = TEXT_INIT;
    int status = SHD_OK;

    leave_commas(&plain, text);
    expand_groups(&groups, text_get(&plain));
    expand_letters(&layout, text_get(&groups));
    if (plain.failed || groups.failed || layout.failed)
        status = shd_error_set(err, SHD_ENOMEM, "no memory for a layout of stages");
    else if (groups.length > LENGTH_MAX || layout.length > LENGTH_MAX)
        status = shd_error_set(err, SHD_ERANGE, "more than %zu letters", LENGTH_MAX);
    if (status == SHD_OK)
        status = check_letters(text_get(&layout), err);
    if (status == SHD_OK)
        status = count_layers(layers, nstages, text_get(&layout), err);
    text_fini(&plain);
    text_fini(&groups);
    text_fini(&layout);
    return status;
}

static void add_layers(struct text *out, int64_t layers)
{
    if (layers > 0)
        text_add_char(out, 't');
    if (layers > 1)
        text_addf(out, "*%" PRId64, layers);
}

/* A star binds to one letter, and parentheses do not nest, so that a stage that is written several
 * times has each letter. */
static void add_equal(struct text *out, int64_t layers, size_t times)
{
    text_add(out, times > 1 ? "(" : "");
    if (times > 1)
        for (int64_t i = 0; i < layers; i++)
            text_add_char(out, 't');
    else
        add_layers(out, layers);
    text_add_char(out, '|');
    if (times > 1)
        text_addf(out, ")*%zu", times);
}

void stage_layout_print(struct text *out, const int64_t *layers, size_t nstages)
{
    size_t times;

    text_add_char(out, 'E');
    for (size_t i = 0; i < nstages; i += times) {
        times = 1;
        if (i == 0 || i + 1 == nstages) {
            add_layers(out, layers[i]);
            text_add(out, i + 1 < nstages ? "|" : "");
            continue;
        }
        while (i + times + 1 < nstages && layers[i + times] == layers[i])
            times++;
        add_equal(out, layers[i], times);
    }
    text_add_char(out, 'L');
}
