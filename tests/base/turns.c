/* Tests base/turns.h: at most one device per core has a turn, on a core of its own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "../support/tap.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/turns.h"

#define NTHREADS 24
#define NTURNS 400

static struct turns turns;
static _Atomic uint32_t ninside, most;
static _Atomic int nsharing, nstray, nleft_bound;
static _Atomic bool here[CPU_SETSIZE];

static void note_inside(void)
{
    uint32_t n = atomic_fetch_add(&ninside, 1) + 1, seen = atomic_load(&most);

    while (n > seen && !atomic_compare_exchange_weak(&most, &seen, n))
        ;
}

static void *take_many(void *arg)
{
    cpu_set_t cores;

    (void)arg;
    for (int i = 0; i < NTURNS; i++) {
        int core = turns_take(&turns);

        note_inside();
        nsharing += atomic_exchange(&here[core], true);
        nstray += sched_getcpu() != core;
        if (i % 16 == 0)
            sched_yield();
        atomic_store(&here[core], false);
        atomic_fetch_sub(&ninside, 1);
        turns_give(&turns, core);
    }
    sched_getaffinity(0, sizeof cores, &cores);
    nleft_bound += !CPU_EQUAL(&cores, &turns.cores);
    return NULL;
}

int main(void)
{
    pthread_t threads[NTHREADS];
    cpu_set_t cores;

    plan(0);
    turns_init(&turns);
    sched_getaffinity(0, sizeof cores, &cores);
    ok(turns.ncores == (uint32_t)CPU_COUNT(&cores), "a turn for each core: %u", turns.ncores);
    for (int i = 0; i < NTHREADS; i++)
        pthread_create(&threads[i], NULL, take_many, NULL);
    for (int i = 0; i < NTHREADS; i++)
        pthread_join(threads[i], NULL);
    ok(most >= 1 && most <= turns.ncores, "at most one a core has a turn: %u", most);
    ok(nsharing == 0, "no two threads had a core at the same time");
    ok(nstray == 0 || system_core() < 0, "each thread ran on the core of its turn");
    ok(nleft_bound == 0, "no thread stays bound to a core");
    ok(turns.gate.free == turns.ncores, "all turns are given back");
    return done();
}
