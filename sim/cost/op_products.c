/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "cost/op_products.h"

#define NEAR 24 /* ops among which those that read the same rows are looked for */

/* A product of rows by weights; false: an op is none, or has its time elsewhere. */
static bool is_product(struct hardware_work *out, const struct op_seconds *s, uint32_t i)
{
    const struct program_op *op = &s->program->ops[i];

    return !s->moves[i].elsewhere && s->moves[i].columns == 0 && op->ninputs >= 2 &&
           op_seconds_work(out, s, i, program_doer(s->program, op, 0)) &&
           out->kind == HARDWARE_MATMUL && out->batch == 1 && out->experts == 0;
}

static bool reads_same(const struct program_op *a, const struct program_op *b)
{
    return a->kernel == b->kernel && a->stage == b->stage && a->part == b->part &&
           a->inputs[0] == b->inputs[0] && a->inputs[1] != b->inputs[1];
}

void op_products_find(struct op_seconds *s)
{
    const struct program *program = s->program;

    for (uint32_t i = program->first_op; i < program->nops; i++) {
        struct hardware_work first, other;

        if (!is_product(&first, s, i))
            continue;
        for (uint32_t j = i + 1; j < program->nops && j <= i + NEAR; j++) {
            if (!reads_same(&program->ops[i], &program->ops[j]) || !is_product(&other, s, j) ||
                other.m != first.m || other.k != first.k || other.type != first.type ||
                s->moves[i].type != s->moves[j].type ||
                s->moves[i].hidden != s->moves[j].hidden)
                continue;
            s->moves[i].columns += (double)other.n;
            s->moves[i].beside_flops += other.flops;
            s->moves[i].beside_bytes +=
                other.bytes - op_seconds_bytes(s, program->ops[j].inputs[0]);
            s->moves[i].unread += s->moves[j].unread;
            s->moves[j].elsewhere = true;
        }
    }
}
