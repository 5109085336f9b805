/* placement.h - the sharding of every value and the assignment of every op of a graph.
 *
 * follow.h and placement_search.h fill this state: a home sharding for every value and, for every
 * operand, the sharding that its reader needs.  A value's cost is that of resharding it from its
 * home to all needs, each from the cheapest version available by then; an op's cost is its work
 * (tally.h). Both are for a whole step: ops that run for each microbatch count that often. Changing
 * one op changes only the costs of the op, its operands and its results.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_PLACEMENT_H
#define PARTITION_PLACEMENT_H

#include "base/pool.h"
#include "partition/assign.h"
#include "partition/limit.h"
#include "partition/partition.h"
#include "partition/price.h"

#define PLACEMENT_UNKNOWN UINT32_MAX

struct placement_reader {
    uint32_t node, operand;
};

/* Why an axis cuts an op that was placed by following. */
struct placement_cause {
    uint8_t claim;  /* enum follow_claim */
    uint32_t array; /* the node that brought the axis, or GRAPH_NONE */
};

struct placement_node {
    bool live;  /* some output depends on the node */
    bool fixed; /* the home is given */
    bool works; /* the op becomes a kernel */
    struct rule rule;
    struct assign assign;
    struct assign followed; /* set by a search for heavy ops: the assignment by following ... */
    int64_t sharers;        /* ... and how many devices must share the work, as many as by
                               following; 0: no minimum */
    struct placement_cause cause[SHD_MESH_AXES_MAX]; /* by axis */
    uint32_t home;                                   /* sharding number, as in `needs` */
    uint32_t gift; /* a resharded copy priced at zero while share.c tests whether its readers
                      would share it, or PLACEMENT_UNKNOWN */
    uint32_t needs[GRAPH_INPUTS_MAX];
    uint32_t nreaders;
    struct placement_reader *readers; /* live readers, in the order of nodes */
    uint32_t next_alike;              /* ring of nodes with equal assignments: alike.h */
    uint32_t first_alike;             /* the first node of its ring */
    bool stands_for;                  /* the middle node of the ring, which chooses for all */
    uint32_t output;                  /* the first output that delivers the node, or GRAPH_NONE */
};

struct placement {
    struct pool *pool; /* of all that the placement points to, and of the work on it */
    const struct graph *graph;
    const struct shd_mesh *mesh;
    const struct partition_request *request;
    struct price *price;
    struct placement_node *nodes;
    struct placement_reader *readers; /* storage of all nodes' lists */
    uint32_t *next_output;            /* by output: the next one of its node, or GRAPH_NONE */
    bool scatters;                    /* partial values may be scattered to shardings that nobody
                                         asked for */
    bool gradients_free;              /* gradients of constraints need not have the constraint's
                                         sharding */
    struct limits limits;
};

/* Set up a placement, in a pool: asked shardings are set, all others unknown.  SHD_EINDIVISIBLE. */
SHD_MUST_CHECK int placement_init(struct placement *out, struct pool *pool,
                                  const struct partition_request *request, struct shd_error *err);

/* Set the shardings of a node and its extras from its assignment. */
void placement_settle(struct placement *placement, uint32_t node);

/* Copy a node's assignment to all alike nodes, and settle them all. */
void placement_settle_alike(struct placement *placement, uint32_t node);

/* Give a value's aliases the value's home. */
void placement_settle_aliases(struct placement *placement, uint32_t node);

/* Whether an op takes an operand in its home sharding, so that its need changes with the operand's
 * home. */
bool placement_takes_home(const struct placement *placement, uint32_t node, uint32_t operand);

/* How often a step runs an op and the reshards of its operands: once, or for each microbatch.
 */
uint32_t placement_times(const struct placement *placement, uint32_t node);

/* Number of the sharding in which an output is delivered. */
uint32_t placement_output_need(struct placement *placement, uint32_t output);

/* Whether a node is an alias: a constraint without asked sharding, which only renames its
 * operand. */
bool placement_is_alias(const struct placement *placement, uint32_t node);

/* Whether a node needs an assignment. */
bool placement_is_free(const struct placement *placement, uint32_t node);

#endif /* PARTITION_PLACEMENT_H */
