/* backend.h - the source of an arena's memory.
 *
 * malloc    the program's own; sanitizers and valgrind can follow it
 * mmap      pages mapped for the arena alone (heap.h); the smallest, for many devices
 * jemalloc  a jemalloc arena: about 88 KiB each to start with, and some 4,000 in a process; if the
 *           program is linked with jemalloc
 *
 * Thread class: an opened backend is owned by one thread.
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
    bool (*open)(union backend_state *state); /* false: no more can be opened */
    /* Aligned to BACKEND_ALIGN; NULL: no memory. put() gets the requested bytes again. */
    void *(*get)(union backend_state *state, size_t bytes);
    void (*put)(union backend_state *state, void *memory, size_t bytes);
    void (*close)(union backend_state *state); /* called when all memory was given back */
};

/* All backends of this program, NULL-terminated. */
extern const struct backend *const backends[];

/* The backend with a name; NULL if this program has none. */
const struct backend *backend_find(const char *name);

/* Resident memory of a jemalloc arena beyond its blocks (measured: bench/devices.py). */
#define BACKEND_ARENA_BYTES ((uint64_t)88 << 10)

/* Arenas may take this much, however small their blocks: any machine that runs this can spare
 * it. */
#define BACKEND_ARENAS_BYTES_FREE ((uint64_t)16 << 20)

/* jemalloc numbers arenas with 12 bits (MALLOCX_ARENA in its header), and the program itself uses
 * some. */
#define BACKEND_ARENAS_MAX 4000

/* Room for the longest reason in backend.c. */
#define BACKEND_WHY_MAX 160

struct backend_choice {
    const struct backend *backend;
    bool usual;                /* the kind used unless there is a reason against it */
    char why[BACKEND_WHY_MAX]; /* half a sentence */
};

/* Choose the backend for `narenas` simultaneous arenas, each with at most `bytes` in blocks (0:
 * unknown): the one with the given name, or for NULL jemalloc, if its arenas take no more than the
 * blocks do (or BACKEND_ARENAS_BYTES_FREE) and there are enough of them; otherwise mmap.  Builds
 * with the address sanitizer use malloc.  False: the program has no backend of that name. */
bool backend_choose(struct backend_choice *out, const char *name, int32_t narenas, uint64_t bytes);

#endif /* RUN_BACKEND_H */
