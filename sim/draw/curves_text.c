/* Line charts as a table.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/wrap.h"
#include "draw/curves.h"

#define ROWS_MAX 20
#define COLUMN 10 /* least width of a column, in characters */
#define STEP_COLUMN 6
#define NOTE_COLUMNS 80 /* of the text below the table, whatever the terminal */

double curves_distance(const struct curves *curves, uint32_t series, uint32_t *step)
{
    double most = 0;

    *step = 0;
    for (uint32_t s = 0; s < curves->nsteps; s++) {
        double d = fabs(curves->series[series].values[s] - curves->series[0].values[s]);

        if (!(d > most) && !isnan(d))
            continue;
        most = d;
        *step = s;
        if (isnan(d))
            return d;
    }
    return most;
}

static int column(const struct curves *curves, uint32_t series)
{
    size_t length = strlen(curves->series[series].name) + 2;

    return length > COLUMN ? (int)length : COLUMN;
}

static void print_row(const struct curves *curves, uint32_t step, struct text *out)
{
    text_addf(out, "%*u", STEP_COLUMN, step);
    for (uint32_t i = 0; i < curves->nseries; i++)
        text_addf(out, "%*.5f", column(curves, i), curves->series[i].values[step]);
    text_add_char(out, '\n');
}

void curves_draw_text(const struct curves *curves, struct text *out)
{
    uint32_t every = (curves->nsteps + ROWS_MAX - 1) / ROWS_MAX, step;

    text_addf(out, "%s\n\n%*s", curves->title, STEP_COLUMN, "step");
    for (uint32_t i = 0; i < curves->nseries; i++)
        text_addf(out, "%*s", column(curves, i), curves->series[i].name);
    text_add_char(out, '\n');
    for (step = 0; step + 1 < curves->nsteps; step += every)
        print_row(curves, step, out);
    print_row(curves, curves->nsteps - 1, out);
    for (size_t i = 0; i < curves->nnotes; i++) {
        text_add(out, i ? "" : "\n");
        wrap_add(out, NOTE_COLUMNS, 0, 2, curves->notes[i]);
    }
}
