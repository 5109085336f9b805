/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "search/bound.h"

/* The plan rounds each op to a nanosecond; a sum of many may be so much less. */
#define ROUNDED 1e-6

/* How a layout cuts the layers: as even as can be, layer l in stage l * stages / layers, and stage
 * s on rank s mod pp (model/pipeline.c, timetable/). */
struct cut {
    const struct space *space;
    int64_t pp, stages, layers;
    double microbatches;
};

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static struct cut cut_of(const struct space *space, const struct layout *layout)
{
    int64_t pp = layout->value[SPACE_PP];

    return (struct cut){.space = space,
                        .pp = pp,
                        .stages = pp * layout->value[SPACE_VIRTUAL],
                        .layers = space->layers,
                        .microbatches = (double)space_microbatches(space, layout)};
}

/* Layers in the stages before one. Where some layers have experts only these count, for they are
 * what pieces are of: the others take something, too, which a bound may leave out. */
static int64_t before(const struct cut *cut, int64_t stage)
{
    return space_usual(cut->space, (stage * cut->layers + cut->stages - 1) / cut->stages);
}

static int64_t layers_of(const struct cut *cut, int64_t rank)
{
    int64_t n = 0;

    for (int64_t stage = rank; stage < cut->stages; stage += cut->pp)
        n += before(cut, stage + 1) - before(cut, stage);
    return n;
}

/* Layers in the stage of rank 0 that has the fewest. */
static int64_t least_in_stage(const struct cut *cut)
{
    int64_t least = cut->layers;

    for (int64_t stage = 0; stage < cut->stages; stage += cut->pp)
        least = smaller(least, before(cut, stage + 1) - before(cut, stage));
    return least;
}

/* Stages of rank 0, each for a microbatch, that are done forward before it begins a backward phase:
 * what it saved in each is there then. */
static double ahead_of(const struct space *space, const struct layout *layout)
{
    int64_t pp = layout->value[SPACE_PP], v = layout->value[SPACE_VIRTUAL];
    int64_t microbatches = space_microbatches(space, layout);

    if (layout->value[SPACE_SCHEDULE] != SPACE_INTERLEAVED)
        return (double)smaller(pp, microbatches);
    return (double)smaller(2 * (pp - 1) + (v - 1) * smaller(pp, microbatches) + 1,
                           microbatches * v);
}

/* The argument: on each rank the parameters and the optimizer's state are there all the time.  When
 * rank 0 begins its first backward phase, so is what it saved in all forward phases before that;
 * when a rank has done its last one, so are the sums of all its gradients.  A program that gathers
 * or copies has more, and none has less. */
double bound_memory(const struct subject *subject, const struct layout *layout,
                    const struct piece *replicas, const struct piece *layers)
{
    const struct cut cut = cut_of(&subject->space, layout);
    const struct hardware *h = subject->hardware;
    double state = replicas->parts[PIECE_LAYER].state_bytes;
    double gradients = replicas->parts[PIECE_LAYER].gradient_bytes, most = 0;

    for (int64_t rank = 0; rank < cut.pp; rank++) {
        double n = (double)layers_of(&cut, rank), there = n * state, later = n * gradients;
        double saved = 0;

        if (rank == 0) {
            there += replicas->parts[PIECE_FRONT].state_bytes;
            later += replicas->parts[PIECE_FRONT].gradient_bytes;
            saved = layers ? ahead_of(&subject->space, layout) * (double)least_in_stage(&cut) *
                                 layers->parts[PIECE_LAYER].saved_bytes
                           : 0;
        }
        if (rank == cut.pp - 1)
            there += replicas->parts[PIECE_BACK].state_bytes;
        most = larger(most, there + larger(saved, later));
    }
    return most * (1 + h->fragmentation) + h->reserved_bytes;
}

/* ---- time ---- */

struct pair {
    double forward, backward;
};

/* A layout with what its parts take. */
struct bound {
    const struct subject *subject;
    const struct layout *layout;
    const struct piece *replicas, *layers;
    struct cut cut;
    struct pair parts[PIECE_NPARTS]; /* of a microbatch; replicas' own are in it */
    int64_t stride;                  /* from rank to rank */
};

static void set_bound(struct bound *b, const struct subject *subject, const struct layout *layout,
                      const struct piece *replicas, const struct piece *layers)
{
    *b = (struct bound){.subject = subject,
                        .layout = layout,
                        .replicas = replicas,
                        .layers = layers,
                        .cut = cut_of(&subject->space, layout),
                        .stride = space_stride(layout, SPACE_PP)};
    for (int p = 0; p < PIECE_NPARTS; p++)
        b->parts[p] = (struct pair){layers->parts[p].forward_s + replicas->parts[p].forward_s,
                                    layers->parts[p].backward_s + replicas->parts[p].backward_s};
}

/* A phase of a stage for a microbatch. */
struct phase {
    double own_s; /* that the rank has with it, waiting for the message among it */
    double way_s; /* from when the stage before has sent its message until it sends its own */
};

static double of_stage(double one, double each, int64_t layers)
{
    return one + (double)(layers > 1 ? layers - 1 : 0) * each;
}

/* A receive is issued when the rank has done all before it; what need not wait for it is done
 * meanwhile.  So from when it is issued the phase takes its computations, and the part of the
 * message that is longer than these; and behind the message all but these. */
static struct phase phase_of(const struct bound *b, enum hop_way way, int64_t from, int64_t to,
                             int64_t layers, double seconds)
{
    const struct hop *hop = &b->layers->hops[way];
    int tier = hardware_tier_between(b->subject->hardware, from * b->stride, to * b->stride);
    double waits = hop->message_s[tier] - of_stage(hop->free_s, hop->free_layer_s, layers);
    double way_s = seconds + waits - of_stage(hop->late_s, hop->late_layer_s, layers);

    return (struct phase){seconds + larger(waits, 0), larger(way_s, 0)};
}

struct phases {
    struct phase forward, backward;
};

/* All that a stage does for a microbatch. */
static struct phases phases_of(const struct bound *b, int64_t stage)
{
    const struct cut *cut = &b->cut;
    int64_t rank = stage % cut->pp, n = before(cut, stage + 1) - before(cut, stage);
    struct pair s = {(double)n * b->parts[PIECE_LAYER].forward + b->parts[PIECE_STAGE].forward,
                     (double)n * b->parts[PIECE_LAYER].backward + b->parts[PIECE_STAGE].backward};
    struct phases out;

    if (stage == 0) {
        s.forward += b->parts[PIECE_FRONT].forward;
        s.backward += b->parts[PIECE_FRONT].backward;
    }
    if (stage + 1 == cut->stages) {
        s.forward += b->parts[PIECE_BACK].forward;
        s.backward += b->parts[PIECE_BACK].backward;
    }
    out.forward =
        stage == 0 ? phase_of(b, HOP_FORWARD, 0, 0, n, s.forward)
                   : phase_of(b, HOP_FORWARD, (rank + cut->pp - 1) % cut->pp, rank, n, s.forward);
    out.backward = stage + 1 == cut->stages
                       ? phase_of(b, HOP_BACK, 0, 0, n, s.backward)
                       : phase_of(b, HOP_BACK, (rank + 1) % cut->pp, rank, n, s.backward);
    if (stage == 0)
        out.forward.own_s = s.forward;
    if (stage + 1 == cut->stages)
        out.backward.own_s = s.backward;
    return out;
}

/* The argument: a rank does its own work for all microbatches, one after the other, and waits for a
 * message before each but the first stage's forward and the last one's backward phase.  Before its
 * first action the first microbatch has gone forward through all stages before its first one. After
 * its last one, the backward phase of that stage, the last microbatch goes back through all of
 * these; where a schedule splits the backward phase, weights may be last, and nothing need come
 * after.  Of the others the rank that does stage 0 ends last, and only then begins its update.
 * `ahead`: through the stages before the rank's first. */
static double rank_seconds(const struct bound *b, int64_t rank, const struct pair *ahead)
{
    bool splits = b->layout->value[SPACE_SCHEDULE] == SPACE_ZBH1;
    double own = 0, late = 0;

    for (int64_t stage = rank; stage < b->cut.stages; stage += b->cut.pp) {
        struct phases p = phases_of(b, stage);

        own += p.forward.own_s + p.backward.own_s;
    }
    if (rank > 0 && !splits) /* the last backward phase may send before it ends */
        late = of_stage(b->layers->hops[HOP_BACK].late_s, b->layers->hops[HOP_BACK].late_layer_s,
                        before(&b->cut, rank + 1) - before(&b->cut, rank));
    return ahead->forward + b->cut.microbatches * own +
           (splits ? 0 : larger(ahead->backward - late, 0));
}

/* The update, after the last backward phase: that of rank 0; of a schedule that splits it that of
 * any rank's layers, after its own.  Each line of it is done one after the other. */
static double update_seconds(const struct bound *b)
{
    bool splits = b->layout->value[SPACE_SCHEDULE] == SPACE_ZBH1;
    int64_t least = layers_of(&b->cut, 0);
    double most = 0;

    for (int64_t rank = 1; rank < b->cut.pp && splits; rank++)
        least = smaller(least, layers_of(&b->cut, rank));
    for (int k = 0; k < PIECE_NLINES; k++)
        most = larger(most, (double)least * b->replicas->parts[PIECE_LAYER].update_s[k] +
                                (splits ? 0 : b->replicas->parts[PIECE_FRONT].update_s[k]));
    return most;
}

/* A stream of transfers does one after the other, whatever runs beside it. */
static double stream_seconds(const struct bound *b)
{
    int64_t layers = layers_of(&b->cut, 0);
    double most = 0;

    for (int64_t rank = 1; rank < b->cut.pp; rank++)
        layers = layers_of(&b->cut, rank) > layers ? layers_of(&b->cut, rank) : layers;
    for (int k = 0; k < EVENTS_STREAMS_MAX; k++)
        most = larger(most, (double)layers * (b->cut.microbatches *
                                                  (b->layers->parts[PIECE_LAYER].streams_s[k] +
                                                   b->replicas->parts[PIECE_LAYER].streams_s[k]) +
                                              b->replicas->parts[PIECE_LAYER].once_s[k]));
    return most;
}

double bound_time(const struct subject *subject, const struct layout *layout,
                  const struct piece *replicas, const struct piece *layers)
{
    struct bound b;
    struct pair ahead = {0, 0};
    struct phases p;
    double seconds = 0;

    set_bound(&b, subject, layout, replicas, layers);
    for (int64_t rank = 0; rank < b.cut.pp; rank++) {
        seconds = larger(seconds, rank_seconds(&b, rank, &ahead));
        p = phases_of(&b, rank);
        ahead.forward += p.forward.way_s;
        ahead.backward += p.backward.way_s;
    }
    seconds = larger(seconds + update_seconds(&b), stream_seconds(&b));
    return seconds * (1 - ROUNDED);
}
