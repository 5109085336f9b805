/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "trial/error_bounds.h"

#include <math.h>
#include <stdlib.h>

#include "kern/convert.h"
#include "kern/error.h"

bool bound_fill(double **out, const struct program_buffer *buffer, const double *values, uint64_t n)
{
    *out = NULL;
    for (uint64_t i = 0; i < n; i++) {
        double lost = values[i] - kern_round(buffer->stored, values[i]);

        if (lost == 0)
            continue;
        if (!*out && !(*out = calloc(n + 1, sizeof **out)))
            return false;
        (*out)[i] = lost * lost;
    }
    return true;
}

/* Whether an operand has an element of unknown value: then an infinite result may stem from that
 * element. */
static bool has_unknown(const struct bound_op *bound)
{
    for (uint32_t k = 0; k < bound->op->ninputs; k++)
        if (bound->marks[k] & KERN_MARK_OPEN)
            return true;
    return false;
}

/* Whether an op reads places in an array that are not all known, such as the ids of a look-up;
 * codes of few bits are values. */
static bool reads_unsure_places(const struct bound_op *bound)
{
    const struct program_op *op = bound->op;
    bool unsure = false;

    if (op->kernel == &kern_kernel_map || op->kernel == &kern_kernel_reduce || op->ninputs < 2)
        return false;
    for (uint32_t k = 0; k < op->ninputs; k++)
        unsure |= bound->in[k] && bound->program->buffers[op->inputs[k]].dtype == SHD_I32;
    return unsure;
}

/* A result's element in the float64 run, where whole numbers keep their type. */
static double value_of(const struct bound_op *bound, uint32_t k, uint64_t i)
{
    enum shd_dtype dtype = bound->program->buffers[bound->op->outputs[k]].dtype;

    return kern_load_one(kern_is_whole(dtype) ? dtype : SHD_F64, bound->args->out[k], (int64_t)i);
}

bool bound_kernel(double *const *out, const struct bound_op *bound)
{
    const struct program_buffer *buffers = bound->program->buffers;
    const struct program_op *op = bound->op;
    struct kern_error error = {.args = bound->args,
                               .variances = bound->in,
                               .out = out,
                               .type = buffers[op->outputs[0]].stored,
                               .parts = bound->parts,
                               .marks = bound->marks,
                               .square = bound->square};
    bool unknown = has_unknown(bound), unsure = reads_unsure_places(bound);

    if (!op->kernel->error(bound->desc, &error))
        return false;
    for (uint32_t k = 0; k < op->noutputs; k++) {
        const struct program_buffer *b = &buffers[op->outputs[k]];

        for (uint64_t i = 0; i < bound->n[k]; i++) {
            double value = value_of(bound, k, i);

            out[k][i] = unsure || (unknown && !isfinite(value))
                            ? INFINITY
                            : kern_stored_variance(b->stored, error.kept, value, out[k][i]);
        }
    }
    return true;
}

/* Whether partial sums are rounded to another type.  A device's part may be as large as the array's
 * elements, so its squared size counts in addition to theirs.  Parts that stay in their own type
 * were rounded when they were made, and that rounding is counted already. */
bool bound_adds_parts(const struct program *program, const struct program_op *op, double parts)
{
    const struct program_buffer *buffers = program->buffers;

    return buffers[op->outputs[0]].stored != buffers[op->inputs[0]].stored && parts > 1;
}

/* Add the rounding of each addition, in the partial sums of all devices. */
void bound_accumulate(double *variances, const struct bound_op *bound, double squares)
{
    const struct program_buffer *b = &bound->program->buffers[bound->op->outputs[0]];
    const double *sums = bound->args->out[0], *added = bound->args->in[1], *off = bound->in[1];
    double store = kern_store_roundoff(b->stored), least = kern_store_loss(b->stored, 0);

    for (uint64_t i = 0; i < bound->n[0]; i++) {
        double before = sums[i] - added[i], all = sqrt(variances[i]) + (off ? sqrt(off[i]) : 0);
        double sizes = before * before + added[i] * added[i] + sums[i] * sums[i] + squares;
        double rounding = bound->parts * (store * store * sizes + least * least);

        variances[i] = isfinite(sums[i])
                           ? kern_stored_variance(b->stored, true, sums[i], all * all + rounding)
                           : all * all;
    }
}

double *bound_allowed(const double *variances, uint64_t n)
{
    double *allowed = malloc((n + 1) * sizeof *allowed);

    for (uint64_t i = 0; allowed && i < n; i++)
        allowed[i] = KERN_ERROR_ALLOWED * sqrt(variances[i]) * KERN_ERROR_SLACK;
    return allowed;
}
