/* Measures the seconds of a collective of devices on several ranks, like collectives_mpi.c.
 *
 * usage: mpirun -n RANKS collectives_ranks DEVICES OP BYTES...
 *
 * BYTES is the larger of operand and result of a device.  Prints {"bytes", "seconds"} per line: the
 * median of the samples, each from a barrier to a barrier.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/wait.h"
#include "run/ranks/over_ranks.h"
#include "run/ranks/ranks.h"
#include "run/ranks/spread.h"
#include "run/device.h"

#define SAMPLES 5
#define SAMPLE_NS 5000000

struct bench {
    enum coll_kind kind;
    uint32_t ndevices;
    uint64_t bytes;
    uint32_t *source;
    double seconds; /* measured by device 0 */
};

static int call(const struct bench *b, struct shd_device *dev, void *in, void *out,
                struct shd_error *err)
{
    uint64_t count = b->bytes / sizeof(float), part = count / b->ndevices;

    switch (b->kind) {
    case COLL_ALL_REDUCE:
        return shd_device_all_reduce(dev, NULL, in, out, count, SHD_F32, SHD_SUM, err);
    case COLL_REDUCE_SCATTER:
        return shd_device_reduce_scatter(dev, NULL, in, out, part * b->ndevices, SHD_F32, SHD_SUM,
                                         err);
    case COLL_ALL_GATHER:
        return shd_device_all_gather(dev, NULL, in, out, part, SHD_F32, err);
    case COLL_ALL_TO_ALL:
        return shd_device_all_to_all(dev, NULL, in, out, part * b->ndevices, SHD_F32, err);
    case COLL_PERMUTE:
        return shd_device_permute(dev, NULL, b->source, in, out, count, SHD_F32, err);
    case COLL_BROADCAST: /* in place at the root, like MPI */
        return shd_device_broadcast(dev, NULL, 0, in, shd_device_position(dev) == 0 ? in : out,
                                    count, SHD_F32, err);
    case COLL_REDUCE:
        return shd_device_reduce(dev, NULL, 0, in, out, count, SHD_F32, SHD_SUM, err);
    case COLL_GATHER:
        return shd_device_gather(dev, NULL, 0, in, out, part, SHD_F32, err);
    default:
        return shd_device_scatter(dev, NULL, 0, in, out, part * b->ndevices, SHD_F32, err);
    }
}

static int sample(const struct bench *b, struct shd_device *dev, void *in, void *out, int ncalls,
                  double *seconds, struct shd_error *err)
{
    int status = shd_device_barrier(dev, NULL, err);
    int64_t began_ns = wait_clock_ns();

    for (int i = 0; i < ncalls && status == SHD_OK; i++)
        status = call(b, dev, in, out, err);
    if (status == SHD_OK)
        status = shd_device_barrier(dev, NULL, err);
    *seconds = (double)(wait_clock_ns() - began_ns) * 1e-9 / ncalls;
    return status;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static int device_main(struct shd_device *dev, void *arg, struct shd_error *err)
{
    struct bench *b = arg;
    double seconds[SAMPLES], one;
    int64_t ncalls = 1;
    void *in, *out;
    int status = shd_device_alloc(dev, b->bytes, "in", &in, err);

    if (status == SHD_OK)
        status = shd_device_alloc(dev, b->bytes, "out", &out, err);
    if (status != SHD_OK)
        return status;
    for (uint64_t i = 0; i < b->bytes / sizeof(float); i++)
        ((float *)in)[i] = (float)(i % 8) + (float)shd_device_position(dev);
    memset(out, 0, b->bytes);
    status = sample(b, dev, in, out, 1, &one, err);
    if (status == SHD_OK)
        status = sample(b, dev, in, out, 3, &one, err);
    if (one * 1e9 < SAMPLE_NS)
        ncalls = (int64_t)(SAMPLE_NS / (one * 1e9)) + 1;
    if (status == SHD_OK)
        status = shd_device_broadcast(dev, NULL, 0, &ncalls, &ncalls, 1, SHD_I64, err);
    for (int s = 0; s < SAMPLES && status == SHD_OK; s++)
        status = sample(b, dev, in, out, (int)ncalls, &seconds[s], err);
    qsort(seconds, SAMPLES, sizeof *seconds, compare);
    if (shd_device_position(dev) == 0)
        b->seconds = seconds[SAMPLES / 2];
    return status;
}

static int measure(int32_t ndevices, enum coll_kind kind, uint64_t bytes, struct shd_error *err)
{
    const char *names[] = {"device"};
    struct bench b = {.kind = kind, .ndevices = (uint32_t)ndevices, .bytes = bytes};
    struct shd_mesh *mesh;
    struct spread *spread;
    int status = shd_mesh_create(&mesh, names, &ndevices, 1, err);

    if (status != SHD_OK)
        return status;
    status = spread_create(&spread, mesh, NULL, err);
    b.source = calloc((size_t)ndevices, sizeof *b.source);
    for (int32_t m = 0; b.source && m < ndevices; m++)
        b.source[m] = (uint32_t)((m + ndevices - 1) % ndevices);
    if (status == SHD_OK)
        status = run_over_ranks(mesh, device_main, &b, NULL, spread, NULL, err);
    if (status == SHD_OK && ranks_me() == 0)
        printf("{\"bytes\": %llu, \"seconds\": %.9f}\n", (unsigned long long)bytes, b.seconds);
    free(b.source);
    spread_destroy(spread);
    shd_mesh_destroy(mesh);
    return status;
}

int main(int argc, char **argv)
{
    struct shd_error err = {.status = SHD_OK};
    int status = ranks_begin(&err);
    int kind = argc > 2 ? coll_kind_parse(argv[2]) : -1;

    if (kind < 0)
        status = shd_error_set(&err, SHD_EINVAL, "usage: collectives_ranks DEVICES OP BYTES...");
    for (int i = 3; i < argc && status == SHD_OK; i++)
        status = measure((int32_t)strtol(argv[1], NULL, 10), (enum coll_kind)kind,
                         strtoull(argv[i], NULL, 10), &err);
    if (status != SHD_OK)
        fprintf(stderr, "%s\n", err.text);
    ranks_end();
    return status != SHD_OK;
}
