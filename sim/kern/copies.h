/* copies.h - experts of which some are there several times, so that devices have even loads.
 *
 * The copies of all experts have places 0, 1, ..., of which equal runs are on the devices one after
 * the other.  Which copy a token goes to follows from the token's number alone.
 *
 * Thread class: immutable once made; pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef KERN_COPIES_H
#define KERN_COPIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shd/dtype.h>

struct kern_copies {
    uint32_t experts, places;
    const int32_t *first;  /* [experts + 1]: where each expert's copies begin in `place` */
    const int32_t *place;  /* [places]: of the copies of expert 0, then of expert 1, ... */
    const int32_t *expert; /* [places]: of which expert the copy at each place is */
};

/* Number of int32 that copies need, which their caller allocates. */
size_t kern_copies_room(uint32_t experts, uint32_t places);

/* Make places - experts further copies, each of the expert whose copies have the largest load then,
 * and deal all out to `devices`, a divisor of the places: those of the largest load first, each to
 * the device with the smallest sum that has room and no other copy of its expert.  Loads are below
 * 2^47.  `room` must live as long as *out.  False: no memory. */
bool kern_copies_make(struct kern_copies *out, const uint64_t *loads, uint32_t experts,
                      uint32_t places, uint32_t devices, int32_t *room);

/* The place of the copy of expert `id` that a token goes to; of no expert, `id`. */
int32_t kern_copies_find(const struct kern_copies *copies, int32_t id, int64_t token);

/* out[rows][seq][choices]: the places of the copies that tokens go to, for ids of the same shape.
 * Tokens are numbered in groups of `tokens`, in the order of the whole array, which is `whole` long
 * along the sequence.  offsets[0]: first row, offsets[1]: first token of the sequence. */
struct kern_deal {
    enum shd_dtype dtype; /* int32 */
    int64_t rows, seq, choices, whole, tokens;
    const struct kern_copies *copies; /* not owned */
};

#endif /* KERN_COPIES_H */
