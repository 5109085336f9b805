/* Errors of a step's kernels (kernel_trust.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cost/kernel_trust.h"

#include <math.h>

#include "cost/op_experts.h"
#include "cost/op_seconds.h"
#include "hardware/kernel_work.h"

const char *const kernel_trust_names[KERNEL_TRUST_NKINDS] = {[KERNEL_TRUST_PRODUCTS] = "products",
                                                             [KERNEL_TRUST_EXPERTS] = "experts",
                                                             [KERNEL_TRUST_ATTENTION] = "attention",
                                                             [KERNEL_TRUST_COLLECTIVES] =
                                                                 "collectives",
                                                             [KERNEL_TRUST_COPIES] = "elementwise"};

static enum kernel_trust_kind kind_of(enum kernel_kind kernel)
{
    switch (kernel) {
    case KERNEL_PRODUCT:
        return KERNEL_TRUST_PRODUCTS;
    case KERNEL_EXPERTS:
        return KERNEL_TRUST_EXPERTS;
    case KERNEL_COPY:
        return KERNEL_TRUST_COPIES;
    case KERNEL_PREFILL:
    case KERNEL_DECODE:
    case KERNEL_LATENT_PREFILL:
    case KERNEL_LATENT_DECODE:
        return KERNEL_TRUST_ATTENTION;
    default:
        return KERNEL_TRUST_COLLECTIVES;
    }
}

/* The model that a collective takes its time from; NULL: none. */
static const struct kernel_model *collective_model(struct kernel_sizes *out,
                                                   const struct op_seconds *s, uint32_t op,
                                                   int32_t position)
{
    const struct kernel_model *exchange;
    struct hardware_transfer t;
    struct hardware_collective c;

    op_seconds_transfer(&t, s, op, position);
    exchange = t.kind == COLL_ALL_TO_ALL ? op_experts_exchange(out, s, op) : NULL;
    if (exchange)
        return exchange;
    hardware_collective(&c, s->hardware, t.kind, &t.group, t.operand_bytes);
    if (c.schedule != HARDWARE_MEASURED)
        return NULL;
    *out = (struct kernel_sizes){.devices = (double)t.group.members, .bytes = t.operand_bytes};
    if (t.kind == COLL_ALL_GATHER)
        out->bytes *= out->devices;
    return kernel_work_collective_model(s->hardware, t.kind);
}

/* Count an op's time for its part: what its model's kernel takes, beside which an op may have time
 * of the host. */
static double count(struct kernel_trust *out, const struct op_seconds *s, uint32_t i,
                    int32_t position, double seconds)
{
    const struct program_op *op = &s->program->ops[i];
    const struct kernel_model *model = NULL;
    struct kernel_trust_part *part;
    const struct kernel_error *error;
    struct kernel_sizes sizes;
    struct hardware_work work;

    if (op->kind == PROGRAM_RESHARD || op->kind == PROGRAM_ROWS) {
        model = program_communicates(op) ? collective_model(&sizes, s, i, position) : NULL;
    } else if (op_seconds_timed(&work, s, i, position)) {
        model = kernel_work_model(&sizes, s->hardware, &work);
        seconds = fmin(seconds, (double)op->times * hardware_kernel_seconds(s->hardware, &work));
    }
    if (!model)
        return 0;
    part = &out->parts[kind_of(model->kernel)];
    error = &model->by_size[kernel_model_class(&kernel_model_forms[model->kernel], &sizes)];
    if (error->rows == 0)
        error = &model->error;
    part->share += seconds;
    part->median += seconds * error->median;
    part->p90 += seconds * error->p90;
    part->beyond += kernel_model_beyond(model, &sizes) ? seconds : 0;
    return seconds;
}

static void divide(struct kernel_trust *out, double all_s)
{
    for (int k = 0; k < KERNEL_TRUST_NKINDS; k++) {
        struct kernel_trust_part *part = &out->parts[k];

        if (part->share <= 0)
            continue;
        part->median /= part->share;
        part->p90 /= part->share;
        part->beyond /= part->share;
        part->share /= all_s;
    }
    out->rest /= all_s;
}

int kernel_trust_of(struct kernel_trust *out, const struct program *program,
                    const struct hardware *hardware, struct shd_error *err)
{
    uint32_t rank = program_rank(program, 0);
    struct op_seconds s;
    double all_s = 0;
    int status;

    *out = (struct kernel_trust){.measured = false};
    status = op_seconds_init(&s, program, hardware, err);
    if (status != SHD_OK)
        return status;
    out->measured = s.hardware->by_models && s.hardware->models;
    for (uint32_t i = program->first_op; i < program->nops && out->measured; i++) {
        double seconds;

        if (!program_holds(program, rank, &program->ops[i]))
            continue;
        seconds = (double)program->ops[i].times * op_seconds_of(&s, i, 0);
        all_s += seconds;
        if (seconds > 0)
            out->rest += seconds - count(out, &s, i, 0, seconds);
    }
    op_seconds_fini(&s);
    if (all_s > 0)
        divide(out, all_s);
    return SHD_OK;
}
