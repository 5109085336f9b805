/* tally.h - bytes counted where they are copied, whichever thread copies them.
 *
 * The bytes that a device receives are added to its own row of the matrix and to its own sum, by
 * relaxed atomic additions: sums do not depend on their order.  A thread that copies many pieces
 * for a group first adds them up in its own tally.  Bytes that a device copies from its own memory
 * do not count as received.  Bytes that went to a wrong place count as received from the receiver
 * itself: a diagonal that is not 0 is an error, which tests check.
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

/* As many pairs as `used` has bits; a pair whose entry is taken is added to the devices' counts
 * early. */
#define TALLY_PAIRS 64

/* Bytes that members of a group received from others, not yet added to their counts. */
struct tally {
    const struct run_group *group;
    bool alone;
    bool here_only;       /* bytes received by members on other ranks are counted by those ranks */
    uint64_t *by_member;  /* the same bytes, by receiver; NULL: not needed */
    uint64_t used; /* bit i: pairs[i] is in use */
    struct tally_pair {
        uint32_t receiver, source;
        uint64_t bytes;
    } pairs[TALLY_PAIRS];
};

/* In a group with members that are away only what the members here receive is counted, unless the
 * caller says otherwise.  `alone`: no other thread counts for members of the group until the tally
 * is flushed, as while all of them wait for this one. */
void tally_init(struct tally *tally, const struct run_group *group, bool alone);
void tally_add(struct tally *tally, uint32_t receiver, uint32_t source, uint64_t bytes);
void tally_flush(struct tally *tally);

/* Add bytes that `receiver` got from `source` to its counts. */
void tally_bytes(struct shd_device *receiver, struct shd_device *source, uint64_t bytes);

/* Bytes that a device has received since its counts were reset. */
uint64_t tally_received(const struct shd_device *dev);

#endif /* RUN_TALLY_H */
