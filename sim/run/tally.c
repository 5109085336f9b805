/* Counting received bytes (tally.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/tally.h"

#include "run/device.h"
#include "run/group.h"

/* Add to a sum; a single writer needs no locked instruction. */
static void add(uint64_t *sum, uint64_t bytes, bool alone)
{
    if (alone)
        __atomic_store_n(sum, __atomic_load_n(sum, __ATOMIC_RELAXED) + bytes, __ATOMIC_RELAXED);
    else
        __atomic_fetch_add(sum, bytes, __ATOMIC_RELAXED);
}

static void add_pair(struct shd_device *receiver, struct shd_device *source, uint64_t bytes,
                     bool alone)
{
    add(receiver->matrix_row ? &receiver->matrix_row[source->position] : &source->sent_bytes, bytes,
        alone);
}

void tally_bytes(struct shd_device *receiver, struct shd_device *source, uint64_t bytes)
{
    add(&receiver->received_bytes, bytes, false);
    add_pair(receiver, source, bytes, false);
}

uint64_t tally_received(const struct shd_device *dev)
{
    return __atomic_load_n(&dev->received_bytes, __ATOMIC_RELAXED);
}

void tally_init(struct tally *tally, const struct run_group *group, bool alone)
{
    tally->group = group;
    tally->alone = alone && !group->away; /* otherwise leaders of other groups also count for
                                             devices elsewhere */
    tally->here_only = group->away != NULL;
    tally->by_member = NULL;
    tally->used = 0;
}

void tally_add(struct tally *tally, uint32_t receiver, uint32_t source, uint64_t bytes)
{
    uint32_t i = (receiver * 8 + source) % TALLY_PAIRS;
    struct tally_pair *pair = &tally->pairs[i];

    if (tally->here_only && !tally->group->devices[receiver]->here)
        return;
    if (tally->by_member)
        tally->by_member[receiver] += bytes;
    if (tally->used >> i & 1) {
        if (pair->receiver == receiver && pair->source == source) {
            pair->bytes += bytes;
            return;
        }
        tally_bytes(tally->group->devices[pair->receiver], tally->group->devices[pair->source],
                    pair->bytes);
    }
    *pair = (struct tally_pair){receiver, source, bytes};
    tally->used |= UINT64_C(1) << i;
}

/* Pairs of one receiver are mostly adjacent, and take one addition to its sum. */
void tally_flush(struct tally *tally)
{
    uint64_t received = 0;

    while (tally->used) {
        const struct tally_pair *pair = &tally->pairs[__builtin_ctzll(tally->used)];
        struct shd_device *receiver = tally->group->devices[pair->receiver];

        add_pair(receiver, tally->group->devices[pair->source], pair->bytes, tally->alone);
        received += pair->bytes;
        tally->used &= tally->used - 1;
        if (tally->used && tally->pairs[__builtin_ctzll(tally->used)].receiver == pair->receiver)
            continue;
        add(&receiver->received_bytes, received, tally->alone);
        received = 0;
    }
}
