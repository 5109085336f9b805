/* Turning a walked timetable into lanes and words (timetable_lanes.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/timetable_lanes.h"

#include <math.h>
#include <stdlib.h>

#define RANKS_LISTED_MAX 16 /* peaks of more are told by the least and the most */

int timetable_walked_init(struct timetable_walked *out, const struct timetable_schedule *schedule,
                          const struct timetable_sizes *sizes, const struct timetable_times *times,
                          struct shd_error *err)
{
    struct timetable_walked w = {.schedule = schedule, .sizes = *sizes, .times = *times};
    int status = timetable_build(&w.timetable, schedule, sizes, err);

    if (status == SHD_OK)
        status = timetable_walk(&w.walk, w.timetable, times, err);
    if (status != SHD_OK) {
        timetable_destroy(w.timetable);
        return status;
    }
    for (size_t i = 0; i < timetable_nactions(w.timetable); i++)
        w.nactions[w.timetable->actions[i].kind]++;
    *out = w;
    return SHD_OK;
}

void timetable_walked_fini(struct timetable_walked *walked)
{
    timetable_walk_fini(&walked->walk);
    timetable_destroy(walked->timetable);
}

void timetable_walked_idle(double *least, double *most, const struct timetable_walked *w)
{
    *least = *most = w->walk.makespan - w->walk.busy[0];
    for (uint32_t r = 1; r < w->sizes.nranks; r++) {
        *least = fmin(*least, w->walk.makespan - w->walk.busy[r]);
        *most = fmax(*most, w->walk.makespan - w->walk.busy[r]);
    }
}

/* ---- bars ---- */

static const struct lanes_key keys[TIMETABLE_KINDS] = {
    [TIMETABLE_FORWARD] = {'F', LANES_LIGHT, "forward"},
    [TIMETABLE_BACKWARD] = {'B', LANES_DARK, "backward"},
    [TIMETABLE_BACKWARD_INPUT] = {'I', LANES_MIDDLE, "input gradient"},
    [TIMETABLE_BACKWARD_WEIGHT] = {'W', LANES_HATCHED, "weight gradient"},
};

static struct lanes_bar bar_of(const struct timetable_walked *w, uint32_t rank, size_t number)
{
    const struct timetable_action *a = &w->timetable->actions[number];
    const struct lanes_key *key = &keys[a->kind];
    struct lanes_bar bar = {.lane = rank,
                            .mark = key->mark,
                            .stage = w->sizes.stages_per_rank > 1 ? (int32_t)a->stage : -1,
                            .tone = (uint8_t)key->tone,
                            .number = a->microbatch,
                            .start = w->walk.start[number],
                            .end = w->walk.end[number]};

    if (w->times.overlapped > 0 && a->overlapped)
        bar.part = LANES_UPPER;
    else if (w->times.overlapped > 0 && number > w->timetable->first[rank] && a[-1].overlapped)
        bar.part = LANES_LOWER;
    return bar;
}

static size_t nactions_of(const struct timetable_walked *walked, size_t n)
{
    size_t all = 0;

    for (size_t w = 0; w < n; w++)
        all += timetable_nactions(walked[w].timetable);
    return all;
}

/* Add bars and names of all ranks of a timetable below the present lanes. */
static void add_ranks(struct timetable_lanes *out, const struct timetable_walked *w)
{
    const struct timetable *t = w->timetable;
    uint32_t first = out->lanes.nlanes;

    for (uint32_t r = 0; r < t->nranks; r++) {
        out->names[first + r] = figure_print(&out->texts, "rank %u", (unsigned)r);
        for (size_t i = t->first[r]; i < t->first[r + 1]; i++) {
            out->bars[out->lanes.nbars] = bar_of(w, r, i);
            out->bars[out->lanes.nbars++].lane += first;
        }
    }
    out->lanes.nlanes += t->nranks;
}

static int add_lanes(struct timetable_lanes *out, const struct timetable_walked *walked, size_t n,
                     struct shd_error *err)
{
    out->names = calloc((size_t)walked->sizes.nranks * n, sizeof *out->names);
    out->bars = malloc(nactions_of(walked, n) * sizeof *out->bars);
    if (!out->names || !out->bars)
        return shd_error_set(err, SHD_ENOMEM, "no memory for a drawing");
    for (size_t w = 0; w < n; w++)
        add_ranks(out, &walked[w]);
    out->lanes.names = out->names;
    out->lanes.bars = out->bars;
    for (int k = 0; k < TIMETABLE_KINDS; k++) {
        bool used = false;

        for (size_t w = 0; w < n; w++)
            used |= walked[w].nactions[k] > 0;
        if (used)
            out->keys[out->lanes.nkeys++] = keys[k];
    }
    return SHD_OK;
}

/* ---- in words ---- */

/* Add the duration of each kind of action that occurs. */
static void add_times(struct text *out, const struct timetable_walked *w)
{
    const struct timetable_times *t = &w->times;
    const double times[TIMETABLE_KINDS] = {t->forward, t->backward, t->backward_input,
                                           t->backward_weight};

    for (int k = 0; k < TIMETABLE_KINDS; k++)
        if (w->nactions[k] > 0)
            text_addf(out, "%s%c %.6g", k > 0 ? ", " : "", keys[k].mark, times[k]);
    if (t->overlapped > 0)
        text_addf(out, ", FB %.6g", t->overlapped);
}

/* Explain the labels. */
static void note_labels(struct text *out, const struct timetable_walked *w)
{
    if (w->sizes.stages_per_rank > 1)
        text_addf(out,
                  "F0.%u, or F0 above %u: the forward of microbatch 0 in stage %u, of stages 0 to "
                  "%u",
                  (unsigned)w->sizes.nranks, (unsigned)w->sizes.nranks, (unsigned)w->sizes.nranks,
                  (unsigned)(w->sizes.nranks * w->sizes.stages_per_rank - 1));
    else
        text_add(out, "F0: the forward of microbatch 0");
    text_add(out, "; each microbatch has one colour on all ranks");
}

static void note_makespan(struct text *out, const struct timetable_walked *w)
{
    double least, most;

    timetable_walked_idle(&least, &most, w);
    text_addf(out, "Time: %.6g from the first action to the last (", w->walk.makespan);
    add_times(out, w);
    if (least == most)
        text_addf(out, "); each rank is idle %.6g of it, %.1f %%", most, 100 * w->walk.bubble);
    else
        text_addf(out, "); ranks are idle %.6g to %.6g of it, %.1f %% on average", least, most,
                  100 * w->walk.bubble);
}

static void note_formula(struct text *out, const struct timetable_walked *w)
{
    const struct timetable_bubble *b = &w->schedule->bubble;

    if (b->holds(&w->sizes, &w->times))
        text_addf(out, "Bubble, by formula: at most %s = %.6g", b->formula,
                  b->idle(&w->sizes, &w->times));
    else
        text_addf(out, "Bubble, by formula: at most %s, which holds for %s", b->formula, b->where);
    text_addf(out, " (%s)", w->schedule->source);
}

/* "4 3 2 1", or where all are the same "4 on each", or of many ranks "1 to 4". */
static void add_peaks(struct text *out, const uint32_t *live, uint32_t nranks)
{
    uint32_t least = UINT32_MAX, most = 0;

    for (uint32_t r = 0; r < nranks; r++) {
        least = live[r] < least ? live[r] : least;
        most = live[r] > most ? live[r] : most;
    }
    if (least == most)
        text_addf(out, " %u on each", (unsigned)most);
    else if (nranks > RANKS_LISTED_MAX)
        text_addf(out, " %u to %u", (unsigned)least, (unsigned)most);
    else
        for (uint32_t r = 0; r < nranks; r++)
            text_addf(out, " %u", (unsigned)live[r]);
}

static void note_live(struct text *out, const struct timetable_walked *w)
{
    const struct timetable_walk *walk = &w->walk;
    uint32_t n = w->sizes.nranks;
    bool same = true;

    for (uint32_t r = 0; r < n; r++)
        same &= walk->live_until_input[r] == walk->live_until_weight[r];
    text_add(out, "Microbatches in flight at the peak, by rank:");
    if (w->sizes.stages_per_rank > 1)
        text_add(out, " (counted for each of its stages)");
    if (!same)
        text_add(out, " until the input gradient");
    add_peaks(out, walk->live_until_input, n);
    if (!same) {
        text_add(out, ", until the weight gradient");
        add_peaks(out, walk->live_until_weight, n);
    }
}

static void add_note(struct timetable_lanes *out, const struct timetable_walked *w,
                     void (*write)(struct text *, const struct timetable_walked *))
{
    struct text text = TEXT_INIT;

    write(&text, w);
    figure_add_note(&out->texts, figure_print(&out->texts, "%s", text_get(&text)));
    out->texts.failed |= text.failed;
    text_fini(&text);
}

void timetable_lanes_fini(struct timetable_lanes *lanes)
{
    figure_fini(&lanes->texts);
    free(lanes->names);
    free(lanes->bars);
}

/* Hand out the finished lanes, or free them if `status` or the texts have failed. */
static int finish(struct timetable_lanes *out, struct timetable_lanes *l, int status,
                  struct shd_error *err)
{
    l->lanes.notes = l->texts.notes;
    l->lanes.nnotes = l->texts.nnotes;
    if (status == SHD_OK && l->texts.failed)
        status = shd_error_set(err, SHD_ENOMEM, "no memory for a drawing");
    if (status != SHD_OK) {
        timetable_lanes_fini(l);
        return status;
    }
    *out = *l;
    out->lanes.keys = out->keys;
    out->lanes.heads = out->heads;
    return SHD_OK;
}

int timetable_lanes_init(struct timetable_lanes *out, const struct timetable_walked *w,
                         struct shd_error *err)
{
    size_t n = timetable_nactions(w->timetable);
    struct timetable_lanes l = {.names = NULL};
    int status = SHD_OK;

    figure_init(&l.texts);
    l.lanes.title = figure_print(
        &l.texts, "%s, p = %u ranks, v = %u stage%s each, m = %u microbatch%s: %s",
        w->schedule->name, (unsigned)w->sizes.nranks, (unsigned)w->sizes.stages_per_rank,
        w->sizes.stages_per_rank == 1 ? "" : "s", (unsigned)w->sizes.nmicrobatches,
        w->sizes.nmicrobatches == 1 ? "" : "es", w->schedule->desc);
    if (n <= LANES_BARS_MAX)
        status = add_lanes(&l, w, 1, err);
    else
        figure_add_note(&l.texts, figure_print(&l.texts, "Not drawn: %zu actions are too many", n));
    if (n <= LANES_BARS_MAX)
        add_note(&l, w, note_labels);
    add_note(&l, w, note_makespan);
    add_note(&l, w, note_formula);
    add_note(&l, w, note_live);
    return finish(out, &l, status, err);
}

/* ---- several ---- */

static void add_head(struct timetable_lanes *out, const struct timetable_walked *w, uint32_t lane)
{
    double least, most;
    uint32_t live = 0;

    for (uint32_t r = 0; r < w->sizes.nranks; r++)
        live = w->walk.live_until_weight[r] > live ? w->walk.live_until_weight[r] : live;
    timetable_walked_idle(&least, &most, w);
    out->heads[out->lanes.nheads++] = (struct lanes_head){
        lane, figure_print(
                  &out->texts, "%s: time %.6g, idle %.1f %%, at most %.6g of %u microbatches alive",
                  w->schedule->name, w->walk.makespan, 100 * w->walk.bubble,
                  (double)live / w->sizes.stages_per_rank, (unsigned)w->sizes.nmicrobatches)};
}

int timetable_lanes_init_many(struct timetable_lanes *out, const struct timetable_walked *walked,
                              size_t n, struct shd_error *err)
{
    struct timetable_lanes l = {.names = NULL};
    uint32_t most = 0;
    size_t deepest = 0;
    int status;

    if (nactions_of(walked, n) > LANES_BARS_MAX)
        return shd_error_set(err, SHD_ERANGE,
                             "%zu actions are too many to draw; expected fewer schedules, ranks or "
                             "microbatches, %d actions at most",
                             nactions_of(walked, n), LANES_BARS_MAX);
    figure_init(&l.texts);
    l.lanes.title = figure_print(
        &l.texts, "%zu schedules of p = %u ranks, m = %u microbatches, on one time scale", n,
        (unsigned)walked->sizes.nranks, (unsigned)walked->sizes.nmicrobatches);
    for (size_t w = 0; w < n; w++) {
        add_head(&l, &walked[w], (uint32_t)w * walked[w].sizes.nranks);
        if (walked[w].sizes.stages_per_rank > most) {
            most = walked[w].sizes.stages_per_rank;
            deepest = w;
        }
    }
    status = add_lanes(&l, walked, n, err);
    add_note(&l, &walked[deepest], note_labels);
    return finish(out, &l, status, err);
}
