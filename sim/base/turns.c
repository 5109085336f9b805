/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/turns.h"

#include <string.h>

#include "base/wait.h"

void turns_init(struct turns *turns)
{
    memset(turns, 0, sizeof *turns);
    if (sched_getaffinity(0, sizeof turns->cores, &turns->cores) != 0)
        CPU_ZERO(&turns->cores); /* more cores than the set can hold */
    turns->ncores = (uint32_t)CPU_COUNT(&turns->cores);
    atomic_init(&turns->free, turns->ncores);
}

static void count_down(struct turns *turns)
{
    for (;;) {
        uint32_t n = atomic_load(&turns->free);

        while (n > 0)
            if (atomic_compare_exchange_weak(&turns->free, &n, n - 1))
                return;
        atomic_fetch_add(&turns->nasleep, 1);
        wait_while(&turns->free, 0);
        atomic_fetch_sub(&turns->nasleep, 1);
    }
}

static void bind_to(int core)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET(core, &one);
    (void)sched_setaffinity(0, sizeof one, &one); /* on failure the thread is only slower */
}

int turns_take(struct turns *turns)
{
    int core = sched_getcpu();

    count_down(turns);
    for (core = core < 0 ? 0 : core;; core = (core + 1) % CPU_SETSIZE)
        if (CPU_ISSET(core, &turns->cores) && !atomic_exchange(&turns->taken[core], true))
            break;
    bind_to(core);
    return core;
}

/* Give a core back.  A thread that counts itself asleep after this look finds a free core, and does
 * not sleep. */
void turns_give(struct turns *turns, int core)
{
    (void)sched_setaffinity(0, sizeof turns->cores, &turns->cores);
    atomic_store(&turns->taken[core], false);
    atomic_fetch_add(&turns->free, 1);
    if (atomic_load(&turns->nasleep) > 0)
        wait_wake_one(&turns->free);
}
