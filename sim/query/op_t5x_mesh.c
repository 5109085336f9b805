/* Ops on hardware and its meshes, as T5X makes them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>

#include <shd/topology.h>
#include <shd/tpu_mesh.h>

#include "query/axes.h"
#include "query/query.h"
#include "query/read.h"

#define DEVICES_MAX 1048576 /* an answer lists every device */

static int read_device(struct shd_device *out, const json_t *in, struct shd_error *err)
{
    const json_t *device = json_object_get(in, "device");
    int64_t *coords = NULL;
    size_t n = 0;
    int status;

    *out = (struct shd_device){.slice = -1};
    if (!json_is_object(device))
        return shd_error_set(err, SHD_ETYPE, "'device' must be an object");
    status = read_ints(&coords, &n, device, "coords", err);
    if (status == SHD_OK && n > SHD_DEVICE_COORDS_MAX)
        status = shd_error_set(err, SHD_ERANGE, "a device of %zu coordinates", n);
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
    struct shd_device device;
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
    struct shd_device device;
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
        return shd_error_set(err, SHD_EUNSUPPORTED, "a mesh of %d devices is not listed",
                             (int)topology->ndevices);
    return SHD_OK;
}

/* in.topology = {kind, bounds, host_layout} */
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

/* in = {platform, process_count, local_device_count, num_slices} */
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
    json_out_key(out, "coords");
    json_out_begin_array(out);
    for (int32_t p = 0; p < shd_mesh_size(mesh); p++) {
        struct shd_device device;

        shd_topology_device(topology, shd_mesh_device_id(mesh, p), &device);
        json_out_begin_array(out);
        for (size_t d = 0; d < device.ncoords; d++)
            json_out_int(out, device.coords[d]);
        json_out_int(out, device.core);
        json_out_end_array(out);
    }
    json_out_end_array(out);
}

/* Chips have coordinates in the answer. */
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

static int answer_submesh(const json_t *in, const struct shd_topology *topology,
                          struct json_out *out, struct shd_error *err)
{
    struct shd_tpu_mesh_opts opts = SHD_TPU_MESH_OPTS_INIT;
    struct shd_mesh *mesh;
    int64_t *submesh = NULL;
    size_t n;
    int status = read_bool(&opts.tile_by_host, in, "tile_by_host_if_needed", true, err);

    if (status == SHD_OK)
        status = read_int(&opts.local_process, in, "local_process", 0, err);
    if (status == SHD_OK)
        status = read_bool(&opts.strict, in, "strict", false, err);
    if (status == SHD_OK)
        status = read_ints(&submesh, &n, in, "model_parallel_submesh", err);
    if (status == SHD_OK)
        status = shd_tpu_mesh_create(&mesh, topology, submesh, n, &opts, err);
    if (status == SHD_OK)
        write_mesh(out, topology, mesh);
    free(submesh);
    return status;
}

static int answer_get_mesh(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct shd_topology topology;
    int status = read_chips(&topology, in, err);

    return status == SHD_OK ? answer_submesh(in, &topology, out, err) : status;
}

static int answer_get_mesh_hosts(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct shd_topology topology;
    int status = read_hosts(&topology, in, err);

    return status == SHD_OK ? answer_submesh(in, &topology, out, err) : status;
}

static int answer_default(const json_t *in, const struct shd_topology *topology,
                          int64_t num_partitions, struct json_out *out, struct shd_error *err)
{
    struct shd_mesh_request request = {0};
    int64_t *submesh = NULL, *ici = NULL, *dcn = NULL;
    struct shd_mesh *mesh;
    int status = read_int(&request.num_partitions, in, "num_partitions", num_partitions, err);

    if (status == SHD_OK)
        status = read_ints(&submesh, &request.nsubmesh, in, "model_parallel_submesh", err);
    if (status == SHD_OK)
        status = read_ints(&ici, &request.nici, in, "ici_mesh_shape", err);
    if (status == SHD_OK)
        status = read_ints(&dcn, &request.ndcn, in, "dcn_mesh_shape", err);
    request.submesh = submesh;
    request.ici = ici;
    request.dcn = dcn;
    if (status == SHD_OK)
        status = shd_default_mesh_create(&mesh, topology, &request, err);
    if (status == SHD_OK)
        write_mesh(out, topology, mesh);
    free(submesh);
    free(ici);
    free(dcn);
    return status;
}

static int answer_default_tpu(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct shd_topology topology;
    int status = read_chips(&topology, in, err);

    return status == SHD_OK ? answer_default(in, &topology, 0, out, err) : status;
}

static int answer_default_hosts(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct shd_topology topology;
    int status = read_hosts(&topology, in, err);

    return status == SHD_OK ? answer_default(in, &topology, 0, out, err) : status;
}

/* The plain path, where a shape is missing, is that of one partition. */
static int answer_default_hybrid(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct shd_topology topology;
    int status = read_hosts(&topology, in, err);

    return status == SHD_OK ? answer_default(in, &topology, 1, out, err) : status;
}

const struct query_op query_t5x_mesh_ops[] = {{"t5x.bounds_from_last_device", answer_bounds},
                                              {"t5x.default_mesh_hosts", answer_default_hosts},
                                              {"t5x.default_mesh_hybrid", answer_default_hybrid},
                                              {"t5x.default_mesh_tpu", answer_default_tpu},
                                              {"t5x.get_coords", answer_coords},
                                              {"t5x.get_mesh", answer_get_mesh},
                                              {"t5x.get_mesh_hosts", answer_get_mesh_hosts},
                                              {NULL, NULL}};
