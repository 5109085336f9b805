/* Accounting of device memory (arena.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/arena.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Labels listed separately in a report; further ones are left out. */
#define LABELS_MAX 64
/* Labels with the most bytes that a message names. */
#define LARGEST_SHOWN 3

struct arena_block {
    struct arena_block *next;
    struct arena_block **link; /* the pointer that points here */
    const char *label;
    uint64_t bytes;
    bool kept;
} __attribute__((aligned(BACKEND_ALIGN)));

void arena_init(struct arena *arena, int32_t device, uint64_t limit_bytes,
                const struct backend *backend)
{
    *arena = (struct arena){.device = device, .backend = backend, .limit_bytes = limit_bytes};
}

/* Open the backend at the first allocation, in the device's own thread, so that many devices open
 * theirs in parallel. */
static bool open_backend(struct arena *arena)
{
    if (!arena->opened)
        arena->opened = arena->backend->open(&arena->state);
    return arena->opened;
}

static void put_memory(struct arena *arena, struct arena_block *block)
{
    arena->backend->put(&arena->state, block, sizeof(*block) + (size_t)block->bytes);
}

void arena_fini(struct arena *arena)
{
    while (arena->blocks) {
        struct arena_block *block = arena->blocks;

        arena->blocks = block->next;
        put_memory(arena, block);
    }
    if (arena->opened)
        arena->backend->close(&arena->state);
    arena->opened = false;
    arena->live_bytes = 0;
}

static const char *label_of(const struct arena_block *block)
{
    return block->label ? block->label : "unnamed";
}

static int compare_uses(const void *a, const void *b)
{
    const struct arena_use *x = a;
    const struct arena_use *y = b;

    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return strcmp(x->label, y->label);
}

size_t arena_largest(const struct arena *arena, struct arena_use *out, size_t max)
{
    struct arena_use uses[LABELS_MAX];
    size_t nuses = 0;

    for (const struct arena_block *block = arena->blocks; block; block = block->next) {
        size_t i = 0;

        while (i < nuses && strcmp(uses[i].label, label_of(block)))
            i++;
        if (i == LABELS_MAX)
            continue;
        if (i == nuses)
            uses[nuses++] = (struct arena_use){label_of(block), 0};
        uses[i].bytes += block->bytes;
    }
    qsort(uses, nuses, sizeof(uses[0]), compare_uses);
    if (nuses > max)
        nuses = max;
    memcpy(out, uses, nuses * sizeof(uses[0]));
    return nuses;
}

static int out_of_memory(const struct arena *arena, uint64_t bytes, const char *label,
                         struct shd_error *err)
{
    struct arena_use uses[LARGEST_SHOWN];
    size_t nuses = arena_largest(arena, uses, LARGEST_SHOWN);
    char text[160] = "";
    size_t length = 0;

    for (size_t i = 0; i < nuses && length < sizeof(text); i++)
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%s'%s' %" PRIu64,
                                   i == 0 ? "; largest: " : ", ", uses[i].label, uses[i].bytes);
    return shd_error_set(err, SHD_EDEVMEM,
                         "device %" PRId32 " is out of memory%s%s: cannot allocate %" PRIu64
                         " bytes for '%s': %" PRIu64 " of %" PRIu64 " in use%s",
                         arena->device, arena->op ? " in " : "", arena->op ? arena->op : "", bytes,
                         label ? label : "unnamed", arena->live_bytes, arena->limit_bytes, text);
}

static bool has_room(const struct arena *arena, uint64_t bytes)
{
    return !arena->limit_bytes ||
           (bytes <= arena->limit_bytes && arena->live_bytes <= arena->limit_bytes - bytes);
}

static void count_live(struct arena *arena, uint64_t bytes)
{
    arena->live_bytes += bytes;
    if (arena->live_bytes > arena->peak_bytes)
        arena->peak_bytes = arena->live_bytes;
}

int arena_hold(struct arena *arena, uint64_t bytes, const char *label, struct shd_error *err)
{
    if (!has_room(arena, bytes))
        return out_of_memory(arena, bytes, label, err);
    count_live(arena, bytes);
    return SHD_OK;
}

void arena_release(struct arena *arena, uint64_t bytes)
{
    arena->live_bytes -= bytes;
}

int arena_alloc(struct arena *arena, uint64_t bytes, const char *label, void **out,
                struct shd_error *err)
{
    struct arena_block *block = NULL;

    if (!has_room(arena, bytes))
        return out_of_memory(arena, bytes, label, err);
    if (bytes <= PTRDIFF_MAX - sizeof(*block) && open_backend(arena))
        block = arena->backend->get(&arena->state, sizeof(*block) + (size_t)bytes);
    if (!block)
        return shd_error_set(err, SHD_ENOMEM,
                             "the host has no memory for '%s' of device %" PRId32 ": %" PRIu64
                             " bytes",
                             label ? label : "unnamed", arena->device, bytes);
    *block = (struct arena_block){arena->blocks, &arena->blocks, label, bytes, false};
    if (block->next)
        block->next->link = &block->next;
    arena->blocks = block;
    count_live(arena, bytes);
    *out = block + 1;
    return SHD_OK;
}

void arena_free(struct arena *arena, void *memory)
{
    struct arena_block *block;

    if (!memory)
        return;
    block = (struct arena_block *)memory - 1;
    *block->link = block->next;
    if (block->next)
        block->next->link = block->link;
    arena->live_bytes -= block->bytes;
    put_memory(arena, block);
}

void arena_move(struct arena *to, struct arena *from)
{
    *to = *from;
    if (to->blocks)
        to->blocks->link = &to->blocks;
    *from = (struct arena){.device = from->device, .backend = from->backend};
}

void arena_keep(void *memory)
{
    if (memory)
        ((struct arena_block *)memory - 1)->kept = true;
}

void arena_drop(struct arena *arena)
{
    struct arena_block *next;

    for (struct arena_block *block = arena->blocks; block; block = next) {
        next = block->next;
        if (!block->kept)
            arena_free(arena, block + 1);
    }
    arena->live_bytes = 0;
    for (const struct arena_block *block = arena->blocks; block; block = block->next)
        arena->live_bytes += block->bytes;
}
