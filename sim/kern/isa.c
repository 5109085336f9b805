/* The vector width in use.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/isa.h"

#include <stdatomic.h>

static _Atomic int limit = KERN_NISAS;

void kern_isa_limit(enum kern_isa widest)
{
    atomic_store_explicit(&limit, widest, memory_order_relaxed);
}

static enum kern_isa detect(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
            return KERN_ISA_AVX512;
        return KERN_ISA_AVX2;
    }
#endif
    return KERN_ISA_BASE;
}

enum kern_isa kern_isa_get(void)
{
    int most = atomic_load_explicit(&limit, memory_order_relaxed);
    enum kern_isa have = detect(); /* detection reads one word that the loader has set */

    return (int)have < most ? have : (enum kern_isa)most;
}
