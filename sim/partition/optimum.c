/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/optimum.h"

#include <math.h>
#include <stdlib.h>

#include "partition/search.h"

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

/* The optimum of one of the two kinds, where it is below what is known.  `searched`: among the
 * placements in which as many devices share the work of each heavy op as in that one; NULL: all. */
static int compare_kind(struct optimum_gap *gap, const struct partition_request *request,
                        bool gradients_free, const struct placement *searched, uint64_t nodes_max,
                        struct shd_error *err)
{
    struct placement p;
    struct region_best best;
    int status = placement_init(&p, request, err);
    double part;

    if (status != SHD_OK)
        return status;
    if (gradients_free)
        search_free_gradients(&p);
    for (uint32_t node = 0; node < p.graph->nnodes && searched; node++)
        p.nodes[node].assign = searched->nodes[node].assign;
    part = search_part(&p);
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

int optimum_compare(struct optimum_gap *out, const struct partition_request *request,
                    enum optimum_among among, uint64_t nodes_max, struct shd_error *err)
{
    struct optimum_gap gap = {.proven = true};
    struct placement p;
    const struct placement *searched = among == OPTIMUM_AMONG_SHARED ? &p : NULL;
    int status = placement_init(&p, request, err);

    if (status != SHD_OK)
        return status;
    status = search_placement(&p, err);
    gap.searched = gap.optimum = search_price(&p);
    if (status == SHD_OK)
        status = compare_kind(&gap, request, false, searched, nodes_max, err);
    if (status == SHD_OK)
        status = compare_kind(&gap, request, true, searched, nodes_max, err);
    placement_fini(&p);
    if (status == SHD_OK)
        *out = gap;
    return status;
}
