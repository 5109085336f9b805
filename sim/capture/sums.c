/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "capture/sums.h"

#include <string.h>

/* Who receives in a group, and who sends. */
enum flow { EVERYONE, FROM_FIRST, TO_FIRST };

static enum flow flow_of(enum coll_kind kind)
{
    switch (kind) {
    case COLL_PERMUTE:
    case COLL_SEND_RECV:
    case COLL_BROADCAST:
    case COLL_SCATTER:
        return FROM_FIRST;
    case COLL_GATHER:
    case COLL_REDUCE:
        return TO_FIRST;
    default:
        return EVERYONE;
    }
}

/* Bytes that a group of n receives, once. */
static uint128 group_bytes(enum coll_kind kind, uint64_t bytes, uint32_t n)
{
    uint128 others = n > 0 ? n - 1 : 0;

    switch (kind) {
    case COLL_ALL_REDUCE:
        return 2 * others * bytes;
    case COLL_ALL_GATHER:
        return others * n * bytes;
    case COLL_SCATTER:
        return bytes - bytes / (n ? n : 1);
    case COLL_BARRIER:
        return 0;
    default: /* each of the others brings or gets as much as one operand */
        return others * bytes;
    }
}

static uint128 groups_bytes(const struct capture_groups *groups, enum coll_kind kind,
                            uint64_t bytes)
{
    uint128 sum = 0;

    for (uint32_t g = 0; g < groups->ngroups; g++) {
        uint32_t n = groups->first[g + 1] - groups->first[g];

        /* A device that sends to itself receives nothing. */
        if (groups->pairs && n == 2 &&
            groups->ids[groups->first[g]] == groups->ids[groups->first[g] + 1])
            continue;
        sum += group_bytes(kind, bytes, n);
    }
    return sum;
}

uint128 sums_collective(const struct capture *capture, const struct capture_collective *collective)
{
    return groups_bytes(&capture->groups[collective->groups], collective->kind, collective->bytes) *
           collective->times;
}

uint128 sums_total(const struct capture *capture)
{
    uint128 sum = 0;

    for (uint32_t i = 0; i < capture->ncollectives; i++)
        sum += sums_collective(capture, &capture->collectives[i]);
    return sum;
}

uint128 sums_count(const struct capture *capture, const char *op)
{
    uint128 sum = 0;

    for (uint32_t i = 0; i < capture->ncollectives; i++)
        if (!strcmp(capture->collectives[i].op, op))
            sum += capture->collectives[i].times;
    return sum;
}

/* Share `bytes` among n; the first of them get what does not divide. */
static uint128 share(uint128 bytes, uint32_t n, uint32_t i)
{
    return bytes / n + (i < bytes % n ? 1 : 0);
}

/* What member `to` of n receives of the group's bytes, and how much of that from member `from`. */
static uint128 received(enum flow flow, uint128 bytes, uint32_t n, uint32_t to)
{
    switch (flow) {
    case FROM_FIRST:
        return to == 0 ? 0 : share(bytes, n - 1, to - 1);
    case TO_FIRST:
        return to == 0 ? bytes : 0;
    default:
        return share(bytes, n, to);
    }
}

static uint128 received_from(enum flow flow, uint128 bytes, uint32_t n, uint32_t to, uint32_t from)
{
    if (to == from)
        return 0;
    switch (flow) {
    case FROM_FIRST:
        return from == 0 ? received(flow, bytes, n, to) : 0;
    default:
        return share(received(flow, bytes, n, to), n - 1, from < to ? from : from - 1);
    }
}

/* What a group of n receives in all collectives of one list of groups and one flow. */
static uint128 list_bytes(const struct capture *capture, uint32_t list, enum flow flow, uint32_t n)
{
    uint128 sum = 0;

    for (uint32_t i = 0; i < capture->ncollectives; i++) {
        const struct capture_collective *c = &capture->collectives[i];

        if (c->groups == list && flow_of(c->kind) == flow)
            sum += group_bytes(c->kind, c->bytes, n) * c->times;
    }
    return sum;
}

typedef void (*group_fn)(uint128 *out, const struct capture *capture, const int32_t *ids,
                         uint32_t n, uint128 bytes, enum flow flow);

/* Bytes of one list are added up before they are shared: that is quick, and as even as can be. */
static void each_group(uint128 *out, const struct capture *capture, uint32_t list, enum flow flow,
                       group_fn add)
{
    const struct capture_groups *groups = &capture->groups[list];
    uint32_t last = 0;
    uint128 bytes = 0;

    for (uint32_t g = 0; g < groups->ngroups; g++) {
        uint32_t n = groups->first[g + 1] - groups->first[g];
        const int32_t *ids = groups->ids + groups->first[g];

        if (n < 2 || (groups->pairs && ids[0] == ids[1]))
            continue;
        if (n != last)
            bytes = list_bytes(capture, list, flow, n);
        last = n;
        if (bytes)
            add(out, capture, ids, n, bytes, flow);
    }
}

static void each(uint128 *out, const struct capture *capture, group_fn add)
{
    for (uint32_t list = 0; list < capture->ngroups; list++)
        for (int flow = EVERYONE; flow <= TO_FIRST; flow++)
            each_group(out, capture, list, (enum flow)flow, add);
}

static void add_received(uint128 *out, const struct capture *capture, const int32_t *ids,
                         uint32_t n, uint128 bytes, enum flow flow)
{
    (void)capture;
    for (uint32_t to = 0; to < n; to++)
        out[ids[to]] += received(flow, bytes, n, to);
}

static void add_pairs(uint128 *out, const struct capture *capture, const int32_t *ids, uint32_t n,
                      uint128 bytes, enum flow flow)
{
    for (uint32_t to = 0; to < n; to++)
        for (uint32_t from = 0; from < n; from++)
            out[(size_t)ids[to] * (size_t)capture->ndevices + (size_t)ids[from]] +=
                received_from(flow, bytes, n, to, from);
}

void sums_by_device(uint128 *out, const struct capture *capture)
{
    each(out, capture, add_received);
}

void sums_matrix(uint128 *out, const struct capture *capture)
{
    each(out, capture, add_pairs);
}
