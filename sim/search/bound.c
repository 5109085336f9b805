/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "search/bound.h"

/* The plan rounds each op to a nanosecond; a sum of many may be so much less. */
#define ROUNDED 1e-6

/* How a layout cuts the layers.  They lie as evenly as can be, so that each stage has `least` of
 * them or one more, and some rank has at least `busiest`. */
struct cut {
    double pp, stages_per_rank, microbatches, least, busiest, layers;
};

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static struct cut cut_of(const struct space *space, const struct layout *layout)
{
    int64_t pp = layout->value[SPACE_PP], v = layout->value[SPACE_VIRTUAL];

    return (struct cut){.pp = (double)pp,
                        .stages_per_rank = (double)v,
                        .microbatches = (double)space_microbatches(space, layout),
                        .least = (double)(space->layers / (pp * v)),
                        .busiest = (double)((space->layers + pp - 1) / pp),
                        .layers = (double)space->layers};
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
    bool alone = cut.pp == 1;
    double own = alone ? cut.layers : cut.least * cut.stages_per_rank;
    double state = own * replicas->parts[PIECE_LAYER].state_bytes +
                   replicas->parts[PIECE_FRONT].state_bytes +
                   (alone ? replicas->parts[PIECE_BACK].state_bytes : 0);
    double gradients = own * replicas->parts[PIECE_LAYER].gradient_bytes +
                       replicas->parts[PIECE_FRONT].gradient_bytes;
    double saved = !layers ? 0
                   : alone ? cut.layers * layers->parts[PIECE_LAYER].saved_bytes
                           : ahead_of(&subject->space, layout) * cut.least *
                                 layers->parts[PIECE_LAYER].saved_bytes;
    double first = state + (saved > gradients ? saved : gradients);
    double busiest = cut.busiest * (replicas->parts[PIECE_LAYER].state_bytes +
                                    replicas->parts[PIECE_LAYER].gradient_bytes);

    return (first > busiest ? first : busiest) * (1 + h->fragmentation) + h->reserved_bytes;
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

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* The argument, for a pipeline: rank p-1 does its own work for all microbatches, one after the
 * other.  Before its first action the first microbatch has gone forward through the stage of each
 * rank before it.  After its last one, the backward phase of stage p-1, the last microbatch goes
 * back through all of these; where a schedule splits the backward phase, weights may be last, and
 * nothing comes after.  Stage 0 is the last of all to end, and only then begins the update of its
 * rank.  Besides, the rank of the most layers does all of these for all microbatches, and so does
 * rank 0, with what comes before the layers. */
static double pipeline_of(const struct layout *layout, const struct cut *cut,
                          const struct piece *replicas, const struct piece *layers)
{
    double forward = forward_of(replicas, layers), backward = backward_of(replicas, layers);
    double front = layers->parts[PIECE_FRONT].forward_s + layers->parts[PIECE_FRONT].backward_s;
    double back = layers->parts[PIECE_BACK].forward_s + layers->parts[PIECE_BACK].backward_s;
    double own = cut->least * cut->stages_per_rank * (forward + backward);
    double fill = layers->parts[PIECE_FRONT].forward_s + (cut->pp - 1) * cut->least * forward;
    double drain = layers->parts[PIECE_FRONT].backward_s + (cut->pp - 1) * cut->least * backward;
    double last = fill + cut->microbatches * (own + back);
    double busiest = cut->microbatches * cut->busiest * (forward + backward);

    if (layout->value[SPACE_SCHEDULE] != SPACE_ZBH1)
        last += drain;
    return larger(larger(last, busiest), cut->microbatches * (own + front));
}

double bound_time(const struct subject *subject, const struct layout *layout,
                  const struct piece *replicas, const struct piece *layers)
{
    const struct cut cut = cut_of(&subject->space, layout);
    double seconds = 0, own = cut.least * cut.stages_per_rank;

    if (cut.pp > 1) {
        seconds = pipeline_of(layout, &cut, replicas, layers) +
                  own * replicas->parts[PIECE_LAYER].update_s;
    } else {
        seconds = cut.layers * (forward_of(replicas, layers) + backward_of(replicas, layers));
        for (int k = PIECE_FRONT; k < PIECE_NPARTS; k++)
            seconds += layers->parts[k].forward_s + layers->parts[k].backward_s;
        seconds = cut.microbatches * seconds + cut.layers * replicas->parts[PIECE_LAYER].update_s;
    }
    return seconds * (1 - ROUNDED);
}
