/* Timing collectives on virtual devices (measure.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/measure.h"

#include <shd/mesh.h>
#include <shd/run.h>

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/wait.h"
#include "kern/convert.h"
#include "kern/kern.h"
#include "run/collective.h"

/* Operands repeat with this period; sums of this many elements are exact in all types. */
#define PERIOD 8
/* Elements of a result compared at a time: 2 KiB of the stack. */
#define CHECK_BLOCK 256
/* Maximum calls of a sample: enough for the clock, however short a call is. */
#define CALLS_MAX 10000

/* Data shared by the devices.  Each writes its own entry of `begin` and `end`; device 0 writes the
 * rest, between barriers. */
struct bench {
    const struct measure_opts *opts;
    struct coll_shape shape;
    uint32_t *source;
    double reduced[PERIOD]; /* the reduction of all operands */
    uint64_t bytes;
    uint32_t ncores;
    uint32_t ncalls;
    void **in, **out; /* by device */
    int64_t *begin, *end;
    double *call, *copy, *floor; /* seconds, by sample */
    _Atomic uint64_t nwrong;
};

struct bencher {
    struct bench *b;
    struct shd_device *dev;
    uint32_t me;
    struct coll_call call, empty;
};

/* ---- operands and expected results ---- */

/* An operand: small integers, and 0 except for a few members, so that partial sums over many
 * devices stay exact. */
static double operand(uint32_t member, uint64_t i)
{
    return member < 2 * PERIOD ? (double)((i + member * 3) % PERIOD) : 0;
}

static void fill(const struct bench *b, uint32_t member, uint64_t first, uint64_t count, void *out)
{
    size_t size = shd_dtype_size(b->opts->dtype);
    double x[PERIOD];

    for (uint64_t i = 0; i < PERIOD; i++)
        x[i] = operand(member, first + i);
    for (uint64_t i = 0; i < count; i += PERIOD)
        kern_store_f64(b->opts->dtype, (char *)out + i * size, 1,
                       count - i < PERIOD ? count - i : PERIOD, x);
}

static void reduce_operands(struct bench *b)
{
    enum shd_dtype dtype = b->opts->dtype;
    _Alignas(64) char sum[PERIOD * sizeof(double)];
    _Alignas(64) char x[PERIOD * sizeof(double)];
    double wide[KERN_LANES];

    fill(b, 0, 0, PERIOD, sum);
    for (uint32_t m = 1; m < b->shape.nmembers; m++) {
        fill(b, m, 0, PERIOD, x);
        kern_combine(dtype, b->opts->red, sum, &(const void *){x}, 1, PERIOD);
    }
    if (b->opts->red == SHD_MEAN)
        kern_scale(dtype, sum, 1.0 / b->shape.nmembers, PERIOD);
    kern_load_f64(dtype, sum, 1, PERIOD, wide);
    memcpy(b->reduced, wide, sizeof(b->reduced));
}

static double wanted(const struct bench *b, uint32_t m, uint64_t i)
{
    struct coll_origin from = coll_origin(b->opts->algo->kind, &b->shape, m, i);

    return from.source == COLL_ALL ? b->reduced[from.at % PERIOD] : operand(from.source, from.at);
}

static uint64_t count_wrong(const struct bencher *w)
{
    const struct bench *b = w->b;
    size_t size = shd_dtype_size(b->opts->dtype);
    uint64_t count = coll_out_count(b->opts->algo->kind, &b->shape, w->me);
    double x[CHECK_BLOCK];
    uint64_t nwrong = 0;

    for (uint64_t at = 0; at < count; at += CHECK_BLOCK) {
        uint64_t n = count - at < CHECK_BLOCK ? count - at : CHECK_BLOCK;

        kern_load_f64(b->opts->dtype, (const char *)w->call.out.base + at * size, 1, n, x);
        for (uint64_t i = 0; i < n; i++)
            nwrong += x[i] != wanted(b, w->me, at + i);
    }
    return nwrong;
}

/* ---- samples ---- */

static int meet(struct bencher *w, struct shd_error *err)
{
    return run_collective(w->dev, &w->empty, err);
}

/* The time from the first device's begin to the last device's end, once all have written theirs. */
static double span(const struct bench *b, uint32_t ndevices)
{
    int64_t begin = b->begin[0], end = b->end[0];

    for (uint32_t d = 1; d < ndevices; d++) {
        begin = b->begin[d] < begin ? b->begin[d] : begin;
        end = b->end[d] > end ? b->end[d] : end;
    }
    return (double)(end - begin) * 1e-9;
}

/* Time `ncalls` equal calls on all devices. */
static int sample_calls(struct bencher *w, struct coll_call *call, uint32_t ncalls, double *seconds,
                        struct shd_error *err)
{
    struct bench *b = w->b;
    int status = meet(w, err);

    b->begin[w->me] = wait_clock_ns();
    for (uint32_t i = 0; i < ncalls && status == SHD_OK; i++)
        status = run_collective(w->dev, call, err);
    b->end[w->me] = wait_clock_ns();
    if (status == SHD_OK)
        status = meet(w, err);
    if (status == SHD_OK && w->me == 0)
        *seconds = span(b, b->shape.nmembers) / ncalls;
    return status;
}

/* Time copying the operands of all devices to their results, each as large as the larger of the
 * two, by one device for each core.  The time is scaled to the bytes that the collective must read
 * and write. */
static int sample_copy(struct bencher *w, double *seconds, struct shd_error *err)
{
    struct bench *b = w->b;
    uint32_t n = b->shape.nmembers;
    uint32_t ncopiers = n < b->ncores ? n : b->ncores;
    uint64_t size = shd_dtype_size(b->opts->dtype);
    uint64_t must = 0;
    int status = meet(w, err);

    b->begin[w->me] = wait_clock_ns();
    for (uint32_t d = w->me; d < n && w->me < ncopiers && status == SHD_OK; d += ncopiers)
        memcpy(b->out[d], b->in[d], b->bytes);
    b->end[w->me] = wait_clock_ns();
    if (status == SHD_OK)
        status = meet(w, err);
    if (status != SHD_OK || w->me != 0)
        return status;
    for (uint32_t m = 0; m < n; m++)
        must += size * (coll_in_count(b->opts->algo->kind, &b->shape, m) +
                        coll_out_count(b->opts->algo->kind, &b->shape, m));
    *seconds = b->bytes ? span(b, ncopiers) * (double)must / (2.0 * (double)(n * b->bytes)) : 0;
    return SHD_OK;
}

static int take_samples(struct bencher *w, struct shd_error *err)
{
    struct bench *b = w->b;
    int status = SHD_OK;

    for (uint32_t s = 0; s < b->opts->nsamples && status == SHD_OK; s++) {
        status = sample_calls(w, &w->call, b->ncalls, &b->call[s], err);
        if (status == SHD_OK)
            status = sample_copy(w, &b->copy[s], err);
        if (status == SHD_OK)
            status = sample_calls(w, &w->empty, b->ncalls, &b->floor[s], err);
    }
    return status;
}

/* Warm up, and determine how many calls fill a sample. */
static int warm_up(struct bencher *w, struct shd_error *err)
{
    struct bench *b = w->b;
    uint32_t n = b->opts->nwarmups > 0 ? b->opts->nwarmups : 1;
    double seconds = 0;
    double calls;
    int status = sample_calls(w, &w->call, 1, &seconds, err); /* touches the pages */

    if (status == SHD_OK)
        status = sample_calls(w, &w->call, n, &seconds, err);
    if (status != SHD_OK || w->me != 0)
        return status == SHD_OK ? meet(w, err) : status;
    calls = (double)b->opts->sample_ns * 1e-9 / (seconds > 1e-9 ? seconds : 1e-9);
    b->ncalls = calls < 1 ? 1 : calls > CALLS_MAX ? CALLS_MAX : (uint32_t)calls;
    return meet(w, err);
}

static int check_last(struct bencher *w, struct shd_error *err)
{
    int status;

    memset(w->call.out.base, 0xff, w->b->bytes);
    status = run_collective(w->dev, &w->call, err);
    if (status == SHD_OK)
        atomic_fetch_add(&w->b->nwrong, count_wrong(w));
    return status;
}

static int prepare(struct bencher *w, struct shd_error *err)
{
    struct bench *b = w->b;
    uint8_t axis = 0;
    int status = run_group_over_axes(&w->call.seat, w->dev, &axis, 1, err);

    w->empty.seat = w->call.seat;
    if (status == SHD_OK)
        status = shd_device_alloc(w->dev, b->bytes, "operand", &w->call.in.base, err);
    if (status == SHD_OK)
        status = shd_device_alloc(w->dev, b->bytes, "result", &w->call.out.base, err);
    if (status != SHD_OK)
        return status;
    b->in[w->me] = w->call.in.base;
    b->out[w->me] = w->call.out.base;
    fill(b, w->me, 0, b->bytes / shd_dtype_size(b->opts->dtype), w->call.in.base);
    memset(w->call.out.base, 0, b->bytes);
    return SHD_OK;
}

static int device_main(struct shd_device *dev, void *arg, struct shd_error *err)
{
    struct bench *b = arg;
    struct bencher w = {.b = b, .dev = dev, .me = (uint32_t)shd_device_position(dev)};
    int status;

    w.call = (struct coll_call){.kind = b->opts->algo->kind,
                                .algo = b->opts->algo,
                                .dtype = b->opts->dtype,
                                .red = b->opts->red,
                                .count = b->shape.count,
                                .root = b->shape.root,
                                .source = b->source,
                                .where = "bench"};
    w.empty = (struct coll_call){.kind = COLL_BARRIER, .where = "bench"};
    status = prepare(&w, err);
    if (status == SHD_OK)
        status = warm_up(&w, err);
    if (status == SHD_OK)
        status = take_samples(&w, err);
    if (status == SHD_OK)
        status = check_last(&w, err);
    return status;
}

/* ---- around the run ---- */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static struct measure_spread spread_of(double *seconds, uint32_t n)
{
    qsort(seconds, n, sizeof(*seconds), compare_doubles);
    return (struct measure_spread){seconds[0], seconds[n / 2], seconds[n - 1]};
}

static void conclude(struct measure *out, struct bench *b)
{
    uint32_t n = b->opts->nsamples;

    *out = (struct measure){.bytes = b->bytes,
                            .count = b->shape.count,
                            .ncalls = b->ncalls,
                            .ncores = b->ncores,
                            .call = spread_of(b->call, n),
                            .copy = spread_of(b->copy, n),
                            .floor = spread_of(b->floor, n),
                            .nwrong = atomic_load(&b->nwrong)};
    out->algorithm_rate = (double)b->bytes / out->call.median;
    out->bus_rate =
        out->algorithm_rate * coll_bus_factor(b->opts->algo->kind, (double)b->shape.nmembers);
}

/* Set the operand so that the larger of operand and result has at most the requested size. */
static void set_shape(struct bench *b)
{
    uint32_t n = b->opts->ndevices;
    uint64_t size = shd_dtype_size(b->opts->dtype);
    enum coll_kind kind = b->opts->algo->kind;
    bool gathers = kind == COLL_ALL_GATHER || kind == COLL_GATHER;
    bool cuts = kind == COLL_ALL_TO_ALL; /* equal results need equal chunks */
    uint64_t count = b->opts->bytes / size / (gathers ? n : 1);

    if (cuts)
        count -= count % n;
    b->shape = (struct coll_shape){.nmembers = n, .count = count, .source = b->source};
    b->bytes = kind == COLL_BARRIER ? 0 : count * size * (gathers ? n : 1);
    for (uint32_t m = 0; m < n; m++)
        b->source[m] = (m + n - 1) % n;
}

static bool allocate(struct bench *b)
{
    size_t n = b->opts->ndevices;

    b->source = calloc(n, sizeof(*b->source));
    b->in = calloc(n, 2 * sizeof(void *));
    b->begin = calloc(n, 2 * sizeof(*b->begin));
    b->call = calloc(b->opts->nsamples, 3 * sizeof(*b->call));
    if (!b->source || !b->in || !b->begin || !b->call)
        return false;
    b->out = b->in + n;
    b->end = b->begin + n;
    b->copy = b->call + b->opts->nsamples;
    b->floor = b->copy + b->opts->nsamples;
    return true;
}

static int run_bench(struct measure *out, struct bench *b, struct shd_error *err)
{
    const char *names[] = {"device"};
    int32_t sizes[] = {(int32_t)b->opts->ndevices};
    struct shd_run_opts opts = SHD_RUN_OPTS_INIT;
    struct shd_mesh *mesh;
    long ncores = sysconf(_SC_NPROCESSORS_ONLN);
    int status = shd_mesh_create(&mesh, names, sizes, 1, err);

    if (status != SHD_OK)
        return status;
    set_shape(b);
    reduce_operands(b);
    b->ncores = ncores > 1 ? (uint32_t)ncores : 1;
    opts.memory = b->opts->memory;
    opts.stop_request = b->opts->stop_request;
    status = shd_run(mesh, device_main, b, &opts, NULL, err);
    if (status == SHD_OK)
        conclude(out, b);
    shd_mesh_destroy(mesh);
    return status;
}

int measure_run(struct measure *out, const struct measure_opts *opts, struct shd_error *err)
{
    struct bench b = {.opts = opts};
    int status;

    if (!coll_serves(opts->algo, opts->ndevices))
        return shd_error_set(err, SHD_EINVAL,
                             "algorithm %s of %s does not support groups of %" PRIu32 " devices",
                             opts->algo->name, coll_kind_name(opts->algo->kind), opts->ndevices);
    if (allocate(&b))
        status = run_bench(out, &b, err);
    else
        status =
            shd_error_set(err, SHD_ENOMEM, "no memory for the measurements of %" PRIu32 " devices",
                          opts->ndevices);
    free(b.source);
    free(b.in);
    free(b.begin);
    free(b.call);
    return status;
}
