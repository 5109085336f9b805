/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/tally.h"

#include <stdatomic.h>
#include <stddef.h>

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

static void flush_pair(const struct tally *tally, struct tally_pair *pair)
{
    if (pair->bytes > 0)
        tally_bytes(tally->group->devices[pair->receiver], tally->group->devices[pair->source],
                    pair->bytes);
    pair->bytes = 0;
}

void tally_init(struct tally *tally, const struct run_group *group)
{
    tally->group = group;
    for (size_t i = 0; i < TALLY_PAIRS; i++)
        tally->pairs[i].bytes = 0;
}

void tally_add(struct tally *tally, uint32_t receiver, uint32_t source, uint64_t bytes)
{
    struct tally_pair *pair = &tally->pairs[(receiver * 8 + source) % TALLY_PAIRS];

    if (pair->bytes > 0 && (pair->receiver != receiver || pair->source != source))
        flush_pair(tally, pair);
    pair->receiver = receiver;
    pair->source = source;
    pair->bytes += bytes;
}

void tally_flush(struct tally *tally)
{
    for (size_t i = 0; i < TALLY_PAIRS; i++)
        flush_pair(tally, &tally->pairs[i]);
}
