/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/walk/walk.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/wait.h"
#include "program/record.h"
#include "program/shard.h"
#include "run/ranks/over_ranks.h"
#include "run/ranks/ranks.h"
#include "run/ranks/spread.h"
#include "run/backend.h"
#include "run/walk/walker.h"

/* ---- records exchanged between ranks: afterwards each has the figures of all devices ---- */

/* Monotonic clocks that differ by more belong to different machines. */
#define SAME_CLOCK_NS INT64_C(1000000000)

/* How far this rank's clock is ahead of rank 0's, read by all ranks at about the same time. */
static int64_t clock_ahead_ns(const struct spread *spread)
{
    int64_t met = 0, zero_ns, mine_ns, ahead_ns;

    ranks_merge(&met, sizeof met, RANKS_MOST);
    mine_ns = wait_clock_ns();
    zero_ns = spread->me == 0 ? mine_ns : 0;
    ranks_merge(&zero_ns, sizeof zero_ns, RANKS_MOST);
    ahead_ns = mine_ns - zero_ns;
    return llabs(ahead_ns) < SAME_CLOCK_NS ? 0 : ahead_ns;
}

/* Gather the times of ops, converted to rank 0's clock if a rank's clock differs. */
static void gather_times(struct record *record, const struct spread *spread)
{
    size_t nops = record->program->nops;
    int64_t ahead_ns;

    if (!spread || !record->times)
        return;
    ahead_ns = clock_ahead_ns(spread);
    for (int32_t d = 0; d < record->ndevices && ahead_ns != 0; d++)
        for (size_t i = 0; i < nops && spread_has(spread, d); i++) {
            record->times[(size_t)d * nops + i].start_ns -= ahead_ns;
            record->times[(size_t)d * nops + i].end_ns -= ahead_ns;
        }
    spread_merge_rows(spread, record->times, nops * sizeof *record->times);
}

/* Gather the expert tables of ops that dispatch tokens; each has a row per device. */
static void gather_experts(struct record *record, const struct spread *spread)
{
    for (uint32_t i = 0; i < record->program->nops; i++) {
        uint64_t *rows = record_expert_rows(record, i, 0),
                 *links = record_expert_links(record, i, 0);

        if (rows && record->ndevices > 1)
            spread_merge_rows(spread, rows,
                              (uint64_t)(record_expert_rows(record, i, 1) - rows) * sizeof *rows);
        if (links)
            spread_merge_rows(spread, links, (uint64_t)record->ndevices * sizeof *links);
    }
}

/* Gather everything recorded per device: bytes, flops, expert rows, times. */
static void gather_record(struct record *record, const struct spread *spread)
{
    size_t nops = record->program->nops;

    if (!spread)
        return;
    spread_merge_rows(spread, record->op_received, nops * sizeof *record->op_received);
    spread_merge_rows(spread, record->op_flops, nops * sizeof *record->op_flops);
    spread_merge_rows(spread, record->flops, sizeof *record->flops);
    spread_merge_rows(spread, record->to_host_bytes, sizeof *record->to_host_bytes);
    spread_merge_rows(spread, record->from_host_bytes, sizeof *record->from_host_bytes);
    spread_merge_rows(spread, record->host_peak_bytes, sizeof *record->host_peak_bytes);
    for (int k = 0; k < KERN_NUNEVENS; k++)
        spread_merge_rows(spread, record->uneven_flops[k], sizeof *record->uneven_flops[k]);
    gather_experts(record, spread);
    gather_times(record, spread);
}

_Static_assert(sizeof((struct record_memory *)0)->why >= BACKEND_WHY_MAX, "the why fits");

/* Smallest kernel worth waiting for a core for: about 50 us of work. */
#define TURN_FLOPS ((uint64_t)1 << 20)

static int64_t clock_ns(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static struct moment now(void)
{
    return (struct moment){clock_ns(CLOCK_MONOTONIC), clock_ns(CLOCK_PROCESS_CPUTIME_ID)};
}

/* ---- ops ---- */

static void do_fill(struct walker *w, const struct program_op *op)
{
    const struct program_buffer *b = &w->program->buffers[op->outputs[0]];
    struct kern_source source = op->source;

    source.step = w->repeat;
    source.microbatch = w->microbatch;
    program_shard_fill(w->shards[op->outputs[0]], b, w->position, &source);
}

/* Returns the flops that the kernel's loops counted. */
static uint64_t do_kernel(struct walker *w, const struct program_op *op, void *workspace)
{
    const void *in[PROGRAM_INPUTS_MAX];
    void *out[PROGRAM_OUTPUTS_MAX];
    int64_t offsets[KERN_OFFSETS_MAX];
    const struct kern_args args = {in, out, workspace, offsets, w->nthreads};
    uint32_t n = 0;

    for (uint32_t k = 0; k < op->noutputs; k++)
        out[k] = w->shards[op->outputs[k]];
    if (op->accumulates)
        in[n++] = out[0];
    for (uint32_t k = 0; k < op->ninputs; k++)
        in[n++] = w->shards[op->inputs[k]];
    if (op->accumulates && w->first)
        memset(out[0], 0, w->program->buffers[op->outputs[0]].bytes);
    program_op_offsets(w->program, op, w->position, offsets);
    return op->kernel->run(op->desc, &args);
}

static void count_flops(struct walker *w, const struct program_op *op, uint64_t flops)
{
    struct record *record = w->walk->record;
    uint64_t *all =
        &record->op_flops[(size_t)w->position * w->program->nops + (size_t)(op - w->program->ops)];

    *all = flops + (w->first ? 0 : *all);
    record->flops[w->position] += flops;
    if (program_op_skips(op))
        record->uneven_flops[op->kernel->uneven][w->position] += flops;
}

/* Copy a shard between the memories of the device and its host, and count its bytes. */
static void copy_to_or_from_host(struct walker *w, const struct program_op *op)
{
    const struct program_buffer *b = &w->program->buffers[op->inputs[0]];
    struct record *record = w->walk->record;

    memcpy(w->shards[op->outputs[0]], w->shards[op->inputs[0]], b->bytes);
    (op->to_host ? record->to_host_bytes : record->from_host_bytes)[w->position] += b->bytes;
}

static int do_op(struct walker *w, const struct program_op *op, void *workspace, uint64_t *received,
                 struct shd_error *err)
{
    switch (op->kind) {
    case PROGRAM_RESHARD:
        return walker_reshard(w, op, received, err);
    case PROGRAM_SEND:
        return walker_send(w, op, err);
    case PROGRAM_RECV:
        return walker_receive(w, op, received, err);
    case PROGRAM_ROWS:
        return walker_rows(w, op, received, err);
    case PROGRAM_FILL:
        do_fill(w, op);
        return SHD_OK;
    case PROGRAM_HOST:
        copy_to_or_from_host(w, op);
        return SHD_OK;
    default:
        count_flops(w, op, do_kernel(w, op, workspace));
        return SHD_OK;
    }
}

/* Time an op.  Its memory is allocated and freed outside, so that bookkeeping is not counted as the
 * device's work. */
static int do_timed_op(struct walker *w, const struct program_op *op, void *workspace,
                       uint64_t *received, struct shd_error *err)
{
    struct record *record = w->walk->record;
    size_t i = (size_t)(op - w->program->ops);
    struct record_time *t;
    int64_t cpu_ns;
    int status;

    if (!record->times)
        return do_op(w, op, workspace, received, err);
    t = &record->times[(size_t)w->position * w->program->nops + i];
    cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID); /* a system call, unlike CLOCK_MONOTONIC */
    t->start_ns = clock_ns(CLOCK_MONOTONIC);
    status = do_op(w, op, workspace, received, err);
    t->end_ns = clock_ns(CLOCK_MONOTONIC);
    t->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
    return status;
}

/* Add up received bytes over the microbatches of a step. */
static void count_received(struct walker *w, uint32_t i, uint64_t received)
{
    uint64_t *all = &w->walk->record->op_received[(size_t)w->position * w->program->nops + i];

    *all = received + (w->first ? 0 : *all);
}

/* Inspectors need an op's inputs intact: then no result overwrites an argument in place. */
static bool is_watched(const struct walker *w)
{
    return w->walk->opts->observe || w->walk->opts->inspect;
}

/* The memory in which a buffer lies. */
static struct arena *arena_of(const struct walker *w, uint32_t buffer)
{
    const struct program_buffer *b = &w->program->buffers[buffer];

    if (b->on_host)
        return &w->dev->host;
    return b->inside || b->chunks > 0 ? &w->dev->registers : &w->dev->arena;
}

/* Memory for a shard, of the device or of its host.  Of an array in chunks the device's memory is
 * counted for one, though all of them are computed together. */
static int get_shard(struct walker *w, uint32_t buffer, struct shd_error *err)
{
    const struct program_buffer *b = &w->program->buffers[buffer];
    int status = SHD_OK;

    if (b->chunks > 0)
        status = arena_hold(&w->dev->arena, program_buffer_on_device(b), b->name, err);
    if (status == SHD_OK)
        status = arena_alloc(arena_of(w, buffer), b->bytes, b->name, &w->shards[buffer], err);
    return status;
}

static void free_shard(struct walker *w, uint32_t buffer, void *shard)
{
    const struct program_buffer *b = &w->program->buffers[buffer];

    if (b->chunks > 0 && shard)
        arena_release(&w->dev->arena, program_buffer_on_device(b));
    arena_free(arena_of(w, buffer), shard);
}

/* Allocate memory for a result of an op, or reuse the argument's that it overwrites. */
static int get_memory(struct walker *w, const struct program_op *op, uint32_t output,
                      struct shd_error *err)
{
    const struct program_buffer *b = &w->program->buffers[op->outputs[output]];
    void **shard = &w->shards[op->outputs[output]];

    if (b->over != PROGRAM_NONE && !is_watched(w))
        *shard = w->shards[b->over];
    else if (b->over != PROGRAM_NONE || program_allocates(w->program, op, output, w->first))
        return get_shard(w, op->outputs[output], err);
    return SHD_OK;
}

/* Allocate the op's results and workspace, run the op, and free buffers that no later op reads. */
static int walk_op(struct walker *w, uint32_t i, struct shd_error *err)
{
    const struct program_op *op = &w->program->ops[i];
    uint32_t dead[PROGRAM_DEAD_MAX];
    void *workspace = NULL;
    uint64_t received = 0;
    int status = SHD_OK;

    w->dev->arena.op = op->name;
    for (uint32_t k = 0; k < op->noutputs && status == SHD_OK; k++)
        status = get_memory(w, op, k, err);
    if (status == SHD_OK && op->workspace_bytes)
        status = shd_device_alloc(w->dev, op->workspace_bytes, "workspace", &workspace, err);
    /* A message is shown to the inspector before it is sent, so that the sent array is known when
     * the receiver's is inspected. */
    if (status == SHD_OK && op->kind == PROGRAM_SEND)
        status = walker_show(w, i, err);
    if (status == SHD_OK)
        status = do_timed_op(w, op, workspace, &received, err);
    shd_device_free(w->dev, workspace);
    count_received(w, i, received);
    if (status == SHD_OK && op->kind != PROGRAM_SEND)
        status = walker_show(w, i, err);
    for (uint32_t d = program_dead_buffers(w->program, i, dead); d-- > 0;) {
        free_shard(w, dead[d], w->shards[dead[d]]);
        w->shards[dead[d]] = NULL;
    }
    return status;
}

/* Wait for a core before a large kernel; the device keeps the core until it next meets other
 * devices.  No wait if every device can have a core, or if the device has several threads: those
 * are not bound to a core. */
static void take_turn(struct walker *w, const struct program_op *op)
{
    struct run *run = w->dev->run;

    if (w->core == TURNS_NONE && op->kind == PROGRAM_KERNEL && op->dense_flops >= TURN_FLOPS &&
        run->turns.ncores > 0 && (uint32_t)run->ndevices > run->turns.ncores && w->nthreads == 1)
        w->core = turns_take(&run->turns);
}

static void give_turn(struct walker *w)
{
    if (w->core != TURNS_NONE)
        turns_give(&w->dev->run->turns, w->core);
    w->core = TURNS_NONE;
}

static int walk_op_in_turn(struct walker *w, uint32_t i, struct shd_error *err)
{
    const struct program_op *op = &w->program->ops[i];

    /* Inspected devices meet at local steps too.  A device that kept its core there would hold up
     * the devices that it waits for. */
    if (program_communicates(op) || (w->walk->opts->inspect && program_reads_others(op)))
        give_turn(w);
    take_turn(w, op);
    return walk_op(w, i, err);
}

static const void *const *results_of(struct walker *w)
{
    for (uint32_t r = 0; r < w->program->nresults; r++)
        w->results[r] = w->shards[w->program->results[r].buffer];
    return w->results;
}

static void finish(struct walker *w)
{
    const struct walk_opts *opts = w->walk->opts;

    if (opts->finish && w->walk->alone < 0)
        opts->finish(opts->finish_arg, w->position, results_of(w));
}

/* Refill arguments that change from step to step or from microbatch to microbatch. */
static void refill(struct walker *w)
{
    const struct walk_opts *opts = w->walk->opts;

    for (uint32_t i = 0; i < w->program->first_op; i++) {
        if (!kern_source_changes(&w->program->ops[i].source) ||
            !program_holds(w->program, w->rank, &w->program->ops[i]))
            continue;
        do_fill(w, &w->program->ops[i]);
        if (opts->observe)
            opts->observe(opts->observe_arg, w->position, i, w->microbatch,
                          (const void *const *)w->shards);
    }
}

/* ---- buffers that each microbatch has of its own ---- */

/* Move the current microbatch's own buffers into its frame. */
static void store_frame(struct walker *w)
{
    void **frame = w->frames[w->microbatch];
    bool any = false;

    for (uint32_t f = 0; f < w->program->nframes && frame; f++) {
        void **shard = &w->shards[w->program->frames[f]];

        frame[f] = *shard;
        any |= frame[f] != NULL;
        *shard = NULL;
    }
    if (any || !frame)
        return;
    w->frames[w->microbatch] = NULL;
    free(w->spare_frame);
    w->spare_frame = frame;
}

static int load_frame(struct walker *w, uint32_t microbatch, struct shd_error *err)
{
    const struct program *program = w->program;
    void **frame = w->frames[microbatch];

    if (!frame) {
        frame = w->spare_frame ? w->spare_frame : calloc(program->nframes, sizeof *frame);
        w->spare_frame = NULL;
        w->frames[microbatch] = frame;
    }
    if (!frame)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the table of buffers");
    for (uint32_t f = 0; f < program->nframes; f++)
        w->shards[program->frames[f]] = frame[f];
    return SHD_OK;
}

/* Make another microbatch the current one and refill its data. */
static int switch_to(struct walker *w, uint32_t microbatch, struct shd_error *err)
{
    int status = SHD_OK;

    if (w->program->nframes > 0) {
        store_frame(w);
        status = load_frame(w, microbatch, err);
    }
    w->microbatch = microbatch;
    if (status == SHD_OK)
        refill(w);
    return status;
}

static int walk_action(struct walker *w, const struct program_action *a, struct shd_error *err)
{
    int status = SHD_OK;

    if (a->begins && a->microbatch != w->microbatch)
        status = switch_to(w, a->microbatch, err);
    w->first = a->first;
    return status == SHD_OK ? walk_op_in_turn(w, a->op, err) : status;
}

/* Walk all actions of the step and take its time. */
static int walk_step(struct walker *w, struct shd_error *err)
{
    const struct walk *walk = w->walk;
    size_t at = (size_t)w->repeat * (size_t)walk->record->ndevices + (size_t)w->position;
    struct program_walk actions = program_walk_begin(w->program, w->rank);
    struct program_action action;
    int status = shd_device_barrier(w->dev, NULL,
                                    err); /* excludes waiting for other devices from the times */

    if (status == SHD_OK && w->repeat > 0 && w->repeat + 1 == walk->repeats) {
        device_count_anew(w->dev); /* only the last repeat is recorded */
        status = shd_device_barrier(w->dev, NULL, err);
    }
    walk->record->flops[w->position] = 0;
    walk->record->to_host_bytes[w->position] = walk->record->from_host_bytes[w->position] = 0;
    for (int k = 0; k < KERN_NUNEVENS; k++)
        walk->record->uneven_flops[k][w->position] = 0;
    walk->first[at] = now();
    while (status == SHD_OK && program_walk_next(&actions, &action)) {
        if (walk->opts->stop_request)
            status = shd_device_check_stop(w->dev, err);
        if (status == SHD_OK)
            status = walk_action(w, &action, err);
    }
    give_turn(w);
    walk->last[at] = now();
    return status;
}

/* Call `together` in one device's thread of each rank while all devices wait. */
static int show_together(struct walker *w, struct shd_error *err)
{
    const struct walk *walk = w->walk;
    const struct walk_opts *opts = walk->opts;
    int status;

    if (!opts->together || walk->alone >= 0 || (w->repeat > 0 && w->repeat + 1 < walk->repeats))
        return SHD_OK;
    walk->results[w->position] = results_of(w);
    status = shd_device_barrier(w->dev, NULL, err);
    if (status == SHD_OK && w->position == spread_first(opts->spread, walk->record->ndevices))
        opts->together(opts->together_arg, w->repeat, walk->results);
    return status == SHD_OK ? shd_device_barrier(w->dev, NULL, err) : status;
}

/* Report a finished repeat.  With `repeated` set, all devices meet first, and none starts the next
 * step's clock before the rank's first device, which calls `repeated`, reaches walk_step()'s
 * barrier. */
static int end_repeat(struct walker *w, struct shd_error *err)
{
    const struct walk_opts *opts = w->walk->opts;
    int status = opts->repeated ? shd_device_barrier(w->dev, NULL, err) : SHD_OK;

    if (status == SHD_OK && opts->stepped && w->walk->alone < 0)
        opts->stepped(opts->stepped_arg, w->position, w->repeat, results_of(w));
    if (status == SHD_OK)
        status = show_together(w, err);
    if (status == SHD_OK && opts->repeated &&
        shd_device_position(w->dev) == spread_first(opts->spread, w->walk->record->ndevices)) {
        gather_times(w->walk->record, opts->spread);
        opts->repeated(opts->repeated_arg, w->repeat);
    }
    return status;
}

/* Prepare the next step: results of kind PROGRAM_NEXT replace their arguments, all other results
 * are freed, and data that changes from step to step is refilled. */
static int begin_next(struct walker *w, struct shd_error *err)
{
    const struct program *program = w->program;

    for (uint32_t r = 0; r < program->nresults; r++) {
        const struct program_result *result = &program->results[r];

        if (result->kind != PROGRAM_NEXT)
            continue;
        if (w->shards[result->of] != w->shards[result->buffer])
            free_shard(w, result->of, w->shards[result->of]);
        w->shards[result->of] = w->shards[result->buffer];
        w->shards[result->buffer] = NULL;
    }
    for (uint32_t b = 0; b < program->nbuffers; b++)
        if (!program->buffers[b].argument) {
            free_shard(w, b, w->shards[b]);
            w->shards[b] = NULL;
        }
    return switch_to(w, 0, err);
}

static int walk_ops(struct walker *w, struct shd_error *err)
{
    int status = SHD_OK;

    for (uint32_t i = 0; i < w->program->first_op && status == SHD_OK; i++)
        if (program_holds(w->program, w->rank, &w->program->ops[i]))
            status = walk_op_in_turn(w, i, err);
    for (; w->repeat < w->walk->repeats && status == SHD_OK; w->repeat++) {
        if (w->repeat > 0)
            status = begin_next(w, err);
        if (status == SHD_OK)
            status = walk_step(w, err);
        if (status == SHD_OK)
            status = end_repeat(w, err);
    }
    return status;
}

static int walk_device(struct shd_device *dev, void *arg, struct shd_error *err)
{
    const struct walk *walk = arg;
    struct walker w = {.walk = walk,
                       .program = walk->program,
                       .dev = dev,
                       .position = shd_device_position(dev),
                       .nthreads = 1,
                       .core = TURNS_NONE};
    int status;

    if (walk->alone >= 0)
        w.position = walk->alone;
    if (walk->opts->nthreads > 1)
        w.nthreads = walk->opts->nthreads;
    w.rank = program_rank(w.program, w.position);
    w.frames = calloc(w.program->nframes ? w.program->microbatches : 1, sizeof *w.frames);
    w.shards = calloc((size_t)w.program->nbuffers + 1, sizeof *w.shards);
    w.results = calloc((size_t)w.program->nresults + 1, sizeof *w.results);
    if (!w.shards || !w.results || !w.frames)
        status = shd_error_set(err, SHD_ENOMEM, "no memory for the table of buffers");
    else
        status = w.program->nframes ? load_frame(&w, 0, err) : SHD_OK;
    if (status == SHD_OK)
        status = walk_ops(&w, err);
    if (status == SHD_OK)
        finish(&w);
    if (walk->alone < 0)
        walk->record->host_peak_bytes[w.position] = dev->host.peak_bytes;
    for (uint32_t m = 0; w.frames && w.program->nframes && m < w.program->microbatches; m++)
        free(w.frames[m]);
    free(w.frames);
    free(w.spare_frame);
    free(w.shards);
    free(w.results);
    return status;
}

/* Widen byte counts; bytes moved in an execution fit a uint64_t. */
static void take(uint128 *out, const uint64_t *counted, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = counted[i];
}

static void take_stats(struct record *record, const struct shd_run_stats *stats, struct walk *walk)
{
    size_t n = (size_t)record->ndevices;

    take(record->received_bytes, stats->received_bytes, n);
    take(record->sent_bytes, stats->sent_bytes, n);
    take(record->peak_bytes, stats->peak_bytes, n);
    if (record->matrix && stats->matrix)
        take(record->matrix, stats->matrix, n * n);
    walk_take_times(record, walk);
}

static bool allocate(struct walk *walk)
{
    size_t n = (size_t)walk->record->ndevices * walk->repeats;

    walk->first = calloc(n, 2 * sizeof *walk->first);
    walk->sorted = calloc(walk->repeats, 2 * sizeof *walk->sorted);
    walk->results = calloc((size_t)walk->record->ndevices, sizeof *walk->results);
    if (!walk->first || !walk->sorted || !walk->results)
        return false;
    walk->last = walk->first + n;
    return true;
}

static struct shd_run_opts run_options(const struct walk_opts *opts)
{
    struct shd_run_opts out = SHD_RUN_OPTS_INIT;

    out.memory_bytes = opts->memory_bytes;
    out.stop_request = opts->stop_request;
    out.wait_limit_s = -1; /* devices share cores, so waits may be long: only the deadlock
                              detector judges */
    return out;
}

static struct walk make_walk(struct record *record, const struct walk_opts *opts,
                             struct looks *looks)
{
    return (struct walk){.record = record,
                         .program = record->program,
                         .opts = opts,
                         .repeats = opts->repeats ? opts->repeats : 1,
                         .alone = -1,
                         .looks = looks};
}

static void free_walk(struct walk *walk)
{
    free(walk->first);
    free(walk->sorted);
    free(walk->results);
}

/* Choose the kind of device memory by the plan's peak bytes. */
static int choose_memory(struct record *record, const struct walk_opts *opts,
                         struct shd_run_opts *out, struct shd_error *err)
{
    struct backend_choice choice;

    if (!backend_choose(&choice, opts->memory, record->ndevices,
                        program_peak_bytes(record->program)))
        return shd_error_set(err, SHD_EINVAL, "no device memory of the kind '%.40s' here",
                             opts->memory);
    out->memory = choice.backend->name;
    record->memory = (struct record_memory){.kind = choice.backend->name, .usual = choice.usual};
    memcpy(record->memory.why, choice.why, sizeof choice.why);
    return SHD_OK;
}

int walk_run(struct record *record, const struct walk_opts *opts, struct shd_error *err)
{
    struct looks looks = {0, 0};
    struct walk walk = make_walk(record, opts, &looks);
    struct shd_run_opts run_opts = run_options(opts);
    struct shd_run_stats stats;
    int status = choose_memory(record, opts, &run_opts, err);

    if (status != SHD_OK)
        return status;
    if (allocate(&walk)) {
        status = run_over_ranks(record->program->mesh, walk_device, &walk, &run_opts, opts->spread,
                                &stats, err);
        if (status == SHD_OK)
            take_stats(record, &stats, &walk);
        if (status == SHD_OK)
            gather_record(record, opts->spread);
        shd_run_stats_fini(&stats);
    } else {
        status = shd_error_set(err, SHD_ENOMEM, "no memory for a run");
    }
    free_walk(&walk);
    return status;
}

int walk_alone(struct record *record, int32_t position, const struct walk_opts *opts,
               struct shd_error *err)
{
    struct walk_opts here = *opts; /* without the caller's spread */
    struct looks looks = {0, 0};
    struct walk walk = make_walk(record, &here, &looks);
    struct shd_run_opts run_opts = run_options(opts);
    struct shd_mesh *one;
    int status = shd_mesh_create(&one, NULL, NULL, 0, err);

    if (status != SHD_OK)
        return status;
    here.spread = NULL;
    walk.alone = position;
    status = choose_memory(record, opts, &run_opts, err);
    if (status == SHD_OK && allocate(&walk))
        status = shd_run(one, walk_device, &walk, &run_opts, NULL, err);
    else if (status == SHD_OK)
        status = shd_error_set(err, SHD_ENOMEM, "no memory for a run");
    free_walk(&walk);
    shd_mesh_destroy(one);
    return status;
}
