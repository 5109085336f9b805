/* Pictures of searches (search_picture.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "search/search_picture.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/units.h"
#include "draw/points.h"

#define GIB 1073741824.0
#define PLANS_SHOWN 500 /* by step */
#define NAMED_MAX 10    /* of the front, from the best on */

/* An axis that extends a little beyond all values. */
static struct points_axis axis_of(const char *what, double low, double high)
{
    double room = high > low ? 0.08 * (high - low) : 0.1 * high;

    return (struct points_axis){.what = what, .low = fmax(low - room, 0), .high = high + room};
}

/* ---- the front ---- */

struct front {
    struct points_point *points;
    struct text *names;
    size_t n;
};

/* "1.55 s, 71.1 GiB: t1 p1 d1024 ..." */
static void add_name(struct text *out, const struct search *s, const struct search_plan *plan)
{
    text_addf(out, "%s, %s: ", units_print_seconds(plan->plan.figures.step_s).text,
              units_print_bytes((uint128)plan->plan.figures.memory_bytes).text);
    space_print(out, &s->items[plan->item].layout);
}

static void mark_front(struct front *f, const struct search *s, const size_t *ranks, size_t n)
{
    for (size_t k = 0; k < n && ranks[k] < f->n; k++) {
        struct points_point *point = &f->points[ranks[k]];

        point->marked = true;
        if (k >= NAMED_MAX)
            continue;
        add_name(&f->names[ranks[k]], s, &s->plans[s->best[ranks[k]]]);
        point->name = text_get(&f->names[ranks[k]]);
    }
}

static bool fill_front(struct front *out, const struct search *s)
{
    size_t *ranks = calloc(s->nbest, sizeof *ranks);

    out->n = s->nbest < PLANS_SHOWN ? s->nbest : PLANS_SHOWN;
    out->points = calloc(out->n, sizeof *out->points);
    out->names = calloc(out->n, sizeof *out->names);
    if (ranks && out->points && out->names) {
        for (size_t k = 0; k < out->n; k++) {
            const struct modelled_figures *f = &s->plans[s->best[k]].plan.figures;

            out->points[k] = (struct points_point){.x = f->memory_bytes / GIB, .y = f->step_s};
        }
        mark_front(out, s, ranks, outcome_front(ranks, s));
    }
    free(ranks);
    return ranks && out->points && out->names;
}

static void set_axes(struct points *out, const struct front *front)
{
    double low_x = INFINITY, high_x = 0, low_y = INFINITY, high_y = 0;

    for (size_t k = 0; k < front->n; k++) {
        low_x = fmin(low_x, front->points[k].x);
        high_x = fmax(high_x, front->points[k].x);
        low_y = fmin(low_y, front->points[k].y);
        high_y = fmax(high_y, front->points[k].y);
    }
    out->x = axis_of("memory of a device, GiB", low_x, high_x);
    out->y = axis_of("step, s", low_y, high_y);
}

static void draw_front(struct text *out, const struct search_outcome *outcome,
                       const struct front *front)
{
    const struct search *s = outcome->search;
    const struct modelled_figures *best = &s->plans[s->best[0]].plan.figures;
    double error = s->within_s == 0 ? outcome->error : 0;
    const char *notes[] = {"Filled: no planned layout is both faster and smaller, by the digits "
                           "shown. Pruning leaves only layouts near the best.",
                           NULL, "Shaded: ties with the best, within the model's error."};
    struct points points = {.points = front->points,
                            .npoints = front->n,
                            .steps = true,
                            .band_low = best->step_s,
                            .band_high = best->step_s * (1 + error),
                            .notes = notes,
                            .nnotes = error > 0 ? 3 : 2};
    struct text title = TEXT_INIT, key = TEXT_INIT;

    text_add(&key, "Letters: ");
    space_print_key(&key);
    notes[1] = text_get(&key);
    text_addf(&title, "Layouts on %" PRId64 " devices of %s", s->subject->space.devices,
              s->subject->hardware->name);
    points.title = text_get(&title);
    set_axes(&points, front);
    points_draw_svg(&points, out);
    out->failed |= title.failed || key.failed;
    text_fini(&title);
    text_fini(&key);
}

void search_picture_front(struct text *out, const struct search_outcome *outcome)
{
    struct front front = {.n = 0};

    if (fill_front(&front, outcome->search))
        draw_front(out, outcome, &front);
    else
        out->failed = true;
    for (size_t k = 0; k < front.n && front.names; k++)
        text_fini(&front.names[k]);
    free(front.points);
    free(front.names);
}

/* ---- scaling ---- */

/* From a power of two at or below the first value to one at or above the last. */
static struct points_axis doublings_of(const char *what, double first, double last)
{
    return (struct points_axis){.what = what,
                                .low = exp2(floor(log2(first))),
                                .high = exp2(ceil(log2(last > first ? last : 2 * first))),
                                .logarithmic = true};
}

void search_picture_scaling(struct text *out, const char *hardware, const double *devices,
                            const double *tokens_per_s, size_t n)
{
    static const char *const notes[] = {
        "The best layout of each device count, modelled; both axes are logarithmic.",
        "Dashed: linear scaling from the smallest count."};
    struct points_point *points = calloc(n, sizeof *points);
    struct text title = TEXT_INIT;
    struct points drawing = {.points = points,
                             .npoints = n,
                             .ideal = true,
                             .notes = notes,
                             .nnotes = sizeof notes / sizeof notes[0]};
    double most = 0;

    for (size_t i = 0; points && i < n; i++) {
        points[i] = (struct points_point){.x = devices[i], .y = tokens_per_s[i], .marked = true};
        most = fmax(most, tokens_per_s[i]);
    }
    text_addf(&title, "Throughput on devices of %s", hardware);
    if (points && !title.failed) {
        drawing.title = text_get(&title);
        drawing.x = doublings_of("devices", devices[0], devices[n - 1]);
        drawing.y = doublings_of("tokens/s", tokens_per_s[0],
                                 fmax(most, tokens_per_s[0] * devices[n - 1] / devices[0]));
        points_draw_svg(&drawing, out);
    } else {
        out->failed = true;
    }
    text_fini(&title);
    free(points);
}
