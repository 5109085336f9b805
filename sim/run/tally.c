/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/tally.h"

#include <stdatomic.h>

#include "run/device.h"
#include "run/group.h"

void tally_bytes(struct shd_device *receiver, struct shd_device *source, uint64_t bytes)
{
    __atomic_fetch_add(&receiver->received_bytes, bytes, __ATOMIC_RELAXED);
    if (receiver->matrix_row)
        __atomic_fetch_add(&receiver->matrix_row[source->position], bytes, __ATOMIC_RELAXED);
    else
        atomic_fetch_add_explicit(&source->sent_bytes, bytes, memory_order_relaxed);
}

uint64_t tally_received(const struct shd_device *dev)
{
    return __atomic_load_n(&dev->received_bytes, __ATOMIC_RELAXED);
}

static void add_pair(const struct tally *tally, const struct tally_pair *pair)
{
    tally_bytes(tally->group->devices[pair->receiver], tally->group->devices[pair->source],
                pair->bytes);
}

void tally_init(struct tally *tally, const struct run_group *group)
{
    tally->group = group;
    tally->used = 0;
}

void tally_add(struct tally *tally, uint32_t receiver, uint32_t source, uint64_t bytes)
{
    uint32_t i = (receiver * 8 + source) % TALLY_PAIRS;
    struct tally_pair *pair = &tally->pairs[i];

    if (tally->used >> i & 1) {
        if (pair->receiver == receiver && pair->source == source) {
            pair->bytes += bytes;
            return;
        }
        add_pair(tally, pair);
    }
    *pair = (struct tally_pair){receiver, source, bytes};
    tally->used |= UINT64_C(1) << i;
}

void tally_flush(struct tally *tally)
{
    for (; tally->used; tally->used &= tally->used - 1)
        add_pair(tally, &tally->pairs[__builtin_ctzll(tally->used)]);
}
