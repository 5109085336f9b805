/* Pages of a replica's cache (cache.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "serving/cache.h"

#include <assert.h>
#include <stdlib.h>

int cache_init(struct serving_cache *out, uint64_t npages, uint32_t block_pages, uint32_t nids,
               struct shd_error *err)
{
    *out = (struct serving_cache){.npages = npages, .block_pages = block_pages, .nids = nids};
    out->blocks = calloc((size_t)nids + 1, sizeof *out->blocks);
    if (!out->blocks)
        return shd_error_set(err, SHD_ENOMEM, "no memory for %u blocks of prompts", nids);
    out->blocks[nids].older = out->blocks[nids].newer = nids;
    return SHD_OK;
}

void cache_fini(struct serving_cache *cache)
{
    free(cache->blocks);
    cache->blocks = NULL;
}

static void unlink_block(struct serving_cache *c, uint32_t block)
{
    struct cache_block *b = &c->blocks[block];

    c->blocks[b->older].newer = b->newer;
    c->blocks[b->newer].older = b->older;
    c->kept -= c->block_pages;
}

/* Keep a block as the newest. */
static void link_block(struct serving_cache *c, uint32_t block)
{
    struct cache_block *b = &c->blocks[block], *ends = &c->blocks[c->nids];

    b->older = ends->older;
    b->newer = c->nids;
    c->blocks[b->older].newer = block;
    ends->older = block;
    c->kept += c->block_pages;
}

bool cache_take(struct serving_cache *c, uint64_t npages)
{
    if (npages > c->npages - c->used)
        return false;
    while (npages > c->npages - c->used - c->kept) {
        uint32_t oldest = c->blocks[c->nids].newer;

        unlink_block(c, oldest);
        c->blocks[oldest].is_here = false;
    }
    c->used += npages;
    return true;
}

void cache_put(struct serving_cache *c, uint64_t npages)
{
    assert(npages <= c->used);
    c->used -= npages;
}

uint32_t cache_match(const struct serving_cache *c, const uint32_t *blocks, uint32_t n)
{
    uint32_t nhere = 0;

    while (nhere < n && c->blocks[blocks[nhere]].is_here)
        nhere++;
    return nhere;
}

void cache_use(struct serving_cache *c, uint32_t block)
{
    struct cache_block *b = &c->blocks[block];

    assert(b->is_here);
    if (b->nusers++ > 0)
        return;
    unlink_block(c, block);
    c->used += c->block_pages;
}

void cache_leave(struct serving_cache *c, uint32_t block)
{
    struct cache_block *b = &c->blocks[block];

    assert(b->nusers > 0);
    if (--b->nusers > 0)
        return;
    cache_put(c, c->block_pages);
    link_block(c, block);
}

void cache_share(struct serving_cache *c, uint32_t block)
{
    struct cache_block *b = &c->blocks[block];

    if (b->is_here) {
        cache_use(c, block);
        cache_put(c, c->block_pages);
        return;
    }
    b->is_here = true;
    b->nusers = 1;
}
