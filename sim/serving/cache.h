/* cache.h - the pages of a replica's cache: which are in use, and which are kept for prompts that
 * begin alike.
 *
 * Pages are counted, not numbered: any free page serves.  Blocks of prompts (trace.h) that were
 * computed are shared; one that no sequence uses any more is kept until its pages are needed, the
 * longest unused first, and of a sequence's blocks the last first, as a block is of no use without
 * those before it.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SERVING_CACHE_H
#define SERVING_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include <shd/error.h>

struct cache_block {
    uint32_t nusers; /* sequences that use it */
    bool is_here;
    uint32_t older, newer; /* while it is kept: among all that are kept */
};

struct serving_cache {
    uint64_t npages;
    uint64_t used; /* pages of sequences and of the blocks that they use */
    uint64_t kept; /* pages of blocks that no sequence uses */
    uint32_t block_pages;
    struct cache_block *blocks; /* [nids + 1]; the last is the ends of the list of those kept */
    uint32_t nids;
};

/* SHD_ENOMEM.  End with cache_fini(). */
SHD_MUST_CHECK int cache_init(struct serving_cache *out, uint64_t npages, uint32_t block_pages,
                              uint32_t nids, struct shd_error *err);
void cache_fini(struct serving_cache *cache);

/* Take pages, giving up kept blocks if needed; false: there are not as many.  And put pages
 * back. */
SHD_MUST_CHECK bool cache_take(struct serving_cache *cache, uint64_t npages);
void cache_put(struct serving_cache *cache, uint64_t npages);

/* How many of these blocks, from the first on, are here. */
uint32_t cache_match(const struct serving_cache *cache, const uint32_t *blocks, uint32_t n);

/* Use a block that is here, and end its use. */
void cache_use(struct serving_cache *cache, uint32_t block);
void cache_leave(struct serving_cache *cache, uint32_t block);

/* Share a block that a sequence has computed in pages of its own: these become the block's, or are
 * put back if the block is here already.  The sequence then uses it. */
void cache_share(struct serving_cache *cache, uint32_t block);

#endif /* SERVING_CACHE_H */
