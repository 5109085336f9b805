/* Tests the times of hardware/hardware.h, worked out by hand: kernels, groups on tiers,
 * collectives.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "hardware/hardware.h"
#include "hardware/steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/tap.h"

/* A cluster of round numbers, all different. */
static const char switched[] =
    "version: 1\nname: switched\nsource: made up\n"
    "rates: {bfloat16: 100TFLOP/s, float8_e4m3fn: 200TFLOP/s}\n"
    "memory: {size: 16GiB, rate: 1TB/s}\n"
    "kernels: {launch: 5us, matmul_efficiency: 0.8, coded_efficiency: 0.6, units: 10, tile_m: 100, "
    "tile_n: 200, half_k: 100, memory_efficiency: 0.5, attention_efficiency: 0.4, "
    "attention_backward_efficiency: 0.2}\n"
    "tiers:\n"
    "  - {name: inner, devices: 4, rate: 100GB/s, latency: 10us, step: 1us}\n"
    "  - {name: middle, devices: 8, rate: 50GB/s, efficiency: 0.8, latency: 20us, step: 2us}\n"
    "  - {name: outer, rate: 20GB/s, oversubscription: 2, latency: 40us, step: 4us}\n";

static const char torus[] =
    "version: 1\nname: torus\nsource: made up\n"
    "rates: {bfloat16: 100TFLOP/s}\nmemory: {size: 16GiB, rate: 1TB/s}\n"
    "kernels: {launch: 0s, matmul_efficiency: 1, memory_efficiency: 1, attention_efficiency: 1, "
    "attention_backward_efficiency: 1}\n"
    "tiers:\n"
    "  - {name: ici, torus: [16, 16, 16], wrap_multiple: 4, rate: 45GB/s, latency: 0s, step: 1us}\n"
    "  - {name: dcn, rate: 5GB/s, latency: 100us, step: 10us}\n";

static struct hardware *read_text(const char *text)
{
    struct diag errors = DIAG_INIT;
    struct hardware *out = NULL;

    if (hardware_parse(&out, "test", text, strlen(text), &errors) != SHD_OK)
        diag_write(&errors, stdout);
    diag_fini(&errors);
    return out;
}

static void is_near(double found, double expected, const char *what)
{
    ok(fabs(found - expected) <= 1e-9 * expected, "%s: %.9g, expected %.9g", what, found, expected);
}

/* ---- kernels ---- */

static void test_kernels(const struct hardware *h)
{
    /* 10 x 10 tiles of 100 x 200 take ten full rounds of ten units; k is nine times half_k. */
    struct hardware_work work = {.kind = HARDWARE_MATMUL,
                                 .dtype = SHD_BF16,
                                 .batch = 1,
                                 .m = 1000,
                                 .n = 2000,
                                 .k = 900,
                                 .flops = 3.6e9,
                                 .bytes = 1e6};

    is_near(hardware_kernel_seconds(h, &work), 3.6e9 / (100e12 * 0.8 * 0.9),
            "product: full rounds");
    work.dtype = SHD_F8E4M3;
    is_near(hardware_kernel_seconds(h, &work), 3.6e9 / (200e12 * 0.6 * 0.9), "product: 8 bits");
    work.dtype = SHD_BF16;
    work.m = 1001; /* eleven rows of tiles take eleven rounds, for the work of 10.01 */
    is_near(hardware_kernel_seconds(h, &work), 3.6e9 / (72e12 * 10.01 / 11),
            "product: a row too much");
    work.m = 100; /* one round of ten tiles per batch: two batches take two rounds */
    work.batch = 2;
    is_near(hardware_kernel_seconds(h, &work), 3.6e9 / 72e12, "product: a batch");
    work.m = 50; /* two rounds of tiles with half the rows, which reuse 40 values instead of 66.7 */
    work.n = 200;
    work.batch = 20;
    is_near(hardware_kernel_seconds(h, &work),
            3.6e9 / 72e12 * (200.0 / 3 / (200.0 / 3 + 32)) / (40.0 / (40 + 32)),
            "product: tiles of half the rows");
    work.bytes = 1e9;
    is_near(hardware_kernel_seconds(h, &work), 2e-3, "product: bound by memory");
    work.flops = 1;
    work.bytes = 1;
    is_near(hardware_kernel_seconds(h, &work), 5e-6, "product: bound by its launch");
    work = (struct hardware_work){
        .kind = HARDWARE_ATTENTION, .dtype = SHD_BF16, .batch = 1, .flops = 4e9, .bytes = 1e6};
    is_near(hardware_kernel_seconds(h, &work), 4e9 / 40e12, "attention");
    work.kind = HARDWARE_ATTENTION_BACKWARD;
    is_near(hardware_kernel_seconds(h, &work), 4e9 / 20e12, "attention: backward");
    work = (struct hardware_work){
        .kind = HARDWARE_MEMORY, .dtype = SHD_BF16, .batch = 1, .flops = 1e12, .bytes = 1e8};
    is_near(hardware_kernel_seconds(h, &work), 2e-4, "elementwise: only bytes count");
}

/* A product with so many rows: 4,000 x 4,000 weights are 32 MB. */
static struct hardware_work product_of_rows(int64_t rows)
{
    double m = (double)rows;

    return (struct hardware_work){.kind = HARDWARE_MATMUL,
                                  .dtype = SHD_BF16,
                                  .batch = 1,
                                  .m = rows,
                                  .n = 4000,
                                  .k = 4000,
                                  .flops = 2 * m * 4000 * 4000,
                                  .bytes = 2 * (4000.0 * 4000 + 2 * m * 4000)};
}

static void test_few_rows(const struct hardware *h)
{
    bool grows = true;
    double before = 0;
    struct hardware_work work = product_of_rows(1);
    double bytes_s = work.bytes / hardware_kernel_bytes_per_s(h, &work);

    is_near(hardware_kernel_seconds(h, &work), bytes_s, "a matmul of one row: its bytes");
    ok(hardware_kernel_bound(h, &work) == HARDWARE_BY_MEMORY, "... the memory is its limit");
    for (int64_t rows = 1; rows <= 2000; rows++) {
        work = product_of_rows(rows);
        grows &= hardware_kernel_seconds(h, &work) >= before * (1 - 1e-9);
        before = hardware_kernel_seconds(h, &work);
    }
    ok(grows, "no matmul takes longer than a matmul with more rows");
    ok(hardware_kernel_bound(h, &work) == HARDWARE_BY_COMPUTE, "many rows: computing is the limit");
    work = (struct hardware_work){.kind = HARDWARE_MATMUL,
                                  .dtype = SHD_BF16,
                                  .batch = 1,
                                  .m = 100,
                                  .n = 200,
                                  .k = 4000,
                                  .flops = 8e12,
                                  .bytes = 1e6};
    ok(hardware_kernel_seconds(h, &work) < 8e12 / (80e12 / 10) / 4, "units share the only tile");
    ok(hardware_kernel_bound(h, &work) == HARDWARE_BY_COMPUTE, "... and are busy");
    work.k = 32;
    work.m = 16;
    work.n = 16;
    ok(hardware_kernel_bound(h, &work) == HARDWARE_BY_TILES, "a small one: tiles are its limit");
}

/* ---- groups ---- */

struct lying {
    const char *what;
    int32_t sizes[3];
    uint8_t axes[3];
    size_t naxes;
    int64_t members, inside[3];
};

static const struct lying lyings[] = {
    {"the last axis is inside", {4, 2, 4}, {2}, 1, 4, {4, 4, 4}},
    {"the middle one joins inner domains", {4, 2, 4}, {1}, 1, 2, {1, 2, 2}},
    {"the first one goes outside", {4, 2, 4}, {0}, 1, 4, {1, 1, 4}},
    {"two axes", {4, 2, 4}, {1, 2}, 2, 8, {4, 8, 8}},
    {"two axes that are no neighbours", {4, 2, 4}, {0, 2}, 2, 16, {4, 4, 16}},
    {"all", {4, 2, 4}, {0, 1, 2}, 3, 32, {4, 8, 32}},
    {"an axis over two tiers", {1, 4, 2}, {1}, 1, 4, {2, 4, 4}},
    {"a stride that no domain is a multiple of", {1, 3, 3}, {1}, 1, 3, {2, 3, 3}},
    {"none", {4, 2, 4}, {0}, 0, 1, {1, 1, 1}},
};

static struct shd_mesh *mesh_of(const int32_t *sizes)
{
    static const char *const names[] = {"x", "y", "z"};
    struct shd_mesh *mesh = NULL;

    return shd_mesh_create(&mesh, names, sizes, 3, NULL) == SHD_OK ? mesh : NULL;
}

static void test_groups(const struct hardware *h)
{
    for (size_t i = 0; i < sizeof lyings / sizeof *lyings; i++) {
        const struct lying *l = &lyings[i];
        struct shd_mesh *mesh = mesh_of(l->sizes);
        struct hardware_group g;

        hardware_group_of(&g, h, mesh, l->axes, l->naxes);
        ok(g.members == l->members && !memcmp(g.inside, l->inside, sizeof l->inside), "group: %s",
           l->what);
        shd_mesh_destroy(mesh);
    }
    ok(hardware_tier_between(h, 0, 3) == 0 && hardware_tier_between(h, 3, 4) == 1 &&
           hardware_tier_between(h, 7, 8) == 2 && hardware_tier_between(h, 9, 8) == 0,
       "pairs: the innermost tier they share");
}

/* ---- switched tiers ---- */

static double time_of(const struct hardware *h, enum coll_kind kind, const int32_t *sizes,
                      const uint8_t *axes, size_t naxes, double bytes)
{
    struct shd_mesh *mesh = mesh_of(sizes);
    struct hardware_group g;

    hardware_group_of(&g, h, mesh, axes, naxes);
    shd_mesh_destroy(mesh);
    return hardware_collective_seconds(h, kind, &g, bytes);
}

static void test_one_tier(const struct hardware *h)
{
    static const int32_t sizes[] = {4, 2, 4};
    static const uint8_t z[] = {2}, x[] = {0};
    struct {
        enum coll_kind kind;
        double seconds; /* of 100 MB on four devices at 100 GB/s: 1 ms per pass, and 1 us per
                         * step */
    } rows[] = {
        {COLL_ALL_REDUCE, 10e-6 + 6e-6 + 1.5e-3},
        {COLL_REDUCE_SCATTER, 10e-6 + 3e-6 + 0.75e-3},
        {COLL_ALL_GATHER, 10e-6 + 3e-6 + 3e-3}, /* the result is four times as large */
        {COLL_ALL_TO_ALL, 10e-6 + 3e-6 + 0.75e-3},
        {COLL_BROADCAST, 10e-6 + 3e-6 + 1e-3},
        {COLL_REDUCE, 10e-6 + 3e-6 + 1e-3},
        {COLL_SCATTER, 10e-6 + 3e-6 + 0.75e-3},
        {COLL_GATHER, 10e-6 + 3e-6 + 3e-3},
        {COLL_PERMUTE, 10e-6 + 1e-6 + 1e-3},
        {COLL_BARRIER, 10e-6 + 6e-6},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        is_near(time_of(h, rows[i].kind, sizes, z, 1, 100e6), rows[i].seconds,
                coll_kind_name(rows[i].kind));
    is_near(time_of(h, COLL_ALL_REDUCE, sizes, x, 1, 100e6), 40e-6 + 6 * 4e-6 + 15e-3,
            "over the outer tier: 20 GB/s halved by oversubscription");
    is_near(time_of(h, COLL_ALL_REDUCE, sizes, x, 1, 100), 40e-6 + 4 * 4e-6 + 200 / 10e9,
            "over the outer tier: a small array up and down two trees");
    is_near(time_of(h, COLL_REDUCE_SCATTER, sizes, x, 1, 100e6), 40e-6 + 2 * 4e-6 + 7.5e-3,
            "over the outer tier: reduce-scatter by halving");
    is_near(time_of(h, COLL_ALL_GATHER, sizes, x, 1, 25e6), 40e-6 + 2 * 4e-6 + 7.5e-3,
            "over the outer tier: all-gather by doubling");
    is_near(time_of(h, COLL_ALL_REDUCE, sizes, z, 0, 100e6), 0, "one member");
    is_near(hardware_message_seconds(h, 0, 3, 100e6), 10e-6 + 1e-6 + 1e-3, "message: inside");
    is_near(hardware_message_seconds(h, 0, 4, 100e6), 20e-6 + 2e-6 + 2.5e-3, "message: between");
    is_near(hardware_message_seconds(h, 5, 5, 100e6), 0, "message: to itself");
}

/* Serving: a step of 2 us in which four members read from all others, at 100 GB/s. */
static void test_served(const struct hardware *h)
{
    static const int32_t sizes[] = {4, 2, 4};
    static const uint8_t z[] = {2}, x[] = {0};
    struct hardware cluster = *h, served;
    struct hardware_work decode = {.kind = HARDWARE_ATTENTION,
                                   .dtype = SHD_BF16,
                                   .batch = 32,
                                   .m = 1,
                                   .n = 4096,
                                   .k = 128,
                                   .flops = 1e9,
                                   .bytes = 1};
    double at_once;

    cluster.serving = (struct hardware_serving){
        .launch_s = 1e-6, .memory_efficiency = 0.5, .attention_half_queries = 3, .direct_s = 2e-6};
    served = hardware_as_served(&cluster);
    is_near(time_of(&served, COLL_ALL_REDUCE, sizes, z, 1, 1e3), 2e-6 + 3e3 / 100e9,
            "served: a small all-reduce in one step, all arrays to all");
    is_near(time_of(&served, COLL_ALL_REDUCE, sizes, z, 1, 100e6), 4e-6 + 1.5e-3,
            "served: a large one in two");
    is_near(time_of(&served, COLL_ALL_GATHER, sizes, z, 1, 1e3), 2e-6 + 3e3 / 100e9,
            "served: an all-gather in one step");
    is_near(time_of(&served, COLL_ALL_TO_ALL, sizes, z, 1, 100e6),
            time_of(h, COLL_ALL_TO_ALL, sizes, z, 1, 100e6), "served: others as in training");
    is_near(time_of(&served, COLL_ALL_REDUCE, sizes, x, 1, 100), 40e-6 + 4 * 4e-6 + 200 / 10e9,
            "served: between domains as in training");
    is_near(time_of(&cluster, COLL_ALL_REDUCE, sizes, z, 1, 1e3),
            time_of(h, COLL_ALL_REDUCE, sizes, z, 1, 1e3), "not served: none of it");
    ok(served.kernels.launch_s == 1e-6 && served.kernels.memory_efficiency == 0.5 &&
           served.kernels.matmul_efficiency == h->kernels.matmul_efficiency,
       "served: given constants, else the training constants");
    at_once = hardware_kernel_seconds(&cluster, &decode);
    is_near(hardware_kernel_seconds(&served, &decode), 4 * at_once,
            "served: attention of one query where three are half of its rate");
}

/* ---- algorithms that are asked for ---- */

static double asked_time(const struct hardware *h, enum coll_kind kind, const char *name,
                         const int32_t *sizes, const uint8_t *axes, size_t naxes, double bytes)
{
    struct hardware_steps steps[HARDWARE_NSTEPS];
    struct shd_mesh *mesh = mesh_of(sizes);
    struct shd_groups groups;

    if (shd_groups_init(&groups, mesh, axes, naxes, NULL) != SHD_OK)
        exit(99);
    hardware_steps_of(steps, h, coll_find(kind, name), &groups);
    shd_mesh_destroy(mesh);
    return hardware_steps_seconds(steps, bytes);
}

/* A ring of n members, with every step held up by the slow links between the outermost domains. */
static double outer_ring(double n, double bytes)
{
    return 40e-6 + 2 * (n - 1) * (4e-6 + bytes / n / 10e9);
}

static void test_asked(const struct hardware *h)
{
    static const int32_t few[] = {4, 2, 4}, many[] = {32, 2, 4}, more[] = {64, 2, 4};
    static const uint8_t z[] = {2}, yz[] = {1, 2}, all[] = {0, 1, 2};
    static const struct {
        enum coll_kind kind;
        const char *name;
        double bytes, seconds; /* four devices at 100 GB/s: 1 ms per 100 MB, and messages of 1 us */
    } rows[] = {
        {COLL_ALL_REDUCE, "ring", 100e6, 10e-6 + 6e-6 + 1.5e-3},
        {COLL_ALL_REDUCE, "halving-doubling", 100e6, 10e-6 + 4e-6 + 1.5e-3},
        {COLL_ALL_REDUCE, "recursive-doubling", 100e6, 10e-6 + 2e-6 + 2e-3},
        {COLL_ALL_REDUCE, "direct", 100e6, 10e-6 + 6e-6 + 1.5e-3},
        {COLL_ALL_GATHER, "ring", 25e6, 10e-6 + 3e-6 + 0.75e-3},
        {COLL_ALL_GATHER, "bruck", 25e6, 10e-6 + 2e-6 + 0.75e-3},
        {COLL_REDUCE_SCATTER, "recursive-halving", 100e6, 10e-6 + 2e-6 + 0.75e-3},
        {COLL_ALL_TO_ALL, "pairwise", 100e6, 10e-6 + 3e-6 + 0.75e-3},
        {COLL_ALL_TO_ALL, "bruck", 100e6, 10e-6 + 2e-6 + 1e-3},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        is_near(asked_time(h, rows[i].kind, rows[i].name, few, z, 1, rows[i].bytes),
                rows[i].seconds, rows[i].name);
    is_near(asked_time(h, COLL_ALL_REDUCE, "ring", few, yz, 2, 800e6),
            20e-6 + 14 * (2e-6 + 100e6 / 40e9), "asked: a ring enters each domain by one device");
    is_near(asked_time(h, COLL_ALL_REDUCE, "ring", many, all, 3, 256e6), outer_ring(256, 256e6),
            "asked: 256 members, all walked");
    is_near(asked_time(h, COLL_ALL_REDUCE, "ring", more, all, 3, 256e6), outer_ring(512, 256e6),
            "asked: 512 members, some walked");
    is_near(asked_time(h, COLL_ALL_REDUCE, "ring", few, z, 0, 100e6), 0, "asked: one member");
}

static void test_two_tiers(const struct hardware *h)
{
    static const int32_t sizes[] = {4, 2, 4};
    static const uint8_t yz[] = {1, 2};
    struct hardware_collective c;
    struct hardware_group g;
    struct shd_mesh *mesh = mesh_of(sizes);
    double large, small;

    /* 800 MB over 2 x 4 devices.  Ring: 14 steps, 2 of which leave a domain; a device receives 7/4
     * of the array at 100 GB/s, a fourth of that at 40.  Levels: 6/4 of the array inside, then 2/2
     * of a fourth between domains. */
    large = 20e-6 + 12e-6 + 4e-6 + fmax(14e-3, 1400e6 / 4 / 40e9);
    small = 10e-6 + 6e-6 + 20e-6 + 4e-6;
    hardware_group_of(&g, h, mesh, yz, 2);
    hardware_collective(&c, h, COLL_ALL_REDUCE, &g, 800e6);
    ok(c.schedule == HARDWARE_RING && c.nparts == 2, "two tiers: a large array by the ring");
    is_near(c.seconds, large, "two tiers: tiers work at once");
    is_near(c.parts[1].bytes, 350e6, "two tiers: bytes between domains");
    g = (struct hardware_group){.members = 64, .inside = {4, 8, 64}};
    hardware_collective(&c, h, COLL_ALL_REDUCE, &g, 0);
    ok(c.schedule == HARDWARE_TREE && c.nparts == 3, "three tiers: a small array by trees");
    is_near(c.seconds, small + 40e-6 + 6 * 4e-6, "three tiers: one after the other");
    /* A ring would take 126 steps, 16 of which leave a middle domain and 14 an outer one. */
    ok(c.seconds < 40e-6 + (96 * 1 + 16 * 2 + 14 * 4) * 1e-6, "three tiers: than by the ring");
    hardware_group_of(&g, h, mesh, yz, 2);
    is_near(hardware_collective_seconds(h, COLL_ALL_TO_ALL, &g, 80e6),
            20e-6 + 3e-6 + 8e-6 + fmax(30e6 / 100e9, 40e6 / 40e9),
            "two tiers: half of all-to-all goes between");
    shd_mesh_destroy(mesh);
}

/* ---- torus ---- */

static void test_slices(void)
{
    static const struct {
        int64_t devices, slices, shape[3];
        int status;
        int64_t dims[3];
        bool wrap[3];
    } rows[] = {
        {64, 1, {0}, SHD_OK, {4, 4, 4}, {true, true, true}},
        {256, 1, {0}, SHD_OK, {4, 8, 8}, {true, true, true}},
        {512, 2, {0}, SHD_OK, {4, 8, 8}, {true, true, true}},
        {8, 1, {0}, SHD_OK, {2, 2, 2}, {false, false, false}},
        {64, 1, {2, 2, 16}, SHD_OK, {2, 2, 16}, {false, false, true}},
        {4096, 1, {0}, SHD_OK, {16, 16, 16}, {true, true, true}},
        {8192, 1, {0}, SHD_EINVAL, {16, 16, 16}, {true, true, true}},
        {17, 1, {0}, SHD_OK, {1, 1, 17}, {false, false, false}},
        {37, 1, {0}, SHD_EINVAL, {16, 16, 16}, {true, true, true}},
        {64, 3, {0}, SHD_EINVAL, {16, 16, 16}, {true, true, true}},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct hardware *h = read_text(torus);
        int status = hardware_lay_out(h, rows[i].devices, rows[i].slices, rows[i].shape, NULL);

        ok(status == rows[i].status &&
               !memcmp(h->tiers[0].dims, rows[i].dims, sizeof rows[i].dims) &&
               !memcmp(h->tiers[0].wrap, rows[i].wrap, sizeof rows[i].wrap),
           "slice: %lld devices in %lld", (long long)rows[i].devices, (long long)rows[i].slices);
        hardware_destroy(h);
    }
}

static void test_torus(struct hardware *h)
{
    static const int32_t sizes[] = {4, 4, 16};
    static const int64_t shape[] = {4, 4, 16};
    static const uint8_t x[] = {0}, xy[] = {0, 1}, xyz[] = {0, 1, 2}, z[] = {2};
    static const int32_t halves[] = {16, 2, 8};
    const double mb = 1e6, link = 45e9;

    ok(hardware_lay_out(h, 256, 1, shape, NULL) == SHD_OK, "torus: laid out");
    is_near(time_of(h, COLL_ALL_GATHER, sizes, x, 1, mb), 3 * mb / (2 * link),
            "torus: all-gather around a ring, both ways");
    is_near(time_of(h, COLL_ALL_GATHER, sizes, xy, 2, mb), 15 * mb / (4 * link), "torus: two axes");
    is_near(time_of(h, COLL_ALL_GATHER, sizes, xyz, 3, mb), 255 * mb / (6 * link), "torus: three");
    is_near(time_of(h, COLL_ALL_GATHER, sizes, xyz, 3, 1), (2 + 2 + 8) * 1e-6, "torus: hops");
    is_near(time_of(h, COLL_ALL_REDUCE, sizes, x, 1, mb), 2 * 0.75 * mb / (2 * link),
            "torus: all-reduce, in two passes");
    is_near(time_of(h, COLL_ALL_REDUCE, sizes, z, 1, 1), 16e-6, "torus: all-reduce, hops");
    is_near(time_of(h, COLL_ALL_TO_ALL, sizes, z, 1, mb), mb * 16 / 8 / link,
            "torus: all-to-all, a quarter of the all-gather of a long ring");
    is_near(time_of(h, COLL_ALL_TO_ALL, sizes, xyz, 3, mb), mb * 16 / 8 / link,
            "torus: all-to-all, the longest axis counts");
    is_near(time_of(h, COLL_PERMUTE, sizes, z, 1, mb), mb / link,
            "torus: to the neighbour, one link");
    is_near(time_of(h, COLL_GATHER, sizes, x, 1, mb), 3 * mb / (2 * link),
            "torus: gather, all into one device");
    is_near(time_of(h, COLL_BROADCAST, sizes, x, 1, mb), mb / (2 * link), "torus: broadcast");
    /* Axis 1 joins devices eight links apart: a message passes the links of the seven devices
     * between, which send as well. */
    is_near(time_of(h, COLL_PERMUTE, halves, (const uint8_t[]){1}, 1, mb), 8 * mb / link,
            "torus: to a device eight links away");
    is_near(time_of(h, COLL_PERMUTE, halves, (const uint8_t[]){1}, 1, 1), 8e-6,
            "torus: to a device eight links away, hops");
    /* Eight of the sixteen devices of an axis form a line, whose end receives everything through
     * one link. */
    is_near(time_of(h, COLL_ALL_GATHER, halves, z, 1, mb), 7 * mb / link, "line: half");
    is_near(time_of(h, COLL_ALL_GATHER, halves, z, 1, 1), 7e-6, "line: hops");
    is_near(time_of(h, COLL_ALL_TO_ALL, halves, z, 1, mb), mb * 8 / 4 / link, "line: all-to-all");
    ok(hardware_hops(h, 0, 15) == 1 && hardware_hops(h, 0, 8) == 8 && hardware_hops(h, 0, 255) == 3,
       "hops: the short way around");
    is_near(hardware_message_seconds(h, 0, 8, 1), 8e-6, "message: hops");
    is_near(hardware_message_seconds(h, 0, 8, 45e6), 1e-3, "message: bandwidth");
    /* Two slices: each reduces in its ring, then a quarter of the array goes through the
     * network. */
    ok(hardware_lay_out(h, 512, 2, NULL, NULL) == SHD_OK, "torus: two slices");
    is_near(
        time_of(h, COLL_ALL_REDUCE, (const int32_t[]){2, 4, 64}, (const uint8_t[]){0, 1}, 2, 80e6),
        2 * 0.75 * 80e6 / (2 * link) + 100e-6 + 20e-6 + 20e6 / 5e9, "slices: two levels");
    ok(hardware_tier_between(h, 0, 255) == 0 && hardware_tier_between(h, 0, 256) == 1,
       "slices: the network between them");
}

int main(void)
{
    struct hardware *h = read_text(switched), *t = read_text(torus);

    plan(0);
    test_kernels(h);
    test_few_rows(h);
    test_groups(h);
    test_one_tier(h);
    test_served(h);
    test_asked(h);
    test_two_tiers(h);
    test_slices();
    test_torus(t);
    hardware_destroy(h);
    hardware_destroy(t);
    return done();
}
