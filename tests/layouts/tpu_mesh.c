/* Tests shd/tpu_mesh.h: meshes over the coordinates of TPU devices, with hosts, submeshes and
 * T5X's default tables.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/tpu_mesh.h>

#include <stdlib.h>

#include "../support/layout_text.h"
#include "../support/tap.h"

static struct shd_topology chips(const char *kind, int64_t x, int64_t y, int64_t z, int64_t cores)
{
    const int64_t bounds[] = {x, y, z, cores}, host[] = {2, 2, 1, cores};
    struct shd_topology t;

    ok(shd_topology_init_chips(&t, kind, bounds, host, NULL) == SHD_OK, "%s: hosts of 2x2", kind);
    return t;
}

static struct shd_topology hosts(const char *platform, int64_t n, int64_t nlocal, int64_t nslices)
{
    struct shd_topology t;

    ok(shd_topology_init_hosts(&t, platform, n, nlocal, nslices, NULL) == SHD_OK, "%s: %dx%d",
       platform, (int)n, (int)nlocal);
    return t;
}

/* Whether a call returned the wanted status and, if it succeeded, a mesh that begins as `want`. */
static void expect(int status, struct shd_mesh *mesh, int want_status, const char *want,
                   const char *what)
{
    char text[256];
    int fits = status == want_status;
    int32_t n = 1; /* devices in the text */

    for (const char *p = want; p && *p; p++)
        n += *p == ',';

    if (status == SHD_OK && fits)
        fits = !strcmp(mesh_text(text, sizeof text, mesh, n), want);
    if (!ok(fits, "%s: %s", what, status == SHD_OK ? want : "refused"))
        diag("status %d, %s", status, status == SHD_OK ? text : "no mesh");
    if (status == SHD_OK)
        shd_mesh_destroy(mesh);
}

struct submesh_row {
    int64_t submesh[5];
    size_t n;
    int status;
    const char *mesh; /* the mesh's first 16 devices at most */
};

static void test_submesh(void)
{
    static const struct submesh_row rows[] = {
        {{2, 1, 1, 2}, 4, SHD_OK, "8x4: 0,1,2,3,8,9,10,11"},
        {{1, 1, 1, 1}, 4, SHD_OK, "32x1: 0,1,8,9,2,3,10,11"},
        {{4, 4, 1, 2}, 4, SHD_OK, "1x32: 0,1,8,9,2,3,10,11"},
        {{1, 4, 1, 2}, 4, SHD_OK, "4x8: 0,1,8,9,16,17,24,25"},
        {{1, 4, 1, 1}, 4, SHD_EINVAL, NULL}, /* fills y without using all cores */
        {{3, 1, 1, 1}, 4, SHD_EINDIVISIBLE, NULL},
        {{2, 2}, 2, SHD_EINVAL, NULL},
        {{2, 2, 1, 2, 1}, 5, SHD_EINVAL, NULL},
        {{0, 1, 1, 1}, 4, SHD_EINVAL, NULL},
        {{-2, 1, 1, 1}, 4, SHD_EINVAL, NULL},
        {{INT64_MIN, 1, 1, 1}, 4, SHD_EINDIVISIBLE, NULL},
        {{0}, 0, SHD_EINVAL, NULL},
    };
    struct shd_topology t = chips("TPU v3", 4, 4, 1, 2);

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct shd_mesh *mesh = NULL;
        int status = shd_tpu_mesh_create(&mesh, &t, rows[i].submesh, rows[i].n, NULL, NULL);

        expect(status, mesh, rows[i].status, rows[i].mesh, "submesh of 4x4x1x2");
    }
}

static void test_tiling(void)
{
    const int64_t submesh[] = {1, 1, 1, 1}, tall[] = {1, 2, 1, 1}, six[] = {2, 2, 1, 1};
    const int64_t bounds[] = {6, 6, 1, 1}, host[] = {3, 3, 1, 1};
    const int64_t cube[] = {4, 4, 4, 1}, deep[] = {2, 2, 2, 1}, along_x[] = {4, 1, 1, 1};
    struct shd_tpu_mesh_opts opts = SHD_TPU_MESH_OPTS_INIT;
    struct shd_topology t = chips("TPU v3", 4, 4, 1, 2), odd;
    struct shd_mesh *mesh = NULL;
    int status;

    opts.tile_by_host = false;
    status = shd_tpu_mesh_create(&mesh, &t, submesh, 4, &opts, NULL);
    expect(status, mesh, SHD_OK, "32x1: 0,1,8,9,16,17,24,25", "not tiled");
    ok(shd_topology_init_chips(&odd, "", bounds, host, NULL) == SHD_OK, "hosts of 3x3");
    status = shd_tpu_mesh_create(&mesh, &odd, six, 4, NULL, NULL);
    expect(status, mesh, SHD_EINDIVISIBLE, NULL, "a tile of 2x2 on hosts of 3x3");
    status = shd_tpu_mesh_create(&mesh, &odd, six, 4, &opts, NULL);
    expect(status, mesh, SHD_OK, "9x4: 0,6,1,7", "the same, not tiled");

    ok(shd_topology_init_chips(&odd, "", cube, deep, NULL) == SHD_OK, "hosts of 2x2x2");
    status = shd_tpu_mesh_create(&mesh, &odd, along_x, 4, NULL, NULL);
    expect(status, mesh, SHD_OK, "16x4: 0,1,2,3,4,5,6,7,8,9", "all of x: z major, not tiled");

    /* The far corner of process 1 is at x = 3, which suggests a host of 4x2. */
    opts = (struct shd_tpu_mesh_opts){true, 1, false};
    status = shd_tpu_mesh_create(&mesh, &t, tall, 4, &opts, NULL);
    expect(status, mesh, SHD_OK, "16x2: 0,8,1,9,2,10,3,11,4,12", "from process 1");
    opts.strict = true;
    status = shd_tpu_mesh_create(&mesh, &t, tall, 4, &opts, NULL);
    expect(status, mesh, SHD_OK, "16x2: 0,8,1,9,2,10,3,11,16,24", "the same, strict");
    opts.local_process = 4;
    status = shd_tpu_mesh_create(&mesh, &t, tall, 4, &opts, NULL);
    expect(status, mesh, SHD_EINVAL, NULL, "a missing process");
}

static void test_on_hosts(void)
{
    static const struct submesh_row rows[] = {
        {{1, 4}, 2, SHD_OK, "4x4: 0,1,2,3"},       {{2, 2}, 2, SHD_OK, "4x4: 0,1,4,5"},
        {{1, 2, 2, 1}, 4, SHD_OK, "4x4: 0,1,2,3"}, /* regrouped over all four entries */
        {{1, 2, 3}, 3, SHD_EINVAL, NULL},          {{1, 2, 0}, 3, SHD_EINVAL, NULL},
        {{1, 2, INT64_MAX}, 3, SHD_EINVAL, NULL},  {{1}, 1, SHD_EINVAL, NULL},
        {{1, 3}, 2, SHD_EINDIVISIBLE, NULL},
    };
    struct shd_topology t = hosts("cpu", 4, 4, 0);

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct shd_mesh *mesh = NULL;
        int status = shd_tpu_mesh_create(&mesh, &t, rows[i].submesh, rows[i].n, NULL, NULL);

        expect(status, mesh, rows[i].status, rows[i].mesh, "submesh of hosts");
    }
}

/* All devices of a topology, the last one first; the first `nlocal` ids are also in `local`. */
static struct shd_topology_device *list_devices(const struct shd_topology *t,
                                                struct shd_topology_device *local)
{
    struct shd_topology_device *devices = calloc((size_t)t->ndevices, sizeof *devices);

    for (int32_t id = 0; devices && id < t->ndevices; id++) {
        shd_topology_device(t, t->ndevices - 1 - id, &devices[id]);
        if (shd_topology_process(t, id) == 0)
            shd_topology_device(t, id, local++);
    }
    return devices;
}

static void test_listed(void)
{
    const int64_t submesh[] = {2, 1, 1, 2}, pair[] = {1, 2}, each[] = {1, 1, 1, 1};
    const struct shd_topology_device far = {.has_coords = true, .ncoords = 3, .coords = {2, 0, 0}};
    struct shd_tpu_mesh_opts opts = SHD_TPU_MESH_OPTS_INIT;
    struct shd_topology t = chips("TPU v3", 4, 4, 1, 2);
    struct shd_topology_device local[8], *devices = list_devices(&t, local);
    struct shd_topology_device gpus[2] = {{.id = 1}, {.id = 0}};
    struct shd_device_list list = {devices, (size_t)t.ndevices, local, 8, 4, 8};
    struct shd_mesh *mesh = NULL;
    int status = shd_tpu_mesh_create_from(&mesh, &list, submesh, 4, NULL, NULL);

    expect(status, mesh, SHD_OK, "8x4: 0,1,2,3,8,9,10,11", "listed in any order");
    opts.tile_by_host = false;
    status = shd_tpu_mesh_create_from(&mesh, &list, each, 4, &opts, NULL);
    expect(status, mesh, SHD_OK, "32x1: 0,1,8,9,16,17,24,25", "listed, not tiled");
    status = shd_tpu_mesh_create_from(&mesh, &list, each, 4, NULL, NULL);
    expect(status, mesh, SHD_OK, "32x1: 0,1,8,9,2,3,10,11", "listed, tiled");
    list.local = &far;
    list.nlocal = 1;
    status = shd_tpu_mesh_create_from(&mesh, &list, submesh, 4, &opts, NULL);
    expect(status, mesh, SHD_EINDIVISIBLE, NULL, "hosts of 3 in 4");
    list.local = local;
    list.nlocal = 8;
    for (int32_t id = 0; id < t.ndevices; id++)
        shd_topology_device(&t, id, &devices[id]);
    status = shd_tpu_mesh_create_from(&mesh, &list, submesh, 4, NULL, NULL);
    expect(status, mesh, SHD_OK, "8x4: 0,1,2,3,8,9,10,11", "listed in order");
    free(devices);
    devices = list_devices(&t, local);
    list.devices = devices;
    list.ndevices--; /* without the origin */
    status = shd_tpu_mesh_create_from(&mesh, &list, submesh, 4, NULL, NULL);
    expect(status, mesh, SHD_EINVAL, NULL, "a device is missing");
    devices[3] = devices[4];
    list.ndevices++;
    status = shd_tpu_mesh_create_from(&mesh, &list, submesh, 4, NULL, NULL);
    expect(status, mesh, SHD_EINVAL, NULL, "a device is listed twice");
    devices[3].coords[1] = 9;
    status = shd_tpu_mesh_create_from(&mesh, &list, submesh, 4, NULL, NULL);
    expect(status, mesh, SHD_EINVAL, NULL, "a device is outside");
    list.nlocal = 0;
    status = shd_tpu_mesh_create_from(&mesh, &list, submesh, 4, NULL, NULL);
    expect(status, mesh, SHD_EINVAL, NULL, "no local devices");
    list = (struct shd_device_list){gpus, 2, gpus, 2, 1, 2};
    status = shd_tpu_mesh_create_from(&mesh, &list, pair, 2, NULL, NULL);
    expect(status, mesh, SHD_OK, "1x2: 0,1", "without coordinates");
    list.local = local;
    status = shd_tpu_mesh_create_from(&mesh, &list, pair, 2, NULL, NULL);
    expect(status, mesh, SHD_EINVAL, NULL, "only some have coordinates");
    free(devices);
}

static void test_hosts(void)
{
    static const struct {
        int64_t n;
        int status;
        const char *mesh;
    } rows[] = {
        {16, SHD_OK, "1x16: 0,1"},
        {4, SHD_OK, "4x4: 0,1"},
        {1, SHD_OK, "16x1: 0,1"},
        {3, SHD_EINDIVISIBLE, NULL},
        {12, SHD_EINDIVISIBLE, NULL},
        {32, SHD_EINVAL, NULL},
        {0, SHD_EINVAL, NULL},
        {-2, SHD_EINVAL, NULL},
        {INT64_MAX - 7, SHD_EINVAL, NULL},
    };
    struct shd_topology t = hosts("gpu", 2, 8, 0);
    struct shd_mesh *mesh = NULL;
    int status;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        status = shd_gpu_mesh_create(&mesh, &t, rows[i].n, NULL);
        expect(status, mesh, rows[i].status, rows[i].mesh, "GPUs 2x8");
    }
    status = shd_cpu_mesh_create(&mesh, &t, NULL);
    expect(status, mesh, SHD_OK, "2x8: 0,1", "CPUs 2x8");
}

static void test_hybrid(void)
{
    static const char *const names[] = {"a", "b", "c"};
    const int64_t ici[] = {2, 2, 2}, dcn[] = {1, 4, 1}, short_dcn[] = {4}, wrong[] = {2, 2, 3};
    const int64_t negative[] = {-2, -2, 2};
    struct shd_topology t = hosts("gpu", 4, 8, 4), no_slices = hosts("gpu", 4, 8, 0);
    struct shd_topology tpu = chips("TPU v4", 2, 2, 4, 2);
    struct shd_error err;
    struct shd_mesh *mesh = NULL;
    int status =
        shd_hybrid_mesh_create(&mesh, &t, SHD_GRANULE_SLICE, names, 3, ici, 3, dcn, 3, NULL);

    expect(status, mesh, SHD_OK, "2x8x2: 0,1,2,3,8,9,10,11,16,17", "hybrid");
    status =
        shd_hybrid_mesh_create(&mesh, &t, SHD_GRANULE_SLICE, names, 3, ici, 3, short_dcn, 1, NULL);
    expect(status, mesh, SHD_OK, "2x2x8: 0,1,8,9,16,17,24,25,2,3", "a shorter shape");
    status = shd_hybrid_mesh_create(&mesh, &t, SHD_GRANULE_SLICE, names, 2, ici, 3, dcn, 3, NULL);
    expect(status, mesh, SHD_EINVAL, NULL, "two names for three extents");
    status = shd_hybrid_mesh_create(&mesh, &t, SHD_GRANULE_SLICE, names, 3, wrong, 3, dcn, 3, &err);
    expect(status, mesh, SHD_EINVAL, NULL, "a granule of another size");
    ok(strstr(err.text, "inside a granule does not have 8 places") != NULL, "which is told");
    status =
        shd_hybrid_mesh_create(&mesh, &t, SHD_GRANULE_SLICE, names, 3, negative, 3, dcn, 3, NULL);
    expect(status, mesh, SHD_EINVAL, NULL, "negative extents");
    status = shd_hybrid_mesh_create(&mesh, &t, SHD_GRANULE_SLICE, names, 3, ici, 3, ici, 3, NULL);
    expect(status, mesh, SHD_EINVAL, NULL, "another number of slices");
    status = shd_hybrid_mesh_create(&mesh, &no_slices, SHD_GRANULE_SLICE, names, 3, ici, 3, dcn, 3,
                                    &err);
    expect(status, mesh, SHD_EINVAL, NULL, "devices without slices");
    ok(!strcmp(err.text, "the devices know no slice"), "which is told");
    status = shd_hybrid_mesh_create(&mesh, &no_slices, SHD_GRANULE_PROCESS, names, 3, ici, 3, dcn,
                                    3, NULL);
    expect(status, mesh, SHD_OK, "2x8x2: 0,1,2,3,8,9", "processes as granules");
    status =
        shd_hybrid_mesh_create(&mesh, &tpu, SHD_GRANULE_PROCESS, names, 3, ici, 3, dcn, 3, NULL);
    expect(status, mesh, SHD_EUNSUPPORTED, NULL, "chips");
}

static void test_default(void)
{
    static const struct {
        const char *kind;
        int64_t x, y, z, cores, n;
        int status;
        const char *mesh;
    } rows[] = {
        {"TPU v4", 4, 4, 8, 1, 8, SHD_OK, "16x8: 0,16,32,48,64,80,96,112"},
        {"TPU v4 lite", 4, 4, 4, 1, 4, SHD_OK, "16x4: 0,1,2,3"},
        {"TPU v4", 2, 2, 4, 1, 16, SHD_OK, "1x16: 0,2,1,3"},
        {"TPU v4", 4, 4, 4, 2, 2, SHD_EINVAL, NULL}, /* has two cores */
        {"TPU v4", 2, 2, 2, 1, 8, SHD_EINDIVISIBLE, NULL},
        {"TPU v3", 4, 4, 1, 2, 4, SHD_OK, "8x4: 0,1,2,3"},
        {"TPU v3", 4, 4, 1, 2, 8, SHD_OK, "4x8: 0,1,8,9,2,3,10,11"},
        {"TPU v4", 4, 4, 4, 1, 16, SHD_OK, "4x16: 0,4,1,5,8,12,9,13"},
        {"TPU v2", 4, 4, 1, 2, 3, SHD_EINVAL, NULL},
        {"TPU v5 lite", 4, 4, 1, 1, 1, SHD_EINVAL, NULL},
    };
    const int64_t submesh[] = {4, 1, 1, 2}, ici[] = {1, 4, 1}, dcn[] = {2, 1, 1};
    struct shd_mesh_request request = {.num_partitions = 3, .submesh = submesh, .nsubmesh = 4};
    struct shd_topology t;
    struct shd_mesh *mesh = NULL;
    int status;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct shd_mesh_request by_number = {.num_partitions = rows[i].n};

        t = chips(rows[i].kind, rows[i].x, rows[i].y, rows[i].z, rows[i].cores);
        status = shd_default_mesh_create(&mesh, &t, &by_number, NULL);
        expect(status, mesh, rows[i].status, rows[i].mesh, rows[i].kind);
    }
    t = chips("TPU v3", 4, 4, 1, 2);
    status = shd_default_mesh_create(&mesh, &t, &request, NULL);
    expect(status, mesh, SHD_OK, "4x8: 0,1,2,3", "the submesh goes before partitions");
    t = hosts("gpu", 2, 4, 2);
    request = (struct shd_mesh_request){.num_partitions = 1, .ici = ici, .nici = 3};
    status = shd_default_mesh_create(&mesh, &t, &request, NULL);
    expect(status, mesh, SHD_OK, "8x1: 0", "ici alone means nothing");
    request.dcn = dcn;
    request.ndcn = 3;
    status = shd_default_mesh_create(&mesh, &t, &request, NULL);
    expect(status, mesh, SHD_OK, "2x4x1: 0", "ici and dcn");
    request.nici = request.ndcn = 2;
    status = shd_default_mesh_create(&mesh, &t, &request, NULL);
    expect(status, mesh, SHD_EINVAL, NULL, "of two extents");
    t = hosts("rocm", 2, 4, 0);
    request = (struct shd_mesh_request){.num_partitions = 2};
    status = shd_default_mesh_create(&mesh, &t, &request, NULL);
    expect(status, mesh, SHD_EINVAL, NULL, "another platform");
}

/* Each row of T5X's tables has the first submesh that the hardware's extent along its dimension
 * allows; the mesh equals that of the submesh. */
static void test_default_table(void)
{
    static const struct {
        const char *kind;
        int64_t x, y, z, cores, n, submesh[4];
    } rows[] = {
        {"TPU v3", 4, 4, 1, 2, 1, {1, 1, 1, 1}},    {"TPU v3", 4, 4, 1, 2, 2, {1, 1, 1, 2}},
        {"TPU v2", 4, 4, 1, 2, 4, {2, 1, 1, 2}},    {"TPU v2", 4, 4, 1, 2, 8, {2, 2, 1, 2}},
        {"TPU v3", 4, 4, 1, 2, 16, {4, 2, 1, 2}},   {"TPU v4", 8, 8, 16, 1, 1, {1, 1, 1, 1}},
        {"TPU v4", 8, 8, 16, 1, 2, {1, 2, 1, 1}},   {"TPU v4", 4, 4, 4, 1, 4, {4, 1, 1, 1}},
        {"TPU v4", 2, 4, 4, 1, 4, {2, 2, 1, 1}},    {"TPU v4", 8, 4, 8, 1, 8, {1, 1, 8, 1}},
        {"TPU v4", 8, 4, 4, 1, 8, {4, 2, 1, 1}},    {"TPU v4", 8, 4, 16, 1, 16, {1, 1, 16, 1}},
        {"TPU v4", 8, 4, 8, 1, 16, {8, 2, 1, 1}},   {"TPU v4", 4, 8, 8, 1, 16, {4, 4, 1, 1}},
        {"TPU v4", 2, 4, 8, 1, 16, {2, 2, 4, 1}},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct shd_mesh_request request = {.num_partitions = rows[i].n};
        struct shd_topology t =
            chips(rows[i].kind, rows[i].x, rows[i].y, rows[i].z, rows[i].cores);
        struct shd_mesh *want = NULL, *got = NULL;
        bool same = shd_tpu_mesh_create(&want, &t, rows[i].submesh, 4, NULL, NULL) == SHD_OK &&
                    shd_default_mesh_create(&got, &t, &request, NULL) == SHD_OK &&
                    shd_mesh_axis_size(got, 1) == rows[i].n;

        for (int32_t p = 0; same && p < t.ndevices; p++)
            same = shd_mesh_device_id(want, p) == shd_mesh_device_id(got, p);
        ok(same, "%s of %dx%dx%d, %d partitions: the row's submesh", rows[i].kind, (int)rows[i].x,
           (int)rows[i].y, (int)rows[i].z, (int)rows[i].n);
        shd_mesh_destroy(want);
        shd_mesh_destroy(got);
    }
}

int main(void)
{
    plan(0);
    test_submesh();
    test_tiling();
    test_on_hosts();
    test_listed();
    test_hosts();
    test_hybrid();
    test_default();
    test_default_table();
    return done();
}
