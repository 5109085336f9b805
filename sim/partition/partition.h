/* partition.h - turn a graph with some shardings into a program, as GSPMD and Shardy do for XLA.
 *
 * Some values have an asked sharding (inputs, parameters, constraints, results).  The partitioner
 * chooses the others so that the whole step costs least, and inserts the steps that reshard a value
 * from its home to what each reader needs.  It knows dimensions and axes, and no strategy by name.
 *
 * Every op is given an assignment: which mesh axis cuts which of its dimensions.  An axis on a
 * dimension that the op sums over leaves a partial result; linear ops may pass a partial value on.
 * Candidates come from the neighbours' shardings.  The first choice follows the data; then ops are
 * revisited, forwards and backwards, as long as the cost falls (partition/placement_search.h).
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

/* How the partitioner places values without an asked sharding. */
enum partition_placement {
    PARTITION_FOLLOW, /* axes go where operands, rules and constraints bring them (follow.h) */
    PARTITION_SEARCH  /* for the fewest bytes, or the least time (placement_search.h) */
};

/* What happens to a gathered copy, larger than the array's own shard, after the phase that gathered
 * it. */
enum partition_gathered {
    PARTITION_KEPT_IF_FITS, /* kept for the next phase, unless the step then exceeds memory_bytes */
    PARTITION_KEPT,         /* kept, whatever memory it takes */
    PARTITION_AGAIN         /* freed, and gathered again by the next phase that reads the value */
};

struct partition_request {
    const struct graph *graph;
    const struct shd_mesh *mesh;
    /* By node: the asked sharding, or NULL.  Inputs and parameters start in it (NULL: replicated);
     * a constraint's value is resharded to it; ignored for other nodes. */
    const struct shd_sharding *const *nodes;
    /* By output of the graph: the sharding it is delivered in; NULL: the cheapest one without
     * partial sums. */
    const struct shd_sharding *const *outputs;
    /* By node: the axes that shard a parameter only in storage (ZeRO), bit a for axis a: readers
     * with data get it gathered over these axes.  NULL: none. */
    const uint32_t *stored;
    enum partition_placement placement;
    const struct coll_algo *const
        *algos; /* by collective, NULL entries: the default; NULL allowed */
    uint64_t memory_bytes; /* of a device; 0: no limit */
    /* For gathered values and for parameters.  Recomputation counts as a phase of its own for
     * values. */
    enum partition_gathered values, params;
    /* Parameters that are gathered again stay sharded over this many neighbours along an axis of
     * the mesh, a divisor of its size, and are gathered among the neighbours; 0: over all
     * devices. */
    int32_t neighbours;
    uint8_t neighbours_axis;
    const uint8_t *node_axis; /* the axis that numbers nodes, to each of which a token's row goes
                                 once (program/rows.h); NULL: rows go straight to experts */
    uint32_t prefetch_layers; /* how many layers before its reader a parameter is gathered */
    /* By node: parameters and optimizer state that lie in the host's memory, and values of the
     * forward phase that wait there for the backward phase (offload.h).  NULL: none. */
    const bool *offloads;
    uint32_t offload_layers; /* how many layers before its reader an array comes from the host */
    /* A cluster laid out for the mesh: shardings are chosen for the least time on the cluster
     * (price.h).  NULL: for the fewest bytes. */
    const struct hardware *hardware;
    /* Placement of the graph's stages, on an axis that shards nothing; NULL: one stage. */
    const struct program_stages *stages;
};

/* Whether gathered values are kept.  A search prices one gather for all phases, so it keeps
 * gathered values that need not be kept, as long as the step fits. */
static inline enum partition_gathered partition_values(const struct partition_request *request)
{
    return request->placement == PARTITION_SEARCH && request->values == PARTITION_AGAIN
               ? PARTITION_KEPT_IF_FITS
               : request->values;
}

/* Build the program; free it with program_destroy().  The program points into the graph's names and
 * the mesh, which must outlive it.  SHD_EINDIVISIBLE: an asked sharding does not divide;
 * SHD_EINVAL: the axis of nodes does not shard tokens and experts as it must; SHD_EUNSUPPORTED:
 * stages or neighbours that are not carried out; SHD_ENOMEM. */
SHD_MUST_CHECK int partition_build(struct program **out, const struct partition_request *request,
                                   struct shd_error *err);

#endif /* PARTITION_PARTITION_H */
