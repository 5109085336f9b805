/* Circles of members with arrows, as SVG (circle_svg.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "draw/circle_svg.h"

#include <math.h>
#include <stdio.h>

#include "draw/svg.h"

/* Lengths are pixels of the picture. */
#define MEMBER 14 /* radius of a member */
#define MEMBER_OF_MANY 10
#define APART 44  /* distance of neighbours' centres along the circle */
#define APART_OF_MANY 34
#define RADIUS_MIN 52
#define MANY 24 /* members */
#define HEAD 8   /* length of an arrow's head */
#define SIDE 3.5 /* distance between an arrow and its opposite */

struct place {
    double x, y;
};

static const double pi = 3.14159265358979323846;

static double member_radius(const struct figure_circle *c)
{
    return c->nmembers > MANY ? MEMBER_OF_MANY : MEMBER;
}

static double radius_of(const struct figure_circle *c)
{
    double apart = c->nmembers > MANY ? APART_OF_MANY : APART;

    return fmax(RADIUS_MIN, apart * c->nmembers / (2 * pi));
}

double circle_width(const struct figure_circle *circle)
{
    return fmax(2 * (radius_of(circle) + member_radius(circle)),
                svg_length(circle->title, SVG_CHAR_WIDTH));
}

double circle_height(const struct figure_circle *circle)
{
    return 2 * (radius_of(circle) + member_radius(circle)) + 1.5 * SVG_LINE_HEIGHT;
}

/* The centre of a member; clockwise from the top. */
static struct place place_of(const struct figure_circle *c, uint32_t member)
{
    double angle = 2 * pi * member / c->nmembers, radius = radius_of(c);

    return (struct place){radius * sin(angle), -radius * cos(angle)};
}

/* Draw an arrow from the edge of one member to that of another, slightly right of the straight
 * line. */
static void draw_arrow(const struct figure_circle *c, const struct figure_arrow *arrow,
                       struct place middle, struct text *out)
{
    struct place a = place_of(c, arrow->from), b = place_of(c, arrow->to);
    double length = hypot(b.x - a.x, b.y - a.y);
    double dx = (b.x - a.x) / length, dy = (b.y - a.y) / length, edge = member_radius(c) + 1;
    double x = middle.x + b.x - dx * edge - dy * SIDE;
    double y = middle.y + b.y - dy * edge + dx * SIDE;
    double foot_x = x - dx * HEAD, foot_y = y - dy * HEAD, half = HEAD * 0.4;

    text_addf(out, "<path class=\"b\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n",
              middle.x + a.x + dx * edge - dy * SIDE, middle.y + a.y + dy * edge + dx * SIDE,
              foot_x, foot_y);
    text_addf(out, "<path class=\"a\" d=\"M%.1f %.1fL%.1f %.1fL%.1f %.1fZ\"/>\n", x, y,
              foot_x - dy * half, foot_y + dx * half, foot_x + dy * half, foot_y - dx * half);
}

void circle_draw(const struct figure_circle *circle, double x, double y, struct text *out)
{
    double radius = radius_of(circle) + member_radius(circle);
    struct place middle = {x + radius, y + 1.5 * SVG_LINE_HEIGHT + radius};
    char name[16];

    svg_text(out, x, y + 13, "h", "start", circle->title);
    for (size_t i = 0; i < circle->narrows; i++)
        draw_arrow(circle, &circle->arrows[i], middle, out);
    for (uint32_t m = 0; m < circle->nmembers; m++) {
        struct place at = place_of(circle, m);
        struct colour colour = circle->plain ? colour_shade(0) : colour_of((int32_t)m);

        text_addf(out,
                  "<circle class=\"s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%g\" "
                  "fill=\"#%02x%02x%02x\"/>\n",
                  middle.x + at.x, middle.y + at.y, member_radius(circle), colour.red, colour.green,
                  colour.blue);
        snprintf(name, sizeof name, "%u", m);
        svg_text(out, middle.x + at.x, middle.y + at.y + 4, "c", "middle", name);
    }
}
