/* Runs many threads in collectives of many shapes at once, for `make stress`, best with the thread
 * sanitizer.  Prints its seed; the same seed makes the same calls.
 *
 * usage: stress [SEED [ROUNDS]]
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <shd/run.h>
#include <stdlib.h>

#include "coll/coll.h"
#include "../support/tap.h"

#define LEAST_COUNT 1
#define LARGE_COUNT 6000

struct stress {
    uint64_t seed;
    uint32_t rounds;
    uint32_t nwrong;
};

/* A random number for call `i`, equal on all devices. */
static uint64_t draw(uint64_t seed, uint64_t i)
{
    uint64_t x = (seed + i) * UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static int32_t operand(uint32_t member, uint64_t i)
{
    return (int32_t)(member * 3 + i % 11);
}

static int32_t total(uint32_t n, uint64_t i)
{
    return (int32_t)(3 * (uint64_t)n * (n - 1) / 2 + n * (i % 11));
}

struct call {
    struct shd_device *dev;
    const char *axes;
    uint32_t me, n, root;
    uint64_t count;
    int32_t *in, *out;
};

static uint32_t check_all_reduce(const struct call *c)
{
    uint32_t nwrong = 0;

    for (uint64_t i = 0; i < c->count; i++)
        nwrong += c->out[i] != total(c->n, i);
    return nwrong;
}

static uint32_t check_reduce_scatter(const struct call *c)
{
    uint64_t at = coll_chunk_at(c->count, c->n, c->me);
    uint32_t nwrong = 0;

    for (uint64_t i = 0; i < coll_chunk_count(c->count, c->n, c->me); i++)
        nwrong += c->out[i] != total(c->n, at + i);
    return nwrong;
}

static uint32_t check_all_gather(const struct call *c)
{
    uint32_t nwrong = 0;

    for (uint64_t i = 0; i < c->count * c->n; i++)
        nwrong += c->out[i] != operand((uint32_t)(i / c->count), i % c->count);
    return nwrong;
}

static uint32_t check_broadcast(const struct call *c)
{
    uint32_t nwrong = 0;

    for (uint64_t i = 0; i < c->count; i++)
        nwrong += c->out[i] != operand(c->root, i);
    return nwrong;
}

static int make_call(struct call *c, uint64_t kind, uint32_t *nwrong, struct shd_error *err)
{
    int status;

    switch (kind) {
    case 0:
        status = shd_device_all_reduce(c->dev, c->axes, c->in, c->out, c->count, SHD_I32, SHD_SUM,
                                       err);
        *nwrong += status == SHD_OK ? check_all_reduce(c) : 0;
        return status;
    case 1:
        status = shd_device_reduce_scatter(c->dev, c->axes, c->in, c->out, c->count, SHD_I32,
                                           SHD_SUM, err);
        *nwrong += status == SHD_OK ? check_reduce_scatter(c) : 0;
        return status;
    case 2:
        c->count = c->count / c->n + 1;
        status = shd_device_all_gather(c->dev, c->axes, c->in, c->out, c->count, SHD_I32, err);
        *nwrong += status == SHD_OK ? check_all_gather(c) : 0;
        return status;
    default:
        status = shd_device_broadcast(c->dev, c->axes, c->root, c->in, c->out, c->count, SHD_I32,
                                      err);
        *nwrong += status == SHD_OK ? check_broadcast(c) : 0;
        return status;
    }
}

static int stress_main(struct shd_device *dev, void *arg, struct shd_error *err)
{
    static const char *const axes[] = {NULL, "a", "b", "a,b", "b,a"};
    struct stress *s = arg;
    size_t room = (LARGE_COUNT + (size_t)shd_mesh_size(shd_device_mesh(dev))) * sizeof(int32_t);
    void *in = NULL, *out = NULL;
    uint32_t nwrong = 0;
    int status = shd_device_alloc(dev, room, "in", &in, err);

    if (status == SHD_OK)
        status = shd_device_alloc(dev, room, "out", &out, err);
    for (uint64_t i = 0; i < s->rounds && status == SHD_OK; i++) {
        uint64_t x = draw(s->seed, i);
        struct call c = {.dev = dev, .axes = axes[x % 5], .in = in, .out = out};

        status = shd_device_group(dev, c.axes, &c.me, &c.n, err);
        if (status != SHD_OK)
            break;
        c.count = x >> 8 & 1 ? LEAST_COUNT + (x >> 16) % 16 : LARGE_COUNT;
        c.root = (uint32_t)(x >> 32) % c.n;
        for (uint64_t k = 0; k < c.count; k++)
            c.in[k] = operand(c.me, k);
        status = make_call(&c, x >> 12 & 3, &nwrong, err);
    }
    __atomic_add_fetch(&s->nwrong, nwrong, __ATOMIC_RELAXED);
    return status;
}

static void test(int32_t a, int32_t b, uint64_t seed, uint32_t rounds, const char *algorithms,
                 int64_t fuse_bytes)
{
    const char *names[] = {"a", "b"};
    int32_t sizes[] = {a, b};
    struct stress s = {.seed = seed, .rounds = rounds};
    struct shd_run_opts opts = SHD_RUN_OPTS_INIT;
    struct shd_error err = {0, ""};
    struct shd_mesh *mesh;
    int status = shd_mesh_create(&mesh, names, sizes, 2, &err);

    opts.algorithms = algorithms;
    opts.fuse_bytes = fuse_bytes;
    opts.wait_limit_s = -1;
    if (status == SHD_OK) {
        status = shd_run(mesh, stress_main, &s, &opts, NULL, &err);
        shd_mesh_destroy(mesh);
    }
    ok(status == SHD_OK && s.nwrong == 0, "%" PRId32 " x %" PRId32 " devices, %s, fuse %" PRId64, a,
       b, algorithms ? algorithms : "direct", fuse_bytes);
    if (status != SHD_OK || s.nwrong)
        diag("seed %" PRIu64 ": status %d, %" PRIu32 " wrong: %s", seed, status, s.nwrong,
             err.text);
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    uint32_t rounds = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 40;

    plan(0);
    diag("seed %" PRIu64 ", %" PRIu32 " rounds", seed, rounds);
    for (int64_t fuse = -1; fuse <= 0; fuse++) {
        test(2, 4, seed, 10 * rounds, NULL, fuse);
        test(8, 8, seed, rounds, NULL, fuse);
        test(64, 8, seed, rounds / 4 + 1, NULL, fuse);
    }
    test(8, 8, seed, rounds, "all-reduce=recursive-doubling,all-gather=bruck,broadcast=tree", 0);
    test(6, 2, seed, rounds, "all-reduce=two-level,all-gather=ring,reduce-scatter=ring", 0);
#ifndef __SANITIZE_THREAD__ /* has room for some 8,000 threads, but takes too long */
    test(500, 8, seed, rounds / 4 + 1, NULL, 0);
    test(2048, 8, seed, 4, NULL, 0);
#endif
    return done();
}
