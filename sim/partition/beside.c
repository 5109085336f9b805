/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/beside.h"

#include <stdlib.h>
#include <string.h>

struct beside {
    struct program *program;
    uint32_t moved_to;       /* last op that was moved behind a gather: a reader lies at most
                                here, or where the buffer's lifetime ends */
    bool *again;             /* [op] gathers again in the backward phase */
    uint32_t *waits;         /* [buffer] the gather that the buffer depends on; 0: none */
    struct program_op *late; /* [op] scratch: ops that depend on the gather ... */
    bool *late_again;        /* ... and whether each gathers again */
};

/* One past the last op that may read a result of op `i`. */
static uint32_t end_of_readers(const struct beside *b, uint32_t i)
{
    const struct program_op *op = &b->program->ops[i];
    uint32_t last = b->moved_to;

    for (uint32_t k = 0; k < op->noutputs; k++)
        if (b->program->buffers[op->outputs[k]].last_op > last)
            last = b->program->buffers[op->outputs[k]].last_op;
    return last < b->program->nops ? last + 1 : b->program->nops;
}

/* First and last reader of op `i`'s results in the op's part of the step; false: none. */
static bool find_readers(const struct beside *b, uint32_t i, uint32_t *first, uint32_t *last)
{
    const struct program_op *ops = b->program->ops;
    uint32_t end = end_of_readers(b, i);

    *first = *last = end;
    for (uint32_t r = i + 1; r < end && ops[r].part == ops[i].part && ops[r].stage == ops[i].stage;
         r++)
        if (program_reads(&ops[r], &ops[i])) {
            *first = *first == end ? r : *first;
            *last = r;
        }
    return *first < end;
}

/* Earliest place of a gather: behind its own operands, and all other ops that its reader waits
 * for. */
static uint32_t earliest(const struct program *program, uint32_t i, uint32_t reader)
{
    const struct program_op *op = &program->ops[i];
    uint32_t at = i;

    while (at > 0 && op[0].part == program->ops[at - 1].part &&
           op[0].stage == program->ops[at - 1].stage && !program_reads(op, &program->ops[at - 1]) &&
           !program_reads(&program->ops[reader], &program->ops[at - 1]))
        at--;
    return at;
}

static void move_ahead(struct beside *b, uint32_t i, uint32_t at)
{
    struct program_op *ops = b->program->ops;
    const struct program_op op = ops[i];

    memmove(&ops[at + 1], &ops[at], (i - at) * sizeof op);
    ops[at] = op;
}

/* Whether an op depends on the gather; if so, its results depend on it too. */
static bool waits(struct beside *b, uint32_t gather, const struct program_op *op)
{
    bool waiting = false;

    for (uint32_t k = 0; k < op->ninputs; k++)
        waiting |= b->waits[op->inputs[k]] == gather;
    for (uint32_t k = 0; k < op->noutputs && waiting; k++)
        b->waits[op->outputs[k]] = gather;
    return waiting;
}

/* Among the ops from a gather to its last reader, move those that depend on the gather behind the
 * others; both keep their order. */
static void put_off(struct beside *b, uint32_t gather, uint32_t last)
{
    struct program_op *ops = b->program->ops;
    uint32_t begin = gather + 1, n = begin, nlate = 0;

    for (uint32_t k = 0; k < ops[gather].noutputs; k++)
        b->waits[ops[gather].outputs[k]] = gather;
    for (uint32_t i = begin; i <= last; i++) {
        if (waits(b, gather, &ops[i])) {
            b->late[nlate] = ops[i];
            b->late_again[nlate++] = b->again[i];
        } else {
            b->again[n] = b->again[i];
            ops[n++] = ops[i];
        }
    }
    memcpy(&ops[n], b->late, nlate * sizeof *ops);
    memcpy(&b->again[n], b->late_again, nlate * sizeof *b->again);
}

/* Visit gathers in program order: an op that is moved goes behind the gather being visited, so it
 * is still visited. */
static void move_all(struct beside *b)
{
    for (uint32_t i = b->program->first_op; i < b->program->nops; i++) {
        uint32_t first, last;

        if (!b->again[i] || !find_readers(b, i, &first, &last))
            continue;
        put_off(b, i, last);
        b->moved_to = last > b->moved_to ? last : b->moved_to;
        (void)find_readers(b, i, &first, &last);
        move_ahead(b, i, earliest(b->program, i, first));
    }
}

void beside_products(struct program *program, struct pool *pool)
{
    size_t nops = program->nops;
    struct beside b = {.program = program,
                       .again = pool_array(pool, nops, sizeof *b.again),
                       .late_again = pool_array(pool, nops, sizeof *b.late_again),
                       .waits = pool_array(pool, program->nbuffers, sizeof *b.waits),
                       .late = pool_array(pool, nops, sizeof *b.late)};

    for (uint32_t i = program->first_op; i < nops; i++)
        b.again[i] = program_gathers_again(program, &program->ops[i]);
    move_all(&b);
    pool_drop(pool, b.late);
}
