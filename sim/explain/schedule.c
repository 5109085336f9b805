/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "explain/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READS_TOLD 12 /* reads of one step told in words; of more, how many others there are */
#define NBUFFERS 3    /* IN, OUT, TMP */

/* What an element is: the members whose operands are in it, and which element of theirs it is. */
struct holding {
    uint32_t members; /* bits; 0: nothing yet */
    uint32_t element;
};

struct state {
    const struct coll_algo *algo;
    struct coll_shape shape;
    uint64_t size;            /* elements of each buffer, enough for any */
    struct holding *elements; /* [member][buffer][size] */
    uint32_t sources[SCHEDULE_MEMBERS_MAX];
    uint64_t received;   /* elements, in all steps so far */
    uint32_t alike_from; /* the step from which on all have the last circle's arrows */
};

static struct holding *buffer_of(struct state *s, uint32_t member, enum coll_buf buf)
{
    return s->elements + ((uint64_t)member * NBUFFERS + buf) * s->size;
}

static void apply(struct state *s, uint32_t member, const struct coll_move *m)
{
    const struct holding *from = buffer_of(s, m->peer, m->src) + m->src_at;
    struct holding *to = buffer_of(s, member, m->dst) + m->dst_at;

    for (uint64_t i = 0; i < m->count; i++) {
        if (m->act == COLL_ZERO)
            to[i] = (struct holding){0, 0};
        else if (m->act == COLL_COPY)
            to[i] = from[i];
        else
            to[i].members |= from[i].members;
    }
    if (m->peer != member && m->act != COLL_ZERO)
        s->received += m->count;
}

/* "a2", or for sums "a+b", "a..d". */
static const char *name_holding(struct figure *f, const struct state *s, const struct holding *h)
{
    const char *name = "";
    bool sums = s->algo->reduces;

    for (uint32_t m = 0; m < s->shape.nmembers; m++) {
        uint32_t last = m;

        if (!(h->members >> m & 1))
            continue;
        while (last + 1 < s->shape.nmembers && h->members >> (last + 1) & 1)
            last++;
        if (last > m + 1)
            name = figure_print(f, "%s%s%c..%c", name, *name ? "+" : "", (char)('a' + m),
                                (char)('a' + last));
        else
            name = figure_print(f, "%s%s%c%s", name, *name ? "+" : "", (char)('a' + m),
                                last > m ? figure_print(f, "+%c", (char)('a' + last)) : "");
        m = last;
    }
    return *name && !sums ? figure_print(f, "%s%u", name, h->element) : name;
}

/* A sum is coloured by how many operands are in it, anything else by the member it comes from. */
static int32_t colour_holding(const struct state *s, const struct holding *h)
{
    int32_t n = 0, lowest = FIGURE_PLAIN;

    for (uint32_t m = s->shape.nmembers; m-- > 0;)
        if (h->members >> m & 1) {
            n++;
            lowest = (int32_t)m;
        }
    if (n == 0)
        return FIGURE_PLAIN;
    return s->algo->reduces ? n - 1 : lowest;
}

static bool holds_any(struct state *s, enum coll_buf buf)
{
    for (uint32_t m = 0; m < s->shape.nmembers; m++)
        for (uint64_t i = 0; i < s->size; i++)
            if (buffer_of(s, m, buf)[i].members)
                return true;
    return false;
}

static void draw_state(struct figure *f, struct state *s, enum coll_buf buf, const char *title)
{
    uint64_t most = 0;
    struct figure_grid *grid;

    for (uint32_t m = 0; m < s->shape.nmembers; m++) {
        uint64_t n = buf == COLL_IN    ? coll_in_count(s->algo->kind, &s->shape, m)
                     : buf == COLL_OUT ? coll_out_count(s->algo->kind, &s->shape, m)
                                       : s->algo->tmp_count(&s->shape);

        most = n > most ? n : most;
    }
    if (most == 0 || !holds_any(s, buf))
        return;
    grid = figure_add_grid(f, s->shape.nmembers, (uint32_t)most);
    if (!grid)
        return;
    grid->title = title;
    grid->row_title = "member";
    grid->column_title = "element";
    for (uint32_t m = 0; m < s->shape.nmembers; m++) {
        grid->row_labels[m] = figure_print(f, "%u", m);
        for (uint32_t c = 0; c < most; c++) {
            const struct holding *h = &buffer_of(s, m, buf)[c];
            struct figure_cell *cell = figure_cell(f, grid, m, c);

            grid->column_labels[c] = figure_print(f, "%u", c);
            figure_add_part(f, cell, colour_holding(s, h), name_holding(f, s, h));
        }
    }
}

/* One line: which member reads what from which. */
static void tell_step(struct figure *f, const struct state *s, uint32_t step)
{
    static const char *const buffers[] = {"operand", "result", "passing"};
    const char *line = figure_print(f, "step %u:", step + 1);
    uint32_t told = 0, last = COLL_NOBODY;

    for (uint32_t m = 0; m < s->shape.nmembers; m++)
        for (uint32_t i = 0; i < s->algo->nmoves(&s->shape, m, step); i++) {
            struct coll_move mv;

            s->algo->move(&s->shape, m, step, i, &mv);
            if (mv.peer == m || mv.count == 0 || mv.act == COLL_ZERO || told++ >= READS_TOLD)
                continue;
            line = figure_print(f, "%s%s", line,
                                last == m             ? ", "
                                : last == COLL_NOBODY ? figure_print(f, " %u ", m)
                                                      : figure_print(f, "; %u ", m));
            line = figure_print(
                f, "%s%s %s[%u%s] of %u", line, mv.act == COLL_COPY ? "reads" : "adds",
                buffers[mv.src], (unsigned)mv.src_at,
                mv.count == 1 ? "" : figure_print(f, "-%u", (unsigned)(mv.src_at + mv.count - 1)),
                mv.peer);
            last = m;
        }
    if (told > READS_TOLD)
        line = figure_print(f, "%s, and %u more", line, told - READS_TOLD);
    figure_add_note(f, told ? figure_print(f, "%s.", line)
                            : figure_print(f, "%s nothing is received.", line));
}

static void add_arrows(struct figure *f, const struct state *s, struct figure_circle *circle,
                       uint32_t step)
{
    for (uint32_t m = 0; m < s->shape.nmembers; m++)
        for (uint32_t i = 0, last = COLL_NOBODY; i < s->algo->nmoves(&s->shape, m, step); i++) {
            struct coll_move move;

            s->algo->move(&s->shape, m, step, i, &move);
            if (move.peer == m || move.count == 0 || move.act == COLL_ZERO || move.peer == last)
                continue;
            figure_add_arrow(f, circle, move.peer, m);
            last = move.peer;
        }
}

static bool same_arrows(const struct figure_circle *a, const struct figure_circle *b)
{
    return a->narrows == b->narrows &&
           (a->narrows == 0 || !memcmp(a->arrows, b->arrows, a->narrows * sizeof *a->arrows));
}

/* Who sends to whom in a step; of steps in a row that are alike in one circle. */
static void draw_step(struct figure *f, struct state *s, uint32_t step)
{
    struct figure_circle *circle =
        figure_add_circle(f, figure_print(f, "sends, step %u", step + 1), s->shape.nmembers);

    if (!circle)
        return;
    add_arrows(f, s, circle, step);
    if (f->ncircles > 1 && same_arrows(circle, circle - 1)) {
        circle[-1].title = figure_print(f, "sends, steps %u to %u", s->alike_from + 1, step + 1);
        free(circle->arrows);
        f->ncircles--;
    } else if (circle->narrows == 0) {
        f->ncircles--;
    } else {
        s->alike_from = step;
    }
}

static void begin(struct state *s, const struct coll_algo *algo, uint32_t n)
{
    s->algo = algo;
    s->shape = (struct coll_shape){.nmembers = n, .count = n};
    if (algo->kind == COLL_ALL_GATHER || algo->kind == COLL_GATHER || algo->kind == COLL_PERMUTE ||
        algo->kind == COLL_SEND_RECV || algo->kind == COLL_BROADCAST)
        s->shape.count = 1; /* operands go whole: one chunk each */
    for (uint32_t m = 0; m < n; m++)
        s->sources[m] = (m + n - 1) % n;
    s->shape.source = s->sources;
    s->size = (uint64_t)n * n + 1;
    if (algo->tmp_count && algo->tmp_count(&s->shape) > s->size)
        s->size = algo->tmp_count(&s->shape);
}

static void fill_operands(struct state *s)
{
    for (uint32_t m = 0; m < s->shape.nmembers; m++)
        for (uint64_t i = 0; i < coll_in_count(s->algo->kind, &s->shape, m); i++)
            buffer_of(s, m, COLL_IN)[i] = (struct holding){1u << m, (uint32_t)i};
}

static void run_steps(struct figure *f, struct state *s)
{
    draw_state(f, s, COLL_IN, "operands");
    for (uint32_t step = 0; step < s->algo->nsteps(&s->shape); step++) {
        for (uint32_t m = 0; m < s->shape.nmembers; m++)
            for (uint32_t i = 0; i < s->algo->nmoves(&s->shape, m, step); i++) {
                struct coll_move move;

                s->algo->move(&s->shape, m, step, i, &move);
                apply(s, m, &move);
            }
        tell_step(f, s, step);
        draw_step(f, s, step);
        if (s->algo->tmp_count && step + 1 < s->algo->nsteps(&s->shape))
            draw_state(f, s, COLL_TMP, figure_print(f, "passing after step %u", step + 1));
        draw_state(f, s, COLL_OUT, figure_print(f, "results after step %u", step + 1));
    }
}

int schedule_draw(struct figure *out, const struct coll_algo *algo, uint32_t nmembers,
                  struct shd_error *err)
{
    struct state s = {.received = 0};

    if (nmembers < 1 || nmembers > SCHEDULE_MEMBERS_MAX)
        return shd_error_set(err, SHD_ERANGE, "%u devices; expected 1 to %d", nmembers,
                             SCHEDULE_MEMBERS_MAX);
    if (!coll_serves(algo, nmembers))
        return shd_error_set(err, SHD_EINVAL, "%s by %s does not serve %u devices",
                             coll_kind_name(algo->kind), algo->name, nmembers);
    begin(&s, algo, nmembers);
    s.elements = calloc(s.size * nmembers * NBUFFERS, sizeof *s.elements);
    if (!s.elements)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the schedule");
    out->title = figure_print(out, "%s by %s, %u devices: %s", coll_kind_name(algo->kind),
                              algo->name, nmembers, algo->desc);
    fill_operands(&s);
    run_steps(out, &s);
    figure_add_note(out,
                    figure_print(out,
                                 "a, b, ... are the operands of members 0, 1, ...%s; "
                                 "%u elements are received in total.",
                                 algo->reduces ? "; a+b is a sum, a..d one of all from a to d" : "",
                                 (unsigned)s.received));
    free(s.elements);
    return out->failed ? shd_error_set(err, SHD_ENOMEM, "no memory for the drawing") : SHD_OK;
}
