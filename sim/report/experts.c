/* The balance of experts' work (experts.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/experts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "base/wrap.h"
#include "program/rows.h"

#define LINE_COLUMNS 80 /* of the text, as in the rest of the report */
#define VALUE_COLUMN 14

#define EVEN 1.05 /* largest / mean load below which loads count as even */

/* ---- loads ---- */

static bool load_init(struct experts_load *load, uint32_t n)
{
    *load = (struct experts_load){.loads = calloc((size_t)n + 1, sizeof *load->loads), .n = n};
    return load->loads != NULL;
}

static void load_finish(struct experts_load *load)
{
    double sum = 0;

    for (uint32_t i = 0; i < load->n; i++) {
        sum += (double)load->loads[i];
        if (load->loads[i] > load->loads[load->most])
            load->most = i;
    }
    load->mean = load->n ? sum / load->n : 0;
    load->times = load->mean > 0 ? (double)load->loads[load->most] / load->mean : 1;
}

static bool load_equal(const struct experts_load *a, const struct experts_load *b)
{
    return a->n == b->n && (a->n == 0 || !memcmp(a->loads, b->loads, a->n * sizeof *a->loads));
}

/* ---- what is counted ---- */

static const struct program_buffer *experts_of(const struct record *record, uint32_t op)
{
    return &record->program->buffers[record->program->ops[op].outputs[0]];
}

/* The first device that holds a shard of experts and slots. */
static int32_t holder_of(const struct record *record, uint32_t op, int64_t shard)
{
    const struct program *program = record->program;

    return program_rows_source(experts_of(record, op), program_doer(program, &program->ops[op], 0),
                               shard);
}

/* Set the loads that the routing assumes. */
static void plan_loads(struct experts_row *row, const struct record *record, uint32_t i)
{
    const struct program_op *op = &record->program->ops[i];

    for (uint32_t e = 0; e < row->experts.n; e++)
        row->experts.loads[e] = program_rows_of_expert(op, e) * op->times;
    for (uint32_t s = 0; s < row->ranks.n; s++)
        row->ranks.loads[s] =
            program_rows_kept(record->program, op, holder_of(record, i, s)) * op->times;
}

/* Set the loads that the first holder of each shard counted. */
static void count_loads(struct experts_row *row, const struct record *record, uint32_t i)
{
    const struct program_buffer *b = experts_of(record, i);
    int64_t offset[SHD_RANK_MAX];

    for (uint32_t s = 0; s < row->ranks.n; s++) {
        int32_t holder = holder_of(record, i, s);
        const uint64_t *rows = record_expert_rows(record, i, holder);

        shd_sharding_offset(&b->sharding, b->shape, holder, offset);
        for (int64_t e = 0; e < b->local[0]; e++) {
            row->experts.loads[offset[0] + e] += rows[e];
            row->ranks.loads[s] += rows[e];
        }
    }
}

struct linking {
    struct experts_links *links;
    int32_t to;
    uint32_t times; /* how often a step runs the op */
    double all;
};

static bool add_link(void *arg, int32_t source, uint64_t bytes)
{
    struct linking *l = arg;
    struct experts_link link = {source, l->to, bytes * l->times};

    if (l->links->each)
        l->links->each[l->links->n] = link;
    l->links->n++;
    l->all += (double)link.bytes;
    if (link.bytes > l->links->most.bytes)
        l->links->most = link;
    return true;
}

static void add_counted(struct linking *l, const struct record *record, const uint64_t *received)
{
    l->times = 1;
    for (int32_t from = 0; from < record->ndevices; from++)
        if (received[from] > 0)
            (void)add_link(l, from, received[from]);
}

/* Set the links: as counted; else as planned, unless a router decided the rows of a run.  false: no
 * memory. */
static bool find_links(struct experts_row *row, const struct record *record)
{
    const struct program_op *op = &record->program->ops[row->op];
    bool executed = record_expert_rows(record, row->op, 0) != NULL;
    struct linking l = {.links = &row->links, .times = op->times};
    size_t n = row->received.n;

    if (n == 0 || (executed && n > RECORD_LINKS_MAX && program_rows_assumed(op)))
        return true;
    if (n <= RECORD_LINKS_MAX && !(row->links.each = calloc(n * n, sizeof *row->links.each)))
        return false;
    for (; l.to < (int32_t)n; l.to++) {
        const uint64_t *received = record_expert_links(record, row->op, l.to);

        if (received)
            add_counted(&l, record, received);
        else
            program_transfers(record->program, op, l.to, add_link, &l);
    }
    if (row->links.n > 0)
        row->links.mean_bytes = l.all / (double)row->links.n;
    return true;
}

static bool describe(struct experts_row *row, const struct record *record, uint32_t i)
{
    const struct program *program = record->program;
    const struct program_op *op = &program->ops[i];
    const struct program_buffer *b = experts_of(record, i);
    uint32_t nreceive = program_communicates(op) && record->ndevices <= RECORD_MATRIX_MAX
                            ? (uint32_t)record->ndevices
                            : 0;
    struct text where = TEXT_INIT;
    bool counted = record_expert_rows(record, i, 0) != NULL;

    *row =
        (struct experts_row){.count = 1, .op = i, .choices = program_rows_choices(op) * op->times};
    row->assumed = program_rows_assumed(op) && !counted;
    text_add_any_layer(&where, op->name);
    row->where = text_take(&where);
    if (!load_init(&row->experts, (uint32_t)b->shape[0]) ||
        !load_init(&row->ranks, (uint32_t)program_rows_shards(b)) ||
        !load_init(&row->received, nreceive) || !row->where)
        return false;
    if (counted)
        count_loads(row, record, i);
    else
        plan_loads(row, record, i);
    for (uint32_t d = 0; d < nreceive; d++)
        row->received.loads[d] = (uint64_t)record_received_in(record, i, (int32_t)d);
    for (uint32_t e = 0; e < row->experts.n; e++)
        row->kept += row->experts.loads[e];
    load_finish(&row->experts);
    load_finish(&row->ranks);
    load_finish(&row->received);
    row->device = holder_of(record, i, row->ranks.most);
    return find_links(row, record);
}

static bool alike(const struct experts_row *a, const struct experts_row *b)
{
    return !strcmp(a->where, b->where) && a->choices == b->choices && a->assumed == b->assumed &&
           load_equal(&a->experts, &b->experts) && load_equal(&a->ranks, &b->ranks) &&
           load_equal(&a->received, &b->received);
}

static void free_row(struct experts_row *row)
{
    free(row->where);
    free(row->experts.loads);
    free(row->ranks.loads);
    free(row->received.loads);
    free(row->links.each);
}

static void add_row(struct experts *x, struct experts_row *row)
{
    for (uint32_t r = 0; r < x->nrows; r++)
        if (alike(&x->rows[r], row)) {
            x->rows[r].count++;
            free_row(row);
            return;
        }
    x->rows[x->nrows++] = *row;
}

/* Whether tokens go to experts in the forward phase, for the first time. */
static bool is_told(const struct program_op *op)
{
    return program_rows_reach_experts(op) && op->phase == 0;
}

int experts_init(struct experts *out, const struct record *record, struct shd_error *err)
{
    const struct program *program = record->program;
    struct experts x = {.nrows = 0};
    uint32_t n = 0;
    bool good;

    for (uint32_t i = 0; i < program->nops; i++)
        n += is_told(&program->ops[i]);
    x.rows = calloc((size_t)n + 1, sizeof *x.rows);
    good = x.rows != NULL;
    for (uint32_t i = 0; i < program->nops && good; i++) {
        struct experts_row row;

        if (!is_told(&program->ops[i]))
            continue;
        good = describe(&row, record, i);
        if (good)
            add_row(&x, &row);
        else
            free_row(&row);
    }
    if (good) {
        *out = x;
        return SHD_OK;
    }
    experts_fini(&x);
    return shd_error_set(err, SHD_ENOMEM, "no memory for the report");
}

void experts_fini(struct experts *experts)
{
    for (uint32_t r = 0; experts->rows && r < experts->nrows; r++)
        free_row(&experts->rows[r]);
    free(experts->rows);
    *experts = (struct experts){.nrows = 0};
}

/* ---- text ---- */

/* Whether the fullest shard holds the fullest expert. */
static bool holds_most(const struct experts_row *row, const struct record *record)
{
    const struct program_buffer *b = experts_of(record, row->op);
    int64_t offset[SHD_RANK_MAX];

    shd_sharding_offset(&b->sharding, b->shape, row->device, offset);
    return row->experts.most >= offset[0] && row->experts.most < offset[0] + b->local[0];
}

bool experts_are_even(const struct experts_row *row)
{
    return row->ranks.n == 1 || row->ranks.times < EVEN;
}

void experts_why(const struct experts_row *row, const struct record *record, struct text *out)
{
    int device = (int)shd_mesh_device_id(record->program->mesh, row->device);
    const struct program_op *op = &record->program->ops[row->op];
    bool copies = program_rows_go_to_copies(op);
    uint32_t expert = program_rows_expert(op, row->experts.most);
    const char *one = copies ? "a copy of expert" : "expert", *all = copies ? "copies" : "experts";

    if (row->ranks.n > 1 && experts_are_even(row))
        text_addf(out, "devices have equal rows, within %.0f %%", 100 * (EVEN - 1));
    else if (row->ranks.n == 1)
        text_addf(out, "each device has all %s; %s %" PRIu32 " has %.1fx the mean", all, one,
                  expert, row->experts.times);
    else if (holds_most(row, record))
        text_addf(out,
                  "device %d holds %s %" PRIu32 ", which has %.1fx the mean of %s: its rows are "
                  "%.1fx the mean of devices",
                  device, one, expert, row->experts.times, all, row->ranks.times);
    else
        text_addf(out, "device %d has the most rows, %.1fx the mean; no %s has more than %.1fx",
                  device, row->ranks.times, copies ? "copy" : "expert", row->experts.times);
}

static void print_row(const struct experts_row *row, const struct record *record, struct text *out)
{
    struct text t = TEXT_INIT;

    text_addf(&t, "%s%s: %" PRIu64 " of %" PRIu64 " choices kept, %" PRIu64 " dropped%s; ",
              row->where, row->count > 1 ? " of each layer" : "", row->kept, row->choices,
              row->choices - row->kept, row->assumed ? " (assumed: the router decides)" : "");
    experts_why(row, record, &t);
    if (row->received.n > 0)
        text_addf(&t, "; at most %s come to device %d, %.1fx the mean of %s",
                  units_print_bytes(row->received.loads[row->received.most]).text,
                  (int)shd_mesh_device_id(record->program->mesh, (int32_t)row->received.most),
                  row->received.times, units_print_bytes((uint128)row->received.mean).text);
    if (row->links.n > 0)
        text_addf(
            &t,
            "; at most %s go from one device to another (%d to %d), %.1fx the mean of these pairs",
            units_print_bytes(row->links.most.bytes).text,
            (int)shd_mesh_device_id(record->program->mesh, row->links.most.from),
            (int)shd_mesh_device_id(record->program->mesh, row->links.most.to),
            (double)row->links.most.bytes / row->links.mean_bytes);
    wrap_add(out, LINE_COLUMNS, VALUE_COLUMN, VALUE_COLUMN, text_get(&t));
    text_drop(out, &t);
}

void experts_text(const struct experts *experts, const struct record *record, struct text *out)
{
    for (uint32_t r = 0; r < experts->nrows; r++) {
        text_addf(out, "%s%-*s", r ? "" : "\n", VALUE_COLUMN, r ? "" : "experts");
        print_row(&experts->rows[r], record, out);
    }
}

/* ---- JSON ---- */

static void load_json(const char *key, const struct experts_load *load, struct json_out *out)
{
    json_out_key_object(out, key);
    json_out_key_flat_array(out, "each");
    for (uint32_t i = 0; i < load->n; i++)
        json_out_uint(out, load->loads[i]);
    json_out_end_array(out);
    json_out_key_double(out, "mean", load->mean);
    json_out_key_uint(out, "most", load->most);
    json_out_key_double(out, "times_the_mean", load->times);
    json_out_end_object(out);
}

static void links_json(const struct experts_links *links, const struct record *record,
                       struct json_out *out)
{
    const struct shd_mesh *mesh = record->program->mesh;

    json_out_key_flat_object(out, "links");
    json_out_key_uint(out, "used", links->n);
    json_out_key_double(out, "mean_bytes", links->mean_bytes);
    json_out_key_uint(out, "most_bytes", links->most.bytes);
    json_out_key_int(out, "from", shd_mesh_device_id(mesh, links->most.from));
    json_out_key_int(out, "to", shd_mesh_device_id(mesh, links->most.to));
    json_out_end_object(out);
    if (!links->each)
        return;
    json_out_key(out, "bytes_of_links"); /* [from, to, bytes] */
    json_out_begin_flat_array(out);
    for (uint64_t i = 0; i < links->n; i++) {
        json_out_begin_array(out);
        json_out_int(out, shd_mesh_device_id(mesh, links->each[i].from));
        json_out_int(out, shd_mesh_device_id(mesh, links->each[i].to));
        json_out_uint(out, links->each[i].bytes);
        json_out_end_array(out);
    }
    json_out_end_array(out);
}

/* The experts whose copies have the loads before. */
static void copies_json(const struct program_op *op, uint32_t n, struct json_out *out)
{
    json_out_key_flat_array(out, "copies_of");
    for (uint32_t i = 0; i < n; i++)
        json_out_uint(out, program_rows_expert(op, i));
    json_out_end_array(out);
}

static void row_json(const struct experts_row *row, const struct record *record,
                     struct json_out *out)
{
    const struct program_op *op = &record->program->ops[row->op];
    struct text why = TEXT_INIT;

    json_out_begin_object(out);
    json_out_key_string(out, "where", row->where);
    json_out_key_uint(out, "count", row->count);
    json_out_key_bool(out, "assumed", row->assumed);
    json_out_key_uint(out, "choices", row->choices);
    json_out_key_uint(out, "dropped", row->choices - row->kept);
    load_json("rows_of_experts", &row->experts, out);
    if (program_rows_go_to_copies(op))
        copies_json(op, row->experts.n, out);
    load_json("rows_of_ranks", &row->ranks, out);
    if (row->received.n > 0)
        load_json("received_bytes", &row->received, out);
    if (row->links.n > 0)
        links_json(&row->links, record, out);
    experts_why(row, record, &why);
    json_out_key_string(out, "why", text_get(&why));
    text_drop(out->text, &why);
    json_out_end_object(out);
}

void experts_json(const struct experts *experts, const struct record *record, struct json_out *out)
{
    json_out_begin_array(out);
    for (uint32_t r = 0; r < experts->nrows; r++)
        row_json(&experts->rows[r], record, out);
    json_out_end_array(out);
}
