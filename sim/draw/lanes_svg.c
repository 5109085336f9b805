/* Lanes as SVG.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "draw/lanes.h"

#include <math.h>
#include <string.h>

#include "draw/colour.h"
#include "draw/svg.h"

/* Lengths are pixels of the picture, for text of 12 px. */
#define LANE_HEIGHT 26
#define LANE_GAP 4
#define CHART_MIN 480
#define CHART_MAX 2400 /* bars that are too narrow then have no labels */
#define TICK_WIDTH 60  /* between marks of the axis, at least */
#define KEY_WIDTH 20

struct layout {
    const struct lanes *lanes;
    double left, top; /* of the first lane */
    double scale;     /* pixels of a unit of time */
    double end;       /* of time */
};

static double label_width(const struct lanes_bar *bar)
{
    char label[LANES_LABEL_MAX];

    return (double)strlen(lanes_label(label, bar)) * SVG_CHAR_WIDTH + 4;
}

static void lay_out(struct layout *l, const struct lanes *lanes)
{
    size_t longest = 0;

    *l = (struct layout){.lanes = lanes, .end = lanes_end(lanes)};
    for (uint32_t i = 0; i < lanes->nlanes; i++)
        longest = strlen(lanes->names[i]) > longest ? strlen(lanes->names[i]) : longest;
    l->left = SVG_MARGIN + (double)longest * SVG_CHAR_WIDTH + 8;
    l->top = SVG_MARGIN + 2 * SVG_LINE_HEIGHT;
    for (size_t i = 0; i < lanes->nbars; i++) {
        const struct lanes_bar *bar = &lanes->bars[i];

        if (bar->end > bar->start)
            l->scale = fmax(l->scale, label_width(bar) / (bar->end - bar->start));
    }
    if (l->end > 0)
        l->scale = fmin(fmax(l->scale, CHART_MIN / l->end), CHART_MAX / l->end);
}

static double lane_y(const struct layout *l, uint32_t lane)
{
    return l->top + lane * (double)(LANE_HEIGHT + LANE_GAP);
}

/* ---- bars ---- */

static uint8_t darken(uint8_t channel, double by)
{
    return (uint8_t)lround(channel * by);
}

static struct colour toned(uint32_t number, enum lanes_tone tone)
{
    static const double factors[] = {1, 0.9, 0.78, 0.9};
    struct colour c = colour_of((int32_t)number);
    double by = factors[tone];

    return (struct colour){darken(c.red, by), darken(c.green, by), darken(c.blue, by)};
}

/* A bar's box, with what it is to be told by. */
static void add_box(struct text *out, double x, double y, double width, double height,
                    uint32_t number, enum lanes_tone tone)
{
    svg_box(out, x, y, width, height, toned(number, tone));
    if (tone == LANES_HATCHED)
        text_addf(out,
                  "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                  "fill=\"url(#hatch)\"/>\n",
                  x, y, width, height);
    text_addf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" class=\"e\"/>\n", x,
              y, width, height);
}

static void add_bar(struct text *out, const struct layout *l, const struct lanes_bar *bar)
{
    double x = l->left + bar->start * l->scale, y = lane_y(l, bar->lane);
    double width = (bar->end - bar->start) * l->scale;
    double height = bar->part == LANES_WHOLE ? LANE_HEIGHT : LANE_HEIGHT / 2.0;
    char label[LANES_LABEL_MAX];

    if (bar->part == LANES_LOWER)
        y += height;
    add_box(out, x, y, width, height, bar->number, bar->tone);
    if (label_width(bar) <= width + 0.5)
        svg_text(out, x + width / 2, y + height / 2 + 4, "c", "middle", lanes_label(label, bar));
}

/* ---- the page ---- */

static void add_lanes(struct text *out, const struct layout *l)
{
    for (uint32_t i = 0; i < l->lanes->nlanes; i++) {
        svg_text(out, l->left - 8, lane_y(l, i) + LANE_HEIGHT / 2.0 + 4, "l", "end",
                 l->lanes->names[i]);
        text_addf(out,
                  "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" fill=\"#f0f0f0\"/>\n",
                  l->left, lane_y(l, i), l->end * l->scale, LANE_HEIGHT);
    }
    for (size_t i = 0; i < l->lanes->nbars; i++)
        add_bar(out, l, &l->lanes->bars[i]);
}

static void add_axis(struct text *out, const struct layout *l, double y)
{
    double tick = lanes_tick(l->end, l->end * l->scale / TICK_WIDTH);
    struct text time = TEXT_INIT;

    for (double k = 0; k * tick <= l->end * (1 + 1e-9); k++) {
        double x = l->left + k * tick * l->scale;

        text_clear(&time);
        text_addf(&time, "%.6g", k * tick);
        text_addf(out, "<path class=\"b\" d=\"M%.1f %.1fv5\"/>\n", x, y);
        svg_text(out, x, y + SVG_LINE_HEIGHT, "l", "middle", text_get(&time));
    }
    out->failed |= time.failed;
    text_fini(&time);
}

/* What tones and marks mean, in one line from x on; returns where it ends. */
static double add_keys(struct text *out, const struct lanes *lanes, double x, double y)
{
    struct text words = TEXT_INIT;

    for (size_t i = 0; i <= lanes->nkeys; i++) {
        text_clear(&words);
        if (i < lanes->nkeys) {
            add_box(out, x, y - 11, KEY_WIDTH, 14, 0, lanes->keys[i].tone);
            text_addf(&words, "%c %s", lanes->keys[i].mark, lanes->keys[i].desc);
        } else {
            svg_box(out, x, y - 11, KEY_WIDTH, 14, (struct colour){0xf0, 0xf0, 0xf0});
            text_add(&words, "idle");
        }
        svg_text(out, x + KEY_WIDTH + 6, y, "n", "start", text_get(&words));
        x += KEY_WIDTH + 24 + (double)words.length * 6.8;
    }
    out->failed |= words.failed;
    text_fini(&words);
    return x;
}

void lanes_draw_svg(const struct lanes *lanes, struct text *out)
{
    struct text body = TEXT_INIT;
    struct layout l;
    double width, y;

    lay_out(&l, lanes);
    y = lane_y(&l, lanes->nlanes);
    width = l.left + l.end * l.scale + SVG_MARGIN;
    svg_widen(&width, lanes->title, 9.2);
    add_lanes(&body, &l);
    add_axis(&body, &l, y);
    y += 2.5 * SVG_LINE_HEIGHT;
    width = fmax(width, add_keys(&body, lanes, l.left, y) + SVG_MARGIN);
    y += 1.5 * SVG_LINE_HEIGHT;
    for (size_t i = 0; i < lanes->nnotes; i++, y += SVG_LINE_HEIGHT) {
        svg_widen(&width, lanes->notes[i], 6.8);
        svg_text(&body, SVG_MARGIN, y, "n", "start", lanes->notes[i]);
    }
    svg_begin(out, width, y + SVG_MARGIN / 2.0);
    text_add(out, "<style>.e{fill:none;stroke:#555;stroke-width:.7}</style>\n"
                  "<pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">"
                  "<path d=\"M0 6L6 0\" stroke=\"#fff\" stroke-width=\"1.5\"/></pattern>\n");
    svg_text(out, SVG_MARGIN, SVG_MARGIN + 10, "t", "start", lanes->title);
    text_add(out, text_get(&body));
    text_add(out, "</svg>\n");
    out->failed |= body.failed;
    text_fini(&body);
}
