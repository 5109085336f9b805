/* A first-fit heap in mapped pages (heap.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/heap.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/system.h"

/* Minimum length of a span, so that small blocks share one.  This is address space: a page takes
 * memory only when it is touched. */
#define SPAN_BYTES_LEAST (256 * 1024)

/* A free piece, described in its own bytes.  Adjacent pieces in a span are never both free. */
struct piece {
    struct piece *next; /* at a higher address */
    size_t bytes;       /* a multiple of HEAP_ALIGN, like all sizes here */
};

/* At the beginning of a span's pages. */
struct heap_span {
    struct heap_span *next; /* younger */
    char *end;
    struct piece *free;
} __attribute__((aligned(HEAP_ALIGN)));

/* Round up; 0: overflow. */
static size_t round_up(size_t bytes, size_t unit)
{
    return bytes > SIZE_MAX - unit ? 0 : (bytes + unit - 1) / unit * unit;
}

/* Bytes that a block takes; 0: overflow. */
static size_t size_of(size_t bytes)
{
    return bytes ? round_up(bytes, HEAP_ALIGN) : HEAP_ALIGN;
}

/* Map a span as large as the heap so far, to keep spans few; or only what is needed, if the system
 * does not grant that.
 */
static struct heap_span *map_span(struct heap *heap, size_t bytes)
{
    size_t least = heap->mapped_bytes > SPAN_BYTES_LEAST ? heap->mapped_bytes : SPAN_BYTES_LEAST;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct heap_span *span;

    if (bytes > SIZE_MAX / 2)
        return NULL;
    bytes = round_up(bytes + sizeof(*span), page);
    least = round_up(least, page);
    span = bytes < least ? system_map(least) : NULL;
    if (span)
        bytes = least;
    else
        span = system_map(bytes);
    if (!span)
        return NULL;
    span->end = (char *)span + bytes;
    span->free = (struct piece *)(span + 1);
    span->free->bytes = bytes - sizeof(*span);
    if (heap->last)
        heap->last->next = span;
    else
        heap->first = span;
    heap->last = span;
    heap->mapped_bytes += bytes;
    return span;
}

static void *take(struct heap_span *span, size_t size)
{
    for (struct piece **link = &span->free; *link; link = &(*link)->next) {
        struct piece *piece = *link;

        if (piece->bytes < size)
            continue;
        if (piece->bytes > size) {
            struct piece *rest = (struct piece *)((char *)piece + size);

            *rest = (struct piece){piece->next, piece->bytes - size};
            *link = rest;
        } else {
            *link = piece->next;
        }
        return piece;
    }
    return NULL;
}

void *heap_get(struct heap *heap, size_t bytes)
{
    size_t size = size_of(bytes);
    struct heap_span *span;

    if (size == 0)
        return NULL;
    for (span = heap->first; span; span = span->next) {
        void *block = take(span, size);

        if (block)
            return block;
    }
    span = map_span(heap, size);
    return span ? take(span, size) : NULL;
}

static struct heap_span *span_of(const struct heap *heap, const char *block)
{
    struct heap_span *span = heap->first;

    while (block < (char *)span || block >= span->end)
        span = span->next;
    return span;
}

/* Join two adjacent pieces, if nothing lies between them. */
static void join(struct piece *piece)
{
    struct piece *next = piece->next;

    if ((char *)piece + piece->bytes != (char *)next)
        return;
    piece->bytes += next->bytes;
    piece->next = next->next;
}

void heap_put(struct heap *heap, void *block, size_t bytes)
{
    struct piece **link = &span_of(heap, block)->free;
    struct piece *before = NULL, *piece = block;

    while (*link && *link < piece) {
        before = *link;
        link = &before->next;
    }
    *piece = (struct piece){*link, size_of(bytes)};
    *link = piece;
    join(piece);
    if (before)
        join(before);
}

void heap_fini(struct heap *heap)
{
    struct heap_span *span = heap->first;

    while (span) {
        struct heap_span *next = span->next;

        munmap(span, (size_t)(span->end - (char *)span));
        span = next;
    }
    *heap = (struct heap){NULL, NULL, 0};
}
