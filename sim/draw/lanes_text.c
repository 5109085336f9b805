/* Timelines for the terminal.
 *
 * A lane is painted into cells, one for each column of time, and then cut into bands.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "draw/lanes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/wrap.h"
#include "draw/colour.h"

#define LINES_MAX 48    /* of all bands with labels; larger drawings have none */
#define BANDS_MIN 4     /* bands always allowed, however many lanes there are */
#define COLUMNS_MIN 20  /* of a band, however narrow the screen */
#define TICK_COLUMNS 10 /* least distance of ticks */

/* A column of a lane. */
struct cell {
    char c;          /* 0: idle; '-': a bar that continues; ' ': the lane has ended */
    uint32_t number; /* of the bar */
};

/* The mapping of time to columns. */
struct layout {
    const struct lanes *lanes;
    const struct figure_style *style;
    double scale;   /* columns for a unit of time */
    size_t label;   /* columns before a lane */
    size_t band;    /* columns of a band */
    size_t columns; /* for all time */
    bool letters;   /* no room for numbers */
};

/* ---- width ---- */

static double length_of(const struct lanes_bar *bar)
{
    return (bar->end - bar->start) / (bar->part == LANES_WHOLE ? 1 : 2);
}

/* Columns for a unit of time so that every label and `spare` columns fit its bar. */
static double scale_for_labels(const struct lanes *lanes, size_t spare)
{
    char label[LANES_LABEL_MAX];
    double scale = 0;

    for (size_t i = 0; i < lanes->nbars; i++) {
        const struct lanes_bar *bar = &lanes->bars[i];

        if (bar->end > bar->start)
            scale = fmax(scale, (double)(strlen(lanes_label(label, bar)) + spare) / length_of(bar));
    }
    return scale;
}

static size_t bands_max(const struct lanes *lanes)
{
    size_t bands = LINES_MAX / ((size_t)lanes->nlanes + 2);

    return bands > BANDS_MIN ? bands : BANDS_MIN;
}

static void lay_out(struct layout *l)
{
    double end = lanes_end(l->lanes), wide;

    for (uint32_t i = 0; i < l->lanes->nlanes; i++)
        if (strlen(l->lanes->names[i]) + 2 > l->label)
            l->label = strlen(l->lanes->names[i]) + 2;
    l->band = l->style->width > l->label + COLUMNS_MIN ? l->style->width - l->label : COLUMNS_MIN;
    l->scale = scale_for_labels(l->lanes, 0);
    l->letters = end * l->scale > (double)(l->band * bands_max(l->lanes));
    if (l->letters)
        l->scale = (double)l->band / end;
    wide = scale_for_labels(l->lanes, 1);
    if (!l->letters && end * wide <= (double)l->band)
        l->scale = wide;
    l->columns = (size_t)lround(end * l->scale);
}

/* ---- lanes ---- */

static void paint(const struct layout *l, const struct lanes_bar *bar, struct cell *cells)
{
    char label[LANES_LABEL_MAX];
    double from = bar->start + (bar->part == LANES_LOWER ? length_of(bar) : 0);
    size_t begin = (size_t)lround(from * l->scale);
    size_t end = (size_t)lround((from + length_of(bar)) * l->scale), n;

    lanes_label(label, bar);
    n = l->letters || strlen(label) > end - begin ? 1 : strlen(label);
    for (size_t c = begin; c < end && c < l->columns; c++) {
        cells[c].c = l->letters ? bar->mark : c - begin < n ? label[c - begin] : '-';
        cells[c].number = bar->number;
    }
}

static void add_cell(struct text *out, const struct layout *l, const struct cell *cell)
{
    if (!cell->c) {
        text_add(out, l->style->ascii ? "." : "·");
        return;
    }
    if (l->style->colour && cell->c != ' ')
        text_addf(out, "\033[30;48;5;%dm", colour_terminal(colour_of((int32_t)cell->number)));
    if (cell->c == '-' && !l->style->ascii)
        text_add(out, "─");
    else
        text_add_char(out, cell->c);
    if (l->style->colour && cell->c != ' ')
        text_add(out, "\033[0m");
}

static void add_lane(struct text *out, const struct layout *l, uint32_t lane,
                     const struct cell *cells, size_t from)
{
    size_t begin, end = from + l->band < l->columns ? from + l->band : l->columns;
    const char *head = lanes_head_of(l->lanes, lane);

    if (head)
        wrap_add(out, l->style->width, 0, 2, head);
    begin = out->length;
    text_add(out, l->lanes->names[lane]);
    text_pad(out, begin, l->label);
    while (end > from && cells[end - 1].c == ' ')
        end--;
    for (size_t c = from; c < end; c++)
        add_cell(out, l, &cells[c]);
    text_add(out, "\n");
}

/* Print times above their columns; a time without room is left out. */
static void add_axis(struct text *out, const struct layout *l, size_t from)
{
    double end = lanes_end(l->lanes);
    double tick = lanes_tick(end, (double)l->columns / TICK_COLUMNS);
    size_t begin = out->length;

    for (double k = 0; k * tick <= end; k++) {
        size_t at = (size_t)lround(k * tick * l->scale);

        if (at < from || at >= from + l->band || at > l->columns)
            continue;
        text_pad(out, begin, l->label + at - from);
        text_addf(out, "%.6g", k * tick);
    }
    text_add(out, "\n");
}

/* ---- the page ---- */

/* Mark the time after the end of a lane, which is not idle time. */
static void paint_ends(const struct layout *l, struct cell *cells)
{
    size_t end = l->columns;

    for (uint32_t i = 0; i < l->lanes->nlanes; i++) {
        if (lanes_head_of(l->lanes, i))
            end = (size_t)lround(lanes_end_beside(l->lanes, i) * l->scale);
        for (size_t c = end; c < l->columns; c++)
            cells[i * l->columns + c].c = ' ';
    }
}

/* Print all lanes in all bands, from cells[lane][column]. */
static void add_bands(struct text *out, const struct layout *l, struct cell *cells)
{
    for (size_t i = 0; i < l->lanes->nbars; i++)
        paint(l, &l->lanes->bars[i], cells + l->lanes->bars[i].lane * l->columns);
    paint_ends(l, cells);
    for (size_t from = 0; from < l->columns; from += l->band) {
        text_add(out, "\n");
        add_axis(out, l, from);
        for (uint32_t i = 0; i < l->lanes->nlanes; i++)
            add_lane(out, l, i, cells + i * l->columns, from);
    }
}

static void add_keys(struct text *out, const struct layout *l)
{
    struct text keys = TEXT_INIT;

    for (size_t i = 0; i < l->lanes->nkeys; i++)
        text_addf(&keys, "%c %s, ", l->lanes->keys[i].mark, l->lanes->keys[i].desc);
    text_addf(&keys, "%s idle", l->style->ascii ? "." : "·");
    wrap_add(out, l->style->width, 0, 0, text_get(&keys));
    text_drop(out, &keys);
}

void lanes_draw_text(const struct lanes *lanes, const struct figure_style *style, struct text *out)
{
    struct layout l = {.lanes = lanes, .style = style};
    struct cell *cells;

    wrap_add(out, style->width, 0, 0, lanes->title);
    if (lanes_end(lanes) > 0) {
        lay_out(&l);
        cells = calloc(lanes->nlanes * l.columns + 1, sizeof *cells);
        if (cells)
            add_bands(out, &l, cells);
        out->failed |= !cells;
        free(cells);
        text_add(out, "\n");
        add_keys(out, &l);
    }
    for (size_t i = 0; i < lanes->nnotes; i++)
        wrap_add(out, style->width, 0, 0, lanes->notes[i]);
}
