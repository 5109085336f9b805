/* kernel_time.c - the time of a kernel: the roofline, with the effects that keep kernels below it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "hardware/hardware.h"

#include <math.h>

#define NEARLY_ALL 0.999 /* of a time, except for rounding */

/* The fraction of the units' time that a product's tiles fill: each tile is computed completely,
 * and the last round of tiles takes as long as a full one. */
static double filled_by_tiles(const struct hardware_kernels *k, const struct hardware_work *work)
{
    double tiles, rounds;

    if (!k->units || !k->tile_m || !k->tile_n || work->m < 1 || work->n < 1 || work->batch < 1)
        return 1;
    tiles = ceil((double)work->m / (double)k->tile_m) * ceil((double)work->n / (double)k->tile_n) *
            (double)work->batch;
    rounds = ceil(tiles / (double)k->units);
    return (double)work->batch * (double)work->m * (double)work->n /
           (rounds * (double)k->units * (double)k->tile_m * (double)k->tile_n);
}

/* The fraction of attention's time for products, as opposed to its costs for each score and each
 * query. */
static double attention_share(const struct hardware_kernels *k, const struct hardware_work *work)
{
    double share = 1;

    if (work->k > 0)
        share /= 1 + k->attention_half_head / (double)work->k;
    if (work->n > 0)
        share /= 1 + k->attention_half_keys / (double)work->n;
    return share;
}

/* The fraction of the peak rate that the work reaches when memory is not the limit. */
static double efficiency_of(const struct hardware_kernels *k, const struct hardware_work *work)
{
    switch (work->kind) {
    case HARDWARE_MATMUL:
        return k->matmul_efficiency * filled_by_tiles(k, work) *
               (work->k > 0 ? (double)work->k / ((double)work->k + k->half_k) : 1);
    case HARDWARE_ATTENTION:
        return k->attention_efficiency * attention_share(k, work);
    case HARDWARE_ATTENTION_BACKWARD:
        return k->attention_backward_efficiency * attention_share(k, work);
    case HARDWARE_MEMORY:
        break;
    }
    return 0;
}

/* Whether rows are misaligned, so that matrix units cannot be used. */
static bool is_misaligned(const struct hardware_kernels *k, const struct hardware_work *work)
{
    return k->alignment > 1 && k->vector_flops_per_s > 0 && work->kind != HARDWARE_MEMORY &&
           (work->k % k->alignment != 0 || work->n % k->alignment != 0);
}

double hardware_slowest(const struct hardware *hardware, int64_t nodes)
{
    /* The expected largest of n normal values is about sqrt(2 ln n) deviations above their mean. */
    return 1 + hardware->kernels.spread * sqrt(2 * log(nodes > 1 ? (double)nodes : 1));
}

/* Operations a second that the units reach in this work; 0: only its bytes limit it. */
static double computing_rate(const struct hardware *hardware, const struct hardware_work *work)
{
    const struct hardware_kernels *k = &hardware->kernels;
    double rate;

    if (work->kind == HARDWARE_MEMORY)
        return hardware->elementwise_per_s[work->dtype];
    rate = hardware_flops_per_s(hardware, work->dtype) * efficiency_of(k, work);
    return is_misaligned(k, work) ? fmin(rate, k->vector_flops_per_s) : rate;
}

double hardware_kernel_bytes_per_s(const struct hardware *hardware,
                                   const struct hardware_work *work)
{
    if (hardware->cache_bytes_per_s > 0 && work->bytes <= hardware->cache_bytes)
        return hardware->cache_bytes_per_s;
    return hardware->memory_bytes_per_s * hardware->kernels.memory_efficiency;
}

static double computing_seconds(const struct hardware *hardware, const struct hardware_work *work)
{
    double rate = computing_rate(hardware, work);

    return rate > 0 ? work->flops / rate : 0;
}

static double moving_seconds(const struct hardware *hardware, const struct hardware_work *work)
{
    return work->bytes / hardware_kernel_bytes_per_s(hardware, work);
}

double hardware_kernel_seconds(const struct hardware *hardware, const struct hardware_work *work)
{
    return fmax(hardware->kernels.launch_s,
                fmax(computing_seconds(hardware, work), moving_seconds(hardware, work)));
}

enum hardware_bound hardware_kernel_bound(const struct hardware *hardware,
                                          const struct hardware_work *work)
{
    double computing = computing_seconds(hardware, work), moving = moving_seconds(hardware, work);

    if (hardware->kernels.launch_s > fmax(computing, moving))
        return HARDWARE_BY_LAUNCH;
    return moving >= NEARLY_ALL * computing ? HARDWARE_BY_MEMORY : HARDWARE_BY_COMPUTE;
}

const char *hardware_bound_name(enum hardware_bound bound)
{
    static const char *const names[HARDWARE_NBOUNDS] = {
        [HARDWARE_BY_COMPUTE] = "compute",
        [HARDWARE_BY_MEMORY] = "memory",
        [HARDWARE_BY_LAUNCH] = "launch"};

    return names[bound];
}
