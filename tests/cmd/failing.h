/* failing.h - a program whose n-th request for memory or a thread fails.
 *
 * A program linked with failing.c has its own malloc() and kin, mmap(), mallocx() and
 * pthread_create() in front of those of the C library, jemalloc and the sanitizers, also for calls
 * from shared libraries; so the shipped program needs no switch for failures and pays nothing.  Its
 * processor clocks count calls and its wall clock stands still, so that every run reports the same
 * times.
 *
 * Thread class: armed by one thread before others start; then any thread may make requests.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FAILING_H
#define FAILING_H

#include <stdbool.h>
#include <stdint.h>

struct failing {
    uint64_t at;       /* the request that fails, from 1; 0: no request */
    bool all_after;    /* all requests after `at` fail too, as when memory is used up */
    bool clock_stands; /* clocks as described above */
    uint64_t nasked;   /* requests since the orders were armed */
};

/* Let requests fail by these orders, which also count them; NULL: no request fails, as at the
 * start. */
void failing_arm(struct failing *orders);

#endif /* FAILING_H */
