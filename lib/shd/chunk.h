/* shd/chunk.h - what one host of several holds: its chunk of each array, its share of the data.
 *
 * The devices of a host (a process) are a box of the mesh, so that along each axis the mesh is cut
 * into chunks of the box's extent.  A host holds the chunk of its number on every axis; hosts with
 * the same chunk of an array are its replicas.  Numbers on several axes are one number in mixed
 * radix, the first axis the most major.
 *
 * Thread class: values and pure functions; a chunker may be copied and shared as long as its mesh
 * lives.  Nothing is stored per device.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHD_CHUNK_H
#define SHD_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shd/error.h>
#include <shd/mesh.h>
#include <shd/shape.h>
#include <shd/spec.h>
#include <shd/topology.h>

#ifdef __cplusplus
extern "C" {
#endif

struct shd_chunker {
    const struct shd_mesh *mesh; /* not owned */
    int64_t host;
    int32_t nchunks[SHD_MESH_AXES_MAX]; /* by axis: the mesh's extent / the host's, rounded down */
    int32_t chunk_ids[SHD_MESH_AXES_MAX]; /* by axis: which of them the host's first device is in */
};

/* The chunker of a host in a mesh whose position p belongs to process `processes[p]`.  SHD_EINVAL
 * when no position does, or the host's positions are no box of their own; SHD_ENOMESH (mesh is
 * NULL). */
SHD_API SHD_MUST_CHECK int shd_chunker_init(struct shd_chunker *out, const struct shd_mesh *mesh,
                                            const int32_t *processes, int64_t host,
                                            struct shd_error *err);

/* The same for a mesh of the devices of a topology, which says who owns them.  SHD_EINVAL also for
 * a device id that is not in the topology. */
SHD_API SHD_MUST_CHECK int shd_chunker_init_topology(struct shd_chunker *out,
                                                     const struct shd_mesh *mesh,
                                                     const struct shd_topology *topology,
                                                     int64_t host, struct shd_error *err);

/* The host's number among the chunks along `naxes` mesh axes, in the order given; 0 for no axes.
 * SHD_ENOAXIS for a name, or NULL, that is no axis; SHD_ERANGE. */
SHD_API SHD_MUST_CHECK int shd_chunker_shard_id(int64_t *out, const struct shd_chunker *chunker,
                                                const char *const *axes, size_t naxes,
                                                struct shd_error *err);

/* The host's number among the chunks along all axes that are not listed, in the mesh's order.  That
 * is which replica it holds of an array that is sharded along the listed axes.  Names that are no
 * axis, and NULL, are passed over. */
SHD_API int64_t shd_chunker_replica_id(const struct shd_chunker *chunker, const char *const *axes,
                                       size_t naxes);

struct shd_chunk_info {
    size_t rank;
    int64_t start[SHD_RANK_MAX];
    int64_t stop[SHD_RANK_MAX]; /* behind the last element */
    bool whole[SHD_RANK_MAX];   /* nothing shards the dimension */
    int64_t replica_id;
};

/* The host's chunk of an array.  Dimensions beyond the spec are whole, entries beyond the rank mean
 * nothing.  Where a dimension does not divide by its chunks, they have the extent rounded down and
 * the last elements belong to no host; `strict`: SHD_EINDIVISIBLE.  SHD_ENOAXIS, SHD_ERANGE (rank
 * over SHD_RANK_MAX), SHD_EINVAL (a negative extent). */
SHD_API SHD_MUST_CHECK int shd_chunker_info(struct shd_chunk_info *out,
                                            const struct shd_chunker *chunker, const int64_t *shape,
                                            size_t rank, const struct shd_spec *spec, bool strict,
                                            struct shd_error *err);

/* How many devices, and how many hosts, there are along the data axes, which are those that the
 * batch is sharded by.  SHD_ENOMESH (mesh is NULL), SHD_ETYPE when there is no data axis,
 * SHD_ENOAXIS, SHD_ERANGE. */
SHD_API SHD_MUST_CHECK int shd_data_mesh_size(int64_t *out, const struct shd_mesh *mesh,
                                              const struct shd_spec_entry *data_axes,
                                              struct shd_error *err);
SHD_API SHD_MUST_CHECK int shd_data_shards(int64_t *out, const struct shd_chunker *chunker,
                                           const struct shd_spec_entry *data_axes,
                                           struct shd_error *err);

/* Which of the shd_data_shards() shards of the data is the host's.  Errors as above. */
SHD_API SHD_MUST_CHECK int shd_data_shard_id(int64_t *out, const struct shd_chunker *chunker,
                                             const struct shd_spec_entry *data_axes,
                                             struct shd_error *err);

struct shd_data_layout {
    int64_t batch_size; /* of all hosts */
    int64_t shard_id;
    int64_t num_shards;
    bool is_first_host_in_replica_set;
};

/* How a batch lies on the hosts, seen from the chunker's.  A batch size of 0 asks for the smallest,
 * shd_data_mesh_size().  With no data axis there is one shard, the batch size stays as it is, and
 * host 0 is the first.  SHD_EINDIVISIBLE when the batch does not divide by the data axes' devices
 * or by the shards; `strict`: SHD_EINVAL for a negative one.  SHD_ENOAXIS, SHD_ERANGE. */
SHD_API SHD_MUST_CHECK int shd_data_layout_init(struct shd_data_layout *out,
                                                const struct shd_chunker *chunker,
                                                const struct shd_spec_entry *data_axes,
                                                int64_t batch_size, bool strict,
                                                struct shd_error *err);

#ifdef __cplusplus
}
#endif

#endif /* SHD_CHUNK_H */
