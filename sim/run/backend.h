/* backend.h - where the memory of an arena comes from.
 *
 * malloc    the program's own; what sanitizers and valgrind can follow
 * mmap      pages mapped for the arena alone (heap.h); the smallest, for many devices
 * jemalloc  a jemalloc arena: about 88 KiB each for a start, of some 4,000 in a process; where the
 *           program is linked with jemalloc
 *
 * Thread class: what was opened is owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_BACKEND_H
#define RUN_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run/heap.h"

/* A cache line, and the widest vector that kernels load (kern/isa.h). */
#define BACKEND_ALIGN 64

/* Of one arena; zeros: not opened. */
union backend_state {
    unsigned jemalloc_id;
    struct heap heap;
};

struct backend {
    const char *name;
    bool (*open)(union backend_state *state); /* false: there is no more to be had */
    /* Aligned to BACKEND_ALIGN; NULL: no memory.  It is given back with the bytes asked for. */
    void *(*get)(union backend_state *state, size_t bytes);
    void (*put)(union backend_state *state, void *memory, size_t bytes);
    void (*close)(union backend_state *state); /* all that was got has been given back */
};

/* All that this program has, NULL behind the last. */
extern const struct backend *const backends[];

/* By name; NULL when the program has none of that name. */
const struct backend *backend_find(const char *name);

/* What a jemalloc arena keeps resident beyond its blocks (measured: bench/devices.py). */
#define BACKEND_ARENA_BYTES ((uint64_t)88 << 10)

/* Arenas may take this much however little their blocks take: a machine that runs this at all has
 * it to spare. */
#define BACKEND_ARENAS_BYTES_FREE ((uint64_t)16 << 20)

/* jemalloc numbers arenas with 12 bits (MALLOCX_ARENA in its header), and the program itself has
 * some. */
#define BACKEND_ARENAS_MAX 4000

/* Room for the longest reason in backend.c. */
#define BACKEND_WHY_MAX 160

struct backend_choice {
    const struct backend *backend;
    bool usual;                /* the kind that is taken unless something speaks against it */
    char why[BACKEND_WHY_MAX]; /* half a sentence */
};

/* The backend for `narenas` arenas at a time, each with at most `bytes` in blocks (0: not known):
 * the one asked for by name, or where that is NULL jemalloc, as long as its arenas take no more
 * than the blocks do (or BACKEND_ARENAS_BYTES_FREE) and there are enough of them; otherwise mmap.
 * Builds with the address sanitizer take malloc.  False: the program has none of that name. */
bool backend_choose(struct backend_choice *out, const char *name, int32_t narenas, uint64_t bytes);

#endif /* RUN_BACKEND_H */
