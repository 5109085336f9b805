/* search/stage_bounds.h - lower bounds on the time of each pipeline stage for a microbatch, from
 * the layout's pieces (layout_pieces.h).
 *
 * A rank issues a receive after all its work before the phase.  Counted from the receive, the phase
 * takes its computations, plus the time by which the message exceeds the computations that can run
 * before it arrives.  Counted from the send, it takes the message and all the other computations.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_STAGE_BOUNDS_H
#define SEARCH_STAGE_BOUNDS_H

#include "search/layout_pieces.h"

/* How a layout assigns layers to stages and stages to ranks: layers as evenly as possible, layer l
 * in stage l * stages / layers, or as the scenario lists them; stage s on rank s mod pp, or down
 * the ranks and up again (model/pipeline.c, timetable/). */
struct cut {
    const struct space *space;
    enum space_split split;
    bool back, together; /* `together`: a forward and a backward phase may run as one */
    int64_t pp, stages, layers;
    int64_t microbatches;
};

struct cut stages_cut(const struct space *space, const struct layout *layout);

/* Layers in the stages before `stage`, in all stages of a rank, and in the smallest stage of rank
 * 0.  If some layers have experts only these count, because pieces consist of them: a bound may
 * leave out the time of the other layers. */
int64_t stages_before(const struct cut *cut, int64_t stage);
int64_t stages_layers(const struct cut *cut, int64_t rank);
int64_t stages_least(const struct cut *cut);

/* Layers of all kinds in the largest stage. */
int64_t stages_most(const struct cut *cut);

/* The rank of a stage. */
int64_t stages_rank(const struct cut *cut, int64_t stage);

/* Time of a part of the model for a microbatch, by phase; `weights` is the later half of a backward
 * phase that the schedule splits. */
struct pair {
    double forward, backward, weights;
    double late; /* of `backward`: waits of replicas after the message was sent */
};

struct stages {
    const struct subject *subject;
    const struct layout *layout;
    const struct piece *replicas, *layers;
    struct cut cut;
    struct pair parts[PIECE_NPARTS];
    int64_t stride; /* in devices, from rank to rank */
};

/* Time of `layers` layers in `nstages` stages; `front` adds what precedes the first layer, `back`
 * what follows the last. */
struct pair stages_work(const struct stages *s, int64_t layers, int64_t nstages, bool front,
                        bool back);

/* Activations that a stage of some layers keeps of a microbatch, by a piece of layers. */
double stages_saved(const struct piece *piece, double layers);

/* Seconds to reduce a microbatch's gradients between replicas, of `layers` layers and of what
 * precedes or follows all.  A backward phase takes no less: it makes, awaits and accumulates these
 * gradients before the next phase begins. */
double stages_sent(const struct stages *s, int64_t layers, bool front, bool back);

/* How long a rank with `layers` layers, the first one or not, gathers parameters before the first
 * microbatch: in its longest stream (STAGES_GATHERED), or while the rank waits before it does
 * anything else (STAGES_WAITED). */
enum stages_start { STAGES_GATHERED, STAGES_WAITED };
double stages_start(const struct stages *s, int64_t layers, bool front, enum stages_start what);

/* When a rank has gathered what it gathers before the first microbatch over the links of a message
 * from another rank: the message arrives over them later, however early it is sent. */
double stages_arrival(const struct stages *s, int64_t from, int64_t rank);

void stages_of(struct stages *out, const struct subject *subject, const struct layout *layout,
               const struct piece *replicas, const struct piece *layers);

/* How long a phase of a stage with `layers` layers waits for the message from another rank, counted
 * from when the message is sent; negative if the rank has more to do meanwhile.  Waits for replicas
 * at the end of the phase before run in parallel to the message. */
double stages_wait(const struct stages *stages, enum hop_way way, int64_t from, int64_t rank,
                   int64_t layers);

/* Seconds of a phase. */
struct phase {
    double own_s; /* from when the rank reaches the phase, if its message was sent by then */
    double way_s; /* from the send of the awaited message until the phase sends its own
                     message */
    double end_s; /* from the send of the awaited message until the phase ends */
};

struct phases {
    struct phase forward, backward;
    double weights_s;
};

struct phases stages_phases(const struct stages *stages, int64_t stage);

/* Time of the update of a rank with `layers` layers after its last backward phase: the longest of
 * its lines, each of which is serial.  `front`: with what precedes the layers. */
double stages_update(const struct stages *stages, int64_t layers, bool front);

/* Of it, how long a stream moves updated parameters, after the gradients that it has combined
 * beside computation; 0 if gradients are combined in the update. */
double stages_renewed(const struct stages *stages, int64_t layers, bool front, int stream);

#endif /* SEARCH_STAGE_BOUNDS_H */
