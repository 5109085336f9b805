/* Figures of meshes, shardings, groups and traffic (layouts.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "draw/layouts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

#define LABEL_MAX 160 /* bytes of a mesh or a sharding in a title; longer ones are cut */
#define HOLDERS_MAX                                                              \
    16 /* devices named in one cell; if more, one fewer and the number of the rest \
        */

/* A box of cells of any rank: the last dimension runs along columns, the one before along rows, and
 * the others are small multiples. */
struct box {
    uint32_t rank;
    int64_t extent[SHD_RANK_MAX];
    size_t grid; /* the first of its grids in the figure */
};

typedef const char *(*box_label_fn)(struct figure *f, const void *arg, uint32_t dim, int64_t i);

static int check_size(struct figure *f, const struct box *box, struct shd_error *err)
{
    int64_t n = 1;

    if (f->failed)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the drawing");
    for (uint32_t d = 0; d < box->rank; d++) {
        n *= box->extent[d];
        if (n > FIGURE_CELLS_MAX)
            return shd_error_set(err, SHD_ERANGE,
                                 "more than %d cells are too many to draw; take a smaller mesh",
                                 FIGURE_CELLS_MAX);
    }
    return SHD_OK;
}

static int64_t extent_of(const struct box *box, uint32_t from_last)
{
    return from_last < box->rank ? box->extent[box->rank - 1 - from_last] : 1;
}

/* Add labelled grids for a box.  `titles[d]` names a dimension. */
static void add_grids(struct figure *f, struct box *box, const char *const *titles,
                      box_label_fn label, const void *arg)
{
    int64_t npanels = 1, nrows = extent_of(box, 1), ncolumns = extent_of(box, 0);

    box->grid = f->ngrids;
    for (uint32_t d = 0; d + 2 < box->rank; d++)
        npanels *= box->extent[d];
    for (int64_t p = 0; p < npanels; p++) {
        struct figure_grid *grid = figure_add_grid(f, (uint32_t)nrows, (uint32_t)ncolumns);
        int64_t rest = p;

        if (!grid)
            return;
        for (uint32_t d = box->rank < 2 ? 0 : box->rank - 2; d-- > 0;) {
            const char *one = label(f, arg, d, rest % box->extent[d]);

            rest /= box->extent[d];
            grid->title =
                figure_print(f, "%s %s%s%s", titles[d], one, *grid->title ? ", " : "", grid->title);
        }
        for (int64_t r = 0; box->rank >= 2 && r < nrows; r++)
            grid->row_labels[r] = label(f, arg, box->rank - 2, r);
        for (int64_t c = 0; box->rank >= 1 && c < ncolumns; c++)
            grid->column_labels[c] = label(f, arg, box->rank - 1, c);
        grid->row_title = box->rank >= 2 ? titles[box->rank - 2] : "";
        grid->column_title = box->rank >= 1 ? titles[box->rank - 1] : "";
    }
}

/* The cell of a row-major index into the box. */
static struct figure_cell *cell_at(struct figure *f, const struct box *box, int64_t index)
{
    int64_t panel = extent_of(box, 0) * extent_of(box, 1);
    struct figure_grid *grid = &f->grids[box->grid + (size_t)(index / panel)];

    return figure_cell(f, grid, (uint32_t)(index % panel / grid->ncolumns),
                       (uint32_t)(index % panel % grid->ncolumns));
}

/* ---- meshes and groups ---- */

static const char *mesh_label(struct figure *f, const void *arg, uint32_t dim, int64_t i)
{
    (void)arg, (void)dim;
    return figure_print(f, "%d", (int)i);
}

static int add_mesh(struct figure *f, const struct shd_mesh *mesh, struct shd_error *err)
{
    struct box box = {.rank = (uint32_t)shd_mesh_naxes(mesh)};
    const char *titles[SHD_MESH_AXES_MAX];
    int status;

    for (uint32_t a = 0; a < box.rank; a++) {
        box.extent[a] = shd_mesh_axis_size(mesh, a);
        titles[a] = figure_print(f, "%s", shd_mesh_axis_name(mesh, a));
    }
    status = check_size(f, &box, err);
    if (status == SHD_OK)
        add_grids(f, &box, titles, mesh_label, NULL);
    return status;
}

#define COLOURS_MAX 16 /* distinguishable colours in one drawing */

/* The axis whose coordinate determines the colour of a device, if there are too many devices for a
 * colour each: the first axis that is short enough; -1: a colour each, -2: no colours. */
static int colour_axis(const struct shd_mesh *mesh)
{
    size_t n = shd_mesh_naxes(mesh);

    if (shd_mesh_size(mesh) <= COLOURS_MAX)
        return -1;
    for (size_t a = 0; a < n; a++)
        if (shd_mesh_axis_size(mesh, a) > 1 && shd_mesh_axis_size(mesh, a) <= COLOURS_MAX)
            return (int)a;
    return -2;
}

static int32_t colour_at(const struct shd_mesh *mesh, int axis, int32_t position)
{
    int32_t stride = 1;

    if (axis < 0)
        return axis == -1 ? position : FIGURE_PLAIN;
    for (size_t a = shd_mesh_naxes(mesh); a-- > (size_t)axis + 1;)
        stride *= shd_mesh_axis_size(mesh, a);
    return position / stride % shd_mesh_axis_size(mesh, (size_t)axis);
}

/* Fill in the device ids, in the colours of colour_at(), or of the groups unless `groups` is
 * NULL. */
static int fill_mesh(struct figure *f, const struct shd_mesh *mesh, const struct shd_groups *groups,
                     struct shd_error *err)
{
    struct box box = {.rank = (uint32_t)shd_mesh_naxes(mesh)};
    int axis = colour_axis(mesh);

    for (uint32_t a = 0; a < box.rank; a++)
        box.extent[a] = shd_mesh_axis_size(mesh, a);
    for (int32_t p = 0; p < shd_mesh_size(mesh) && !f->failed; p++) {
        int32_t group = groups ? shd_groups_find(groups, p) : colour_at(mesh, axis, p);
        int32_t id = shd_mesh_device_id(mesh, p);

        figure_add_part(f, cell_at(f, &box, p), group,
                        groups ? figure_print(f, "%d g%d", (int)id, (int)group)
                               : figure_print(f, "%d", (int)id));
    }
    return f->failed ? shd_error_set(err, SHD_ENOMEM, "no memory for the drawing") : SHD_OK;
}

static const char *plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

int layouts_mesh(struct figure *out, const struct shd_mesh *mesh, struct shd_error *err)
{
    char text[LABEL_MAX];
    int status = add_mesh(out, mesh, err);

    if (status != SHD_OK)
        return status;
    shd_mesh_print(mesh, text, sizeof text);
    out->title = figure_print(out, "mesh %s: %d device%s", text, (int)shd_mesh_size(mesh),
                              plural(shd_mesh_size(mesh)));
    if (shd_mesh_naxes(mesh) > 1)
        figure_add_note(out, "Device ids are row-major: the last axis varies fastest.");
    if (colour_axis(mesh) >= 0)
        figure_add_note(out, figure_print(out, "Colours are places along %s.",
                                          shd_mesh_axis_name(mesh, (size_t)colour_axis(mesh))));
    return fill_mesh(out, mesh, NULL, err);
}

#define GROUPS_LISTED_MAX 16 /* listed below the drawing; further ones are counted */

static void list_group(struct figure *f, const struct shd_groups *g, int32_t group)
{
    const char *members = "";

    for (int32_t m = 0; m < g->nmembers && m < HOLDERS_MAX; m++)
        members = figure_print(f, "%s %d", members,
                               (int)shd_mesh_device_id(g->mesh, shd_groups_position(g, group, m)));
    figure_add_note(f, figure_print(f, "g%d:%s%s", (int)group, members,
                                    g->nmembers > HOLDERS_MAX ? " ..." : ""));
}

int layouts_groups(struct figure *out, const struct shd_groups *groups, struct shd_error *err)
{
    char text[LABEL_MAX];
    const char *axes = "";
    int status = add_mesh(out, groups->mesh, err);

    if (status != SHD_OK)
        return status;
    shd_mesh_print(groups->mesh, text, sizeof text);
    for (uint8_t a = 0; a < groups->naxes; a++)
        axes = figure_print(out, "%s%s%s", axes, a ? "," : "",
                            shd_mesh_axis_name(groups->mesh, groups->axes[a]));
    out->title = figure_print(out, "groups along %s of mesh %s: %d group%s of %d",
                              groups->naxes ? axes : "no axis", text, (int)groups->ngroups,
                              plural(groups->ngroups), (int)groups->nmembers);
    for (int32_t g = 0; g < groups->ngroups && g < GROUPS_LISTED_MAX; g++)
        list_group(out, groups, g);
    if (groups->ngroups > GROUPS_LISTED_MAX)
        figure_add_note(
            out, figure_print(out, "and %d more groups", (int)groups->ngroups - GROUPS_LISTED_MAX));
    return fill_mesh(out, groups->mesh, groups, err);
}

/* ---- shardings ---- */

struct blocks {
    const struct shd_sharding *sharding;
    int64_t shard[SHD_RANK_MAX];
    struct box box;
};

static const char *block_label(struct figure *f, const void *arg, uint32_t dim, int64_t i)
{
    const struct blocks *b = arg;
    int64_t n = b->shard[dim];

    if (n == 0)
        return "none";
    if (n == 1)
        return figure_print(f, "%lld", (long long)i);
    return figure_print(f, "%lld-%lld", (long long)(i * n), (long long)(i * n + n - 1));
}

/* Format a dimension as "dim 0 (dp,tp)". */
static const char *dim_title(struct figure *f, const struct shd_sharding *s, uint32_t dim)
{
    const char *axes = "";

    for (uint8_t a = 0; a < s->dims[dim].naxes; a++)
        axes = figure_print(f, "%s%s%s", axes, a ? "," : "",
                            shd_mesh_axis_name(s->mesh, s->dims[dim].axes[a]));
    if (!*axes)
        axes = "unsharded";
    return figure_print(f, "dim %u (%s)", dim, axes);
}

static int64_t block_of(const struct blocks *b, int32_t position)
{
    int64_t index = 0;

    for (uint32_t d = 0; d < b->box.rank; d++)
        index = index * b->box.extent[d] + shd_sharding_index(b->sharding, d, position);
    return index;
}

/* Sort positions by block; (*begins)[k] is where block k begins. */
static int32_t *by_block(const struct blocks *b, int64_t nblocks, int32_t **begins)
{
    int32_t n = shd_mesh_size(b->sharding->mesh);
    int32_t *sorted = calloc((size_t)n + (size_t)nblocks + 1, sizeof *sorted), *at;

    if (!sorted)
        return NULL;
    at = sorted + n;
    for (int32_t p = 0; p < n; p++)
        at[block_of(b, p) + 1]++;
    for (int64_t k = 0; k < nblocks; k++)
        at[k + 1] += at[k];
    for (int32_t p = n; p-- > 0;) /* from the back, so that at[k + 1] becomes the begin of k */
        sorted[--at[block_of(b, p) + 1]] = p;
    *begins = at + 1;
    return sorted;
}

static void fill_block(struct figure *f, struct figure_cell *cell, const struct shd_mesh *mesh,
                       const int32_t *holders, int32_t n)
{
    int32_t named = n > HOLDERS_MAX ? HOLDERS_MAX - 1 : n;

    for (int32_t i = 0; i < named; i++) {
        int32_t id = shd_mesh_device_id(mesh, holders[i]);

        figure_add_part(f, cell, id, figure_print(f, "%d", (int)id));
    }
    if (n > named)
        figure_add_part(f, cell, FIGURE_PLAIN, figure_print(f, "+%d", (int)(n - named)));
    cell->set = n > 1;
}

static void title_sharding(struct figure *f, const struct blocks *b, const int64_t *shape,
                           int64_t nblocks, int32_t nholders)
{
    const char *whole = "", *shard = "";
    char mesh[LABEL_MAX], layout[LABEL_MAX];

    for (uint32_t d = 0; d < b->box.rank; d++) {
        whole = figure_print(f, "%s%s%lld", whole, d ? "x" : "", (long long)shape[d]);
        shard = figure_print(f, "%s%s%lld", shard, d ? "x" : "", (long long)b->shard[d]);
    }
    if (b->box.rank == 0)
        whole = shard = "scalar";
    shd_sharding_print(b->sharding, layout, sizeof layout);
    shd_mesh_print(b->sharding->mesh, mesh, sizeof mesh);
    f->title = figure_print(f, "array %s as %s on mesh %s", whole, layout, mesh);
    figure_add_note(
        f, figure_print(f, "%lld block%s of %s, each on %d device%s%s, whose id%s in its cell.",
                        (long long)nblocks, plural(nblocks), shard, (int)nholders, plural(nholders),
                        nholders > 1 ? " (replicas)" : "", nholders > 1 ? "s are" : " is"));
}

#define RATIO_MAX 3.0 /* largest ratio of an array's sides in a drawing */

/* Give grids the proportions of the array's extents, however it is sharded. */
static void shape_grids(struct figure *f, const struct box *box, const int64_t *shape)
{
    uint32_t rank = box->rank;
    double ratio;

    if (rank < 2 || shape[rank - 2] == 0 || shape[rank - 1] == 0)
        return;
    ratio = (double)shape[rank - 2] / (double)shape[rank - 1];
    for (size_t g = box->grid; g < f->ngrids; g++)
        f->grids[g].ratio = fmin(fmax(ratio, 1 / RATIO_MAX), RATIO_MAX);
}

static int64_t init_blocks(struct blocks *b, const struct shd_sharding *sharding,
                           const int64_t *shape)
{
    int64_t nblocks = 1;

    *b = (struct blocks){.sharding = sharding, .box = {.rank = sharding->rank}};
    shd_sharding_shard_shape(sharding, shape, b->shard);
    for (uint32_t d = 0; d < b->box.rank; d++) {
        b->box.extent[d] = shd_sharding_nshards(sharding, d);
        nblocks *= b->box.extent[d];
    }
    return nblocks;
}

static int add_blocks(struct figure *out, struct blocks *b, const int64_t *shape, int64_t nblocks,
                      struct shd_error *err)
{
    const struct shd_sharding *sharding = b->sharding;
    const char *titles[SHD_RANK_MAX];
    int32_t *sorted, *begins, ndevices = shd_mesh_size(sharding->mesh);
    int status = check_size(out, &b->box, err);

    if (status != SHD_OK)
        return status;
    for (uint32_t d = 0; d < b->box.rank; d++)
        titles[d] = dim_title(out, sharding, d);
    add_grids(out, &b->box, titles, block_label, b);
    shape_grids(out, &b->box, shape);
    sorted = by_block(b, nblocks, &begins);
    for (int64_t k = 0; sorted && k < nblocks && !out->failed; k++) {
        int32_t end = k + 1 < nblocks ? begins[k + 1] : ndevices;

        fill_block(out, cell_at(out, &b->box, k), sharding->mesh, sorted + begins[k],
                   end - begins[k]);
    }
    if (!sorted || out->failed)
        status = shd_error_set(err, SHD_ENOMEM, "no memory for the drawing");
    free(sorted);
    return status;
}

int layouts_sharding(struct figure *out, const struct shd_sharding *sharding, const int64_t *shape,
                     struct shd_error *err)
{
    struct blocks b;
    int64_t nblocks = init_blocks(&b, sharding, shape);
    int status = add_blocks(out, &b, shape, nblocks, err);

    if (status == SHD_OK)
        title_sharding(out, &b, shape, nblocks, (int32_t)(shd_mesh_size(sharding->mesh) / nblocks));
    return status;
}

int layouts_blocks(struct figure *out, const struct shd_sharding *sharding, const int64_t *shape,
                   const char *title, struct shd_error *err)
{
    struct blocks b;
    int64_t nblocks = init_blocks(&b, sharding, shape);
    int status = add_blocks(out, &b, shape, nblocks, err);

    for (size_t g = b.box.grid; status == SHD_OK && g < out->ngrids; g++) {
        struct figure_grid *grid = &out->grids[g];

        grid->title = figure_print(out, "%s%s%s", title, *grid->title ? ", " : "", grid->title);
    }
    return status;
}

/* ---- traffic ---- */

/* Format bytes for a cell: "256K", "1.5M", "12". */
static const char *short_bytes(struct figure *f, uint128 bytes)
{
    static const char units[] = "KMGTPEZY";
    double value = (double)bytes;
    int unit = -1;

    if (bytes < 1024)
        return figure_print(f, "%d", (int)bytes);
    while (value >= 999.5 && unit < 7) {
        value /= 1024;
        unit++;
    }
    return figure_print(f, value < 9.95 && value - (double)(int)value >= 0.05 ? "%.1f%c" : "%.0f%c",
                        value, units[unit]);
}

int layouts_traffic(struct figure *out, const int32_t *ids, uint32_t n, const uint128 *matrix,
                    struct shd_error *err)
{
    struct box box = {.rank = 2, .extent = {n, n}};
    struct figure_grid *grid;
    uint128 most = 0;
    int status = check_size(out, &box, err);

    if (status != SHD_OK)
        return status;
    add_grids(out, &box, (const char *const[]){"to", "from device"}, mesh_label, NULL);
    for (size_t i = 0; i < (size_t)n * n; i++)
        most = matrix[i] > most ? matrix[i] : most;
    if (out->failed)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the drawing");
    grid = &out->grids[box.grid];
    grid->shaded = true;
    for (uint32_t r = 0; r < n && !out->failed; r++) {
        grid->row_labels[r] = figure_print(out, "%d", (int)ids[r]);
        grid->column_labels[r] = grid->row_labels[r];
        for (uint32_t c = 0; c < n; c++) {
            uint128 bytes = matrix[(size_t)r * n + c];
            struct figure_cell *cell = figure_cell(out, grid, r, c);

            cell->shade = most ? (double)bytes / (double)most : 0;
            figure_add_part(out, cell, FIGURE_PLAIN, bytes ? short_bytes(out, bytes) : "");
        }
    }
    for (unsigned i = 0; i < 3; i++)
        grid->scale[i] = short_bytes(out, most * i / 2);
    return out->failed ? shd_error_set(err, SHD_ENOMEM, "no memory for the drawing") : SHD_OK;
}

int layouts_matrix(struct figure *out, const struct shd_mesh *mesh, const uint128 *matrix,
                   struct shd_error *err)
{
    uint32_t n = (uint32_t)shd_mesh_size(mesh);
    int32_t *ids = malloc(n * sizeof *ids);
    int status;

    if (!ids)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the drawing");
    for (uint32_t p = 0; p < n; p++)
        ids[p] = shd_mesh_device_id(mesh, (int32_t)p);
    status = layouts_traffic(out, ids, n, matrix, err);
    free(ids);
    return status;
}

int layouts_bytes(struct figure *out, const struct layouts_table *table, struct shd_error *err)
{
    struct box box = {.rank = 2, .extent = {table->nrows, table->ncolumns}};
    const char *const titles[] = {table->row_title, table->column_title};
    int status = check_size(out, &box, err);

    if (status != SHD_OK)
        return status;
    add_grids(out, &box, titles, mesh_label, NULL);
    for (uint32_t r = 0; r < table->nrows && !out->failed; r++) {
        out->grids[0].row_labels[r] = figure_print(out, "%s", table->rows[r]);
        for (uint32_t c = 0; c < table->ncolumns; c++) {
            uint128 bytes = table->bytes[(size_t)r * table->ncolumns + c];

            out->grids[0].column_labels[c] = figure_print(out, "%s", table->columns[c]);
            figure_add_part(out, figure_cell(out, &out->grids[0], r, c), FIGURE_PLAIN,
                            bytes ? figure_print(out, "%s", units_print_bytes(bytes).text) : "");
        }
    }
    return out->failed ? shd_error_set(err, SHD_ENOMEM, "no memory for the drawing") : SHD_OK;
}
