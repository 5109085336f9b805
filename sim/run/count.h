/* count.h - counting the bytes of a call done in one pass (fused.h), from the copies made.
 *
 * Each copy is reported: which elements went from which member to which.  Consecutive copies are
 * merged into one run for each member, and a run is judged when it ends: its elements count as
 * received if they are what OUT should hold there (coll_origin()), else as astray (tally.h).
 *
 * Thread class: a count is owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_COUNT_H
#define RUN_COUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coll/coll.h"
#include "run/tally.h"

/* In place of a member: the owner of the chunk that contains an element of the operand. */
#define COUNT_OWNER (UINT32_MAX - 2)

/* Contiguous elements that `to` got from `from`. */
struct count_run {
    uint32_t from, to; /* members or COUNT_OWNER */
    uint32_t source;   /* whose IN they are from; or COLL_ALL (the reduction), or COLL_NOBODY */
    uint64_t at;       /* the first element, in that IN or reduction */
    uint64_t out_at;   /* the first element, in the destination OUT */
    uint64_t count;
};

/* Whether elements were read into a reduction or stored to an OUT. */
enum count_side { COUNT_READ, COUNT_STORED, COUNT_NSIDES };

/* Runs kept on each side, as many as a word has bits.  In larger groups members share an entry and
 * end each other's runs: the counted bytes are the same. */
#define COUNT_RUNS 64

struct count {
    enum coll_kind kind;
    size_t elem_bytes;
    const struct coll_shape *shape;
    uint64_t used[COUNT_NSIDES]; /* bit i: runs[side][i] is in use */
    struct count_run runs[COUNT_NSIDES][COUNT_RUNS];
    struct tally tally;
};

/* Begin counting a call that all members of a group have made.  Group and shape belong to the
 * caller and must not change until count_flush().  `alone` as in tally.h. */
void count_init(struct count *c, const struct run_group *group, const struct coll_shape *shape,
                bool alone);

/* Judge run `i` of a side, and clear it. */
void count_end_run(struct count *c, enum count_side side, uint32_t i);

/* Report a copy out of (COUNT_READ) or into (COUNT_STORED) the memory of `member`.  Inline, since
 * it is called for every block and member. */
static inline void count_copied(struct count *c, enum count_side side, uint32_t member,
                                struct count_run copied)
{
    uint32_t i = member % COUNT_RUNS;
    struct count_run *run = &c->runs[side][i];

    if (c->used[side] >> i & 1) {
        if (copied.at == run->at + run->count && copied.out_at == run->out_at + run->count &&
            copied.source == run->source && copied.from == run->from && copied.to == run->to) {
            run->count += copied.count;
            return;
        }
        count_end_run(c, side, i);
    }
    *run = copied;
    c->used[side] |= UINT64_C(1) << i;
}

/* Add all reported copies to the counts of the group's devices. */
void count_flush(struct count *c);

#endif /* RUN_COUNT_H */
