/* The roofline as an SVG picture (roofline.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/explain/roofline.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "draw/points.h"
#include "cmd/explain/roofline_table.h"

#define TERA 1e12
#define NAMED_MAX 12 /* most ops drawn with their names, the longest */
#define RADIUS_LEAST 3.0
#define RADIUS_MOST 8.0 /* for an op that takes all of the time; areas are proportional to time */
#define INTENSITY_LEAST                                                                      \
    0.1                 /* flops a byte: what does fewer does next to nothing but move bytes \
                         */
#define AGAIN 3         /* colour number of recomputed ops, behind the phases' colours */
#define RATE_LEAST 1e-6 /* of the fastest op's rate; slower ops are not drawn */

struct drawing {
    const struct roofline_table *table;
    struct points_point *points;
    struct text *names; /* of points; texts[NAMED_MAX] at most */
    size_t n;
    double shown_s;
    double fastest; /* rate of the fastest op, in flops a second */
    struct points_roof roofs[SHD_NDTYPES + 1];
    struct text roof_names[SHD_NDTYPES + 1];
    size_t nroofs;
    struct points_axis x, y;
};

/* Whether a line's ops compute, rather than only move bytes. */
static bool computes(const struct roofline_table *t, const struct roofline_line *line)
{
    return !program_communicates(&t->seconds.program->ops[line->op]) && line->work.bytes > 0 &&
           line->work.flops >= INTENSITY_LEAST * line->work.bytes;
}

static void find_fastest(struct drawing *d)
{
    for (uint32_t k = 0; k < d->table->nlines; k++) {
        const struct roofline_line *line = &d->table->lines[k];

        if (computes(d->table, line))
            d->fastest = fmax(d->fastest, line->work.flops / line->seconds);
    }
}

/* Whether a line's ops are drawn. */
static bool is_shown(const struct drawing *d, const struct roofline_line *line)
{
    return computes(d->table, line) && line->work.flops >= RATE_LEAST * d->fastest * line->seconds;
}

static void add_points(struct drawing *d)
{
    const struct roofline_table *t = d->table;
    double longest = 0;

    for (uint32_t k = 0; k < t->nlines; k++) {
        const struct roofline_line *line = &t->lines[k];
        const struct program_op *op = &t->seconds.program->ops[line->op];
        double seconds = roofline_line_seconds(line);
        struct points_point *point = &d->points[d->n];

        if (!is_shown(d, line))
            continue;
        if (d->n == 0) /* lines are sorted by time */
            longest = seconds;
        d->shown_s += seconds;
        *point = (struct points_point){
            .x = line->work.flops / line->work.bytes,
            .y = line->work.flops / line->seconds / TERA,
            .marked = true,
            .colour = op->again ? AGAIN : op->phase,
            .radius = fmax(RADIUS_MOST * sqrt(seconds / longest), RADIUS_LEAST)};
        if (d->n < NAMED_MAX) {
            roofline_add_name(&d->names[d->n], op);
            text_add(&d->names[d->n], op->again ? " again" : "");
            point->name = text_get(&d->names[d->n]);
        }
        d->n++;
    }
}

/* Set axes in whole decades that contain all points and the highest roof. */
static void set_axes(struct drawing *d, double peak)
{
    double low_x = 1, high_x = 1, low_y = peak, high_y = peak;

    for (size_t i = 0; i < d->n; i++) {
        low_x = fmin(low_x, d->points[i].x);
        high_x = fmax(high_x, d->points[i].x);
        low_y = fmin(low_y, d->points[i].y);
        high_y = fmax(high_y, d->points[i].y);
    }
    high_x = fmax(high_x, 4 * peak * TERA / d->table->seconds.hardware->memory_bytes_per_s);
    d->x = (struct points_axis){"flops/byte", pow(10, floor(log10(low_x))),
                                pow(10, ceil(log10(high_x))), true, true};
    d->y = (struct points_axis){"TFLOP/s of a device", pow(10, floor(log10(low_y))),
                                pow(10, ceil(log10(high_y * 1.2))), true, true};
}

/* Add a flat roof, from its ridge on, for each type that units compute in; returns the highest. */
static double add_roofs(struct drawing *d)
{
    const struct hardware *h = d->table->seconds.hardware;
    bool used[SHD_NDTYPES] = {false};
    double peak = 0;

    for (uint32_t k = 0; k < d->table->nlines; k++)
        if (d->table->lines[k].work.kind != HARDWARE_MEMORY && is_shown(d, &d->table->lines[k]))
            used[d->table->lines[k].work.dtype] = true;
    for (int type = 0; type < SHD_NDTYPES; type++) {
        double rate = hardware_flops_per_s(h, (enum shd_dtype)type) / TERA;

        if (!used[type] || rate <= 0)
            continue;
        text_addf(&d->roof_names[d->nroofs], "%s %.4g TFLOP/s",
                  shd_dtype_name((enum shd_dtype)type), rate);
        d->roofs[d->nroofs] = (struct points_roof){.x = {rate * TERA / h->memory_bytes_per_s, 0},
                                                   .y = {rate, rate},
                                                   .name = text_get(&d->roof_names[d->nroofs])};
        d->nroofs++;
        peak = fmax(peak, rate);
    }
    return peak;
}

/* Extend the roofs to the edge of the chart, and add the memory's roof up to the highest. */
static void fit_roofs(struct drawing *d, double peak)
{
    double bytes_per_s = d->table->seconds.hardware->memory_bytes_per_s / TERA;
    double from = fmax(d->x.low, d->y.low / bytes_per_s);

    for (size_t i = 0; i < d->nroofs; i++)
        d->roofs[i].x[1] = d->x.high;
    text_addf(&d->roof_names[SHD_NDTYPES], "memory %.4g GB/s",
              d->table->seconds.hardware->memory_bytes_per_s * 1e-9);
    d->roofs[d->nroofs++] = (struct points_roof){.x = {from, peak / bytes_per_s},
                                                 .y = {from * bytes_per_s, peak},
                                                 .name = text_get(&d->roof_names[SHD_NDTYPES])};
}

static void draw(struct text *out, struct drawing *d, int32_t position)
{
    static const char *const phases[] = {"forward", "backward",
                                         "optimizer", [AGAIN] = "forward, recomputed"};
    const struct hardware *h = d->table->seconds.hardware;
    struct text title = TEXT_INIT, shown = TEXT_INIT;
    const char *notes[2];
    struct points drawing = {.points = d->points,
                             .npoints = d->n,
                             .roofs = d->roofs,
                             .nroofs = d->nroofs,
                             .colours = phases,
                             .ncolours = sizeof phases / sizeof phases[0],
                             .x = d->x,
                             .y = d->y,
                             .notes = notes,
                             .nnotes = 2};

    text_addf(&title, "Ops of device %" PRId32 " under the roofs of %s", position, h->name);
    text_addf(&shown,
              "Shown: %.1f %% of the time of all ops; not shown: transfers between devices, and "
              "ops below %g flops/byte.",
              100 * d->shown_s / d->table->all_s, INTENSITY_LEAST);
    notes[0] = "A disc is a group of equal ops, e.g. of equal layers; its area is their share of "
               "the time. Left of a ridge kernels are memory-bound, right of it compute-bound.";
    notes[1] = text_get(&shown);
    drawing.title = text_get(&title);
    points_draw_svg(&drawing, out);
    out->failed |= title.failed || shown.failed;
    text_fini(&title);
    text_fini(&shown);
}

static void drawing_fini(struct drawing *d)
{
    for (size_t i = 0; d->names && i < NAMED_MAX; i++)
        text_fini(&d->names[i]);
    for (size_t i = 0; i <= SHD_NDTYPES; i++)
        text_fini(&d->roof_names[i]);
    free(d->names);
    free(d->points);
}

static int draw_table(struct text *out, const struct roofline_table *table, int32_t position,
                      struct shd_error *err)
{
    struct drawing d = {.table = table};
    double peak;
    int status = SHD_OK;

    d.points = calloc((size_t)table->nlines + 1, sizeof *d.points);
    d.names = calloc(NAMED_MAX, sizeof *d.names);
    out->failed |= !d.points || !d.names;
    find_fastest(&d);
    if (!out->failed)
        add_points(&d);
    peak = add_roofs(&d);
    if (!out->failed && (d.n == 0 || peak <= 0))
        status = shd_error_set(err, SHD_ERANGE, "no op of this device reaches %g flops/byte",
                               INTENSITY_LEAST);
    if (!out->failed && status == SHD_OK) {
        set_axes(&d, peak);
        fit_roofs(&d, peak);
        draw(out, &d, position);
    }
    for (size_t i = 0; d.names && i < NAMED_MAX; i++)
        out->failed |= d.names[i].failed;
    for (size_t i = 0; i <= SHD_NDTYPES; i++)
        out->failed |= d.roof_names[i].failed;
    drawing_fini(&d);
    return status == SHD_OK && out->failed
               ? shd_error_set(err, SHD_ENOMEM, "no memory for the picture")
               : status;
}

int roofline_picture(const struct program *program, const struct hardware *hardware,
                     int32_t position, struct text *out, struct shd_error *err)
{
    struct roofline_table t;
    int status = roofline_table_init(&t, program, hardware, position, err);

    if (status != SHD_OK)
        return status;
    status = draw_table(out, &t, position, err);
    roofline_table_fini(&t);
    return status;
}
