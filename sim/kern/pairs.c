/* A concurrent table of pair counts (kern/pairs.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/pairs.h"

#include <stdatomic.h>

#define NSLOTS 16384 /* a power of two: 64 blocks of queries by 64 of keys fill a quarter */
#define TRIES 16     /* slots that may hold a count */

enum { FREE, TAKEN, READY };

/* The count may be read once the slot is READY, and never changes after that. */
struct slot {
    _Atomic uint32_t state; /* stored with release by the thread that took the slot; loaded with
                               acquire by readers */
    struct kern_blocks blocks;
    uint64_t count;
};

struct kern_pairs {
    struct slot slots[NSLOTS];
};

size_t kern_pairs_bytes(void)
{
    return sizeof(struct kern_pairs);
}

/* Mixes all fields (multiplier of Knuth's multiplicative hashing for 64 bits). */
static uint32_t hash_of(const struct kern_blocks *b)
{
    const int64_t fields[] = {b->row, b->query, b->nqueries, b->key, b->nkeys};
    uint64_t hash = 0;

    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        hash = (hash ^ (uint64_t)fields[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    return (uint32_t)hash;
}

static bool is_same(const struct kern_blocks *a, const struct kern_blocks *b)
{
    return a->row == b->row && a->query == b->query && a->nqueries == b->nqueries &&
           a->key == b->key && a->nkeys == b->nkeys;
}

bool kern_pairs_find(const struct kern_pairs *pairs, const struct kern_blocks *blocks,
                     uint64_t *count)
{
    uint32_t hash = pairs ? hash_of(blocks) : 0;

    for (uint32_t i = 0; i < TRIES && pairs; i++) {
        const struct slot *slot = &pairs->slots[(hash + i) % NSLOTS];
        uint32_t state = atomic_load_explicit(&slot->state, memory_order_acquire);

        if (state == FREE)
            return false;
        if (state == READY && is_same(&slot->blocks, blocks)) {
            *count = slot->count;
            return true;
        }
    }
    return false;
}

void kern_pairs_add(struct kern_pairs *pairs, const struct kern_blocks *blocks, uint64_t count)
{
    uint32_t hash = pairs ? hash_of(blocks) : 0;

    for (uint32_t i = 0; i < TRIES && pairs; i++) {
        struct slot *slot = &pairs->slots[(hash + i) % NSLOTS];
        uint32_t free = FREE;

        if (!atomic_compare_exchange_strong_explicit(&slot->state, &free, TAKEN,
                                                     memory_order_relaxed, memory_order_relaxed))
            continue;
        slot->blocks = *blocks;
        slot->count = count;
        atomic_store_explicit(&slot->state, READY, memory_order_release);
        return;
    }
}
