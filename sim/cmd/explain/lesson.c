/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "cmd/explain/lesson.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "base/wrap.h"
#include "cmd/explain/head.h"
#include "program/rows.h"

/* Limits of what a reader can take in.  Columns are characters. */
#define INDENT 6        /* of the lines about an op */
#define COLUMN 16       /* where their text begins, behind its title */
#define BOXES_TOLD 8    /* pieces listed of a device's copies in a step */
#define MOVES_TOLD 4096 /* copies to a device examined in a step; further senders count as
                           "others" */

static const char *const phase_names[] = {"forward", "backward", "optimizer"};

/* Add a title and a sentence: " why ...". */
SHD_PRINTF(4, 5)
static void tell(const struct lesson *l, struct text *out, const char *title, const char *fmt, ...)
{
    struct text sentence = TEXT_INIT;
    va_list args;

    va_start(args, fmt);
    text_addv(&sentence, fmt, args);
    va_end(args);
    text_addf(out, "%*s%-*s", INDENT, "", COLUMN - INDENT, title);
    wrap_add(out, l->width, COLUMN, COLUMN, text_get(&sentence));
    out->failed |= sentence.failed;
    text_fini(&sentence);
}

/* ---- arrays ---- */

static void add_extents(struct text *out, const int64_t *extents, uint32_t rank)
{
    for (uint32_t d = 0; d < rank; d++)
        text_addf(out, "%s%lld", d ? "x" : "", (long long)extents[d]);
    if (rank == 0)
        text_add(out, "scalar");
}

/* Add an array: "name 8x64x128 sharded as [{}, {}, {tp}], 8x64x16 on each". */
static void tell_array(const struct lesson *l, struct text *out, const char *title, uint32_t buffer)
{
    const struct program_buffer *b = &l->record->program->buffers[buffer];
    bool whole = memcmp(b->shape, b->local, b->rank * sizeof b->shape[0]) == 0;
    struct text t = TEXT_INIT;

    text_addf(&t, "%s ", b->name);
    add_extents(&t, b->shape, b->rank);
    text_add(&t, whole ? " as " : " sharded as ");
    program_add_sharding(l->record->program, &b->sharding, &t);
    if (!whole) {
        text_add(&t, ", ");
        add_extents(&t, b->local, b->rank);
        text_add(&t, " on each");
    } else if (shd_mesh_size(l->record->program->mesh) > 1) {
        text_add(&t, b->sharding.partial ? ", a part of the sum on each" : ", replicated");
    }
    tell(l, out, title, "%s", text_get(&t));
    out->failed |= t.failed;
    text_fini(&t);
}

typedef const char *(*values_fn)(const struct values *values, uint32_t op, uint32_t k,
                                 int32_t position);

static void tell_values(const struct lesson *l, struct text *out, uint32_t op, uint32_t k,
                        uint32_t buffer, values_fn get)
{
    const struct program_buffer *b = &l->record->program->buffers[buffer];

    if (!l->values)
        return;
    for (int32_t p = 0; p < l->values->ndevices; p++) {
        const struct program *program = l->record->program;
        const char *text = get(l->values, op, k, p);

        if (!program_holds(program, program_rank(program, p), &program->ops[op]))
            continue;
        if (!text) {
            tell(l, out, "", "(%s has too many numbers to show)", b->name);
            return;
        }
        text_addf(out, "%*s", COLUMN, "");
        text_addf(out, "device %-3d ", (int)shd_mesh_device_id(l->record->program->mesh, p));
        wrap_add(out, l->width, COLUMN + 11, COLUMN + 11, text);
    }
}

/* ---- transfers ---- */

/* Add a box of the whole array: "[0-7, 16-31]". */
static void add_box(struct text *t, const struct program_buffer *b, const int64_t *start,
                    const int64_t *extent)
{
    text_add(t, "[");
    for (uint32_t d = 0; d < b->rank; d++) {
        text_add(t, d ? ", " : "");
        if (extent[d] == b->shape[d])
            text_add(t, ":");
        else if (extent[d] == 1)
            text_addf(t, "%lld", (long long)start[d]);
        else
            text_addf(t, "%lld-%lld", (long long)start[d], (long long)(start[d] + extent[d] - 1));
    }
    text_add(t, "]");
}

static int32_t device_id(const struct lesson *l, int32_t position)
{
    return shd_mesh_device_id(l->record->program->mesh, position);
}

/* Add where a shifted box came from, which now begins at `start`; nothing for other steps. */
static void add_origin(struct text *t, const struct program_buffer *b,
                       const struct shd_reshard_step *step, const int64_t *start,
                       const struct shd_fetch *box)
{
    int64_t before[SHD_RANK_MAX];

    if (step->shift == 0)
        return;
    memcpy(before, start, b->rank * sizeof *before);
    before[step->dim] -= step->shift;
    if (before[step->dim] < 0)
        before[step->dim] += b->shape[step->dim];
    add_box(t, b, before, box->extent);
    text_add(t, " as ");
}

/* From the element that a shard's first place is for, and a box of the shard, to the box's first
 * element in the whole array, and its extents there, with what lies between. */
static void add_places(int64_t *start, uint32_t rank, struct shd_fetch *box)
{
    for (uint32_t d = 0; d < rank; d++) {
        int64_t stride = box->source_stride[d], last = (box->extent[d] - 1) * stride;

        start[d] += box->dest_offset[d] * stride + (last < 0 ? last : 0);
        box->extent[d] = (last < 0 ? -last : last) + 1;
    }
}

/* Tell which box of the array comes from which device, for steps that copy boxes. */
static void tell_boxes(const struct lesson *l, struct text *out, const struct program_op *op)
{
    const struct program_buffer *b = &l->record->program->buffers[op->inputs[0]];
    int64_t n = shd_reshard_fetch_count(&op->reshard, b->shape, l->position), told = 0;
    int64_t start[SHD_RANK_MAX];
    char title[32];

    snprintf(title, sizeof title, "device %d", (int)device_id(l, l->position));
    for (int64_t i = 0; i < n; i++) {
        struct shd_fetch box;
        struct text t = TEXT_INIT;

        if (told++ == BOXES_TOLD) {
            tell(l, out, "", "and %lld more", (long long)(n - BOXES_TOLD));
            return;
        }
        shd_reshard_fetch(&op->reshard, b->shape, l->position, i, &box);
        shd_reshard_step_offset(&op->reshard, b->shape, l->position, start);
        add_places(start, b->rank, &box);
        add_origin(&t, b, &op->reshard, start, &box);
        add_box(&t, b, start, box.extent);
        if (box.source == l->position)
            tell(l, out, title, "keeps %s", text_get(&t));
        else
            tell(l, out, title, "gets %s from device %d", text_get(&t),
                 (int)device_id(l, box.source));
        out->failed |= t.failed;
        text_fini(&t);
        title[0] = '\0';
    }
}

/* Add "piece 2 of 3: elements 10 to 14 of 14 in a row, and 1 of padding": the device's piece of the
 * shard `whole`. */
static void add_piece(const struct lesson *l, struct text *t, const struct program_buffer *pieces,
                      const struct program_buffer *whole)
{
    uint64_t piece = program_buffer_count(pieces), count = program_buffer_count(whole);
    uint64_t number = (uint64_t)shd_sharding_piece(&pieces->sharding, l->position);
    uint64_t from = number * piece < count ? number * piece : count;
    uint64_t end = from + piece < count ? from + piece : count;

    text_addf(t, "piece %" PRIu64 " of %" PRId64 " of %s: ", number,
              shd_sharding_npieces(&pieces->sharding), whole->name);
    if (end > from)
        text_addf(t, "elements %" PRIu64 " to %" PRIu64 " of %" PRIu64 " in a row%s", from, end - 1,
                  count, end - from < piece ? ", and " : "");
    if (end - from < piece)
        text_addf(t, "%" PRIu64 " of padding", piece - (end - from));
}

/* Tell the device's piece, for steps that join the pieces of a shard or cut a shard into pieces. */
static void tell_pieces(const struct lesson *l, struct text *out, const struct program_op *op)
{
    const struct program_buffer *buffers = l->record->program->buffers;
    bool joins = op->reshard.kind == SHD_RESHARD_ALL_GATHER;
    struct text t = TEXT_INIT;
    char title[32];

    snprintf(title, sizeof title, "device %d", (int)device_id(l, l->position));
    for (uint32_t k = 0; k < op->noutputs; k++) {
        const struct program_buffer *in = &buffers[op->inputs[k]], *to = &buffers[op->outputs[k]];

        text_add(&t, k ? "; " : "");
        add_piece(l, &t, joins ? in : to, joins ? to : in);
    }
    tell(l, out, title, joins ? "gives %s; gets the others" : "keeps %s", text_get(&t));
    out->failed |= t.failed;
    text_fini(&t);
}

/* The devices that one device receives from, by position, one entry per copy. */
struct senders {
    uint32_t n;
    int32_t list[MOVES_TOLD];
    bool more; /* further copies were not examined */
};

static bool add_sender(void *arg, int32_t source, uint64_t bytes)
{
    struct senders *s = arg;

    s->more = s->n == MOVES_TOLD;
    if (bytes && !s->more)
        s->list[s->n++] = source;
    return !s->more;
}

static int compare_positions(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

    return x < y ? -1 : x > y;
}

/* Add the devices that the lesson's device receives from: "1, 2, 3". */
static void add_senders(const struct lesson *l, struct text *t, const struct program_op *op)
{
    struct senders s = {.n = 0};
    uint32_t told = 0;

    program_transfers(l->record->program, op, l->position, add_sender, &s);
    qsort(s.list, s.n, sizeof s.list[0], compare_positions);
    for (uint32_t i = 0; i < s.n; i++)
        if ((i == 0 || s.list[i] != s.list[i - 1]) && told++ < 2 * BOXES_TOLD)
            text_addf(t, "%s%d", told > 1 ? ", " : "", (int)device_id(l, s.list[i]));
    if (s.more)
        text_add(t, " and others");
    else if (told > 2 * BOXES_TOLD)
        text_addf(t, " and %d more", (int)(told - 2 * BOXES_TOLD));
}

/* Tell which devices a device combines parts from, for steps that combine. */
static void tell_sums(const struct lesson *l, struct text *out, const struct program_op *op)
{
    const struct program *program = l->record->program;
    struct text senders = TEXT_INIT, what = TEXT_INIT;
    struct coll_shape shape;
    const struct coll_algo *algo = program_algo(program, op, &shape);
    int64_t start[SHD_RANK_MAX];
    char title[32];

    snprintf(title, sizeof title, "device %d", (int)device_id(l, l->position));
    add_senders(l, &senders, op);
    if (op->reshard.kind == SHD_RESHARD_REDUCE_SCATTER) {
        for (uint32_t k = 0; k < op->noutputs; k++) {
            const struct program_buffer *b = &program->buffers[op->outputs[k]];

            text_add(&what, k ? " and " : "");
            if (shd_reshard_is_flat(&op->reshard)) {
                add_piece(l, &what, b, &program->buffers[op->inputs[k]]);
                continue;
            }
            shd_sharding_offset(&b->sharding, b->shape, l->position, start);
            add_box(&what, b, start, b->local);
        }
        tell(l, out, title, "sums %s; receives from %s (%s)", text_get(&what), text_get(&senders),
             algo->name);
    } else {
        tell(l, out, title,
             "receives from %s (%s: 'explain collective %s --algorithm %s --devices %u' shows "
             "how)",
             text_get(&senders), algo->name, coll_kind_name(algo->kind), algo->name,
             shape.nmembers);
    }
    out->failed |= senders.failed || what.failed;
    text_fini(&senders);
    text_fini(&what);
}

static void tell_moves(const struct lesson *l, struct text *out, uint32_t i)
{
    const struct program *program = l->record->program;
    const struct program_op *op = &program->ops[i];
    uint128 received = record_received_in(l->record, i, l->position);

    if (!program_communicates(op)) {
        tell(l, out, "moves", "nothing: each device already has its operands");
    } else {
        tell(l, out, "moves", "%s in total, %s of them to device %d",
             units_print_bytes(record_op_received(l->record, i)).text,
             units_print_bytes(received).text, (int)device_id(l, l->position));
    }
    if (op->reshard.kind == SHD_RESHARD_ALL_REDUCE ||
        op->reshard.kind == SHD_RESHARD_REDUCE_SCATTER)
        tell_sums(l, out, op);
    else if (shd_reshard_is_flat(&op->reshard))
        tell_pieces(l, out, op);
    else if (op->reshard.kind != SHD_RESHARD_MASK)
        tell_boxes(l, out, op);
}

/* ---- alternatives ---- */

static bool step_uses(const struct program_op *op, uint8_t axis)
{
    for (uint8_t a = 0; a < op->reshard.naxes; a++)
        if (op->reshard.axes[a] == axis)
            return true;
    return op->kind != PROGRAM_RESHARD || op->reshard.naxes == 0;
}

static void tell_alternative(const struct lesson *l, struct text *out, const char *title,
                             const struct alternative *a)
{
    const char *axis = shd_mesh_axis_name(l->record->program->mesh, a->axis);
    struct units_text bytes;
    char work[64] = "";

    bytes = units_print_bytes(a->more_bytes + a->fewer_bytes);
    if (fabs(a->work - 1) > 0.005)
        snprintf(work, sizeof work, ", %.3g times the work of this op", a->work);
    tell(l, out, title, "%s shards %s: %s%s%s", axis, a->dim ? a->dim : "nothing",
         a->more_bytes || a->fewer_bytes ? bytes.text : "the same bytes",
         a->more_bytes    ? " more"
         : a->fewer_bytes ? " fewer"
                          : "",
         work);
}

/* Tell why an op placed by following has its sharding along an axis. */
static void tell_cause(const struct lesson *l, struct text *out, const char *title,
                       const struct alternative *a, const char *name)
{
    static const struct {
        const char *before, *after; /* text before and after the name of the array that brings
                                       the axis, if any */
    } causes[] = {
        [CLAIM_KEPT] = {"the weight ",
                        " is stored with that sharding, and no other operand has the axis"},
        [CLAIM_QUEUES] = {"", " has that sharding"},
        [CLAIM_MAP_WEIGHT] = {"", " has that sharding"},
        [CLAIM_FORWARD] = {"", ", the forward array of this gradient, has that sharding"},
        [CLAIM_ASKED] = {"", "the result must have that sharding"},
        [CLAIM_DATA] = {"", " has that sharding"},
        [CLAIM_WEIGHT] = {"the weight ", " has that sharding"},
        [CLAIM_BATCH] = {"", " has that sharding, from the batch"},
        [CLAIM_AGREED] = {"", " has that sharding, and the result must have it, too"},
    };

    tell(l, out, title, "%s shards %s in %s, because %s%s%s",
         shd_mesh_axis_name(l->record->program->mesh, a->axis), a->dim, name,
         causes[a->claim].before, a->brought_by ? a->brought_by : "", causes[a->claim].after);
}

/* Tell why an op has its sharding along the axes of a step. */
static void tell_causes(const struct lesson *l, struct text *out, const struct program_op *op,
                        const char *name, const struct alternative *list, uint32_t n)
{
    const char *title = "placed";

    for (uint32_t i = 0; i < n; i++)
        if (list[i].claim != CLAIM_NONE && step_uses(op, list[i].axis)) {
            tell_cause(l, out, title, &list[i], name);
            title = "";
        }
}

/* Tell the alternatives of an op; returns whether there are any. */
static bool tell_alternatives(const struct lesson *l, struct text *out, const struct program_op *op,
                              const char *name, uint8_t phase)
{
    struct alternative list[ALTERNATIVES_MAX];
    uint32_t n = alternatives_of(l->alternatives, name, phase, list);
    const char *title = "instead";

    if (n == 0)
        return false;
    tell_causes(l, out, op, name, list, n);
    for (uint32_t i = 0; i < n; i++)
        if (list[i].chosen && step_uses(op, list[i].axis)) {
            tell(l, out, title,
                 "%s shards %s in %s; the bytes of the step, with everything else unchanged, if",
                 shd_mesh_axis_name(l->record->program->mesh, list[i].axis),
                 list[i].dim ? list[i].dim : "nothing", name);
            for (uint32_t k = 0; k < n; k++)
                if (list[k].axis == list[i].axis && !list[k].chosen)
                    tell_alternative(l, out, "", &list[k]);
            title = "";
        }
    return true;
}

/* The operand from which a step made `buffer`. */
static uint32_t source_of(const struct program_op *step, uint32_t buffer)
{
    uint32_t k = 0;

    while (step->outputs[k] != buffer)
        k++;
    return step->inputs[k];
}

/* Tell the alternatives to a step, from the op that caused it: partial sums come from the array's
 * maker, any other change is made for the reader. */
static void tell_array_instead(const struct lesson *l, struct text *out,
                               const struct program_op *op, uint32_t buffer)
{
    const struct program *program = l->record->program;
    uint32_t first = program->buffers[buffer].first_op;
    const char *maker, *reader = op->name;

    while (program->ops[first].kind == PROGRAM_RESHARD) {
        buffer = source_of(&program->ops[first], buffer);
        first = program->buffers[buffer].first_op;
    }
    maker = program->ops[first].name;
    if (op->reshard.from.partial) {
        if (!tell_alternatives(l, out, op, maker, program->ops[first].phase))
            (void)tell_alternatives(l, out, op, reader, op->phase);
    } else if (!tell_alternatives(l, out, op, reader, op->phase)) {
        (void)tell_alternatives(l, out, op, maker, program->ops[first].phase);
    }
}

static void tell_instead(const struct lesson *l, struct text *out, const struct program_op *op)
{
    if (!l->alternatives || l->record->program->own_mesh)
        return;
    if (op->kind == PROGRAM_KERNEL) {
        (void)tell_alternatives(l, out, op, op->name, op->phase);
        return;
    }
    for (uint32_t k = 0; program_communicates(op) && k < op->ninputs; k++)
        tell_array_instead(l, out, op, op->inputs[k]);
}

/* ---- ops ---- */

/* Why flops differ between devices, by enum kern_uneven. */
static const char *const unevens[KERN_NUNEVENS] = {
    [KERN_BY_SIGHT] = "as queries see more or fewer keys",
    [KERN_BY_ROUTING] = "as experts get more or fewer tokens",
};

/* Tell an op's flops; if uneven, the range over devices, and the device with the most. */
static void tell_work(const struct lesson *l, struct text *out, const struct program_op *op)
{
    const struct program *program = l->record->program;
    uint64_t least = UINT64_MAX, most = 0;
    struct units_text from, to;
    int32_t who = l->position;

    for (uint32_t row = 0; row < l->record->nrows && program_op_skips(op); row++) {
        int32_t device = record_row(l->record, row).first;
        uint64_t flops = program_op_flops(program, op, device);

        if (!program_holds(program, program_rank(program, device), op))
            continue;
        least = flops < least ? flops : least;
        if (flops > most) {
            most = flops;
            who = device;
        }
    }
    if (!program_op_skips(op))
        least = most = program_op_flops(program, op, l->position);
    from = units_print_count(least);
    to = units_print_count(most);
    if (least == most)
        tell(l, out, "work", "%s flops on each device; no communication", to.text);
    else
        tell(l, out, "work", "%s to %s flops, the most on device %d, %s; no communication",
             from.text, to.text, (int)device_id(l, who), unevens[op->kernel->uneven]);
}

static void tell_kernel(const struct lesson *l, struct text *out, uint32_t i)
{
    const struct program_op *op = &l->record->program->ops[i];

    for (uint32_t k = 0; k < op->ninputs; k++) {
        tell_array(l, out, k ? "" : "reads", op->inputs[k]);
        tell_values(l, out, i, k, op->inputs[k], values_input);
    }
    for (uint32_t k = 0; k < op->noutputs; k++) {
        tell_array(l, out, k ? "" : "writes", op->outputs[k]);
        tell_values(l, out, i, k, op->outputs[k], values_output);
    }
    tell_work(l, out, op);
}

static void tell_reshard(const struct lesson *l, struct text *out, uint32_t i)
{
    const struct program_op *op = &l->record->program->ops[i];

    for (uint32_t k = 0; k < op->ninputs; k++) {
        tell_array(l, out, "before", op->inputs[k]);
        tell_values(l, out, i, k, op->inputs[k], values_input);
        tell_array(l, out, "after", op->outputs[k]);
        tell_values(l, out, i, k, op->outputs[k], values_output);
    }
    if (op->why)
        tell(l, out, "why", "%s", op->why);
    tell_moves(l, out, i);
}

/* The devices that one device copies rows from, according to the planned routing. */
struct row_senders {
    const struct lesson *l;
    struct text *text;
    uint64_t row_bytes;
    uint32_t n;
};

static bool add_row_sender(void *arg, int32_t source, uint64_t bytes)
{
    struct row_senders *s = arg;

    if (s->n++ < BOXES_TOLD)
        text_addf(s->text, "%s%llu from device %d", s->n > 1 ? ", " : "",
                  (unsigned long long)(bytes / s->row_bytes), (int)device_id(s->l, source));
    return true;
}

static void tell_rows_of(const struct lesson *l, struct text *out, const struct program_op *op)
{
    const struct program *program = l->record->program;
    const struct program_rows_arrays a = program_rows_arrays(program, op);
    struct text t = TEXT_INIT;
    struct row_senders senders = {l, &t, a.row_bytes ? a.row_bytes : 1, 0};
    char title[32];

    snprintf(title, sizeof title, "device %d", (int)device_id(l, l->position));
    program_rows_transfers(program, op, l->position, add_row_sender, &senders);
    if (senders.n > BOXES_TOLD)
        text_addf(&t, " and more from %u others", senders.n - BOXES_TOLD);
    tell(l, out, title, "has %llu of at most %lld rows; receives %s%s",
         (unsigned long long)program_rows_kept(program, op, l->position),
         (long long)(a.experts->local[0] * a.experts->local[1]),
         senders.n ? text_get(&t) : "none from others",
         program_rows_assumed(op) ? " (assumed: the router decides)" : "");
    out->failed |= t.failed;
    text_fini(&t);
}

static void tell_rows(const struct lesson *l, struct text *out, uint32_t i)
{
    const struct program *program = l->record->program;
    const struct program_op *op = &program->ops[i];

    for (uint32_t k = 0; k < op->ninputs; k++) {
        tell_array(l, out, k ? "" : "before", op->inputs[k]);
        tell_values(l, out, i, k, op->inputs[k], values_input);
    }
    tell_array(l, out, "after", op->outputs[0]);
    tell_values(l, out, i, 0, op->outputs[0], values_output);
    if (op->why)
        tell(l, out, "why", "%s", op->why);
    if (program_communicates(op))
        tell(l, out, "moves", "%s in total, %s of them to device %d: as many rows as ids request",
             units_print_bytes(record_op_received(l->record, i)).text,
             units_print_bytes(record_received_in(l->record, i, l->position)).text,
             (int)device_id(l, l->position));
    else
        tell(l, out, "moves", "nothing: each device holds all rows of its ids");
    tell_rows_of(l, out, op);
}

/* Tell a send or receive. */
static void tell_transfer(const struct lesson *l, struct text *out, uint32_t i)
{
    const struct program *program = l->record->program;
    const struct program_op *op = &program->ops[i];
    const struct program_channel *c = &program->channels[op->channel];
    bool sends = op->kind == PROGRAM_SEND;
    const struct program_op *other = &program->ops[sends ? c->recv : c->send];

    tell_array(l, out, "array", sends ? op->inputs[0] : op->outputs[0]);
    if (!sends)
        tell_values(l, out, i, 0, op->outputs[0], values_output);
    tell(l, out, "why", "%s", op->why);
    tell(l, out, "moves", "%s to device %d; the same for each device of the stage",
         units_print_bytes(
             record_received_in(l->record, c->recv,
                                program_doer(program, &program->ops[c->recv], l->position)))
             .text,
         (int)device_id(l, program_doer(program, sends ? other : op, l->position)));
}

/* Tell a copy between the memories of a device and its host. */
static void tell_host(const struct lesson *l, struct text *out, uint32_t i)
{
    const struct program_op *op = &l->record->program->ops[i];

    tell_array(l, out, "array", op->inputs[0]);
    tell_values(l, out, i, 0, op->outputs[0], values_output);
    tell(l, out, "why", "%s", op->why);
    tell(l, out, "moves", "%s %s each device's host",
         units_print_bytes(l->record->program->buffers[op->inputs[0]].bytes).text,
         op->to_host ? "to" : "from");
}

/* Add "forward", or "forward, stage 1". */
static void add_phase(struct text *out, const struct program *program, const struct program_op *op)
{
    text_add(out, phase_names[op->phase]);
    if (program->nstages > 1)
        text_addf(out, ", stage %u", op->stage);
}

static void add_head(struct text *out, const struct program *program, const struct program_op *op)
{
    char axes[128] = "";

    if (op->kind == PROGRAM_FILL && op->part == PROGRAM_ARGUMENTS) {
        text_addf(out, "%s: given", op->name);
        return;
    }
    if (op->kind == PROGRAM_RESHARD && (op->reshard.shift > 0 || op->reshard.reach.extent > 0)) {
        uint8_t along[SHD_MESH_AXES_MAX];

        program_axes_print(program, along, (uint8_t)shd_reshard_step_axes(&op->reshard, along),
                           axes, sizeof axes);
    } else if (op->kind == PROGRAM_RESHARD) {
        program_axes_print(program, op->reshard.axes, op->reshard.naxes, axes, sizeof axes);
    }
    if (op->kind == PROGRAM_ROWS)
        program_axes_print(program, op->rows.axes, op->rows.naxes, axes, sizeof axes);
    if (op->kind == PROGRAM_KERNEL || op->kind == PROGRAM_FILL ||
        (op->kind == PROGRAM_ROWS && !program_communicates(op)))
        text_addf(out, "%s: %s%s (", op->name, program_step_name(op),
                  op->on_host ? " on the host" : "");
    else
        text_addf(out, "%s%s%s for %s (", program_step_name(op), *axes ? " over " : "", axes,
                  op->name);
    add_phase(out, program, op);
    text_add(out, ")");
}

/* Tell how many layers or stages have an equal op. */
static void tell_equals(const struct lesson *l, struct text *out, uint32_t i)
{
    const struct fold_entry *e = l->fold ? fold_entry(l->fold, i) : NULL;
    struct text t = TEXT_INIT;

    if (!e || e->nops < 2)
        return;
    if (e->lowest < 0) {
        text_addf(&t, "%u such ops, of which this is the first", e->nops);
    } else {
        size_t length;
        const char *digits = fold_layer(l->record->program->ops[i].name, &length);

        text_add(&t, "layers ");
        fold_add_layers(e, &t);
        text_addf(&t, " do the same; this is layer %.*s", (int)length, digits);
    }
    tell(l, out, "equal", "%s", text_get(&t));
    out->failed |= t.failed;
    text_fini(&t);
}

/* Explain an op.  Figures of a single device are given for the one with the lesson device's other
 * coordinates on the rank of the op's stage. */
static void tell_op(const struct lesson *lesson, struct text *out, uint32_t i)
{
    const struct program *program = lesson->record->program;
    const struct program_op *op = &program->ops[i];
    struct lesson here = *lesson;
    const struct lesson *l = &here;
    struct text head = TEXT_INIT;

    here.position = program_doer(program, op, lesson->position);
    add_head(&head, program, op);
    text_addf(out, "\n%s%4u  ",
              !l->colour                 ? ""
              : program_communicates(op) ? "\033[1;33m"
                                         : "\033[1m",
              i + 1);
    wrap_add(out, l->width, INDENT, INDENT, text_get(&head));
    if (l->colour)
        text_add(out, "\033[0m");
    out->failed |= head.failed;
    text_fini(&head);
    tell_equals(l, out, i);
    if (op->kind == PROGRAM_FILL) {
        tell_array(l, out, "array", op->outputs[0]);
        tell_values(l, out, i, 0, op->outputs[0], values_output);
    } else if (op->kind == PROGRAM_KERNEL) {
        tell_kernel(l, out, i);
    } else if (op->kind == PROGRAM_RESHARD) {
        tell_reshard(l, out, i);
    } else if (op->kind == PROGRAM_ROWS) {
        tell_rows(l, out, i);
    } else if (op->kind == PROGRAM_HOST) {
        tell_host(l, out, i);
    } else {
        tell_transfer(l, out, i);
    }
    if (op->kind <= PROGRAM_RESHARD && (program_communicates(op) || l->op == i))
        tell_instead(l, out, op);
}

static bool is_told(const struct lesson *l, uint32_t i)
{
    if (l->op != LESSON_ALL)
        return l->op == i;
    if (l->collectives && !program_communicates(&l->record->program->ops[i]))
        return false;
    return !l->fold || fold_leads(l->fold, i);
}

int lesson_text(const struct lesson *lesson, struct text *out, struct shd_error *err)
{
    head_add(lesson, out);
    head_add_placement(lesson, out);
    for (uint32_t i = 0; i < lesson->record->program->nops; i++)
        if (is_told(lesson, i))
            tell_op(lesson, out, i);
    if (lesson->alternatives && alternatives_failed(lesson->alternatives))
        out->failed = true;
    return out->failed ? shd_error_set(err, SHD_ENOMEM, "no memory for the lesson") : SHD_OK;
}
