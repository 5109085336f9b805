/* supply.h - the cost of resharding one value for its readers, one reader after another.
 *
 * A value starts at its home; each reader's need is made from the cheapest version available by
 * then, as tally_value() adds up.  Existing versions affect remaining readers only through the cost
 * of each remaining need.  So a value's state is the cost of every need that is still possible:
 * sets of versions with equal costs are one state.  A state has a lower bound of what its remaining
 * readers will cost, with their downstream costs.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_SUPPLY_H
#define PARTITION_SUPPLY_H

#include "base/map.h"
#include "partition/placement.h"
#include "partition/op_ways.h"

#define SUPPLY_DONE UINT32_MAX /* state of a value without remaining readers */

struct supply_reader {
    uint32_t node, operand;
    uint32_t times;          /* how often a step lets it read */
    const struct ways *ways; /* NULL: a constraint with an asked sharding, which has one need */
    const double *later;     /* by way: lower bound of the reader's downstream cost, as far as
                                this value counts it; NULL: not counted here */
    bool by_home;            /* needs depend on the value's home */
    uint32_t *needs;         /* by home (if by_home) and way: index of the value's needs */
    double *rows;            /* by home and way: cost by tally_rows(); NULL: 0 */
    uint32_t *sight;         /* by home: what the reader sees of the home */
    double *relief; /* by need: lower bound of its cost after this reader, whatever this reader
                       needed */
};

struct supply_state {
    uint32_t reader; /* first remaining reader */
    uint32_t home;   /* index of a home that all remaining readers treat alike */
    double bound;
    double *costs;  /* by need; 0 for needs that no remaining reader can have */
    uint32_t *next; /* by need: the state after it, once known */
};

struct supply {
    struct pool *pool;
    uint32_t node;
    bool given_up; /* a limit stopped the search: prices are missing */
    uint32_t nhomes, nneeds, nreaders, nstates;
    uint32_t *homes, *needs; /* sharding numbers */
    uint32_t *times;         /* by need: how often a step has it; one sharding needed once and
                                for each microbatch is two needs */
    struct supply_reader *readers;
    uint32_t *last;     /* by need: the last reader that may have the need */
    double *between;    /* cost from need to need */
    double *floors;     /* [reader][home]: bounds where no need costs anything */
    uint32_t *start;    /* by home: start state ... */
    double *start_cost; /* ... and cost of the value's outputs */
    struct supply_state *states;
    uint64_t prices_max;
    struct map numbers; /* of states, by hash */
};

/* Surroundings of a value. */
struct supply_spec {
    uint32_t node;
    const bool *given;       /* by node: the home is fixed */
    const bool *agrees;      /* by node: must be cut by the axes its operands agree on */
    const struct ways *ways; /* by node */
    double *const *later;    /* by node, then by way: downstream cost, divided among the operands
                                that count it */
    uint32_t nhomes;
    const uint32_t *homes; /* possible homes of the value, as sharding numbers without repeats */
    uint64_t prices_max;   /* give up when price_worked_out() reaches this */
};

/* A reader's downstream cost is divided among all its operands with a free home, or counted by the
 * first operand if there are none: the number of these operands, and whether operand `k` is one. */
uint32_t supply_npayers(const struct placement *placement, const bool *given, uint32_t reader);
bool supply_pays(const struct placement *placement, const bool *given, uint32_t reader, uint32_t k);

/* Lower bound on the cost of a need of reader number `reader`, whatever earlier readers needed.
 * The value must have a single home. */
double supply_floor(struct placement *placement, const struct supply_spec *spec, uint32_t reader,
                    uint32_t need);

/* Set up a supply, in a pool.  A supply that was given up has no states. */
void supply_init(struct supply *out, struct pool *pool, struct placement *placement,
                 const struct supply_spec *spec);

/* The state after the next reader took a need. */
uint32_t supply_read(struct supply *supply, uint32_t state, uint32_t need);

/* The need of the next reader under a way; *rows: cost of rows that the reader pulls. */
uint32_t supply_need(const struct supply *supply, uint32_t state, uint32_t way, double *rows);

#endif /* PARTITION_SUPPLY_H */
