/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "cost/plan.h"

#include <stdlib.h>

/* Figures of an op at a position. */
struct figures {
    struct program_moved moved;
    uint64_t flops;
    bool skips; /* work is skipped, ... */
    enum kern_uneven uneven; /* ... for this reason */
};

static struct figures figures_of(const struct program *program, const struct program_op *op,
                                 int32_t position)
{
    bool skips = program_op_skips(op);

    return (struct figures){program_moved(program, op, position),
                            program_op_flops(program, op, position), skips,
                            skips ? op->kernel->uneven : KERN_BY_SIGHT};
}

static void add(struct record *record, uint32_t row, const struct figures *f, uint64_t times)
{
    record->received_bytes[row] += (uint128)f->moved.received * times;
    record->sent_bytes[row] += (uint128)f->moved.sent * times;
    record->flops[row] += (uint128)f->flops * times;
    if (f->skips)
        record->uneven_flops[f->uneven][row] += (uint128)f->flops * times;
}

/* Add the figures of `times` runs of an op to every class.  Classes that differ only on axes
 * outside the mask have equal figures, which are computed once. */
static void walk_op(struct record *record, uint32_t i, uint32_t axes, uint64_t times,
                    struct figures *known)
{
    const struct program *program = record->program;

    for (uint32_t row = 0; row < record->nrows; row++) {
        uint32_t alike = program_classes_project(record->classes, row, axes);

        known[row] = alike < row
                         ? known[alike]
                         : figures_of(program, &program->ops[i], record_row(record, row).first);
        add(record, row, &known[row], times);
    }
}

/* Flops of ops that are equal on every device of a rank. */
struct rank_flops {
    uint128 all, uneven[KERN_NUNEVENS];
};

static void add_flops(struct rank_flops *ranks, const struct program *program,
                      const struct program_op *op)
{
    uint128 flops =
        (uint128)program_op_flops(program, op, program_doer(program, op, 0)) * op->times;
    struct rank_flops *rank = &ranks[program_rank(program, program_doer(program, op, 0))];

    rank->all += flops;
    if (program_op_skips(op))
        rank->uneven[op->kernel->uneven] += flops;
}

/* Figures that depend on the pipeline rank depend on the axis of stages. */
static uint32_t with_stages(const struct program *program, uint32_t axes)
{
    return program->stage_axis < 0 ? axes : axes | UINT32_C(1) << program->stage_axis;
}

static void walk(struct record *record, struct figures *known, struct rank_flops *ranks)
{
    const struct program *program = record->program;
    const struct program_classes *classes = record->classes;

    for (uint32_t i = 0; i < program->nops; i++)
        if (!program_flops_axes(program, &program->ops[i]))
            add_flops(ranks, program, &program->ops[i]);
    for (uint32_t k = 0; k < classes->nworks; k++)
        walk_op(record, classes->works[k].op, with_stages(program, classes->works[k].axes),
                classes->works[k].times, known);
    for (uint32_t k = 0; k < classes->nmoves; k++)
        walk_op(record, classes->moves[k].op, with_stages(program, classes->moves[k].axes),
                classes->moves[k].times, known);
    for (uint32_t row = 0; row < record->nrows; row++) {
        uint32_t rank = program_rank(program, record_row(record, row).first);

        record->flops[row] += ranks[rank].all;
        for (int k = 0; k < KERN_NUNEVENS; k++)
            record->uneven_flops[k][row] += ranks[rank].uneven[k];
    }
}

static void set_peaks(struct record *record, uint128 *peaks)
{
    const struct program *program = record->program;

    for (uint32_t rank = 0; rank < program->nranks; rank++) {
        struct program_memory memory;

        program_memory(&memory, program, rank);
        peaks[rank] = memory.peak_bytes;
    }
    for (uint32_t row = 0; row < record->nrows; row++)
        record->peak_bytes[row] = peaks[program_rank(program, record_row(record, row).first)];
}

/* Set the copies to and from the host, and its memory: equal for the devices of a rank. */
static void set_host(struct record *record)
{
    const struct program *program = record->program;

    for (uint32_t rank = 0; rank < program->nranks && program_uses_host(program); rank++) {
        struct program_host_moved moved = program_host_moved(program, rank);
        uint128 peak_bytes = program_host_peak_bytes(program, rank);

        for (uint32_t row = 0; row < record->nrows; row++) {
            if (program_rank(program, record_row(record, row).first) != rank)
                continue;
            record->to_host_bytes[row] = moved.to_host;
            record->from_host_bytes[row] = moved.from_host;
            record->host_peak_bytes[row] = peak_bytes;
        }
    }
}

int plan_create(struct record **out, const struct program *program, struct shd_error *err)
{
    struct figures *known;
    struct rank_flops *ranks;
    uint128 *peaks;
    int status = record_create(out, program, RECORD_PLANNED, false, err);

    if (status != SHD_OK)
        return status;
    known = calloc((*out)->nrows, sizeof *known);
    ranks = calloc(program->nranks, sizeof *ranks);
    peaks = calloc(program->nranks, sizeof *peaks);
    if (known && ranks && peaks) {
        walk(*out, known, ranks);
        set_peaks(*out, peaks);
        set_host(*out);
    } else {
        record_destroy(*out);
        *out = NULL;
        status = shd_error_set(err, SHD_ENOMEM, "no memory for a plan");
    }
    free(known);
    free(ranks);
    free(peaks);
    return status;
}

/* Bytes that one device receives from each device, in an op done `times` times. */
struct matrix_row {
    uint128 *from;
    uint32_t times;
};

static bool add_transfer(void *arg, int32_t source, uint64_t bytes)
{
    const struct matrix_row *row = arg;

    row->from[source] += (uint128)bytes * row->times;
    return true;
}

uint128 *plan_matrix(const struct program *program)
{
    size_t n = (size_t)shd_mesh_size(program->mesh);
    uint128 *matrix = calloc(n * n, sizeof *matrix);

    for (size_t d = 0; matrix && d < n; d++)
        for (uint32_t i = 0; i < program->nops; i++) {
            struct matrix_row row = {matrix + d * n, program->ops[i].times};

            program_transfers(program, &program->ops[i], (int32_t)d, add_transfer, &row);
        }
    return matrix;
}
