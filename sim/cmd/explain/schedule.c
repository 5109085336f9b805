/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "cmd/explain/schedule.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "coll/coll.h"

/* ---- which steps are alike, and which of many are shown ---- */

struct steps {
    const struct coll_algo *algo;
    struct coll_shape shape;
    uint32_t nsums; /* steps of an all-reduce's reduce-scatter; 0: none */
};

/* What is received in a step. */
struct steps_reads {
    uint64_t n, elements;
    bool sums;
};
struct steps_reads steps_count(const struct steps *s, uint32_t step);

/* How a step resembles the previous step: not at all; in the numbers of receiving members and of
 * elements; or also in who sends to whom. */
enum steps_likeness { STEPS_OTHER, STEPS_ALIKE, STEPS_SAME_SENDS };
enum steps_likeness steps_likeness(const struct steps *s, uint32_t step);

#define STEPS_MAX 8 /* so many are all shown */

/* Whether a move brings elements from another member. */
static bool steps_is_received(uint32_t member, const struct coll_move *move)
{
    return move->peer != member && move->count > 0 && move->act != COLL_ZERO;
}

struct steps_reads steps_count(const struct steps *s, uint32_t step)
{
    struct steps_reads reads = {0, 0, false};

    for (uint32_t m = 0; m < s->shape.nmembers; m++)
        for (uint32_t i = 0; i < s->algo->nmoves(&s->shape, m, step); i++) {
            struct coll_move move;

            s->algo->move(&s->shape, m, step, i, &move);
            reads.sums |= move.act == COLL_COMBINE;
            if (!steps_is_received(m, &move))
                continue;
            reads.n++;
            reads.elements += move.count;
        }
    return reads;
}

/* Whether each member exchanges equal counts with the same peers as in the previous step. */
static bool is_same_sends(const struct steps *s, uint32_t step)
{
    for (uint32_t m = 0; m < s->shape.nmembers; m++)
        for (uint32_t i = 0; i < s->algo->nmoves(&s->shape, m, step); i++) {
            struct coll_move move, before;

            if (i >= s->algo->nmoves(&s->shape, m, step - 1))
                return false;
            s->algo->move(&s->shape, m, step, i, &move);
            s->algo->move(&s->shape, m, step - 1, i, &before);
            if (move.peer != before.peer || move.count != before.count)
                return false;
        }
    return true;
}

enum steps_likeness steps_likeness(const struct steps *s, uint32_t step)
{
    struct steps_reads reads, before;

    if (step == 0 || step == s->nsums)
        return STEPS_OTHER;
    reads = steps_count(s, step);
    before = steps_count(s, step - 1);
    if (reads.n != before.n || reads.elements != before.elements || reads.sums != before.sums)
        return STEPS_OTHER;
    return is_same_sends(s, step) ? STEPS_SAME_SENDS : STEPS_ALIKE;
}

/* Whether a step is told and drawn: of many, the first and the last of those that are alike. */
static bool steps_is_shown(const struct steps *s, uint32_t step)
{
    uint32_t nsteps = s->algo->nsteps(&s->shape);

    return nsteps <= STEPS_MAX || steps_likeness(s, step) == STEPS_OTHER || step + 1 == nsteps ||
           steps_likeness(s, step + 1) == STEPS_OTHER;
}

/* Whether a step that is not shown is in the middle of those between two shown ones. */
static bool steps_is_halfway(const struct steps *s, uint32_t step)
{
    uint32_t from = step, to = step, nsteps = s->algo->nsteps(&s->shape);

    while (!steps_is_shown(s, from))
        from--;
    while (to + 1 < nsteps && !steps_is_shown(s, to))
        to++;
    return step == from + (to - from) / 2;
}

#define READS_TOLD 12         /* most reads of a step listed in words; the others are counted */
#define NBUFFERS 3            /* IN, OUT, TMP */
#define LISTED_MAX 4          /* up to so many members, sums and reads list all their terms */
#define KEYS_MAX 6            /* of the legend of sums */
#define LETTERS 26            /* more members are named by number */
#define NO_ELEMENT UINT32_MAX /* of a sum whose column is numbered */
#define NAMED_MAX 12 /* with more members, cells have numbers and shades instead of names */

/* Contents of an element: the members whose operands were added up in it, and the index of the
 * element in their operands. */
struct holding {
    uint64_t members; /* bits; 0: nothing yet */
    uint32_t element;
};

struct state {
    struct steps steps;
    uint64_t size;            /* elements of each buffer, enough for any buffer */
    struct holding *elements; /* [member][buffer][size] */
    uint32_t sources[SCHEDULE_MEMBERS_MAX];
    uint64_t received;   /* elements received in all steps so far */
    uint32_t alike_from; /* first of the consecutive steps that share the last circle's arrows */
    uint32_t told;       /* the last step told in words */
    bool brief;          /* a picture: what its columns and arrows show is not told again */
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
            to[i] = (struct holding){to[i].members | from[i].members, from[i].element};
    }
    if (m->peer != member && m->act != COLL_ZERO)
        s->received += m->count;
}

/* Name an element of a member's operand: "a2", or of many members "m0.2"; "a" for NO_ELEMENT. */
static const char *name_operand(struct figure *f, const struct state *s, uint32_t member,
                                uint32_t element)
{
    if (element == NO_ELEMENT)
        return figure_print(f, "%c", (char)('a' + member));
    return s->steps.shape.nmembers <= LETTERS
               ? figure_print(f, "%c%u", (char)('a' + member), element)
               : figure_print(f, "m%u.%u", member, element);
}

/* Name an element: "a2", or a sum "a2+b2", of many members "a2..d2": a letter per member, and the
 * chunk. */
static const char *name_holding(struct figure *f, const struct state *s, const struct holding *h)
{
    const char *name = "";

    for (uint32_t m = 0; m < s->steps.shape.nmembers; m++) {
        uint32_t last = m;

        if (!(h->members >> m & 1))
            continue;
        while (last + 1 < s->steps.shape.nmembers && h->members >> (last + 1) & 1)
            last++;
        name = figure_print(f, "%s%s%s", name, *name ? "+" : "", name_operand(f, s, m, h->element));
        if (last > m + 1 && s->steps.shape.nmembers > LISTED_MAX) {
            name = figure_print(f, "%s..%s", name, name_operand(f, s, last, h->element));
            m = last;
        }
    }
    return name;
}

/* Colour of a sum of `nterms` operands: darker shades of one hue for more. */
static int32_t colour_sum(const struct state *s, uint32_t nterms)
{
    return FIGURE_SHADE(15 + 85 * (nterms - 1) /
                                 (s->steps.shape.nmembers > 1 ? s->steps.shape.nmembers - 1 : 1));
}

/* Colour of an element: a sum by its number of operands, otherwise by the member that it comes
 * from. */
static int32_t colour_holding(const struct state *s, const struct holding *h)
{
    int32_t lowest = FIGURE_PLAIN;
    uint32_t n = 0;

    for (uint32_t m = s->steps.shape.nmembers; m-- > 0;)
        if (h->members >> m & 1) {
            n++;
            lowest = (int32_t)m;
        }
    if (n == 0)
        return FIGURE_PLAIN;
    return s->steps.algo->reduces ? colour_sum(s, n) : lowest;
}

/* Add the legend of sums; with many members, only some of the numbers. */
static void add_keys(struct figure *f, const struct state *s)
{
    uint32_t n = s->steps.shape.nmembers, every = n > KEYS_MAX ? n / 4 : 1;

    for (uint32_t terms = 1; terms <= n; terms += every) {
        if (terms + every > n)
            terms = n; /* the whole sum is always listed */
        figure_add_key(f, terms == 1 ? "1 operand" : figure_print(f, "sum of %u", terms),
                       colour_sum(s, terms));
    }
}

static bool holds_any(struct state *s, enum coll_buf buf)
{
    for (uint32_t m = 0; m < s->steps.shape.nmembers; m++)
        for (uint64_t i = 0; i < s->size; i++)
            if (buffer_of(s, m, buf)[i].members)
                return true;
    return false;
}

/* Whether columns can be numbered: every element of a sum is at the index of its chunk.
 */
static bool in_place(struct state *s, enum coll_buf buf, uint64_t n)
{
    for (uint32_t m = 0; s->steps.algo->reduces && m < s->steps.shape.nmembers; m++)
        for (uint64_t i = 0; i < n; i++) {
            const struct holding *h = &buffer_of(s, m, buf)[i];

            if (h->members && h->element != i)
                return false;
        }
    return true;
}

static bool is_compact(const struct state *s)
{
    return s->steps.shape.nmembers > NAMED_MAX;
}

#define SHADE_MIN 0.2 /* of what is there at all */

/* Shade a cell by how many operands are in its sum, or else by the member that it comes from; that
 * number is its text. */
static void shade_cell(struct figure *f, const struct state *s, const struct holding *h,
                       struct figure_cell *cell)
{
    uint64_t lowest = h->members & -h->members;
    uint64_t counted = s->steps.algo->reduces ? h->members : lowest - 1;
    uint32_t number = (uint32_t)__builtin_popcountll(counted);
    uint32_t least = s->steps.algo->reduces ? 1 : 0;

    if (h->members)
        cell->shade =
            SHADE_MIN + (1 - SHADE_MIN) * (number - least) / (s->steps.shape.nmembers - 1);
    figure_add_part(f, cell, FIGURE_PLAIN, h->members ? figure_print(f, "%u", number) : "");
}

static void set_scale(struct figure *f, const struct state *s, struct figure_grid *grid)
{
    uint32_t last = s->steps.shape.nmembers - 1, least = s->steps.algo->reduces ? 1 : 0;
    double middle = (0.5 - SHADE_MIN) / (1 - SHADE_MIN) * last + least;

    grid->scale[0] = "none";
    grid->scale[1] = figure_print(f, "%.0f", middle);
    grid->scale[2] = figure_print(f, "%u", last + least);
}

static void draw_state(struct figure *f, struct state *s, enum coll_buf buf, const char *title)
{
    uint64_t most = 0;
    struct figure_grid *grid;

    for (uint32_t m = 0; m < s->steps.shape.nmembers; m++) {
        uint64_t n = buf == COLL_IN    ? coll_in_count(s->steps.algo->kind, &s->steps.shape, m)
                     : buf == COLL_OUT ? coll_out_count(s->steps.algo->kind, &s->steps.shape, m)
                                       : s->steps.algo->tmp_count(&s->steps.shape);

        most = n > most ? n : most;
    }
    if (most == 0 || !holds_any(s, buf))
        return;
    grid = figure_add_grid(f, s->steps.shape.nmembers, (uint32_t)most);
    if (!grid)
        return;
    grid->title = title;
    grid->row_title = "member";
    grid->shaded = is_compact(s);
    if (grid->shaded)
        set_scale(f, s, grid);
    if (in_place(s, buf, most))
        grid->column_title = s->steps.algo->reduces ? "chunk" : "element";
    for (uint32_t m = 0; m < s->steps.shape.nmembers; m++) {
        grid->row_labels[m] = figure_print(f, "%u", m);
        for (uint32_t c = 0; c < most; c++) {
            struct holding h = buffer_of(s, m, buf)[c];
            struct figure_cell *cell = figure_cell(f, grid, m, c);

            if (*grid->column_title)
                grid->column_labels[c] = figure_print(f, "%u", c);
            if (grid->shaded)
                shade_cell(f, s, &h, cell);
            else if (s->brief && s->steps.algo->reduces && *grid->column_title)
                h.element = NO_ELEMENT; /* its column says it */
            if (!grid->shaded)
                figure_add_part(f, cell, colour_holding(s, &h), name_holding(f, s, &h));
        }
    }
}

/* Name what a move reads: "chunk 2" or "chunks 0-1" of a sum, else "b0", "b0, c0" or "b0 to e0". */
static const char *name_read(struct figure *f, struct state *s, const struct coll_move *mv)
{
    const struct holding *read = buffer_of(s, mv->peer, mv->src) + mv->src_at;
    const struct holding *last = &read[mv->count - 1];
    const char *name;

    if (s->steps.algo->reduces)
        return read->element == last->element
                   ? figure_print(f, "chunk %u", read->element)
                   : figure_print(f, "chunks %u-%u", read->element, last->element);
    name = name_holding(f, s, read);
    if (mv->count > LISTED_MAX)
        return figure_print(f, "%s to %s", name, name_holding(f, s, last));
    for (uint64_t i = 1; i < mv->count; i++)
        name = figure_print(f, "%s, %s", name, name_holding(f, s, &read[i]));
    return name;
}

/* Tell what a member does in a step: " 0 receives chunk 0 from 1, 2 and adds its own", with at most
 * `room` reads; returns the number of reads. */
static uint32_t tell_member(struct figure *f, struct state *s, uint32_t member, uint32_t step,
                            uint32_t room, const char **line)
{
    const char *before = "";
    uint32_t nreads = 0;
    bool sums = false;

    for (uint32_t i = 0; i < s->steps.algo->nmoves(&s->steps.shape, member, step); i++) {
        struct coll_move mv;
        const char *name;

        s->steps.algo->move(&s->steps.shape, member, step, i, &mv);
        sums |= mv.act == COLL_COMBINE;
        if (!steps_is_received(member, &mv) || nreads++ >= room)
            continue;
        name = name_read(f, s, &mv);
        if (nreads == 1)
            *line = figure_print(f, "%s %u receives %s from %u", *line, member, name, mv.peer);
        else if (!strcmp(name, before)) /* the same from another member */
            *line = figure_print(f, "%s, %u", *line, mv.peer);
        else
            *line = figure_print(f, "%s, %s from %u", *line, name, mv.peer);
        before = name;
    }
    if (sums && nreads > 0 && room > 0)
        *line = figure_print(f, "%s and adds its own", *line);
    return nreads;
}

/* ", reduce-scatter" or ", all-gather", for an all-reduce of two parts. */
static const char *part_of(const struct state *s, uint32_t step)
{
    return s->steps.nsums == 0 ? "" : step < s->steps.nsums ? ", reduce-scatter" : ", all-gather";
}

/* Tell a step in one line: each receiving member with its reads. */
static void tell_step(struct figure *f, struct state *s, uint32_t step)
{
    const char *line = figure_print(f, "step %u%s:", step + 1, part_of(s, step));
    uint32_t nreads = 0;

    for (uint32_t m = 0; m < s->steps.shape.nmembers; m++) {
        uint32_t room = nreads < READS_TOLD ? READS_TOLD - nreads : 0, n;
        const char *more = nreads > 0 && room > 0 ? figure_print(f, "%s;", line) : line;

        n = tell_member(f, s, m, step, room, &more);
        line = n > 0 && room > 0 ? more : line;
        nreads += n;
    }
    if (nreads > READS_TOLD)
        line = figure_print(f, "%s, and %u more", line, nreads - READS_TOLD);
    figure_add_note(f, nreads ? figure_print(f, "%s.", line)
                              : figure_print(f, "%s nothing is received.", line));
}

/* Whether a step has so many sends that only those to member 0 are drawn. */
static bool is_crowded(const struct state *s, uint32_t step)
{
    return is_compact(s) && steps_count(&s->steps, step).n > (uint64_t)4 * s->steps.shape.nmembers;
}

static void add_arrows(struct figure *f, const struct state *s, struct figure_circle *circle,
                       uint32_t step)
{
    uint32_t n = is_crowded(s, step) ? 1 : s->steps.shape.nmembers;

    for (uint32_t m = 0; m < n; m++)
        for (uint32_t i = 0, last = COLL_NOBODY;
             i < s->steps.algo->nmoves(&s->steps.shape, m, step); i++) {
            struct coll_move move;

            s->steps.algo->move(&s->steps.shape, m, step, i, &move);
            if (!steps_is_received(m, &move) || move.peer == last)
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

/* Tell the steps between two shown ones, which are all like the first. */
static void tell_folded(struct figure *f, struct state *s, uint32_t from, uint32_t to)
{
    bool same = true;

    for (uint32_t step = from; step <= to; step++)
        same &= steps_likeness(&s->steps, step) == STEPS_SAME_SENDS;
    figure_add_note(f, figure_print(f, "steps %u to %u%s: %u steps like step %u, %s.", from + 1,
                                    to + 1, part_of(s, from), to - from + 1, from,
                                    same ? "with the same senders and receivers, for other elements"
                                         : "each between different pairs of members"));
}

/* Draw the sends of a step as a circle; consecutive steps with equal arrows share a circle. */
static void draw_step(struct figure *f, struct state *s, uint32_t step)
{
    struct figure_circle *circle = figure_add_circle(
        f,
        figure_print(f, "sends%s, step %u%s",
                     is_crowded(s, step) ? " to 0 (the others are not drawn)" : "", step + 1,
                     part_of(s, step)),
        s->steps.shape.nmembers);

    if (!circle)
        return;
    circle->plain = s->steps.algo->reduces;
    add_arrows(f, s, circle, step);
    if (f->ncircles > 1 && step != s->steps.nsums && same_arrows(circle, circle - 1)) {
        circle[-1].title = figure_print(f, "sends, steps %u to %u%s", s->alike_from + 1, step + 1,
                                        part_of(s, step));
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
    s->steps.algo = algo;
    s->steps.shape = (struct coll_shape){.nmembers = n, .count = n};
    if (algo->kind == COLL_ALL_GATHER || algo->kind == COLL_GATHER || algo->kind == COLL_PERMUTE ||
        algo->kind == COLL_SEND_RECV || algo->kind == COLL_BROADCAST)
        s->steps.shape.count = 1; /* operands are sent whole, in a single chunk */
    for (uint32_t m = 0; m < n; m++)
        s->sources[m] = (m + n - 1) % n;
    s->steps.shape.source = s->sources;
    s->size = (uint64_t)n * n + 1;
    if (algo->tmp_count && algo->tmp_count(&s->steps.shape) > s->size)
        s->size = algo->tmp_count(&s->steps.shape);
}

static void fill_operands(struct state *s)
{
    for (uint32_t m = 0; m < s->steps.shape.nmembers; m++)
        for (uint64_t i = 0; i < coll_in_count(s->steps.algo->kind, &s->steps.shape, m); i++)
            buffer_of(s, m, COLL_IN)[i] = (struct holding){UINT64_C(1) << m, (uint32_t)i};
}

static void apply_step(struct state *s, uint32_t step)
{
    for (uint32_t m = 0; m < s->steps.shape.nmembers; m++)
        for (uint32_t i = 0; i < s->steps.algo->nmoves(&s->steps.shape, m, step); i++) {
            struct coll_move move;

            s->steps.algo->move(&s->steps.shape, m, step, i, &move);
            apply(s, m, &move);
        }
}

/* Whether each chunk's complete sum is at exactly one member. */
static bool is_scattered(struct state *s)
{
    const uint64_t all = UINT64_MAX >> (64 - s->steps.shape.nmembers);

    for (uint64_t i = 0; i < s->steps.shape.count; i++) {
        uint32_t nwhole = 0;

        for (uint32_t m = 0; m < s->steps.shape.nmembers; m++)
            nwhole += buffer_of(s, m, COLL_OUT)[i].members == all;
        if (nwhole != 1)
            return false;
    }
    return true;
}

/* Run the summing steps of an all-reduce, to find out whether they form a reduce-scatter. */
static void find_parts(struct state *s)
{
    uint32_t nsteps = s->steps.algo->nsteps(&s->steps.shape), n = nsteps;

    if (s->steps.algo->kind != COLL_ALL_REDUCE)
        return;
    while (n > 0 && !steps_count(&s->steps, n - 1).sums)
        n--;
    if (n == nsteps)
        return;
    for (uint32_t step = 0; step < n; step++)
        apply_step(s, step);
    if (is_scattered(s))
        s->steps.nsums = n;
    memset(s->elements, 0, s->size * s->steps.shape.nmembers * NBUFFERS * sizeof *s->elements);
    s->received = 0;
    fill_operands(s);
}

static const char *steps_text(struct figure *f, uint32_t first, uint32_t last)
{
    return first == last ? figure_print(f, "step %u", first)
                         : figure_print(f, "steps %u-%u", first, last);
}

static void run_steps(struct figure *f, struct state *s)
{
    uint32_t nsteps = s->steps.algo->nsteps(&s->steps.shape), ndrawn = 0;

    draw_state(f, s, COLL_IN, "operands");
    for (uint32_t step = 0; step < nsteps; step++) {
        bool shown = steps_is_shown(&s->steps, step);

        apply_step(s, step);
        if (shown && step > s->told + 1)
            tell_folded(f, s, s->told + 1, step - 1);
        if (shown || steps_likeness(&s->steps, step) == STEPS_SAME_SENDS)
            draw_step(f, s, step);
        if (!shown && !steps_is_halfway(&s->steps, step))
            continue;
        if (shown) {
            if (!s->brief || nsteps > STEPS_MAX)
                tell_step(f, s, step);
            s->told = step;
        }
        if (s->steps.algo->tmp_count && step + 1 < nsteps)
            draw_state(f, s, COLL_TMP, figure_print(f, "passing after step %u", step + 1));
        draw_state(f, s, COLL_OUT, figure_print(f, "results after step %u", step + 1));
        ndrawn++;
    }
    if (ndrawn < nsteps)
        figure_add_note(
            f, figure_print(f, "Results are drawn after %u of the %u steps.", ndrawn, nsteps));
    if (s->steps.nsums > 0)
        figure_add_note(f, figure_print(f, "reduce-scatter: %s; all-gather: %s.",
                                        steps_text(f, 1, s->steps.nsums),
                                        steps_text(f, s->steps.nsums + 1, nsteps)));
}

int schedule_draw(struct figure *out, const struct coll_algo *algo, uint32_t nmembers, bool brief,
                  struct shd_error *err)
{
    struct state s = {.brief = brief};

    if (nmembers < 1 || nmembers > SCHEDULE_MEMBERS_MAX)
        return shd_error_set(err, SHD_ERANGE, "%u devices; expected 1 to %d", nmembers,
                             SCHEDULE_MEMBERS_MAX);
    if (!coll_serves(algo, nmembers))
        return shd_error_set(err, SHD_EINVAL, "%s by %s does not support %u devices",
                             coll_kind_name(algo->kind), algo->name, nmembers);
    begin(&s, algo, nmembers);
    s.elements = calloc(s.size * nmembers * NBUFFERS, sizeof *s.elements);
    if (!s.elements)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the schedule");
    out->title = figure_print(out, "%s by %s, %u devices: %s", coll_kind_name(algo->kind),
                              algo->name, nmembers, algo->desc);
    fill_operands(&s);
    find_parts(&s);
    run_steps(out, &s);
    if (algo->reduces && !is_compact(&s))
        add_keys(out, &s);
    if (is_compact(&s))
        figure_add_note(out, algo->reduces
                                 ? "A cell is darker the more operands are in its sum."
                                 : "A cell is darker the higher the number of the member that it "
                                   "comes from.");
    figure_add_note(out, figure_print(out,
                                      "%s, ... are the operands of members 0, 1, ...%s; "
                                      "%u elements are received in total.",
                                      nmembers <= LETTERS ? "a, b" : "m0, m1",
                                      !algo->reduces || is_compact(&s) ? ""
                                      : nmembers > LISTED_MAX
                                          ? ", a0 is chunk 0 of a; a0+b0 is a sum, a0..d0 "
                                            "the sum of all from a to d"
                                      : s.brief ? "; a+b is a sum"
                                                : ", a0 is chunk 0 of a; a0+b0 is a sum",
                                      (unsigned)s.received));
    free(s.elements);
    return out->failed ? shd_error_set(err, SHD_ENOMEM, "no memory for the drawing") : SHD_OK;
}
