/* versions.h - emission at work: the versions of values that a program has so far, and how a reader
 * gets the one that it needs.
 *
 * emit.c emits op after op; versions.c keeps what there is; bring.c adds the steps from a version
 * to a sharding and a stage; why.c says why a step is there.
 *
 * Thread class: owned by one thread.  Functions that return a status leave the message in the
 * emission's `err`: SHD_ENOMEM, or as partition/emit.h says.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_VERSIONS_H
#define PARTITION_VERSIONS_H

#include "partition/emit.h"

/* A version of a value: the value in one sharding, as a buffer of the program. */
struct version {
    uint32_t node;
    uint32_t sharding; /* sharding number */
    uint32_t buffer;
    uint8_t phase; /* phase that made the version */
    uint8_t part;
    bool again;     /* made by a recomputed op of the forward phase */
    uint32_t stage; /* stage that holds the version */
    uint32_t next;  /* older version of the same node, or PROGRAM_NONE */
};

/* Place of an op in a step: phase, part and stage. */
struct spot {
    uint8_t phase, part;
    bool again; /* a recomputed op of the forward phase */
    uint32_t stage;
};

struct emit {
    struct pool *pool; /* of the emission */
    struct program *program;
    struct placement *placement;
    const struct graph *graph;
    struct version *versions;
    uint32_t nversions;
    uint32_t *newest; /* by node, from `first` on */
    uint32_t first;
    uint32_t only;       /* emit only this value's steps; GRAPH_NONE: emit everything */
    const bool *inlined; /* by node: computed inside its reader */
    struct emit_opts opts;
    struct shd_error *err;
};

/* Stage of a node; without a schedule there is one. */
uint32_t emit_stage_of(const struct emit *e, uint32_t node);
struct spot emit_spot_of(const struct emit *e, uint32_t node);

/* An op of a kind and name at a spot. */
struct program_op emit_op_at(enum program_op_kind kind, const char *name, struct spot spot);

/* Register a buffer as the newest version of a node's value. */
void emit_keep_version(struct emit *e, uint32_t node, uint32_t sharding, uint32_t buffer,
                       struct spot spot);

/* Add a buffer that is not registered as a version. */
SHD_MUST_CHECK int emit_add_alone(struct emit *e, uint32_t node, uint32_t sharding,
                                  uint32_t *buffer);

/* Add a buffer for a node's array in a sharding, registered as its newest version. */
SHD_MUST_CHECK int emit_add_version(struct emit *e, uint32_t node, uint32_t sharding,
                                    struct spot spot, uint32_t *buffer);

/* ---- why.c ---- */

/* A sentence on why a step of a value's reshard is there; NULL: it communicates nothing. */
const char *emit_why(struct emit *e, uint32_t value, const struct shd_reshard_step *step,
                     const char *reader);

/* ---- bring.c ---- */

/* The usable version with the least reshard cost to `need`; NULL: none. */
const struct version *emit_cheapest(const struct emit *e, uint32_t node, uint32_t need,
                                    struct spot spot);

/* Whether a value is data that changes by microbatch or step.  In a pipeline each reading stage
 * fills in its own, for each microbatch in flight. */
bool emit_is_filled_anew(const struct emit *e, uint32_t node);

/* Whether a value is a mask input of attention: generated on every device that reads it, and never
 * communicated. */
bool emit_is_known_everywhere(const struct emit *e, uint32_t node);

SHD_MUST_CHECK int emit_fill(struct emit *e, uint32_t node, uint32_t sharding, struct spot spot);

/* Make a node's array available in the needed sharding, from the cheapest version. */
SHD_MUST_CHECK int emit_bring(struct emit *e, uint32_t node, uint32_t need, struct spot reader,
                              const char *asker, uint32_t *buffer);

#endif /* PARTITION_VERSIONS_H */
