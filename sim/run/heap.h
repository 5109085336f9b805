/* heap.h - the memory of one owner, in pages mapped for it alone.
 *
 * Blocks are cut from spans of pages by first fit: the oldest span first, and in it the lowest
 * address, so that touched pages are reused before untouched ones.  An unused heap has no resident
 * memory, a small one a page more than its blocks.  Spans remain until the end.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_HEAP_H
#define RUN_HEAP_H

#include <stddef.h>

struct heap_span;

struct heap { /* zeros: nothing is mapped */
    struct heap_span *first, *last;
    size_t mapped_bytes;
};

/* A cache line, and the widest vector that kernels load (kern/isa.h). */
#define HEAP_ALIGN 64

/* A block of at least this many bytes, aligned to HEAP_ALIGN; NULL: the system has no more
 * pages. */
void *heap_get(struct heap *heap, size_t bytes);

/* Give a block back, with its requested size. */
void heap_put(struct heap *heap, void *block, size_t bytes);

/* Unmap everything, whether given back or not. */
void heap_fini(struct heap *heap);

#endif /* RUN_HEAP_H */
