/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "calibrate/machine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/order.h"
#include "base/system.h"
#include "calibrate/least_squares.h"
#include "calibrate/probe.h"
#include "calibrate/scenarios.h"
#include "run/measure.h"

/* Most ops of one kind in all scenarios together. */
#define KERNELS_MAX 1024
#define SCENARIO_MAX 1024

/* A measured op. */
struct seen {
    struct hardware_work work;
    double seconds;
};

struct measuring {
    struct machine *machine;
    const struct machine_opts *opts;
    unsigned ndone;
    struct seen seen[KERNELS_MAX]; /* of the current part */
    size_t nseen;
    double step_seconds; /* least time of the last scenario's step */
    uint32_t nops;       /* in the last scenario's step */
};

static void begin(struct measuring *m, const char *what);

/* ---- one scenario ---- */

static void keep(struct measuring *m, const struct probe *probe)
{
    const struct program *program = probe->variant.trial.program;

    for (uint32_t i = program->first_op; i < program->nops && m->nseen < KERNELS_MAX; i++) {
        struct seen *s = &m->seen[m->nseen];

        m->nseen += probe_op(probe, i, &s->work, &s->seconds) && s->seconds > 0;
    }
    m->step_seconds = (double)probe->record->fastest_step_ns * 1e-9;
    m->nops = program->nops - program->first_op;
}

/* Run a scenario and add its ops to those seen. */
static int run(struct measuring *m, const char *scenario, struct shd_error *err)
{
    struct probe probe;
    int status =
        probe_run(&probe, "this-machine", scenario, m->opts->repeats, m->opts->stop_request, err);

    if (status != SHD_OK)
        return status;
    keep(m, &probe);
    probe_fini(&probe);
    return SHD_OK;
}

/* Keep only the ops of one kind. */
static void keep_kind(struct measuring *m, enum hardware_work_kind kind)
{
    size_t n = 0;

    for (size_t i = 0; i < m->nseen; i++)
        if (m->seen[i].work.kind == kind)
            m->seen[n++] = m->seen[i];
    m->nseen = n;
}

/* ---- products ---- */

/* Products with at least this many rows and columns reach the full rate. */
#define WIDE 128

static double rate_of_products(const struct measuring *m);

/* Fit seconds = flops / rate * (1 + half_k / k); half_k is 0 if noise leaves nothing for the
 * rate. */
static void fit_products(struct measuring *m)
{
    struct hardware *h = &m->machine->hardware;
    struct fit_row rows[KERNELS_MAX];
    double x[2];
    size_t n = 0;

    for (size_t i = 0; i < m->nseen; i++) {
        const struct hardware_work *w = &m->seen[i].work;
        double per_s = w->flops / m->seen[i].seconds;

        if (w->m >= WIDE && w->n >= WIDE)
            rows[n++] = (struct fit_row){{per_s, per_s / (double)w->k}};
    }
    fit_least_squares(x, 2, rows, n);
    h->kernels.half_k = x[0] > 0 ? x[1] / x[0] : 0;
    h->flops_per_s[SHD_F32] = x[0] > 0 ? 1 / x[0] : rate_of_products(m);
}

static int measure_products(struct measuring *m, struct shd_error *err)
{
    static const int inner[] = {32, 64, 256};
    char text[SCENARIO_MAX];
    int status;

    begin(m, "products of float32");
    status = run(m, MACHINE_PRODUCTS, err);
    for (size_t i = 0; i < sizeof inner / sizeof inner[0] && status == SHD_OK; i++) {
        (void)snprintf(text, sizeof text, MACHINE_SMALL_PRODUCTS, inner[i]);
        status = run(m, text, err);
    }
    keep_kind(m, HARDWARE_MATMUL);
    fit_products(m);
    return status;
}

/* ---- types ---- */

static size_t kernels_of(struct fit_kernel *out, const struct measuring *m)
{
    size_t n = 0;

    for (size_t i = 0; i < m->nseen; i++)
        if (m->seen[i].work.kind == HARDWARE_MEMORY)
            out[n++] = (struct fit_kernel){m->seen[i].work.bytes, m->seen[i].work.flops,
                                           m->seen[i].seconds};
    return n;
}

/* Median rate of products. */
static double rate_of_products(const struct measuring *m)
{
    double rates[KERNELS_MAX];
    size_t n = 0;

    for (size_t i = 0; i < m->nseen; i++) {
        const struct hardware_work *w = &m->seen[i].work;

        if (w->kind == HARDWARE_MATMUL)
            rates[n++] = w->flops / m->seen[i].seconds *
                         (1 + m->machine->hardware.kernels.half_k / (double)w->k);
    }
    qsort(rates, n, sizeof *rates, order_double);
    return n > 0 ? rates[n / 2] : 0;
}

static int run_transformer(struct measuring *m, enum shd_dtype dtype, int d_model, int rows,
                           int seq, struct shd_error *err)
{
    char text[SCENARIO_MAX];

    (void)snprintf(text, sizeof text, MACHINE_TRANSFORMER, d_model, 4 * d_model,
                   shd_dtype_name(dtype), rows, seq);
    return run(m, text, err);
}

/* Measure products and elementwise kernels, given the rates of bytes, of all types but float32. */
static int measure_types(struct measuring *m, struct shd_error *err)
{
    static const enum shd_dtype types[] = {SHD_F64, SHD_BF16, SHD_F16};
    struct hardware *h = &m->machine->hardware;
    struct fit_kernel kernels[KERNELS_MAX];
    int status = SHD_OK;

    for (size_t i = 0; i < sizeof types / sizeof types[0] && status == SHD_OK; i++) {
        begin(m, shd_dtype_name(types[i]));
        status = run_transformer(m, types[i], 192, 4, 64, err);
        h->flops_per_s[types[i]] = rate_of_products(m);
        h->elementwise_per_s[types[i]] =
            fit_flops_per_s(kernels, kernels_of(kernels, m), h->cache_bytes_per_s);
    }
    return status;
}

/* ---- attention ---- */

/* Mean over attention ops of the largest share of the products' rate that fits the measured time,
 * given `half_head` and `half_keys`; adds the squared relative errors to *error. */
static double attention_of(double *error, const struct measuring *m, enum hardware_work_kind kind,
                           double half_head, double half_keys)
{
    double shares[KERNELS_MAX], mean = 0;
    size_t n = 0;

    for (size_t i = 0; i < m->nseen; i++) {
        const struct hardware_work *w = &m->seen[i].work;

        if (w->kind != kind)
            continue;
        shares[n] = w->flops / m->seen[i].seconds / m->machine->hardware.flops_per_s[SHD_F32] *
                    (1 + half_head / (double)w->k) * (1 + half_keys / (double)w->n);
        mean += shares[n++];
    }
    mean = n > 0 ? mean / (double)n : 1;
    for (size_t i = 0; i < n; i++)
        *error += (shares[i] / mean - 1) * (shares[i] / mean - 1);
    return mean;
}

/* Fit `half_head` and `half_keys` to forward and backward together, which have the same scores. */
static void fit_attention(struct hardware_kernels *k, const struct measuring *m)
{
    double least = INFINITY;

    for (double head = 1; head < 256; head *= 1.1)
        for (double keys = 1; keys < 256; keys *= 1.1) {
            double error = 0;
            double forward = attention_of(&error, m, HARDWARE_ATTENTION, head, keys);
            double backward = attention_of(&error, m, HARDWARE_ATTENTION_BACKWARD, head, keys);

            if (error >= least)
                continue;
            least = error;
            k->attention_half_head = head;
            k->attention_half_keys = keys;
            k->attention_efficiency = forward;
            k->attention_backward_efficiency = backward;
        }
}

static int measure_attention(struct measuring *m, struct shd_error *err)
{
    static const int sizes[][2] = {{2, 256}, {4, 64},   {4, 256},  {4, 1024},
                                   {8, 256}, {8, 1024}, {16, 128}, {16, 1024}};
    char text[SCENARIO_MAX];
    int status = SHD_OK;

    begin(m, "attention");
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && status == SHD_OK; i++) {
        (void)snprintf(text, sizeof text, MACHINE_ATTENTION, sizes[i][0], sizes[i][1]);
        status = run(m, text, err);
    }
    fit_attention(&m->machine->hardware.kernels, m);
    return status;
}

/* ---- memory ---- */

/* Cache size: bytes of the largest sum of arrays whose rate is nearer to the smallest sum's than to
 * the largest sum's.  The smallest fits a cache at any rate: with other load, rates may rise. */
static int measure_cache(struct measuring *m, struct shd_error *err)
{
    struct hardware *h = &m->machine->hardware;
    double bytes[8], rates[8], between;
    char text[SCENARIO_MAX];
    int n = 0, status = SHD_OK;

    begin(m, "caches");
    for (int rows = 256; n < 8 && status == SHD_OK; rows *= 2, n++) { /* 768 KiB to 96 MiB */
        double best = 0;

        m->nseen = 0;
        (void)snprintf(text, sizeof text, MACHINE_SUMS, rows);
        status = run(m, text, err);
        for (size_t i = 0; i < m->nseen; i++)
            best = fmax(best, m->seen[i].work.bytes / m->seen[i].seconds);
        bytes[n] = m->nseen > 0 ? m->seen[0].work.bytes : 0;
        rates[n] = best;
    }
    if (status != SHD_OK)
        return status;
    between = sqrt(rates[0] * rates[n - 1]);
    h->cache_bytes = bytes[0];
    for (int i = 1; i < n && rates[i - 1] >= between && rates[i] >= between; i++)
        h->cache_bytes = bytes[i];
    return SHD_OK;
}

/* Operations per byte above which a kernel counts as bound by operations. */
#define DENSE 1.0

/* Rate of operations of the kernels bound by operations. */
static double rate_of_dense(const struct fit_kernel *kernels, size_t n)
{
    double flops = 0, seconds = 0;

    for (size_t i = 0; i < n; i++)
        if (kernels[i].flops >= DENSE * kernels[i].bytes) {
            flops += kernels[i].flops;
            seconds += kernels[i].seconds;
        }
    return seconds > 0 ? flops / seconds : 0;
}

/* Partition kernels: those that fit the cache first; returns their number. */
static size_t part_by_size(struct fit_kernel *kernels, size_t n, double cache_bytes)
{
    size_t nsmall = 0;

    for (size_t i = 0; i < n; i++)
        if (kernels[i].bytes <= cache_bytes) {
            struct fit_kernel small = kernels[i];

            kernels[i] = kernels[nsmall];
            kernels[nsmall++] = small;
        }
    return nsmall;
}

static int measure_memory(struct measuring *m, struct shd_error *err)
{
    struct hardware *h = &m->machine->hardware;
    struct fit_kernel kernels[KERNELS_MAX];
    size_t n, nsmall;
    double mean, best = 0;
    int status;

    begin(m, "elementwise kernels");
    status = run_transformer(m, SHD_F32, 128, 2, 64, err);
    if (status == SHD_OK)
        status = run_transformer(m, SHD_F32, 192, 4, 64, err);
    if (status == SHD_OK)
        status = run_transformer(m, SHD_F32, 256, 8, 512, err);
    n = kernels_of(kernels, m);
    nsmall = part_by_size(kernels, n, h->cache_bytes);
    h->elementwise_per_s[SHD_F32] = rate_of_dense(kernels, nsmall);
    h->cache_bytes_per_s = fit_bytes_per_s(kernels, nsmall, h->elementwise_per_s[SHD_F32]);
    mean = n > nsmall ? fit_bytes_per_s(kernels + nsmall, n - nsmall, h->elementwise_per_s[SHD_F32])
                      : h->cache_bytes_per_s; /* the caches hold all arrays measured */
    for (size_t i = nsmall; i < n; i++)
        best = fmax(best, kernels[i].bytes / kernels[i].seconds);
    h->memory_bytes_per_s = fmax(best, mean);
    h->kernels.memory_efficiency = mean / h->memory_bytes_per_s;
    h->memory_bytes = (double)system_memory_bytes() / m->machine->ncores;
    return status;
}

/* ---- minimum time of an op ---- */

static int measure_launch(struct measuring *m, struct shd_error *err)
{
    int status;

    begin(m, "ops that do nothing");
    status = run(m, MACHINE_NOTHING, err);
    if (status == SHD_OK)
        m->machine->hardware.kernels.launch_s = m->step_seconds / m->nops;
    return status;
}

/* ---- collectives ---- */

#define SAMPLES_LEAST 3
#define SAMPLE_NS 2000000

static const enum coll_kind kinds[] = {COLL_ALL_REDUCE, COLL_ALL_GATHER, COLL_REDUCE_SCATTER};
#define NKINDS (sizeof kinds / sizeof kinds[0])

static int measure_collective(double *seconds, const struct measuring *m, enum coll_kind kind,
                              uint32_t ndevices, uint64_t bytes, struct shd_error *err)
{
    const struct measure_opts opts = {.algo = coll_find(kind, "direct"),
                                      .dtype = SHD_F32,
                                      .red = SHD_SUM,
                                      .ndevices = ndevices,
                                      .bytes = bytes,
                                      .nwarmups = 2,
                                      .nsamples = m->opts->repeats + SAMPLES_LEAST,
                                      .sample_ns = SAMPLE_NS,
                                      .stop_request = m->opts->stop_request};
    struct measure measured;
    int status = measure_run(&measured, &opts, err);

    if (status == SHD_OK)
        *seconds = measured.call.least;
    return status;
}

/* Time of the fastest collective with almost no bytes. */
static int least_of_small(double *out, const struct measuring *m, uint32_t n, struct shd_error *err)
{
    int status = SHD_OK;

    *out = INFINITY;
    for (size_t i = 0; i < NKINDS && status == SHD_OK; i++) {
        double seconds = 0;

        status = measure_collective(&seconds, m, kinds[i], n, 8 * (uint64_t)n, err);
        *out = fmin(*out, seconds);
    }
    return status;
}

/* Fit latency and step time: a collective of n devices takes latency + (n - 1) steps.  More than
 * two devices are needed to separate the two. */
static int measure_latency(struct measuring *m, uint32_t n, struct shd_error *err)
{
    struct hardware_tier *tier = &m->machine->hardware.tiers[0];
    double two = 0, all = 0;
    int status = least_of_small(&two, m, 2, err);

    if (status == SHD_OK && n > 2)
        status = least_of_small(&all, m, n, err);
    tier->step_s = n > 2 ? fmax((all - two) / (n - 2), 0) : 0;
    tier->latency_s = fmax(two - tier->step_s, 0);
    return status;
}

/* Share of a collective's time that is left to its bytes at least, in case its latency was less
 * than the small collectives'. */
#define BYTES_SHARE 0.1

/* Fit seconds - latency = array / copy_rate + bytes into each device / rate. */
static int measure_rates(struct measuring *m, uint32_t n, struct shd_error *err)
{
    static const uint64_t sizes[] = {UINT64_C(1) << 20, UINT64_C(1) << 22, UINT64_C(1) << 24};
    struct hardware_tier *tier = &m->machine->hardware.tiers[0];
    struct fit_row rows[3 * NKINDS];
    double x[2];
    int status = SHD_OK;

    for (size_t i = 0; i < 3 * NKINDS && status == SHD_OK; i++) {
        enum coll_kind kind = kinds[i / 3];
        double bytes = (double)sizes[i % 3], rounds = kind == COLL_ALL_REDUCE ? 2 : 1, all = 0;
        double moving;

        status = measure_collective(&all, m, kind, n, sizes[i % 3], err);
        moving = all - tier->latency_s - rounds * (n - 1) * tier->step_s;
        moving = fmax(moving, fmax(BYTES_SHARE * all, 1e-9));
        rows[i] = (struct fit_row){{bytes / moving, rounds * bytes * (n - 1) / n / moving}};
    }
    if (status != SHD_OK)
        return status;
    fit_least_squares(x, 2, rows, 3 * NKINDS);
    tier->copy_bytes_per_s = x[0] > 0 ? 1 / x[0] : 0;
    tier->bytes_per_s = x[1] > 0 ? 1 / x[1] : tier->copy_bytes_per_s;
    return SHD_OK;
}

static int measure_collectives(struct measuring *m, struct shd_error *err)
{
    struct hardware *h = &m->machine->hardware;
    uint32_t n = m->machine->ncores > 2 ? m->machine->ncores : 2;
    int status;

    begin(m, "collectives");
    h->ntiers = 1;
    h->tiers[0] = (struct hardware_tier){.efficiency = 1, .oversubscription = 1};
    status = measure_latency(m, n, err);
    return status == SHD_OK ? measure_rates(m, n, err) : status;
}

/* ---- all parts ---- */

typedef int (*part_fn)(struct measuring *m, struct shd_error *err);

/* In this order, since later parts need earlier results; measure_types() counts as three parts. */
static const part_fn parts[] = {measure_products,   measure_attention, measure_cache,
                                measure_memory,     measure_types,     measure_launch,
                                measure_collectives};
#define NPARTS (sizeof parts / sizeof parts[0] + 2)

static void begin(struct measuring *m, const char *what)
{
    m->nseen = 0;
    if (m->opts->begins)
        m->opts->begins(m->opts->arg, m->ndone, NPARTS, what);
    m->ndone++;
}

/* Rates are the products' so far, and attention may be faster (its blocks stay in the caches): set
 * the peak to the fastest rate, and scale all efficiencies to it. */
static void raise_peak(struct hardware *h)
{
    struct hardware_kernels *k = &h->kernels;
    double fastest = fmax(1, fmax(k->attention_efficiency, k->attention_backward_efficiency));

    for (int t = 0; t < SHD_NDTYPES; t++)
        h->flops_per_s[t] *= fastest;
    k->matmul_efficiency /= fastest;
    k->attention_efficiency /= fastest;
    k->attention_backward_efficiency /= fastest;
}

int machine_measure(struct machine *out, const struct machine_opts *opts, struct shd_error *err)
{
    struct measuring *m = calloc(1, sizeof *m);
    struct machine machine = {.ncores = 1};
    long ncores = sysconf(_SC_NPROCESSORS_ONLN);
    int status = SHD_OK;

    if (!m)
        return shd_error_set(err, SHD_ENOMEM, "no memory for measurements");
    machine.ncores = ncores > 1 ? (uint32_t)ncores : 1;
    machine.hardware.kernels.matmul_efficiency = 1;
    system_name_processor(machine.processor, sizeof machine.processor);
    m->machine = &machine;
    m->opts = opts;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && status == SHD_OK; i++)
        status = parts[i](m, err);
    raise_peak(&machine.hardware);
    free(m);
    if (status == SHD_OK)
        *out = machine;
    return status;
}
