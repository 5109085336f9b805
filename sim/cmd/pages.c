/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "cmd/pages.h"

#ifdef HAVE_JEMALLOC

#include <jemalloc/jemalloc.h>

/* Weak, as in memory/backend.c. */
#pragma weak mallctl

void pages_keep(void)
{
    ssize_t never = -1;

    if (!mallctl)
        return;
    /* The first is this thread's; others are for other threads, and for what is large. */
    (void)mallctl("arena.0.dirty_decay_ms", NULL, NULL, &never, sizeof never);
    (void)mallctl("arenas.dirty_decay_ms", NULL, NULL, &never, sizeof never);
}

#else

void pages_keep(void)
{
}

#endif
