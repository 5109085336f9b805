/* A step as Chrome trace events (trace.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/trace.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cost/timeline.h"
#include "program/moments.h"
#include "report/class_traffic.h"
#include "report/traffic.h"

#define COMPUTE 0           /* number of the computation thread; threads of transfers follow */
#define ARROW_SOURCES_MAX 8 /* arrows into one receive; more would be a dark bundle */

enum kind { SLICE, ARROW_OUT, ARROW_IN, MEMORY, RECEIVED };

struct event {
    enum kind kind;
    int64_t at_ns, ns;
    uint64_t sequence, part; /* orders events of equal time: an arrow's begin is a part of its
                                slice, so that viewers find the slice */
    uint32_t lane, op, microbatch;
    uint128 value; /* MEMORY: bytes in use; RECEIVED: bytes added; arrows: their number */
};

/* Thread of the transfers along the same axes in one stream, or of the host's. */
struct thread {
    char *axes;
    int stream;
};

struct trace {
    const struct result *result;
    const struct program *program;
    struct timeline *timeline;
    struct event *events;
    size_t nevents;
    struct thread *threads; /* transfer threads only */
    uint32_t nthreads;
    uint32_t *thread_of; /* [op] */
    uint64_t **slice_of; /* [lane][action]: sequence number of the action's first slice */
    uint64_t narrows;
    bool failed;
};

/* Append an event; returns its index, 0 if there was no memory. */
static uint64_t add(struct trace *t, struct event event)
{
    if (!array_make_room(&t->events, t->nevents, sizeof *t->events)) {
        t->failed = true;
        return 0;
    }
    if (event.part == 0)
        event.sequence = t->nevents;
    t->events[t->nevents] = event;
    return t->nevents++;
}

/* ---- threads ---- */

static int stream_of(const struct timeline_lane *lane, size_t action)
{
    return lane->actions[action].stream;
}

/* Find or make the thread of an op beside the computations. */
static void find_thread(struct trace *t, uint32_t op, int stream)
{
    const struct program_op *o = &t->program->ops[op];
    char *axes = program_communicates(o)
                     ? traffic_axes(t->program, o)
                     : strdup(o->kind == PROGRAM_HOST ? program_step_name(o) : "on the host");
    uint32_t i = 0;

    if (!axes) {
        t->failed = true;
        return;
    }
    while (i < t->nthreads &&
           (t->threads[i].stream != stream || strcmp(t->threads[i].axes, axes) != 0))
        i++;
    if (i < t->nthreads)
        free(axes);
    else
        t->threads[t->nthreads++] = (struct thread){axes, stream};
    t->thread_of[op] = 1 + i;
}

static void find_threads(struct trace *t)
{
    for (uint32_t l = 0; l < t->timeline->nlanes; l++) {
        const struct timeline_lane *lane = &t->timeline->lanes[l];

        for (size_t i = 0; i < lane->nactions && !t->failed; i++)
            if (stream_of(lane, i) >= 0 && t->thread_of[lane->actions[i].op] == COMPUTE)
                find_thread(t, lane->actions[i].op, stream_of(lane, i));
    }
}

/* ---- slices ---- */

static uint64_t add_slice(struct trace *t, uint32_t lane, const struct events_seen *seen)
{
    return add(t, (struct event){.kind = SLICE,
                                 .at_ns = seen->start_ns,
                                 .ns = seen->end_ns - seen->start_ns,
                                 .lane = lane,
                                 .op = seen->op,
                                 .microbatch = seen->microbatch});
}

/* Add a slice for each computation that takes time, each transfer that takes none (a sender's:
 * arrows begin there), and each stretch of the other transfers. */
static void add_slices(struct trace *t, uint32_t l)
{
    const struct timeline_lane *lane = &t->timeline->lanes[l];

    for (size_t i = 0; i < lane->nactions; i++) {
        const struct events_seen *a = &lane->actions[i];

        if ((a->stream < 0) == (a->end_ns > a->start_ns))
            t->slice_of[l][i] = add_slice(t, l, a);
    }
    for (size_t i = 0; i < lane->nstretches; i++) {
        const struct events_seen *s = &lane->stretches[i];
        size_t action = timeline_action(t->timeline, l, s->op, s->microbatch);
        uint64_t sequence = add_slice(t, l, s);

        if (s->start_ns == lane->actions[action].start_ns)
            t->slice_of[l][action] = sequence;
    }
}

/* ---- arrows ---- */

/* The devices that send to one device in an op, as lanes, each once. */
struct sources {
    const struct trace *trace;
    uint32_t lanes[ARROW_SOURCES_MAX];
    uint32_t n, own;
};

static bool add_source(void *arg, int32_t position, uint64_t bytes)
{
    struct sources *s = arg;
    uint32_t lane = timeline_find(s->trace->timeline, position);

    (void)bytes;
    if (lane == PROGRAM_NONE || lane == s->own)
        return true;
    for (uint32_t i = 0; i < s->n; i++)
        if (s->lanes[i] == lane)
            return true;
    s->lanes[s->n++] = lane;
    return s->n < ARROW_SOURCES_MAX;
}

static void find_sources(struct sources *s, const struct trace *t, uint32_t lane, uint32_t i)
{
    const struct program_op *op = &t->program->ops[i];
    int32_t position = t->timeline->lanes[lane].devices.first;

    *s = (struct sources){.trace = t, .own = lane};
    if (op->kind == PROGRAM_RECV)
        add_source(s,
                   program_doer(t->program,
                                &t->program->ops[t->program->channels[op->channel].send], position),
                   0);
    else
        program_transfers(t->program, op, position, add_source, s);
}

/* Draw an arrow from the begin of the sender's slice to the end of the receiver's.  Of a class only
 * one device is timed, so its slice may begin too late; then there is no arrow. */
static void add_arrow(struct trace *t, uint32_t from, uint32_t to, uint32_t sent,
                      const struct events_seen *received)
{
    size_t i = timeline_action(t->timeline, from, sent, received->microbatch);
    const struct timeline_lane *lane = &t->timeline->lanes[from];
    struct event out = {.kind = ARROW_OUT, .lane = from, .op = sent}, in = out;

    if (i == lane->nactions || received->end_ns - 1 <= lane->actions[i].start_ns)
        return;
    out.value = in.value = ++t->narrows;
    out.at_ns = lane->actions[i].start_ns;
    out.sequence = t->slice_of[from][i];
    out.part = t->narrows;
    in.kind = ARROW_IN;
    in.at_ns = received->end_ns - 1;
    in.lane = to;
    in.op = received->op;
    add(t, out);
    add(t, in);
}

static void add_arrows(struct trace *t, uint32_t l)
{
    const struct timeline_lane *lane = &t->timeline->lanes[l];

    for (size_t i = 0; i < lane->nactions && !t->failed; i++) {
        const struct events_seen *a = &lane->actions[i];
        const struct program_op *op = &t->program->ops[a->op];
        struct sources s;

        if (a->stream < 0 || a->end_ns == a->start_ns || op->kind == PROGRAM_SEND)
            continue;
        find_sources(&s, t, l, a->op);
        for (uint32_t k = 0; k < s.n; k++)
            add_arrow(t, s.lanes[k], l,
                      op->kind == PROGRAM_RECV ? t->program->channels[op->channel].send : a->op, a);
    }
}

/* ---- counters ---- */

/* Bytes that the k-th of an op's `times` executions receives: the record has their sum, and the
 * last execution takes the remainder of the division. */
static uint128 part_of(uint128 bytes, uint32_t times, uint32_t k)
{
    return k + 1 == times ? bytes - bytes / times * k : bytes / times;
}

static void add_received(struct trace *t, uint32_t l)
{
    const struct timeline_lane *lane = &t->timeline->lanes[l];

    add(t, (struct event){.kind = RECEIVED, .lane = l});
    for (size_t i = 0; i < lane->nactions; i++) {
        const struct events_seen *a = &lane->actions[i];
        uint128 bytes =
            a->stream < 0 ? 0 : record_received_in(t->result->record, a->op, lane->devices.first);

        if (bytes > 0)
            add(t, (struct event){.kind = RECEIVED,
                                  .at_ns = a->end_ns,
                                  .lane = l,
                                  .value =
                                      part_of(bytes, t->program->ops[a->op].times, a->microbatch)});
    }
}

static void add_memory(struct trace *t, uint32_t l, const struct program_moments *moments)
{
    const struct timeline_lane *lane = &t->timeline->lanes[l];
    int64_t core_ns = 0; /* end of the last computation */
    uint128 before = 0;

    for (size_t i = 0; i < lane->nactions; i++) {
        const struct events_seen *a = &lane->actions[i];
        const struct program_moment *moment = program_moments_find(moments, a->op, a->microbatch);
        uint128 bytes = moment ? program_moment_bytes(moment) : before;

        if (bytes != before)
            add(t, (struct event){.kind = MEMORY,
                                  .at_ns = a->stream < 0 ? a->start_ns : core_ns,
                                  .lane = l,
                                  .value = bytes});
        before = bytes;
        core_ns = a->stream < 0 ? a->end_ns : core_ns;
    }
}

static int add_memories(struct trace *t, struct shd_error *err)
{
    int status = SHD_OK;

    for (uint32_t rank = 0; rank < t->program->nranks && status == SHD_OK; rank++) {
        struct program_moments moments;

        status = program_moments_init(&moments, t->program, rank, err);
        for (uint32_t l = 0; l < t->timeline->nlanes && status == SHD_OK; l++)
            if (t->timeline->lanes[l].rank == rank)
                add_memory(t, l, &moments);
        program_moments_fini(&moments);
    }
    return status;
}

/* ---- as JSON ---- */

static uint32_t process_of(uint32_t lane)
{
    return lane + 1; /* viewers reserve process 0 for the system */
}

#define THREADS_OF_PROCESS 1000 /* thread numbers of different processes must differ */

static void write_head(struct json_out *out, const char *phase, uint32_t lane)
{
    json_out_begin_flat_object(out);
    json_out_key_string(out, "ph", phase);
    json_out_key_uint(out, "pid", process_of(lane));
}

static void write_thread(struct json_out *out, uint32_t lane, uint32_t thread)
{
    json_out_key_uint(out, "tid", (uint128)process_of(lane) * THREADS_OF_PROCESS + thread);
}

static void write_time(struct json_out *out, const char *key, int64_t ns)
{
    json_out_key_double(out, key, (double)ns / 1e3);
}

static void begin_args(struct json_out *out)
{
    json_out_key_flat_object(out, "args");
}

static void end_args(struct json_out *out)
{
    json_out_end_object(out);
    json_out_end_object(out);
}

static void write_name(struct json_out *out, uint32_t lane, const char *what, uint32_t thread,
                       const char *name)
{
    bool process = !strncmp(what, "process", 7);

    write_head(out, "M", lane);
    if (!process)
        write_thread(out, lane, thread);
    json_out_key_string(out, "name", what);
    begin_args(out);
    if (name)
        json_out_key_string(out, "name", name);
    else
        json_out_key_uint(out, "sort_index", process ? lane : thread);
    end_args(out);
}

static void write_process_name(struct trace *t, struct json_out *out, uint32_t l)
{
    const struct program_class *devices = &t->timeline->lanes[l].devices;
    char *class = class_traffic_name(t->program, devices);
    struct text name = TEXT_INIT;

    if (devices->ndevices == 1)
        text_addf(&name, "device %d",
                  (int)shd_mesh_device_id(t->program->asked_mesh, devices->first));
    else
        text_addf(&name, "devices like %d (%s)",
                  (int)shd_mesh_device_id(t->program->asked_mesh, devices->first),
                  class ? class : "");
    t->failed |= !class || name.failed;
    write_name(out, l, "process_name", 0, text_get(&name));
    write_name(out, l, "process_sort_index", 0, NULL);
    free(class);
    text_fini(&name);
}

static void write_names(struct trace *t, struct json_out *out)
{
    for (uint32_t l = 0; l < t->timeline->nlanes; l++) {
        write_process_name(t, out, l);
        write_name(out, l, "thread_name", COMPUTE, "computations");
        write_name(out, l, "thread_sort_index", COMPUTE, NULL);
        for (uint32_t i = 0; i < t->nthreads; i++) {
            struct text name = TEXT_INIT;

            text_addf(&name, "%s%s",
                      t->threads[i].stream < EVENTS_LINKS_MAX ? "transfers along " : "",
                      t->threads[i].axes);
            t->failed |= name.failed;
            write_name(out, l, "thread_name", 1 + i, text_get(&name));
            write_name(out, l, "thread_sort_index", 1 + i, NULL);
            text_fini(&name);
        }
    }
}

static void write_slice(const struct trace *t, struct json_out *out, const struct event *e)
{
    const struct program_op *op = &t->program->ops[e->op];

    write_head(out, "X", e->lane);
    write_thread(out, e->lane, t->thread_of[e->op]);
    write_time(out, "ts", e->at_ns);
    write_time(out, "dur", e->ns);
    json_out_key_string(out, "name", op->name);
    json_out_key_string(out, "cat", program_phase_name(op->phase));
    begin_args(out);
    json_out_key_string(out, "op", program_step_name(op));
    if (op->times > 1)
        json_out_key_uint(out, "microbatch", e->microbatch);
    if (op->why && t->thread_of[e->op] != COMPUTE)
        json_out_key_string(out, "why", op->why);
    end_args(out);
}

static void write_arrow(const struct trace *t, struct json_out *out, const struct event *e)
{
    write_head(out, e->kind == ARROW_OUT ? "s" : "f", e->lane);
    write_thread(out, e->lane, t->thread_of[e->op]);
    write_time(out, "ts", e->at_ns);
    json_out_key_string(out, "name", "transfer");
    json_out_key_string(out, "cat", "transfer");
    json_out_key_uint(out, "id", e->value);
    if (e->kind == ARROW_IN)
        json_out_key_string(out, "bp", "e");
    json_out_end_object(out);
}

static void write_counter(struct json_out *out, const struct event *e, uint128 value)
{
    write_head(out, "C", e->lane);
    write_time(out, "ts", e->at_ns);
    json_out_key_string(out, "name", e->kind == MEMORY ? "memory in use" : "received");
    begin_args(out);
    json_out_key_uint(out, "bytes", value);
    end_args(out);
}

static int by_time(const void *left, const void *right)
{
    const struct event *a = left, *b = right;

    if (a->at_ns != b->at_ns)
        return a->at_ns < b->at_ns ? -1 : 1;
    if (a->sequence != b->sequence)
        return a->sequence < b->sequence ? -1 : 1;
    return a->part < b->part ? -1 : a->part > b->part;
}

static void write_events(struct trace *t, struct json_out *out, uint128 *received)
{
    qsort(t->events, t->nevents, sizeof *t->events, by_time);
    json_out_key_array(out, "traceEvents");
    write_names(t, out);
    for (size_t i = 0; i < t->nevents; i++) {
        const struct event *e = &t->events[i];

        if (e->kind == SLICE)
            write_slice(t, out, e);
        else if (e->kind == ARROW_OUT || e->kind == ARROW_IN)
            write_arrow(t, out, e);
        else if (e->kind == MEMORY)
            write_counter(out, e, e->value);
        else
            write_counter(out, e, received[e->lane] += e->value);
    }
    json_out_end_array(out);
}

static void write_trace(struct trace *t, struct json_out *out, uint128 *received)
{
    json_out_begin_object(out);
    write_events(t, out, received);
    json_out_key_string(out, "displayTimeUnit", "ns");
    json_out_key_object(out, "otherData");
    json_out_key_string(out, "scenario", t->result->scenario);
    json_out_key_string(out, "strategy", t->result->strategy);
    json_out_key_string(out, "model", t->result->what);
    json_out_key_string(out, "times", t->timeline->modelled ? "modelled" : "replayed");
    json_out_key_double(out, "step_seconds", (double)t->timeline->step_ns * 1e-9);
    json_out_key_uint(out, "processes_left_out", t->timeline->nleft_out);
    json_out_end_object(out);
    json_out_end_object(out);
    json_out_newline(out);
}

/* ---- the whole ---- */

static int no_memory(struct shd_error *err)
{
    return shd_error_set(err, SHD_ENOMEM, "no memory for the trace");
}

static int collect(struct trace *t, struct shd_error *err)
{
    uint32_t n = t->timeline->nlanes;

    t->thread_of = calloc((size_t)t->program->nops + 1, sizeof *t->thread_of);
    t->threads = calloc((size_t)t->program->nops + 1, sizeof *t->threads);
    t->slice_of = calloc((size_t)n + 1, sizeof *t->slice_of);
    if (!t->thread_of || !t->threads || !t->slice_of)
        return no_memory(err);
    find_threads(t);
    for (uint32_t l = 0; l < n; l++) {
        t->slice_of[l] = calloc(t->timeline->lanes[l].nactions + 1, sizeof **t->slice_of);
        if (!t->slice_of[l])
            return no_memory(err);
        add_slices(t, l);
        add_received(t, l);
    }
    for (uint32_t l = 0; l < n; l++)
        add_arrows(t, l);
    return t->failed ? no_memory(err) : add_memories(t, err);
}

static void free_all(struct trace *t)
{
    for (uint32_t i = 0; i < t->nthreads; i++)
        free(t->threads[i].axes);
    for (uint32_t l = 0; t->slice_of && l < t->timeline->nlanes; l++)
        free(t->slice_of[l]);
    free(t->threads);
    free(t->thread_of);
    free(t->slice_of);
    free(t->events);
    timeline_destroy(t->timeline);
}

int trace_json(const struct result *result, struct json_out *out, struct shd_error *err)
{
    struct trace t = {.result = result, .program = result->record->program};
    uint128 *received;
    int status = timeline_create(&t.timeline, result->record, TRACE_PROCESSES_MAX, err);

    if (status != SHD_OK)
        return status;
    received = calloc((size_t)t.timeline->nlanes + 1, sizeof *received);
    status = received ? collect(&t, err) : no_memory(err);
    if (status == SHD_OK) {
        write_trace(&t, out, received);
        if (t.failed)
            status = no_memory(err);
    }
    free(received);
    free_all(&t);
    return status;
}
