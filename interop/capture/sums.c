/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "capture/sums.h"

#include <stdlib.h>
#include <string.h>

/* Bytes that a group of n receives in one collective; counts bytes as elements. */
static uint128 group_bytes(enum coll_kind kind, uint64_t bytes, uint32_t n)
{
    const struct coll_shape shape = {.nmembers = n, .count = bytes};

    if (n < 2)
        return 0;
    /* A pair is one message; the schedule of a permute would need each member's source. */
    return kind == COLL_PERMUTE ? bytes : coll_received_by_all(coll_find(kind, NULL), &shape);
}

/* Whether a group communicates: not a single device, nor a device that sends to itself. */
static bool receives(const struct capture_groups *groups, uint32_t g)
{
    const int32_t *ids = groups->ids + groups->first[g];

    return capture_size_of(groups, g) > 1 && !(groups->pairs && ids[0] == ids[1]);
}

uint128 sums_collective(const struct capture *capture, const struct capture_collective *collective)
{
    const struct capture_groups *groups = &capture->groups[collective->groups];
    uint32_t last = 0; /* groups of equal size receive equal bytes */
    uint128 bytes = 0, sum = 0;

    for (uint32_t g = 0; g < groups->ngroups; g++) {
        if (!receives(groups, g))
            continue;
        if (capture_size_of(groups, g) != last)
            bytes = group_bytes(collective->kind, collective->bytes, capture_size_of(groups, g));
        last = capture_size_of(groups, g);
        sum += bytes;
    }
    return sum * collective->times;
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

/* Share `bytes` among n; the first members get one more if the bytes do not divide. */
static uint128 share(uint128 bytes, uint32_t n, uint32_t i)
{
    return bytes / n + (i < bytes % n ? 1 : 0);
}

/* All members receive from all; the first sends and the others receive; the others send and the
 * first receives. */
enum flow { FLOW_EVEN, FLOW_FROM_FIRST, FLOW_TO_FIRST, NFLOWS };

static enum flow flow_of(enum coll_kind kind)
{
    if (kind == COLL_PERMUTE || kind == COLL_BROADCAST || kind == COLL_SCATTER)
        return FLOW_FROM_FIRST;
    return kind == COLL_GATHER || kind == COLL_REDUCE ? FLOW_TO_FIRST : FLOW_EVEN;
}

/* Bytes that member `to` of n receives of the group's bytes. */
static uint128 received(enum flow flow, uint128 bytes, uint32_t n, uint32_t to)
{
    if (flow == FLOW_EVEN)
        return share(bytes, n, to);
    if (flow == FLOW_TO_FIRST)
        return to == 0 ? bytes : 0;
    return to == 0 ? 0 : share(bytes, n - 1, to - 1);
}

static uint128 received_from(enum flow flow, uint128 bytes, uint32_t n, uint32_t to, uint32_t from)
{
    uint128 all = received(flow, bytes, n, to);

    if (to == from)
        return 0;
    if (flow == FLOW_FROM_FIRST)
        return from == 0 ? all : 0;
    return share(all, n - 1, from < to ? from : from - 1);
}

/* Collectives by list of groups: items[first[list]] up to items[first[list + 1]]. */
struct by_list {
    uint32_t *first, *items;
};

static void by_list_fini(struct by_list *lists)
{
    free(lists->first);
    free(lists->items);
}

static int by_list_init(struct by_list *out, const struct capture *capture, struct shd_error *err)
{
    out->first = calloc((size_t)capture->ngroups + 2, sizeof *out->first);
    out->items = calloc((size_t)capture->ncollectives + 1, sizeof *out->items);
    if (!out->first || !out->items) {
        by_list_fini(out);
        return shd_error_set(err, SHD_ENOMEM, "no memory for %u collectives",
                             capture->ncollectives);
    }
    /* Counting sort: counts are stored one list ahead, so that filling a list advances its start to
     * the right place. */
    for (uint32_t i = 0; i < capture->ncollectives; i++)
        out->first[capture->collectives[i].groups + 2]++;
    for (uint32_t list = 2; list <= capture->ngroups + 1; list++)
        out->first[list] += out->first[list - 1];
    for (uint32_t i = 0; i < capture->ncollectives; i++)
        out->items[out->first[capture->collectives[i].groups + 1]++] = i;
    return SHD_OK;
}

/* Bytes that a group of n receives in all collectives of one list of groups and one flow. */
static uint128 list_bytes(const struct capture *capture, const struct by_list *lists, uint32_t list,
                          enum flow flow, uint32_t n)
{
    uint128 sum = 0;

    for (uint32_t i = lists->first[list]; i < lists->first[list + 1]; i++) {
        const struct capture_collective *c = &capture->collectives[lists->items[i]];

        if (flow_of(c->kind) == flow)
            sum += group_bytes(c->kind, c->bytes, n) * c->times;
    }
    return sum;
}

typedef void (*group_fn)(uint128 *out, const struct capture *capture, const int32_t *ids,
                         uint32_t n, uint128 bytes, enum flow flow);

/* Add up the bytes of a list's collectives before sharing them among members: faster, and most
 * even. */
static void each_group(uint128 *out, const struct capture *capture, const struct by_list *lists,
                       uint32_t list, enum flow flow, group_fn add)
{
    const struct capture_groups *groups = &capture->groups[list];
    uint32_t last = 0;
    uint128 bytes = 0;

    for (uint32_t g = 0; g < groups->ngroups; g++) {
        uint32_t n = capture_size_of(groups, g);

        if (!receives(groups, g))
            continue;
        if (n != last)
            bytes = list_bytes(capture, lists, list, flow, n);
        last = n;
        if (bytes)
            add(out, capture, groups->ids + groups->first[g], n, bytes, flow);
    }
}

static int each(uint128 *out, const struct capture *capture, group_fn add, struct shd_error *err)
{
    struct by_list lists;
    int status = by_list_init(&lists, capture, err);

    if (status != SHD_OK)
        return status;
    for (uint32_t list = 0; list < capture->ngroups; list++)
        for (enum flow flow = 0; flow < NFLOWS; flow++)
            each_group(out, capture, &lists, list, flow, add);
    by_list_fini(&lists);
    return SHD_OK;
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

int sums_by_device(uint128 *out, const struct capture *capture, struct shd_error *err)
{
    return each(out, capture, add_received, err);
}

int sums_matrix(uint128 *out, const struct capture *capture, struct shd_error *err)
{
    return each(out, capture, add_pairs, err);
}
