/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "record/record.h"

#include <math.h>
#include <stdlib.h>

static bool allocate(struct record *r, bool times)
{
    size_t n = (size_t)r->ndevices, cells = n * r->program->nops;

    r->op_received = calloc(cells + 1, sizeof *r->op_received);
    r->received_bytes = calloc(n, sizeof *r->received_bytes);
    r->sent_bytes = calloc(n, sizeof *r->sent_bytes);
    r->flops = calloc(n, sizeof *r->flops);
    r->peak_bytes = calloc(n, sizeof *r->peak_bytes);
    r->checks = calloc(r->program->nresults + 1, sizeof *r->checks);
    if (times)
        r->times = calloc(cells + 1, sizeof *r->times);
    if (n <= RECORD_MATRIX_MAX)
        r->matrix = calloc(n * n, sizeof *r->matrix);
    return r->op_received && r->received_bytes && r->sent_bytes && r->flops && r->peak_bytes &&
           r->checks && (r->times || !times) && (r->matrix || n > RECORD_MATRIX_MAX);
}

int record_create(struct record **out, const struct program *program, enum record_mode mode,
                  bool times, struct shd_error *err)
{
    struct record *r = calloc(1, sizeof *r);

    if (!r)
        return shd_error_set(err, SHD_ENOMEM, "no memory for a record");
    r->mode = mode;
    r->program = program;
    r->ndevices = shd_mesh_size(program->mesh);
    if (!allocate(r, times)) {
        int32_t n = r->ndevices;

        record_destroy(r);
        return shd_error_set(err, SHD_ENOMEM, "no memory for a record of %d devices", (int)n);
    }
    *out = r;
    return SHD_OK;
}

struct record_replay *record_replay_create(int32_t ndevices, uint32_t nops)
{
    struct record_replay *r = calloc(1, sizeof *r);

    if (!r)
        return NULL;
    r->devices = calloc((size_t)ndevices, sizeof *r->devices);
    r->path = calloc((size_t)nops + 1, sizeof *r->path);
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

void record_destroy(struct record *record)
{
    if (!record)
        return;
    free(record->op_received);
    free(record->times);
    free(record->received_bytes);
    free(record->sent_bytes);
    free(record->flops);
    free(record->peak_bytes);
    free(record->matrix);
    free(record->checks);
    record_replay_destroy(record->replay);
    free(record);
}

uint128 record_op_received(const struct record *record, uint32_t op)
{
    uint128 total = 0;

    for (int32_t d = 0; d < record->ndevices; d++)
        total += record->op_received[(size_t)d * record->program->nops + op];
    return total;
}

uint128 record_received(const struct record *record)
{
    uint128 total = 0;

    for (int32_t d = 0; d < record->ndevices; d++)
        total += record->received_bytes[d];
    return total;
}

struct record_check record_check_of(const struct record *record, const struct kern_difference *found,
                                    uint32_t ncolumns, uint32_t i)
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
        most = fmax(most, f->most);
        size = fmax(size, f->size);
    }
    check.relative = most == 0 ? 0 : most / size;
    return check;
}

bool record_check_ok(const struct record *record, const struct record_check *check)
{
    return check->error <= 1 && (record->tolerance == 0 || check->relative <= record->tolerance);
}

bool record_verified_ok(const struct record *record)
{
    for (uint32_t i = 0; i < record->nchecks; i++)
        if (!record_check_ok(record, &record->checks[i]))
            return false;
    if (!(record->step.error <= 1))
        return false;
    return record->nchecks > 0;
}

struct record_balance record_balance_of(const uint128 *values, int32_t ndevices)
{
    struct record_balance b = {0, 0, 1, 0};
    double sum = 0;

    for (int32_t d = 0; d < ndevices; d++) {
        sum += (double)values[d];
        if (values[d] > b.max) {
            b.max = values[d];
            b.slowest = d;
        }
    }
    b.mean = ndevices ? sum / ndevices : 0;
    b.ratio = b.max ? b.mean / (double)b.max : 1;
    return b;
}
