/* schedule_steps.h - which steps of a collective's schedule are alike, and which of many are shown.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EXPLAIN_SCHEDULE_STEPS_H
#define EXPLAIN_SCHEDULE_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "coll/coll.h"

struct steps {
    const struct coll_algo *algo;
    struct coll_shape shape;
    uint32_t nsums; /* steps of an all-reduce's reduce-scatter; 0: none */
};

/* What is received in a step. */
struct steps_reads {
    uint64_t n, elements;
    bool sums;
};
struct steps_reads steps_count(const struct steps *s, uint32_t step);

/* Whether a move brings elements from another member. */
bool steps_is_received(uint32_t member, const struct coll_move *move);

/* How a step is like the one before it: not; as many members receive as many elements; and from the
 * same ones. */
enum steps_likeness { STEPS_OTHER, STEPS_ALIKE, STEPS_SAME_SENDS };
enum steps_likeness steps_likeness(const struct steps *s, uint32_t step);

/* Whether a step is told and drawn: of many, the first and the last of those that are alike. */
bool steps_is_shown(const struct steps *s, uint32_t step);

/* Whether a step that is not shown is in the middle of those between two shown ones. */
bool steps_is_halfway(const struct steps *s, uint32_t step);

#endif /* EXPLAIN_SCHEDULE_STEPS_H */
