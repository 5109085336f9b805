/* search/layout_pieces.h - lower bounds on the cost of a layer, and of what precedes and follows
 * all layers: read from the programs of pieces (attempt.h), once for all layouts that share them.
 *
 * Seconds come from the plan's own model (cost/op_seconds.h) and count only what certainly takes
 * the device's time: computations, and transfers that certainly hold computations up.
 *
 * Thread class: owned by one thread; immutable, and read by any number, once built.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_LAYOUT_PIECES_H
#define SEARCH_LAYOUT_PIECES_H

#include "cost/events.h"
#include "ranks/farm.h"
#include "search/attempt.h"
#include "search/hops.h"

/* Parts of the model: a layer, what each stage of a pipeline has besides its layers, and what
 * precedes the first layer and follows the last. */
enum piece_part { PIECE_LAYER, PIECE_STAGE, PIECE_FRONT, PIECE_BACK, PIECE_NPARTS };

/* Lines of a device, each serial: computations, and the transfers of each stream. */
enum { PIECE_COMPUTE, PIECE_STREAMS, PIECE_NLINES = PIECE_STREAMS + EVENTS_STREAMS_MAX };

struct piece {
    bool failed; /* the layout has no program; `why` is the reason */
    char why[160];
    struct {
        double forward_s, backward_s; /* of a microbatch */
        double waits_s;               /* of both phases: transfers that computations wait for */
        double late_s;                /* of waits_s: backward, after the stage's message was sent */
        double last_s;                /* of waits_s: at the end of a phase, after computations */
        double sums_s;                /* backward: rounding gradients and adding them to those of
                                         earlier microbatches; of replicas, too, as ZeRO does it */
        double weights_s;      /* the later half of a backward phase that the schedule splits */
        double saved_bytes;    /* activations of a microbatch kept from forward to backward */
        double state_bytes;    /* parameters and the optimizer's state */
        double gradient_bytes; /* sums over microbatches, when the update begins */
        double update_s[PIECE_NLINES];        /* once a step, when all gradients are complete */
        double streams_s[EVENTS_STREAMS_MAX]; /* of a microbatch: all transfers, also those in
                                                 parallel to compute */
        double sent_s[EVENTS_STREAMS_MAX]; /* of streams_s: gradients that a phase makes and, once
                                              they are combined, reads itself */
        double summed_s[EVENTS_STREAMS_MAX];  /* once a step: gradients, when all are added up */
        double once_s[EVENTS_STREAMS_MAX];    /* once a step: transfers of its start and update */
        double start_s[EVENTS_STREAMS_MAX]; /* of once_s: gathers at the start of the step */
    } parts[PIECE_NPARTS];
    /* With a pipeline: `hops` of a piece of layers, `update_message_s` of a piece of replicas. */
    struct hop hops[HOP_NWAYS];
    double update_message_s[HARDWARE_TIERS_MAX];
};

struct pieces; /* opaque */

struct pieces *pieces_create(const struct subject *subject); /* NULL: no memory */
void pieces_destroy(struct pieces *pieces);                  /* NULL is allowed */

/* Lower bound on a piece of layers with fewer sequences at a time, from a piece with a multiple of
 * them: larger kernels and collectives are no slower per sequence.  `part` is the ratio of
 * sequences; bytes stay those of the larger piece. */
void piece_scale(struct piece *out, const struct piece *piece, double part);

/* The number of a layout's piece; a new piece is not built yet.  UINT32_MAX: no memory. */
uint32_t pieces_find(struct pieces *pieces, const struct layout *layout, enum attempt_kind kind);

/* The number of a piece that bounds a layout's piece of replicas from below, and is read from the
 * program of the most replicas and shards: one for all layouts that differ in these numbers and in
 * the order of the mesh's axes.  If it failed, it bounds nothing.  UINT32_MAX: no memory. */
uint32_t pieces_find_alike(struct pieces *pieces, const struct layout *layout);

/* Build the pieces that are not built yet, with `nthreads` threads or (not NULL) by a farm of
 * crew_work() (crew.h); the pieces do not depend on the choice.  `stop` (may be NULL) ends the work
 * early.  SHD_ENOMEM. */
SHD_MUST_CHECK int pieces_build(struct pieces *pieces, struct farm *farm, int nthreads,
                                const int *stop, struct shd_error *err);

/* Build the pieces out[n] of layouts that differ only in the order of the mesh's axes, outside of a
 * `struct pieces`.  SHD_ENOMEM. */
SHD_MUST_CHECK int pieces_build_apart(struct piece *out, const struct subject *subject,
                                      const struct layout *layouts, uint32_t n,
                                      enum attempt_kind kind);

const struct piece *pieces_get(const struct pieces *pieces, uint32_t piece);
uint32_t pieces_count(const struct pieces *pieces);

#endif /* SEARCH_LAYOUT_PIECES_H */
