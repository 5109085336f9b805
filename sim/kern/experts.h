/* kern/experts.h - kernels of mixtures of experts: who is chosen, in which place, and the product
 * of what experts got.
 *
 * Scores are [tokens][classes], ids [tokens][choices], rows of experts [expert][slot][..], where
 * group g of the tokens has slots g * capacity .. (g + 1) * capacity - 1.  Ids and slots are int32;
 * -1 is no choice, and no slot.
 *
 * Choosing, giving out slots and counting are no floating-point operations.  A grouped product
 * counts those of the slots that are taken; a plan takes their number from the routing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef KERN_EXPERTS_H
#define KERN_EXPERTS_H

#include <stdbool.h>
#include <stdint.h>

#include "kern/kern.h"
#include "kern/routing.h"

/* ids[tokens][choices]: the largest of scores[tokens][classes] first, of equal ones the one with
 * the lowest number; what is not a number counts as the least.  Of `groups` equal runs of classes
 * only the `kept` best count, by the sum of their two largest scores, or by the largest one. */
struct kern_topk {
    enum shd_dtype dtype; /* of scores */
    int64_t tokens, classes, choices;
    uint32_t groups, kept;
    bool by_largest;
};

#define KERN_TOPK_CLASSES_MAX 65536

/* ids[groups][tokens][choices] -> slots, of the same shape, and counts[groups][experts]. */
struct kern_slots {
    enum shd_dtype dtype; /* int32 */
    int64_t groups, tokens, choices, experts, capacity;
    bool slot_major;
};

/* out[classes]: how many of the ids are classes offsets[0], offsets[0] + 1, ... */
struct kern_count {
    enum shd_dtype dtype; /* of out */
    int64_t ids, classes;
};

/* c = a b for each expert and group, over the first counts[group][expert] of its slots: rows beyond
 * them are zeros in c, and not looked at in a and b.  offsets[0]: the device's first expert. */
struct kern_grouped {
    struct kern_einsum einsum; /* `slot` is all slots that the device has */
    uint32_t expert, slot;     /* dimensions of it; b may lack slot, c lack it */
    int64_t groups, capacity;
    const struct kern_routing *routing; /* for flops() */
};

#endif /* KERN_EXPERTS_H */
