/* choose.h - the search: an assignment for every op, so that the whole step costs least.
 *
 * The state is a home sharding for every value and, for every operand, the sharding its reader
 * needs.  A value's cost is what it takes to bring it from its home to all that is needed, each
 * from the cheapest version there is by then; an op's cost is its work.  Changing one op changes
 * only its own cost and that of its operands and result, so a step of the search looks at nothing
 * else.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_CHOOSE_H
#define PARTITION_CHOOSE_H

#include "partition/assign.h"
#include "partition/partition.h"
#include "partition/price.h"

#define CHOOSE_UNKNOWN UINT32_MAX

struct choose_reader {
    uint32_t node, operand;
};

struct choose_node {
    bool live;  /* some output depends on it */
    bool fixed; /* the home is given */
    bool works; /* it becomes a kernel */
    struct rule rule;
    struct assign assign;
    uint32_t home; /* sharding numbers */
    uint32_t gift; /* a version that costs nothing for now, or CHOOSE_UNKNOWN */
    uint32_t needs[GRAPH_INPUTS_MAX];
    uint32_t nreaders;
    struct choose_reader *readers; /* live ones, in order */
    uint32_t output;               /* index of the first output that is this node, or GRAPH_NONE */
};

struct choose {
    const struct graph *graph;
    const struct shd_mesh *mesh;
    const struct partition_request *request;
    struct price *price;
    struct choose_node *nodes;
    struct choose_reader *readers; /* storage of all lists */
    bool scatters;                 /* partial values may go to shardings that nobody asked for */
};

/* Choose for every live node.  On success the caller ends it with choose_fini(). */
SHD_MUST_CHECK int choose_init(struct choose *out, const struct partition_request *request,
                               struct shd_error *err);
void choose_fini(struct choose *choose);

/* The sharding number in which an output is delivered. */
uint32_t choose_output_need(struct choose *choose, uint32_t output);

/* A constraint of which nothing is asked is another name for its operand. */
bool choose_is_alias(const struct choose *choose, uint32_t node);

/* Whether the search gives the node an assignment. */
bool choose_is_free(const struct choose *choose, uint32_t node);

#endif /* PARTITION_CHOOSE_H */
