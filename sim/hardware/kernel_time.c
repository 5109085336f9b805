/* kernel_time.c - the time of a kernel: the roofline, with the effects that keep kernels below it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "hardware/hardware.h"

#include <math.h>

#include "hardware/kernel_work.h"

#define NEARLY_ALL 0.999 /* of a time, except for rounding */

/* ---- products ---- */

#define SMALLEST_TILE 16.0

/* Of square tiles of twice this size a unit's matrix cores are busy half of the time, since they
 * wait for operands. */
#define HALF_BUSY 32.0

/* The part of the peak that tiles of so many rows and columns reach: the larger they are, the fewer
 * values a unit reads for each multiplication. */
static double busy_in(double rows, double columns)
{
    double reuse = rows * columns / (rows + columns);

    return reuse / (reuse + HALF_BUSY);
}

/* A way to compute a product: in tiles of this shape, each of which so many units share, as each
 * sums a part of its inner dimension. */
struct tiling {
    double rows, columns, parts;
};

static double count_tiles(const struct hardware_work *work, const struct tiling *t)
{
    return ceil((double)work->m / t->rows) * ceil((double)work->n / t->columns) *
           (double)work->batch;
}

/* The time of a product relative to one that fills all units with the file's tiles.  Each tile is
 * computed completely, and the last round of tiles takes as long as a full one. */
static double slowdown_in(const struct hardware_kernels *k, const struct hardware_work *work,
                          const struct tiling *t)
{
    double full = (double)work->batch * (double)work->m * (double)work->n;
    double rounds = ceil(count_tiles(work, t) * t->parts / (double)k->units);
    double paid = rounds * (double)k->units * t->rows * t->columns / t->parts;
    double starts = work->k > 0 ? 1 + t->parts * k->half_k / (double)work->k : 1;

    return paid / full * starts * busy_in((double)k->tile_m, (double)k->tile_n) /
           busy_in(t->rows, t->columns);
}

/* Seconds to add up the parts of tiles: float32 sums, written and read by way of the cache, which
 * is taken to be twice as fast as the memory. */
static double summing_seconds(const struct hardware *hardware, const struct hardware_work *work,
                              const struct tiling *t)
{
    double sums = (double)work->batch * (double)work->m * (double)work->n * t->parts;

    return t->parts > 1 ? sums * sizeof(float) /
                              (hardware->memory_bytes_per_s * hardware->kernels.memory_efficiency)
                        : 0;
}

/* The least time in tiles of one shape.  Tiles are only shared while there are units without one.
 */
static double seconds_in(const struct hardware *hardware, const struct hardware_work *work,
                         double filled_s, struct tiling t)
{
    double least = INFINITY, most;

    t.parts = 1;
    most = fmin((double)hardware->kernels.units / count_tiles(work, &t),
                (double)work->k / SMALLEST_TILE);
    do {
        least = fmin(least, filled_s * slowdown_in(&hardware->kernels, work, &t) +
                                summing_seconds(hardware, work, &t));
        t.parts *= 2;
    } while (t.parts <= most);
    return least;
}

static bool has_tiles(const struct hardware_kernels *k, const struct hardware_work *work)
{
    return work->kind == HARDWARE_MATMUL && k->units && k->tile_m && k->tile_n && work->m > 0 &&
           work->n > 0 && work->batch > 0;
}

/* Seconds of a product that would take `filled_s` if it filled all units.  Libraries have kernels
 * for tiles of many shapes, none larger than the file's: the fastest is taken. */
static double tiled_seconds(const struct hardware *hardware, const struct hardware_work *work,
                            double filled_s)
{
    const struct hardware_kernels *k = &hardware->kernels;
    double longest = (double)(k->tile_m > k->tile_n ? k->tile_m : k->tile_n);
    double least = INFINITY;

    for (double rows = longest; rows >= fmin(longest, SMALLEST_TILE); rows /= 2)
        for (double columns = longest; columns >= fmin(longest, SMALLEST_TILE); columns /= 2)
            if (rows * columns <= (double)k->tile_m * (double)k->tile_n)
                least = fmin(
                    least, seconds_in(hardware, work, filled_s, (struct tiling){rows, columns, 1}));
    return least;
}

/* ---- other work ---- */

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

/* The fraction of attention's rate that few queries reach, which do not fill its tiles. */
static double queries_share(const struct hardware_kernels *k, const struct hardware_work *work)
{
    bool attends = work->kind == HARDWARE_ATTENTION || work->kind == HARDWARE_ATTENTION_BACKWARD;

    return attends && work->m > 0 ? 1 / (1 + k->attention_half_queries / (double)work->m) : 1;
}

/* The fraction of the peak that a large product reaches.  Libraries and power limits leave less of
 * the rate of 8 bits than of that of 16. */
static double product_efficiency(const struct hardware_kernels *k, enum shd_dtype dtype)
{
    bool coded = dtype == SHD_F8E4M3 || dtype == SHD_F8E5M2 || dtype == SHD_F4E2M1;

    return coded && k->coded_efficiency > 0 ? k->coded_efficiency : k->matmul_efficiency;
}

/* The fraction of the peak rate that the work reaches when memory is not the limit, and tiles fill
 * all units. */
static double efficiency_of(const struct hardware_kernels *k, const struct hardware_work *work)
{
    switch (work->kind) {
    case HARDWARE_MATMUL:
        return product_efficiency(k, work->dtype) *
               (has_tiles(k, work) || work->k < 1
                    ? 1
                    : (double)work->k / ((double)work->k + k->half_k));
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

/* Seconds of computing, if tiles filled all units, and as they do. */
static double filled_seconds(const struct hardware *hardware, const struct hardware_work *work)
{
    double rate = computing_rate(hardware, work);

    return rate > 0 ? work->flops / rate : 0;
}

static double computing_seconds(const struct hardware *hardware, const struct hardware_work *work)
{
    double filled_s = filled_seconds(hardware, work);

    return has_tiles(&hardware->kernels, work) && !is_misaligned(&hardware->kernels, work)
               ? tiled_seconds(hardware, work, filled_s)
               : filled_s / queries_share(&hardware->kernels, work);
}

static double moving_seconds(const struct hardware *hardware, const struct hardware_work *work)
{
    return work->bytes / hardware_kernel_bytes_per_s(hardware, work);
}

double hardware_kernel_seconds(const struct hardware *hardware, const struct hardware_work *work)
{
    struct kernel_parts parts;
    double measured;

    if (kernel_work_seconds(&measured, &parts, hardware, work))
        return measured;
    return fmax(hardware->kernels.launch_s,
                fmax(computing_seconds(hardware, work), moving_seconds(hardware, work)));
}

/* Computing is bound by tiles if it would take half the time, or not be the limit, if they filled
 * all units. */
static enum hardware_bound bound_by_constants(const struct hardware *hardware,
                                              const struct hardware_work *work)
{
    double computing = computing_seconds(hardware, work), moving = moving_seconds(hardware, work);
    double next = fmax(hardware->kernels.launch_s, moving);
    double filled = filled_seconds(hardware, work);

    if (hardware->kernels.launch_s > fmax(computing, moving))
        return HARDWARE_BY_LAUNCH;
    if (moving >= NEARLY_ALL * computing)
        return HARDWARE_BY_MEMORY;
    return filled < computing / 2 || (filled < NEARLY_ALL * computing && filled < next)
               ? HARDWARE_BY_TILES
               : HARDWARE_BY_COMPUTE;
}

enum hardware_bound hardware_kernel_bound(const struct hardware *hardware,
                                          const struct hardware_work *work)
{
    struct kernel_parts parts;
    double measured;

    return kernel_work_seconds(&measured, &parts, hardware, work)
               ? kernel_work_bound(&parts)
               : bound_by_constants(hardware, work);
}

const char *hardware_bound_name(enum hardware_bound bound)
{
    static const char *const names[HARDWARE_NBOUNDS] = {[HARDWARE_BY_COMPUTE] = "compute",
                                                        [HARDWARE_BY_MEMORY] = "memory",
                                                        [HARDWARE_BY_LAUNCH] = "launch",
                                                        [HARDWARE_BY_TILES] = "tiles"};

    return names[bound];
}
