/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "search/stage_bounds.h"

#include <math.h>

/* ---- which layers ---- */

struct cut stages_cut(const struct space *space, const struct layout *layout)
{
    unsigned flags = space_schedule(layout)->flags;
    int64_t pp = layout->value[SPACE_PP];

    return (struct cut){.space = space,
                        .split = (enum space_split)layout->value[SPACE_SPLIT],
                        .back = flags & TIMETABLE_V_SHAPED,
                        .together = flags & TIMETABLE_OVERLAPS,
                        .pp = pp,
                        .stages = pp * layout->value[SPACE_VIRTUAL],
                        .layers = space->layers,
                        .microbatches = space_microbatches(space, layout)};
}

/* Layers of all kinds in the stages before `stage`. */
static int64_t all_before(const struct cut *cut, int64_t stage)
{
    int64_t n = 0;

    if (cut->split == SPACE_SPLIT_EVEN || stage == cut->stages)
        return (stage * cut->layers + cut->stages - 1) / cut->stages;
    if (cut->split == SPACE_SPLIT_LIGHT)
        return space_light(cut->space, cut->stages, stage);
    for (int64_t s = 0; s < stage; s++)
        n += cut->space->stage_layers[s];
    return n;
}

int64_t stages_before(const struct cut *cut, int64_t stage)
{
    return space_usual(cut->space, all_before(cut, stage));
}

static bool is_even(const struct cut *cut)
{
    return cut->split == SPACE_SPLIT_EVEN && cut->layers % cut->stages == 0 &&
           space_is_uniform(cut->space);
}

int64_t stages_rank(const struct cut *cut, int64_t stage)
{
    return cut->back && stage >= cut->pp ? 2 * cut->pp - 1 - stage : stage % cut->pp;
}

int64_t stages_layers(const struct cut *cut, int64_t rank)
{
    int64_t n = 0;

    if (is_even(cut))
        return cut->layers / cut->pp;
    for (int64_t turn = 0; turn < cut->stages / cut->pp; turn++) {
        int64_t stage = turn * cut->pp + (cut->back && turn > 0 ? cut->pp - 1 - rank : rank);

        n += stages_before(cut, stage + 1) - stages_before(cut, stage);
    }
    return n;
}

int64_t stages_least(const struct cut *cut)
{
    int64_t least = cut->layers;

    if (is_even(cut))
        return cut->layers / cut->stages;
    for (int64_t turn = 0; turn < cut->stages / cut->pp; turn++) {
        int64_t stage = turn * cut->pp + (cut->back && turn > 0 ? cut->pp - 1 : 0);
        int64_t n = stages_before(cut, stage + 1) - stages_before(cut, stage);

        least = n < least ? n : least;
    }
    return least;
}

int64_t stages_most(const struct cut *cut)
{
    int64_t most = (cut->layers + cut->stages - 1) / cut->stages;

    for (int64_t stage = 0; stage < cut->stages && cut->split != SPACE_SPLIT_EVEN; stage++) {
        int64_t n = all_before(cut, stage + 1) - all_before(cut, stage);

        most = n > most ? n : most;
    }
    return most;
}

/* ---- seconds ---- */

void stages_of(struct stages *out, const struct subject *subject, const struct layout *layout,
               const struct piece *replicas, const struct piece *layers)
{
    *out = (struct stages){.subject = subject,
                           .layout = layout,
                           .replicas = replicas,
                           .layers = layers,
                           .cut = stages_cut(&subject->space, layout),
                           .stride = space_stride(layout, SPACE_PP)};
    /* Pieces of replicas do not tell in which half of a split backward phase their transfers are:
     * the bound assumes the later half. */
    for (int p = 0; p < PIECE_NPARTS; p++) {
        bool splits = attempt_splits(layout, ATTEMPT_LAYERS);
        double backward = replicas->parts[p].backward_s;

        /* If the gradients of each microbatch are scattered, they are rounded whole, and shards are
         * added instead of whole gradients: with ZeRO 2, and with ZeRO 3 unless a pipeline gathers
         * once a step. */
        if (out->cut.microbatches > 1 &&
            (layout->value[SPACE_ZERO] == 2 ||
             (layout->value[SPACE_ZERO] == 3 && layout->value[SPACE_PP] == 1)))
            backward += replicas->parts[p].sums_s - layers->parts[p].sums_s;
        out->parts[p] = (struct pair){layers->parts[p].forward_s + replicas->parts[p].forward_s,
                                      layers->parts[p].backward_s + (splits ? 0 : backward),
                                      layers->parts[p].weights_s + (splits ? backward : 0),
                                      splits ? 0 : replicas->parts[p].late_s};
    }
}

static void add_work(struct pair *sum, const struct pair *part, double times)
{
    sum->forward += times * part->forward;
    sum->backward += times * part->backward;
    sum->weights += times * part->weights;
    sum->late += times * part->late;
}

struct pair stages_work(const struct stages *s, int64_t layers, int64_t nstages, bool front,
                        bool back)
{
    struct pair sum = {0, 0, 0, 0};

    add_work(&sum, &s->parts[PIECE_LAYER], (double)layers);
    add_work(&sum, &s->parts[PIECE_STAGE], (double)nstages);
    if (front)
        add_work(&sum, &s->parts[PIECE_FRONT], 1);
    if (back)
        add_work(&sum, &s->parts[PIECE_BACK], 1);
    return sum;
}

double stages_sent(const struct stages *s, int64_t layers, bool front, bool back)
{
    const struct piece *r = s->replicas;
    double most = 0;

    for (int k = 0; k < EVENTS_STREAMS_MAX; k++) {
        double line = (double)layers * r->parts[PIECE_LAYER].sent_s[k] +
                      (front ? r->parts[PIECE_FRONT].sent_s[k] : 0) +
                      (back ? r->parts[PIECE_BACK].sent_s[k] : 0);

        most = fmax(most, line);
    }
    return most;
}

static double of_stage(double one, double each, int64_t layers)
{
    return one + (double)(layers > 1 ? layers - 1 : 0) * each;
}

/* Upper bound on the waits at the end of a phase, for any stage. */
static double last_seconds(const struct piece *piece)
{
    double stage = piece->parts[PIECE_LAYER].last_s + piece->parts[PIECE_STAGE].last_s;

    return stage + fmax(0, fmax(piece->parts[PIECE_FRONT].last_s, piece->parts[PIECE_BACK].last_s));
}

double stages_wait(const struct stages *s, enum hop_way way, int64_t from, int64_t rank,
                   int64_t layers)
{
    const struct hop *hop = &s->layers->hops[way];
    int tier = hardware_tier_between(s->subject->hardware, from * s->stride, rank * s->stride);
    bool beside = s->subject->hardware->software.overlaps_sends && s->cut.stages > s->cut.pp;

    return (beside ? 0 : hop->message_s[tier]) - of_stage(hop->free_s, hop->free_layer_s, layers) -
           last_seconds(s->layers) - last_seconds(s->replicas);
}

/* Seconds of a phase; `waits` NULL: the phase waits for no message. */
static struct phase phase_of(const struct stages *s, enum hop_way way, int64_t layers,
                             double seconds, double late_besides, const double *waits)
{
    const struct hop *hop = &s->layers->hops[way];
    double late = of_stage(hop->late_s, hop->late_layer_s, layers) + late_besides, end;

    end = seconds + (waits ? *waits : 0);
    return (struct phase){.own_s = seconds + (waits && *waits > 0 ? *waits : 0),
                          .way_s = end > late ? end - late : 0,
                          .end_s = end > 0 ? end : 0};
}

struct phases stages_phases(const struct stages *s, int64_t stage)
{
    const struct cut *cut = &s->cut;
    int64_t rank = stages_rank(cut, stage);
    int64_t n = stages_before(cut, stage + 1) - stages_before(cut, stage);
    bool first = stage == 0, last = stage + 1 == cut->stages;
    int64_t from = first ? rank : stages_rank(cut, stage - 1);
    int64_t to = last ? rank : stages_rank(cut, stage + 1);
    struct pair work = stages_work(s, n, 1, first, last);
    double before = stages_wait(s, HOP_FORWARD, from, rank, n);
    double behind = stages_wait(s, HOP_BACK, to, rank, n);

    struct phases phases = {
        phase_of(s, HOP_FORWARD, n, work.forward, 0, from == rank ? NULL : &before),
        phase_of(s, HOP_BACK, n, work.backward, work.late, to == rank ? NULL : &behind),
        work.weights > 0 ? work.weights : 0};

    if (!attempt_splits(s->layout, ATTEMPT_LAYERS)) { /* else in either half of the phase */
        double sent = stages_sent(s, n, first, last);

        phases.backward.own_s = fmax(phases.backward.own_s, sent);
        phases.backward.end_s = fmax(phases.backward.end_s, sent);
    }
    return phases;
}

double stages_start(const struct stages *s, int64_t layers, bool front, enum stages_start what)
{
    const struct piece *r = s->replicas;
    double most = 0, sum = 0;

    for (int k = 0; k < EVENTS_STREAMS_MAX; k++) {
        double line = (double)layers * r->parts[PIECE_LAYER].start_s[k] +
                      (front ? r->parts[PIECE_FRONT].start_s[k] : 0);

        most = line > most ? line : most;
        sum += line;
    }
    if (what == STAGES_GATHERED)
        return most;
    return s->subject->hardware->software.waits_for_collectives ? sum : 0;
}

double stages_arrival(const struct stages *s, int64_t from, int64_t rank)
{
    const struct hardware *h = s->subject->hardware;
    const struct piece *r = s->replicas;
    int tier = hardware_tier_between(h, from * s->stride, rank * s->stride);

    if (h->tiers[0].torus || from == rank || r->computes_first)
        return 0;
    return (double)stages_layers(&s->cut, rank) * r->parts[PIECE_LAYER].start_s[tier] +
           (rank == 0 ? r->parts[PIECE_FRONT].start_s[tier] : 0);
}

/* Messages run in the stream of their tier; on a torus they run in others and are left out. */
static double message_seconds(const struct stages *s, int k)
{
    const struct hardware *hardware = s->subject->hardware;
    int tier = hardware_tier_between(hardware, 0, (s->cut.pp - 1) * s->stride);

    return k == PIECE_STREAMS + tier && !hardware->tiers[0].torus
               ? s->replicas->update_message_s[tier]
               : 0;
}

double stages_update(const struct stages *s, int64_t layers, bool front)
{
    double most = 0;

    for (int k = 0; k < PIECE_NLINES; k++) {
        double line = (double)layers * s->replicas->parts[PIECE_LAYER].update_s[k];

        if (front)
            line += s->replicas->parts[PIECE_FRONT].update_s[k] + message_seconds(s, k);
        most = line > most ? line : most;
    }
    return most;
}

double stages_saved(const struct piece *piece, double layers)
{
    double bytes = layers * piece->parts[PIECE_LAYER].saved_bytes + piece->less_bytes;

    return layers > 0 && bytes > 0 ? bytes : 0;
}

double stages_renewed(const struct stages *s, int64_t layers, bool front, int stream)
{
    const struct piece *r = s->replicas;

    if (!s->subject->hardware->software.overlaps_gradients)
        return 0;
    return (double)layers * r->parts[PIECE_LAYER].update_s[PIECE_STREAMS + stream] +
           (front ? r->parts[PIECE_FRONT].update_s[PIECE_STREAMS + stream] : 0);
}
