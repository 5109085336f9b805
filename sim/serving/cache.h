/* cache.h - the pages of a replica's KV cache: pages in use, and pages kept for prompts with a
 * common prefix.
 *
 * Pages are counted, not numbered: any free page serves.  Computed blocks of prompts (trace.h) are
 * shared.  A block without users is kept until its pages are needed.  The least recently used block
 * is evicted first; of one sequence's blocks the last, because a block is useless without the
 * blocks before it.
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
    uint32_t nusers; /* sequences that use the block */
    bool is_here;
    uint32_t older, newer; /* neighbours in the list of kept blocks */
};

struct serving_cache {
    uint64_t npages;
    uint64_t used; /* pages of sequences and of blocks in use */
    uint64_t kept; /* pages of blocks without users */
    uint32_t block_pages;
    struct cache_block *blocks; /* [nids + 1]; the last holds the ends of the list of kept blocks */
    uint32_t nids;
};

/* SHD_ENOMEM.  End with cache_fini(). */
SHD_MUST_CHECK int cache_init(struct serving_cache *out, uint64_t npages, uint32_t block_pages,
                              uint32_t nids, struct shd_error *err);
void cache_fini(struct serving_cache *cache);

/* Take pages, evicting kept blocks if needed (false: too few pages); and give pages back. */
SHD_MUST_CHECK bool cache_take(struct serving_cache *cache, uint64_t npages);
void cache_put(struct serving_cache *cache, uint64_t npages);

/* Number of leading blocks of this list that are in the cache. */
uint32_t cache_match(const struct serving_cache *cache, const uint32_t *blocks, uint32_t n);

/* Begin and end a sequence's use of a block in the cache. */
void cache_use(struct serving_cache *cache, uint32_t block);
void cache_leave(struct serving_cache *cache, uint32_t block);

/* Share a block that a sequence has computed in its own pages.  The pages become the block's or, if
 * the block is in the cache already, are given back.  The sequence then uses the block. */
void cache_share(struct serving_cache *cache, uint32_t block);

#endif /* SERVING_CACHE_H */
