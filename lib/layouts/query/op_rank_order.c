/* Ops on process groups of whole worlds, as laid out by Megatron-core and torch's DeviceMesh.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>

#include <shd/group.h>
#include <shd/rank_order.h>

#include "layouts/query/layout_ops.h"
#include "layouts/query/read_layout.h"
#include "layouts/query/write_layout.h"
#include "question/read_field.h"

static int read_order(struct shd_mesh **out, const json_t *in, struct shd_error *err)
{
    struct shd_rank_sizes sizes;
    const char *order;
    int status = read_string(&order, in, "order", "tp-cp-ep-dp-pp", err);

    if (status == SHD_OK)
        status = read_int(&sizes.tp, in, "tp", 1, err);
    if (status == SHD_OK)
        status = read_int(&sizes.cp, in, "cp", 1, err);
    if (status == SHD_OK)
        status = read_int(&sizes.ep, in, "ep", 1, err);
    if (status == SHD_OK)
        status = read_int(&sizes.dp, in, "dp", 1, err);
    if (status == SHD_OK)
        status = read_int(&sizes.pp, in, "pp", 1, err);
    if (status == SHD_OK)
        status = shd_rank_order_mesh(out, order, &sizes, err);
    return status == SHD_OK ? check_ranks_listed(shd_mesh_size(*out), err) : status;
}

static int write_token(struct json_out *out, const struct shd_mesh *mesh, const char *token,
                       int64_t offset, struct shd_error *err)
{
    struct shd_groups groups;
    int status = shd_rank_order_groups(&groups, mesh, token, err);

    if (status != SHD_OK)
        return status;
    json_out_key(out, token);
    write_groups(out, &groups, offset);
    return SHD_OK;
}

static int answer_megatron(const json_t *in, struct json_out *out, struct shd_error *err)
{
    const json_t *tokens = json_object_get(in, "tokens");
    struct shd_mesh *mesh = NULL;
    const char **names = NULL;
    int64_t offset;
    size_t n = 0;
    int status = read_int(&offset, in, "rank_offset", 0, err);

    if (status == SHD_OK)
        status = read_order(&mesh, in, err);
    if (status == SHD_OK && tokens && !json_is_null(tokens))
        status = read_names_value(&names, &n, tokens, err);
    if (status == SHD_OK) {
        json_out_begin_object(out);
        json_out_key_int(out, "world_size", shd_mesh_size(mesh));
        json_out_key_object(out, "groups");
        for (size_t t = 0; status == SHD_OK && t < n; t++)
            status = write_token(out, mesh, names[t] ? names[t] : "", offset > 0 ? offset : 0, err);
        json_out_end_object(out);
        json_out_end_object(out);
    }
    free(names);
    shd_mesh_destroy(mesh);
    return status;
}

/* Flatten nested lists of numbers, in order; at most `size` are stored, all are counted. */
static int flatten(int32_t *out, size_t size, size_t *n, const json_t *value, struct shd_error *err)
{
    int status = SHD_OK;

    for (size_t i = 0; status == SHD_OK && i < json_array_size(value); i++)
        status = flatten(out, size, n, json_array_get(value, i), err);
    if (json_is_array(value))
        return status;
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        json_integer_value(value) > INT32_MAX)
        return shd_error_set(err, SHD_EINVAL, "a rank in the mesh must be a number from 0");
    if (*n < size)
        out[*n] = (int32_t)json_integer_value(value);
    ++*n;
    return SHD_OK;
}

/* Give a mesh the ranks of in.mesh_row_major, if it has any. */
static int place_ranks(struct shd_mesh **mesh, const json_t *in, struct shd_error *err)
{
    const json_t *nested = json_object_get(in, "mesh_row_major");
    const char *names[SHD_MESH_AXES_MAX];
    int32_t sizes[SHD_MESH_AXES_MAX], *ids;
    size_t n = 0, size = (size_t)shd_mesh_size(*mesh), naxes = shd_mesh_naxes(*mesh);
    struct shd_mesh *placed = NULL;
    int status;

    if (!nested || json_is_null(nested))
        return SHD_OK;
    for (size_t a = 0; a < naxes; a++) {
        names[a] = shd_mesh_axis_name(*mesh, a);
        sizes[a] = shd_mesh_axis_size(*mesh, a);
    }
    ids = malloc(size * sizeof *ids);
    status = ids ? flatten(ids, size, &n, nested, err)
                 : shd_error_set(err, SHD_ENOMEM, "no memory for %zu ranks", size);
    if (status == SHD_OK && n != size)
        status = shd_error_set(err, SHD_EINVAL, "%zu ranks are given for a mesh of %zu", n, size);
    if (status == SHD_OK)
        status = shd_mesh_create_with_ids(&placed, names, sizes, naxes, ids, err);
    free(ids);
    if (status == SHD_OK) {
        shd_mesh_destroy(*mesh);
        *mesh = placed;
    }
    return status;
}

static int read_device_mesh(struct shd_mesh **out, const json_t *in, struct shd_error *err)
{
    int status = read_named_mesh(out, in, "mesh_dim_names", "dimension", err);

    if (status == SHD_OK)
        status = place_ranks(out, in, err);
    return status == SHD_OK ? check_ranks_listed(shd_mesh_size(*out), err) : status;
}

/* Write the groups along `naxes` adjacent dimensions, under their names joined with '_'. */
static int write_along(struct json_out *out, const struct shd_mesh *mesh, size_t first,
                       size_t naxes, struct shd_error *err)
{
    struct text name = TEXT_INIT;
    struct shd_groups groups;
    uint8_t axes[SHD_MESH_AXES_MAX];
    int status;

    for (size_t i = 0; i < naxes; i++) {
        axes[i] = (uint8_t)(first + i);
        text_addf(&name, "%s%s", i > 0 ? "_" : "", shd_mesh_axis_name(mesh, first + i));
    }
    status = name.failed ? shd_error_set(err, SHD_ENOMEM, "no memory for a name")
                         : shd_groups_init(&groups, mesh, axes, naxes, err);
    if (status == SHD_OK) {
        json_out_key(out, text_get(&name));
        write_groups(out, &groups, 0);
    }
    text_fini(&name);
    return status;
}

static void write_coordinates(struct json_out *out, const struct shd_mesh *mesh)
{
    json_out_begin_array(out);
    for (int32_t rank = 0; rank < shd_mesh_size(mesh); rank++) {
        int32_t p = shd_mesh_find_device(mesh, rank);

        if (p < 0) {
            json_out_null(out);
            continue;
        }
        json_out_begin_array(out);
        for (size_t a = 0; a < shd_mesh_naxes(mesh); a++)
            json_out_int(out, shd_mesh_coord(mesh, p, a));
        json_out_end_array(out);
    }
    json_out_end_array(out);
}

static int answer_device_mesh(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct shd_mesh *mesh = NULL;
    int status = read_device_mesh(&mesh, in, err);

    if (status == SHD_OK) {
        size_t naxes = shd_mesh_naxes(mesh);

        json_out_begin_object(out);
        json_out_key_object(out, "groups");
        for (size_t a = 0; status == SHD_OK && a < naxes; a++)
            status = write_along(out, mesh, a, 1, err);
        for (size_t a = 0; status == SHD_OK && a + 1 < naxes; a++)
            status = write_along(out, mesh, a, 2, err);
        json_out_end_object(out);
        json_out_key(out, "coordinate_by_rank");
        write_coordinates(out, mesh);
        json_out_end_object(out);
    }
    shd_mesh_destroy(mesh);
    return status;
}

const struct query_op query_rank_order_ops[] = {
    {.name = "groups.device_mesh",
     .answer = answer_device_mesh,
     .about = "Process groups along the dimensions of a PyTorch DeviceMesh.",
     .in = QUERY_FIELDS(
         {"mesh_dim_names", "names", NULL, "Names of the dimensions."},
         {"mesh_shape", "list of whole numbers", NULL, "Their sizes."},
         {"mesh_row_major", "nested lists", "ranks in order", "The ranks of the mesh."}),
     .gives = "object",
     .out =
         QUERY_FIELDS({"groups", "object", NULL,
                       "For each dimension, and for each two that are neighbours (as 'dp_tp'), the "
                       "ranks of each group."},
                      {"coordinate_by_rank", "list of lists", NULL,
                       "The coordinates of each rank; null for a rank that is not in the mesh."}),
     .errors = "duplicate-axis",
     .question = "{'mesh_dim_names': ['dp', 'tp'], 'mesh_shape': [2, 2]}",
     .reply = "'out':{'groups':{'dp':[[0,2],[1,3]],'tp':[[0,1],[2,3]],'dp_tp':[[0,1,2,3]]},'"
              "coordinate_by_rank':[[0,0],[0,1],[1,0],[1,1]]}"},
    {.name = "groups.megatron",
     .answer = answer_megatron,
     .about = "Process groups by an order of parallelisms, as Megatron-core lays ranks out.",
     .in = QUERY_FIELDS(
         {"order", "text", "\"tp-cp-ep-dp-pp\"",
          "Kinds of parallelism, that of neighbouring ranks first; those left out have size 1."},
         {"tp", "whole number", "1", "Ranks of tensor parallelism."},
         {"cp", "whole number", "1", "Ranks of context parallelism; it or ep must be 1."},
         {"ep", "whole number", "1", "Ranks of expert parallelism."},
         {"dp", "whole number", "1", "Ranks of data parallelism."},
         {"pp", "whole number", "1", "Ranks of pipeline parallelism."},
         {"rank_offset", "whole number", "0", "Added to each rank."},
         {"tokens", "names", "none", "Kinds of groups to return; 'tp-pp' joins two kinds."}),
     .gives = "object",
     .out = QUERY_FIELDS({"world_size", "whole number", NULL, "Ranks."},
                         {"groups", "object", NULL, "For each token the ranks of each group."}),
     .errors = "duplicate-axis",
     .question = "{'order': 'tp-dp-pp', 'tp': 2, 'dp': 2, 'tokens': ['tp', 'dp']}",
     .reply = "'out':{'world_size':4,'groups':{'tp':[[0,1],[2,3]],'dp':[[0,2],[1,3]]}}"},
    {.name = NULL}};
