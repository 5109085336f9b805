/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "capture/torch_trace.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "capture/torch_groups.h"
#include "capture/torch_own.h"

bool torch_trace_add_event(struct torch_trace *trace, const struct torch_event *event)
{
    if (!torch_trace_grow(trace, &trace->events, trace->nevents, sizeof *trace->events))
        return false;
    trace->events[trace->nevents++] = *event;
    return true;
}

bool torch_trace_add_call(struct torch_trace *trace, const struct torch_call *call,
                          struct torch_event *event)
{
    if (call->element_bytes == 0) {
        diag_error(trace->diag, json_text_place(&call->at, trace->file),
                   "'%.*s' has an unknown element type",
                   (int)(call->name.length < 60 ? call->name.length : 60), call->name.at);
        return false;
    }
    if (!torch_trace_grow(trace, &trace->calls, trace->ncalls, sizeof *trace->calls))
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
    size_t at = name.length;

    while (at > 0 && name.at[at - 1] != ':')
        at--;
    /* An event without a name has no text to point into. */
    return at > 0 ? (struct json_piece){name.at + at, name.length - at} : name;
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
                               .record = TORCH_UNKNOWN,
                               .own = TORCH_UNKNOWN,
                               .other = TORCH_UNKNOWN,
                               .other_in_group = TORCH_UNKNOWN,
                               .step = TRACES_NO_STEP};
}

/* Whether a name is a label like "nccl:all_reduce": a backend, one colon, and a collective. */
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
    else if (torch_own_is(torch_op_name(name)) &&
             !json_piece_begins(name, "autograd::engine::evaluate_function: "))
        *role = TORCH_OWN;
    else if (is_scope)
        *role = TORCH_SCOPE;
    else if (json_piece_begins(name, "autograd::engine::evaluate_function: "))
        *role = TORCH_BACKWARD;
    else
        return false;
    return true;
}

/* ---- bytes ---- */

static bool times(uint64_t *out, int64_t n, int64_t bytes)
{
    return n >= 0 && bytes >= 0 && !__builtin_mul_overflow(n, bytes, out) &&
           *out <= CAPTURE_BYTES_MAX;
}

/* IN of one member.  False: unknown, or too large. */
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

/* Keep a place with each number that does not follow a letter replaced by '*', so that all layers
 * are one place. */
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
    return !torch_trace_failed(trace, status, &err);
}

/* The other rank of a message; TORCH_UNKNOWN: not given. */
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

/* Number of members that the array sizes of a call imply; unknown if shards differ in size. */
static int64_t members_of_arrays(const struct torch_call *call)
{
    bool gathers = call->op->kind == COLL_ALL_GATHER;
    int64_t part = gathers ? call->in_elements : call->out_elements;
    int64_t whole = gathers ? call->out_elements : call->in_elements;

    return (gathers || call->op->kind == COLL_REDUCE_SCATTER) && part > 0 && whole > 0 &&
                   whole % part == 0
               ? whole / part
               : TORCH_UNKNOWN;
}

static bool agrees(const struct torch_trace *trace, const struct torch_call *call, uint32_t n)
{
    int64_t told =
        call->group_size > 0 && call->group_size != n ? call->group_size : members_of_arrays(call);

    if (told == TORCH_UNKNOWN || told == n)
        return true;
    torch_trace_refuse(trace, call, "its process group has %u ranks, but its %s imply %lld", n,
                       told == call->group_size ? "arguments" : "arrays", (long long)told);
    return false;
}

/* Add a call, whose group is known, to the traces. */
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

    if (!agrees(trace, call, group->n))
        return false;
    if (element_bytes == TORCH_UNKNOWN && call->op->operand != TORCH_NO_ARRAY) {
        element_bytes = 4;
        trace->traces->nuntyped++;
    }
    if (!operand_bytes(&added.bytes, call, element_bytes, group->n)) {
        torch_trace_refuse(trace, call, "%s",
                           call->in_elements < 0 && call->out_elements < 0
                               ? "the sizes of its arrays are missing; trace with "
                                 "record_shapes=True"
                               : "its arrays are too large");
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
           !torch_trace_failed(trace, traces_add_call(trace->traces, &added, &err), &err);
}

#define NOT_TOLD UINT32_MAX /* group of a call that does not give it */

/* Find the groups of counted calls that give them; calls of unknown name are counted as such and
 * dropped. */
static bool find_groups(struct torch_trace *trace, uint32_t *groups, struct torch_ranks *ranks)
{
    struct shd_error err;

    for (uint32_t i = 0; i < trace->ncalls; i++) {
        struct torch_call *call = &trace->calls[i];

        if (!call->counted)
            continue;
        if (!torch_own_is_known(call)) {
            call->counted = false;
            trace->traces->nunknown++;
            if (torch_trace_failed(
                    trace,
                    traces_add_word(&trace->traces->unknown, trace->traces, call->name, &err),
                    &err))
                return false;
        } else if (!torch_group_is_told(trace, call)) {
            groups[i] = NOT_TOLD;
        } else if (!torch_group_of(&groups[i], trace, call, ranks)) {
            if (!trace->diag->no_memory)
                torch_trace_refuse(trace, call,
                                   "the ranks of its process group are missing or repeated");
            return false;
        }
    }
    return true;
}

/* Guess the groups of the other calls; rank and world are known. */
static bool guess_groups(struct torch_trace *trace, uint32_t *groups, struct torch_ranks *ranks)
{
    for (uint32_t i = 0; i < trace->ncalls; i++)
        if (trace->calls[i].counted && groups[i] == NOT_TOLD &&
            !torch_group_guess(&groups[i], trace, &trace->calls[i], ranks))
            return false;
    return true;
}

/* ---- the rank and the world ---- */

/* Whether a process group reports this rank's own number in a call; other kinds report a root, or
 * the other rank. */
static bool tells_own(const struct torch_call *call)
{
    return call->counted && call->own >= 0 &&
           (call->op->kind == COLL_ALL_REDUCE || call->op->kind == COLL_ALL_GATHER ||
            call->op->kind == COLL_REDUCE_SCATTER);
}

/* The only rank that all described groups have in common; TORCH_UNKNOWN: several. */
static int64_t common_rank(struct torch_trace *trace, struct torch_ranks *ranks)
{
    const struct traces_group *least = NULL;
    int64_t found = TORCH_UNKNOWN;
    uint32_t number;

    for (uint32_t i = 0; i < trace->ngroups; i++)
        if (torch_group_described(&number, trace, &trace->groups[i], ranks) &&
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

/* The last number in a file's name: "rank-3.json", "et.3.json". */
static int64_t rank_in_name(const char *file)
{
    int64_t number = TORCH_UNKNOWN;

    for (const char *at = file_name(file); *at; at++) {
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

static void find_rank(struct torch_trace *trace, const uint32_t *groups, struct torch_ranks *ranks)
{
    for (uint32_t i = 0; i < trace->ncalls && trace->rank < 0; i++) {
        const struct torch_call *call = &trace->calls[i];

        if (tells_own(call) && groups[i] != NOT_TOLD &&
            call->own < trace->traces->groups[groups[i]].n)
            trace->rank = trace->traces->groups[groups[i]].ids[call->own];
    }
    if (trace->rank < 0)
        trace->rank = common_rank(trace, ranks);
    if (trace->rank < 0)
        trace->rank = rank_in_name(trace->file);
}

/* Set the world size if not given: as many ranks as the groups reach, or as array sizes imply for
 * calls without a group. */
static void find_world(struct torch_trace *trace, const uint32_t *groups)
{
    int64_t most = 0;

    if (trace->world <= 0)
        trace->world = trace->traces->given_world;
    trace->is_world_told = trace->world > 0;
    if (trace->is_world_told)
        return;
    for (uint32_t i = 0; i < trace->traces->ngroups; i++) {
        const struct traces_group *group = &trace->traces->groups[i];
        int32_t last = group->n ? group->ids[group->n - 1] : 0;

        most = last > most ? last : most;
    }
    for (uint32_t i = 0; i < trace->ncalls && trace->ngroups == 0; i++)
        if (trace->calls[i].counted && groups[i] == NOT_TOLD) {
            int64_t size = torch_group_size(&trace->calls[i]);

            most = size - 1 > most ? size - 1 : most;
        }
    trace->world = most + 1;
    trace->traces->is_reached |= trace->world > 1;
    /* In a job of one rank, a number in the file's name is not the rank. */
    trace->rank = trace->world == 1 ? 0 : trace->rank;
}

static bool check_job(struct torch_trace *trace)
{
    struct traces *traces = trace->traces;
    struct place place = {trace->file, 1, 1};

    if (trace->world > CAPTURE_DEVICES_MAX) {
        diag_error(trace->diag, place, "the job has more than %d ranks", CAPTURE_DEVICES_MAX);
        return false;
    }
    if (trace->rank < 0 || trace->rank >= trace->world) {
        diag_error(trace->diag, place,
                   "the trace's rank (of %lld) is unknown; expected it in distributedInfo, in its "
                   "process groups or in the file name, such as 'rank-3.json'",
                   (long long)trace->world);
        return false;
    }
    for (uint32_t i = 0; i < traces->nranks; i++)
        if (traces->ranks[i].rank == trace->rank) {
            diag_error(trace->diag, place,
                       "a second trace of rank %lld, like '%s'; expected one trace per rank",
                       (long long)trace->rank, traces->ranks[i].file);
            return false;
        }
    if (traces->world && traces->world != trace->world) {
        diag_error(trace->diag, place,
                   "this trace is of a job of %lld ranks, but '%s' is of a job of %d",
                   (long long)trace->world, traces->ranks[0].file, traces->world);
        return false;
    }
    traces->world = (int32_t)trace->world;
    return true;
}

/* Order calls by start, on any thread. */
static int by_begin(const void *a, const void *b)
{
    const struct torch_call *x = a, *y = b;

    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return (x->at.at > y->at.at) - (x->at.at < y->at.at);
}

/* Add all groups that the trace describes, even unused ones: they help to infer the mesh. */
static bool keep_described(struct torch_trace *trace, struct torch_ranks *ranks)
{
    uint32_t number;

    for (uint32_t i = 0; i < trace->ngroups; i++)
        if (!torch_group_described(&number, trace, &trace->groups[i], ranks) &&
            trace->diag->no_memory)
            return false;
    return true;
}

static void finish(struct torch_trace *trace, uint32_t *groups, struct torch_ranks *ranks)
{
    struct shd_error err;

    if (trace->ncalls)
        qsort(trace->calls, trace->ncalls, sizeof *trace->calls, by_begin);
    if (!find_groups(trace, groups, ranks) || !keep_described(trace, ranks) ||
        !torch_own_count_kernels(trace))
        return;
    find_rank(trace, groups, ranks);
    find_world(trace, groups);
    if (!check_job(trace) || !guess_groups(trace, groups, ranks) ||
        torch_trace_failed(
            trace, traces_add_rank(trace->traces, trace->file, (int32_t)trace->rank, &err), &err))
        return;
    trace->traces->nnameless += trace->ncalls ? 0 : trace->nnameless;
    for (uint32_t i = 0; i < trace->ncalls; i++) {
        const struct traces_group *group;

        if (!trace->calls[i].counted)
            continue;
        group = &trace->traces->groups[groups[i]];
        if (group->ids[group->n - 1] >= trace->traces->world || !is_in(group, trace->rank)) {
            torch_trace_refuse(trace, &trace->calls[i], "%s",
                               group->ids[group->n - 1] >= trace->traces->world
                                   ? "its process group has a rank outside the job"
                                   : "this rank is not in its own process group");
            return;
        }
        if (!add_call(trace, &trace->calls[i], groups[i]))
            return;
    }
}

void torch_trace_finish(struct torch_trace *trace)
{
    struct torch_ranks ranks = {.n = 0};
    uint32_t *groups = calloc((size_t)trace->ncalls + 1, sizeof *groups);

    if (groups && torch_nest(trace))
        finish(trace, groups, &ranks);
    else
        diag_no_memory(trace->diag);
    free(groups);
    free(ranks.ids);
}
