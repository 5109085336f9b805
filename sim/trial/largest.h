/* largest.h - the largest value that fits, found by growing and then halving.
 *
 *     struct largest l = {.most = 1024, .tries = 20};
 *     for (int64_t value; (value = largest_next(&l)) > 0;)
 *         largest_tell(&l, value, need_bytes(value) - room_bytes);
 *
 * Values are whole numbers from 1 on; if a value does not fit, no larger value does.  A value that
 * fits is doubled until a value does not fit; then the gap between the two is halved.  If the
 * excess is `straight`, nearly a straight line over the value, the next value is where the line
 * through the last two values crosses 0, which takes fewer tries.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRIAL_LARGEST_H
#define TRIAL_LARGEST_H

#include <stdbool.h>
#include <stdint.h>

struct largest {
    int64_t most; /* the largest value to try */
    int tries;    /* left */
    bool straight;
    int64_t fits;  /* the largest value that fits; 0: none is known */
    int64_t fails; /* the smallest value above `fits` that does not fit; 0: none is known */
    double values[2], excess[2]; /* the last two values; value 0: not told yet */
};

/* The value to try next; 0: the search is over. */
int64_t largest_next(const struct largest *l);

/* Tell by how much a value is too large (0 or less: the value fits).  The caller may tell values
 * that it knows or chooses itself. */
void largest_tell(struct largest *l, int64_t value, double excess);

/* Whether no untried value is left between the largest value that fits and the first that fails or
 * exceeds `most`. */
bool largest_is_exact(const struct largest *l);

#endif /* TRIAL_LARGEST_H */
