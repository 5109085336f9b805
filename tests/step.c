/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "step.h"

#include <string.h>

#include "cost/plan.h"
#include "run/walk.h"
#include "tap.h"

bool step_init(struct step *out, const struct partition_request *request)
{
    struct walk_opts opts = {.finish = collect_finish, .finish_arg = &out->results};
    struct shd_error err;
    int status;

    memset(out, 0, sizeof *out);
    status = partition_build(&out->program, request, &err);
    if (status == SHD_OK)
        status = record_create(&out->planned, out->program, RECORD_PLANNED, false, &err);
    if (status == SHD_OK)
        status = record_create(&out->executed, out->program, RECORD_EXECUTED, false, &err);
    if (status == SHD_OK)
        status = collect_init(&out->results, out->program, &err);
    if (status == SHD_OK) {
        plan_walk(out->planned);
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

static bool equal(const uint128 *a, const uint128 *b, size_t n)
{
    return memcmp(a, b, n * sizeof *a) == 0;
}

/* Rows of the matrix are what was received, columns what was sent. */
static bool adds_up(const struct record *r)
{
    size_t n = (size_t)r->ndevices;

    for (size_t d = 0; d < n; d++) {
        uint128 row = 0, column = 0, ops = 0;

        for (size_t s = 0; s < n; s++) {
            row += r->matrix[d * n + s];
            column += r->matrix[s * n + d];
        }
        for (size_t i = 0; i < r->program->nops; i++)
            ops += r->op_received[d * r->program->nops + i];
        if (row != r->received_bytes[d] || column != r->sent_bytes[d] || ops != row ||
            r->matrix[d * n + d] != 0)
            return false;
    }
    return true;
}

const char *step_disagreement(const struct record *planned, const struct record *executed)
{
    size_t n = (size_t)planned->ndevices;

    if (memcmp(planned->op_received, executed->op_received,
               n * planned->program->nops * sizeof *planned->op_received) != 0)
        return "bytes received in some op";
    if (!equal(planned->received_bytes, executed->received_bytes, n))
        return "bytes received by some device";
    if (!equal(planned->sent_bytes, executed->sent_bytes, n))
        return "bytes sent by some device";
    if (!equal(planned->flops, executed->flops, n))
        return "flops of some device";
    if (!equal(planned->masked_flops, executed->masked_flops, n))
        return "flops that a mask cuts short";
    if (!equal(planned->peak_bytes, executed->peak_bytes, n))
        return "peak memory of some device";
    if (!equal(planned->matrix, executed->matrix, n * n))
        return "traffic between some pair of devices";
    if (!adds_up(planned))
        return "the matrix and its sums";
    return NULL;
}
