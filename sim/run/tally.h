/* tally.h - bytes counted where they are copied, whichever thread copies them.
 *
 * What a device receives is added to its own row of the matrix and to its own sum, by relaxed
 * atomic additions: sums do not depend on their order.  A thread that copies many pieces for a
 * group adds up in a tally of its own first.  Bytes that a device copies from its own memory are
 * not received.  If bytes went where they do not belong, they count as received from the receiver
 * itself: a diagonal that is not 0 is an error, which tests look for.
 *
 * Thread class: a tally is owned by one thread; the devices' counts are internally locked.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_TALLY_H
#define RUN_TALLY_H

#include <stdbool.h>
#include <stdint.h>

struct run_group;
struct shd_device;

/* As many pairs as `used` has bits; a pair whose place is taken is added to the devices' counts
 * early. */
#define TALLY_PAIRS 64

/* What members of a group received from others, not yet added to their counts. */
struct tally {
    const struct run_group *group;
    bool alone;
    bool here_only;       /* what members on other ranks receive is counted there */
    uint64_t *by_member;  /* the same bytes, by receiver; NULL: nobody asks */
    uint64_t used; /* bit i: pairs[i] */
    struct tally_pair {
        uint32_t receiver, source;
        uint64_t bytes;
    } pairs[TALLY_PAIRS];
};

/* Of a group that spans ranks only what members of this one receive is counted, unless the caller
 * says otherwise.  `alone`: until the tally is flushed, no other thread counts for members of the group, which is so
 * while all of them wait for this one. */
void tally_init(struct tally *tally, const struct run_group *group, bool alone);
void tally_add(struct tally *tally, uint32_t receiver, uint32_t source, uint64_t bytes);
void tally_flush(struct tally *tally);

/* Add bytes that `receiver` got from `source` to its counts. */
void tally_bytes(struct shd_device *receiver, struct shd_device *source, uint64_t bytes);

/* Bytes that a device has received so far. */
uint64_t tally_received(const struct shd_device *dev);

#endif /* RUN_TALLY_H */
