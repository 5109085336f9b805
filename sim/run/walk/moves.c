/* moves.c - the ops that move data between devices, executed: boxes, rows of experts, collectives,
 * messages between stages.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "kern/convert.h"
#include "program/row_nodes.h"
#include "program/rows.h"
#include "run/channel.h"
#include "run/collective.h"
#include "run/relayout.h"
#include "run/walk/walker.h"

/* ---- steps that copy boxes ---- */

struct fetching {
    const struct walker *walker;
    const struct program_op *op;
};

static int fetch_boxes(struct run_pull *pull, void *arg, struct shd_error *err)
{
    const struct fetching *f = arg;
    const struct program_buffer *in = &f->walker->program->buffers[f->op->inputs[0]];

    (void)err;
    relayout_fetch(pull, &f->op->reshard, in->shape, in->dtype,
                   f->walker->shards[f->op->outputs[0]]);
    return SHD_OK;
}

int walker_seat_on_rank(struct run_seat *out, struct walker *w, struct shd_error *err)
{
    uint8_t axes[SHD_MESH_AXES_MAX];
    size_t naxes = program_rank_axes(w->program, axes);

    return run_group_over_axes(out, w->dev, axes, naxes, err);
}

/* Zero the padding behind the last shard of a dimension that does not divide evenly, and what a
 * halo has beyond the array's ends. */
static void clear_padding(struct walker *w, const struct program_op *op)
{
    const struct program_buffer *out = &w->program->buffers[op->outputs[0]];

    if (out->sharding.uneven || op->reshard.reach.extent > 0)
        memset(w->shards[op->outputs[0]], 0, out->bytes);
}

static int do_fetch(struct walker *w, const struct program_op *op, uint64_t *received,
                    struct shd_error *err)
{
    struct fetching f = {w, op};
    struct run_seat seat;
    int status = walker_seat_on_rank(&seat, w, err);

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
    if (shd_reshard_fetch_count(&op->reshard, in->shape, w->position) == 0)
        return; /* no elements */
    shd_reshard_fetch(&op->reshard, in->shape, w->position, 0, &box);
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
    double *sum;     /* [width] of the token at `summed`; NULL: rows are copied */
    char *summed;    /* row of the result that the sum is of; NULL: none yet */
    uint64_t *rows;  /* rows received by each of the device's experts; NULL: not counted */
    uint64_t *links; /* bytes received from each device; NULL: not counted */
};

/* Address of a routing entry, or of its row, in the shard at `position`; NULL if the shard lacks
 * it. */
static char *row_at(const struct pulling *p, const struct program_buffer *b, int32_t position,
                    const void *shard, const struct program_rows_place *place)
{
    bool tokens = b != p->arrays.experts;
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

/* The device that has an entry's row of the operand. */
static int32_t source_of(const struct pulling *p, const struct program_rows_place *place)
{
    const struct program_buffer *from = p->arrays.from;
    int32_t position = p->walker->position;
    int64_t shard;

    if (p->op->rows.way == PROGRAM_ROWS_BETWEEN && p->op->rows.combines)
        return program_nodes_peer(p->walker->program, p->op, position,
                                  program_rows_node(&p->arrays, p->op, place));
    shard = from == p->arrays.experts ? program_rows_shard(from, place->expert, place->slot)
                                      : program_rows_shard(from, place->batch, place->seq);
    return program_rows_source(from, position, shard);
}

static size_t width_of(const struct pulling *p)
{
    return (size_t)p->arrays.to->local[p->arrays.to->rank - 1];
}

/* Store the sum of the rows of a token. */
static void store_sum(struct pulling *p)
{
    if (p->summed)
        kern_store_f64(p->arrays.to->dtype, p->summed, 1, width_of(p), p->sum);
    p->summed = NULL;
}

/* Put a row into the result: a copy of it, or the next term of its token's sum.  Terms come one
 * after the other, as the entries of a token do. */
static void put_row(struct pulling *p, char *to, const char *from)
{
    double x[KERN_LANES];
    size_t size = shd_dtype_size(p->arrays.to->dtype), width = width_of(p);

    if (!p->sum) {
        memcpy(to, from, p->arrays.row_bytes);
        return;
    }
    if (p->summed != to) {
        store_sum(p);
        memset(p->sum, 0, width * sizeof *p->sum);
        p->summed = to;
    }
    for (size_t at = 0; at < width; at += KERN_LANES) {
        size_t n = width - at < KERN_LANES ? width - at : KERN_LANES;

        kern_load_f64(p->arrays.to->dtype, from + at * size, 1, n, x);
        for (size_t i = 0; i < n; i++)
            p->sum[at + i] += x[i];
    }
}

/* Pull the row of an entry if this device's result contains the entry.  A row found at the
 * source is counted as received; if the source lacks the row, run_pull_count() counts the bytes
 * as astray. */
static void pull_row(struct pulling *p, struct run_pull *pull,
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
        source = source_of(p, place);
        member = run_pull_member(pull, source);
        shard = run_pull_peer(pull, member);
    }
    from = row_at(p, p->arrays.from, source, shard, place);
    if (from)
        put_row(p, to, from);
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
    struct pulling *p = arg;
    const struct walker *w = p->walker;
    struct program_rows_walk rows = program_rows_walk(
        w->program, p->op, w->position, w->shards[p->op->inputs[1]], w->shards[p->op->inputs[2]]);
    struct program_rows_place place;

    (void)err;
    memset(w->shards[p->op->outputs[0]], 0, p->arrays.to->bytes);
    while (program_rows_next(&rows, &place))
        if (program_rows_takes(&rows, p->op, w->position, &place))
            pull_row(p, pull, &place);
    store_sum(p);
    return SHD_OK;
}

static void stand_in(struct walker *w, const struct program_op *op);

static int move_rows(struct walker *w, const struct program_op *op, struct pulling *p,
                     uint64_t *received, struct shd_error *err)
{
    struct run_seat seat;
    int status;

    if (p->rows && w->first)
        memset(p->rows, 0, (size_t)p->arrays.to->local[0] * sizeof *p->rows);
    if (p->links && w->first)
        memset(p->links, 0, (size_t)w->walk->record->ndevices * sizeof *p->links);

    if (!program_communicates(op))
        return pull_rows(NULL, p, err);
    if (w->walk->alone >= 0) {
        stand_in(w, op);
        return SHD_OK;
    }
    status = run_group_over_axes(&seat, w->dev, op->rows.axes, op->rows.naxes, err);
    if (status != SHD_OK)
        return status;
    return run_pull_phase(w->dev, seat, w->shards[op->inputs[0]],
                          w->program->buffers[op->inputs[0]].bytes,
                          (uint64_t)(op - w->program->ops), op->name, pull_rows, p, received, err);
}

int walker_rows(struct walker *w, const struct program_op *op, uint64_t *received,
                struct shd_error *err)
{
    uint32_t number = (uint32_t)(op - w->program->ops);
    struct pulling p = {.walker = w,
                        .op = op,
                        .arrays = program_rows_arrays(w->program, op),
                        .rows = record_expert_rows(w->walk->record, number, w->position),
                        .links = record_expert_links(w->walk->record, number, w->position)};
    int status;

    if (op->rows.sums) {
        p.sum = malloc((width_of(&p) + 1) * sizeof *p.sum);
        if (!p.sum)
            return shd_error_set(err, SHD_ENOMEM, "no memory for the sum of a row");
    }
    status = move_rows(w, op, &p, received, err);
    free(p.sum);
    return status;
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

/* View of a whole shard as a chunk. */
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

int walker_send(struct walker *w, const struct program_op *op, struct shd_error *err)
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

int walker_receive(struct walker *w, const struct program_op *op, uint64_t *received,
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

int walker_reshard(struct walker *w, const struct program_op *op, uint64_t *received,
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
