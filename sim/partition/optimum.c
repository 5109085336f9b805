/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/optimum.h"

#include <math.h>
#include <stdlib.h>

#include "partition/busy.h"
#include "partition/placement_search.h"

static bool find(struct region_best *out, struct placement *p, double below, uint64_t nodes_max)
{
    const struct region_limits limits = {{WAYS_ALL_AXES, WAYS_MAX}, nodes_max, INFINITY};
    uint32_t *live = malloc((p->graph->nnodes + (size_t)1) * sizeof *live), n = 0;
    struct region *all = region_create(p);
    bool good = live && all;

    for (uint32_t node = 0; node < p->graph->nnodes && live; node++)
        if (p->nodes[node].live)
            live[n++] = node;
    if (good) {
        region_take(all, live, n);
        good = region_find(out, all, below, &limits);
    }
    region_destroy(all);
    free(live);
    return good;
}

int optimum_find(struct region_best *out, struct placement *placement, double below,
                 uint64_t nodes_max, struct shd_error *err)
{
    if (!find(out, placement, below, nodes_max))
        return shd_error_set(err, SHD_ENOMEM, "no memory for the best placement of %u ops",
                             placement->graph->nnodes);
    return SHD_OK;
}

/* Find the optimum with gradients of constraints fixed or free, if it is below the best price so
 * far. */
static int compare_kind(struct optimum_gap *gap, const struct partition_request *request,
                        bool gradients_free, uint64_t nodes_max, struct shd_error *err)
{
    struct placement p;
    struct region_best best;
    int status = placement_init(&p, request, err);
    double part = 1;

    if (status != SHD_OK)
        return status;
    status = search_find_sharers(&p, err);
    if (gradients_free)
        (void)search_free_gradients(&p);
    part = search_part(&p);
    if (status == SHD_OK)
        status = optimum_find(&best, &p, gap->optimum / part, nodes_max, err);
    placement_fini(&p);
    if (status != SHD_OK)
        return status;
    gap->nodes += best.nodes;
    gap->proven &= best.proven;
    if (best.found)
        gap->optimum = best.price * part;
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

int optimum_compare(struct optimum_gap *out, const struct partition_request *request,
                    uint64_t nodes_max, struct shd_error *err)
{
    struct optimum_gap gap = {.proven = true};
    struct placement p;
    int status = placement_init(&p, request, err);

    if (status != SHD_OK)
        return status;
    status = search_placement(&p, err);
    if (status == SHD_OK) {
        gap.searched = gap.optimum = search_price(&p);
        gap.shared = is_shared(&p);
    }
    placement_fini(&p);
    if (status == SHD_OK)
        status = compare_kind(&gap, request, false, nodes_max, err);
    if (status == SHD_OK)
        status = compare_kind(&gap, request, true, nodes_max, err);
    if (status == SHD_OK)
        *out = gap;
    return status;
}
