/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "capture/torch_profiler.h"

#include <string.h>

#include "base/hash.h"
#include "capture/torch_own.h"

#define LOOKED_AT_MAX ((size_t)64 << 10) /* bytes of a file in which its first events must lie */

bool torch_profiler_is(const char *text, size_t length)
{
    struct json_piece head = {text, length < LOOKED_AT_MAX ? length : LOOKED_AT_MAX};
    struct json_text j;
    char c;

    json_text_init(&j, text, length);
    c = json_text_peek(&j);
    return (c == '{' || c == '[') &&
           (json_piece_has(head, "\"traceEvents\"") || json_piece_has(head, "\"ph\"") ||
            json_piece_has(head, "\"distributedInfo\""));
}

/* The fields of an event before its `args` are read. */
struct fields {
    struct json_piece phase, category, name, ts, dur;
    uint64_t thread;
    struct json_text at, args; /* the event's place, and its args */
    bool has_args;
};

/* ---- args of a call ---- */

/* Read an arg of a process group's record. */
static bool read_group_arg(struct torch_call *call, struct json_piece key, struct json_text *j)
{
    struct json_piece piece;

    if (json_piece_is(key, "In msg nelems"))
        return json_text_int(j, &call->in_elements);
    if (json_piece_is(key, "Out msg nelems"))
        return json_text_int(j, &call->out_elements);
    if (json_piece_is(key, "Group size"))
        return json_text_int(j, &call->group_size);
    if (json_piece_is(key, "Global rank start"))
        return json_text_int(j, &call->group_start);
    if (json_piece_is(key, "Global rank stride"))
        return json_text_int(j, &call->group_stride);
    if (json_piece_is(key, "Rank"))
        return json_text_int(j, &call->own);
    if (json_piece_is(key, "Src Rank") || json_piece_is(key, "Dst Rank"))
        return json_text_int(j, &call->other);
    if (json_piece_is(key, "Process Group Name"))
        return json_text_string(j, &call->group_name);
    if (json_piece_is(key, "Process Group Ranks"))
        return json_text_string(j, &call->group_ranks);
    if (json_piece_is(key, "Is asynchronized op")) {
        call->async = json_text_true(j);
        return call->async;
    }
    if (!json_piece_is(key, "dtype") || !json_text_string(j, &piece))
        return false;
    call->element_bytes = (int64_t)torch_element_bytes(piece);
    return true;
}

static bool read_args(struct torch_call *call, struct torch_arrays *arrays, struct json_text j)
{
    struct json_piece key, name;
    bool named = false;

    if (!json_text_open(&j, '{'))
        return false;
    while (json_text_key(&j, &key)) {
        bool taken = false;

        if (json_piece_is(key, "Collective name")) {
            taken = named = json_text_string(&j, &name);
            if (named) {
                call->name = name;
                call->op = torch_op_find(name);
            }
        } else if (json_piece_is(key, "Input Dims")) {
            taken = torch_arrays_read_dims(arrays, &j);
        } else if (json_piece_is(key, "Input type")) {
            taken = torch_arrays_read_types(arrays, &j);
        } else if (json_piece_is(key, "Concrete Inputs")) {
            taken = torch_arrays_read_scalars(arrays, &j);
        } else if (json_piece_is(key, "External id")) {
            taken = json_text_int(&j, &call->record);
        } else {
            taken = read_group_arg(call, key, &j);
        }
        if (!taken)
            (void)json_text_skip(&j);
    }
    return named;
}

static bool add_call(struct torch_trace *trace, struct torch_event *event,
                     const struct fields *fields)
{
    struct torch_arrays arrays = {.n = 0};
    struct torch_call call = torch_call_named(torch_op_name(event->name), event->role);
    bool named = fields->has_args && read_args(&call, &arrays, fields->args);

    call.at = fields->at;
    if (event->role == TORCH_OWN)
        call.op = torch_own_op(call.name);
    if (event->role == TORCH_KERNEL && !named &&
        !torch_own_add_kernel(trace, event->name, call.record))
        return false;
    trace->nnameless +=
        event->role == TORCH_KERNEL && !named && json_piece_begins(event->name, "nccl");
    if (event->role == TORCH_GROUP_CALL || event->role == TORCH_KERNEL) {
        /* A record without a name says less than the op around it; a mere wait moves nothing. */
        if (!named || (call.op && !call.op->op))
            return true;
        if (call.op && (call.op->sends || call.op->receives))
            call.other_in_group = call.own;
    } else {
        if (call.op && !call.op->op)
            return true;
        (event->role == TORCH_OWN ? torch_own_sizes : torch_arrays_of_call)(&arrays, &call);
    }
    return torch_trace_add_call(trace, &call, event);
}

/* ---- events ---- */

/* Read a thread's id, a number or a string, as a hash: only equality matters. */
static uint64_t read_thread(struct json_text *j, uint64_t thread)
{
    struct json_piece piece;

    if (json_text_string(j, &piece) || json_text_number(j, &piece))
        return hash_bytes(thread, piece.at, piece.length);
    (void)json_text_skip(j);
    return thread;
}

static bool read_fields(struct fields *f, struct json_text *j)
{
    struct json_piece key;
    uint64_t process = HASH_BEGIN, thread = HASH_BEGIN;

    *f = (struct fields){.has_args = false};
    (void)json_text_peek(j);
    f->at = json_text_again(j);
    if (!json_text_open(j, '{'))
        return json_text_skip(j);
    while (json_text_key(j, &key)) {
        bool taken = true;

        if (json_piece_is(key, "ph"))
            taken = json_text_string(j, &f->phase);
        else if (json_piece_is(key, "cat"))
            taken = json_text_string(j, &f->category);
        else if (json_piece_is(key, "name"))
            taken = json_text_string(j, &f->name);
        else if (json_piece_is(key, "ts"))
            taken = json_text_number(j, &f->ts);
        else if (json_piece_is(key, "dur"))
            taken = json_text_number(j, &f->dur);
        else if (json_piece_is(key, "pid"))
            process = read_thread(j, process);
        else if (json_piece_is(key, "tid"))
            thread = read_thread(j, thread);
        else
            taken = false;
        if (!taken && json_piece_is(key, "args") && json_text_peek(j)) {
            f->args = json_text_again(j);
            f->has_args = true;
        }
        if (!taken)
            (void)json_text_skip(j);
    }
    f->thread = hash_bytes(process, &thread, sizeof thread);
    return !j->fault;
}

/* The role of an event.  False: irrelevant. */
static bool role_of(enum torch_role *role, const struct fields *f)
{
    if (!json_piece_is(f->phase, "X") || json_piece_begins(f->category, "gpu_"))
        return false;
    if (json_piece_is(f->category, "kernel")) {
        *role = TORCH_KERNEL;
        return json_piece_begins(f->name, "nccl") || torch_own_is_kernel(f->name);
    }
    if (!json_piece_is(f->category, "cpu_op") && !json_piece_is(f->category, "user_annotation"))
        return false;
    return torch_role_of(role, f->name, json_piece_is(f->category, "user_annotation"));
}

static bool read_event(struct torch_trace *trace, struct json_text *j)
{
    struct torch_event event = {.call = 0};
    struct fields f;
    int64_t dur = 0;

    if (!read_fields(&f, j))
        return false;
    if (!role_of(&event.role, &f))
        return true;
    if (event.role == TORCH_FUNCTIONAL && !torch_own_is(torch_op_name(f.name)))
        return true;
    event.role = event.role == TORCH_FUNCTIONAL ? TORCH_OWN : event.role;
    event.thread = f.thread;
    event.name = f.name;
    /* Times in the file are in us; events have ns. */
    if (!json_piece_thousandths(f.ts, &event.begin) ||
        (f.dur.length && !json_piece_thousandths(f.dur, &dur)) || dur < 0 ||
        __builtin_add_overflow(event.begin, dur, &event.end)) {
        diag_error(trace->diag, json_text_place(&f.at, trace->file),
                   "an event without timestamps; expected its 'ts' and 'dur' in microseconds");
        return false;
    }
    return event.role < TORCH_OWN ? torch_trace_add_event(trace, &event)
                                  : add_call(trace, &event, &f);
}

static bool read_events(struct torch_trace *trace, struct json_text *j)
{
    if (!json_text_open(j, '['))
        return json_text_skip(j);
    while (json_text_item(j))
        if (!read_event(trace, j))
            return false;
    return !j->fault;
}

/* {"backend": "nccl", "rank": 0, "world_size": 8, "pg_config": [...]} */
static bool read_job(struct torch_trace *trace, struct json_text *j)
{
    struct json_piece key;

    if (!json_text_open(j, '{'))
        return json_text_skip(j);
    while (json_text_key(j, &key)) {
        bool taken = false;

        if (json_piece_is(key, "rank"))
            taken = json_text_int(j, &trace->rank);
        else if (json_piece_is(key, "world_size"))
            taken = json_text_int(j, &trace->world);
        else if (json_piece_is(key, "pg_config"))
            taken = torch_trace_read_groups(trace, j);
        if (!taken)
            (void)json_text_skip(j);
    }
    return !j->fault;
}

static bool read_top(struct torch_trace *trace, struct json_text *j)
{
    struct json_piece key;

    if (json_text_peek(j) == '[')
        return read_events(trace, j);
    if (!json_text_open(j, '{'))
        return json_text_skip(j);
    while (json_text_key(j, &key)) {
        bool good = json_piece_is(key, "traceEvents")       ? read_events(trace, j)
                    : json_piece_is(key, "distributedInfo") ? read_job(trace, j)
                                                            : json_text_skip(j);

        if (!good)
            return false;
    }
    return !j->fault;
}

int torch_profiler_read(struct traces *out, const char *file, const char *text, size_t length,
                        struct diag *diag)
{
    struct torch_trace trace;
    struct json_text j;
    size_t before = diag->nerrors;

    torch_trace_init(&trace, file, out, diag);
    json_text_init(&j, text, length);
    if (read_top(&trace, &j) && json_text_end(&j))
        torch_trace_finish(&trace);
    else if (j.fault && diag->nerrors == before)
        json_text_report(&j, file, diag);
    torch_trace_fini(&trace);
    return diag_status(diag, before);
}
