/* lanes.h - a timeline: a lane for each actor, with bars along time and idle time between.
 *
 * Bars with the same number have the same colour in all lanes, so that the eye can follow a number.
 * Text and SVG show the same.
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

/* Tone of a bar's colour, to distinguish kinds of work on the same number; a bar without room for
 * its letter has a pattern too. */
enum lanes_tone { LANES_LIGHT, LANES_MIDDLE, LANES_DARK, LANES_HATCHED };

/* Two simultaneous bars share the lane. */
enum lanes_part { LANES_WHOLE, LANES_UPPER, LANES_LOWER };

struct lanes_bar {
    uint32_t lane;
    char mark;       /* a letter for the kind of work; the label is the letter and the number:
                        "F3" */
    uint8_t tone;    /* enum lanes_tone */
    uint8_t part;    /* enum lanes_part */
    uint32_t number; /* below 2^31 */
    int32_t stage;   /* printed after the label, "F3.4", or below; -1: only one stage */
    double start, end;
};

struct lanes_key {
    char mark;
    enum lanes_tone tone;
    const char *desc;
};

/* A heading above a lane.  It begins a group of lanes, up to the next heading, which end together.
 */
struct lanes_head {
    uint32_t lane;
    const char *text;
};

/* All pointers are the caller's. */
struct lanes {
    const char *title;
    const struct lanes_head *heads; /* by lane; none if there is only one group */
    size_t nheads;
    uint32_t nlanes;
    const char *const *names;     /* [nlanes] */
    const struct lanes_bar *bars; /* by lane, then by start; at most LANES_BARS_MAX */
    size_t nbars;
    const struct lanes_key *keys; /* meanings of the marks */
    size_t nkeys;
    const char *const *notes; /* sentences below the drawing */
    size_t nnotes;
};

/* Draw for a terminal, a line for each lane.  Long times continue in further bands; if more than a
 * few bands were needed, a single one shows letters without numbers. */
void lanes_draw_text(const struct lanes *lanes, const struct figure_style *style, struct text *out);

/* Draw as an SVG document. */
void lanes_draw_svg(const struct lanes *lanes, struct text *out);

/* When the last bar ends. */
double lanes_end(const struct lanes *lanes);

/* When the last bar in a lane's group ends. */
double lanes_end_beside(const struct lanes *lanes, uint32_t lane);

/* The heading above a lane; NULL: none. */
const char *lanes_head_of(const struct lanes *lanes, uint32_t lane);

#define LANES_LABEL_MAX 24

/* Write the label of a bar into buf, "F3.4"; returns buf. */
const char *lanes_label(char buf[LANES_LABEL_MAX], const struct lanes_bar *bar);

/* The distance of ticks on a time axis with room for `room` ticks: 1, 2 or 5 times a power of
 * ten. */
double lanes_tick(double end, double room);

#endif /* DRAW_LANES_H */
