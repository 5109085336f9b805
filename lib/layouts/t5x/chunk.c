/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <shd/chunk.h>

#include <string.h>

/* Which process owns the device at each position of a mesh. */
struct owners {
    const struct shd_mesh *mesh;
    const int32_t *processes; /* by position; NULL: as the topology says */
    const struct shd_topology *topology;
};

/* The process that owns the device at a position; -1 for one that the topology does not have. */
static int32_t owner_at(const struct owners *owners, int32_t position)
{
    if (owners->processes)
        return owners->processes[position];

    int32_t id = shd_mesh_device_id(owners->mesh, position);

    return id < owners->topology->ndevices ? shd_topology_process(owners->topology, id) : -1;
}

/* The bounding box of a host's positions, and how many they are. */
struct box {
    int32_t first[SHD_MESH_AXES_MAX];
    int32_t last[SHD_MESH_AXES_MAX];
    int32_t count;
};

static void add_position(struct box *box, const struct shd_mesh *mesh, int32_t position)
{
    for (size_t a = 0; a < shd_mesh_naxes(mesh); a++) {
        int32_t coord = shd_mesh_coord(mesh, position, a);

        if (box->count == 0 || coord < box->first[a])
            box->first[a] = coord;
        if (box->count == 0 || coord > box->last[a])
            box->last[a] = coord;
    }
    box->count++;
}

static int find_box(struct box *box, const struct owners *owners, int64_t host,
                    struct shd_error *err)
{
    int64_t volume = 1;

    box->count = 0;
    for (int32_t p = 0; p < shd_mesh_size(owners->mesh); p++) {
        int32_t owner = owner_at(owners, p);

        if (!owners->processes && owner < 0)
            return shd_error_set(err, SHD_EINVAL, "device %d is not in the topology",
                                 (int)shd_mesh_device_id(owners->mesh, p));
        if (owner == host)
            add_position(box, owners->mesh, p);
    }
    if (box->count == 0)
        return shd_error_set(err, SHD_EINVAL, "no device of the mesh belongs to host %lld",
                             (long long)host);
    for (size_t a = 0; a < shd_mesh_naxes(owners->mesh); a++)
        volume *= box->last[a] - box->first[a] + 1;
    if (volume != box->count)
        return shd_error_set(err, SHD_EINVAL,
                             "the %d devices of host %lld are not a contiguous box of the mesh",
                             (int)box->count, (long long)host);
    return SHD_OK;
}

static int init(struct shd_chunker *out, const struct owners *owners, int64_t host,
                struct shd_error *err)
{
    struct shd_chunker chunker = {.mesh = owners->mesh, .host = host};
    struct box box;
    int status;

    if (!owners->mesh)
        return shd_error_set(err, SHD_ENOMESH, "no mesh is given");
    status = find_box(&box, owners, host, err);
    if (status)
        return status;
    for (size_t a = 0; a < shd_mesh_naxes(owners->mesh); a++) {
        int32_t extent = box.last[a] - box.first[a] + 1;

        chunker.nchunks[a] = shd_mesh_axis_size(owners->mesh, a) / extent;
        chunker.chunk_ids[a] = box.first[a] / extent;
    }
    *out = chunker;
    return SHD_OK;
}

int shd_chunker_init(struct shd_chunker *out, const struct shd_mesh *mesh, const int32_t *processes,
                     int64_t host, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, processes))
        return SHD_EINVAL;

    const struct owners owners = {mesh, processes, NULL};

    return init(out, &owners, host, err);
}

int shd_chunker_init_topology(struct shd_chunker *out, const struct shd_mesh *mesh,
                              const struct shd_topology *topology, int64_t host,
                              struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, topology))
        return SHD_EINVAL;

    const struct owners owners = {mesh, NULL, topology};

    return init(out, &owners, host, err);
}

static int find_axis(size_t *out, const struct shd_mesh *mesh, const char *name,
                     struct shd_error *err)
{
    int axis = name ? shd_mesh_find_axis(mesh, name) : -1;

    if (axis < 0)
        return shd_error_set(err, SHD_ENOAXIS, "the mesh has no axis '%.100s'",
                             name ? name : "(none)");
    *out = (size_t)axis;
    return SHD_OK;
}

/* A number in mixed radix that grows by a digit: its value, and the product of the radixes. */
struct mixed {
    int64_t value;
    int64_t radix;
};

static int add_digit(struct mixed *m, int64_t digit, int64_t radix, struct shd_error *err)
{
    if (__builtin_mul_overflow(m->value, radix, &m->value) ||
        __builtin_add_overflow(m->value, digit, &m->value) ||
        __builtin_mul_overflow(m->radix, radix, &m->radix))
        return shd_error_set(err, SHD_ERANGE, "the chunks along the axes are too many to count");
    return SHD_OK;
}

/* The host's number among the chunks along axes, and the number of these chunks. */
static int count_chunks(struct mixed *out, const struct shd_chunker *chunker,
                        const char *const *axes, size_t naxes, struct shd_error *err)
{
    struct mixed m = {0, 1};
    int status = SHD_OK;

    for (size_t i = 0; !status && i < naxes; i++) {
        size_t a = 0;

        status = find_axis(&a, chunker->mesh, axes[i], err);
        if (!status)
            status = add_digit(&m, chunker->chunk_ids[a], chunker->nchunks[a], err);
    }
    if (!status)
        *out = m;
    return status;
}

int shd_chunker_shard_id(int64_t *out, const struct shd_chunker *chunker, const char *const *axes,
                         size_t naxes, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, chunker) || !SHD_GIVEN(err, chunker->mesh) ||
        !SHD_GIVEN_ARRAY(err, axes, naxes))
        return SHD_EINVAL;

    struct mixed m;
    int status = count_chunks(&m, chunker, axes, naxes, err);

    if (!status)
        *out = m.value;
    return status;
}

/* The host's number among the chunks along the axes that are not in the mask `sharded`.  It is less
 * than the size of the mesh, so it fits. */
static int64_t replica_id(const struct shd_chunker *chunker, uint32_t sharded)
{
    int64_t id = 0;

    for (size_t a = 0; a < shd_mesh_naxes(chunker->mesh); a++) {
        if (!(sharded >> a & 1))
            id = id * chunker->nchunks[a] + chunker->chunk_ids[a];
    }
    return id;
}

int64_t shd_chunker_replica_id(const struct shd_chunker *chunker, const char *const *axes,
                               size_t naxes)
{
    if (!chunker || !chunker->mesh || (!axes && naxes > 0))
        return -1;

    uint32_t sharded = 0;

    for (size_t i = 0; i < naxes; i++) {
        int a = axes[i] ? shd_mesh_find_axis(chunker->mesh, axes[i]) : -1;

        if (a >= 0)
            sharded |= UINT32_C(1) << a;
    }
    return replica_id(chunker, sharded);
}

/* Fill in dimension `d` of a chunk, and add the axes that shard it to the mask *sharded. */
static int chunk_dim(struct shd_chunk_info *info, uint32_t *sharded,
                     const struct shd_chunker *chunker, const struct shd_spec *spec, size_t d,
                     bool strict, struct shd_error *err)
{
    struct mixed m = {0, 1};
    int64_t size = info->stop[d];
    int status = SHD_OK;

    for (size_t i = 0; !status && i < shd_spec_naxes(spec, d); i++) {
        size_t a = 0;

        status = find_axis(&a, chunker->mesh, shd_spec_axis(spec, d, i), err);
        if (status)
            break;
        *sharded |= UINT32_C(1) << a;
        status = add_digit(&m, chunker->chunk_ids[a], chunker->nchunks[a], err);
    }
    if (status)
        return status;
    if (strict && size % m.radix != 0)
        return shd_error_set(err, SHD_EINDIVISIBLE,
                             "dimension %zu of %lld elements does not divide into %lld chunks", d,
                             (long long)size, (long long)m.radix);
    info->start[d] = m.value * (size / m.radix);
    info->stop[d] = info->start[d] + size / m.radix;
    info->whole[d] = false;
    return SHD_OK;
}

int shd_chunker_info(struct shd_chunk_info *out, const struct shd_chunker *chunker,
                     const int64_t *shape, size_t rank, const struct shd_spec *spec, bool strict,
                     struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, chunker, spec) || !SHD_GIVEN(err, chunker->mesh) ||
        !SHD_GIVEN_ARRAY(err, shape, rank))
        return SHD_EINVAL;

    struct shd_chunk_info info = {.rank = rank};
    uint32_t sharded = 0;
    int status = SHD_OK;

    if (rank > SHD_RANK_MAX)
        return shd_error_set(err, SHD_ERANGE, "an array has at most %d dimensions, not %zu",
                             SHD_RANK_MAX, rank);
    for (size_t d = 0; d < rank; d++) {
        if (shape[d] < 0)
            return shd_error_set(err, SHD_EINVAL, "dimension %zu has %lld elements", d,
                                 (long long)shape[d]);
        info.stop[d] = shape[d];
        info.whole[d] = true;
    }
    for (size_t d = 0; !status && d < rank && d < shd_spec_nentries(spec); d++) {
        if (shd_spec_naxes(spec, d) > 0)
            status = chunk_dim(&info, &sharded, chunker, spec, d, strict, err);
    }
    if (status)
        return status;
    info.replica_id = replica_id(chunker, sharded);
    *out = info;
    return SHD_OK;
}

static int check_data_axes(const struct shd_spec_entry *data_axes, struct shd_error *err)
{
    if (data_axes->naxes == 0)
        return shd_error_set(err, SHD_ETYPE, "no mesh axis shards the data");
    return SHD_OK;
}

int shd_data_mesh_size(int64_t *out, const struct shd_mesh *mesh,
                       const struct shd_spec_entry *data_axes, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, data_axes))
        return SHD_EINVAL;

    struct mixed m = {0, 1};
    int status;

    if (!mesh)
        return shd_error_set(err, SHD_ENOMESH, "no mesh is given");
    status = check_data_axes(data_axes, err);
    for (size_t i = 0; !status && i < data_axes->naxes; i++) {
        size_t a = 0;

        status = find_axis(&a, mesh, data_axes->axes[i], err);
        if (!status)
            status = add_digit(&m, 0, shd_mesh_axis_size(mesh, a), err);
    }
    if (!status)
        *out = m.radix;
    return status;
}

int shd_data_shards(int64_t *out, const struct shd_chunker *chunker,
                    const struct shd_spec_entry *data_axes, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, chunker, data_axes) || !SHD_GIVEN(err, chunker->mesh))
        return SHD_EINVAL;

    struct mixed m;
    int status = check_data_axes(data_axes, err);

    if (!status)
        status = count_chunks(&m, chunker, data_axes->axes, data_axes->naxes, err);
    if (!status)
        *out = m.radix;
    return status;
}

int shd_data_shard_id(int64_t *out, const struct shd_chunker *chunker,
                      const struct shd_spec_entry *data_axes, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, chunker, data_axes) || !SHD_GIVEN(err, chunker->mesh))
        return SHD_EINVAL;

    int status = check_data_axes(data_axes, err);

    return status ? status
                  : shd_chunker_shard_id(out, chunker, data_axes->axes, data_axes->naxes, err);
}

static int check_batch(int64_t batch_size, int64_t by, const char *what, struct shd_error *err)
{
    if (batch_size % by != 0)
        return shd_error_set(err, SHD_EINDIVISIBLE,
                             "a batch of %lld does not divide by the %lld %s",
                             (long long)batch_size, (long long)by, what);
    return SHD_OK;
}

int shd_data_layout_init(struct shd_data_layout *out, const struct shd_chunker *chunker,
                         const struct shd_spec_entry *data_axes, int64_t batch_size, bool strict,
                         struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, chunker, data_axes) || !SHD_GIVEN(err, chunker->mesh))
        return SHD_EINVAL;

    struct shd_data_layout layout = {batch_size, 0, 1, chunker->host == 0};
    int64_t mesh_size;

    if (strict && batch_size < 0)
        return shd_error_set(err, SHD_EINVAL, "a batch has %lld sequences", (long long)batch_size);
    if (data_axes->naxes == 0) {
        *out = layout;
        return SHD_OK;
    }

    int status = shd_data_mesh_size(&mesh_size, chunker->mesh, data_axes, err);

    if (!status && batch_size == 0)
        layout.batch_size = mesh_size;
    if (!status)
        status = check_batch(layout.batch_size, mesh_size, "devices along the data axes", err);
    if (!status)
        status = shd_data_shards(&layout.num_shards, chunker, data_axes, err);
    if (!status)
        status = check_batch(layout.batch_size, layout.num_shards, "shards of the data", err);
    if (!status)
        status = shd_data_shard_id(&layout.shard_id, chunker, data_axes, err);
    if (status)
        return status;
    layout.is_first_host_in_replica_set =
        shd_chunker_replica_id(chunker, data_axes->axes, data_axes->naxes) == 0;
    *out = layout;
    return SHD_OK;
}
