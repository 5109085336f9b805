/* Ops of eformer that make meshes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/create_mesh.h>

#include "layouts/query/layout_ops.h"
#include "layouts/query/read_layout.h"
#include "layouts/query/write_layout.h"
#include "question/read_field.h"

static int read_count(int32_t *out, const json_t *in, const char *key, int32_t fallback,
                      struct shd_error *err)
{
    int64_t value;
    int status = read_int(&value, in, key, fallback, err);

    if (status == SHD_OK && (value < 0 || value > INT32_MAX))
        status = shd_error_set(err, SHD_EINVAL, "'%s' is %lld", key, (long long)value);
    if (status == SHD_OK)
        *out = (int32_t)value;
    return status;
}

static int read_cluster(struct shd_cluster *out, const json_t *in, struct shd_error *err)
{
    int status = read_count(&out->ndevices, in, "device_count", 1, err);

    if (status == SHD_OK)
        status = read_count(&out->nprocesses, in, "process_count", 1, err);
    if (status == SHD_OK)
        status = read_count(&out->nslices, in, "num_slices", 0, err);
    if (status == SHD_OK)
        status = read_count(&out->nslices_asked, in, "megascale_num_slices_env", 0, err);
    return status;
}

/* Write the grid with its names; a name may repeat here, as in the original. */
static int write_grid(struct json_out *out, const struct shd_mesh_grid *grid,
                      const char *const *names, size_t nnames, int32_t ndevices,
                      struct shd_error *err)
{
    if (grid->ndims != nnames)
        return shd_error_set(err, SHD_EINVAL, "%zu names for a mesh of %zu dimensions", nnames,
                             grid->ndims);
    json_out_begin_object(out);
    json_out_key(out, "axis_names");
    write_names(out, names, nnames);
    json_out_key(out, "shape");
    write_int32s(out, grid->sizes, grid->ndims);
    json_out_key_array(out, "device_ids");
    for (int32_t p = 0; p < ndevices; p++)
        json_out_int(out, grid->device_ids ? grid->device_ids[p] : p);
    json_out_end_array(out);
    json_out_end_object(out);
    return SHD_OK;
}

static bool is_given(const json_t *in, const char *key)
{
    const json_t *value = json_object_get(in, key);

    return value && !json_is_null(value);
}

/* The mesh that a question requests. */
struct mesh_question {
    struct shd_cluster cluster;
    int64_t dims[SHD_MESH_AXES_MAX], dcn[SHD_MESH_AXES_MAX];
    const char *names[SHD_MESH_AXES_MAX];
    size_t ndims, nnames, ndcn;
    bool has_dcn;
};

static void set_defaults(struct mesh_question *q)
{
    q->ndims = q->nnames = SHD_DEFAULT_MESH_AXES;
    for (size_t d = 0; d < SHD_DEFAULT_MESH_AXES; d++) {
        q->dims[d] = shd_default_mesh_dims()[d];
        q->names[d] = shd_default_mesh_names()[d];
    }
}

static int read_mesh_question(struct mesh_question *q, const json_t *in, struct shd_error *err)
{
    int status = read_cluster(&q->cluster, in, err);

    set_defaults(q);
    q->has_dcn = is_given(in, "dcn_mesh_dims");
    if (status == SHD_OK && is_given(in, "axis_dims"))
        status = layout_read_ints(q->dims, &q->ndims, SHD_MESH_AXES_MAX,
                                  json_object_get(in, "axis_dims"), "'axis_dims'", err);
    if (status == SHD_OK && is_given(in, "axis_names"))
        status = layout_read_names(q->names, &q->nnames, SHD_MESH_AXES_MAX,
                                   json_object_get(in, "axis_names"), "'axis_names'", err);
    if (status == SHD_OK && q->has_dcn)
        status = layout_read_ints(q->dcn, &q->ndcn, SHD_MESH_AXES_MAX,
                                  json_object_get(in, "dcn_mesh_dims"), "'dcn_mesh_dims'", err);
    return status;
}

static int answer_question(const struct mesh_question *q, struct json_out *out,
                           struct shd_error *err)
{
    struct shd_mesh_grid grid;
    int status = shd_mesh_grid_init(&grid, &q->cluster, q->dims, q->ndims,
                                    q->has_dcn ? q->dcn : NULL, q->ndcn, err);

    if (status != SHD_OK)
        return status;
    status = write_grid(out, &grid, q->names, q->nnames, q->cluster.ndevices, err);
    shd_mesh_grid_fini(&grid);
    return status;
}

static int answer_create(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct mesh_question q = {.ndcn = 0};
    int status = read_mesh_question(&q, in, err);

    return status == SHD_OK ? answer_question(&q, out, err) : status;
}

static int answer_parse(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct mesh_question q = {.has_dcn = false};
    const char *names[SHD_MESH_AXES_MAX], *text;
    int status = read_cluster(&q.cluster, in, err);

    if (status == SHD_OK)
        status = read_string(&text, in, "axis_dims", "", err);
    if (status == SHD_OK)
        status = layout_read_names(names, &q.nnames, SHD_MESH_AXES_MAX,
                                   json_object_get(in, "names"), "'names'", err);
    if (status == SHD_OK)
        status = shd_mesh_dims_parse(q.dims, q.names, text, names, q.nnames, err);
    q.ndims = q.nnames;
    return status == SHD_OK ? answer_question(&q, out, err) : status;
}

static int answer_host_shape(const json_t *in, struct json_out *out, struct shd_error *err)
{
    int64_t dims[SHD_MESH_AXES_MAX];
    int32_t shape[SHD_MESH_AXES_MAX], ndevices, nprocesses;
    size_t n;
    int status = layout_read_ints(dims, &n, SHD_MESH_AXES_MAX,
                                  json_object_get(in, "global_mesh_shape"),
                                  "'global_mesh_shape'", err);

    for (size_t d = 0; status == SHD_OK && d < n; d++) {
        if (dims[d] < 1 || dims[d] > INT32_MAX)
            status = shd_error_set(err, SHD_EINVAL, "a dimension of the mesh is %lld",
                                   (long long)dims[d]);
        shape[d] = (int32_t)dims[d];
    }
    if (status == SHD_OK)
        status = read_count(&ndevices, in, "local_device_count", 1, err);
    if (status == SHD_OK)
        status = read_count(&nprocesses, in, "num_processes", 1, err);
    if (status == SHD_OK)
        status = shd_host_mesh_shape(shape, shape, n, ndevices, nprocesses, err);
    if (status == SHD_OK)
        write_int32s(out, shape, n);
    return status;
}

#define CLUSTER_FIELDS                                                                          \
    {"device_count", "whole number", "1", "Devices of all processes."},                         \
        {"process_count", "whole number", "1", "Processes; more than one make a hybrid mesh."}, \
        {"num_slices", "whole number or null", "0", "Slices that devices know of; 0: none."},   \
    {                                                                                           \
        "megascale_num_slices_env", "whole number or null", "0",                                \
            "The value of MEGASCALE_NUM_SLICES; 0: not set."                                    \
    }

const struct query_op query_eformer_mesh_ops[] = {
    {.name = "eformer.calculate_host_mesh_shape",
     .answer = answer_host_shape,
     .about = "The part of a mesh that one process has.",
     .in = QUERY_FIELDS(
         {"global_mesh_shape", "list of whole numbers", NULL, "Sizes of the mesh's axes."},
         {"local_device_count", "whole number", "1", "Devices of a process."},
         {"num_processes", "whole number", "1", "Processes."}),
     .gives = "list of whole numbers",
     .errors = "indivisible",
     .question = "{'global_mesh_shape': [8, 4], 'local_device_count': 4, 'num_processes': 8}",
     .reply = "'out':[1,4]"},
    {.name = "eformer.create_mesh",
     .answer = answer_create,
     .about = "The mesh that eformer's create_mesh makes.",
     .in = QUERY_FIELDS(
         {"axis_dims", "list of whole numbers", "[1, -1, 1, 1, 1]",
          "Sizes of axes; -1: all the devices that remain."},
         {"axis_names", "names", "[\"dp\", \"fsdp\", \"ep\", \"tp\", \"sp\"]", "As many names."},
         {"dcn_mesh_dims", "list of whole numbers", "none", "Sizes over slices or processes."},
         CLUSTER_FIELDS),
     .gives = "object",
     .out = QUERY_FIELDS(MESH_FIELDS),
     .errors = "indivisible",
     .question = "{'device_count': 4, 'axis_dims': [2, -1], 'axis_names': ['dp', 'tp']}",
     .reply = "'out':{'axis_names':['dp','tp'],'shape':[2,2],'device_ids':[0,1,2,3]}"},
    {.name = "eformer.parse_mesh_from_string",
     .answer = answer_parse,
     .about = "The mesh of a text of sizes, as '2,-1', or of names with sizes, as 'dp:2,tp:-1'.",
     .in = QUERY_FIELDS({"axis_dims", "text", "\"\"", "The text."},
                        {"names", "names", NULL, "Names of the axes."}, CLUSTER_FIELDS),
     .gives = "object",
     .out = QUERY_FIELDS(MESH_FIELDS),
     .errors = "indivisible",
     .question = "{'device_count': 4, 'axis_dims': 'tp:2,dp:-1', 'names': ['dp', 'tp']}",
     .reply = "'out':{'axis_names':['tp','dp'],'shape':[2,2],'device_ids':[0,1,2,3]}"},
    {.name = NULL}};
