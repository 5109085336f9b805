/* Limits for executing questions (limits.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "query/limits.h"

#include <shd/shape.h>

#include "base/units.h"

static uint128 count_flops(const struct program *program)
{
    uint128 flops = 0;

    for (uint32_t i = 0; i < program->nops; i++)
        flops += (uint128)program->ops[i].dense_flops * program->ops[i].times;
    return flops;
}

/* The number of elements of all results, each as a whole array. */
static uint128 count_elements(const struct program *program)
{
    uint128 sum = 0;

    for (uint32_t r = 0; r < program->nresults; r++) {
        const struct program_buffer *b = &program->buffers[program->results[r].buffer];
        int64_t count;

        if (shd_shape_count(&count, b->shape, b->rank, NULL) == SHD_OK) /* buffers were checked */
            sum += (uint64_t)count;
    }
    return sum;
}

/* The sum over ranks of the actions of one device. */
static uint128 count_actions(const struct program *program)
{
    uint128 n = 0;

    for (uint32_t rank = 0; rank < program->nranks; rank++)
        n += program_nactions(program, rank);
    return n;
}

int limits_check(const struct program *program, uint32_t nsteps, bool listed, struct shd_error *err)
{
    int32_t ndevices = shd_mesh_size(program->mesh);
    uint128 n = (uint128)ndevices, bytes = n * program_peak_bytes(program);
    uint128 flops = n * nsteps * count_flops(program),
            elements = listed ? count_elements(program) : 0;
    uint128 actions = n * nsteps * count_actions(program) / program->nranks;

    if (ndevices > LIMIT_DEVICES)
        return shd_error_set(err, SHD_ERANGE, "%d devices exceed the limit of an execution, %d",
                             (int)ndevices, LIMIT_DEVICES);
    if (bytes > LIMIT_BYTES)
        return shd_error_set(err, SHD_ERANGE,
                             "%s of memory for all devices exceeds the limit of an execution, %s",
                             units_print_bytes(bytes).text, units_print_bytes(LIMIT_BYTES).text);
    if (flops > LIMIT_FLOPS)
        return shd_error_set(err, SHD_ERANGE, "%s flops exceed the limit of an execution, %s",
                             units_print_count(flops).text, units_print_count(LIMIT_FLOPS).text);
    if (actions > LIMIT_ACTIONS)
        return shd_error_set(err, SHD_ERANGE, "%s ops exceed the limit of an execution, %s",
                             units_print_count(actions).text,
                             units_print_count(LIMIT_ACTIONS).text);
    if (elements > LIMIT_LISTED_ELEMENTS)
        return shd_error_set(err, SHD_ERANGE, "%s elements exceed the limit of a listing, %s",
                             units_print_count(elements).text,
                             units_print_count(LIMIT_LISTED_ELEMENTS).text);
    return SHD_OK;
}
