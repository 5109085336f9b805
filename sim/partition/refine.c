/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/refine.h"

#include <stdio.h>
#include <string.h>

#include "base/divisor.h"
#include "partition/place.h"

#define PARTS_MAX 8

/* Where an axis is split: products of the sizes of its leading parts, each dividing the next. */
struct cuts {
    uint32_t n;
    int64_t at[PARTS_MAX];
};

/* Add a cut, if it divides, and is divided by, its neighbours. */
static void add_cut(struct cuts *cuts, int64_t size, int64_t at)
{
    uint32_t i = 0;

    while (i < cuts->n && cuts->at[i] < at)
        i++;
    if (at <= 1 || at >= size || cuts->n == PARTS_MAX || (i < cuts->n && cuts->at[i] == at) ||
        (i < cuts->n && cuts->at[i] % at) || (i > 0 && at % cuts->at[i - 1]))
        return;
    memmove(&cuts->at[i + 1], &cuts->at[i], (cuts->n - i) * sizeof cuts->at[0]);
    cuts->at[i] = at;
    cuts->n++;
}

/* Cut axes for factors that follow another: a follower takes the common divisor of axis and factor.
 * `placed`: only axes that cut the followed factor; NULL: all axes. */
static void cut_followers(struct cuts *cuts, const struct rule *rule, const struct shd_mesh *mesh,
                          const struct assign *placed)
{
    for (uint32_t f = 0; f < rule->nfactors; f++)
        for (size_t a = 0; a < shd_mesh_naxes(mesh); a++) {
            int8_t follows = rule->factors[f].follows;

            if (follows != RULE_FREE && !rule->factors[f].as_it_lies &&
                (!placed || placed->place[a] == follows))
                add_cut(&cuts[a], shd_mesh_axis_size(mesh, a),
                        divisor_common(shd_mesh_axis_size(mesh, a), rule->factors[f].size));
        }
}

/* Find all cuts; false if none. */
static bool find_cuts(struct cuts *cuts, const struct graph *graph, const struct shd_mesh *mesh,
                      const struct placement *placed)
{
    uint32_t n = 0;

    memset(cuts, 0, SHD_MESH_AXES_MAX * sizeof *cuts);
    for (uint32_t node = 0; node < graph->nnodes; node++) {
        const struct rule_op *row = rule_of(graph->nodes[node].op);
        struct rule rule;

        if (!row->rule)
            continue;
        row->rule(&rule, graph, node);
        cut_followers(cuts, &rule, mesh, placed ? &placed->nodes[node].assign : NULL);
    }
    for (size_t a = 0; a < SHD_MESH_AXES_MAX; a++)
        n += cuts[a].n;
    return n > 0;
}

/* Find cuts for a placement by following, which uses few axes, so that few have to be split. */
static int find_followed_cuts(struct cuts *cuts, struct pool *pool,
                              const struct partition_request *request, struct shd_error *err)
{
    struct pool *placing = pool_in(pool);
    struct placement placed;
    int status = place_values(&placed, placing, request, err);

    if (status == SHD_OK)
        find_cuts(cuts, request->graph, request->mesh, &placed);
    pool_drop(pool, placing);
    return status;
}

int refine_init(struct refined *out, struct pool *pool, const struct partition_request *request,
                struct shd_error *err)
{
    const struct shd_mesh *mesh = request->mesh;
    struct cuts cuts[SHD_MESH_AXES_MAX];
    char texts[SHD_MESH_AXES_MAX][64];
    const char *names[SHD_MESH_AXES_MAX];
    int32_t sizes[SHD_MESH_AXES_MAX];
    size_t naxes = shd_mesh_naxes(mesh), total = naxes, n = 0;

    memset(out, 0, sizeof *out);
    if (find_cuts(cuts, request->graph, mesh, NULL) && request->placement == PARTITION_FOLLOW) {
        int status = find_followed_cuts(cuts, pool, request, err);

        if (status != SHD_OK)
            return status;
    }
    if (request->neighbours > 0)
        add_cut(&cuts[request->neighbours_axis],
                shd_mesh_axis_size(mesh, request->neighbours_axis),
                shd_mesh_axis_size(mesh, request->neighbours_axis) / request->neighbours);
    if (request->stages)
        cuts[request->stages->axis].n = 0;
    for (size_t a = 0; a < naxes; a++)
        total += cuts[a].n;
    if (total == naxes || total > SHD_MESH_AXES_MAX)
        return SHD_OK;
    for (size_t a = 0; a < naxes; a++) {
        int64_t before = 1;

        out->first[a] = (uint8_t)n;
        out->nparts[a] = (uint8_t)(cuts[a].n + 1);
        for (uint32_t p = 0; p <= cuts[a].n; p++) {
            int64_t upto = p < cuts[a].n ? cuts[a].at[p] : shd_mesh_axis_size(mesh, a);

            sizes[n] = (int32_t)(upto / before);
            snprintf(texts[n], sizeof texts[n], "%.40s:(%d)%d", shd_mesh_axis_name(mesh, a),
                     (int)before, (int)sizes[n]);
            names[n] = cuts[a].n ? texts[n] : shd_mesh_axis_name(mesh, a);
            before = upto;
            n++;
        }
    }
    return shd_mesh_create(&out->mesh, names, sizes, n, err);
}

uint32_t refine_axes(const struct refined *refined, uint32_t axes)
{
    uint32_t finer = 0;

    for (uint8_t a = 0; a < SHD_MESH_AXES_MAX; a++)
        if (axes >> a & 1)
            finer |= ((UINT32_C(1) << refined->nparts[a]) - 1) << refined->first[a];
    return finer;
}

static void refine_tuple(struct shd_dim_axes *out, const struct refined *refined,
                         const struct shd_dim_axes *axes)
{
    for (uint8_t i = 0; i < axes->naxes; i++)
        for (uint8_t p = 0; p < refined->nparts[axes->axes[i]]; p++)
            out->axes[out->naxes++] = (uint8_t)(refined->first[axes->axes[i]] + p);
}

void refine_sharding(struct shd_sharding *out, const struct refined *refined,
                     const struct shd_sharding *sharding)
{
    shd_sharding_init(out, refined->mesh, sharding->rank);
    for (uint32_t d = 0; d < sharding->rank; d++)
        refine_tuple(&out->dims[d], refined, &sharding->dims[d]);
    refine_tuple(&out->flat, refined, &sharding->flat);
    out->flat_dims = sharding->flat_dims;
}
