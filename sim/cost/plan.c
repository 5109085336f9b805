/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "cost/plan.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of one op at one device; `from` has an entry a device, or is NULL. */
static void walk_traffic(struct record *record, uint32_t i, int32_t device, uint128 *from)
{
    const struct program *program = record->program;
    uint64_t bytes = program_received_bytes(program, &program->ops[i], device, from);

    record->op_received[(size_t)device * program->nops + i] = bytes;
    record->received_bytes[device] += bytes;
}

/* What a device got from each other one is what these sent. */
static void count_sent(struct record *record)
{
    int32_t n = record->ndevices;

    for (int32_t d = 0; record->matrix && d < n; d++)
        for (int32_t s = 0; s < n; s++)
            record->sent_bytes[s] += record->matrix[(size_t)d * (size_t)n + (size_t)s];
}

void plan_walk(struct record *record)
{
    const struct program *program = record->program;
    uint128 peak = program_peak_bytes(program);

    for (int32_t d = 0; d < record->ndevices; d++) {
        uint128 *from =
            record->matrix ? record->matrix + (size_t)d * (size_t)record->ndevices : NULL;

        record->peak_bytes[d] = peak;
        for (uint32_t i = 0; i < program->nops; i++) {
            uint64_t flops = program_op_flops(program, &program->ops[i], d);

            record->flops[d] += flops;
            if (program_op_skips(&program->ops[i]))
                record->masked_flops[d] += flops;
            if (program_communicates(&program->ops[i]))
                walk_traffic(record, i, d, from ? from : record->sent_bytes);
        }
    }
    count_sent(record);
}
