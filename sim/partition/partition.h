/* partition.h - a graph and shardings -> a program: what GSPMD and Shardy do for XLA.
 *
 * Some values have a sharding that is asked for (inputs, parameters, constraints, results); the
 * partitioner chooses the rest so that the whole step costs least, and inserts the steps that take
 * a value from the sharding it has to the one that its reader needs.  It knows dimensions and
 * axes, and no strategy by name.
 *
 * How: every op is given an assignment, which mesh axis cuts which of its dimensions.  An axis on a
 * dimension that the op sums over leaves a partial result; linear ops may pass a partial value on.
 * Candidates come from the neighbours' shardings.  The first choice follows the data; then ops
 * are revisited, forwards and backwards, as long as the cost falls (partition/search.h).
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_PARTITION_H
#define PARTITION_PARTITION_H

#include <shd/error.h>
#include <shd/mesh.h>
#include <shd/sharding.h>

#include "graph/graph.h"
#include "hardware/hardware.h"
#include "program/program.h"

/* How the partitioner places what nobody asked for. */
enum partition_placement {
    PARTITION_FOLLOW, /* axes go where operands, rules and constraints bring them (follow.h) */
    PARTITION_SEARCH  /* for the fewest bytes, or the least time (search.h) */
};

/* What becomes of a gathered copy, larger than the array's own shard, after the phase that gathered
 * it. */
enum partition_gathered {
    PARTITION_KEPT_IF_FITS, /* it stays for the next phase, unless the step is above memory_bytes */
    PARTITION_KEPT,         /* it stays, whatever memory that takes */
    PARTITION_AGAIN         /* the next phase that reads it gathers it again */
};

struct partition_request {
    const struct graph *graph;
    const struct shd_mesh *mesh;
    /* By node: the sharding asked for, or NULL.  Inputs and parameters are sharded so from the
     * start (NULL: replicated); a constraint's value is taken to it; for other nodes it is not
     * looked at. */
    const struct shd_sharding *const *nodes;
    /* By output of the graph: the sharding it is delivered in, or NULL for what comes cheapest
     * without partial sums. */
    const struct shd_sharding *const *outputs;
    /* By node: the axes that shard a parameter only where it is kept (ZeRO's), bit a for axis a:
     * what reads it beside data gets it gathered over them.  NULL: none do. */
    const uint32_t *stored;
    enum partition_placement placement;
    const struct coll_algo *const
        *algos; /* by collective, NULL entries: the default; NULL allowed */
    uint64_t memory_bytes; /* of a device; 0: no limit */
    /* Of values, for whose gradients a phase of recomputation is one of its own, and of parameters. */
    enum partition_gathered values, params;
    /* Parameters that are gathered again stay sharded over so many neighbours along an axis of the
     * mesh, a divisor of its size, and are gathered among these; 0: over all. */
    int32_t neighbours;
    uint8_t neighbours_axis;
    uint32_t prefetch_layers; /* how much earlier than its reader a parameter is gathered */
    /* A cluster that is laid out for the mesh: of several ways the one is taken that takes the
     * least time on it (price.h).  NULL: the one that moves the fewest bytes. */
    const struct hardware *hardware;
    /* Where the graph's stages are, on an axis that shards nothing; NULL where it has one. */
    const struct program_stages *stages;
};

/* What becomes of gathered values: a search prices one gather for all phases, so that it keeps what
 * it is not asked to keep as long as the step fits. */
static inline enum partition_gathered partition_values(const struct partition_request *request)
{
    return request->placement == PARTITION_SEARCH && request->values == PARTITION_AGAIN
               ? PARTITION_KEPT_IF_FITS
               : request->values;
}

/* Build the program; free it with program_destroy().  The program points into the graph's names and
 * the mesh, which must outlive it.  SHD_EINDIVISIBLE when a sharding asked for does not divide,
 * SHD_ENOMEM. */
SHD_MUST_CHECK int partition_build(struct program **out, const struct partition_request *request,
                                   struct shd_error *err);

#endif /* PARTITION_PARTITION_H */
