/* Ops on hardware and its meshes, as T5X creates them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>

#include <shd/topology.h>
#include <shd/tpu_mesh.h>

#include "layouts/query/layout_ops.h"
#include "layouts/query/read_layout.h"
#include "layouts/query/write_layout.h"
#include "question/read_field.h"

#define DEVICES_MAX 1048576 /* an answer lists every device */

static int read_device(struct shd_topology_device *out, const json_t *in, struct shd_error *err)
{
    const json_t *device = json_object_get(in, "device");
    int64_t *coords = NULL;
    size_t n = 0;
    int status;

    *out = (struct shd_topology_device){.slice = -1};
    if (!json_is_object(device))
        return shd_error_set(err, SHD_ETYPE, "'device' must be an object");
    status = read_ints(&coords, &n, device, "coords", err);
    if (status == SHD_OK && n > SHD_DEVICE_COORDS_MAX)
        status = shd_error_set(err, SHD_ERANGE, "a device has %zu coordinates", n);
    if (status == SHD_OK)
        status = read_int(&out->core, device, "core_on_chip", 0, err);
    if (status == SHD_OK)
        status = read_int(&out->id, device, "id", 0, err);
    if (status == SHD_OK)
        status = read_int(&out->process, device, "process_index", 0, err);
    out->has_coords = coords != NULL;
    for (size_t i = 0; status == SHD_OK && i < n; i++)
        out->coords[i] = coords[i];
    out->ncoords = (uint8_t)n;
    free(coords);
    return status;
}

static int answer_bounds(const json_t *in, struct json_out *out, struct shd_error *err)
{
    int64_t bounds[SHD_GRID_DIMS_MAX], nprocesses, nlocal;
    struct shd_topology_device device;
    size_t n;
    int status = read_device(&device, in, err);

    if (status == SHD_OK)
        status = read_int(&nprocesses, in, "process_count", 1, err);
    if (status == SHD_OK)
        status = read_int(&nlocal, in, "local_device_count", 1, err);
    if (status == SHD_OK)
        status = shd_device_bounds(bounds, &n, &device, nprocesses, nlocal, err);
    if (status == SHD_OK)
        write_ints(out, bounds, n);
    return status;
}

static int answer_coords(const json_t *in, struct json_out *out, struct shd_error *err)
{
    int64_t coords[SHD_DEVICE_COORDS_MAX + 1], nlocal;
    struct shd_topology_device device;
    size_t n;
    int status = read_device(&device, in, err);

    if (status == SHD_OK)
        status = read_int(&nlocal, in, "local_device_count", 1, err);
    if (status == SHD_OK)
        status = shd_device_coords(coords, &n, &device, nlocal, err);
    if (status == SHD_OK)
        write_ints(out, coords, n);
    return status;
}

static int check_size(const struct shd_topology *topology, struct shd_error *err)
{
    if (topology->ndevices > DEVICES_MAX)
        return shd_error_set(err, SHD_EUNSUPPORTED, "a mesh of %d devices is too large to list",
                             (int)topology->ndevices);
    return SHD_OK;
}

/* Read in.topology = {kind, bounds, host_layout}. */
static int read_chips(struct shd_topology *out, const json_t *in, struct shd_error *err)
{
    const json_t *topology = json_object_get(in, "topology");
    int64_t *bounds = NULL, *host = NULL;
    size_t nbounds, nhost;
    const char *kind;
    int status = read_string(&kind, topology, "kind", "", err);

    if (status == SHD_OK)
        status = read_ints(&bounds, &nbounds, topology, "bounds", err);
    if (status == SHD_OK)
        status = read_ints(&host, &nhost, topology, "host_layout", err);
    if (status == SHD_OK && (nbounds != 4 || nhost != 4))
        status = shd_error_set(err, SHD_EINVAL, "a topology has 4 bounds and a host layout of 4");
    if (status == SHD_OK)
        status = shd_topology_init_chips(out, kind, bounds, host, err);
    if (status == SHD_OK)
        status = check_size(out, err);
    free(bounds);
    free(host);
    return status;
}

/* Read in = {platform, process_count, local_device_count, num_slices}. */
static int read_hosts(struct shd_topology *out, const json_t *in, struct shd_error *err)
{
    int64_t nprocesses, nlocal, nslices;
    const char *platform;
    int status = read_string(&platform, in, "platform", "cpu", err);

    if (status == SHD_OK)
        status = read_int(&nprocesses, in, "process_count", 1, err);
    if (status == SHD_OK)
        status = read_int(&nlocal, in, "local_device_count", 1, err);
    if (status == SHD_OK)
        status = read_int(&nslices, in, "num_slices", 0, err);
    if (status == SHD_OK)
        status = shd_topology_init_hosts(out, platform, nprocesses, nlocal, nslices, err);
    return status == SHD_OK ? check_size(out, err) : status;
}

static void write_coords(struct json_out *out, const struct shd_topology *topology,
                         const struct shd_mesh *mesh)
{
    json_out_key_array(out, "coords");
    for (int32_t p = 0; p < shd_mesh_size(mesh); p++) {
        struct shd_topology_device device;

        shd_topology_device(topology, shd_mesh_device_id(mesh, p), &device);
        json_out_begin_array(out);
        for (size_t d = 0; d < device.ncoords; d++)
            json_out_int(out, device.coords[d]);
        json_out_int(out, device.core);
        json_out_end_array(out);
    }
    json_out_end_array(out);
}

/* Write a mesh; chips have coordinates in the answer. */
static void write_mesh(struct json_out *out, const struct shd_topology *topology,
                       struct shd_mesh *mesh)
{
    json_out_begin_object(out);
    write_mesh_keys(out, mesh);
    if (topology->ndims == 4)
        write_coords(out, topology, mesh);
    json_out_end_object(out);
    shd_mesh_destroy(mesh);
}

/* read_chips() or read_hosts(): how a question describes the hardware. */
typedef int read_hardware(struct shd_topology *out, const json_t *in, struct shd_error *err);

static int answer_submesh(const json_t *in, read_hardware *read, struct json_out *out,
                          struct shd_error *err)
{
    struct shd_tpu_mesh_opts opts = SHD_TPU_MESH_OPTS_INIT;
    struct shd_topology topology;
    struct shd_mesh *mesh;
    int64_t *submesh = NULL;
    size_t n;
    int status = read(&topology, in, err);

    if (status == SHD_OK)
        status = read_bool(&opts.tile_by_host, in, "tile_by_host_if_needed", true, err);
    if (status == SHD_OK)
        status = read_int(&opts.local_process, in, "local_process", 0, err);
    if (status == SHD_OK)
        status = read_bool(&opts.strict, in, "strict", false, err);
    if (status == SHD_OK)
        status = read_ints(&submesh, &n, in, "model_parallel_submesh", err);
    if (status == SHD_OK)
        status = shd_tpu_mesh_create(&mesh, &topology, submesh, n, &opts, err);
    if (status == SHD_OK)
        write_mesh(out, &topology, mesh);
    free(submesh);
    return status;
}

static int answer_get_mesh(const json_t *in, struct json_out *out, struct shd_error *err)
{
    return answer_submesh(in, read_chips, out, err);
}

static int answer_get_mesh_hosts(const json_t *in, struct json_out *out, struct shd_error *err)
{
    return answer_submesh(in, read_hosts, out, err);
}

static int answer_default(const json_t *in, read_hardware *read, int64_t num_partitions,
                          struct json_out *out, struct shd_error *err)
{
    struct shd_mesh_request request = {0};
    struct shd_topology topology;
    struct shd_mesh *mesh;
    int status = read(&topology, in, err);

    if (status == SHD_OK)
        status = read_mesh_request(&request, in, num_partitions, err);
    if (status == SHD_OK)
        status = shd_default_mesh_create(&mesh, &topology, &request, err);
    if (status == SHD_OK)
        write_mesh(out, &topology, mesh);
    free_mesh_request(&request);
    return status;
}

static int answer_default_tpu(const json_t *in, struct json_out *out, struct shd_error *err)
{
    return answer_default(in, read_chips, 0, out, err);
}

static int answer_default_hosts(const json_t *in, struct json_out *out, struct shd_error *err)
{
    return answer_default(in, read_hosts, 0, out, err);
}

/* Answer for the default hybrid mesh.  Without a shape it is the plain mesh of one partition. */
static int answer_default_hybrid(const json_t *in, struct json_out *out, struct shd_error *err)
{
    return answer_default(in, read_hosts, 1, out, err);
}

#define TOPOLOGY_FIELDS                                                                         \
    {"topology", "object", NULL, "The chips."},                                                 \
        {"topology.kind", "text", "\"\"", "JAX's device kind: 'TPU v4'."},                      \
        {"topology.bounds", "list of whole numbers", NULL, "[x, y, z, cores]."},                \
    {                                                                                           \
        "topology.host_layout", "list of whole numbers", NULL, "The box of one host, likewise." \
    }

#define DEVICE_FIELDS                                                                            \
    {"device", "object", NULL, "A chip, or a device of a process."},                             \
        {"device.coords", "list of whole numbers", "none", "Of a chip."},                        \
        {"device.core_on_chip", "whole number", "0", "Of a chip."},                              \
        {"device.process_index", "whole number", "0", "The process of a device."},               \
    {                                                                                            \
        "device.id", "whole number", "0", "Of a device."                                         \
    }

#define HOSTS_FIELDS                                                                \
    {"platform", "text", "\"cpu\"", "cpu, gpu or tpu."},                            \
        {"process_count", "whole number", "1", "Processes."},                       \
        {"local_device_count", "whole number", "1", "Devices of a process."},       \
    {                                                                               \
        "num_slices", "whole number or null", "0",                                  \
            "Slices that processes are split over; 0: devices have no slice index." \
    }

#define SUBMESH_FIELDS                                                                        \
    {"model_parallel_submesh", "list of whole numbers", NULL,                                 \
     "Extents of the submesh that holds one copy of the model."},                             \
        {"tile_by_host_if_needed", "boolean", "true",                                         \
         "Keep the devices of a host together in one box of the mesh."},                      \
        {"local_process", "whole number", "0", "Whose devices are the local ones."},          \
    {                                                                                         \
        "strict", "boolean", "false", "The extents of a host are the same for every process." \
    }

#define COORDS_FIELD                                                                     \
    {                                                                                    \
        "coords", "list of lists", NULL, "Coordinates and core of each chip, row-major." \
    }

#define SHAPES_FIELDS                                                                       \
    {"model_parallel_submesh", "list of whole numbers", "none", "Extents of the submesh."}, \
        {"ici_mesh_shape", "list of whole numbers", "none",                                 \
         "With dcn_mesh_shape a hybrid mesh: its sizes inside a slice."},                   \
    {                                                                                       \
        "dcn_mesh_shape", "list of whole numbers", "none",                                  \
            "With ici_mesh_shape: its sizes over slices or processes."                      \
    }

const struct query_op query_t5x_mesh_ops[] = {
    {.name = "t5x.bounds_from_last_device",
     .answer = answer_bounds,
     .about = "The extents of the hardware, from its last device (the far corner).",
     .in = QUERY_FIELDS(DEVICE_FIELDS, {"process_count", "whole number", "1", "Processes."},
                        {"local_device_count", "whole number", "1", "Devices of a process."}),
     .gives = "list of whole numbers",
     .question = "{'device': {'coords': [3, 1, 0], 'core_on_chip': 1}}",
     .reply = "'out':[4,2,1,2]"},
    {.name = "t5x.default_mesh_hosts",
     .answer = answer_default_hosts,
     .about = "The default mesh of processes and their devices.",
     .in = QUERY_FIELDS(HOSTS_FIELDS,
                        {"num_partitions", "whole number", "0",
                         "Devices of a model-parallel submesh; or model_parallel_submesh."},
                        SHAPES_FIELDS),
     .gives = "object",
     .out = QUERY_FIELDS(MESH_FIELDS),
     .errors = "indivisible",
     .question =
         "{'platform': 'gpu', 'process_count': 2, 'local_device_count': 2, 'num_partitions': 2}",
     .reply = "'out':{'axis_names':['data','model'],'shape':[2,2],'device_ids':[0,1,2,3]}"},
    {.name = "t5x.default_mesh_hybrid",
     .answer = answer_default_hybrid,
     .about = "The mesh (replica, data, model) with slices or processes on the slower links; "
              "without both shapes the default mesh.",
     .in = QUERY_FIELDS(HOSTS_FIELDS,
                        {"num_partitions", "whole number", "1",
                         "Devices of a model-parallel submesh; or model_parallel_submesh."},
                        SHAPES_FIELDS),
     .gives = "object",
     .out = QUERY_FIELDS(MESH_FIELDS),
     .errors = "indivisible",
     .question = "{'platform': 'gpu', 'process_count': 2, 'local_device_count': 2, 'num_slices': "
                 "2, 'ici_mesh_shape': [1, 1, 2], 'dcn_mesh_shape': [2, 1, 1]}",
     .reply =
         "'out':{'axis_names':['replica','data','model'],'shape':[2,1,2],'device_ids':[0,1,2,3]}"},
    {.name = "t5x.default_mesh_tpu",
     .answer = answer_default_tpu,
     .about = "The default mesh of TPU chips.",
     .in = QUERY_FIELDS(TOPOLOGY_FIELDS,
                        {"num_partitions", "whole number", "0",
                         "Devices of a model-parallel submesh; or model_parallel_submesh."},
                        SHAPES_FIELDS),
     .gives = "object",
     .out = QUERY_FIELDS(MESH_FIELDS, COORDS_FIELD),
     .errors = "indivisible",
     .question = "{'topology': {'kind': 'TPU v4', 'bounds': [2, 2, 1, 1], 'host_layout': [2, 2, 1, "
                 "1]}, 'num_partitions': 2}",
     .reply = "'out':{'axis_names':['data','model'],'shape':[2,2],'device_ids':[0,2,1,3],'coords':["
              "[0,0,0,0],[0,1,0,0],[1,0,0,0],[1,1,0,0]]}"},
    {.name = "t5x.get_coords",
     .answer = answer_coords,
     .about = "The coordinates and core of a device; without coordinates, the process and the "
              "device's number in the process.",
     .in = QUERY_FIELDS(DEVICE_FIELDS,
                        {"local_device_count", "whole number", "1", "Devices of a process."}),
     .gives = "list of whole numbers",
     .question = "{'device': {'process_index': 1, 'id': 9}, 'local_device_count': 8}",
     .reply = "'out':[1,1]"},
    {.name = "t5x.get_mesh",
     .answer = answer_get_mesh,
     .about = "The mesh (data, model) of TPU chips for a model-parallel submesh.",
     .in = QUERY_FIELDS(TOPOLOGY_FIELDS, SUBMESH_FIELDS,
                        {"device_order", "text", "none", "Of the list of devices; has no effect."}),
     .gives = "object",
     .out = QUERY_FIELDS(MESH_FIELDS, COORDS_FIELD),
     .errors = "indivisible",
     .question = "{'topology': {'kind': 'TPU v4', 'bounds': [2, 2, 1, 1], 'host_layout': [2, 2, 1, "
                 "1]}, 'model_parallel_submesh': [2, 1, 1, 1]}",
     .reply = "'out':{'axis_names':['data','model'],'shape':[2,2],'device_ids':[0,1,2,3],'coords':["
              "[0,0,0,0],[1,0,0,0],[0,1,0,0],[1,1,0,0]]}"},
    {.name = "t5x.get_mesh_hosts",
     .answer = answer_get_mesh_hosts,
     .about = "The mesh (data, model) of processes and their devices for a model-parallel submesh.",
     .in = QUERY_FIELDS(HOSTS_FIELDS, SUBMESH_FIELDS),
     .gives = "object",
     .out = QUERY_FIELDS(MESH_FIELDS),
     .errors = "indivisible",
     .question = "{'process_count': 2, 'local_device_count': 2, 'model_parallel_submesh': [1, 2]}",
     .reply = "'out':{'axis_names':['data','model'],'shape':[2,2],'device_ids':[0,1,2,3]}"},
    {.name = NULL}};
