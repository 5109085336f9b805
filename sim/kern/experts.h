/* kern/experts.h - kernels of mixtures of experts: choosing experts, assigning slots, and the
 * product over experts' rows.
 *
 * Scores are [tokens][classes], ids [tokens][choices], rows of experts [expert][slot][..], where
 * group g of the tokens has slots g * capacity .. (g + 1) * capacity - 1.  Ids and slots are int32;
 * -1 is no choice, and no slot.
 *
 * Choosing, assigning slots and counting are no floating-point operations.  A grouped product
 * counts those of the taken slots; a plan gets their number from the routing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef KERN_EXPERTS_H
#define KERN_EXPERTS_H

#include <stdbool.h>
#include <stdint.h>

#include "kern/kern.h"
#include "kern/routing.h"

/* ids[tokens][choices]: the largest of scores[tokens][classes] first, in a tie the lowest number;
 * NaN counts as the least.  Of `groups` equal runs of classes only the `kept` best count, by the
 * sum of their two largest scores, or by the largest one. */
struct kern_topk {
    enum shd_dtype dtype; /* of scores */
    int64_t tokens, classes, choices;
    uint32_t groups, kept;
    bool by_largest;
    bool smallest; /* the smallest scores, in rising order, with a NaN behind all numbers */
};

#define KERN_TOPK_CLASSES_MAX 65536

/* ids[groups][tokens][choices] -> slots, of the same shape, and counts[groups][experts]. */
struct kern_slots {
    enum shd_dtype dtype; /* int32 */
    int64_t groups, tokens, choices, experts, capacity;
    bool slot_major;
};

/* out[classes]: how many ids equal offsets[0], offsets[0] + 1, ... */
struct kern_count {
    enum shd_dtype dtype; /* of out */
    int64_t ids, classes;
};

/* c = a b for each expert and group, over the first counts[group][expert] of its slots: further
 * rows are zeros in c, and ignored in a and b. offsets[0]: the device's first expert. */
struct kern_grouped {
    struct kern_einsum einsum; /* `slot` covers all slots on the device */
    uint32_t expert, slot;     /* its dimensions; b may lack slot, or c may */
    int64_t groups, capacity;
    const struct kern_routing *routing; /* for flops() and bytes() */
};

/* The part of an operand with these dimensions (as einsum.a_has) that a product touches, 0..1: of
 * rows those taken; of weights those of the experts that tokens are expected to name
 * (kern_routing_named()). */
double kern_grouped_part(const struct kern_grouped *product, uint32_t has, const int64_t *offsets);

#endif /* KERN_EXPERTS_H */
