/* arena.h - the memory of one virtual device: allocation with exact accounting and a limit.
 *
 * Live and peak bytes are requested sizes, without rounding or overhead, so that they are equal on
 * every machine.  The memory itself comes from a backend (backend.h).
 *
 * Thread class: owned by one thread (fini by any, once the owner has ended).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_ARENA_H
#define RUN_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shd/error.h>

#include "run/backend.h"

struct arena_block; /* header in front of each allocation */

struct arena {
    int32_t device; /* position, for messages */
    const struct backend *backend;
    union backend_state state;
    bool opened; /* something was allocated */
    uint64_t live_bytes;
    uint64_t peak_bytes;
    uint64_t limit_bytes; /* 0: none */
    const char *op;       /* the device's current op, for messages; NULL: unknown */
    struct arena_block *blocks;
};

/* Cannot fail; takes nothing before the first allocation. */
void arena_init(struct arena *arena, int32_t device, uint64_t limit_bytes,
                const struct backend *backend);

/* Free everything. */
void arena_fini(struct arena *arena);

/* Move an arena, its blocks and counts, to another place; the old one is empty afterwards. */
void arena_move(struct arena *to, struct arena *from);

/* Mark memory to survive arena_drop(), which frees all other memory. */
void arena_keep(void *memory);
void arena_drop(struct arena *arena);

/* Memory aligned to 64 bytes.  `label` is kept as a pointer.  SHD_EDEVMEM: the error names device,
 * op, requested and live bytes, and the largest labels; SHD_ENOMEM: the host is out of memory. */
int arena_alloc(struct arena *arena, uint64_t bytes, const char *label, void **out,
                struct shd_error *err);
void arena_free(struct arena *arena, void *memory); /* NULL is allowed */

/* Count bytes as live without memory of their own, until they are released: for an array of which
 * the device would have a part at a time.  Errors as arena_alloc(). */
int arena_hold(struct arena *arena, uint64_t bytes, const char *label, struct shd_error *err);
void arena_release(struct arena *arena, uint64_t bytes);

/* The `max` labels with the most live bytes, largest first; returns how many. */
struct arena_use {
    const char *label;
    uint64_t bytes;
};
size_t arena_largest(const struct arena *arena, struct arena_use *out, size_t max);

#endif /* RUN_ARENA_H */
