/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "capture/torch_trace.h"

#include <stdlib.h>
#include <string.h>

void torch_trace_init(struct torch_trace *trace, const char *file, struct traces *traces,
                      struct diag *diag)
{
    *trace = (struct torch_trace){.file = file,
                                  .traces = traces,
                                  .diag = diag,
                                  .rank = TORCH_UNKNOWN,
                                  .world = TORCH_UNKNOWN};
}

void torch_trace_fini(struct torch_trace *trace)
{
    free(trace->events);
    free(trace->calls);
    free(trace->groups);
    free(trace->description);
    *trace = (struct torch_trace){.file = NULL};
}

/* Room for one more item of `size` bytes behind the first n. */
static bool grow(struct torch_trace *trace, void **items, uint32_t *room, uint32_t n, size_t size)
{
    uint32_t wanted = *room ? *room * 2 : 64;
    void *more;

    if (n < *room)
        return true;
    more = *room > UINT32_MAX / 4 ? NULL : reallocarray(*items, wanted, size);
    if (!more) {
        diag_no_memory(trace->diag);
        return false;
    }
    *items = more;
    *room = wanted;
    return true;
}

bool torch_trace_add_event(struct torch_trace *trace, const struct torch_event *event)
{
    if (!grow(trace, (void **)&trace->events, &trace->events_room, trace->nevents,
              sizeof *trace->events))
        return false;
    trace->events[trace->nevents++] = *event;
    return true;
}

bool torch_trace_add_call(struct torch_trace *trace, const struct torch_call *call,
                          struct torch_event *event)
{
    if (!grow(trace, (void **)&trace->calls, &trace->calls_room, trace->ncalls,
              sizeof *trace->calls))
        return false;
    event->call = trace->ncalls;
    trace->calls[trace->ncalls] = *call;
    trace->calls[trace->ncalls].begin = event->begin;
    trace->ncalls++;
    return torch_trace_add_event(trace, event);
}

/* ---- names ---- */

struct json_piece torch_op_name(struct json_piece name)
{
    const char *colon = memrchr(name.at, ':', name.length);

    if (colon)
        name = (struct json_piece){colon + 1, name.length - (size_t)(colon + 1 - name.at)};
    return name;
}

struct torch_call torch_call_named(struct json_piece name, enum torch_role role)
{
    return (struct torch_call){.name = name,
                               .role = role,
                               .op = torch_op_find(name),
                               .in_elements = TORCH_UNKNOWN,
                               .out_elements = TORCH_UNKNOWN,
                               .element_bytes = TORCH_UNKNOWN,
                               .npieces = 1,
                               .group_size = TORCH_UNKNOWN,
                               .group_start = TORCH_UNKNOWN,
                               .group_stride = TORCH_UNKNOWN,
                               .own = TORCH_UNKNOWN,
                               .other = TORCH_UNKNOWN,
                               .other_in_group = TORCH_UNKNOWN,
                               .step = TRACES_NO_STEP};
}

/* "nccl:all_reduce": a backend's name, one colon, and a collective. */
static bool is_label(struct json_piece name)
{
    size_t n = 0;

    while (n < name.length && name.at[n] >= 'a' && name.at[n] <= 'z')
        n++;
    return n && n < name.length && name.at[n] == ':' &&
           torch_op_find((struct json_piece){name.at + n + 1, name.length - n - 1});
}

bool torch_role_of(enum torch_role *role, struct json_piece name, bool is_scope)
{
    if (json_piece_is(name, "record_param_comms"))
        *role = TORCH_GROUP_CALL;
    else if (json_piece_begins(name, "c10d::"))
        *role = TORCH_OP;
    else if (json_piece_begins(name, "_c10d_functional"))
        *role = TORCH_FUNCTIONAL;
    else if (json_piece_begins(name, "ProfilerStep#"))
        *role = TORCH_STEP;
    else if (is_label(name))
        *role = TORCH_LABEL;
    else if (is_scope)
        *role = TORCH_SCOPE;
    else if (json_piece_begins(name, "autograd::engine::evaluate_function: "))
        *role = TORCH_BACKWARD;
    else
        return false;
    return true;
}

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
    if (j->fault || !grow(trace, (void **)&trace->groups, &trace->groups_room, trace->ngroups,
                          sizeof *trace->groups))
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
        return true; /* the profiler was begun again: the groups are the same */
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

/* ---- which ranks a group has ---- */

struct ranks {
    int32_t *ids;
    uint32_t n, room;
};

static bool add_rank(struct torch_trace *trace, struct ranks *ranks, int64_t rank)
{
    if (rank < 0 || rank >= CAPTURE_DEVICES_MAX)
        return false;
    if (!grow(trace, (void **)&ranks->ids, &ranks->room, ranks->n, sizeof *ranks->ids))
        return false;
    ranks->ids[ranks->n++] = (int32_t)rank;
    return true;
}

static bool add_ranks(struct torch_trace *trace, struct ranks *ranks, int64_t start, int64_t stride,
                      int64_t size)
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

/* "[0, 1, 2, 3]"; "[0, 2, ...]" and "[0, 2, ..., 62]" go on as they begin, to so many. */
static bool parse_ranks(struct torch_trace *trace, struct ranks *ranks, struct json_piece text,
                        int64_t size)
{
    const char *at = text.at, *end = text.at + text.length;
    bool cut = false;

    ranks->n = 0;
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

static bool failed(struct torch_trace *trace, int status, const struct shd_error *err)
{
    if (status != SHD_OK)
        diag_failure(trace->diag, (struct place){trace->file, 0, 0}, status, "%s", err->text);
    return status != SHD_OK;
}

static bool is_twice(const struct traces_group *group)
{
    for (uint32_t i = 1; i < group->n; i++)
        if (group->ids[i] == group->ids[i - 1])
            return true;
    return false;
}

/* Add the group to the traces.  False: a rank is in it twice, or no memory. */
static bool keep_ranks(uint32_t *out, struct torch_trace *trace, const struct ranks *ranks,
                       struct json_piece description)
{
    struct shd_error err;
    uint32_t name = 0;
    int status = SHD_OK;

    if (description.length && !json_piece_is(description, "undefined"))
        status = traces_add_word(&name, trace->traces, description, &err);
    if (status == SHD_OK)
        status = traces_add_group(out, trace->traces, ranks->ids, ranks->n, name, &err);
    return !failed(trace, status, &err) && !is_twice(&trace->traces->groups[*out]);
}

/* Of a group that the trace describes.  False: its ranks are not told, or memory ran out. */
static bool described_group(uint32_t *out, struct torch_trace *trace, struct torch_group *group,
                            struct ranks *ranks)
{
    if (!group->group) {
        /* No ranks: all there are. */
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

        if ((group->name.length == name.length &&
             !memcmp(group->name.at, name.at, name.length)) ||
            (group->id.length == name.length && !memcmp(group->id.at, name.at, name.length)))
            return group;
    }
    return NULL;
}

/* What a group's size must be, as the arrays of the call tell; TORCH_UNKNOWN. */
static int64_t told_size(const struct torch_call *call)
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

/* The first of the described groups that a call may be of, which does not say. */
static bool guessed_group(uint32_t *out, struct torch_trace *trace, const struct torch_call *call,
                          struct ranks *ranks)
{
    int64_t size = told_size(call);
    struct torch_group *first = NULL;
    uint32_t fit = 0;

    for (uint32_t i = 0; i < trace->ngroups; i++)
        if (size == TORCH_UNKNOWN || trace->groups[i].size == size) {
            first = first ? first : &trace->groups[i];
            fit++;
        }
    trace->traces->nguessed += fit > 1;
    if (first)
        return described_group(out, trace, first, ranks);
    if (trace->ngroups && size != trace->world)
        return false;
    size = trace->world > 0 ? trace->world : size;
    return add_ranks(trace, ranks, 0, 1, size) &&
           keep_ranks(out, trace, ranks, (struct json_piece){NULL, 0});
}

static bool group_of(uint32_t *out, struct torch_trace *trace, const struct torch_call *call,
                     struct ranks *ranks)
{
    static const struct json_piece no_name = {NULL, 0};
    struct torch_group *group = find_group(trace, call->group_name);

    if (group && described_group(out, trace, group, ranks))
        return true;
    if (call->group_ranks.length &&
        parse_ranks(trace, ranks, call->group_ranks, call->group_size))
        return keep_ranks(out, trace, ranks, group ? group->description : no_name);
    if (call->group_stride > 0 && call->group_start >= 0)
        return add_ranks(trace, ranks, call->group_start, call->group_stride, call->group_size) &&
               keep_ranks(out, trace, ranks, no_name);
    return guessed_group(out, trace, call, ranks);
}

/* ---- bytes ---- */

static bool times(uint64_t *out, int64_t n, int64_t bytes)
{
    return n >= 0 && bytes >= 0 && !__builtin_mul_overflow(n, bytes, out) &&
           *out <= CAPTURE_BYTES_MAX;
}

/* IN of one member.  False: the trace does not tell it, or it does not fit. */
static bool operand_bytes(uint64_t *bytes, const struct torch_call *call, int64_t element_bytes,
                          uint32_t members)
{
    int64_t in = call->in_elements, out = call->out_elements;
    bool gathers = call->op->kind == COLL_ALL_GATHER || call->op->kind == COLL_GATHER;

    *bytes = 0;
    if (call->op->operand == TORCH_NO_ARRAY)
        return true;
    if (call->op->operand == TORCH_SCATTERED && out != TORCH_UNKNOWN)
        in = TORCH_UNKNOWN;
    if (in != TORCH_UNKNOWN)
        return times(bytes, in, element_bytes);
    if (!times(bytes, out, element_bytes))
        return false;
    if (call->op->operand != TORCH_INPUT)
        return !__builtin_mul_overflow(*bytes, members, bytes) && *bytes <= CAPTURE_BYTES_MAX;
    *bytes /= gathers ? members : 1;
    return true;
}

/* ---- calls ---- */

/* Digits that no letter stands before become '*', so that all layers are one place. */
static bool keep_place(uint32_t *out, struct torch_trace *trace, struct json_piece place)
{
    struct text text = TEXT_INIT;
    struct shd_error err;
    bool in_name = false, in_number = false;
    int status;

    for (size_t i = 0; i < place.length; i++) {
        char c = place.at[i];
        bool digit = c >= '0' && c <= '9';

        if (c == '\\')
            continue;
        if (digit && !in_name && !in_number)
            text_add_char(&text, '*');
        in_number = digit && !in_name;
        if (in_number)
            continue;
        text_add_char(&text, c);
        in_name = digit || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    }
    status = text.failed ? shd_error_set(&err, SHD_ENOMEM, "no memory for a trace")
                         : traces_add_word(out, trace->traces,
                                           (struct json_piece){text_get(&text), text.length}, &err);
    text_fini(&text);
    return !failed(trace, status, &err);
}

/* Who is at the other end of a message; -1: it does not say. */
static int64_t other_of(const struct torch_trace *trace, const struct torch_call *call,
                        const struct traces_group *group)
{
    if (call->other >= 0)
        return call->other;
    if (call->other_in_group >= 0 && call->other_in_group < group->n)
        return group->ids[call->other_in_group];
    if (group->n == 2)
        return group->ids[group->ids[0] == trace->rank];
    return TORCH_UNKNOWN;
}

static bool is_in(const struct traces_group *group, int64_t rank)
{
    for (uint32_t i = 0; i < group->n; i++)
        if (group->ids[i] == rank)
            return true;
    return false;
}

static void refuse(const struct torch_trace *trace, const struct torch_call *call,
                   const char *message)
{
    diag_error(trace->diag, json_text_place(&call->at, trace->file), "%.*s: %s",
               (int)(call->name.length < 60 ? call->name.length : 60), call->name.at, message);
}

/* What goes to the traces of one call, whose group is known. */
static bool add_call(struct torch_trace *trace, const struct torch_call *call, uint32_t number)
{
    const struct traces_group *group = &trace->traces->groups[number];
    struct traces_call added = {.op = call->op,
                                .group = number,
                                .npieces = (uint64_t)call->npieces,
                                .step = call->step,
                                .async = call->async,
                                .line = call->at.line,
                                .phase = call->backward ? CAPTURE_BACKWARD : CAPTURE_FORWARD};
    int64_t element_bytes = call->element_bytes, other;
    struct shd_error err;

    if (element_bytes == TORCH_UNKNOWN && call->op->operand != TORCH_NO_ARRAY) {
        element_bytes = 4;
        trace->traces->nuntyped++;
    }
    if (!operand_bytes(&added.bytes, call, element_bytes, group->n)) {
        refuse(trace, call,
               call->in_elements < 0 && call->out_elements < 0
                   ? "the sizes of its arrays are not told; trace with record_shapes=True"
                   : "its arrays are larger than can be counted");
        return false;
    }
    if (call->op->sends || call->op->receives) {
        other = other_of(trace, call, group);
        if (other < 0 || other >= trace->traces->world) {
            trace->traces->npeerless++;
            return true;
        }
        added.other = (int32_t)other;
    }
    return (!call->where.length || keep_place(&added.where, trace, call->where)) &&
           !failed(trace, traces_add_call(trace->traces, &added, &err), &err);
}

/* Of the calls that count: those of names that are not known, and the groups of the others. */
static bool find_groups(struct torch_trace *trace, uint32_t *groups, struct ranks *ranks)
{
    struct shd_error err;

    for (uint32_t i = 0; i < trace->ncalls; i++) {
        struct torch_call *call = &trace->calls[i];

        if (!call->counted)
            continue;
        if (!call->op) {
            call->counted = false;
            trace->traces->nunknown++;
            if (failed(trace,
                       traces_add_word(&trace->traces->unknown, trace->traces, call->name, &err),
                       &err))
                return false;
        } else if (!group_of(&groups[i], trace, call, ranks)) {
            if (!trace->diag->no_memory)
                refuse(trace, call, "which ranks its process group has is not told, or a rank twice");
            return false;
        }
    }
    return true;
}

/* ---- the rank and the world ---- */

/* Kinds of which the process group tells its own rank, where others tell a root or another's. */
static bool tells_own(const struct torch_call *call)
{
    return call->counted && call->own >= 0 &&
           (call->op->kind == COLL_ALL_REDUCE || call->op->kind == COLL_ALL_GATHER ||
            call->op->kind == COLL_REDUCE_SCATTER);
}

/* The one rank that all described groups have; TORCH_UNKNOWN: there are several. */
static int64_t common_rank(struct torch_trace *trace, struct ranks *ranks)
{
    const struct traces_group *least = NULL;
    int64_t found = TORCH_UNKNOWN;
    uint32_t number;

    for (uint32_t i = 0; i < trace->ngroups; i++)
        if (described_group(&number, trace, &trace->groups[i], ranks) &&
            (!least || trace->traces->groups[number].n < least->n))
            least = &trace->traces->groups[number];
    for (uint32_t i = 0; least && i < least->n; i++) {
        bool in_all = true;

        for (uint32_t k = 0; k < trace->ngroups && in_all; k++)
            in_all = !trace->groups[k].group ||
                     is_in(&trace->traces->groups[trace->groups[k].group - 1], least->ids[i]);
        if (in_all && found != TORCH_UNKNOWN)
            return TORCH_UNKNOWN;
        found = in_all ? least->ids[i] : found;
    }
    return found;
}

/* The last number in the name of the file, "rank-3.json", "et.3.json". */
static int64_t rank_in_name(const char *file)
{
    const char *slash = strrchr(file, '/');
    int64_t number = TORCH_UNKNOWN;

    for (const char *at = slash ? slash + 1 : file; *at; at++) {
        int64_t own = 0;

        if (*at < '0' || *at > '9')
            continue;
        for (; *at >= '0' && *at <= '9'; at++)
            own = own < CAPTURE_DEVICES_MAX ? own * 10 + (*at - '0') : own;
        number = own;
        at--;
    }
    return number;
}

static void find_rank(struct torch_trace *trace, const uint32_t *groups, struct ranks *ranks)
{
    for (uint32_t i = 0; i < trace->ncalls && trace->rank < 0; i++) {
        const struct torch_call *call = &trace->calls[i];

        if (tells_own(call) && call->own < trace->traces->groups[groups[i]].n)
            trace->rank = trace->traces->groups[groups[i]].ids[call->own];
    }
    if (trace->rank < 0)
        trace->rank = common_rank(trace, ranks);
    if (trace->rank < 0)
        trace->rank = rank_in_name(trace->file);
}

/* As many as there are, or as the groups reach. */
static void find_world(struct torch_trace *trace)
{
    int32_t most = 0;

    if (trace->world > 0)
        return;
    for (uint32_t i = 0; i < trace->traces->ngroups; i++) {
        const struct traces_group *group = &trace->traces->groups[i];
        int32_t last = group->n ? group->ids[group->n - 1] : 0;

        most = last > most ? last : most;
    }
    trace->world = most + 1;
}

static bool check_job(struct torch_trace *trace)
{
    struct traces *traces = trace->traces;
    struct place place = {trace->file, 1, 1};

    if (trace->world > CAPTURE_DEVICES_MAX) {
        diag_error(trace->diag, place, "a job of more ranks than can be read, %d",
                   CAPTURE_DEVICES_MAX);
        return false;
    }
    if (trace->rank < 0 || trace->rank >= trace->world) {
        diag_error(trace->diag, place,
                   "whose trace is this? expected its rank, of %lld, in distributedInfo, in its "
                   "process groups or in the name of the file, as 'rank-3.json'",
                   (long long)trace->world);
        return false;
    }
    for (uint32_t i = 0; i < traces->nranks; i++)
        if (traces->ranks[i].rank == trace->rank) {
            diag_error(trace->diag, place,
                       "this is the trace of rank %lld, as '%s' is; expected one trace of each "
                       "rank",
                       (long long)trace->rank, traces->ranks[i].file);
            return false;
        }
    if (traces->world && traces->world != trace->world) {
        diag_error(trace->diag, place,
                   "this is the trace of a job of %lld ranks, and '%s' is of one of %d",
                   (long long)trace->world, traces->ranks[0].file, traces->world);
        return false;
    }
    traces->world = (int32_t)trace->world;
    return true;
}

/* Calls in the order in which they began, on whichever thread. */
static int by_begin(const void *a, const void *b)
{
    const struct torch_call *x = a, *y = b;

    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return (x->at.at > y->at.at) - (x->at.at < y->at.at);
}

static void finish(struct torch_trace *trace, uint32_t *groups, struct ranks *ranks)
{
    struct shd_error err;

    if (trace->ncalls)
        qsort(trace->calls, trace->ncalls, sizeof *trace->calls, by_begin);
    if (!find_groups(trace, groups, ranks))
        return;
    find_rank(trace, groups, ranks);
    find_world(trace);
    if (!check_job(trace) ||
        failed(trace, traces_add_rank(trace->traces, trace->file, (int32_t)trace->rank, &err),
               &err))
        return;
    for (uint32_t i = 0; i < trace->ncalls; i++) {
        const struct traces_group *group = &trace->traces->groups[groups[i]];

        if (!trace->calls[i].counted)
            continue;
        if (group->ids[group->n - 1] >= trace->traces->world || !is_in(group, trace->rank)) {
            refuse(trace, &trace->calls[i],
                   group->ids[group->n - 1] >= trace->traces->world
                       ? "a rank is in its process group that the job does not have"
                       : "this rank is not in its own process group");
            return;
        }
        if (!add_call(trace, &trace->calls[i], groups[i]))
            return;
    }
}

void torch_trace_finish(struct torch_trace *trace)
{
    struct ranks ranks = {.n = 0};
    uint32_t *groups = calloc((size_t)trace->ncalls + 1, sizeof *groups);

    if (groups && torch_nest(trace))
        finish(trace, groups, &ranks);
    else
        diag_no_memory(trace->diag);
    free(groups);
    free(ranks.ids);
}
