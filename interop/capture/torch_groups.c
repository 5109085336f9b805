/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "capture/torch_groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/order.h"

/* ---- process groups ---- */

static bool read_group(struct torch_trace *trace, struct json_text *j)
{
    struct torch_group group = {.size = TORCH_UNKNOWN};
    struct json_piece key;

    if (!json_text_open(j, '{'))
        return json_text_skip(j);
    while (json_text_key(j, &key)) {
        const char *from = json_text_peek(j) ? j->at : NULL;
        bool taken = false;

        if (json_piece_is(key, "pg_name"))
            taken = json_text_string(j, &group.name);
        else if (json_piece_is(key, "pg_desc"))
            taken = json_text_string(j, &group.description);
        else if (json_piece_is(key, "backend_id"))
            taken = json_text_number(j, &group.id);
        else if (json_piece_is(key, "pg_size") || json_piece_is(key, "group_size"))
            taken = json_text_int(j, &group.size);
        else if (json_piece_is(key, "ranks")) {
            taken = json_text_string(j, &group.ranks) || json_text_skip(j);
            if (taken && !group.ranks.at)
                group.ranks = (struct json_piece){from, (size_t)(j->at - from)};
        }
        if (!taken)
            (void)json_text_skip(j);
    }
    if (j->fault || !torch_trace_grow(trace, &trace->groups, trace->ngroups, sizeof *trace->groups))
        return false;
    trace->groups[trace->ngroups++] = group;
    return true;
}

bool torch_trace_read_groups(struct torch_trace *trace, struct json_text *j)
{
    if (!json_text_open(j, '['))
        return json_text_skip(j);
    while (json_text_item(j))
        if (!read_group(trace, j))
            return false;
    return !j->fault;
}

bool torch_trace_read_groups_of_string(struct torch_trace *trace, struct json_piece string)
{
    struct json_text j;
    size_t n = 0;

    if (trace->description)
        return true; /* the profiler was restarted: the groups are the same */
    trace->description = malloc(string.length + 1);
    if (!trace->description) {
        diag_no_memory(trace->diag);
        return false;
    }
    for (size_t i = 0; i < string.length; i++) {
        i += string.at[i] == '\\' && i + 1 < string.length;
        trace->description[n++] = string.at[i];
    }
    json_text_init(&j, trace->description, n);
    return torch_trace_read_groups(trace, &j) || !trace->diag->no_memory;
}

/* ---- ranks of a group ---- */

static bool add_rank(struct torch_trace *trace, struct torch_ranks *ranks, int64_t rank)
{
    if (rank < 0 || rank >= CAPTURE_DEVICES_MAX)
        return false;
    if (!torch_trace_grow(trace, &ranks->ids, ranks->n, sizeof *ranks->ids))
        return false;
    ranks->ids[ranks->n++] = (int32_t)rank;
    return true;
}

static bool add_ranks(struct torch_trace *trace, struct torch_ranks *ranks, int64_t start,
                      int64_t stride, int64_t size)
{
    if (size < 1 || size > CAPTURE_DEVICES_MAX || start < 0 || start >= CAPTURE_DEVICES_MAX ||
        stride < 1 || stride >= CAPTURE_DEVICES_MAX)
        return false;
    ranks->n = 0;
    for (int64_t i = 0; i < size; i++)
        if (!add_rank(trace, ranks, start + i * stride))
            return false;
    return true;
}

/* Parse ranks: "[0, 1, 2, 3]"; "[0, 2, ...]" and "[0, 2, ..., 62]" continue with the same step up
 * to `size` ranks. */
static bool parse_ranks(struct torch_trace *trace, struct torch_ranks *ranks,
                        struct json_piece text, int64_t size)
{
    const char *at = text.at, *end;
    bool cut = false;

    ranks->n = 0;
    if (!text.length)
        return false;
    end = at + text.length;
    while (at < end) {
        int64_t rank = 0;

        if (*at == '.') {
            cut = true;
            break;
        }
        if (*at < '0' || *at > '9') {
            at++;
            continue;
        }
        for (; at < end && *at >= '0' && *at <= '9' && rank < CAPTURE_DEVICES_MAX; at++)
            rank = rank * 10 + (*at - '0');
        if (!add_rank(trace, ranks, rank))
            return false;
    }
    if (!cut)
        return ranks->n > 0;
    if (ranks->n < 2)
        return false;
    for (uint32_t i = 2; i < ranks->n; i++)
        if (ranks->ids[i] - ranks->ids[i - 1] != ranks->ids[1] - ranks->ids[0])
            return false;
    return add_ranks(trace, ranks, ranks->ids[0], ranks->ids[1] - ranks->ids[0], size);
}

static bool is_twice(struct torch_ranks *ranks)
{
    qsort(ranks->ids, ranks->n, sizeof *ranks->ids, order_int32);
    for (uint32_t i = 1; i < ranks->n; i++)
        if (ranks->ids[i] == ranks->ids[i - 1])
            return true;
    return false;
}

/* Add the group to the traces.  False: a rank occurs twice, or no memory. */
static bool keep_ranks(uint32_t *out, struct torch_trace *trace, struct torch_ranks *ranks,
                       struct json_piece description)
{
    struct shd_error err;
    uint32_t name = 0;
    int status = SHD_OK;

    if (is_twice(ranks))
        return false;
    if (description.length && !json_piece_is(description, "undefined"))
        status = traces_add_word(&name, trace->traces, description, &err);
    if (status == SHD_OK)
        status = traces_add_group(out, trace->traces, ranks->ids, ranks->n, name, &err);
    return !torch_trace_failed(trace, status, &err);
}

bool torch_group_described(uint32_t *out, struct torch_trace *trace, struct torch_group *group,
                           struct torch_ranks *ranks)
{
    if (!group->group) {
        /* Without a list the group has ranks 0 to size - 1. */
        if (!parse_ranks(trace, ranks, group->ranks, group->size) &&
            (ranks->n || !add_ranks(trace, ranks, 0, 1, group->size)))
            return false;
        if (!keep_ranks(&group->group, trace, ranks, group->description))
            return false;
        group->group++;
    }
    *out = group->group - 1;
    return true;
}

static struct torch_group *find_group(struct torch_trace *trace, struct json_piece name)
{
    for (uint32_t i = 0; i < trace->ngroups && name.length; i++) {
        struct torch_group *group = &trace->groups[i];

        if ((group->name.length == name.length && !memcmp(group->name.at, name.at, name.length)) ||
            (group->id.length == name.length && !memcmp(group->id.at, name.at, name.length)))
            return group;
    }
    return NULL;
}

static bool has_digit(struct json_piece piece)
{
    for (size_t i = 0; i < piece.length; i++)
        if (piece.at[i] >= '0' && piece.at[i] <= '9')
            return true;
    return false;
}

bool torch_group_is_told(struct torch_trace *trace, const struct torch_call *call)
{
    const struct torch_group *group = find_group(trace, call->group_name);

    return has_digit(call->group_ranks) || (call->group_stride > 0 && call->group_start >= 0) ||
           (group && (group->ranks.length || group->size > 0));
}

bool torch_group_of(uint32_t *out, struct torch_trace *trace, const struct torch_call *call,
                    struct torch_ranks *ranks)
{
    static const struct json_piece no_name = {NULL, 0};
    struct torch_group *group = find_group(trace, call->group_name);

    if (group && torch_group_described(out, trace, group, ranks))
        return true;
    if (has_digit(call->group_ranks))
        return parse_ranks(trace, ranks, call->group_ranks, call->group_size) &&
               keep_ranks(out, trace, ranks, group ? group->description : no_name);
    return call->group_stride > 0 && call->group_start >= 0 &&
           add_ranks(trace, ranks, call->group_start, call->group_stride, call->group_size) &&
           keep_ranks(out, trace, ranks, no_name);
}

/* ---- guesses ---- */

int64_t torch_group_size(const struct torch_call *call)
{
    int64_t in = call->in_elements, out = call->out_elements;

    if (call->group_size > 0)
        return call->group_size;
    if (in > 0 && out > 0 && call->op->kind == COLL_ALL_GATHER && out % in == 0)
        return out / in;
    if (in > 0 && out > 0 && call->op->kind == COLL_REDUCE_SCATTER && in % out == 0)
        return in / out;
    return TORCH_UNKNOWN;
}

/* The axes of the caller's mesh (a bit each) for groups of a size: the fastest axis of that size,
 * else the only combination of axes; 0: none, or several. */
static uint32_t axes_of_size(const struct torch_trace *trace, int64_t size)
{
    const struct shd_mesh *mesh = trace->traces->mesh;
    uint32_t found = 0;

    if (!mesh || shd_mesh_size(mesh) != trace->world)
        return 0;
    for (size_t a = shd_mesh_naxes(mesh); a-- > 0;)
        if (shd_mesh_axis_size(mesh, a) == size)
            return UINT32_C(1) << a;
    for (uint32_t axes = 1; axes >> shd_mesh_naxes(mesh) == 0; axes++)
        if (shd_mesh_size_along(mesh, axes) == size) {
            if (found)
                return 0;
            found = axes;
        }
    return found;
}

/* Add the ranks that differ from this rank along the given axes only. */
static bool add_along(struct torch_trace *trace, struct torch_ranks *ranks, uint32_t axes)
{
    const struct shd_mesh *mesh = trace->traces->mesh;
    int32_t own = shd_mesh_find_device(mesh, (int32_t)trace->rank);

    ranks->n = 0;
    for (int32_t at = 0; at < shd_mesh_size(mesh); at++) {
        bool alike = true;

        for (size_t a = 0; a < shd_mesh_naxes(mesh) && alike; a++)
            alike = axes >> a & 1 || shd_mesh_coord(mesh, at, a) == shd_mesh_coord(mesh, own, a);
        if (alike && !add_rank(trace, ranks, shd_mesh_device_id(mesh, at)))
            return false;
    }
    return true;
}

/* Guess a group of `size` ranks with this rank: along an axis of the caller's mesh, or of
 * neighbours. */
static bool group_of_size(uint32_t *out, struct torch_trace *trace, struct torch_ranks *ranks,
                          int64_t size)
{
    uint32_t axes;
    bool good;

    if (size == trace->guessed_size) {
        *out = trace->guessed;
        return true;
    }
    axes = axes_of_size(trace, size);
    good = axes ? add_along(trace, ranks, axes)
                : add_ranks(trace, ranks, trace->rank / size * size, 1, size);
    good = good && keep_ranks(out, trace, ranks, (struct json_piece){NULL, 0});
    if (good) {
        trace->guessed_size = size;
        trace->guessed = *out;
    }
    return good;
}

/* Guess a group if the trace describes none: all ranks, or as many as the arrays' sizes imply. */
static bool guess_by_size(uint32_t *out, struct torch_trace *trace, const struct torch_call *call,
                          struct torch_ranks *ranks)
{
    int64_t size = torch_group_size(call);

    if (size == TORCH_UNKNOWN && !trace->is_world_told && trace->world == 1) {
        torch_trace_refuse(trace, call,
                           "the ranks of its process group are unknown; give the number of ranks "
                           "with --devices=N");
        return false;
    }
    if (size != TORCH_UNKNOWN && trace->world % size) {
        torch_trace_refuse(trace, call,
                           "a process group of %lld ranks (by its arrays) does not divide a job of "
                           "%lld ranks",
                           (long long)size, (long long)trace->world);
        return false;
    }
    trace->traces->nall += size == TORCH_UNKNOWN && trace->world > 1;
    trace->traces->nsized += size != TORCH_UNKNOWN && size < trace->world;
    return group_of_size(out, trace, ranks, size == TORCH_UNKNOWN ? trace->world : size);
}

static bool is_same_piece(struct json_piece a, struct json_piece b)
{
    return a.length == b.length && (a.length == 0 || !memcmp(a.at, b.at, a.length));
}

/* Whether a call may be of a described group: one of its size; if that is unknown, one of several
 * ranks. */
static bool may_be_of(const struct torch_group *group, int64_t size)
{
    return size == TORCH_UNKNOWN ? group->size != 1 : group->size == size;
}

/* Whether a group's name is that of tensor parallelism, along which engines reduce by kernels of
 * their own. */
static bool is_tensor(const struct torch_group *group)
{
    static const char *const words[] = {"tp", "TP", "tensor", "TENSOR"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (json_piece_has(group->description, words[i]) || json_piece_has(group->name, words[i]))
            return true;
    return false;
}

/* The first described group that a call may be of; NULL: none.  Where several groups of different
 * ranks fit, the guess is counted. */
static struct torch_group *first_group(struct torch_trace *trace, const struct torch_call *call,
                                       int64_t size)
{
    struct torch_group *first = NULL, *tensor = NULL;
    uint32_t fit = 0;

    for (uint32_t i = 0; i < trace->ngroups; i++) {
        struct torch_group *group = &trace->groups[i];

        if (!may_be_of(group, size))
            continue;
        first = first ? first : group;
        tensor = !tensor && is_tensor(group) ? group : tensor;
        fit += group == first || group->size != first->size ||
               !is_same_piece(group->ranks, first->ranks);
    }
    if (!first && size == TORCH_UNKNOWN && trace->ngroups > 0)
        return &trace->groups[0];
    tensor = call->role == TORCH_OWN ? tensor : NULL;
    trace->traces->ntensor += tensor && fit > 1;
    trace->traces->nguessed += !tensor && fit > 1;
    return tensor ? tensor : first;
}

bool torch_group_guess(uint32_t *out, struct torch_trace *trace, const struct torch_call *call,
                       struct torch_ranks *ranks)
{
    int64_t size = torch_group_size(call);
    struct torch_group *first = first_group(trace, call, size);

    if (!first && (trace->ngroups == 0 || size == trace->world))
        return guess_by_size(out, trace, call, ranks);
    if (first && torch_group_described(out, trace, first, ranks))
        return true;
    if (first)
        torch_trace_refuse(trace, call, "the ranks of its process group are missing or repeated");
    else
        torch_trace_refuse(trace, call,
                           "a process group of %lld ranks (by its arrays), but the trace describes "
                           "no group of this size",
                           (long long)size);
    return false;
}
