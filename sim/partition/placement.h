/* placement.h - how every value and every op of a graph is sharded.
 *
 * The state that follow.h and search.h fill: a home sharding for every value and, for every
 * operand, the sharding that its reader needs.  A value's cost is what it takes to bring it from
 * its home to all that is needed, each from the cheapest version there is by then; an op's cost is
 * its work (tally.h).  Both are those of a whole step: what it does for each microbatch counts that
 * often.  Changing one op changes only its own cost and that of its operands and results.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_PLACEMENT_H
#define PARTITION_PLACEMENT_H

#include "partition/assign.h"
#include "partition/limit.h"
#include "partition/partition.h"
#include "partition/price.h"

#define PLACEMENT_UNKNOWN UINT32_MAX

struct placement_reader {
    uint32_t node, operand;
};

/* What brought an axis to an op that was placed by following. */
struct placement_cause {
    uint8_t claim;  /* enum follow_claim */
    uint32_t array; /* the node that brought it, or GRAPH_NONE */
};

struct placement_node {
    bool live;  /* some output depends on it */
    bool fixed; /* the home is given */
    bool works; /* it becomes a kernel */
    struct rule rule;
    struct assign assign;
    struct assign followed; /* in a search, of heavy work: how it is cut by following ... */
    int64_t sharers;        /* ... and how many devices are to share it, as they do by that; or 0 */
    struct placement_cause cause[SHD_MESH_AXES_MAX]; /* by axis */
    uint32_t home;                                   /* sharding numbers */
    uint32_t gift; /* a version that costs nothing for now, or PLACEMENT_UNKNOWN */
    uint32_t needs[GRAPH_INPUTS_MAX];
    uint32_t nreaders;
    struct placement_reader *readers; /* live ones, in order */
    uint32_t next_alike;              /* a ring of nodes that get the same assignment: alike.h */
    bool first_alike, stands_for;     /* of its ring: the first; the middle one, which chooses */
    uint32_t output; /* index of the first output that is this node, or GRAPH_NONE */
};

struct placement {
    const struct graph *graph;
    const struct shd_mesh *mesh;
    const struct partition_request *request;
    struct price *price;
    struct placement_node *nodes;
    struct placement_reader *readers; /* storage of all lists */
    bool scatters;                    /* partial values may go to shardings that nobody asked for */
    bool gradients_free;              /* those of constraints need not be sharded as these are */
    struct limits limits;
};

/* What is asked for stands in its place, all else is unknown.  The caller ends it with
 * placement_fini().  SHD_ENOMEM, SHD_EINDIVISIBLE. */
SHD_MUST_CHECK int placement_init(struct placement *out, const struct partition_request *request,
                                  struct shd_error *err);
void placement_fini(struct placement *placement);

/* Make the shardings of a node, and of its extras, follow its assignment. */
void placement_settle(struct placement *placement, uint32_t node);

/* The same for the assignment of a node and all that are alike. */
void placement_settle_alike(struct placement *placement, uint32_t node);

/* A value's aliases are sharded as it is. */
void placement_settle_aliases(struct placement *placement, uint32_t node);

/* Whether an op takes an operand as it is sharded, and its need follows the operand's home. */
bool placement_takes_home(const struct placement *placement, uint32_t node, uint32_t operand);

/* How often a step does an op, and the steps that bring its operands: once, or for each microbatch.
 */
uint32_t placement_times(const struct placement *placement, uint32_t node);

/* The sharding number in which an output is delivered. */
uint32_t placement_output_need(struct placement *placement, uint32_t output);

/* A constraint of which nothing is asked is another name for its operand. */
bool placement_is_alias(const struct placement *placement, uint32_t node);

/* Whether the node is to be given an assignment. */
bool placement_is_free(const struct placement *placement, uint32_t node);

#endif /* PARTITION_PLACEMENT_H */
