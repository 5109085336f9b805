/* Tests run/heap.h: blocks of mapped pages, and reuse of pages that were touched.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <string.h>

#include "run/heap.h"
#include "../support/tap.h"

#define NBLOCKS 100

static void test_reuse(void)
{
    struct heap heap = {NULL, NULL, 0};
    char *a = heap_get(&heap, 1000), *b = heap_get(&heap, 1), *c = heap_get(&heap, 5000);

    ok(a && b && c && (uintptr_t)a % HEAP_ALIGN == 0 && b == a + 1024 && c == b + HEAP_ALIGN,
       "blocks follow one another");
    heap_put(&heap, a, 1000);
    ok(heap_get(&heap, 1025) == c + 5056, "too much for a gap: behind the last");
    ok(heap_get(&heap, 500) == a && heap_get(&heap, 512) == a + 512,
       "the first gap that is enough");
    heap_put(&heap, a + 512, 512);
    heap_put(&heap, a, 500);
    heap_put(&heap, b, 1);
    ok(heap_get(&heap, 1024 + HEAP_ALIGN) == a, "gaps side by side are one");
    ok(heap_get(&heap, 0) == c + 5056 + 1088, "no bytes are a block, too");
    heap_fini(&heap);
    ok(!heap.first && heap.mapped_bytes == 0, "nothing is left");
}

static void test_spans(void)
{
    struct heap heap = {NULL, NULL, 0};
    char *blocks[NBLOCKS];
    size_t mapped;
    int good = 1;

    for (int i = 0; i < NBLOCKS; i++) {
        blocks[i] = heap_get(&heap, 100000);
        good = good && blocks[i];
        memset(blocks[i], i, 100000);
    }
    for (int i = 0; i < NBLOCKS; i++)
        good = good && blocks[i][0] == i && blocks[i][99999] == i;
    ok(good, "more than a span's worth");
    mapped = heap.mapped_bytes;
    for (int i = 0; i < NBLOCKS; i++)
        heap_put(&heap, blocks[NBLOCKS - 1 - i], 100000);
    for (int i = 0; i < NBLOCKS; i++)
        good = good && heap_get(&heap, 100000) == blocks[i];
    ok(good && heap.mapped_bytes == mapped, "what was given back is got again, in the same order");
    ok(heap_get(&heap, 10 * mapped) && heap.mapped_bytes > 11 * mapped, "one of many spans' worth");
    ok(!heap_get(&heap, SIZE_MAX) && !heap_get(&heap, SIZE_MAX - 63) &&
           !heap_get(&heap, SIZE_MAX / 2) && !heap_get(&heap, SIZE_MAX / 2 - 4096),
       "too much");
    heap_fini(&heap);
}

/* The heap tries to map a span as large as all before; if only the block fits, it maps the
 * block. */
static void test_scarce(void)
{
    struct heap heap = {NULL, NULL, SIZE_MAX / 4};
    char *block = heap_get(&heap, 1000);

    ok(block != NULL && heap.mapped_bytes < SIZE_MAX / 4 + (1 << 20),
       "a small span, where the heap cannot double");
    if (block)
        memset(block, 1, 1000);
    heap_fini(&heap);
}

int main(void)
{
    plan(0);
    test_reuse();
    test_spans();
    test_scarce();
    return done();
}
