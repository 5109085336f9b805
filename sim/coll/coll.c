/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "coll/coll.h"

#include <stddef.h>
#include <string.h>

static const char *const kind_names[COLL_NKINDS] = {
    [COLL_ALL_REDUCE] = "all-reduce",
    [COLL_ALL_GATHER] = "all-gather",
    [COLL_REDUCE_SCATTER] = "reduce-scatter",
    [COLL_ALL_TO_ALL] = "all-to-all",
    [COLL_PERMUTE] = "permute",
    [COLL_BROADCAST] = "broadcast",
    [COLL_GATHER] = "gather",
    [COLL_SCATTER] = "scatter",
    [COLL_REDUCE] = "reduce",
    [COLL_SEND_RECV] = "send-recv",
    [COLL_BARRIER] = "barrier",
};

bool coll_serves(const struct coll_algo *algo, uint32_t nmembers)
{
    switch (algo->limits) {
    case COLL_ANY:
        return nmembers >= 1;
    case COLL_POW2:
        return nmembers >= 1 && (nmembers & (nmembers - 1)) == 0;
    case COLL_PAIR:
        return nmembers == 2;
    }
    return false;
}

const char *coll_kind_name(enum coll_kind kind)
{
    return kind_names[kind];
}

int coll_kind_parse(const char *name)
{
    for (int i = 0; i < COLL_NKINDS; i++) {
        if (!strcmp(kind_names[i], name))
            return i;
    }
    return -1;
}

uint64_t coll_in_count(enum coll_kind kind, const struct coll_shape *shape, uint32_t member)
{
    switch (kind) {
    case COLL_BARRIER:
        return 0;
    case COLL_BROADCAST:
    case COLL_SCATTER:
        return member == shape->root ? shape->count : 0;
    case COLL_SEND_RECV:
        return member == 0 ? shape->count : 0;
    default:
        return shape->count;
    }
}

uint64_t coll_out_count(enum coll_kind kind, const struct coll_shape *shape, uint32_t member)
{
    switch (kind) {
    case COLL_BARRIER:
        return 0;
    case COLL_ALL_GATHER:
        return shape->count * shape->nmembers;
    case COLL_REDUCE_SCATTER:
    case COLL_SCATTER:
        return coll_chunk_count(shape->count, shape->nmembers, member);
    case COLL_ALL_TO_ALL:
        return coll_chunk_count(shape->count, shape->nmembers, member) * shape->nmembers;
    case COLL_GATHER:
        return member == shape->root ? shape->count * shape->nmembers : 0;
    case COLL_REDUCE:
        return member == shape->root ? shape->count : 0;
    case COLL_SEND_RECV:
        return member == 1 ? shape->count : 0;
    default:
        return shape->count;
    }
}

uint64_t coll_chunk_at(uint64_t count, uint32_t n, uint32_t i)
{
    uint64_t longer = count % n;

    return count / n * i + (i < longer ? i : longer);
}

uint64_t coll_chunk_count(uint64_t count, uint32_t n, uint32_t i)
{
    return count / n + (i < count % n ? 1 : 0);
}

uint32_t coll_chunk_of(uint64_t count, uint32_t n, uint64_t at, uint64_t *left)
{
    uint64_t size = count / n, longer = count % n;
    uint32_t chunk;

    *left = 0;
    if (at >= count)
        return COLL_NOBODY;
    chunk = at < longer * (size + 1) ? (uint32_t)(at / (size + 1))
                                     : (uint32_t)(longer + (at - longer * (size + 1)) / size);
    *left = coll_chunk_at(count, n, chunk) + coll_chunk_count(count, n, chunk) - at;
    return chunk;
}

/* Origin of an element in an OUT that consists of pieces of equal length, one from each member. */
static struct coll_origin from_each(uint64_t length, uint64_t first, uint64_t at)
{
    return (struct coll_origin){(uint32_t)(at / length), first + at % length, length - at % length};
}

struct coll_origin coll_origin(enum coll_kind kind, const struct coll_shape *shape, uint32_t member,
                               uint64_t at)
{
    uint64_t nout = coll_out_count(kind, shape, member);
    uint64_t first = 0; /* start of the member's chunk */

    if (at >= nout)
        return (struct coll_origin){COLL_NOBODY, 0, 0};
    if (kind == COLL_REDUCE_SCATTER || kind == COLL_SCATTER || kind == COLL_ALL_TO_ALL)
        first = coll_chunk_at(shape->count, shape->nmembers, member);
    switch (kind) {
    case COLL_ALL_REDUCE:
    case COLL_REDUCE:
        return (struct coll_origin){COLL_ALL, at, nout - at};
    case COLL_REDUCE_SCATTER:
        return (struct coll_origin){COLL_ALL, first + at, nout - at};
    case COLL_SCATTER:
        return (struct coll_origin){shape->root, first + at, nout - at};
    case COLL_ALL_GATHER:
    case COLL_GATHER:
        return from_each(shape->count, 0, at);
    case COLL_ALL_TO_ALL:
        return from_each(nout / shape->nmembers, first, at);
    case COLL_PERMUTE:
        return (struct coll_origin){shape->source[member], at, nout - at};
    case COLL_BROADCAST:
        return (struct coll_origin){shape->root, at, nout - at};
    default: /* send-recv */
        return (struct coll_origin){0, at, nout - at};
    }
}

uint128 coll_received_by_all(const struct coll_algo *algo, const struct coll_shape *shape)
{
    uint128 received = 0;

    for (uint32_t m = 0, next; m < shape->nmembers; m = next) {
        next = algo->alike(shape, m);
        received += (uint128)(next - m) * algo->received(shape, m);
    }
    return received;
}

uint64_t coll_operand_from_each(const struct coll_shape *shape, uint32_t member)
{
    (void)member;
    return (shape->nmembers - 1) * shape->count;
}

uint64_t coll_own_chunk_from_each(const struct coll_shape *shape, uint32_t member)
{
    return (shape->nmembers - 1) * coll_chunk_count(shape->count, shape->nmembers, member);
}

uint64_t coll_chunks_of_others(const struct coll_shape *shape, uint32_t member)
{
    return shape->count - coll_chunk_count(shape->count, shape->nmembers, member);
}

uint64_t coll_operand_unless_root(const struct coll_shape *shape, uint32_t member)
{
    return member == shape->root ? 0 : shape->count;
}

uint64_t coll_operands_at_root(const struct coll_shape *shape, uint32_t member)
{
    return member == shape->root ? (shape->nmembers - 1) * shape->count : 0;
}

uint32_t coll_alike_all(const struct coll_shape *shape, uint32_t member)
{
    (void)member;
    return shape->nmembers;
}

uint32_t coll_alike_none(const struct coll_shape *shape, uint32_t member)
{
    (void)shape;
    return member + 1;
}

uint32_t coll_alike_root(const struct coll_shape *shape, uint32_t member)
{
    if (member < shape->root)
        return shape->root;
    return member == shape->root ? member + 1 : shape->nmembers;
}

uint32_t coll_alike_own_chunk(const struct coll_shape *shape, uint32_t member)
{
    return coll_alike_chunks(shape, member, 0);
}

/* The length of chunks changes at the first shorter one and, cyclically, at chunk 0. */
uint32_t coll_alike_chunks(const struct coll_shape *shape, uint32_t member, uint32_t reach)
{
    uint32_t longer = (uint32_t)(shape->count % shape->nmembers);
    const uint32_t ends[] = {0, longer, shape->nmembers};

    for (size_t i = 0; longer > 0 && i < sizeof ends / sizeof ends[0]; i++) {
        if (member + reach < ends[i])
            return ends[i] - reach;
        if (member < ends[i] + reach)
            return member + 1;
    }
    return shape->nmembers;
}

uint32_t coll_alike_equal_chunks(const struct coll_shape *shape, uint32_t member)
{
    return shape->count % shape->nmembers ? member + 1 : shape->nmembers;
}

double coll_bus_factor(enum coll_kind kind, double n)
{
    switch (kind) {
    case COLL_ALL_REDUCE:
        return 2 * (n - 1) / n;
    case COLL_ALL_GATHER:
    case COLL_REDUCE_SCATTER:
    case COLL_ALL_TO_ALL:
    case COLL_GATHER:
    case COLL_SCATTER:
        return (n - 1) / n;
    default:
        return 1;
    }
}
