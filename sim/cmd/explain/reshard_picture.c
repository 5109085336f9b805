/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "cmd/explain/reshard_picture.h"

#include <shd/group.h>
#include <shd/reshard_figures.h>

#include <inttypes.h>
#include <stdlib.h>

#include "base/units.h"
#include "draw/layouts.h"

#define LABEL_MAX 160 /* bytes of a sharding in a title; longer ones are cut */
#define STEP_MAX 640

struct traffic {
    const struct shd_reshard_plan *plan;
    const int64_t *shape;
    int32_t *ids; /* of the devices of both meshes, ascending */
    uint32_t n;
    uint128 *bytes; /* [receiver][sender] */
};

/* ---- devices ---- */

static int by_id(const void *a, const void *b)
{
    const int32_t *x = a, *y = b;

    return *x > *y ? 1 : *x < *y ? -1 : 0;
}

/* Sizes are at most LAYOUTS_MATRIX_MAX. */
static int list_devices(struct traffic *t, const struct shd_mesh *a, const struct shd_mesh *b,
                        struct shd_error *err)
{
    int32_t na = shd_mesh_size(a), nb = shd_mesh_size(b);
    uint32_t last = 0;

    t->ids = malloc(((size_t)na + (size_t)nb) * sizeof *t->ids);
    if (!t->ids)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the devices of a picture");
    for (int32_t p = 0; p < na; p++)
        t->ids[p] = shd_mesh_device_id(a, p);
    for (int32_t p = 0; p < nb; p++)
        t->ids[na + p] = shd_mesh_device_id(b, p);
    qsort(t->ids, (size_t)na + (size_t)nb, sizeof *t->ids, by_id);
    for (int32_t i = 1; i < na + nb; i++)
        if (t->ids[i] != t->ids[last])
            t->ids[++last] = t->ids[i];
    t->n = last + 1;
    return SHD_OK;
}

static uint32_t place_of(const struct traffic *t, int32_t id)
{
    const int32_t *found = bsearch(&id, t->ids, t->n, sizeof *t->ids, by_id);

    return (uint32_t)(found - t->ids);
}

static void add_bytes(struct traffic *t, int32_t to_id, int32_t from_id, uint64_t bytes)
{
    if (to_id != from_id)
        t->bytes[(size_t)place_of(t, to_id) * t->n + place_of(t, from_id)] += bytes;
}

/* ---- steps ---- */

static void add_fetches(struct traffic *t, const struct shd_reshard_step *step, int32_t position)
{
    int64_t n = shd_reshard_fetch_count(step, t->shape, position);
    int32_t id = shd_mesh_device_id(step->to.mesh, position);

    for (int64_t i = 0; i < n; i++) {
        struct shd_fetch box;

        shd_reshard_fetch(step, t->shape, position, i, &box);
        add_bytes(t, id, shd_mesh_device_id(step->from.mesh, box.source),
                  shd_fetch_bytes(&box, step->to.rank, t->plan->dtype));
    }
}

/* Bytes of a member's chunk of an operand; if they do not divide, the first chunks are longer. */
static uint64_t chunk_bytes(const struct traffic *t, const struct shd_reshard_step *step,
                            int32_t member, int32_t nmembers)
{
    int64_t shard[SHD_RANK_MAX], count = 1;

    shd_sharding_shard_shape(&step->from, t->shape, shard);
    for (uint32_t d = 0; d < step->from.rank; d++)
        count *= shard[d];
    return (uint64_t)(count / nmembers + (member < count % nmembers)) *
           shd_dtype_size(t->plan->dtype);
}

/* Add the bytes of a sum: each member receives the others' parts of its chunk, and in an all-reduce
 * also the others' finished chunks. */
static int add_sums(struct traffic *t, const struct shd_reshard_step *step, struct shd_error *err)
{
    const struct shd_mesh *mesh = step->from.mesh;
    struct shd_groups groups;
    int status = shd_groups_init(&groups, mesh, step->axes, step->naxes, err);

    for (int32_t p = 0; status == SHD_OK && p < shd_mesh_size(mesh); p++) {
        int32_t group = shd_groups_find(&groups, p), mine = shd_groups_member(&groups, p);

        for (int32_t m = 0; m < groups.nmembers; m++) {
            uint64_t bytes = chunk_bytes(t, step, mine, groups.nmembers);

            if (step->kind == SHD_RESHARD_ALL_REDUCE)
                bytes += chunk_bytes(t, step, m, groups.nmembers);
            add_bytes(t, shd_mesh_device_id(mesh, p),
                      shd_mesh_device_id(mesh, shd_groups_position(&groups, group, m)), bytes);
        }
    }
    return status;
}

static int add_step(struct traffic *t, const struct shd_reshard_step *step, struct shd_error *err)
{
    if (step->kind == SHD_RESHARD_MASK)
        return SHD_OK;
    if (step->kind == SHD_RESHARD_REDUCE_SCATTER || step->kind == SHD_RESHARD_ALL_REDUCE)
        return add_sums(t, step, err);
    for (int32_t p = 0; p < shd_mesh_size(step->to.mesh); p++)
        add_fetches(t, step, p);
    return SHD_OK;
}

static int fill(struct traffic *t, const struct shd_sharding *from, const struct shd_sharding *to,
                struct shd_error *err)
{
    int status = list_devices(t, from->mesh, to->mesh, err);

    if (status != SHD_OK)
        return status;
    t->bytes = calloc((size_t)t->n * t->n, sizeof *t->bytes);
    if (!t->bytes)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the bytes of a picture");
    for (size_t s = 0; s < t->plan->nsteps && status == SHD_OK; s++)
        status = add_step(t, &t->plan->steps[s], err);
    return status;
}

/* ---- the figure ---- */

static int check_size(const struct shd_sharding *from, const struct shd_sharding *to,
                      struct shd_error *err)
{
    int32_t n = shd_mesh_size(from->mesh) > shd_mesh_size(to->mesh) ? shd_mesh_size(from->mesh)
                                                                    : shd_mesh_size(to->mesh);

    if (n > LAYOUTS_MATRIX_MAX)
        return shd_error_set(
            err, SHD_ERANGE,
            "%" PRId32
            " devices are too many for a traffic picture; expected at most %d, or no --output",
            n, LAYOUTS_MATRIX_MAX);
    return SHD_OK;
}

static int add_blocks(struct figure *out, const char *when, const struct shd_sharding *sharding,
                      const int64_t *shape, struct shd_error *err)
{
    char layout[LABEL_MAX];

    shd_sharding_print(sharding, layout, sizeof layout);
    return layouts_blocks(out, sharding, shape, figure_print(out, "%s: %s", when, layout), err);
}

static int add_traffic(struct figure *out, const struct traffic *t, struct shd_error *err)
{
    size_t first = out->ngrids;
    int status;

    if (t->plan->received_bytes == 0)
        return SHD_OK;
    status = layouts_traffic(out, t->ids, t->n, t->bytes, err);
    if (status == SHD_OK)
        out->grids[first].title = figure_print(out, "traffic from device to device, in bytes");
    return status;
}

static void add_words(struct figure *out, const struct shd_reshard_plan *plan, const int64_t *shape,
                      size_t rank)
{
    char extents[LABEL_MAX];

    shd_shape_print(extents, sizeof extents, shape, rank);
    out->title = figure_print(out, "%s of shape %s: %s from device to device in %zu step%s",
                              shd_dtype_name(plan->dtype), extents,
                              units_print_bytes(plan->received_bytes).text, plan->nsteps,
                              plan->nsteps == 1 ? "" : "s");
    for (size_t s = 0; s < plan->nsteps; s++) {
        char step[STEP_MAX];

        shd_reshard_step_print(&plan->steps[s], step, sizeof step);
        figure_add_note(out, figure_print(out, "Step %zu: %s.", s + 1, step));
    }
    figure_add_note(out, "A cell of an array has the ids of the devices that hold that block.");
}

int reshard_picture(struct figure *out, const struct shd_reshard_plan *plan,
                    const struct shd_sharding *from, const struct shd_sharding *to,
                    const int64_t *shape, struct shd_error *err)
{
    struct traffic t = {.plan = plan, .shape = shape};
    int status = check_size(from, to, err);

    if (status == SHD_OK)
        status = fill(&t, from, to, err);
    if (status == SHD_OK)
        status = add_blocks(out, "before", from, shape, err);
    if (status == SHD_OK)
        status = add_traffic(out, &t, err);
    if (status == SHD_OK)
        status = add_blocks(out, "after", to, shape, err);
    if (status == SHD_OK)
        add_words(out, plan, shape, from->rank);
    if (status == SHD_OK && out->failed)
        status = shd_error_set(err, SHD_ENOMEM, "no memory for the drawing");
    free(t.bytes);
    free(t.ids);
    return status;
}
