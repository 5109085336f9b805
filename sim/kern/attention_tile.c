/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "kern/attention_tile.h"

#include "kern/convert.h"
#include "kern/multiply.h"
#include "kern/nest.h"

#define ALIGNMENT 64

size_t attention_pitch(const struct kern_attention *a)
{
    return attention_round_up((size_t)a->head_dim, KERN_MULTIPLY_COLS);
}

uint64_t attention_scratch_bytes(const struct kern_attention *a, uint64_t nelems)
{
    return kern_sat_mul(nelems, a->dtype == SHD_F64 ? sizeof(double) : sizeof(float));
}

uint64_t attention_work(const struct kern_attention *a)
{
    const int64_t extent[] = {a->batch, a->heads, a->queries, a->keys, a->head_dim};

    return kern_elements(5, extent, 31);
}

uint64_t attention_array_bytes(const struct kern_attention *a, uint64_t nqueries, uint64_t nkeys,
                               uint64_t nlse)
{
    const int64_t q[] = {a->batch, a->queries, a->heads, a->head_dim};
    const int64_t k[] = {a->batch, a->keys, a->kv_heads, a->head_dim};
    uint64_t count = kern_sat_mul(nqueries, kern_elements(4, q, 15));
    uint64_t lse = kern_sat_mul(nlse, kern_elements(3, q, 7));

    count = kern_sat_add(count, kern_sat_mul(nkeys, kern_elements(4, k, 15)));
    return kern_sat_add(kern_sat_mul(count, kern_size(a->dtype)), attention_scratch_bytes(a, lse));
}

uint64_t attention_parts_bytes(uint64_t nitems, uint64_t parts_max, uint64_t part_bytes)
{
    uint64_t nparts = nitems < parts_max ? nitems : parts_max;

    return nparts ? kern_sat_add(kern_sat_mul(nparts, part_bytes), ALIGNMENT) : 0;
}

static void part_task(void *arg, int64_t part)
{
    const struct attention_run *run = arg;

    for (int64_t item = part; item < run->nitems; item += run->nparts)
        run->item(run, item, run->workspace + (uint64_t)part * run->part_bytes);
}

void attention_run_items(struct attention_run *run, int64_t parts_max)
{
    uintptr_t at = (uintptr_t)run->args->workspace;

    if (run->nitems == 0)
        return;
    run->nparts = run->nitems < parts_max ? run->nitems : parts_max;
    run->workspace = (char *)run->args->workspace + (ALIGNMENT - at % ALIGNMENT) % ALIGNMENT;
    kern_parallel(part_task, run, run->nparts, run->args->nthreads);
}
