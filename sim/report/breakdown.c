/* The memory of a device by use (breakdown.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/breakdown.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "hardware/hardware.h"
#include "report/para.h"
#include "report/ranks.h"
#include "report/table.h"

#define PARTS_TOLD_MAX 4 /* parts named in text; the others are added up */

/* ---- figures ---- */

/* State of a walk through the step. */
struct walk {
    struct breakdown *out;
    uint32_t *alive; /* [buffer] copies alive now, each of one microbatch */
    uint128 uses[PROGRAM_NUSES];
    bool found; /* the peak was passed */
};

static void change(void *arg, uint32_t buffer, bool alive)
{
    struct walk *w = arg;
    const struct program_buffer *b = &w->out->program->buffers[buffer];
    uint128 bytes = program_buffer_taken(b);

    w->alive[buffer] += alive ? 1 : -1U;
    w->uses[b->use] += alive ? bytes : -bytes;
    if (w->uses[b->use] > w->out->most[b->use])
        w->out->most[b->use] = w->uses[b->use];
}

static void add_part(struct breakdown *out, const struct program_buffer *b, uint32_t count)
{
    size_t length = strcspn(b->name, "/");
    uint32_t i = 0;

    while (i < out->nparts &&
           (out->parts[i].length != length || strncmp(out->parts[i].name, b->name, length) != 0))
        i++;
    if (i == out->nparts)
        out->parts[out->nparts++] = (struct breakdown_part){.name = b->name, .length = length};
    out->parts[i].bytes += (uint128)program_buffer_taken(b) * count;
}

static int by_bytes(const void *left, const void *right)
{
    const struct breakdown_part *a = left, *b = right;

    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return strcmp(a->name, b->name);
}

static void keep_parts(struct walk *w)
{
    const struct program *program = w->out->program;

    w->found = true;
    for (uint32_t b = 0; b < program->nbuffers; b++)
        if (w->alive[b] > 0 && program->buffers[b].use == PROGRAM_ACTIVATIONS)
            add_part(w->out, &program->buffers[b], w->alive[b]);
    qsort(w->out->parts, w->out->nparts, sizeof *w->out->parts, by_bytes);
}

/* Keep the live bytes before the first op of the update has its results. */
static void keep_states(struct walk *w, const struct program_op *op)
{
    const struct program *program = w->out->program;

    w->out->updates = true;
    memcpy(w->out->states, w->uses, sizeof w->uses);
    for (uint32_t k = 0; k < op->noutputs; k++) {
        const struct program_buffer *b = &program->buffers[op->outputs[k]];

        if (program_allocates(program, op, k, true))
            w->out->states[b->use] -= program_buffer_on_device(b);
    }
}

/* An operand that is written over by the result is one buffer, and counts once. */
static uint128 in_hand(const struct program *program, const struct program_op *op)
{
    uint128 bytes = op->workspace_bytes;

    for (uint32_t k = 0; k < op->ninputs; k++)
        bytes += program_buffer_on_device(&program->buffers[op->inputs[k]]);
    for (uint32_t k = 0; k < op->noutputs; k++)
        if (program_allocates(program, op, k, true))
            bytes += program_buffer_on_device(&program->buffers[op->outputs[k]]);
    return bytes;
}

static void look(void *arg, uint32_t op, uint32_t microbatch)
{
    struct walk *w = arg;
    struct breakdown *out = w->out;
    const struct program_op *o = &out->program->ops[op];
    uint128 workspace = w->uses[PROGRAM_WORKSPACE] + o->workspace_bytes;

    if (workspace > out->most[PROGRAM_WORKSPACE])
        out->most[PROGRAM_WORKSPACE] = workspace;
    if (o->part == PROGRAM_UPDATE && !out->updates)
        keep_states(w, o);
    if (!w->found && op == out->peak.op && microbatch == out->peak.microbatch)
        keep_parts(w);
    if (o->why && in_hand(out->program, o) > out->transfer_bytes) {
        out->transfer = op;
        out->transfer_bytes = in_hand(out->program, o);
    }
}

/* Mean padding of a device's shard: of dimensions, and of pieces of the unpadded rest. */
static uint64_t padding_of(const struct program_buffer *b)
{
    double held = 1;
    uint64_t count = program_buffer_count(b) * (uint64_t)shd_sharding_npieces(&b->sharding);
    struct shd_sharding whole = b->sharding;
    int64_t local[SHD_RANK_MAX];
    uint64_t elements = 1;

    whole.flat = (struct shd_dim_axes){0};
    whole.flat_dims = 0;
    shd_sharding_shard_shape(&whole, b->shape, local);
    for (uint32_t d = 0; d < b->rank; d++) {
        elements *= (uint64_t)local[d];
        held *= b->shape[d] > 0 ? (double)b->held[d] / (double)b->shape[d] : 1;
    }
    count -= (uint64_t)llround((double)elements * held);
    return count * shd_dtype_size(b->dtype) / (uint64_t)shd_sharding_npieces(&b->sharding);
}

/* Find what a device of the rank holds from step to step: elements of parameters, and padding. */
static void find_held(struct breakdown *out, const struct program *program, uint32_t rank)
{
    for (uint32_t i = 0; i < program->first_op; i++) {
        const struct program_op *op = &program->ops[i];

        if (!program_holds(program, rank, op))
            continue;
        for (uint32_t k = 0; k < op->noutputs; k++) {
            const struct program_buffer *b = &program->buffers[op->outputs[k]];

            if (b->use == PROGRAM_PARAMETERS)
                out->parameters += (double)program_buffer_count(b) * b->packs;
            if ((b->use == PROGRAM_PARAMETERS || b->use == PROGRAM_OPTIMIZER) && !b->on_host)
                out->padding_bytes += padding_of(b);
        }
    }
}

int breakdown_init(struct breakdown *out, const struct program *program, struct shd_error *err)
{
    struct walk w = {.out = out};
    const struct program_memory_watch watch = {.buffer = change, .op = look, .arg = &w};

    *out = (struct breakdown){.program = program, .transfer = PROGRAM_NONE};
    out->rank = program_peak_rank(program);
    program_memory(&out->peak, program, out->rank);
    find_held(out, program, out->rank);
    w.alive = calloc((size_t)program->nbuffers + 1, sizeof *w.alive);
    out->parts = calloc((size_t)program->nbuffers + 1, sizeof *out->parts);
    if (w.alive && out->parts)
        program_memory_walk(program, out->rank, &watch);
    else
        out->program = NULL;
    free(w.alive);
    return out->program ? SHD_OK : shd_error_set(err, SHD_ENOMEM, "no memory for the report");
}

void breakdown_fini(struct breakdown *breakdown)
{
    free(breakdown->parts);
    breakdown->parts = NULL;
}

static uint128 sum(const uint128 uses[PROGRAM_NUSES])
{
    uint128 all = 0;

    for (int use = 0; use < PROGRAM_NUSES; use++)
        all += uses[use];
    return all;
}

/* ---- text ---- */

/* Uses of memory, from the longest-lived (the whole step) to the shortest (one op). */
static const enum program_use order[PROGRAM_NUSES] = {
    PROGRAM_PARAMETERS, PROGRAM_GRADIENTS, PROGRAM_OPTIMIZER,   PROGRAM_CACHE,
    PROGRAM_DATA,       PROGRAM_GATHERED,  PROGRAM_ACTIVATIONS, PROGRAM_WORKSPACE};
#define NSTATES 3 /* the first uses of `order`, alive before the update */

static void add_bytes(struct table *table, uint128 bytes)
{
    table_add(table, "%s", bytes ? units_print_bytes(bytes).text : "-");
}

static void print_kinds(const struct breakdown *b, struct text *out)
{
    struct table table;

    table_init(&table, b->updates ? "lrrr" : "lrr");
    table_add(&table, "%s", "");
    table_add(&table, "at the peak");
    table_add(&table, "at most");
    if (b->updates)
        table_add(&table, "before the update");
    for (int i = 0; i < PROGRAM_NUSES; i++) {
        if (b->most[order[i]] == 0)
            continue;
        table_add(&table, "%s", program_use_name(order[i]));
        add_bytes(&table, b->peak.uses[order[i]]);
        add_bytes(&table, b->most[order[i]]);
        if (b->updates)
            add_bytes(&table, b->states[order[i]]);
    }
    table_add(&table, "together");
    add_bytes(&table, b->peak.peak_bytes);
    table_add(&table, "%s", "");
    if (b->updates)
        add_bytes(&table, sum(b->states));
    table_print(&table, 2, out);
    table_fini(&table);
}

/* Print a line after its title, wrapped and indented to the title's end. */
static void print_line(const struct breakdown *b, const char *title, struct text *line,
                       struct text *out)
{
    text_add(out, title);
    para_print(out, b->columns, strlen(title), text_get(line));
    out->failed |= line->failed;
    text_fini(line);
}

static void print_parts(const struct breakdown *b, const char *title, struct text *out)
{
    struct text line = TEXT_INIT;
    uint128 rest = 0;

    if (b->nparts == 0)
        return;
    for (uint32_t i = 0; i < b->nparts; i++) {
        if (i >= PARTS_TOLD_MAX && b->nparts > PARTS_TOLD_MAX + 1) {
            rest += b->parts[i].bytes;
            continue;
        }
        text_addf(&line, "%s%.*s %s", i ? ", " : "", (int)b->parts[i].length, b->parts[i].name,
                  units_print_bytes(b->parts[i].bytes).text);
    }
    if (rest > 0)
        text_addf(&line, ", others %s", units_print_bytes(rest).text);
    print_line(b, title, &line, out);
}

static void print_transfer(const struct breakdown *b, struct text *out)
{
    struct text line = TEXT_INIT;

    if (b->transfer == PROGRAM_NONE)
        return;
    text_addf(&line, "%s read and written, for %s", units_print_bytes(b->transfer_bytes).text,
              b->program->ops[b->transfer].name);
    print_line(b, "  largest transfer: ", &line, out);
}

/* Print the model states, which formulas count. */
static void print_states(const struct breakdown *b, struct text *out)
{
    struct text line = TEXT_INIT;
    uint128 all = 0;

    if (!b->updates)
        return;
    for (int i = 0; i < NSTATES; i++)
        all += b->states[order[i]];
    text_addf(&line, "%s", units_print_bytes(all).text);
    for (int i = 0; i < NSTATES; i++)
        if (b->states[order[i]] > 0)
            text_addf(&line, "%s %s %s", i ? "," : ":", program_use_name(order[i]),
                      units_print_bytes(b->states[order[i]]).text);
    if (b->padding_bytes > 0)
        text_addf(&line, "; of these %s is padding", units_print_bytes(b->padding_bytes).text);
    print_line(b, "  states ", &line, out);
}

/* Print the memory that the cluster's file reserves for the runtime.  A step that is too large only
 * because of the runtime has no list of changes that would make it fit, so the line names the limit
 * to ask with. */
static void print_runtime(const struct breakdown *b, const struct record *r, uint64_t limit_bytes,
                          struct text *out)
{
    const struct hardware *h = r->modelled ? r->modelled->hardware : NULL;
    struct text line = TEXT_INIT;
    struct units_text kept;
    double all, room;

    if (!h) {
        text_add(out, "  not included: the runtime's own memory\n");
        return;
    }
    all = (double)b->peak.peak_bytes * (1 + h->fragmentation) + h->reserved_bytes;
    room = (h->memory_bytes - h->reserved_bytes) / (1 + h->fragmentation);
    text_addf(&line, "%s that the runtime keeps",
              units_print_bytes((uint128)h->reserved_bytes).text);
    if (h->fragmentation > 0)
        text_addf(&line, ", %.0f %% fragmentation", 100 * h->fragmentation);
    kept = units_print_bytes((uint128)h->memory_bytes);
    if (all <= h->memory_bytes)
        text_addf(&line, "; left of %s: %s", kept.text,
                  units_print_bytes((uint128)(h->memory_bytes - all)).text);
    else
        text_addf(&line, "; more than %s", kept.text);
    if (all > h->memory_bytes && room >= 1 && limit_bytes == 0)
        text_addf(&line, "; -s limits.memory=%s lists what would fit",
                  units_print_bytes_exact((uint64_t)room).text);
    print_line(b, "  besides: ", &line, out);
}

void breakdown_text(const struct breakdown *breakdown, const struct record *record,
                    uint64_t limit_bytes, bool verbose, struct text *out)
{
    const struct program *program = breakdown->program;
    const struct program_op *op = &program->ops[breakdown->peak.op];

    text_add(out, "\n"
                  "breakdown     of a device's memory");
    if (program->nranks > 1)
        text_addf(out, " of rank %u", breakdown->rank);
    text_addf(out, "; %s of %s parameters\n",
              units_print_count((uint128)breakdown->parameters).text,
              units_print_count((uint128)program_parameters(program)).text);
    if (verbose) {
        text_addf(out, "  the peak is in %s (%s)\n", op->name, program_phase_name(op->phase));
        print_kinds(breakdown, out);
        print_transfer(breakdown, out);
    } else {
        print_states(breakdown, out);
    }
    print_parts(breakdown, "  activations at the peak: ", out);
    print_runtime(breakdown, record, limit_bytes, out);
}

/* ---- JSON ---- */

static void write_kinds(struct json_out *out, const char *key, const uint128 uses[PROGRAM_NUSES])
{
    struct program_memory memory;

    memcpy(memory.uses, uses, sizeof memory.uses);
    json_out_key(out, key);
    ranks_kinds_json(&memory, out);
}

static void write_transfer(struct json_out *out, const struct breakdown *b)
{
    json_out_key(out, "transfer");
    if (b->transfer == PROGRAM_NONE) {
        json_out_null(out);
        return;
    }
    json_out_begin_flat_object(out);
    json_out_key_string(out, "op", b->program->ops[b->transfer].name);
    json_out_key_uint(out, "bytes", b->transfer_bytes);
    json_out_end_object(out);
}

static void write_parts(struct json_out *out, const struct breakdown *b)
{
    json_out_key_array(out, "activations_at_peak");
    for (uint32_t i = 0; i < b->nparts; i++) {
        json_out_begin_flat_object(out);
        json_out_key(out, "part");
        json_out_string_n(out, b->parts[i].name, b->parts[i].length);
        json_out_key_uint(out, "bytes", b->parts[i].bytes);
        json_out_end_object(out);
    }
    json_out_end_array(out);
}

void breakdown_json(const struct breakdown *breakdown, const struct record *record,
                    struct json_out *out)
{
    const struct program *program = breakdown->program;
    const struct program_op *op = &program->ops[breakdown->peak.op];
    const struct hardware *h = record->modelled ? record->modelled->hardware : NULL;

    json_out_begin_object(out);
    json_out_key_uint(out, "rank", breakdown->rank);
    json_out_key_string(out, "op", op->name);
    json_out_key_string(out, "phase", program_phase_name(op->phase));
    json_out_key_flat_object(out, "parameters");
    json_out_key_uint(out, "model", (uint128)program_parameters(program));
    json_out_key_uint(out, "device", (uint128)breakdown->parameters);
    json_out_end_object(out);
    write_kinds(out, "at_peak", breakdown->peak.uses);
    write_kinds(out, "most", breakdown->most);
    if (breakdown->updates) {
        write_kinds(out, "before_update", breakdown->states);
    } else {
        json_out_key(out, "before_update");
        json_out_null(out);
    }
    json_out_key_uint(out, "padding", breakdown->padding_bytes);
    write_parts(out, breakdown);
    write_transfer(out, breakdown);
    json_out_key(out, "runtime_bytes");
    if (h)
        json_out_double(out,
                        h->reserved_bytes + h->fragmentation * (double)breakdown->peak.peak_bytes);
    else
        json_out_null(out);
    json_out_end_object(out);
}
