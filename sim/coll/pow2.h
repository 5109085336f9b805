/* pow2.h - powers of two and folding, for algorithms that halve and double.
 *
 * Of n members p take part, the largest power of two.  The other n - p are members 0, 2, 4, ...:
 * each hands its operand to the member after it, and gets the result from that member in the end.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLL_POW2_H
#define COLL_POW2_H

#include <stdbool.h>
#include <stdint.h>

/* The largest k with 2^k <= n. */
static inline uint32_t pow2_floor_log(uint32_t n)
{
    uint32_t k = 0;

    while (n >> (k + 1))
        k++;
    return k;
}

/* The least k with 2^k >= n. */
static inline uint32_t pow2_ceil_log(uint32_t n)
{
    return n > 1 ? pow2_floor_log(n - 1) + 1 : 0;
}

struct pow2_fold {
    uint32_t nrounds; /* log2 of the number of members that take part */
    uint32_t extra;   /* members that only hand their operand over */
    bool active;      /* the member takes part, as number `rank` */
    bool folds;       /* the member got an operand from the member before it */
    uint32_t rank;
};

static inline struct pow2_fold pow2_fold(uint32_t n, uint32_t member)
{
    struct pow2_fold f = {.nrounds = pow2_floor_log(n)};

    f.extra = n - (UINT32_C(1) << f.nrounds);
    f.active = member >= 2 * f.extra || member % 2 == 1;
    f.folds = f.active && member < 2 * f.extra;
    f.rank = f.folds ? member / 2 : member - f.extra;
    return f;
}

/* The member with number `rank` among those that take part. */
static inline uint32_t pow2_member(const struct pow2_fold *f, uint32_t rank)
{
    return rank < f->extra ? 2 * rank + 1 : rank + f->extra;
}

#endif /* COLL_POW2_H */
