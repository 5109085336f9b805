/* Tests draw/colour.h: colours that must be told apart differ enough for eyes of every kind, and
 * text and lines stand out from what is behind them, on light and dark pages.
 *
 * Distances are CIEDE2000 (Sharma, Wu, Dalal: The CIEDE2000 color-difference formula, 2005), of
 * colours as each kind of eye sees them: the matrices for linear RGB at severity 1 of Machado,
 * Oliveira, Fernandes: A physiologically-based model for simulation of color vision deficiency,
 * 2009; and as greys of equal luminance.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <stddef.h>

#include "draw/colour.h"
#include "../support/tap.h"

static const double pi = 3.14159265358979323846;

static const struct eye {
    const char *name;
    double rgb[3][3];
    double any, next; /* least distance of any two, and of two that follow each other */
} eyes[] = {
    {"all cones", {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, 13, 15},
    {"protanopia",
     {{0.152286, 1.052583, -0.204868},
      {0.114503, 0.786281, 0.099216},
      {-0.003882, -0.048116, 1.051998}},
     7,
     10},
    {"deuteranopia",
     {{0.367322, 0.860646, -0.227968},
      {0.280085, 0.672501, 0.047413},
      {-0.011820, 0.042940, 0.968881}},
     7,
     10},
    {"tritanopia",
     {{1.255528, -0.076749, -0.178779},
      {-0.078411, 0.930809, 0.147602},
      {0.004733, 0.691367, 0.303900}},
     7,
     10},
    {"grey", {{0.2126, 0.7152, 0.0722}, {0.2126, 0.7152, 0.0722}, {0.2126, 0.7152, 0.0722}}, 3, 7},
};
#define NEYES (sizeof eyes / sizeof eyes[0])

struct lab {
    double l, a, b;
};

static double linear(uint8_t channel)
{
    double c = channel / 255.0;

    return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
}

static double root(double t)
{
    return t > 216.0 / 24389 ? cbrt(t) : (24389.0 / 27 * t + 16) / 116;
}

/* A colour as an eye sees it, in CIELAB with the white of sRGB, D65. */
static struct lab seen(struct colour colour, const struct eye *eye)
{
    double in[3] = {linear(colour.red), linear(colour.green), linear(colour.blue)}, rgb[3], x, y, z;

    for (int i = 0; i < 3; i++) {
        rgb[i] = eye->rgb[i][0] * in[0] + eye->rgb[i][1] * in[1] + eye->rgb[i][2] * in[2];
        rgb[i] = fmin(fmax(rgb[i], 0), 1);
    }
    x = root((0.4124564 * rgb[0] + 0.3575761 * rgb[1] + 0.1804375 * rgb[2]) / 0.95047);
    y = root(0.2126729 * rgb[0] + 0.7151522 * rgb[1] + 0.0721750 * rgb[2]);
    z = root((0.0193339 * rgb[0] + 0.1191920 * rgb[1] + 0.9503041 * rgb[2]) / 1.08883);
    return (struct lab){116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

/* An angle in degrees, from 0 on. */
static double hue(double a, double b)
{
    double h = atan2(b, a) * 180 / pi;

    return h < 0 ? h + 360 : h;
}

static double cosine(double degrees)
{
    return cos(degrees * pi / 180);
}

/* Sharma et al., equations 2 to 22, with all weights 1. */
static double distance(struct lab p, struct lab q)
{
    double c7 = pow((hypot(p.a, p.b) + hypot(q.a, q.b)) / 2, 7), g, c1, c2, h1, h2, dh, mean, t;
    double l50, c, rotation, sl, sc, sh, dl, dc, dhue;

    g = 1 + 0.5 * (1 - sqrt(c7 / (c7 + 6103515625.0)));
    c1 = hypot(g * p.a, p.b);
    c2 = hypot(g * q.a, q.b);
    h1 = hue(g * p.a, p.b);
    h2 = hue(g * q.a, q.b);
    dh = h2 - h1;
    mean = (h1 + h2) / 2;
    if (c1 * c2 == 0) {
        dh = 0;
        mean = h1 + h2;
    } else if (fabs(dh) > 180) {
        dh += dh > 0 ? -360 : 360;
        mean += mean < 180 ? 180 : -180;
    }
    t = 1 - 0.17 * cosine(mean - 30) + 0.24 * cosine(2 * mean) + 0.32 * cosine(3 * mean + 6) -
        0.20 * cosine(4 * mean - 63);
    l50 = pow((p.l + q.l) / 2 - 50, 2);
    c = (c1 + c2) / 2;
    c7 = pow(c, 7);
    rotation =
        -2 * sqrt(c7 / (c7 + 6103515625.0)) * sin(60 * exp(-pow((mean - 275) / 25, 2)) * pi / 180);
    sl = 1 + 0.015 * l50 / sqrt(20 + l50);
    sc = 1 + 0.045 * c;
    sh = 1 + 0.015 * c * t;
    dl = (q.l - p.l) / sl;
    dc = (c2 - c1) / sc;
    dhue = 2 * sqrt(c1 * c2) * sin(dh / 2 * pi / 180) / sh;
    return sqrt(dl * dl + dc * dc + dhue * dhue + rotation * dc * dhue);
}

/* Pairs of the article's table 1: of its cases, those that go through each branch. */
static void test_distance(void)
{
    static const struct {
        struct lab a, b;
        double want;
    } pairs[] = {
        {{50, 2.6772, -79.7751}, {50, 0, -82.7485}, 2.0425},
        {{50, 0, 0}, {50, -1, 2}, 2.3669},
        {{50, 2.49, -0.001}, {50, -2.49, 0.0011}, 7.2195},
        {{50, 2.5, 0}, {61, -5, 29}, 22.8977},
        {{22.7233, 20.0904, -46.6940}, {23.0331, 14.9730, -42.5619}, 2.0373},
        {{90.9257, -0.5406, -0.9208}, {88.6381, -0.8985, -0.7239}, 1.5381},
    };

    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        ok(fabs(distance(pairs[i].a, pairs[i].b) - pairs[i].want) < 5e-5, "distance: %.4f",
           pairs[i].want);
}

typedef struct colour (*colour_fn)(int number, enum colour_page page);

static struct colour box(int number, enum colour_page page)
{
    (void)page;
    return colour_of(number);
}

static struct colour line(int number, enum colour_page page)
{
    return colour_line(number, page);
}

static const struct palette {
    const char *name;
    colour_fn colour;
    int n;
    double contrast; /* with the page at least, 0: it has a border */
    double times;    /* at least the distance in eyes[] apart */
} palettes[] = {
    {"boxes", box, COLOURS, 0, 1},
    {"lines", line, COLOURS, 3, 1},
    {"phases", colour_phase, COLOUR_PHASES, 3, 1.8},
};

/* No two colours that a legend explains are alike to any eye. */
static void test_apart(const struct palette *p, enum colour_page page)
{
    for (size_t e = 0; e < NEYES; e++) {
        double any = INFINITY, next = INFINITY;

        for (int i = 0; i < p->n; i++)
            for (int j = 0; j < i; j++) {
                double d = distance(seen(p->colour(i, page), &eyes[e]),
                                    seen(p->colour(j, page), &eyes[e]));

                any = fmin(any, d);
                next = j + 1 == i ? fmin(next, d) : next;
            }
        ok(any >= p->times * eyes[e].any && next >= p->times * eyes[e].next,
           "%s, %s page, %s: apart by %.1f, neighbours by %.1f", p->name,
           page == COLOUR_LIGHT ? "light" : "dark", eyes[e].name, any, next);
    }
}

/* Lines and bars without a border stand out from the page (WCAG 2.2, 1.4.11), also to those who
 * see less of a colour. */
static void test_on_page(const struct palette *p, enum colour_page page)
{
    double least = INFINITY;

    for (int i = 0; i < p->n; i++)
        least = fmin(least, colour_contrast(p->colour(i, page), colour_paper(page)));
    ok(least >= p->contrast, "%s, %s page: contrast %.2f with it", p->name,
       page == COLOUR_LIGHT ? "light" : "dark", least);
}

/* The text on boxes can be read (WCAG 2.2, 1.4.3), on all their tones. */
static void test_text(void)
{
    static const struct colour text = {0x11, 0x11, 0x11};
    double least = INFINITY;

    for (int i = 0; i < 4 * COLOURS; i++)
        least = fmin(least, colour_contrast(colour_of(i), text));
    ok(least >= 4.5, "boxes: contrast %.2f with their text", least);
    least = INFINITY;
    for (int percent = 0; percent <= 100; percent++)
        least = fmin(least, colour_contrast(colour_shade(percent / 100.0), text));
    ok(least >= 4.5, "shades: contrast %.2f with their text", least);
    for (int page = 0; page < COLOUR_PAGES; page++) {
        least = INFINITY;
        for (int level = 0; level < COLOUR_HEATS; level++) {
            struct colour heat = colour_heat(level, (enum colour_page)page);

            least = fmin(least, colour_contrast(heat, colour_ink(heat)));
        }
        ok(least >= 4.5, "heat map: contrast %.2f with its text", least);
    }
}

/* More is darker on a light page and lighter on a dark one, to every eye, and each level a step. */
static void test_heat(enum colour_page page)
{
    for (size_t e = 0; e < NEYES; e++) {
        double least = INFINITY;
        bool rises = true;

        for (int level = 1; level < COLOUR_HEATS; level++) {
            struct lab less = seen(colour_heat(level - 1, page), &eyes[e]);
            struct lab more = seen(colour_heat(level, page), &eyes[e]);

            rises &= (more.l > less.l) == (page == COLOUR_DARK);
            least = fmin(least, distance(less, more));
        }
        ok(rises && least >= 3, "heat map, %s page, %s: levels apart by %.1f",
           page == COLOUR_LIGHT ? "light" : "dark", eyes[e].name, least);
    }
}

int main(void)
{
    plan(0);
    test_distance();
    test_text();
    for (int page = 0; page < COLOUR_PAGES; page++) {
        for (size_t i = 0; i < sizeof palettes / sizeof palettes[0]; i++) {
            test_apart(&palettes[i], (enum colour_page)page);
            test_on_page(&palettes[i], (enum colour_page)page);
        }
        test_heat((enum colour_page)page);
    }
    return done();
}
