/* Backends of device memory (backend.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/backend.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- malloc ---- */

static bool open_nothing(union backend_state *state)
{
    (void)state;
    return true;
}

static void close_nothing(union backend_state *state)
{
    (void)state;
}

static void *get_from_malloc(union backend_state *state, size_t bytes)
{
    void *memory;

    (void)state;
    return posix_memalign(&memory, BACKEND_ALIGN, bytes) == 0 ? memory : NULL;
}

static void put_to_malloc(union backend_state *state, void *memory, size_t bytes)
{
    (void)state;
    (void)bytes;
    free(memory);
}

static const struct backend of_malloc = {"malloc", open_nothing, get_from_malloc, put_to_malloc,
                                         close_nothing};

/* ---- mmap ---- */

static void *get_from_heap(union backend_state *state, size_t bytes)
{
    return heap_get(&state->heap, bytes);
}

static void put_to_heap(union backend_state *state, void *memory, size_t bytes)
{
    heap_put(&state->heap, memory, bytes);
}

static void close_heap(union backend_state *state)
{
    heap_fini(&state->heap);
}

static const struct backend of_mmap = {"mmap", open_nothing, get_from_heap, put_to_heap,
                                       close_heap};

/* ---- jemalloc ---- */

#ifdef HAVE_JEMALLOC

#include <jemalloc/jemalloc.h>

#include "base/system.h"

/* On x86-64, and on arm64 with pages of 4 KiB. */
#define HUGE_PAGE_BYTES ((size_t)2 << 20)

/* Weak symbols, so that the library can be loaded into programs without jemalloc. */
#pragma weak mallctl
#pragma weak mallocx
#pragma weak dallocx

/* Freed pages stay with the arena until it ends: each step reuses the pages of the step before,
 * without mapping or page faults. */
static void keep_pages(unsigned id)
{
    char name[48];
    ssize_t never = -1;

    snprintf(name, sizeof(name), "arena.%u.dirty_decay_ms", id);
    mallctl(name, NULL, NULL, &never, sizeof(never));
}

/* Arenas of finished runs, for reuse: jemalloc never unmaps the first 2 MiB of an arena that it
 * destroys, and after some ten thousand of them the process reaches the system's limit of maps.
 */
static struct {
    pthread_mutex_t lock;
    unsigned ids[BACKEND_ARENAS_MAX];
    size_t n;
} idle = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool take_idle(unsigned *id)
{
    bool found;

    pthread_mutex_lock(&idle.lock);
    found = idle.n > 0;
    if (found)
        *id = idle.ids[--idle.n];
    pthread_mutex_unlock(&idle.lock);
    return found;
}

static bool keep_idle(unsigned id)
{
    bool kept;

    pthread_mutex_lock(&idle.lock);
    kept = idle.n < BACKEND_ARENAS_MAX;
    if (kept)
        idle.ids[idle.n++] = id;
    pthread_mutex_unlock(&idle.lock);
    return kept;
}

static bool open_jemalloc(union backend_state *state)
{
    size_t size = sizeof(state->jemalloc_id);

    if (take_idle(&state->jemalloc_id))
        return true;
    if (mallctl("arenas.create", &state->jemalloc_id, &size, NULL, 0) != 0)
        return false;
    keep_pages(state->jemalloc_id);
    return true;
}

static int flags_of(const union backend_state *state, size_t align)
{
    return (int)MALLOCX_ARENA(state->jemalloc_id) | MALLOCX_TCACHE_NONE | MALLOCX_ALIGN(align);
}

/* Large blocks use huge pages, where the system has them: fewer page faults, and fewer look-ups
 * when the block is read from elsewhere.  Small blocks would share huge pages with unrequested
 * memory. */
static void *get_huge(const union backend_state *state, size_t bytes)
{
    void *memory = mallocx(bytes, flags_of(state, HUGE_PAGE_BYTES));

    if (memory)
        system_use_large_pages(memory, bytes / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES);
    return memory;
}

static void *get_from_jemalloc(union backend_state *state, size_t bytes)
{
    return bytes < HUGE_PAGE_BYTES ? mallocx(bytes, flags_of(state, BACKEND_ALIGN))
                                   : get_huge(state, bytes);
}

static void put_to_jemalloc(union backend_state *state, void *memory, size_t bytes)
{
    (void)bytes;
    dallocx(memory, flags_of(state, BACKEND_ALIGN));
}

static void close_jemalloc(union backend_state *state)
{
    char name[48];

    /* Not under the lock: returning the pages takes long. */
    snprintf(name, sizeof(name), "arena.%u.purge", state->jemalloc_id);
    mallctl(name, NULL, NULL, NULL, 0);
    if (keep_idle(state->jemalloc_id))
        return;
    snprintf(name, sizeof(name), "arena.%u.destroy", state->jemalloc_id);
    mallctl(name, NULL, NULL, NULL, 0);
}

static const struct backend of_jemalloc = {"jemalloc", open_jemalloc, get_from_jemalloc,
                                           put_to_jemalloc, close_jemalloc};

static bool has_jemalloc(void)
{
    return mallctl && mallocx && dallocx;
}

#endif

/* ---- all ---- */

const struct backend *const backends[] = {
    &of_mmap,
    &of_malloc,
#ifdef HAVE_JEMALLOC
    &of_jemalloc,
#endif
    NULL,
};

const struct backend *backend_find(const char *name)
{
    for (size_t i = 0; backends[i]; i++) {
#ifdef HAVE_JEMALLOC
        if (backends[i] == &of_jemalloc && !has_jemalloc())
            continue;
#endif
        if (!strcmp(backends[i]->name, name))
            return backends[i];
    }
    return NULL;
}

/* ---- selection ---- */

/* Whether the arenas of jemalloc cost more than allowed, and why. */
static bool are_dear(char why[BACKEND_WHY_MAX], int32_t narenas, uint64_t bytes)
{
    uint64_t n = (uint64_t)narenas, cost = n * BACKEND_ARENA_BYTES;

    if (narenas > BACKEND_ARENAS_MAX)
        snprintf(why, BACKEND_WHY_MAX, "%" PRId32 " devices, and jemalloc has arenas for %d",
                 narenas, BACKEND_ARENAS_MAX);
    else if (cost > BACKEND_ARENAS_BYTES_FREE && BACKEND_ARENA_BYTES > bytes)
        snprintf(why, BACKEND_WHY_MAX,
                 "%" PRId32 " jemalloc arenas would take %" PRIu64
                 " KiB, a device's arrays only %" PRIu64 " of its %" PRIu64,
                 narenas, cost >> 10, bytes >> 10, BACKEND_ARENA_BYTES >> 10);
    else
        return false;
    return true;
}

static const char *usual_name(struct backend_choice *out, int32_t narenas, uint64_t bytes)
{
    out->usual = false;
    if (BLOCKS_FOLLOWED)
        snprintf(out->why, sizeof out->why, "what the sanitizer of this build can follow");
    else if (!backend_find("jemalloc"))
        snprintf(out->why, sizeof out->why, "this program is not linked with jemalloc");
    else if (!are_dear(out->why, narenas, bytes)) {
        snprintf(out->why, sizeof out->why, "an arena for each device");
        out->usual = true;
        return "jemalloc";
    }
    return BLOCKS_FOLLOWED ? "malloc" : "mmap";
}

bool backend_choose(struct backend_choice *out, const char *name, int32_t narenas, uint64_t bytes)
{
    *out = (struct backend_choice){.usual = false};
    if (name)
        snprintf(out->why, sizeof out->why, "asked for");
    else
        name = usual_name(out, narenas, bytes);
    out->backend = backend_find(name);
    return out->backend != NULL;
}
