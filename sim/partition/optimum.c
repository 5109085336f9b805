/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/optimum.h"

#include <math.h>
#include <stdlib.h>

#include "partition/busy.h"
#include "partition/placement_search.h"

void optimum_find(struct region_best *out, struct placement *p, double below, uint64_t nodes_max)
{
    const struct region_limits limits = {{WAYS_ALL_AXES, WAYS_MAX}, nodes_max, INFINITY};
    uint32_t *live = pool_array(p->pool, p->graph->nnodes, sizeof *live), n = 0;
    struct region *all = region_create(p->pool, p);

    for (uint32_t node = 0; node < p->graph->nnodes; node++)
        if (p->nodes[node].live)
            live[n++] = node;
    region_take(all, live, n);
    region_find(out, all, below, &limits);
}

/* Find the optimum with gradients of constraints fixed or free, if it is below the best price so
 * far. */
static int compare_kind(struct optimum_gap *gap, struct pool *pool,
                        const struct partition_request *request, bool gradients_free,
                        uint64_t nodes_max, struct shd_error *err)
{
    struct placement p;
    struct region_best best;
    int status = placement_init(&p, pool, request, err);

    if (status != SHD_OK)
        return status;
    search_find_sharers(&p);
    if (gradients_free)
        (void)search_free_gradients(&p);
    optimum_find(&best, &p, gap->optimum / search_part(&p), nodes_max);
    gap->nodes += best.nodes;
    gap->proven &= best.proven;
    if (best.found)
        gap->optimum = best.price * search_part(&p);
    return SHD_OK;
}

static bool is_shared(const struct placement *p)
{
    for (uint32_t node = 0; node < p->graph->nnodes; node++)
        if (placement_is_free(p, node) &&
            busy_sharers(&p->nodes[node].assign, p->mesh) < p->nodes[node].sharers)
            return false;
    return true;
}

int optimum_compare(struct optimum_gap *out, struct pool *pool,
                    const struct partition_request *request, uint64_t nodes_max,
                    struct shd_error *err)
{
    struct optimum_gap gap = {.proven = true};
    struct placement p;
    int status = placement_init(&p, pool, request, err);

    if (status != SHD_OK)
        return status;
    search_placement(&p);
    gap.searched = gap.optimum = search_price(&p);
    gap.shared = is_shared(&p);
    status = compare_kind(&gap, pool, request, false, nodes_max, err);
    if (status == SHD_OK)
        status = compare_kind(&gap, pool, request, true, nodes_max, err);
    if (status == SHD_OK)
        *out = gap;
    return status;
}
