/* region_work.h - the search of a region at work: what region.c sets up and region_find.c goes
 * through.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_REGION_WORK_H
#define PARTITION_REGION_WORK_H

#include "partition/busy.h"
#include "partition/region.h"
#include "partition/supply.h"

/* A result of an op of the region, or an alias of a result. */
struct made {
    uint32_t node, result;
};

/* Partial placements up to an op, one for each combination of states of the values still to be
 * read. */
struct layer {
    uint32_t nslots, *slots; /* nodes of these values */
    uint32_t n, room;
    uint32_t *states; /* nslots each */
    double *paid, *bound;
    uint32_t *parent, *way; /* index in the layer before, and the way of the op between */
    uint32_t *index;        /* hash table of placements */
    uint32_t nindex;
};

/* Effort, in look-ups of a known price: of computing a price, of trying an assignment of an op, and
 * of extending a partial placement by one way. */
#define EFFORT_OF_PRICE 30.0
#define PRICES_MAX 1e15 /* more than any search computes */
#define EFFORT_OF_WAY 20.0
#define EFFORT_OF_TRY 2.0

/* Placement fields that region_find() overwrites, saved for restoring. */
struct kept {
    uint32_t home, needs[GRAPH_INPUTS_MAX];
    struct assign assign;
};

/* Nodes in ascending order, without repeats. */
struct list {
    uint32_t n, *nodes;
};

/* Roles of a node in the region, as bits. */
enum {
    ROLE_CHOOSES = 1, /* an op of the region */
    ROLE_VALUE = 2,   /* the node's value counts in the price */
    ROLE_MADE = 4,    /* made by an op of the region: its home is a choice */
    ROLE_READS = 8,   /* a reader of such a value: an op, or a constraint with an asked sharding */
    ROLE_KEEPS = 16   /* an op outside that keeps the rules of the search so far */
};

struct region {
    struct pool *pool, *finding; /* of the object, and of one region_find() */
    struct placement *p;
    uint8_t *roles;     /* by node */
    bool *given;        /* by node: a value of the region with a fixed home */
    struct list around; /* all nodes with a role */
    struct list steps;  /* ops that read a value of the region */
    struct kept *kept;
    uint32_t nkept;
    bool *agrees;            /* by node: a heavy op that is cut by the axes its operands agree on */
    uint32_t *sums;          /* by node: axes over which the value may be partial */
    struct ways *ways;       /* by node; an op outside has its present way only */
    double **later;          /* by node and way: lower bound of downstream costs, divided among
                                the operands that count it */
    struct supply *supplies; /* by node; of the region's values */
    uint32_t *at;            /* by node: the value's slot in a layer */
    struct made *made;       /* values made by the current op */
    uint32_t nmade;
    struct layer *layers; /* one more than `steps` */
    double below;
    const struct region_limits *limits;
    struct region_best *out;
};

/* Rules of the search for an op: axes that must share its work, axes over which its result must
 * stay partial, the least number of devices that share the work, and by factor the axes that must
 * cut it. */
struct rules {
    uint32_t busy, sums;
    int64_t sharers;
    uint32_t agreed[RULE_FACTORS_MAX];
};

/* Whether a way keeps the rules. */
bool region_keeps(const struct way *way, const struct rules *rules);

/* The rules for given homes of the operands. */
struct rules region_rules_by(const struct region *f, uint32_t node,
                             const struct shd_sharding *const homes[GRAPH_INPUTS_MAX]);

/* Save the placement fields that region_find() overwrites; restore them. */
void region_keep(struct region *f);
void region_put_back(struct region *f);

/* List the values that an op of the region makes. */
void region_list_made(struct region *f, uint32_t node);

/* Add to the effort of the search; past its limit nothing is proven any more. */
void region_spend(struct region *f, double effort);

/* List the ways of the ops outside first, while their present assignments stand. */
void region_find_ways(struct region *f);

/* Position, among the homes of a supply, of a sharding number. */
uint32_t region_home_of(const struct supply *s, uint32_t number);

/* Lower bound on what the readers behind a state still cost. */
double region_bound_of(const struct supply *s, uint32_t state);

/* Set up the supplies of all values, and what follows each op at least. */
void region_find_supplies(struct region *f);

/* Free and forget what was set up for a region. */
void region_drop(struct region *f);

#endif /* PARTITION_REGION_WORK_H */
