/* shardsim - the program; everything is in cmd/.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/cmd.h"

#ifdef HAVE_JEMALLOC

#include <jemalloc/jemalloc.h>
#include <stdbool.h>

/* One jemalloc arena for the host's own memory, including large arrays, whose pages are kept:
 * mapping and clearing them anew for each plan, or each verified operation, takes longer than the
 * work itself.  Huge pages are cleared by writing zeros, where others are given back to the system
 * and taken again.  No cache of 25 KiB for each thread: devices allocate next to nothing here. */
const char *malloc_conf = "narenas:1,oversize_threshold:0,retain:false,dirty_decay_ms:-1,"
                          "muzzy_decay_ms:0,tcache:false,thp:always";

/* Enable the cache for the thread that reads, partitions and reports. */
static void cache_allocations(void)
{
    bool on = true;

    (void)mallctl("thread.tcache.enabled", NULL, NULL, &on, sizeof on);
}

#else

static void cache_allocations(void)
{
}

#endif

int main(int argc, char **argv)
{
    cache_allocations();
    return cmd_main(argc, argv);
}
