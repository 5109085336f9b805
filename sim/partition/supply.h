/* supply.h - what it costs to bring one value to its readers, one reader after another.
 *
 * A value starts at its home; each reader's need is brought about from the cheapest version that is
 * there by then, as tally_value() adds it up.  What readers still to come will pay depends on the
 * versions only by the cost of each of their needs.  So a state of a value is the costs of all
 * needs that are still possible: two sets of versions with equal costs are one state.  A state
 * knows a lower bound of what is still to be paid, by its readers and by what these lead to.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_SUPPLY_H
#define PARTITION_SUPPLY_H

#include "partition/placement.h"
#include "partition/ways.h"

#define SUPPLY_DONE UINT32_MAX /* the state of a value that nobody reads any more */

struct supply_reader {
    uint32_t node, operand;
    uint32_t times;          /* that a step lets it read */
    const struct ways *ways; /* NULL: a constraint that is asked for, which has one need */
    const double *later;     /* by way: a lower bound of what follows, as far as it is counted here;
                                NULL: nothing is */
    bool by_home;            /* needs depend on the home */
    uint32_t *needs;         /* by home if so, then by way: index in the value's needs */
    double *rows;            /* the same, of tally_rows(); NULL: 0 */
    uint32_t *sight;         /* by home: what the reader sees of it */
    double *relief; /* by need: its cost after this reader, whatever that needed, at least */
};

struct supply_state {
    uint32_t reader; /* the first that has not read yet */
    uint32_t home;   /* index of one that all readers to come see alike */
    double bound;
    double *costs;  /* by need; 0 for needs that nobody can have any more */
    uint32_t *next; /* by need: the state after it, once known */
};

struct supply {
    uint32_t node;
    bool given_up; /* prices are missing */
    uint32_t nhomes, nneeds, nreaders, nstates, room;
    uint32_t *homes, *needs; /* sharding numbers */
    uint32_t *times;         /* by need: that a step has it; a sharding that is needed once and one
                                that is needed for each microbatch are two */
    struct supply_reader *readers;
    uint32_t *last;     /* by need: the last reader that may have it */
    double *between;    /* from need to need */
    uint32_t *start;    /* by home: the state in the beginning ... */
    double *start_cost; /* ... and what its outputs cost */
    struct supply_state *states;
    uint64_t prices_max;
    uint32_t *index; /* hash table of states */
    uint32_t nindex;
};

/* What there is around a value. */
struct supply_spec {
    uint32_t node;
    const bool *given;       /* by node: its home is no choice */
    const bool *agrees;      /* by node: it is to be cut as its operands agree to */
    const struct ways *ways; /* by node */
    double *const *later;    /* by node, then by way: what follows, a part for each payer */
    uint32_t nhomes;
    const uint32_t *homes; /* sharding numbers of this value, each once */
    uint64_t prices_max;   /* price_worked_out() at which it is given up */
};

/* In how many operands, and whether in this one, what follows a reader is counted: in all whose
 * homes are a choice, or else in the first. */
uint32_t supply_npayers(const struct placement *placement, const bool *given, uint32_t reader);
bool supply_pays(const struct placement *placement, const bool *given, uint32_t reader, uint32_t k);

/* The least that a need of a reader, number `reader` of the value, can cost, whatever was needed
 * before.  For a value that lies in its only home. */
double supply_floor(struct placement *placement, const struct supply_spec *spec, uint32_t reader,
                    uint32_t need);

/* False: no memory.  One that is given up has no states.  The caller ends it with supply_fini() in
 * any case. */
bool supply_init(struct supply *out, struct placement *placement, const struct supply_spec *spec);
void supply_fini(struct supply *supply);

/* The state after the next reader got a need; false: no memory. */
bool supply_read(struct supply *supply, uint32_t state, uint32_t need, uint32_t *next);

/* Which need the next reader has by a way, and what else it pulls. */
uint32_t supply_need(const struct supply *supply, uint32_t state, uint32_t way, double *rows);

#endif /* PARTITION_SUPPLY_H */
