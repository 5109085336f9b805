/* Ops on shardings: the part of an array on each device.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>

#include "layouts/query/layout_ops.h"
#include "layouts/query/write_layout.h"
#include "question/read_field.h"

#define DEVICES_MAX 65536 /* an answer lists every device */

static void write_slices(struct json_out *out, const struct shd_sharding *s, const int64_t *shape)
{
    int64_t offset[SHD_RANK_MAX], extent[SHD_RANK_MAX];

    shd_sharding_shard_shape(s, shape, extent);
    json_out_begin_array(out);
    for (int32_t p = 0; p < shd_mesh_size(s->mesh); p++) {
        shd_sharding_offset(s, shape, p, offset);
        json_out_begin_array(out);
        for (uint32_t d = 0; d < s->rank; d++)
            write_ints(out, (const int64_t[]){offset[d], offset[d] + extent[d]}, 2);
        json_out_end_array(out);
    }
    json_out_end_array(out);
}

/* Write positions by group; groups are numbered by their first position. */
static void write_replica_groups(struct json_out *out, const int32_t *group_ids, int32_t ngroups,
                                 int32_t ndevices)
{
    json_out_begin_array(out);
    for (int32_t g = 0; g < ngroups; g++) {
        json_out_begin_array(out);
        for (int32_t p = 0; p < ndevices; p++)
            if (group_ids[p] == g)
                json_out_int(out, p);
        json_out_end_array(out);
    }
    json_out_end_array(out);
}

static int write_replicas(struct json_out *out, const struct shd_sharding *s, const int64_t *shape,
                          struct shd_error *err)
{
    int32_t n = shd_mesh_size(s->mesh), ngroups;
    int32_t *ids = malloc(2 * (size_t)n * sizeof *ids);

    if (!ids)
        return shd_error_set(err, SHD_ENOMEM, "no memory for %d devices", (int)n);
    ngroups = shd_sharding_replica_groups(s, shape, ids, ids + n);
    json_out_key(out, "replica_groups");
    write_replica_groups(out, ids, ngroups, n);
    json_out_key_int(out, "num_replica_groups", ngroups);
    json_out_key(out, "replica_ids");
    write_int32s(out, ids + n, (size_t)n);
    free(ids);
    return SHD_OK;
}

static int write_shards(struct json_out *out, const struct shd_sharding *s, const int64_t *shape,
                        const struct shd_spec *spec, struct shd_error *err)
{
    int64_t extent[SHD_RANK_MAX];
    int status;

    shd_sharding_shard_shape(s, shape, extent);
    json_out_begin_object(out);
    json_out_key(out, "shard_shape");
    write_ints(out, extent, s->rank);
    json_out_key(out, "slices");
    write_slices(out, s, shape);
    json_out_key_bool(out, "is_fully_replicated", shd_sharding_is_replicated(s));
    status = write_replicas(out, s, shape, err);
    json_out_key_int(out, "num_devices", shd_mesh_size(s->mesh));
    write_spec_key(out, "canonical_spec", spec);
    json_out_end_object(out);
    return status;
}

static int answer_spec(const json_t *in, const struct shd_mesh *mesh, const struct shd_spec *spec,
                       struct json_out *out, struct shd_error *err)
{
    int64_t shape[SHD_RANK_MAX];
    struct shd_sharding s;
    size_t rank;
    int status = read_shape(shape, &rank, in, "shape", err);

    if (status == SHD_OK)
        status = shd_sharding_bind(&s, mesh, spec, rank, err);
    if (status == SHD_OK)
        status = shd_sharding_check(&s, shape, err);
    if (status == SHD_OK && shd_mesh_size(mesh) > DEVICES_MAX)
        status = shd_error_set(err, SHD_EUNSUPPORTED, "%d devices are too many to list",
                               (int)shd_mesh_size(mesh));
    return status == SHD_OK ? write_shards(out, &s, shape, spec, err) : status;
}

static int answer_shards(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct shd_mesh *mesh = NULL;
    struct shd_spec *spec = NULL;
    int status = read_mesh(&mesh, in, "mesh", err);

    if (status == SHD_OK)
        status = read_spec_value(&spec, json_object_get(in, "spec"), err);
    if (status == SHD_OK)
        status = answer_spec(in, mesh, spec, out, err);
    shd_spec_destroy(spec);
    shd_mesh_destroy(mesh);
    return status;
}

const struct query_op query_sharding_ops[] = {
    {.name = "sharding.shards",
     .answer = answer_shards,
     .about = "What each device holds of a sharded array.",
     .in = QUERY_FIELDS({"mesh", "mesh", NULL, "Axes of the device mesh."},
                        {"shape", "shape", NULL, "Extents of the array."},
                        {"spec", "spec", NULL, "How it is sharded."}),
     .gives = "object",
     .out = QUERY_FIELDS(
         {"shard_shape", "shape", NULL, "Extents of each shard."},
         {"slices", "list of lists", NULL, "For each device and dimension [start, stop)."},
         {"is_fully_replicated", "boolean", NULL, "Whether every device has all of it."},
         {"replica_groups", "list of lists", NULL, "Groups of devices with equal shards."},
         {"num_replica_groups", "whole number", NULL, "How many such groups there are."},
         {"replica_ids", "list of whole numbers", NULL, "Each device's index in the group."},
         {"num_devices", "whole number", NULL, "Devices of the mesh."},
         {"canonical_spec", "spec", NULL,
          "The spec as JAX prints it: one axis for a list of one, null for an empty list."}),
     .errors = "duplicate-axis, axis-not-in-mesh, spec-too-long, indivisible",
     .question = "{'mesh': [['dp', 2], ['tp', 2]], 'shape': [4, 6], 'spec': [null, 'tp']}",
     .reply = "'out':{'shard_shape':[4,3],'slices':[[[0,4],[0,3]],[[0,4],[3,6]],[[0,4],[0,3]],[[0,"
              "4],[3,6]]],'is_fully_replicated':false,'replica_groups':[[0,2],[1,3]],'num_replica_"
              "groups':2,'replica_ids':[0,0,1,1],'num_devices':4,'canonical_spec':[null,'tp']}"},
    {.name = NULL}};
