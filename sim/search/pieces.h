/* search/pieces.h - what a layer, and what lies before and behind all layers, cost at the least:
 * read from the programs of pieces (attempt.h), once for all layouts in which they are the same.
 *
 * Seconds are those of the plan's own model (cost/op_seconds.h), and count only what surely takes
 * the device's time: computations, and transfers for which they surely wait.
 *
 * Thread class: owned by one thread; immutable, and read by any number, once built.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_PIECES_H
#define SEARCH_PIECES_H

#include "cost/events.h"
#include "ranks/farm.h"
#include "search/attempt.h"
#include "search/hops.h"

/* Where in the model: what a layer has, what each stage of a pipeline has besides its layers, and
 * what comes to it before the first and behind the last. */
enum piece_part { PIECE_LAYER, PIECE_STAGE, PIECE_FRONT, PIECE_BACK, PIECE_NPARTS };

/* What a device does one after the other: computations, and the transfers of each stream. */
enum { PIECE_COMPUTE, PIECE_STREAMS, PIECE_NLINES = PIECE_STREAMS + EVENTS_STREAMS_MAX };

struct piece {
    bool failed; /* there is no such program; `why` says why */
    char why[160];
    struct {
        double forward_s, backward_s; /* of a microbatch */
        double waits_s;               /* of both: transfers that computations wait for, ... */
        double late_s;                /* ... those back that come behind the stage's message, ... */
        double last_s;                /* ... and those behind all that it computes */
        double sums_s;         /* back: gradients are added to those of microbatches before */
        double weights_s;      /* where a schedule splits the backward phase, what it does later */
        double saved_bytes;    /* of one, that lie there from forward to backward */
        double state_bytes;    /* parameters and the optimizer's state */
        double gradient_bytes; /* sums over microbatches, when the update begins */
        double update_s[PIECE_NLINES];        /* once a step, when all gradients are there */
        double streams_s[EVENTS_STREAMS_MAX]; /* of a microbatch: transfers, waited for or not */
        double once_s[EVENTS_STREAMS_MAX];    /* of a step: transfers at any time of it */
        double start_s[EVENTS_STREAMS_MAX]; /* of these what is gathered before it is first read */
    } parts[PIECE_NPARTS];
    /* With a pipeline: of a piece of layers, and of one of replicas. */
    struct hop hops[HOP_NWAYS];
    double update_message_s[HARDWARE_TIERS_MAX];
};

struct pieces; /* opaque */

struct pieces *pieces_create(const struct subject *subject); /* NULL: no memory */
void pieces_destroy(struct pieces *pieces);                  /* NULL is allowed */

/* Of a piece of layers for a layout of so many sequences at a time, what it costs at the least,
 * from one of more sequences (a multiple): a kernel of more work is no slower for each part of it,
 * and a collective neither.  The bytes are those of the piece of more. */
void piece_scale(struct piece *out, const struct piece *piece, double part);

/* The number of the piece of a layout; a new one is not built yet.  UINT32_MAX: no memory. */
uint32_t pieces_find(struct pieces *pieces, const struct layout *layout, enum attempt_kind kind);

/* Build those that are not, with so many threads or (not NULL) by a farm of crew_work() (crew.h);
 * what comes out does not depend on it.  `stop` (may be NULL) ends it.  SHD_ENOMEM. */
SHD_MUST_CHECK int pieces_build(struct pieces *pieces, struct farm *farm, int nthreads,
                                const int *stop, struct shd_error *err);

/* Build pieces apart: those of layouts that differ in the order of the mesh's axes alone, out[n].
 * SHD_ENOMEM. */
SHD_MUST_CHECK int pieces_build_apart(struct piece *out, const struct subject *subject,
                                      const struct layout *layouts, uint32_t n,
                                      enum attempt_kind kind);

const struct piece *pieces_get(const struct pieces *pieces, uint32_t piece);
uint32_t pieces_count(const struct pieces *pieces);

#endif /* SEARCH_PIECES_H */
