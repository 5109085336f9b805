/* Building figures (figure.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "draw/figure.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/escape.h"

void figure_init(struct figure *figure)
{
    *figure = (struct figure){.title = ""};
}

void figure_fini(struct figure *figure)
{
    for (size_t g = 0; g < figure->ngrids; g++) {
        free(figure->grids[g].row_labels);
        free(figure->grids[g].column_labels);
        free(figure->grids[g].cells);
    }
    for (size_t c = 0; c < figure->ncircles; c++)
        free(figure->circles[c].arrows);
    free(figure->circles);
    for (size_t s = 0; s < figure->nstrings; s++)
        free(figure->strings[s]);
    free(figure->strings);
    free(figure->notes);
    free(figure->grids);
    free(figure->parts);
    figure_init(figure);
}

/* Make room for one more item of `size` bytes after `n`. */
static bool grow(struct figure *f, void *list, size_t n, size_t size)
{
    f->failed = f->failed || !array_make_room(list, n, size);
    return !f->failed;
}

const char *figure_print(struct figure *figure, const char *fmt, ...)
{
    struct text text = TEXT_INIT;
    va_list args;
    char *string;

    if (!grow(figure, &figure->strings, figure->nstrings, sizeof *figure->strings))
        return "";
    text_add(&text, "");
    va_start(args, fmt);
    text_addv(&text, fmt, args);
    va_end(args);
    escape_from(&text, 0);
    string = text_take(&text);
    if (!string) {
        figure->failed = true;
        return "";
    }
    figure->strings[figure->nstrings++] = string;
    return string;
}

void figure_add_key(struct figure *figure, const char *name, int32_t colour)
{
    if (figure->nkeys < FIGURE_KEYS_MAX)
        figure->keys[figure->nkeys++] = (struct figure_key){name, colour};
}

struct colour figure_colour(int32_t colour)
{
    return colour < FIGURE_PLAIN ? colour_shade((FIGURE_SHADE(0) - colour) / 100.0)
                                 : colour_of(colour);
}

void figure_add_note(struct figure *figure, const char *note)
{

    if (!grow(figure, &figure->notes, figure->nnotes, sizeof *figure->notes))
        return;
    figure->notes[figure->nnotes++] = note;
}

struct figure_grid *figure_add_grid(struct figure *figure, uint32_t nrows, uint32_t ncolumns)
{
    struct figure_grid grid = {"",   "",   "",    nrows, ncolumns,    NULL,
                               NULL, NULL, false, 0,     {"", "", ""}};

    if (!grow(figure, &figure->grids, figure->ngrids, sizeof *figure->grids))
        return NULL;
    grid.row_labels = calloc((size_t)nrows + 1, sizeof *grid.row_labels);
    grid.column_labels = calloc((size_t)ncolumns + 1, sizeof *grid.column_labels);
    grid.cells = calloc((size_t)nrows * ncolumns + 1, sizeof *grid.cells);
    figure->grids[figure->ngrids++] = grid;
    if (grid.row_labels && grid.column_labels && grid.cells)
        return &figure->grids[figure->ngrids - 1];
    figure->grids[figure->ngrids - 1].nrows = 0;
    figure->failed = true;
    return NULL;
}

struct figure_cell *figure_cell(struct figure *figure, struct figure_grid *grid, uint32_t row,
                                uint32_t column)
{
    struct figure_cell *cell = &grid->cells[(size_t)row * grid->ncolumns + column];

    cell->first = (uint32_t)figure->nparts;
    return cell;
}

void figure_add_part(struct figure *figure, struct figure_cell *cell, int32_t colour,
                     const char *text)
{

    if (!grow(figure, &figure->parts, figure->nparts, sizeof *figure->parts))
        return;
    figure->parts[figure->nparts++] = (struct figure_part){text, colour};
    cell->nparts++;
}

struct figure_circle *figure_add_circle(struct figure *figure, const char *title, uint32_t nmembers)
{

    if (!grow(figure, &figure->circles, figure->ncircles, sizeof *figure->circles))
        return NULL;
    figure->circles[figure->ncircles] =
        (struct figure_circle){.title = title, .nmembers = nmembers};
    return &figure->circles[figure->ncircles++];
}

void figure_add_arrow(struct figure *figure, struct figure_circle *circle, uint32_t from,
                      uint32_t to)
{

    if (!grow(figure, &circle->arrows, circle->narrows, sizeof *circle->arrows))
        return;
    circle->arrows[circle->narrows++] = (struct figure_arrow){from, to};
}
