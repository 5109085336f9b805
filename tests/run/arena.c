/* Tests run/arena.h with each backend of this build.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/arena.h"
#include "../support/tap.h"

#define NBLOCKS 200

static void test_counts(const struct backend *backend)
{
    struct arena arena;
    void *a = NULL;
    void *b = NULL;
    void *none = NULL;
    int good;

    arena_init(&arena, 0, 0, backend);
    ok(arena.backend == backend, "%s: is what was asked for", backend->name);
    good = arena_alloc(&arena, 1000, "a", &a, NULL) == SHD_OK &&
           arena_alloc(&arena, 1, "b", &b, NULL) == SHD_OK &&
           arena_alloc(&arena, 0, "none", &none, NULL) == SHD_OK;
    ok(good && arena.live_bytes == 1001 && arena.peak_bytes == 1001, "%s: counts what was asked",
       backend->name);
    ok((uintptr_t)a % 64 == 0 && (uintptr_t)b % 64 == 0 && none, "%s: aligned to 64 bytes",
       backend->name);
    memset(a, 1, 1000);
    memset(b, 2, 1);
    arena_free(&arena, a);
    ok(arena.live_bytes == 1 && arena.peak_bytes == 1001, "%s: the peak stays", backend->name);
    arena_free(&arena, NULL);
    arena_free(&arena, none);
    arena_free(&arena, b);
    ok(arena.live_bytes == 0 && !arena.blocks, "%s: nothing is left", backend->name);
    arena_fini(&arena);
}

static void test_whole(const struct backend *backend)
{
    static void *blocks[NBLOCKS];
    struct arena arena;
    uint64_t bytes = 0;
    int good = 1;

    arena_init(&arena, 0, 0, backend);
    for (int i = 0; i < NBLOCKS; i++) {
        good = good && arena_alloc(&arena, (uint64_t)i * 37, NULL, &blocks[i], NULL) == SHD_OK;
        bytes += (uint64_t)i * 37;
        memset(blocks[i], i, (size_t)i * 37);
    }
    for (int i = 0; i < NBLOCKS; i += 3) {
        arena_free(&arena, blocks[i]);
        bytes -= (uint64_t)i * 37;
    }
    for (int i = 0; i < NBLOCKS; i++) {
        for (int k = 0; i % 3 && k < i * 37; k++)
            good = good && ((unsigned char *)blocks[i])[k] == (unsigned char)i;
    }
    ok(good && arena.live_bytes == bytes, "%s: blocks keep what was stored", backend->name);
    arena_fini(&arena); /* the leak checker checks that everything is freed */
}

static void test_limit(const struct backend *backend)
{
    struct arena arena;
    struct shd_error err = {0, ""};
    void *memory = NULL;
    void *untouched = &arena;
    void *out = untouched;

    arena_init(&arena, 3, 1000, backend);
    arena.op = "mlp/up";
    ok(arena_alloc(&arena, 600, "weights", &memory, &err) == SHD_OK &&
           arena_alloc(&arena, 100, "bias", &memory, &err) == SHD_OK &&
           arena_alloc(&arena, 100, "bias", &memory, &err) == SHD_OK &&
           arena_alloc(&arena, 200, NULL, &memory, &err) == SHD_OK,
       "%s: up to the limit", backend->name);
    ok(arena_alloc(&arena, 1, "x", &out, &err) == SHD_EDEVMEM && out == untouched &&
           arena.live_bytes == 1000 && arena.peak_bytes == 1000,
       "%s: not beyond it", backend->name);
    if (!ok(!strcmp(err.text,
                    "device 3 is out of memory in mlp/up: cannot allocate 1 bytes for 'x': 1000 of "
                    "1000 in use; largest: 'weights' 600, 'bias' 200, 'unnamed' 200"),
            "%s: the error names device, op, array and live arrays", backend->name))
        diag("%s", err.text);
    ok(arena_alloc(&arena, UINT64_MAX, "x", &out, NULL) == SHD_EDEVMEM, "%s: no wrap around",
       backend->name);
    arena_free(&arena, memory);
    ok(arena_alloc(&arena, 200, "x", &memory, NULL) == SHD_OK, "%s: freed bytes count",
       backend->name);
    arena_fini(&arena);

    arena_init(&arena, 3, 0, backend);
    ok(arena_alloc(&arena, UINT64_MAX, "x", &out, &err) == SHD_ENOMEM && out == untouched &&
           arena.live_bytes == 0,
       "%s: more than the host can address", backend->name);
    arena_fini(&arena);
}

/* Allocate and free a fixed sequence of sizes; the first and last byte of each block tell its
 * owner. */
static void test_churn(const struct backend *backend)
{
    struct arena arena;
    unsigned char *blocks[NBLOCKS] = {NULL};
    size_t sizes[NBLOCKS] = {0};
    uint32_t x = 1;
    uint64_t bytes = 0;
    int good = 1;

    arena_init(&arena, 0, 0, backend);
    for (int round = 0; round < 20000 && good; round++) {
        uint32_t i;
        void *memory = NULL;

        x = x * 1664525 + 1013904223;
        i = (x >> 8) % NBLOCKS;
        if (blocks[i])
            good = blocks[i][0] == i && blocks[i][sizes[i] - 1] == i;
        arena_free(&arena, blocks[i]);
        bytes -= sizes[i];
        sizes[i] = (x >> 16) % (round % 7 ? 3000 : 300000) + 1;
        good = good && arena_alloc(&arena, sizes[i], NULL, &memory, NULL) == SHD_OK &&
               (uintptr_t)memory % 64 == 0;
        bytes += sizes[i];
        blocks[i] = memory;
        blocks[i][0] = blocks[i][sizes[i] - 1] = (unsigned char)i;
    }
    ok(good && arena.live_bytes == bytes, "%s: blocks that come and go do not overlap",
       backend->name);
    arena_fini(&arena);
}

static bool takes(const char *name, int32_t narenas, uint64_t bytes, const char *kind,
                  const char *why)
{
    struct backend_choice c;
    bool good = backend_choose(&c, name, narenas, bytes) && !strcmp(c.backend->name, kind) &&
                strstr(c.why, why);

    if (!good)
        diag("%s: %s", c.backend ? c.backend->name : "none", c.why);
    return good;
}

/* 16 MiB hold 186 arenas of 88 KiB. */
static void test_choice(void)
{
    struct backend_choice c;

    ok(takes("mmap", 8, 0, "mmap", "asked for"), "choice: the kind that was asked for");
    ok(!backend_choose(&c, "mallox", 8, 0), "choice: an unknown kind is refused");
    if (BLOCKS_FOLLOWED) {
        ok(takes(NULL, 8, 0, "malloc", "sanitizer"),
           "choice: malloc, which a sanitizer can follow");
    } else if (!backend_find("jemalloc")) {
        ok(takes(NULL, 8, 0, "mmap", "not linked"), "choice: mmap where there is no jemalloc");
    } else {
        ok(takes(NULL, 8, 0, "jemalloc", "each device") &&
               takes(NULL, 186, 1, "jemalloc", "each device"),
           "choice: jemalloc where the arenas are a few MiB");
        ok(takes(NULL, 187, 90111, "mmap", "187 jemalloc arenas would take 16456 KiB") &&
               takes(NULL, 187, 90112, "jemalloc", "each device"),
           "choice: beyond that, where they take no more than the arrays");
        ok(takes(NULL, 4000, UINT64_MAX, "jemalloc", "each device") &&
               takes(NULL, 4001, UINT64_MAX, "mmap", "arenas for 4000"),
           "choice: not more arenas than there are");
    }
}

static void test_largest(void)
{
    struct arena arena;
    struct arena_use uses[100];
    char labels[100][8];
    void *memory;
    int good = 1;

    arena_init(&arena, 0, 0, backend_find("malloc"));
    ok(arena_largest(&arena, uses, 3) == 0, "largest: of nothing");
    for (int i = 0; i < 100; i++) {
        snprintf(labels[i], sizeof(labels[i]), "t%d", i % 10);
        good = good && arena_alloc(&arena, (uint64_t)(i % 10), labels[i], &memory, NULL) == SHD_OK;
    }
    ok(good && arena_largest(&arena, uses, 100) == 10, "largest: equal labels are one");
    ok(arena_largest(&arena, uses, 2) == 2 && !strcmp(uses[0].label, "t9") && uses[0].bytes == 90 &&
           !strcmp(uses[1].label, "t8"),
       "largest: first the largest");
    arena_fini(&arena);
}

/* The number of mappings of this process; 0: unknown. */
static long count_maps(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    long n = 0;

    for (int c; maps && (c = getc(maps)) != EOF;)
        n += c == '\n';
    if (maps)
        fclose(maps);
    return n;
}

/* Runs of 16 devices follow each other, as `query` may make thousands of runs. */
static void test_many_runs(const struct backend *backend)
{
    struct arena arenas[16];
    long before = 0, grown;

    for (int run = 0; run < 40; run++) {
        for (int d = 0; d < 16; d++) {
            void *block;

            arena_init(&arenas[d], d, 0, backend);
            if (arena_alloc(&arenas[d], 100000, "x", &block, NULL) != SHD_OK)
                abort();
            memset(block, 1, 100000);
            arena_free(&arenas[d], block);
        }
        for (int d = 0; d < 16; d++)
            arena_fini(&arenas[d]);
        if (run == 9)
            before = count_maps();
    }
    grown = count_maps() - before;
    ok(grown < 100, "%s: 480 more arenas, one run's after the other's, leave no maps", backend->name);
    if (grown >= 100)
        diag("%ld more", grown);
}

int main(void)
{
    plan(0);
    for (size_t i = 0; backends[i]; i++) {
        const struct backend *backend = backend_find(backends[i]->name);

        ok(backend == backends[i], "%s: is found by its name", backends[i]->name);
        test_counts(backends[i]);
        test_whole(backends[i]);
        test_limit(backends[i]);
        test_churn(backends[i]);
        test_many_runs(backends[i]);
    }
    ok(!backend_find("mallox"), "backends: none of any name");
    test_choice();
    test_largest();
    return done();
}
