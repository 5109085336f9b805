/* lanes.h - a drawing of who does what when: a lane for each, bars along time, idle time between.
 *
 * Bars of a number have the colour of it in all lanes, so that the eye can follow one through.  The
 * same is drawn as text and as SVG.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef DRAW_LANES_H
#define DRAW_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "draw/figure.h"

#define LANES_BARS_MAX 65536 /* of one drawing; no eye sees more */

/* How a bar's colour is drawn, to tell kinds of work on the same number. */
enum lanes_tone { LANES_LIGHT, LANES_MIDDLE, LANES_DARK, LANES_HATCHED };

/* Two bars at the same time share the lane. */
enum lanes_part { LANES_WHOLE, LANES_UPPER, LANES_LOWER };

struct lanes_bar {
    uint32_t lane;
    char mark;       /* a letter for the kind of work; the label is it and the number: "F3" */
    uint8_t tone;    /* enum lanes_tone */
    uint8_t part;    /* enum lanes_part */
    uint32_t number; /* below 2^31 */
    int32_t stage;   /* behind the label, "F3.4", or below it; -1: all are of one */
    double start, end;
};

struct lanes_key {
    char mark;
    enum lanes_tone tone;
    const char *desc;
};

/* A line above a lane, from which on lanes belong together until the next one: they end together.
 */
struct lanes_head {
    uint32_t lane;
    const char *text;
};

/* All pointers are the caller's. */
struct lanes {
    const char *title;
    const struct lanes_head *heads; /* by lane; none where all belong together */
    size_t nheads;
    uint32_t nlanes;
    const char *const *names;     /* [nlanes] */
    const struct lanes_bar *bars; /* by lane, and by start in a lane; at most LANES_BARS_MAX */
    size_t nbars;
    const struct lanes_key *keys; /* what the marks mean */
    size_t nkeys;
    const char *const *notes; /* sentences below the drawing */
    size_t nnotes;
};

/* Draw for a terminal, a line a lane; what is too long goes on in further bands, and what would
 * need more than a few of them is drawn in one, by letters without numbers. */
void lanes_draw_text(const struct lanes *lanes, const struct figure_style *style, struct text *out);

/* Draw as an SVG document. */
void lanes_draw_svg(const struct lanes *lanes, struct text *out);

/* When the last bar ends. */
double lanes_end(const struct lanes *lanes);

/* The same of the lanes that belong together with one. */
double lanes_end_beside(const struct lanes *lanes, uint32_t lane);

/* What stands above a lane; NULL: nothing. */
const char *lanes_head_of(const struct lanes *lanes, uint32_t lane);

#define LANES_LABEL_MAX 24

/* The label of a bar into buf, "F3.4"; returns buf. */
const char *lanes_label(char buf[LANES_LABEL_MAX], const struct lanes_bar *bar);

/* The distance of marks on an axis of time on which `room` of them, or fewer, have place: 1, 2 or 5
 * times a power of ten. */
double lanes_tick(double end, double room);

#endif /* DRAW_LANES_H */
