/* Tests shd/chunk.h: the chunks of hosts, the slices and replica ids of arrays, and the layout of
 * data.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/chunk.h>

#include <sys/resource.h>

#include "../support/layout_text.h"
#include "../support/tap.h"

static const char *const data_model[] = {"data", "model"};
static const char *const replica_data_model[] = {"replica", "data", "model"};

/* Chunks of 4 million devices take no storage.  The test comes first, so that no earlier peak of
 * memory hides one. */
static void test_no_storage(void)
{
    static const int32_t sizes[] = {2048, 2048};
    struct rusage before, after;
    struct shd_topology t;
    struct shd_mesh *mesh;
    struct shd_chunker chunker;

    ok(shd_topology_init_hosts(&t, "gpu", 524288, 8, 0, NULL) == SHD_OK, "4 million devices");
    getrusage(RUSAGE_SELF, &before);
    ok(shd_mesh_create(&mesh, data_model, sizes, 2, NULL) == SHD_OK, "their mesh");
    ok(shd_chunker_init_topology(&chunker, mesh, &t, 524287, NULL) == SHD_OK &&
           chunker.nchunks[0] == 2048 && chunker.nchunks[1] == 256 &&
           chunker.chunk_ids[0] == 2047 && chunker.chunk_ids[1] == 255,
       "the chunk of the last host");
    getrusage(RUSAGE_SELF, &after);
    ok(after.ru_maxrss - before.ru_maxrss < 8192, "nothing is stored per device");
    shd_mesh_destroy(mesh);
}

/* 8x4 devices of 4 hosts with two rows each. */
static struct shd_mesh *rows_mesh(struct shd_chunker *chunker, int64_t host)
{
    static const int32_t sizes[] = {8, 4};
    int32_t processes[32];
    struct shd_mesh *mesh = NULL;

    for (int p = 0; p < 32; p++)
        processes[p] = p / 8;
    ok(shd_mesh_create(&mesh, data_model, sizes, 2, NULL) == SHD_OK &&
           shd_chunker_init(chunker, mesh, processes, host, NULL) == SHD_OK,
       "host %d of 8x4", (int)host);
    return mesh;
}

static void test_ids(void)
{
    static const int32_t sizes[] = {2, 8, 2};
    static const char *const back[] = {"data", "replica"}, *const bad[] = {"data", NULL};
    static const char *const unknown[] = {"data", NULL, "nothing", ""};
    static const char *many[70];
    int32_t processes[32];
    struct shd_mesh *mesh;
    struct shd_chunker c;
    int64_t id = -1;

    for (int p = 0; p < 32; p++)
        processes[p] = p / 8; /* each host has one replica and half of data */
    ok(shd_mesh_create(&mesh, replica_data_model, sizes, 3, NULL) == SHD_OK, "2x8x2");
    ok(shd_chunker_init(&c, mesh, processes, 2, NULL) == SHD_OK && c.nchunks[0] == 2 &&
           c.nchunks[1] == 2 && c.nchunks[2] == 1,
       "chunks along the axes");
    ok(shd_chunker_shard_id(&id, &c, replica_data_model, 2, NULL) == SHD_OK && id == 2,
       "shard id along (replica, data)");
    ok(shd_chunker_shard_id(&id, &c, back, 2, NULL) == SHD_OK && id == 1, "the given order counts");
    ok(shd_chunker_shard_id(&id, &c, NULL, 0, NULL) == SHD_OK && id == 0, "along no axis");
    ok(shd_chunker_replica_id(&c, replica_data_model + 1, 1) == 1, "replica id beside data");
    ok(shd_chunker_replica_id(&c, NULL, 0) == 2, "replica id beside nothing");
    ok(shd_chunker_replica_id(&c, unknown, 4) == 1, "what is no axis is passed over");
    ok(shd_chunker_shard_id(&id, &c, bad, 2, NULL) == SHD_ENOAXIS, "shard id along none");
    for (int i = 0; i < 70; i++)
        many[i] = "data";
    ok(shd_chunker_shard_id(&id, &c, many, 3, NULL) == SHD_OK && id == 0, "an axis three times");
    ok(shd_chunker_shard_id(&id, &c, many, 70, NULL) == SHD_ERANGE && id == 0, "seventy times");
    shd_mesh_destroy(mesh);
}

static void test_boxes(void)
{
    static const int32_t sizes[] = {2, 3};
    static const int32_t split[] = {0, 1, 0, 2, 2, 2}, owned[] = {4, 4, 1, 4, 4, 1};
    const int64_t none = 5;
    struct shd_topology t;
    struct shd_mesh *mesh;
    struct shd_chunker c;
    struct shd_error err;

    ok(shd_mesh_create(&mesh, data_model, sizes, 2, NULL) == SHD_OK, "2x3");
    ok(shd_chunker_init(&c, mesh, split, 0, NULL) == SHD_EINVAL, "another host in the box");
    ok(shd_chunker_init(&c, mesh, split, none, &err) == SHD_EINVAL &&
           strstr(err.text, "belongs to host 5"),
       "a host without devices");
    ok(shd_chunker_init(&c, mesh, owned, 4, NULL) == SHD_OK && c.nchunks[1] == 1 &&
           c.chunk_ids[1] == 0,
       "a ragged host: 2 of 3 is one chunk");
    ok(shd_chunker_init(&c, mesh, owned, 1, NULL) == SHD_OK && c.nchunks[1] == 3 &&
           c.chunk_ids[1] == 2,
       "and 1 of 3 is the third");
    ok(shd_topology_init_hosts(&t, "cpu", 2, 2, 0, NULL) == SHD_OK &&
           shd_chunker_init_topology(&c, mesh, &t, 0, NULL) == SHD_EINVAL,
       "a device that the topology lacks");
    shd_mesh_destroy(mesh);
}

struct info_row {
    int64_t shape[3];
    size_t rank;
    const char *spec;
    int status;
    const char *want; /* the slices and the replica id */
    bool strict;
};

static const char *info_text(char *buf, size_t size, const struct shd_chunk_info *info)
{
    size_t length = 0;

    for (size_t d = 0; d < info->rank; d++)
        length += (size_t)(info->whole[d]
                               ? snprintf(buf + length, size - length, "whole ")
                               : snprintf(buf + length, size - length, "%lld-%lld ",
                                          (long long)info->start[d], (long long)info->stop[d]));
    snprintf(buf + length, size - length, "r%lld", (long long)info->replica_id);
    return buf;
}

static void test_info(void)
{
    static const struct info_row rows[] = {
        {{128, 16}, 2, "[data, model]", SHD_OK, "32-64 0-16 r0", false},
        {{128, 16}, 2, "[null, model]", SHD_OK, "whole 0-16 r1", false},
        {{128, 16}, 2, "[data]", SHD_OK, "32-64 whole r0", false},
        {{10, 0}, 2, "[data, model]", SHD_OK, "2-4 0-0 r0", false},
        {{10}, 1, "[data]", SHD_EINDIVISIBLE, NULL, true},
        {{128}, 1, "[[data, model]]", SHD_OK, "32-64 r0", true},
        {{128}, 1, "[[model, data]]", SHD_OK, "32-64 r0", false},
        {{128, 16}, 2, "[data, data]", SHD_OK, "32-64 4-8 r0", false},
        {{8}, 1, "[null, data]", SHD_OK, "whole r1", false}, /* more entries than dimensions */
        {{8}, 1, "[nothing]", SHD_ENOAXIS, NULL, false},
        {{8}, 1, "[[data, nothing]]", SHD_ENOAXIS, NULL, false},
        {{-8}, 1, "[data]", SHD_EINVAL, NULL, false},
        {{0}, 0, "[]", SHD_OK, "r1", false},
        {{0}, 17, "[]", SHD_ERANGE, NULL, false},
    };
    struct shd_chunker chunker;
    struct shd_mesh *mesh = rows_mesh(&chunker, 1);

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct info_row *row = &rows[i];
        struct shd_chunk_info info;
        struct shd_spec *spec = NULL;
        char text[128] = "";
        int status = shd_spec_parse(&spec, row->spec, NULL);

        if (status == SHD_OK)
            status =
                shd_chunker_info(&info, &chunker, row->shape, row->rank, spec, row->strict, NULL);
        ok(status == row->status &&
               (status != SHD_OK || !strcmp(info_text(text, sizeof text, &info), row->want)),
           "chunk by %s: %s", row->spec, status == SHD_OK ? text : "refused");
        shd_spec_destroy(spec);
    }
    shd_mesh_destroy(mesh);
}

/* Hosts split one dimension over both axes: 2x2 hosts of 2x2 devices. */
static void test_tuple(void)
{
    static const int32_t sizes[] = {4, 4};
    const int64_t shape[] = {64};
    static const char *const specs[] = {"[[data, model]]", "[[model, data]]"};
    static const int64_t starts[] = {16, 32};
    int32_t processes[16];
    struct shd_mesh *mesh;
    struct shd_chunker c;

    for (int p = 0; p < 16; p++)
        processes[p] = p / 8 * 2 + p % 4 / 2;
    ok(shd_mesh_create(&mesh, data_model, sizes, 2, NULL) == SHD_OK &&
           shd_chunker_init(&c, mesh, processes, 1, NULL) == SHD_OK,
       "2x2 hosts");
    for (int i = 0; i < 2; i++) {
        struct shd_chunk_info info;
        struct shd_spec *spec = NULL;

        ok(shd_spec_parse(&spec, specs[i], NULL) == SHD_OK &&
               shd_chunker_info(&info, &c, shape, 1, spec, true, NULL) == SHD_OK &&
               info.start[0] == starts[i] && info.stop[0] == starts[i] + 16 && info.replica_id == 0,
           "a tuple of axes: the first is the major one");
        shd_spec_destroy(spec);
    }
    shd_mesh_destroy(mesh);
}

static void test_layout(void)
{
    static const struct {
        int64_t batch;
        size_t naxes;
        bool strict;
        int status;
        int64_t want[3];
    } rows[] = {
        {96, 1, false, SHD_OK, {96, 3, 4}},    {0, 1, false, SHD_OK, {8, 3, 4}},
        {9, 1, false, SHD_EINDIVISIBLE, {0}},  {-8, 1, false, SHD_OK, {-8, 3, 4}},
        {12, 1, false, SHD_EINDIVISIBLE, {0}}, /* divides by 4 shards, but not by 8 devices */
        {-8, 1, true, SHD_EINVAL, {0}},        {32, 2, false, SHD_OK, {32, 3, 4}},
        {13, 0, false, SHD_OK, {13, 0, 1}},    {0, 0, false, SHD_OK, {0, 0, 1}},
    };
    static const char *const nothing[] = {"nothing"};
    const struct shd_spec_entry none = {NULL, 0}, unknown = {nothing, 1}, data = {data_model, 1};
    struct shd_chunker c;
    struct shd_mesh *mesh = rows_mesh(&c, 3);
    struct shd_data_layout layout;
    int64_t n;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct shd_spec_entry axes = {data_model, rows[i].naxes};
        int status = shd_data_layout_init(&layout, &c, &axes, rows[i].batch, rows[i].strict, NULL);

        ok(status == rows[i].status &&
               (status != SHD_OK ||
                (layout.batch_size == rows[i].want[0] && layout.shard_id == rows[i].want[1] &&
                 layout.num_shards == rows[i].want[2] &&
                 layout.is_first_host_in_replica_set == (rows[i].naxes > 0))),
           "layout of a batch of %d along %zu axes", (int)rows[i].batch, rows[i].naxes);
    }
    ok(shd_data_mesh_size(&n, mesh, &data, NULL) == SHD_OK && n == 8, "data mesh size");
    ok(shd_data_shards(&n, &c, &data, NULL) == SHD_OK && n == 4, "data shards");
    ok(shd_data_shard_id(&n, &c, &data, NULL) == SHD_OK && n == 3, "data shard id");
    ok(shd_data_mesh_size(&n, mesh, &none, NULL) == SHD_ETYPE &&
           shd_data_shards(&n, &c, &none, NULL) == SHD_ETYPE &&
           shd_data_shard_id(&n, &c, &none, NULL) == SHD_ETYPE,
       "none of them without a data axis");
    ok(shd_data_layout_init(&layout, &c, &unknown, 8, false, NULL) == SHD_ENOAXIS,
       "a data axis that is not in the mesh");

    struct shd_chunk_info info;
    struct shd_spec *spec = NULL;

    ok(shd_spec_parse(&spec, "[data]", NULL) == SHD_OK &&
           shd_chunker_info(&info, &c, (const int64_t[]){10}, 1, spec, false, NULL) == SHD_OK &&
           info.start[0] == 6 && info.stop[0] == 8,
       "what is left over belongs to no host");
    shd_spec_destroy(spec);
    shd_mesh_destroy(mesh);
}

/* Each host has one device; the second one along the model axis has the data of the first. */
static void test_replicas(void)
{
    static const int32_t sizes[] = {2, 2}, each[] = {0, 1, 2, 3};
    static const int32_t seven[] = {7}, ragged[] = {0, 0, 1, 1, 2, 2, 2};
    const struct shd_spec_entry data = {data_model, 1}, both = {data_model, 2};
    struct shd_data_layout layout;
    struct shd_chunker c;
    struct shd_mesh *mesh;
    int64_t id = -1;

    ok(shd_mesh_create(&mesh, data_model, sizes, 2, NULL) == SHD_OK &&
           shd_chunker_init(&c, mesh, each, 3, NULL) == SHD_OK &&
           shd_data_layout_init(&layout, &c, &data, 4, false, NULL) == SHD_OK &&
           layout.shard_id == 1 && !layout.is_first_host_in_replica_set,
       "not the first host of its data");
    ok(shd_data_shard_id(&id, &c, &both, NULL) == SHD_OK && id == 3,
       "data shard id along two axes");
    shd_mesh_destroy(mesh);
    ok(shd_mesh_create(&mesh, data_model, seven, 1, NULL) == SHD_OK &&
           shd_chunker_init(&c, mesh, ragged, 0, NULL) == SHD_OK && c.nchunks[0] == 3 &&
           shd_data_layout_init(&layout, &c, &data, 7, false, NULL) == SHD_EINDIVISIBLE &&
           shd_data_layout_init(&layout, &c, &data, 21, false, NULL) == SHD_OK,
       "a batch must divide by the shards of ragged hosts as well");
    shd_mesh_destroy(mesh);
}

int main(void)
{
    plan(0);
    test_no_storage();
    test_ids();
    test_boxes();
    test_info();
    test_tuple();
    test_layout();
    test_replicas();
    return done();
}
