/* search/stages.h - what each stage of a layout's pipeline takes for a microbatch at the least,
 * from its pieces (pieces.h).
 *
 * A receive is issued when its rank has done all before it.  So from then a phase takes its
 * computations, and the part of the message that is longer than those which need not wait for it;
 * and from when the message is sent, all but these.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_STAGES_H
#define SEARCH_STAGES_H

#include "search/pieces.h"

/* How a layout cuts the layers: as even as can be, layer l in stage l * stages / layers, or as the
 * scenario has it; and stage s on rank s mod pp, or down the ranks and up again (model/pipeline.c,
 * timetable/). */
struct cut {
    const struct space *space;
    bool given, back, together; /* a forward and a backward phase may run as one */
    int64_t pp, stages, layers;
    int64_t microbatches;
};

struct cut stages_cut(const struct space *space, const struct layout *layout);

/* Layers in the stages before one, of all stages of a rank, and in the stage of rank 0 that has the
 * fewest.  Where some layers have experts only these count, for they are what pieces are of: the
 * others take something, too, which a bound may leave out. */
int64_t stages_before(const struct cut *cut, int64_t stage);
int64_t stages_layers(const struct cut *cut, int64_t rank);
int64_t stages_least(const struct cut *cut);

/* Layers of all kinds in the stage that has the most. */
int64_t stages_most(const struct cut *cut);

/* The rank of a stage. */
int64_t stages_rank(const struct cut *cut, int64_t stage);

/* A part of the model for a microbatch, in each direction; where a schedule splits the backward
 * phase, what it does later aside. */
struct pair {
    double forward, backward, weights;
    double late; /* of `backward`, what replicas wait for when the message was sent */
};

struct stages {
    const struct subject *subject;
    const struct layout *layout;
    const struct piece *replicas, *layers;
    struct cut cut;
    struct pair parts[PIECE_NPARTS];
    int64_t stride; /* from rank to rank */
};

/* What so many layers in so many stages take; with what comes before the first layer, or behind the
 * last. */
struct pair stages_work(const struct stages *s, int64_t layers, int64_t nstages, bool front,
                        bool back);

/* What a rank of so many layers, the first one or not, gathers before the first microbatch reads
 * it: all that it takes, or what the rank waits for before it does anything else. */
enum stages_start { STAGES_GATHERED, STAGES_WAITED };
double stages_start(const struct stages *s, int64_t layers, bool front, enum stages_start what);

void stages_of(struct stages *out, const struct subject *subject, const struct layout *layout,
               const struct piece *replicas, const struct piece *layers);

/* What a phase of a stage of so many layers on a rank waits for the message from another rank, from
 * when that is sent; negative where it has more to do meanwhile.  What replicas wait for at the end
 * of the phase before, they wait for beside the message. */
double stages_wait(const struct stages *stages, enum hop_way way, int64_t from, int64_t rank,
                   int64_t layers);

/* Seconds of a phase. */
struct phase {
    double own_s; /* from when the rank comes to it, with a message that is there by then */
    double way_s; /* from when its message is sent until it sends its own */
    double end_s; /* from when its message is sent until it ends */
};

struct phases {
    struct phase forward, backward;
    double weights_s;
};

struct phases stages_phases(const struct stages *stages, int64_t stage);

/* The update of a rank of so many layers, when its last backward phase has ended: each line of it
 * is done one after the other.  `front`: with what is before the layers. */
double stages_update(const struct stages *stages, int64_t layers, bool front);

#endif /* SEARCH_STAGES_H */
