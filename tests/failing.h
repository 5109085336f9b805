/* failing.h - a program whose n-th request for memory or a thread fails.
 *
 * A program that is linked with failing.c has its malloc() and kin, mmap(), mallocx() and
 * pthread_create() in front of those of the C library, of jemalloc and of the sanitizers, also for
 * calls out of shared libraries; so what ships has no switch for this and no cost.  Its processor
 * clocks count calls and its wall clock stands, so that every run reports the same times.
 *
 * Thread class: armed by one thread before others start; any thread may ask then.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FAILING_H
#define FAILING_H

#include <stdbool.h>
#include <stdint.h>

struct failing {
    uint64_t at;       /* the request that fails, from 1; 0: none */
    bool all_after;    /* and all after it, as when memory is used up */
    bool clock_stands; /* see above */
    uint64_t nasked;   /* requests since it was armed */
};

/* From now on these are the orders, and requests are counted there; NULL: none, as at the start. */
void failing_arm(struct failing *orders);

#endif /* FAILING_H */
