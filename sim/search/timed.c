/* Bounds on a layout's step by a walk through its timetable (layout_bounds.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "search/layout_bounds.h"
#include "timetable/timetable.h"

/* A walk through a timetable with the seconds of each stage. */
struct walk {
    const struct timetable *timetable;
    const struct stages *stages;
    struct phases *phases;  /* [stage] */
    double *forward, *back; /* [stage][microbatch] when its message was sent; negative: not yet */
    double *ends;           /* [rank] when its last action ended */
    double *lines;          /* [rank][stream] when its gradients are combined */
    double begun_s;         /* when all ranks can receive messages */
    uint32_t *ndone;        /* [stage] backward phases */
    size_t *next;           /* [rank] its next action */
};

static double *at(double *sent, const struct walk *w, const struct timetable_action *a,
                  int64_t stage)
{
    return &sent[(size_t)stage * w->timetable->nmicrobatches + a->microbatch];
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* When the message for an action is on its way; negative: not yet; 0: the action needs no message.
 */
static double sent_to(const struct walk *w, const struct timetable_action *a)
{
    bool forward = a->kind == TIMETABLE_FORWARD;
    int64_t from = forward ? (int64_t)a->stage - 1 : (int64_t)a->stage + 1;
    const struct cut *cut = &w->stages->cut;
    double sent;

    if (from < 0 || from == (int64_t)w->timetable->nstages)
        return 0;
    sent = *at(forward ? w->forward : w->back, w, a, from);
    if (sent < 0 || sent >= w->begun_s)
        return sent;
    return larger(sent,
                  stages_arrival(w->stages, stages_rank(cut, from), stages_rank(cut, a->stage)));
}

static double layers_in(const struct stages *s, uint32_t stage)
{
    return (double)(stages_before(&s->cut, (int64_t)stage + 1) - stages_before(&s->cut, stage));
}

/* Gradients that are combined once a step follow the last backward phase of their stage, one after
 * the other in each stream. */
static void combine(struct walk *w, uint32_t rank, uint32_t stage)
{
    const struct stages *s = w->stages;
    const struct piece *r = s->replicas;
    double layers = layers_in(s, stage);

    if (++w->ndone[stage] < w->timetable->nmicrobatches)
        return;
    for (int k = 0; k < EVENTS_STREAMS_MAX; k++) {
        double *line = &w->lines[(size_t)rank * EVENTS_STREAMS_MAX + (size_t)k];

        *line = larger(*line, w->ends[rank]) + layers * r->parts[PIECE_LAYER].summed_s[k] +
                (stage == 0 ? r->parts[PIECE_FRONT].summed_s[k] : 0);
    }
}

/* Do the next action of a rank; false: the action must wait, or the rank has no more actions. */
static bool step(struct walk *w, uint32_t rank)
{
    const struct timetable *t = w->timetable;
    const struct timetable_action *a = &t->actions[w->next[rank]];
    const struct phase *phase;
    double sent, end;
    bool forward;

    if (w->next[rank] == t->first[rank + 1])
        return false;
    if (a->kind == TIMETABLE_BACKWARD_WEIGHT) {
        w->ends[rank] += w->phases[a->stage].weights_s;
        w->next[rank]++;
        return true;
    }
    forward = a->kind == TIMETABLE_FORWARD;
    sent = sent_to(w, a);
    if (sent < 0)
        return false;
    if (!forward)
        combine(w, rank, a->stage);
    phase = forward ? &w->phases[a->stage].forward : &w->phases[a->stage].backward;
    end = larger(w->ends[rank] + phase->own_s, sent + phase->end_s);
    *at(forward ? w->forward : w->back, w, a, a->stage) =
        larger(end - (phase->end_s - phase->way_s), 0);
    w->ends[rank] = end;
    w->next[rank]++;
    return true;
}

static void walk_all(struct walk *w)
{
    for (bool any = true; any;) {
        any = false;
        for (uint32_t rank = 0; rank < w->timetable->nranks; rank++)
            while (step(w, rank))
                any = true;
    }
}

/* Each rank begins its update after its last action; a stream then moves what was updated, after
 * the gradients. */
static double step_seconds(const struct walk *w)
{
    double seconds = 0;

    for (uint32_t rank = 0; rank < w->timetable->nranks; rank++) {
        int64_t layers = stages_layers(&w->stages->cut, rank);
        const double *lines = &w->lines[(size_t)rank * EVENTS_STREAMS_MAX];

        seconds = larger(seconds, w->ends[rank] + stages_update(w->stages, layers, rank == 0));
        for (int k = 0; k < EVENTS_STREAMS_MAX; k++)
            seconds = larger(seconds, larger(lines[k], w->ends[rank]) +
                                          stages_renewed(w->stages, layers, rank == 0, k));
    }
    return seconds;
}

static bool allocate(struct walk *w)
{
    size_t n = (size_t)w->timetable->nstages * w->timetable->nmicrobatches;

    w->phases = calloc(w->timetable->nstages, sizeof *w->phases);
    w->forward = malloc(2 * n * sizeof *w->forward);
    w->ends = calloc(w->timetable->nranks, sizeof *w->ends);
    w->next = calloc(w->timetable->nranks, sizeof *w->next);
    w->lines = calloc((size_t)w->timetable->nranks * EVENTS_STREAMS_MAX, sizeof *w->lines);
    w->ndone = calloc(w->timetable->nstages, sizeof *w->ndone);
    if (!w->phases || !w->forward || !w->ends || !w->next || !w->lines || !w->ndone)
        return false;
    w->back = w->forward + n;
    for (size_t i = 0; i < 2 * n; i++)
        w->forward[i] = -1;
    for (uint32_t stage = 0; stage < w->timetable->nstages; stage++)
        w->phases[stage] = stages_phases(w->stages, stage);
    memcpy(w->next, w->timetable->first, w->timetable->nranks * sizeof *w->next);
    for (uint32_t rank = 0; rank < w->timetable->nranks; rank++) {
        int64_t layers = stages_layers(&w->stages->cut, rank);

        w->ends[rank] = stages_start(w->stages, layers, rank == 0, STAGES_WAITED);
        w->begun_s =
            larger(w->begun_s, stages_start(w->stages, layers, rank == 0, STAGES_GATHERED));
    }
    return true;
}

static int walk(double *out, const struct stages *stages, const struct timetable *timetable,
                struct shd_error *err)
{
    struct walk w = {.timetable = timetable, .stages = stages};
    int status = SHD_OK;

    if (allocate(&w)) {
        walk_all(&w);
        *out = step_seconds(&w);
    } else {
        status = shd_error_set(err, SHD_ENOMEM, "no memory to walk a timetable");
    }
    free(w.phases);
    free(w.forward);
    free(w.ends);
    free(w.lines);
    free(w.ndone);
    free(w.next);
    return status;
}

/* ---- memory ---- */

/* Bytes of a rank when a backward phase begins, besides its state: activations saved for this and
 * all later backward phases, and gradient sums of the stages with an earlier backward phase. */
struct held {
    double saved, sums, most;
    bool *summed; /* [stage] */
};

static void hold(struct held *held, const struct stages *s, const struct timetable_action *a)
{
    const struct piece *r = s->replicas;
    double n = layers_in(s, a->stage), saved = stages_saved(s->layers, n);

    if (a->kind == TIMETABLE_FORWARD) {
        held->saved += saved;
        return;
    }
    if (a->kind != TIMETABLE_BACKWARD_WEIGHT) {
        held->most =
            larger(held->most, held->saved + held->sums + (n > 0 ? s->layers->working_bytes : 0));
        held->saved -= saved;
    }
    if (a->kind != TIMETABLE_BACKWARD_INPUT && !held->summed[a->stage]) {
        held->summed[a->stage] = true;
        held->sums += n * r->parts[PIECE_LAYER].gradient_bytes +
                      (a->stage == 0 ? r->parts[PIECE_FRONT].gradient_bytes : 0);
    }
}

static double rank_bytes(const struct stages *s, const struct timetable *t, uint32_t rank,
                         bool *summed)
{
    const struct piece *r = s->replicas;
    struct held held = {.summed = summed};
    double state = (double)stages_layers(&s->cut, rank) * r->parts[PIECE_LAYER].state_bytes;

    if (rank == 0)
        state += r->parts[PIECE_FRONT].state_bytes;
    if (rank == stages_rank(&s->cut, s->cut.stages - 1))
        state += r->parts[PIECE_BACK].state_bytes;
    for (size_t i = t->first[rank]; i < t->first[rank + 1]; i++)
        hold(&held, s, &t->actions[i]);
    return state + held.most;
}

static int find_bytes(double *out, const struct stages *s, const struct timetable *timetable,
                      struct shd_error *err)
{
    const struct hardware *h = s->subject->hardware;
    bool *summed = calloc(timetable->nstages, sizeof *summed);
    double most = 0;

    if (!summed)
        return shd_error_set(err, SHD_ENOMEM, "no memory to walk a timetable");
    for (uint32_t rank = 0; rank < timetable->nranks; rank++)
        most = larger(most, rank_bytes(s, timetable, rank, summed));
    free(summed);
    *out = most * (1 + h->fragmentation) + h->reserved_bytes;
    return SHD_OK;
}

/* ---- both ---- */

static int build_timetable(struct timetable **out, const struct stages *stages,
                           struct shd_error *err)
{
    const struct timetable_sizes sizes = space_sizes(stages->cut.space, stages->layout);

    return timetable_build(out, space_schedule(stages->layout), &sizes, err);
}

/* The argument: an action ends no sooner than its own seconds after its rank came to it, nor than
 * the seconds that depend on its message after the message was sent; so, by induction over the
 * actions, nothing in the plan is earlier than here.  If two phases run as one, neither precedes
 * the other, and the bound is that of bound_time(). */
int bound_timed(double *seconds, double *bytes, const struct subject *subject,
                const struct layout *layout, const struct piece *replicas,
                const struct piece *layers, struct shd_error *err)
{
    double walked_s = 0, held_bytes = 0;
    struct timetable *timetable = NULL;
    struct stages stages;
    int status = SHD_OK;

    stages_of(&stages, subject, layout, replicas, layers);
    if (stages.cut.pp > 1 && !stages.cut.together) {
        status = build_timetable(&timetable, &stages, err);
        if (status == SHD_OK)
            status = walk(&walked_s, &stages, timetable, err);
        if (status == SHD_OK)
            status = find_bytes(&held_bytes, &stages, timetable, err);
        timetable_destroy(timetable);
    }
    if (status != SHD_OK)
        return status;
    *seconds =
        larger(bound_time(subject, layout, replicas, layers), walked_s * (1 - BOUND_ROUNDED));
    *bytes = larger(bound_memory(subject, layout, replicas, layers), held_bytes);
    return SHD_OK;
}
