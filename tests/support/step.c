/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "step.h"

#include <stdlib.h>
#include <string.h>

#include "cost/plan.h"
#include "program/rows.h"
#include "tap.h"
#include "run/walk/walk.h"

bool step_init(struct step *out, const struct partition_request *request)
{
    struct walk_opts opts = {.finish = collect_finish, .finish_arg = &out->results};
    struct shd_error err;
    int status;

    memset(out, 0, sizeof *out);
    status = partition_build(&out->program, request, &err);
    if (status == SHD_OK)
        status = plan_create(&out->planned, out->program, &err);
    if (status == SHD_OK)
        status = record_create(&out->executed, out->program, RECORD_EXECUTED, false, &err);
    if (status == SHD_OK)
        status = collect_init(&out->results, out->program, &err);
    if (status == SHD_OK) {
        status = walk_run(out->executed, &opts, &err);
    }
    if (status != SHD_OK)
        diag("step: %s", err.text);
    return status == SHD_OK;
}

void step_fini(struct step *step)
{
    if (step->results.program)
        collect_fini(&step->results);
    record_destroy(step->planned);
    record_destroy(step->executed);
    program_destroy(step->program);
    memset(step, 0, sizeof *step);
}

double step_value(const struct step *step, uint32_t result, int64_t i)
{
    const struct program *p = step->program;
    const void *whole = step->results.wholes[result];

    if (p->buffers[p->results[result].buffer].dtype == SHD_F64)
        return ((const double *)whole)[i];
    return (double)((const float *)whole)[i];
}

uint32_t step_result(const struct step *step, const char *name)
{
    for (uint32_t r = 0; r < step->program->nresults; r++)
        if (!strcmp(step->program->results[r].name, name))
            return r;
    return PROGRAM_NONE;
}

int step_count(const struct program *program, enum shd_reshard_kind kind, int phase)
{
    int count = 0;

    for (uint32_t i = 0; i < program->nops; i++)
        count += program->ops[i].kind == PROGRAM_RESHARD && program->ops[i].reshard.kind == kind &&
                 (phase < 0 || program->ops[i].phase == phase);
    return count;
}

bool step_same_bits(const struct collect *a, const struct collect *b)
{
    const struct program *p = a->program;

    for (uint32_t r = 0; r < p->nresults; r++) {
        const struct program_buffer *buffer = &p->buffers[p->results[r].buffer];
        uint64_t bytes;

        if (shd_shape_bytes(&bytes, buffer->shape, buffer->rank, buffer->dtype, NULL) != SHD_OK ||
            memcmp(a->wholes[r], b->wholes[r], bytes) != 0)
            return false;
    }
    return true;
}

/* Whether the planned figure of each class equals the figure of each of its devices. */
static bool equal(const struct record *planned, const uint128 *classes, const uint128 *devices)
{
    for (int32_t d = 0; d < planned->ndevices; d++)
        if (classes[record_row_of(planned, d)] != devices[d])
            return false;
    return true;
}

/* Whether a router decides about the rows that an op moves; a plan can only assume them. */
static bool is_assumed(const struct program *program, uint32_t op)
{
    return program->ops[op].kind == PROGRAM_ROWS && program_rows_assumed(&program->ops[op]);
}

static bool equal_ops(const struct record *planned, const struct record *executed)
{
    for (uint32_t i = 0; i < planned->program->nops; i++) {
        if (is_assumed(planned->program, i))
            continue;
        for (int32_t d = 0; d < planned->ndevices; d++)
            if (record_received_in(planned, i, d) != record_received_in(executed, i, d))
                return false;
        if (record_op_received(planned, i) != record_op_received(executed, i))
            return false;
    }
    return true;
}

/* Whether each device is in exactly one class, and a class begins with its lowest device and
 * counts all of them. */
static bool classes_partition(const struct record *planned)
{
    int32_t *found = calloc(planned->nrows, sizeof *found);
    bool good = found;

    for (int32_t d = 0; good && d < planned->ndevices; d++) {
        uint32_t row = record_row_of(planned, d);

        good = row < planned->nrows && (found[row]++ || record_row(planned, row).first == d);
    }
    for (uint32_t row = 0; good && row < planned->nrows; row++)
        good = found[row] == record_row(planned, row).ndevices;
    free(found);
    return good;
}

/* Whether rows of the matrix add up to the received bytes, and columns to the sent ones. */
static bool adds_up(const struct record *r, const uint128 *matrix)
{
    size_t n = (size_t)r->ndevices;

    for (size_t d = 0; d < n; d++) {
        uint128 row = 0, column = 0, ops = 0;

        for (size_t s = 0; s < n; s++) {
            row += matrix[d * n + s];
            column += matrix[s * n + d];
        }
        for (uint32_t i = 0; i < r->program->nops; i++)
            ops += record_received_in(r, i, (int32_t)d);
        if (row != r->received_bytes[record_row_of(r, (int32_t)d)] ||
            column != r->sent_bytes[record_row_of(r, (int32_t)d)] || ops != row ||
            matrix[d * n + d] != 0)
            return false;
    }
    return true;
}

static const char *matrices_disagree(const struct record *planned, const struct record *executed)
{
    size_t n = (size_t)planned->ndevices;
    uint128 *matrix = plan_matrix(planned->program);
    const char *wrong = NULL;

    if (!matrix)
        return "memory";
    if (memcmp(matrix, executed->matrix, n * n * sizeof *matrix) != 0)
        wrong = "traffic between some pair of devices";
    else if (!adds_up(planned, matrix))
        wrong = "the matrix and its sums";
    free(matrix);
    return wrong;
}

/* The first disagreement of plan and run in figures that no router influences; NULL if there is
 * none. */
static const char *certain_disagreement(const struct record *planned,
                                        const struct record *executed)
{
    for (int32_t d = 0; d < planned->ndevices; d++) {
        uint32_t row = record_row_of(planned, d);

        if (planned->flops[row] - planned->uneven_flops[KERN_BY_ROUTING][row] !=
            executed->flops[d] - executed->uneven_flops[KERN_BY_ROUTING][d])
            return "flops of some device but those of experts";
    }
    if (!equal(planned, planned->peak_bytes, executed->peak_bytes))
        return "peak memory of some device";
    return NULL;
}

const char *step_disagreement(const struct record *planned, const struct record *executed)
{
    if (!classes_partition(planned))
        return "classes and their devices";
    if (!equal_ops(planned, executed))
        return "bytes received in some op";
    if (program_assumes_rows(planned->program))
        return certain_disagreement(planned, executed);
    if (!equal(planned, planned->received_bytes, executed->received_bytes))
        return "bytes received by some device";
    if (!equal(planned, planned->sent_bytes, executed->sent_bytes))
        return "bytes sent by some device";
    if (!equal(planned, planned->flops, executed->flops))
        return "flops of some device";
    if (!equal(planned, planned->uneven_flops[KERN_BY_SIGHT], executed->uneven_flops[KERN_BY_SIGHT]))
        return "flops that a mask cuts short";
    if (!equal(planned, planned->uneven_flops[KERN_BY_ROUTING],
               executed->uneven_flops[KERN_BY_ROUTING]))
        return "flops of experts";
    if (!equal(planned, planned->peak_bytes, executed->peak_bytes))
        return "peak memory of some device";
    return matrices_disagree(planned, executed);
}
