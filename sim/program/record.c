/* Allocating a record and deriving sums, checks and balances from it (record.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "program/record.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/system.h"
#include "base/units.h"
#include "program/rows.h"

/* Whether expert_rows counts the rows that an op brings to experts: forward dispatches only. */
static bool counts_rows(const struct program_op *op)
{
    return program_rows_reach_experts(op) && op->phase == 0;
}

/* Experts of an op on one device. */
static size_t local_experts(const struct program *program, const struct program_op *op)
{
    return (size_t)program->buffers[op->outputs[0]].local[0];
}

static bool allocate_expert_rows(struct record *r)
{
    size_t n = 0;

    for (uint32_t i = 0; i < r->program->nops; i++)
        if (counts_rows(&r->program->ops[i]))
            n += local_experts(r->program, &r->program->ops[i]) * (size_t)r->ndevices;
    if (n == 0)
        return true;
    r->expert_rows = calloc(n, sizeof *r->expert_rows);
    r->expert_rows_at = calloc(r->program->nops, sizeof *r->expert_rows_at);
    n = 0;
    for (uint32_t i = 0; r->expert_rows_at && i < r->program->nops; i++) {
        r->expert_rows_at[i] = n;
        if (counts_rows(&r->program->ops[i]))
            n += local_experts(r->program, &r->program->ops[i]) * (size_t)r->ndevices;
    }
    return r->expert_rows && r->expert_rows_at;
}

static bool allocate_expert_links(struct record *r)
{
    size_t n = 0, pairs = (size_t)r->ndevices * (size_t)r->ndevices;

    if (r->ndevices > RECORD_LINKS_MAX || !r->expert_rows)
        return true;
    r->expert_links_at = calloc(r->program->nops, sizeof *r->expert_links_at);
    for (uint32_t i = 0; r->expert_links_at && i < r->program->nops; i++) {
        r->expert_links_at[i] = n;
        if (counts_rows(&r->program->ops[i]))
            n += pairs;
    }
    r->expert_links = calloc(n, sizeof *r->expert_links);
    return r->expert_links_at && r->expert_links;
}

uint64_t *record_expert_links(const struct record *record, uint32_t op, int32_t position)
{
    if (!record->expert_links || !counts_rows(&record->program->ops[op]))
        return NULL;
    return record->expert_links + record->expert_links_at[op] +
           (size_t)position * (size_t)record->ndevices;
}

uint64_t *record_expert_rows(const struct record *record, uint32_t op, int32_t position)
{
    const struct program_op *o = &record->program->ops[op];

    if (!record->expert_rows || !counts_rows(o))
        return NULL;
    return record->expert_rows + record->expert_rows_at[op] +
           (size_t)position * local_experts(record->program, o);
}

static bool allocate(struct record *r, bool times)
{
    size_t n = r->nrows, cells = n * r->program->nops;
    bool executed = r->mode == RECORD_EXECUTED, matrix = executed && n <= RECORD_MATRIX_MAX;

    r->received_bytes = calloc(n, sizeof *r->received_bytes);
    r->sent_bytes = calloc(n, sizeof *r->sent_bytes);
    r->flops = calloc(n, sizeof *r->flops);
    for (int k = 0; k < KERN_NUNEVENS; k++)
        r->uneven_flops[k] = calloc(n, sizeof *r->uneven_flops[k]);
    r->peak_bytes = calloc(n, sizeof *r->peak_bytes);
    r->to_host_bytes = calloc(3 * n, sizeof *r->to_host_bytes);
    r->from_host_bytes = r->to_host_bytes ? r->to_host_bytes + n : NULL;
    r->host_peak_bytes = r->to_host_bytes ? r->to_host_bytes + 2 * n : NULL;
    r->checks = calloc(r->program->nresults + 1, sizeof *r->checks);
    if (executed) {
        r->op_received = calloc(cells + 1, sizeof *r->op_received);
        r->op_flops = calloc(cells + 1, sizeof *r->op_flops);
    }
    if (times)
        r->times = calloc(cells + 1, sizeof *r->times);
    if (matrix)
        r->matrix = calloc(n * n, sizeof *r->matrix);
    if (executed && !(allocate_expert_rows(r) && allocate_expert_links(r)))
        return false;
    return r->received_bytes && r->sent_bytes && r->flops && r->uneven_flops[KERN_BY_SIGHT] &&
           r->uneven_flops[KERN_BY_ROUTING] && r->peak_bytes && r->to_host_bytes && r->checks &&
           ((r->op_received && r->op_flops) || !executed) && (r->times || !times) &&
           (r->matrix || !matrix);
}

/* Bytes that all rows need, saturated. */
static uint64_t needed_bytes(const struct record *r, bool times)
{
    uint64_t of_op =
        (r->mode == RECORD_EXECUTED ? sizeof *r->op_received + sizeof *r->op_flops : 0) +
        (times ? sizeof *r->times : 0);
    uint64_t of_row = sizeof *r->received_bytes + sizeof *r->sent_bytes + sizeof *r->flops +
                      KERN_NUNEVENS * sizeof *r->uneven_flops[0] + sizeof *r->peak_bytes +
                      3 * sizeof *r->to_host_bytes;
    uint64_t bytes;

    if (__builtin_mul_overflow((uint64_t)r->program->nops, of_op, &bytes) ||
        __builtin_add_overflow(bytes, of_row, &bytes) ||
        __builtin_mul_overflow(bytes, (uint64_t)r->nrows, &bytes))
        return UINT64_MAX;
    return bytes;
}

/* Refuse a record that exceeds the machine's memory here.  The system commits memory only on use,
 * and would then kill a process of its choice. */
static int check_size(const struct record *r, bool times, struct shd_error *err)
{
    uint64_t needed = needed_bytes(r, times), has = system_memory_bytes();

    if (has == 0 || needed <= has)
        return SHD_OK;
    return shd_error_set(
        err, SHD_ENOMEM,
        "a record of %" PRId32 " devices and %" PRIu32 " ops takes %s, but this machine has %s of "
        "memory",
        r->ndevices, r->program->nops, units_print_bytes(needed).text, units_print_bytes(has).text);
}

int record_create(struct record **out, const struct program *program, enum record_mode mode,
                  bool times, struct shd_error *err)
{
    struct record *r = calloc(1, sizeof *r);
    int status = SHD_OK;

    if (!r)
        return shd_error_set(err, SHD_ENOMEM, "no memory for a record");
    r->mode = mode;
    r->program = program;
    r->ndevices = shd_mesh_size(program->mesh);
    r->nrows = (uint32_t)r->ndevices;
    if (mode == RECORD_PLANNED)
        status = program_classes_create(&r->classes, program, err);
    if (r->classes)
        r->nrows = r->classes->nclasses;
    if (status == SHD_OK)
        status = check_size(r, times, err);
    if (status == SHD_OK && !allocate(r, times))
        status = shd_error_set(err, SHD_ENOMEM, "no memory for a record of %d devices",
                               (int)r->ndevices);
    if (status == SHD_OK)
        *out = r;
    else
        record_destroy(r);
    return status;
}

struct record_replay *record_replay_create(int32_t ndevices, uint32_t nactions)
{
    struct record_replay *r = calloc(1, sizeof *r);

    if (!r)
        return NULL;
    r->spread = -1;
    r->noise_ns = -1;
    r->devices = calloc((size_t)ndevices, sizeof *r->devices);
    r->path = calloc((size_t)nactions + 1, sizeof *r->path);
    if (r->devices && r->path)
        return r;
    record_replay_destroy(r);
    return NULL;
}

void record_replay_destroy(struct record_replay *replay)
{
    if (!replay)
        return;
    free(replay->devices);
    free(replay->path);
    free(replay);
}

struct record_modelled *record_modelled_create(uint32_t nops)
{
    struct record_modelled *m = calloc(1, sizeof *m);

    if (!m)
        return NULL;
    m->op_ns = calloc((size_t)nops + 1, sizeof *m->op_ns);
    m->exposed_ns = calloc((size_t)nops + 1, sizeof *m->exposed_ns);
    m->bound = calloc((size_t)nops + 1, sizeof *m->bound);
    if (m->op_ns && m->exposed_ns && m->bound)
        return m;
    record_modelled_destroy(m);
    return NULL;
}

void record_modelled_destroy(struct record_modelled *modelled)
{
    if (!modelled)
        return;
    record_replay_destroy(modelled->timeline);
    free(modelled->op_ns);
    free(modelled->exposed_ns);
    free(modelled->bound);
    free(modelled);
}

static void free_training(struct record_training *training)
{
    free(training->losses);
    free(training->grad_norms);
    *training = (struct record_training){.nsteps = 0};
}

int record_train(struct record *record, uint32_t nsteps, struct shd_error *err)
{
    struct record_training t = {.nsteps = nsteps};

    t.losses = calloc((size_t)nsteps + 1, sizeof *t.losses);
    t.grad_norms = calloc((size_t)nsteps + 1, sizeof *t.grad_norms);
    free_training(&record->training);
    record->training = t;
    if (t.losses && t.grad_norms)
        return SHD_OK;
    free_training(&record->training);
    return shd_error_set(err, SHD_ENOMEM, "no memory for the losses of %u steps", nsteps);
}

void record_destroy(struct record *record)
{
    if (!record)
        return;
    program_classes_destroy(record->classes);
    free_training(&record->training);
    free(record->op_received);
    free(record->times);
    free(record->expert_rows);
    free(record->expert_rows_at);
    free(record->expert_links);
    free(record->expert_links_at);
    free(record->received_bytes);
    free(record->sent_bytes);
    free(record->flops);
    for (int k = 0; k < KERN_NUNEVENS; k++)
        free(record->uneven_flops[k]);
    free(record->op_flops);
    free(record->peak_bytes);
    free(record->to_host_bytes); /* with the other two */
    free(record->matrix);
    free(record->checks);
    record_replay_destroy(record->replay);
    record_modelled_destroy(record->modelled);
    free(record);
}

struct program_class record_row(const struct record *record, uint32_t row)
{
    if (record->classes)
        return program_classes_get(record->classes, row);
    return program_class_of_device(record->program, (int32_t)row);
}

uint32_t record_row_of(const struct record *record, int32_t position)
{
    return record->classes ? program_classes_find(record->classes, position) : (uint32_t)position;
}

uint128 record_received_in(const struct record *record, uint32_t op, int32_t position)
{
    const struct program *program = record->program;

    if (record->op_received)
        return record->op_received[(size_t)position * program->nops + op];
    return (uint128)program_moved(program, &program->ops[op], position).received *
           program->ops[op].times;
}

uint128 record_flops_in(const struct record *record, uint32_t op, uint32_t row)
{
    const struct program *program = record->program;

    if (record->op_flops)
        return record->op_flops[(size_t)row * program->nops + op];
    return (uint128)program_op_flops(program, &program->ops[op], record_row(record, row).first) *
           program->ops[op].times;
}

uint128 record_op_received(const struct record *record, uint32_t op)
{
    uint128 total = 0;

    if (!record->op_received)
        return program_received_by_all(record->program, &record->program->ops[op]) *
               record->program->ops[op].times;
    for (int32_t d = 0; d < record->ndevices; d++)
        total += record_received_in(record, op, d);
    return total;
}

uint128 record_sum(const struct record *record, const uint128 *rows)
{
    uint128 total = 0;

    for (uint32_t i = 0; i < record->nrows; i++)
        total += rows[i] * (uint128)record_row(record, i).ndevices;
    return total;
}

uint128 record_received(const struct record *record)
{
    return record_sum(record, record->received_bytes);
}

uint128 record_flops(const struct record *record)
{
    return record_sum(record, record->flops);
}

double record_efficiency(const struct record *record, const struct program_work *work)
{
    uint128 done = record_flops(record);

    return done ? (double)work->unsharded_flops / (double)done : 1;
}

struct record_check record_check_of(const struct record *record,
                                    const struct kern_difference *found, uint32_t ncolumns,
                                    uint32_t i)
{
    struct record_check check = {.error = 0};
    double most = 0, size = 0;

    for (int32_t d = 0; d < record->ndevices; d++) {
        const struct kern_difference *f = &found[(size_t)d * ncolumns + i];

        if (f->ratio > check.error) {
            check.error = f->ratio;
            check.at = f->at;
            check.device = d;
            check.got = f->got;
            check.want = f->want;
            check.allowed = f->allowed;
        }
        check.nopen += f->nopen;
        check.infinite += f->infinite;
        check.nan += f->nan;
        most = fmax(most, f->most);
        size = fmax(size, f->size);
        check.widest = fmax(check.widest, f->widest);
    }
    check.most = most;
    check.largest = size;
    check.relative = most == 0 ? 0 : most / size;
    return check;
}

uint64_t record_check_nonfinite(const struct record_check *check)
{
    return check->infinite + check->nan;
}

bool record_check_matches(const struct record *record, const struct record_check *check)
{
    bool within = check->zero ? check->most <= check->widest
                              : check->relative <= record->tolerance;

    return check->error <= 1 && (record->tolerance == 0 || within);
}

bool record_check_ok(const struct record *record, const struct record_check *check)
{
    bool counts = check->kind != PROGRAM_OUTPUT; /* training cannot go on from what is not finite */

    return record_check_matches(record, check) && !(counts && record_check_nonfinite(check) > 0);
}

bool record_matches(const struct record *record)
{
    for (uint32_t i = 0; i < record->nchecks; i++)
        if (!record_check_matches(record, &record->checks[i]))
            return false;
    return record->nchecks > 0 && record->step.error <= 1;
}

bool record_verified_ok(const struct record *record)
{
    for (uint32_t i = 0; i < record->nchecks; i++)
        if (!record_check_ok(record, &record->checks[i]))
            return false;
    return record_matches(record);
}

struct record_balance record_balance_of(const struct record *record, const uint128 *rows)
{
    struct record_balance b = {0, 0, 1, 0};
    double sum = 0;

    for (uint32_t i = 0; i < record->nrows; i++) {
        struct program_class row = record_row(record, i);

        sum += (double)rows[i] * row.ndevices;
        if (rows[i] > b.max || (rows[i] == b.max && row.first < b.slowest)) {
            b.max = rows[i];
            b.slowest = row.first;
        }
    }
    b.mean = sum / record->ndevices;
    b.ratio = b.max ? b.mean / (double)b.max : 1;
    return b;
}
