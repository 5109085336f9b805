/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "walk/walk.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/wait.h"
#include "program/rows.h"
#include "program/shard.h"
#include "ranks/ranks.h"
#include "ranks/spread.h"
#include "run/backend.h"
#include "run/channel.h"
#include "run/collective.h"
#include "run/device.h"
#include "run/group.h"
#include "run/relayout.h"
#include "run/span.h"
#include "walk/gather.h"

_Static_assert(sizeof((struct record_memory *)0)->why >= BACKEND_WHY_MAX, "the why fits");

/* Wall-clock and process CPU time at which a device began or ended a step. */
struct moment {
    int64_t wall_ns, cpu_ns;
};

/* Smallest kernel worth waiting for a core for: about 50 us of work. */
#define TURN_FLOPS ((uint64_t)1 << 20)

/* n: devices that inspect shards or are about to; done: event signalled after each inspection. */
struct looks {
    _Atomic uint32_t n, done;
};

struct walk {
    struct record *record;
    const struct program *program;
    const struct walk_opts *opts;
    uint32_t repeats;
    int32_t alone;               /* the only device to walk; -1: all walk */
    struct moment *first, *last; /* [repeat][device] */
    int64_t *sorted;             /* wall and CPU time of each repeat, to take medians */
    const void *const **results; /* [device]: result shards while `together` reads them */
    struct looks *looks;
};

/* State of one device while it walks the program. */
struct walker {
    const struct walk *walk;
    const struct program *program;
    struct shd_device *dev;
    int32_t position;
    uint32_t rank;        /* in the pipeline */
    void **shards;        /* shard of each buffer, NULL while not alive.  Of buffers in `frames`:
                             the current microbatch's */
    void ***frames;       /* [microbatch][frame]: buffers of the suspended microbatches; NULL:
                             none */
    void **spare_frame;   /* freed frame, kept for reuse */
    const void **results; /* room for the shards of results */
    int nthreads;
    uint32_t repeat;     /* step number, from 0 */
    uint32_t microbatch; /* current microbatch, from 0 */
    bool first;          /* the segment's first microbatch: accumulated buffers start from zero */
    int core;            /* core held while computing, or TURNS_NONE */
};

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

/* ---- steps that copy boxes ---- */

struct fetching {
    const struct walker *walker;
    const struct program_op *op;
};

static int fetch_boxes(struct run_pull *pull, void *arg, struct shd_error *err)
{
    const struct fetching *f = arg;
    const struct program_buffer *out = &f->walker->program->buffers[f->op->outputs[0]];

    (void)err;
    relayout_fetch(pull, &f->op->reshard, out->shape, out->dtype,
                   f->walker->shards[f->op->outputs[0]]);
    return SHD_OK;
}

/* The group of all devices on this device's pipeline rank. */
static int seat_on_rank(struct run_seat *out, struct walker *w, struct shd_error *err)
{
    uint8_t axes[SHD_MESH_AXES_MAX];
    size_t naxes = program_rank_axes(w->program, axes);

    return run_group_over_axes(out, w->dev, axes, naxes, err);
}

/* Zero the padding behind the last shard of a dimension that does not divide evenly. */
static void clear_padding(struct walker *w, const struct program_op *op)
{
    const struct program_buffer *out = &w->program->buffers[op->outputs[0]];

    if (out->sharding.uneven)
        memset(w->shards[op->outputs[0]], 0, out->bytes);
}

static int do_fetch(struct walker *w, const struct program_op *op, uint64_t *received,
                    struct shd_error *err)
{
    struct fetching f = {w, op};
    struct run_seat seat;
    int status = seat_on_rank(&seat, w, err);

    if (status != SHD_OK)
        return status;
    clear_padding(w, op);
    return run_pull_phase(
        w->dev, seat, w->shards[op->inputs[0]], w->program->buffers[op->inputs[0]].bytes,
        (uint64_t)(op - w->program->ops), op->name, fetch_boxes, &f, received, err);
}

/* Copy the piece that the device keeps of its own shard; zeros behind the shard's end. */
static void cut_piece(const struct walker *w, const struct program_op *op)
{
    const struct program_buffer *in = &w->program->buffers[op->inputs[0]];
    const struct program_buffer *out = &w->program->buffers[op->outputs[0]];
    uint64_t size = shd_dtype_size(out->dtype), piece = program_buffer_count(out);
    uint64_t from = piece * (uint64_t)shd_sharding_piece(&out->sharding, w->position);
    uint64_t end = program_buffer_count(in), n = 0;

    if (from < end)
        n = piece < end - from ? piece : end - from;
    memcpy(w->shards[op->outputs[0]], (const char *)w->shards[op->inputs[0]] + from * size,
           n * size);
    memset((char *)w->shards[op->outputs[0]] + n * size, 0, (piece - n) * size);
}

/* Copy the box that the device keeps of its own shard. */
static void do_slice(struct walker *w, const struct program_op *op)
{
    const struct program_buffer *in = &w->program->buffers[op->inputs[0]];
    const struct program_buffer *out = &w->program->buffers[op->outputs[0]];
    struct shd_fetch box;

    if (shd_reshard_is_flat(&op->reshard)) {
        cut_piece(w, op);
        return;
    }

    clear_padding(w, op);
    if (shd_reshard_fetch_count(&op->reshard, out->shape, w->position) == 0)
        return; /* no elements */
    shd_reshard_fetch(&op->reshard, out->shape, w->position, 0, &box);
    relayout_copy(out->dtype, out->rank, &box, w->shards[op->outputs[0]], out->local,
                  w->shards[op->inputs[0]], in->local);
}

static void do_mask(struct walker *w, const struct program_op *op)
{
    uint64_t bytes = w->program->buffers[op->outputs[0]].bytes;
    bool keeps = true;

    for (uint8_t a = 0; a < op->reshard.naxes; a++)
        keeps &= shd_mesh_coord(w->program->mesh, w->position, op->reshard.axes[a]) == 0;
    if (keeps)
        memcpy(w->shards[op->outputs[0]], w->shards[op->inputs[0]], bytes);
    else
        memset(w->shards[op->outputs[0]], 0, bytes);
}

/* ---- rows of experts ---- */

/* A device that pulls the rows routed to it. */
struct pulling {
    const struct walker *walker;
    const struct program_op *op;
    struct program_rows_arrays arrays;
    uint64_t *rows;  /* rows received by each of the device's experts; NULL: not counted */
    uint64_t *links; /* bytes received from each device; NULL: not counted */
};

/* Address of a routing entry, or of its row, in the shard at `position`; NULL if the shard lacks
 * it. */
static char *row_at(const struct pulling *p, const struct program_buffer *b, int32_t position,
                    const void *shard, const struct program_rows_place *place)
{
    bool tokens = b == p->arrays.tokens;
    const int64_t at[3] = {tokens ? place->batch : place->expert, tokens ? place->seq : place->slot,
                           place->choice};
    int64_t start[SHD_RANK_MAX], row = 0;

    shd_sharding_offset(&b->sharding, b->shape, position, start);
    for (uint32_t d = 0; d + 1 < b->rank; d++) {
        int64_t i = at[d] - start[d];

        if (i < 0 || i >= b->local[d])
            return NULL;
        row = row * b->local[d] + i;
    }
    return (char *)(uintptr_t)shard + (uint64_t)row * p->arrays.row_bytes;
}

/* Number of the operand's shard that contains a row. */
static int64_t shard_of(const struct pulling *p, const struct program_rows_place *place)
{
    if (p->op->rows.combines)
        return program_rows_shard(p->arrays.from, place->expert, place->slot);
    return program_rows_shard(p->arrays.from, place->batch, place->seq);
}

/* Pull the row of an entry if this device's result contains the entry.  A row found at the
 * source is counted as received; if the source lacks the row, run_pull_count() counts the bytes
 * as astray. */
static void pull_row(const struct pulling *p, struct run_pull *pull,
                     const struct program_rows_place *place)
{
    const struct walker *w = p->walker;
    uint64_t bytes = p->arrays.row_bytes;
    char *to = row_at(p, p->arrays.to, w->position, w->shards[p->op->outputs[0]], place);
    const void *shard = w->shards[p->op->inputs[0]];
    int32_t source = w->position;
    uint32_t member = 0;
    const char *from;

    if (!to)
        return;
    if (pull) {
        source = program_rows_source(p->arrays.from, w->position, shard_of(p, place));
        member = run_pull_member(pull, source);
        shard = run_pull_peer(pull, member);
    }
    from = row_at(p, p->arrays.from, source, shard, place);
    if (from)
        memcpy(to, from, bytes);
    if (pull)
        run_pull_count(pull, member, bytes, from != NULL);
    if (p->links && from && source != w->position)
        p->links[source] += bytes;
    if (p->rows)
        p->rows[place->expert % p->arrays.to->local[0]]++;
}

/* `pull` is NULL if all rows are the device's own. */
static int pull_rows(struct run_pull *pull, void *arg, struct shd_error *err)
{
    const struct pulling *p = arg;
    const struct walker *w = p->walker;
    struct program_rows_walk rows = program_rows_walk(
        w->program, p->op, w->position, w->shards[p->op->inputs[1]], w->shards[p->op->inputs[2]]);
    struct program_rows_place place;

    (void)err;
    memset(w->shards[p->op->outputs[0]], 0, p->arrays.to->bytes);
    while (program_rows_next(&rows, &place))
        pull_row(p, pull, &place);
    return SHD_OK;
}

static void stand_in(struct walker *w, const struct program_op *op);

static int do_rows(struct walker *w, const struct program_op *op, uint64_t *received,
                   struct shd_error *err)
{
    uint32_t number = (uint32_t)(op - w->program->ops);
    struct pulling p = {w, op, program_rows_arrays(w->program, op),
                        record_expert_rows(w->walk->record, number, w->position),
                        record_expert_links(w->walk->record, number, w->position)};
    struct run_seat seat;
    int status;

    if (p.rows && w->first)
        memset(p.rows, 0, (size_t)p.arrays.to->local[0] * sizeof *p.rows);
    if (p.links && w->first)
        memset(p.links, 0, (size_t)w->walk->record->ndevices * sizeof *p.links);

    if (!program_communicates(op))
        return pull_rows(NULL, &p, err);
    if (w->walk->alone >= 0) {
        stand_in(w, op);
        return SHD_OK;
    }
    status = run_group_over_axes(&seat, w->dev, op->rows.axes, op->rows.naxes, err);
    if (status != SHD_OK)
        return status;
    return run_pull_phase(w->dev, seat, w->shards[op->inputs[0]],
                          w->program->buffers[op->inputs[0]].bytes,
                          (uint64_t)(op - w->program->ops), op->name, pull_rows, &p, received, err);
}

/* ---- steps that are collectives ---- */

/* View of a shard that numbers elements chunk by chunk, cut along `dim` into `parts` chunks. */
static struct coll_view view_along(const struct program_buffer *b, void *base, int dim,
                                   uint32_t parts)
{
    struct coll_view view = {.base = base};
    uint64_t inner = 1, count = program_buffer_count(b);

    for (uint32_t d = (uint32_t)dim + 1; d < b->rank; d++)
        inner *= (uint64_t)b->local[d];
    view.chunk = count / parts;
    view.run = (uint64_t)b->local[dim] / parts * inner;
    view.stride = (uint64_t)b->local[dim] * inner;
    return view;
}

/* View of a shard as one chunk. */
static struct coll_view view_whole(const struct program_buffer *b, void *base)
{
    uint64_t count = program_buffer_count(b);

    return (struct coll_view){.base = base, .chunk = count, .run = count, .stride = count};
}

/* View of a shard's pieces, with the padding of the last, as consecutive chunks. */
static struct coll_view view_pieces(uint64_t piece, uint32_t npieces, void *base)
{
    return (struct coll_view){
        .base = base, .chunk = piece, .run = piece, .stride = piece * npieces};
}

/* Zero the padding behind the pieces that a shard is cut into. */
static void clear_room(const struct program_buffer *b, void *base)
{
    memset((char *)base + program_buffer_filled(b), 0, b->room_bytes);
}

/* Copy a shard into the room behind itself, each row padded to whole chunks along `dim`; returns a
 * view of the copy. */
static struct coll_view view_padded(const struct program_buffer *b, void *shard, int dim,
                                    int64_t chunk, uint32_t nchunks)
{
    uint64_t inner = shd_dtype_size(b->dtype), filled = program_buffer_filled(b), row, long_row;
    char *base = (char *)shard + filled;
    struct coll_view view = {.base = base};

    for (uint32_t d = (uint32_t)dim + 1; d < b->rank; d++)
        inner *= (uint64_t)b->local[d];
    row = (uint64_t)b->local[dim] * inner;
    long_row = (uint64_t)chunk * nchunks * inner;
    for (uint64_t from = 0, to = 0; from < filled; from += row, to += long_row) {
        memcpy(base + to, (const char *)shard + from, row);
        memset(base + to + row, 0, long_row - row);
    }
    view.stride = long_row / shd_dtype_size(b->dtype);
    view.run = view.stride / nchunks;
    view.chunk = filled / row * view.run;
    return view;
}

/* Views of a step's operands and results.  If the step joins chunks of `nmembers` devices along
 * a dimension, or cuts an operand into `nmembers` chunks, the view numbers elements chunk by
 * chunk. */
static void view_arrays(const struct walker *w, const struct program_op *op, uint32_t nmembers,
                        struct coll_view *in, struct coll_view *out)
{
    const struct shd_reshard_step *step = &op->reshard;

    for (uint32_t k = 0; k < op->ninputs; k++) {
        const struct program_buffer *b = &w->program->buffers[op->inputs[k]];
        const struct program_buffer *to = &w->program->buffers[op->outputs[k]];

        in[k] = view_whole(b, w->shards[op->inputs[k]]);
        out[k] = view_whole(to, w->shards[op->outputs[k]]);
        if (step->kind == SHD_RESHARD_REDUCE_SCATTER && shd_reshard_is_flat(step)) {
            clear_room(b, in[k].base);
            in[k] = view_pieces(program_buffer_count(to), nmembers, in[k].base);
        } else if (program_pads_chunks(w->program, op, k))
            in[k] = view_padded(b, in[k].base, step->dim, to->local[step->dim], nmembers);
        else if (step->kind == SHD_RESHARD_REDUCE_SCATTER)
            in[k] = view_along(b, in[k].base, step->dim, nmembers);
        if (step->kind == SHD_RESHARD_ALL_TO_ALL)
            in[k] = view_along(b, in[k].base, step->dim2, nmembers);
        if (step->kind == SHD_RESHARD_ALL_GATHER && shd_reshard_is_flat(step))
            out[k] = view_pieces(program_buffer_count(b), nmembers, out[k].base);
        else if (step->kind == SHD_RESHARD_ALL_GATHER || step->kind == SHD_RESHARD_ALL_TO_ALL)
            out[k] = view_along(to, out[k].base, step->dim, nmembers);
        if (k > 0) {
            in[k - 1].next = &in[k];
            out[k - 1].next = &out[k];
        }
    }
}

static int do_collective(struct walker *w, const struct program_op *op, uint64_t *received,
                         struct shd_error *err)
{
    const struct shd_reshard_step *step = &op->reshard;
    struct coll_view in[PROGRAM_PARTS_MAX], out[PROGRAM_PARTS_MAX];
    struct coll_shape shape;
    struct coll_call call = {.algo = program_algo(w->program, op, &shape), .where = op->name};
    int status = run_group_over_axes(&call.seat, w->dev, step->axes, step->naxes, err);

    if (status != SHD_OK)
        return status;
    call.kind = call.algo->kind;
    call.dtype = w->program->buffers[op->inputs[0]].dtype;
    call.red = (enum shd_reduce_op)step->from.partial_op;
    call.count = shape.count;
    view_arrays(w, op, shape.nmembers, in, out);
    call.in = in[0];
    call.out = out[0];
    status = run_collective(w->dev, &call, err);
    *received = call.received_bytes;
    return status;
}

/* Fill the results with the device's own bytes, repeated, in place of bytes from other devices.
 */
static void stand_in(struct walker *w, const struct program_op *op)
{
    for (uint32_t k = 0; k < op->noutputs; k++) {
        uint64_t have = w->program->buffers[op->inputs[k]].bytes;
        uint64_t want = w->program->buffers[op->outputs[k]].bytes;
        char *out = w->shards[op->outputs[k]];

        if (have == 0)
            memset(out, 0, want);
        for (uint64_t at = 0; have > 0 && at < want; at += have)
            memcpy(out + at, w->shards[op->inputs[k]], want - at < have ? want - at : have);
    }
}

/* ---- steps between stages ---- */

static int do_send(struct walker *w, const struct program_op *op, struct shd_error *err)
{
    const struct program *program = w->program;
    const struct program_op *recv = &program->ops[program->channels[op->channel].recv];
    const struct message_tag tag = {op->channel, w->microbatch};

    if (w->walk->alone >= 0)
        return SHD_OK;
    return channel_send(w->dev, program_doer(program, recv, w->position), tag,
                        w->shards[op->inputs[0]],
                        program_buffer_filled(&program->buffers[op->inputs[0]]), err);
}

static int do_receive(struct walker *w, const struct program_op *op, uint64_t *received,
                      struct shd_error *err)
{
    const struct program *program = w->program;
    const struct program_op *send = &program->ops[program->channels[op->channel].send];
    const struct message_tag tag = {op->channel, w->microbatch};
    uint64_t bytes = program_buffer_filled(&program->buffers[op->outputs[0]]);

    if (w->walk->alone < 0)
        return channel_take(w->dev, program_doer(program, send, w->position), tag,
                            w->shards[op->outputs[0]], bytes, op->name, received, err);
    memset(w->shards[op->outputs[0]], 0, bytes);
    return SHD_OK;
}

static int do_reshard(struct walker *w, const struct program_op *op, uint64_t *received,
                      struct shd_error *err)
{
    if (w->walk->alone >= 0 && program_communicates(op)) {
        stand_in(w, op);
        return SHD_OK;
    }
    if (program_coll_kind(op) >= 0)
        return do_collective(w, op, received, err);
    if (op->reshard.kind == SHD_RESHARD_SLICE)
        do_slice(w, op);
    else if (op->reshard.kind == SHD_RESHARD_MASK)
        do_mask(w, op);
    else
        return do_fetch(w, op, received, err);
    return SHD_OK;
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
    return op->kernel->run(&op->desc, &args);
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

static int do_op(struct walker *w, const struct program_op *op, void *workspace, uint64_t *received,
                 struct shd_error *err)
{
    switch (op->kind) {
    case PROGRAM_RESHARD:
        return do_reshard(w, op, received, err);
    case PROGRAM_SEND:
        return do_send(w, op, err);
    case PROGRAM_RECV:
        return do_receive(w, op, received, err);
    case PROGRAM_ROWS:
        return do_rows(w, op, received, err);
    case PROGRAM_FILL:
        do_fill(w, op);
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

/* Wait for all devices of this pipeline rank. */
static int meet_rank(struct walker *w, const char *where, struct shd_error *err)
{
    struct coll_call call = {.kind = COLL_BARRIER, .where = where};
    int status = seat_on_rank(&call.seat, w, err);

    return status == SHD_OK ? run_collective(w->dev, &call, err) : status;
}

/* ---- what devices of other ranks have, for those who inspect ---- */

struct showing {
    const struct walker *walker;
    uint32_t op, buffer;
};

/* The group's lowest device on this rank shows the shards of other ranks' devices to the
 * inspector. */
static int show_peers(struct run_pull *pull, void *arg, struct shd_error *err)
{
    const struct showing *s = arg;
    const struct walker *w = s->walker;
    const struct walk_opts *opts = w->walk->opts;
    const struct run_group *group = pull->seat.group;
    uint32_t first = 0;

    (void)err;
    while (!group->devices[first]->here)
        first++;
    if (first != pull->seat.member)
        return SHD_OK;
    for (uint32_t m = 0; m < group->nmembers; m++) {
        if (group->devices[m]->here)
            continue;
        opts->peer(opts->inspect_arg, w->position, s->op, group->members[m], s->buffer,
                   run_pull_peer(pull, m));
        span_forget(group->span, m); /* no other device of this rank reads the copy */
    }
    return SHD_OK;
}

static int bring_shards(struct walker *w, uint32_t i, struct shd_error *err)
{
    const struct program_op *op = &w->program->ops[i];
    uint32_t n = op->kind == PROGRAM_ROWS ? 1 : op->ninputs; /* only the tokens of PROGRAM_ROWS
                                                                come from other devices */
    struct run_seat seat;
    int status = seat_on_rank(&seat, w, err);

    for (uint32_t k = 0; k < n && status == SHD_OK; k++) {
        struct showing s = {w, i, op->inputs[k]};

        status =
            run_pull_phase(w->dev, seat, w->shards[s.buffer], w->program->buffers[s.buffer].bytes,
                           i, op->name, show_peers, &s, NULL, err);
    }
    return status;
}

/* Tag bit of the second copy of a message between stages, sent to inspectors on another rank. */
#define SHOWN (UINT64_C(1) << 32)

static int send_shown(struct walker *w, const struct program_op *op, struct shd_error *err)
{
    const struct program_op *recv = &w->program->ops[w->program->channels[op->channel].recv];
    int32_t to = program_doer(w->program, recv, w->position);
    const struct message_tag tag = {SHOWN + op->channel, w->microbatch};

    if (spread_has(w->walk->opts->spread, to))
        return SHD_OK;
    return channel_send(w->dev, to, tag, w->shards[op->inputs[0]],
                        w->program->buffers[op->inputs[0]].bytes, err);
}

static int take_shown(struct walker *w, uint32_t i, struct shd_error *err)
{
    const struct walk_opts *opts = w->walk->opts;
    const struct program_op *op = &w->program->ops[i];
    const struct program_op *send = &w->program->ops[w->program->channels[op->channel].send];
    int32_t from = program_doer(w->program, send, w->position);
    const struct message_tag tag = {SHOWN + op->channel, w->microbatch};
    uint64_t bytes = w->program->buffers[op->outputs[0]].bytes, received;
    void *shard;
    int status;

    if (spread_has(opts->spread, from))
        return SHD_OK;
    shard = malloc(bytes + 1);
    if (!shard)
        return shd_error_set(err, SHD_ENOMEM, "no memory to show what was received");
    status = channel_take(w->dev, from, tag, shard, bytes, op->name, &received, err);
    if (status == SHD_OK)
        opts->peer(opts->inspect_arg, w->position, i, from, op->outputs[0], shard);
    free(shard);
    return status;
}

static int bring_from_others(struct walker *w, uint32_t i, bool meets, struct shd_error *err)
{
    const struct program_op *op = &w->program->ops[i];

    if (!w->walk->opts->spread)
        return SHD_OK;
    if (op->kind == PROGRAM_SEND)
        return send_shown(w, op, err);
    if (op->kind == PROGRAM_RECV)
        return take_shown(w, i, err);
    return meets ? bring_shards(w, i, err) : SHD_OK;
}

/* A stopped device keeps its shards until no device looks at shards any more: the meeting that
 * broke off for the stopped device may have let others pass. */
static void await_looks(struct looks *looks)
{
    for (;;) {
        uint32_t seen = atomic_load(&looks->done);

        if (atomic_load(&looks->n) == 0)
            return;
        wait_event(&looks->done, seen, -1);
    }
}

/* Fetch the shards of other ranks' devices, then call the inspector. */
static int look(struct walker *w, uint32_t i, bool met, struct shd_error *err)
{
    const struct walk_opts *opts = w->walk->opts;
    int status = bring_from_others(w, i, met, err);

    if (status == SHD_OK)
        opts->inspect(opts->inspect_arg, w->position, i, w->microbatch,
                      (const void *const *)w->shards);
    return status;
}

/* Inspect an op at which inspectors read the shards of all devices: the devices meet before and
 * after inspection.  Shards of other ranks are fetched before any inspector runs, so that no device
 * waits for one that failed to fetch. */
static int look_together(struct walker *w, uint32_t i, struct shd_error *err)
{
    const char *where = w->program->ops[i].name;
    struct looks *looks = w->walk->looks;
    int met, looked = SHD_OK;

    atomic_fetch_add(&looks->n, 1);
    met = meet_rank(w, where, err);
    if (met == SHD_OK)
        looked = look(w, i, true, err);
    atomic_fetch_sub(&looks->n, 1);
    wait_signal(&looks->done);
    if (looked != SHD_OK)
        return looked;
    if (met == SHD_OK)
        met = meet_rank(w, where, err);
    if (met != SHD_OK)
        await_looks(looks);
    return met;
}

static int show(struct walker *w, uint32_t i, struct shd_error *err)
{
    const struct walk_opts *opts = w->walk->opts;
    bool meet = opts->inspect && program_reads_others(&w->program->ops[i]);
    int status = SHD_OK;

    if (opts->observe)
        opts->observe(opts->observe_arg, w->position, i, w->microbatch,
                      (const void *const *)w->shards);
    if (opts->inspect)
        status = meet ? look_together(w, i, err) : look(w, i, false, err);
    /* Every device has been inspected. */
    if (meet && opts->spread &&
        w->position == spread_first(opts->spread, w->walk->record->ndevices))
        opts->peer(opts->inspect_arg, w->position, i, -1, 0, NULL);
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

/* Allocate memory for a result of an op, or reuse the argument's that it overwrites. */
static int get_memory(struct walker *w, const struct program_op *op, uint32_t output,
                      struct shd_error *err)
{
    const struct program_buffer *b = &w->program->buffers[op->outputs[output]];
    void **shard = &w->shards[op->outputs[output]];

    if (b->over != PROGRAM_NONE && !is_watched(w))
        *shard = w->shards[b->over];
    else if (b->over != PROGRAM_NONE || program_allocates(w->program, op, output, w->first))
        return shd_device_alloc(w->dev, b->bytes, b->name, shard, err);
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
        status = show(w, i, err);
    if (status == SHD_OK)
        status = do_timed_op(w, op, workspace, &received, err);
    shd_device_free(w->dev, workspace);
    count_received(w, i, received);
    if (status == SHD_OK && op->kind != PROGRAM_SEND)
        status = show(w, i, err);
    for (uint32_t d = program_dead_buffers(w->program, i, dead); d-- > 0;) {
        shd_device_free(w->dev, w->shards[dead[d]]);
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
    int status = shd_device_barrier(w->dev, NULL, err); /* so that waiting for other devices is
                                                           not timed */

    if (status == SHD_OK && w->repeat > 0 && w->repeat + 1 == walk->repeats) {
        device_count_anew(w->dev); /* only the last repeat is recorded */
        status = shd_device_barrier(w->dev, NULL, err);
    }
    walk->record->flops[w->position] = 0;
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
            shd_device_free(w->dev, w->shards[result->of]);
        w->shards[result->of] = w->shards[result->buffer];
        w->shards[result->buffer] = NULL;
    }
    for (uint32_t b = 0; b < program->nbuffers; b++)
        if (!program->buffers[b].argument) {
            shd_device_free(w->dev, w->shards[b]);
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
    for (uint32_t m = 0; w.frames && w.program->nframes && m < w.program->microbatches; m++)
        free(w.frames[m]);
    free(w.frames);
    free(w.spare_frame);
    free(w.shards);
    free(w.results);
    return status;
}

static int compare_ns(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Time from the first device's start to the last device's end, among devices of this rank. */
static struct moment span_here(const struct walk *walk, uint32_t repeat)
{
    size_t n = (size_t)walk->record->ndevices, at = repeat * n;
    size_t some = at + (size_t)spread_first(walk->opts->spread, walk->record->ndevices);
    struct moment first = walk->first[some], last = walk->last[some];

    for (size_t d = at; d < at + n; d++) {
        const struct moment *f = &walk->first[d], *l = &walk->last[d];

        if (!spread_has(walk->opts->spread, (int32_t)(d - at)))
            continue;
        first.wall_ns = f->wall_ns < first.wall_ns ? f->wall_ns : first.wall_ns;
        first.cpu_ns = f->cpu_ns < first.cpu_ns ? f->cpu_ns : first.cpu_ns;
        last.wall_ns = l->wall_ns > last.wall_ns ? l->wall_ns : last.wall_ns;
        last.cpu_ns = l->cpu_ns > last.cpu_ns ? l->cpu_ns : last.cpu_ns;
    }
    return (struct moment){last.wall_ns - first.wall_ns, last.cpu_ns - first.cpu_ns};
}

/* A step's time over all ranks: wall time is the longest rank's, CPU time the sum over ranks. */
static struct moment span_of(const struct walk *walk, uint32_t repeat)
{
    struct moment span = span_here(walk, repeat);

    if (walk->opts->spread) {
        ranks_merge(&span.wall_ns, sizeof span.wall_ns, RANKS_MOST);
        ranks_merge(&span.cpu_ns, sizeof span.cpu_ns, RANKS_SUM);
    }
    return span;
}

static void take_times(struct record *record, struct walk *walk)
{
    int64_t *wall_ns = walk->sorted, *cpu_ns = walk->sorted + walk->repeats;
    uint32_t first = walk->repeats > 1, n = walk->repeats - first;

    record->repeats = walk->repeats;
    record->first_step_ns = span_of(walk, 0).wall_ns;
    for (uint32_t k = 0; k < n; k++) {
        struct moment span = span_of(walk, k + first);

        wall_ns[k] = span.wall_ns;
        cpu_ns[k] = span.cpu_ns;
    }
    qsort(wall_ns, n, sizeof *wall_ns, compare_ns);
    qsort(cpu_ns, n, sizeof *cpu_ns, compare_ns);
    record->step_ns = wall_ns[n / 2];
    record->fastest_step_ns = wall_ns[0];
    record->cpu_ns = cpu_ns[n / 2];
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
    take_times(record, walk);
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
        status = run_devices(record->program->mesh, walk_device, &walk, &run_opts, NULL,
                             opts->spread, &stats, err);
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
