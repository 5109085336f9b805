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

#include "run/heap.h"

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

/* By name; NULL: the default.  NULL when the program has none of that name. */
const struct backend *backend_find(const char *name);

#endif /* RUN_BACKEND_H */
