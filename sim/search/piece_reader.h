/* search/piece_reader.h - lower bounds on the cost of a layer, and of what precedes and follows all
 * layers, read from the program of a piece (attempt.h).
 *
 * Seconds come from the plan's own model (cost/op_seconds.h) and count only what certainly takes
 * the device's time: computations, and transfers that certainly hold computations up.
 *
 * Thread class: owned by one thread; immutable, and read by any number, once read.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_PIECE_READER_H
#define SEARCH_PIECE_READER_H

#include "cost/events.h"
#include "cost/op_seconds.h"
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
    bool of_layers; /* ATTEMPT_LAYERS; false: ATTEMPT_REPLICAS */
    bool computes_first; /* something is computed before the first microbatch: what gathers then is
                            not busy from the step's start on */
    struct {
        double forward_s, backward_s; /* of a microbatch */
        double waits_s;               /* of both phases: transfers that computations wait for */
        double late_s;                /* of waits_s: backward, after the stage's message was sent */
        double last_s;                /* of waits_s: at the end of a phase, after computations */
        double sums_s;                /* backward: rounding gradients and accumulating them over
                                         microbatches; with ZeRO, also over replicas */
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
    double less_bytes;    /* of a microbatch: what a stage saves less than its layers; at most 0 */
    double working_bytes; /* activations in the backward phase of a stage at their most, besides those
                             that its layers keep */
    /* With a pipeline: `hops` of a piece of layers, `update_message_s` of a piece of replicas. */
    struct hop hops[HOP_NWAYS];
    double update_message_s[HARDWARE_TIERS_MAX];
};

/* Lower bound on a piece of layers with fewer sequences at a time, from a piece with a multiple of
 * them: larger kernels and collectives are no slower per sequence.  `part` is the ratio of
 * sequences; bytes stay those of the larger piece. */
void piece_scale(struct piece *out, const struct piece *piece, double part);

/* Make `least` a bound on both pieces, of one kind: costs are the least of both; what bounds take off
 * for lack of knowledge is the most. */
void piece_lower(struct piece *least, const struct piece *piece);

/* Which layout's piece to read, its kind, and the type of its layers. */
struct piece_of {
    const struct layout *layout;
    enum attempt_kind kind;
    enum scenario_layer_type type;
    bool staged; /* the layout has a pipeline */
};

/* When an array is there, from the start of the phase that makes it on; `turn`: 0 before. */
struct piece_ready {
    uint32_t turn;
    double seconds;
};

/* A program of pieces, with the times of its ops. */
struct piece_source {
    struct variant attempt;
    struct op_seconds seconds;
    uint32_t *stages; /* [buffer] for arrays that exist before the step */
    uint32_t *reader; /* [buffer] first computation that reads the buffer; PROGRAM_NONE */
    bool *fixed;      /* [buffer] equal in all microbatches: computed from parameters alone */
    bool *covered;    /* [op] of a piece of replicas: what delays it may count in that of layers */
    struct piece_ready *ready; /* [buffer] */
    bool built;
};

/* Build the program with `layers` layers.  Free it on failure, too.  SHD_ENOMEM, or the reason why
 * the layout has no program. */
SHD_MUST_CHECK int piece_source_init(struct piece_source *out, const struct subject *subject,
                                     const struct piece_of *of, int64_t layers,
                                     struct shd_error *err);
void piece_source_fini(struct piece_source *source);

/* Read a piece from its program or, without stages, from the programs of two and three layers. */
SHD_MUST_CHECK int piece_read(struct piece *out, const struct subject *subject,
                              const struct piece_source sources[2], const struct piece_of *of,
                              struct shd_error *err);

#endif /* SEARCH_PIECE_READER_H */
