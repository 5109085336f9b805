/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/turns.h"

#include <string.h>

void turns_init(struct turns *turns)
{
    memset(turns, 0, sizeof *turns);
    turns->ncores = system_cores(&turns->cores);
    wait_gate_init(&turns->gate, turns->ncores);
}

int turns_take(struct turns *turns)
{
    int core = system_core();

    wait_gate_enter(&turns->gate);
    for (core = core < 0 ? 0 : core;; core = (core + 1) % SYSTEM_CORES_MAX)
        if (system_has_core(&turns->cores, core) && !atomic_exchange(&turns->taken[core], true))
            break;
    system_bind(core);
    return core;
}

void turns_give(struct turns *turns, int core)
{
    system_unbind(&turns->cores);
    atomic_store(&turns->taken[core], false);
    wait_gate_leave(&turns->gate);
}
