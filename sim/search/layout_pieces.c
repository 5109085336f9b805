/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "search/layout_pieces.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/pack.h"
#include "cost/events.h"
#include "cost/op_seconds.h"
#include "search/task.h"

/* Everything that a piece's ops depend on.  The distance between neighbours determines the links of
 * their transfers. */
struct key {
    int64_t stride[3]; /* of tp, cp, dp; 0 where the axis has one device */
    int32_t kind, tp, cp, dp, ep, microbatch, recompute, sp, zero, shards;
    int32_t method, products;
    int32_t alike;  /* the program is that of another number of replicas and shards */
    int32_t staged; /* the layout has a pipeline */
    int32_t splits; /* the schedule splits the backward phase */
    int32_t microbatches;
};

struct entry {
    struct key key;
    struct layout layout; /* the first layout with this key */
    struct piece piece;
    /* Pieces that differ only in the order of the mesh's axes share a program, whose transfers run
     * over other links.  The first of them leads; `next` is the following piece, UINT32_MAX:
     * none. */
    bool leads;
    uint32_t next;
};

struct pieces {
    const struct subject *subject;
    struct entry *entries;
    uint32_t n;
    uint32_t nbuilt; /* all pieces before this one are built */
    struct map numbers; /* by hash of the key */
};

/* ---- finding ---- */

/* Distance between neighbours along an axis, at most the largest domain of a tier: beyond that the
 * links of a group depend only on how many devices of a domain it has, unless the tier is a
 * torus. */
static int64_t stride_of(const struct hardware *hardware, const struct layout *layout,
                         enum space_choice axis)
{
    int64_t stride = space_stride(layout, axis), most = 1;

    if (layout->value[axis] == 1)
        return 0;
    for (int t = 0; t < hardware->ntiers; t++) {
        if (hardware->tiers[t].torus)
            return stride;
        if (hardware->tiers[t].devices > most)
            most = hardware->tiers[t].devices;
    }
    return stride < most ? stride : most;
}

static struct key key_of(const struct subject *subject, const struct layout *layout,
                         enum attempt_kind kind)
{
    const int32_t *v = layout->value;
    const struct hardware *h = subject->hardware;
    struct key key;

    memset(&key, 0, sizeof key);
    key.kind = kind;
    key.staged = v[SPACE_PP] > 1;
    key.splits = attempt_splits(layout, kind);
    key.microbatches = (int32_t)attempt_microbatches(subject, layout, kind);
    key.tp = v[SPACE_TP];
    key.cp = v[SPACE_CP];
    key.stride[0] = stride_of(h, layout, SPACE_TP);
    key.stride[1] = stride_of(h, layout, SPACE_CP);
    key.sp = v[SPACE_SP];
    key.ep = v[SPACE_EP];
    key.method = v[SPACE_METHOD];
    key.products = v[SPACE_PRODUCTS];
    if (key.ep > 1 || kind == ATTEMPT_REPLICAS)
        key.stride[2] = stride_of(h, layout, SPACE_DP);
    if (kind == ATTEMPT_LAYERS) {
        key.microbatch = v[SPACE_MICROBATCH];
        key.recompute = v[SPACE_RECOMPUTE];
    } else {
        key.shards = v[SPACE_SHARDS];
        key.dp = v[SPACE_DP];
        key.zero = v[SPACE_ZERO];
    }
    return key;
}

/* FNV-1a over the words of a key. */
static uint64_t hash_of(const struct key *key)
{
    uint32_t words[sizeof *key / sizeof(uint32_t)];
    uint64_t hash = HASH_BEGIN;

    memcpy(words, key, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        hash = hash_word(hash, words[i]);
    return hash;
}

/* The number of the piece with a key; UINT32_MAX: none. */
static uint32_t number_of(const struct pieces *p, const struct key *key)
{
    struct map_walk walk = map_find(&p->numbers, hash_of(key));
    uint32_t i;

    while ((i = map_next(&walk)) != MAP_NONE)
        if (memcmp(&p->entries[i].key, key, sizeof *key) == 0)
            return i;
    return UINT32_MAX;
}

struct pieces *pieces_create(const struct subject *subject)
{
    struct pieces *p = calloc(1, sizeof *p);

    if (p)
        p->subject = subject;
    return p;
}

void pieces_destroy(struct pieces *pieces)
{
    if (!pieces)
        return;
    free(pieces->entries);
    map_fini(&pieces->numbers);
    free(pieces);
}

/* Append a piece; UINT32_MAX: no memory. */
static uint32_t append(struct pieces *p, const struct key *key, const struct layout *layout)
{
    if (!array_make_room(&p->entries, p->n, sizeof *p->entries) ||
        !map_add(&p->numbers, hash_of(key), p->n))
        return UINT32_MAX;
    p->entries[p->n] = (struct entry){.key = *key, .layout = *layout, .next = UINT32_MAX};
    return p->n++;
}

/* Append a piece, unless it is there, after `last` (UINT32_MAX: it leads), whose program it shares;
 * returns the last piece.  False: no memory. */
static bool append_after(struct pieces *p, uint32_t *last, const struct key *key,
                         const struct layout *layout)
{
    uint32_t before = *last;

    if (number_of(p, key) != UINT32_MAX)
        return true;
    *last = append(p, key, layout);
    if (*last == UINT32_MAX)
        return false;
    if (before == UINT32_MAX)
        p->entries[*last].leads = true;
    else
        p->entries[before].next = *last;
    return true;
}

/* Append the pieces of a layout in all orders of the mesh's axes, its own first. */
static bool append_orders(struct pieces *p, const struct layout *own, enum attempt_kind kind)
{
    struct key key = key_of(p->subject, own, kind);
    struct layout layout = *own;
    uint32_t last = UINT32_MAX;
    bool good = append_after(p, &last, &key, own);

    for (int32_t o = 0; good && (o = space_next_order(&p->subject->space, &layout, o)) >= 0; o++) {
        layout.value[SPACE_ORDER] = o;
        key = key_of(p->subject, &layout, kind);
        good = append_after(p, &last, &key, &layout);
    }
    return good;
}

uint32_t pieces_find(struct pieces *p, const struct layout *layout, enum attempt_kind kind)
{
    struct key key = key_of(p->subject, layout, kind);
    uint32_t piece = number_of(p, &key);

    if (piece != UINT32_MAX)
        return piece;
    return append_orders(p, layout, kind) ? number_of(p, &key) : UINT32_MAX;
}

/* ---- alike: other numbers of replicas and shards ---- */

static struct key alike_key(const struct subject *subject, const struct layout *layout)
{
    struct key key = key_of(subject, layout, ATTEMPT_REPLICAS);

    key.alike = true;
    return key;
}

/* The same layout with another number of ranks in its pipeline, and so of replicas, which have as
 * many microbatches as the piece has.  False: the devices or the batch do not divide. */
static bool repeat(struct layout *out, const struct subject *subject, const struct layout *layout,
                   int32_t pp)
{
    const struct space *space = &subject->space;
    int64_t n = attempt_microbatches(subject, layout, ATTEMPT_REPLICAS);
    int64_t each = (int64_t)layout->value[SPACE_TP] * layout->value[SPACE_CP] * pp;
    int64_t dp = space->devices / each;

    *out = *layout;
    out->value[SPACE_PP] = pp;
    out->value[SPACE_DP] = (int32_t)dp;
    if (space->devices % each || space->batch % dp || space->batch / dp < n ||
        dp % layout->value[SPACE_EP])
        return false;
    out->value[SPACE_MICROBATCH] = (int32_t)(n == 1 ? space->batch / dp : 1);
    return true;
}

/* Whether ZeRO is of the same stage over the same axes of the mesh. */
static bool has_same_zero(const struct layout *a, const struct layout *b)
{
    return a->value[SPACE_ZERO] == b->value[SPACE_ZERO] &&
           space_zero_axes(a) == space_zero_axes(b) && (space_inner(a) > 1) == (space_inner(b) > 1);
}

/* Append the pieces of the layouts that ZeRO makes of a layout as it does of `own`, the most shards
 * first. */
static bool append_shards(struct pieces *p, uint32_t *last, const struct layout *layout,
                          const struct layout *own)
{
    const struct subject *subject = p->subject;
    struct layout *members;
    struct shd_error err;
    bool good = true;
    uint32_t n;

    if (space_list_members(&members, &n, &subject->space, layout, &err) != SHD_OK)
        return false;
    for (uint32_t k = 0; k < n && good; k++) {
        struct key key = alike_key(subject, &members[k]);

        if (has_same_zero(&members[k], own))
            good = append_after(p, last, &key, &members[k]);
    }
    free(members);
    return good;
}

/* The most replicas come first: the fewest ranks. */
uint32_t pieces_find_alike(struct pieces *p, const struct layout *layout)
{
    struct key key = alike_key(p->subject, layout);
    int64_t first = layout->value[SPACE_PP] > 1 ? 2 : 1;
    int64_t end = first > 1 ? p->subject->space.layers : 1;
    uint32_t piece = number_of(p, &key), last = UINT32_MAX;
    struct layout other;

    for (int64_t pp = first; piece == UINT32_MAX && pp <= end; pp++)
        if (repeat(&other, p->subject, layout, (int32_t)pp) &&
            !append_shards(p, &last, &other, layout))
            return UINT32_MAX;
    return append_after(p, &last, &key, layout) ? number_of(p, &key) : UINT32_MAX;
}

const struct piece *pieces_get(const struct pieces *pieces, uint32_t piece)
{
    return &pieces->entries[piece].piece;
}

uint32_t pieces_count(const struct pieces *pieces)
{
    return pieces->n;
}

void piece_scale(struct piece *out, const struct piece *piece, double part)
{
    *out = *piece;
    for (int p = 0; p < PIECE_NPARTS; p++) {
        out->parts[p].forward_s *= part;
        out->parts[p].backward_s *= part;
        out->parts[p].weights_s *= part;
        out->parts[p].waits_s *= part;
        out->parts[p].late_s *= part;
        out->parts[p].last_s *= part;
        out->parts[p].sums_s *= part;
        for (int k = 0; k < EVENTS_STREAMS_MAX; k++) {
            out->parts[p].streams_s[k] *= part;
            out->parts[p].sent_s[k] *= part;
        }
    }
    /* Compute that need not wait (free_s) is an upper bound, and stays. */
    for (int way = 0; way < HOP_NWAYS; way++)
        for (int t = 0; t < HARDWARE_TIERS_MAX; t++)
            out->hops[way].message_s[t] *= part;
}

/* ---- reading a program ---- */

/* Costs of a stage of a piece, or of a whole piece without stages. */
struct stage {
    double forward_s, backward_s, weights_s, saved_bytes, state_bytes, gradient_bytes;
    double waits_s, late_s, last_s, sums_s;
    bool sent; /* the backward phase has sent its message */
    double update_s[PIECE_NLINES], streams_s[EVENTS_STREAMS_MAX], sent_s[EVENTS_STREAMS_MAX];
    double once_s[EVENTS_STREAMS_MAX], start_s[EVENTS_STREAMS_MAX], summed_s[EVENTS_STREAMS_MAX];
};

struct reader {
    const struct program *program;
    const struct hardware_software *software;
    struct op_seconds seconds;
    const bool *fixed; /* of the source */
    const uint32_t *reader; /* of the source */
    double slower;     /* slowdown of the slowest node */
    int dp, shard; /* axes of replicas; -1: none; a piece of layers has no dp */
    struct stage stages[ATTEMPT_STAGES];
    struct hop hops[HOP_NWAYS];
    double update_message_s[HARDWARE_TIERS_MAX];
    /* Transfers that computations wait for, with no computation between them, by stream: transfers
     * that count in this piece, and transfers that count in the layout's other piece.  All streams
     * run in parallel. */
    struct {
        double own_s[EVENTS_STREAMS_MAX], others_s[EVENTS_STREAMS_MAX];
        enum program_part part;
        uint32_t stage;
    } row;
};

static bool computes(const struct program_op *op)
{
    return op->kind != PROGRAM_FILL && !program_communicates(op);
}

static bool is_gradient(const struct program *program, const struct program_op *op)
{
    return program->buffers[op->outputs[0]].use == PROGRAM_GRADIENTS;
}

/* Whether the device is idle during a transfer.  Computations run in the program's order.  If the
 * computation before the transfer writes its input, and the computation after it reads its output,
 * nothing can be computed meanwhile; nor with software that waits for each collective. */
static bool stops(const struct reader *r, uint32_t i)
{
    const struct program_op *op = &r->program->ops[i];

    if (op->kind != PROGRAM_RESHARD && op->kind != PROGRAM_ROWS)
        return false;
    /* Sums of gradients stop the device unless the software overlaps them. */
    if (is_gradient(r->program, op))
        return !r->software->overlaps_gradients;
    if (program_gathers_again(r->program, op) && r->software->overlaps_regathers)
        return false;
    if (op->kind == PROGRAM_ROWS && r->software->overlaps_pairs)
        return false; /* perhaps beside the other microbatch of a pair */
    if (r->software->waits_for_collectives)
        return true;
    return i > r->program->first_op && i + 1 < r->program->nops && computes(op - 1) &&
           computes(op + 1) && op[-1].part == op->part && op[1].part == op->part &&
           op[-1].stage == op->stage && op[1].stage == op->stage && program_reads(op, op - 1) &&
           program_reads(op + 1, op);
}

static bool runs_over(const struct program_op *op, int axis)
{
    for (uint32_t k = 0; op->kind == PROGRAM_RESHARD && k < op->reshard.naxes; k++)
        if (op->reshard.axes[k] == axis)
            return true;
    return false;
}

/* Whether a transfer counts in a piece of replicas: it runs between these.  One of activations that
 * also runs over other axes, such as the largest magnitude of all that is rounded together, counts
 * in the piece of layers, where it runs over those alone. */
static bool is_of_replicas(const struct reader *r, const struct program_op *op)
{
    bool mixed = false;

    if (!runs_over(op, r->dp) && !runs_over(op, r->shard))
        return false;
    for (uint32_t k = 0; k < op->reshard.naxes; k++)
        mixed |= op->reshard.axes[k] != r->dp && op->reshard.axes[k] != r->shard;
    return !mixed || r->program->buffers[op->outputs[0]].use != PROGRAM_ACTIVATIONS;
}

/* Ops with fewer bytes of results are left out of the update: the norm of gradients sums a fixed
 * number of arrays at a time, so that the number of these ops is no multiple of the layers. */
#define UPDATE_BYTES_LEAST 65536

static bool is_small(const struct reader *r, const struct program_op *op)
{
    double bytes = 0;

    for (uint32_t k = 0; k < op->noutputs; k++)
        bytes += op_seconds_bytes(&r->seconds, op->outputs[k]);
    return bytes < UPDATE_BYTES_LEAST;
}

static bool transfers(const struct program_op *op)
{
    return op->kind == PROGRAM_RESHARD || op->kind == PROGRAM_ROWS;
}

/* Add an op that runs once a step.  In the update, computations run one after the other, and so do
 * the transfers of each stream, perhaps in parallel to computations; but if the software sums
 * gradients during the backward phase, these sums may be over when that phase ends. */
static void add_once(struct reader *r, uint32_t i, double seconds)
{
    const struct program_op *op = &r->program->ops[i];
    struct stage *stage = &r->stages[op->stage];
    unsigned stream;

    if (is_small(r, op))
        return;
    if (computes(op)) {
        stage->update_s[PIECE_COMPUTE] += op->part == PROGRAM_UPDATE ? seconds : 0;
        return;
    }
    if (!transfers(op))
        return;
    stream = op_seconds_stream(&r->seconds, i);
    stage->once_s[stream] += seconds;
    stage->start_s[stream] += op->part == PROGRAM_START ? seconds : 0;
    if (op->part == PROGRAM_UPDATE && is_gradient(r->program, op))
        stage->summed_s[stream] += seconds;
    if (op->part == PROGRAM_UPDATE && !r->software->overlaps_gradients)
        stage->update_s[PIECE_STREAMS + stream] += seconds;
}

/* Add the least time of a chain of ops in the update: where its parts begin and end depends on the
 * number of layers.  Returns the op behind the chain; `i` if no chain begins there. */
static uint32_t add_chain(struct reader *r, uint32_t i)
{
    const struct program_op *op = &r->program->ops[i];
    uint32_t end = i;

    if (r->dp >= 0 && op->part == PROGRAM_UPDATE)
        r->stages[op->stage].update_s[PIECE_COMPUTE] +=
            op_seconds_chain(&r->seconds, i, &end) * r->slower;
    return end;
}

static double *seconds_of_part(struct stage *stage, enum program_part part)
{
    return part == PROGRAM_FORWARD    ? &stage->forward_s
           : part == PROGRAM_BACKWARD ? &stage->backward_s
                                      : &stage->weights_s;
}

/* End a row of transfers.  The row takes as long as its longest stream; what it takes more than
 * without this piece's own transfers is added to the stage. */
static void end_row(struct reader *r, bool computed)
{
    struct stage *stage = &r->stages[r->row.stage];
    double all = 0, others = 0;

    for (int k = 0; k < EVENTS_STREAMS_MAX; k++) {
        all = fmax(all, r->row.own_s[k] + r->row.others_s[k]);
        others = fmax(others, r->row.others_s[k]);
        r->row.own_s[k] = r->row.others_s[k] = 0;
    }
    stage->waits_s += all - others;
    if (stage->sent && r->row.part == PROGRAM_BACKWARD)
        stage->late_s += all - others;
    if (!computed)
        stage->last_s = fmax(stage->last_s, all - others);
    *seconds_of_part(stage, r->row.part) += all - others;
}

static void add_wait(struct reader *r, uint32_t i, double seconds, bool counts)
{
    const struct program_op *op = &r->program->ops[i];
    unsigned stream = op_seconds_stream(&r->seconds, i);

    if (r->row.stage != op->stage || r->row.part != op->part)
        end_row(r, false);
    r->row.stage = op->stage;
    r->row.part = (enum program_part)op->part;
    *(counts ? &r->row.own_s[stream] : &r->row.others_s[stream]) += seconds;
}

/* Whether an op makes the same in each microbatch, such as codes of rounded weights. */
static bool is_fixed(const bool *fixed, const struct program_op *op)
{
    bool all = op->ninputs > 0;

    for (uint32_t k = 0; k < op->ninputs; k++)
        all &= fixed[op->inputs[k]];
    return all;
}

static void find_fixed(bool *fixed, const struct program *p)
{
    for (uint32_t b = 0; b < p->nbuffers; b++)
        fixed[b] = p->buffers[b].argument && p->buffers[b].use == PROGRAM_PARAMETERS;
    for (uint32_t i = p->first_op; i < p->nops; i++)
        for (uint32_t k = 0; k < p->ops[i].noutputs; k++)
            fixed[p->ops[i].outputs[k]] = is_fixed(fixed, &p->ops[i]);
}

/* Whether a computation reads and writes only gradients: it does not depend on the sequences. */
static bool is_on_gradients(const struct program *program, const struct program_op *op)
{
    for (uint32_t k = 0; k < op->ninputs; k++)
        if (program->buffers[op->inputs[k]].use != PROGRAM_GRADIENTS)
            return false;
    return op->ninputs > 0 && is_gradient(program, op);
}

/* Whether gradients are made, brought together and read in one phase. */
static bool is_within_phase(const struct reader *r, uint32_t i)
{
    const struct program_op *op = &r->program->ops[i];
    uint32_t reader = r->reader[op->outputs[0]];

    if (!transfers(op) || !is_gradient(r->program, op) || reader == PROGRAM_NONE)
        return false;
    for (uint32_t k = 0; k < op->ninputs; k++) {
        const struct program_buffer *b = &r->program->buffers[op->inputs[k]];
        const struct program_op *maker = &r->program->ops[b->first_op];

        if (b->argument || maker->part != op->part || maker->stage != op->stage)
            return false;
    }
    return r->program->ops[reader].part == op->part && r->program->ops[reader].stage == op->stage;
}

/* The first computation that reads each array. */
static void find_readers(uint32_t *readers, const struct program *p)
{
    for (uint32_t b = 0; b < p->nbuffers; b++)
        readers[b] = PROGRAM_NONE;
    for (uint32_t i = p->nops; i-- > p->first_op;)
        for (uint32_t k = 0; computes(&p->ops[i]) && k < p->ops[i].ninputs; k++)
            readers[p->ops[i].inputs[k]] = i;
}

/* Seconds of an op; 0 for one that counts in the layout's other piece. */
static double seconds_of(const struct reader *r, uint32_t i)
{
    const struct program_op *op = &r->program->ops[i];

    if (r->dp >= 0 && computes(op) && op->part != PROGRAM_UPDATE &&
        !is_on_gradients(r->program, op))
        return 0;
    return op_seconds_of(&r->seconds, i, 0) * (computes(op) ? r->slower : 1);
}

static void add_op(struct reader *r, uint32_t i)
{
    const struct program_op *op = &r->program->ops[i];
    struct stage *stage = &r->stages[op->stage];
    double seconds;
    bool counts;

    if (op->kind == PROGRAM_SEND && op->part == PROGRAM_BACKWARD) {
        stage->sent = true;
        stage->late_s = 0;
    }
    if (op->kind == PROGRAM_FILL || op->kind == PROGRAM_SEND || op->kind == PROGRAM_RECV)
        return;
    seconds = seconds_of(r, i);
    if (op->part == PROGRAM_UPDATE || op->part == PROGRAM_START) {
        if (r->dp >= 0)
            add_once(r, i, seconds);
        return;
    }
    if (op->part != PROGRAM_FORWARD && op->part != PROGRAM_BACKWARD && op->part != PROGRAM_WEIGHTS)
        return;
    /* What is made of parameters alone may be made once for all microbatches. */
    if (computes(op) && is_fixed(r->fixed, op))
        return;
    /* In a piece of replicas only transfers between replicas count.  All other ops count in the
     * piece of layers, except sums of gradients over devices that hold experts together, because
     * all replicas sum these gradients. */
    counts = r->dp >= 0 ? is_of_replicas(r, op) : !(transfers(op) && is_gradient(r->program, op));
    if (counts && transfers(op))
        stage->streams_s[op_seconds_stream(&r->seconds, i)] += seconds;
    if (counts && is_within_phase(r, i))
        stage->sent_s[op_seconds_stream(&r->seconds, i)] += seconds;
    if (!computes(op)) {
        if (stops(r, i))
            add_wait(r, i, seconds, counts);
        return;
    }
    end_row(r, r->row.stage == op->stage && r->row.part == op->part);
    if (r->dp >= 0) {
        stage->sums_s += is_on_gradients(r->program, op) ? seconds : 0;
        return;
    }
    stage->sums_s += op->accumulates || is_on_gradients(r->program, op) ? seconds : 0;
    *seconds_of_part(stage, (enum program_part)op->part) += seconds;
}

/* The stage of each array that exists before the step: the stage of the array's first reader. */
static void find_stages(uint32_t *stages, const struct program *p)
{
    memset(stages, 0, p->nbuffers * sizeof *stages);
    for (uint32_t i = p->nops; i-- > p->first_op;)
        for (uint32_t k = 0; k < p->ops[i].ninputs; k++)
            stages[p->ops[i].inputs[k]] = p->ops[i].stage;
}

static void add_buffer(struct reader *r, uint32_t b, uint32_t stage)
{
    const struct program *p = r->program;
    const struct program_buffer *buffer = &p->buffers[b];
    const struct program_op *from = &p->ops[buffer->first_op];
    enum program_part last = buffer->last_op < p->nops
                                 ? (enum program_part)p->ops[buffer->last_op].part
                                 : PROGRAM_UPDATE;

    if (buffer->argument && (buffer->use == PROGRAM_PARAMETERS || buffer->use == PROGRAM_OPTIMIZER))
        r->stages[stage].state_bytes += op_seconds_bytes(&r->seconds, b);
    else if (buffer->use == PROGRAM_GRADIENTS && program_is_backward(from->part) &&
             from->accumulates && last == PROGRAM_UPDATE)
        r->stages[from->stage].gradient_bytes += op_seconds_bytes(&r->seconds, b);
    else if (buffer->use == PROGRAM_ACTIVATIONS && from->part == PROGRAM_FORWARD &&
             program_is_backward(last) && buffer->over == PROGRAM_NONE)
        r->stages[from->stage].saved_bytes += (double)program_buffer_on_device(buffer);
}

static double above(double whole, double part)
{
    return whole > part ? whole - part : 0;
}

static void set_part(struct piece *out, enum piece_part part, const struct stage *more,
                     const struct stage *less)
{
    out->parts[part].forward_s = more->forward_s - less->forward_s;
    out->parts[part].backward_s = more->backward_s - less->backward_s;
    out->parts[part].weights_s = more->weights_s - less->weights_s;
    out->parts[part].waits_s = more->waits_s - less->waits_s;
    out->parts[part].late_s = more->late_s - less->late_s;
    out->parts[part].last_s = more->last_s - less->last_s;
    out->parts[part].sums_s = more->sums_s - less->sums_s;
    out->parts[part].saved_bytes = above(more->saved_bytes, less->saved_bytes);
    out->parts[part].state_bytes = above(more->state_bytes, less->state_bytes);
    out->parts[part].gradient_bytes = above(more->gradient_bytes, less->gradient_bytes);
    for (int k = 0; k < PIECE_NLINES; k++)
        out->parts[part].update_s[k] = above(more->update_s[k], less->update_s[k]);
    for (int k = 0; k < EVENTS_STREAMS_MAX; k++) {
        out->parts[part].streams_s[k] = above(more->streams_s[k], less->streams_s[k]);
        out->parts[part].sent_s[k] = above(more->sent_s[k], less->sent_s[k]);
        out->parts[part].once_s[k] = above(more->once_s[k], less->once_s[k]);
        out->parts[part].start_s[k] = above(more->start_s[k], less->start_s[k]);
        out->parts[part].summed_s[k] = above(more->summed_s[k], less->summed_s[k]);
    }
}

/* A layer is the difference between the stage of two layers and the stage of one.  What a stage has
 * besides its layers may be negative: where layers meet, ops are fused or transfers are waited for,
 * but not where stages meet.  The ends are what the outer stages have more than a stage of one
 * layer. */
static void set_staged(struct piece *out, const struct stage stages[ATTEMPT_STAGES])
{
    set_part(out, PIECE_LAYER, &stages[2], &stages[1]);
    out->parts[PIECE_STAGE].forward_s = stages[1].forward_s - out->parts[PIECE_LAYER].forward_s;
    out->parts[PIECE_STAGE].backward_s = stages[1].backward_s - out->parts[PIECE_LAYER].backward_s;
    out->parts[PIECE_STAGE].weights_s = stages[1].weights_s - out->parts[PIECE_LAYER].weights_s;
    out->parts[PIECE_STAGE].waits_s = stages[1].waits_s - out->parts[PIECE_LAYER].waits_s;
    out->parts[PIECE_STAGE].late_s = stages[1].late_s - out->parts[PIECE_LAYER].late_s;
    out->parts[PIECE_STAGE].last_s = stages[1].last_s - out->parts[PIECE_LAYER].last_s;
    out->parts[PIECE_STAGE].sums_s = stages[1].sums_s - out->parts[PIECE_LAYER].sums_s;
    set_part(out, PIECE_FRONT, &stages[0], &stages[1]);
    set_part(out, PIECE_BACK, &stages[ATTEMPT_STAGES - 1], &stages[1]);
}

/* A layer is the difference between three layers and two.  What the program of two layers has more
 * than two such layers lies before and behind them: all of it counts as PIECE_FRONT. */
static void set_unstaged(struct piece *out, const struct stage *two, const struct stage *three)
{
    struct stage layers;

    set_part(out, PIECE_LAYER, three, two);
    layers = (struct stage){.forward_s = 2 * out->parts[PIECE_LAYER].forward_s,
                            .backward_s = 2 * out->parts[PIECE_LAYER].backward_s,
                            .waits_s = 2 * out->parts[PIECE_LAYER].waits_s,
                            .sums_s = 2 * out->parts[PIECE_LAYER].sums_s,
                            .saved_bytes = 2 * out->parts[PIECE_LAYER].saved_bytes,
                            .state_bytes = 2 * out->parts[PIECE_LAYER].state_bytes,
                            .gradient_bytes = 2 * out->parts[PIECE_LAYER].gradient_bytes};
    for (int k = 0; k < PIECE_NLINES; k++)
        layers.update_s[k] = 2 * out->parts[PIECE_LAYER].update_s[k];
    for (int k = 0; k < EVENTS_STREAMS_MAX; k++) {
        layers.streams_s[k] = 2 * out->parts[PIECE_LAYER].streams_s[k];
        layers.sent_s[k] = 2 * out->parts[PIECE_LAYER].sent_s[k];
        layers.once_s[k] = 2 * out->parts[PIECE_LAYER].once_s[k];
        layers.start_s[k] = 2 * out->parts[PIECE_LAYER].start_s[k];
        layers.summed_s[k] = 2 * out->parts[PIECE_LAYER].summed_s[k];
    }
    set_part(out, PIECE_FRONT, two, &layers);
}

static int64_t nodes_of(const struct subject *subject)
{
    int64_t each = subject->hardware->tiers[0].devices;

    return each > 0 ? (subject->space.devices + each - 1) / each : 1;
}

/* A program of pieces, with the times of its ops. */
struct source {
    struct variant attempt;
    struct op_seconds seconds;
    uint32_t *stages; /* [buffer] for arrays that exist before the step */
    uint32_t *reader; /* [buffer] the first computation that reads it; PROGRAM_NONE */
    bool *fixed;      /* [buffer] the same in all microbatches: made of parameters alone */
    bool built;
};

static void source_fini(struct source *source)
{
    if (!source->built)
        return;
    free(source->stages);
    free(source->reader);
    free(source->fixed);
    op_seconds_fini(&source->seconds);
    variant_fini(&source->attempt);
}

static int source_init(struct source *out, const struct subject *subject, const struct entry *entry,
                       int64_t layers, struct shd_error *err)
{
    const struct program *program;
    int status = attempt_init(&out->attempt, subject, &entry->layout,
                              (enum attempt_kind)entry->key.kind, layers, err);

    if (status != SHD_OK)
        return status;
    program = out->attempt.trial.program;
    status = op_seconds_init(&out->seconds, program, out->attempt.trial.hardware, err);
    if (status != SHD_OK) {
        variant_fini(&out->attempt);
        return status;
    }
    out->built = true;
    out->stages = malloc(((size_t)program->nbuffers + 1) * sizeof *out->stages);
    out->reader = malloc(((size_t)program->nbuffers + 1) * sizeof *out->reader);
    out->fixed = calloc((size_t)program->nbuffers + 1, sizeof *out->fixed);
    if (!out->stages || !out->reader || !out->fixed)
        return shd_error_set(err, SHD_ENOMEM, "no memory to read a piece");
    find_stages(out->stages, program);
    find_readers(out->reader, program);
    find_fixed(out->fixed, program);
    return SHD_OK;
}

/* Read a program with its devices placed by a mesh. */
static int read_source(struct reader *out, const struct subject *subject,
                       const struct source *source, const struct shd_mesh *mesh, bool staged,
                       struct shd_error *err)
{
    const struct hardware *hardware = source->seconds.hardware;
    const struct program *program = source->seconds.program;
    int status = SHD_OK;

    *out = (struct reader){.program = program,
                           .software = &hardware->software,
                           .seconds = source->seconds,
                           .fixed = source->fixed,
                           .reader = source->reader,
                           .slower = hardware_slowest(hardware, nodes_of(subject)),
                           .dp = shd_mesh_find_axis(program->mesh, "dp"),
                           .shard = shd_mesh_find_axis(program->mesh, "shard")};
    op_seconds_lay(&out->seconds, mesh);
    for (uint32_t i = program->first_op, end; i < program->nops; i = end) {
        end = add_chain(out, i);
        if (end == i)
            add_op(out, end++);
    }
    end_row(out, false);
    for (uint32_t b = 0; b < program->nbuffers; b++)
        add_buffer(out, b, source->stages[b]);
    if (staged && out->dp < 0)
        status = hops_read(out->hops, &out->seconds, out->slower, err);
    if (staged && out->dp >= 0)
        hops_read_update(out->update_message_s, &out->seconds);
    return status;
}

/* Read a piece from its program or, without stages, from the programs of two and three layers. */
static int read_piece(struct piece *out, const struct subject *subject,
                      const struct source sources[2], const struct entry *entry,
                      struct shd_error *err)
{
    bool staged = entry->key.staged;
    struct reader first, three;
    struct shd_mesh *mesh;
    int status = attempt_mesh(&mesh, &entry->layout, (enum attempt_kind)entry->key.kind, err);

    if (status != SHD_OK)
        return status;
    status = read_source(&first, subject, &sources[0], mesh, staged, err);
    if (status == SHD_OK && !staged)
        status = read_source(&three, subject, &sources[1], mesh, staged, err);
    shd_mesh_destroy(mesh);
    if (status != SHD_OK)
        return status;
    if (!staged) {
        set_unstaged(out, &first.stages[0], &three.stages[0]);
        return SHD_OK;
    }
    set_staged(out, first.stages);
    memcpy(out->hops, first.hops, sizeof out->hops);
    memcpy(out->update_message_s, first.update_message_s, sizeof out->update_message_s);
    return SHD_OK;
}

/* Build a piece, and all pieces that share its program.  SHD_ENOMEM, or SHD_OK. */
static int build(struct pieces *pieces, uint32_t first)
{
    const struct entry *entry = &pieces->entries[first];
    struct source sources[2] = {{.built = false}, {.built = false}};
    struct shd_error err = {.text = ""};
    int status = source_init(&sources[0], pieces->subject, entry,
                             entry->key.staged ? ATTEMPT_LAYERS_STAGED : 2, &err);

    if (status == SHD_OK && !entry->key.staged)
        status = source_init(&sources[1], pieces->subject, entry, 3, &err);
    for (uint32_t i = first; i != UINT32_MAX; i = pieces->entries[i].next) {
        struct entry *own = &pieces->entries[i];

        if (status == SHD_OK)
            status = read_piece(&own->piece, pieces->subject, sources, own, &err);
        if (status != SHD_OK) {
            own->piece = (struct piece){.failed = true};
            memcpy(own->piece.why, err.text, sizeof own->piece.why - 1);
        }
    }
    source_fini(&sources[0]);
    source_fini(&sources[1]);
    return status == SHD_ENOMEM ? status : SHD_OK;
}

int pieces_build_apart(struct piece *out, const struct subject *subject,
                       const struct layout *layouts, uint32_t n, enum attempt_kind kind)
{
    struct entry *entries = calloc(n, sizeof *entries);
    struct pieces apart = {.subject = subject, .entries = entries, .n = n};
    int status = SHD_ENOMEM;

    for (uint32_t i = 0; entries && i < n; i++)
        entries[i] = (struct entry){.key = key_of(subject, &layouts[i], kind),
                                    .layout = layouts[i],
                                    .next = i + 1 < n ? i + 1 : UINT32_MAX};
    if (entries)
        status = build(&apart, 0);
    for (uint32_t i = 0; i < n && status == SHD_OK; i++)
        out[i] = entries[i].piece;
    free(entries);
    return status;
}

/* ---- by a farm ---- */

/* A task builds the pieces of one program. */
struct by_farm {
    struct pieces *pieces;
    uint32_t *firsts; /* [task] the leading piece */
    bool no_memory;
};

static void ask_for_pieces(void *arg, size_t task, struct text *out)
{
    const struct by_farm *f = arg;
    const struct entry *entries = f->pieces->entries;
    uint32_t first = f->firsts[task], n = 0;

    for (uint32_t i = first; i != UINT32_MAX; i = entries[i].next)
        n++;
    task_ask(out, f->pieces->subject, (enum attempt_kind)entries[first].key.kind, n);
    for (uint32_t i = first; i != UINT32_MAX; i = entries[i].next)
        pack_bytes(out, &entries[i].layout, sizeof entries[i].layout);
}

static int take_pieces(void *arg, size_t task, int status, const struct text *answer)
{
    struct by_farm *f = arg;
    struct entry *entries = f->pieces->entries;
    struct unpack from;

    unpack_init(&from, text_get(answer), answer->length);
    for (uint32_t i = f->firsts[task]; i != UINT32_MAX && status == 0; i = entries[i].next)
        unpack_bytes(&from, &entries[i].piece, sizeof entries[i].piece);
    f->no_memory |= status != 0;
    return status;
}

static int build_by_farm(struct pieces *pieces, struct farm *farm, struct shd_error *err)
{
    uint32_t first = pieces->nbuilt, n = pieces->n;
    struct by_farm f = {pieces, malloc((n - first) * sizeof *f.firsts), false};
    struct farm_round round = {0, ask_for_pieces, take_pieces, &f};
    int status = SHD_ENOMEM;

    for (uint32_t i = first; f.firsts && i < n; i++)
        if (pieces->entries[i].leads)
            f.firsts[round.ntasks++] = i;
    if (f.firsts)
        status = farm_run(farm, &round, NULL, err);
    free(f.firsts);
    return f.no_memory ? SHD_ENOMEM : status;
}

static int build_here(struct pieces *pieces, int nthreads, const int *stop)
{
    uint32_t first = pieces->nbuilt, n = pieces->n;
    bool no_memory = false;

    (void)nthreads;
#pragma omp parallel for schedule(dynamic, 1) num_threads(nthreads) reduction(|| : no_memory)
    for (uint32_t i = first; i < n; i++)
        if (pieces->entries[i].leads && !no_memory &&
            !(stop && __atomic_load_n(stop, __ATOMIC_RELAXED)))
            no_memory = build(pieces, i) != SHD_OK;
    return no_memory ? SHD_ENOMEM : SHD_OK;
}

int pieces_build(struct pieces *pieces, struct farm *farm, int nthreads, const int *stop,
                 struct shd_error *err)
{
    int status;

    if (pieces->nbuilt == pieces->n)
        return SHD_OK;
    status = farm ? build_by_farm(pieces, farm, err) : build_here(pieces, nthreads, stop);
    if (!stop || !__atomic_load_n(stop, __ATOMIC_RELAXED))
        pieces->nbuilt = pieces->n;
    if (status != SHD_OK)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the pieces of layouts");
    return SHD_OK;
}
