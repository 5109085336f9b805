/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "search/bound.h"

/* The plan rounds each op to a nanosecond; a sum of many may be so much less. */
#define ROUNDED 1e-6

/* How a layout cuts the layers: as even as can be, layer l in stage l * stages / layers, and stage
 * s on rank s mod pp (model/pipeline.c, timetable/). */
struct cut {
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

    return (struct cut){.pp = pp,
                        .stages = pp * layout->value[SPACE_VIRTUAL],
                        .layers = space->layers,
                        .microbatches = (double)space_microbatches(space, layout)};
}

/* Layers in the stages before one. */
static int64_t before(const struct cut *cut, int64_t stage)
{
    return (stage * cut->layers + cut->stages - 1) / cut->stages;
}

static int64_t layers_of(const struct cut *cut, int64_t rank)
{
    int64_t n = 0;

    for (int64_t stage = rank; stage < cut->stages; stage += cut->pp)
        n += before(cut, stage + 1) - before(cut, stage);
    return n;
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
            saved = layers ? ahead_of(&subject->space, layout) * (double)(cut.layers / cut.stages) *
                                 layers->parts[PIECE_LAYER].saved_bytes
                           : 0;
        }
        if (rank == cut.pp - 1)
            there += replicas->parts[PIECE_BACK].state_bytes;
        most = larger(most, there + larger(saved, later));
    }
    return most * (1 + h->fragmentation) + h->reserved_bytes;
}

/* A layer for a microbatch, both phases or one. */
static double forward_of(const struct piece *replicas, const struct piece *layers)
{
    return layers->parts[PIECE_LAYER].forward_s + replicas->parts[PIECE_LAYER].forward_s;
}

static double backward_of(const struct piece *replicas, const struct piece *layers)
{
    return layers->parts[PIECE_LAYER].backward_s + replicas->parts[PIECE_LAYER].backward_s;
}

/* The argument: a rank does its own work for all microbatches, one after the other.  Before its
 * first action the first microbatch has gone forward through all stages before its first one. After
 * its last one, the backward phase of that stage, the last microbatch goes back through all of
 * these; where a schedule splits the backward phase, weights may be last, and nothing need come
 * after.  Of the others the rank that does stage 0 ends last, and only then begins its update. */
static double rank_seconds(const struct layout *layout, const struct cut *cut, int64_t rank,
                           const struct piece *replicas, const struct piece *layers)
{
    double forward = forward_of(replicas, layers), backward = backward_of(replicas, layers);
    double own = (double)layers_of(cut, rank) * (forward + backward);
    double ahead = (double)before(cut, rank), seconds = 0;

    if (rank == 0)
        own += layers->parts[PIECE_FRONT].forward_s + layers->parts[PIECE_FRONT].backward_s;
    else
        seconds += ahead * forward + layers->parts[PIECE_FRONT].forward_s;
    if (rank == cut->pp - 1)
        own += layers->parts[PIECE_BACK].forward_s + layers->parts[PIECE_BACK].backward_s;
    if (rank > 0 && layout->value[SPACE_SCHEDULE] != SPACE_ZBH1)
        seconds += ahead * backward + layers->parts[PIECE_FRONT].backward_s;
    return seconds + cut->microbatches * own;
}

/* Layers that are updated after the last backward phase: those of rank 0; of a schedule that splits
 * it those of any rank, after its own. */
static double updated(const struct layout *layout, const struct cut *cut)
{
    int64_t least = layers_of(cut, 0);

    for (int64_t rank = 1; rank < cut->pp && layout->value[SPACE_SCHEDULE] == SPACE_ZBH1; rank++) {
        int64_t n = layers_of(cut, rank);

        least = n < least ? n : least;
    }
    return (double)least;
}

double bound_time(const struct subject *subject, const struct layout *layout,
                  const struct piece *replicas, const struct piece *layers)
{
    const struct cut cut = cut_of(&subject->space, layout);
    double seconds = 0;

    for (int64_t rank = 0; rank < cut.pp; rank++)
        seconds = larger(seconds, rank_seconds(layout, &cut, rank, replicas, layers));
    seconds += updated(layout, &cut) * replicas->parts[PIECE_LAYER].update_s;
    if (cut.pp == 1)
        seconds += replicas->parts[PIECE_FRONT].update_s;
    return seconds * (1 - ROUNDED);
}
