/* shd/sharding.h - how one array is sharded over a mesh: axes per dimension, and which device holds
 * what.
 *
 * A sharding is plain data by axis number.  A dimension sharded by axes (a, b) is cut into
 * size(a)*size(b) equal intervals, numbered with a the major digit; where it need not divide
 * (`uneven`), all are as long as the extent divided by their number, rounded up, but for the last
 * ones, which are shorter or empty, as PyTorch's DTensor cuts.  Axes that shard nothing replicate.
 * What the dimensions' axes leave to a device may be cut once more, flat: its first `flat_dims`
 * dimensions, taken as one in row-major order, are cut over the axes in `flat` into equal pieces,
 * of which the last may be longer than what is left: what is behind the end is padding, zeros.  So
 * optimizers shard arrays over any number of devices: by elements (all dimensions) as Megatron-LM
 * and DeepSpeed do, or by rows (one dimension) as PyTorch's FSDP2.  A piece lies in a row in the
 * shard that it is cut of.  Axes in `partial` hold values still to be combined (summed, or by
 * `partial_op`) over them: the array's value is that combination over the devices of these axes.
 *
 * Thread class: a value; copy and share it freely as long as the mesh lives.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHD_SHARDING_H
#define SHD_SHARDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shd/error.h>
#include <shd/mesh.h>
#include <shd/shape.h>
#include <shd/spec.h>

#ifdef __cplusplus
extern "C" {
#endif

enum shd_reduce_op { SHD_SUM, SHD_MEAN, SHD_MAX, SHD_MIN };

struct shd_dim_axes {
    uint8_t naxes;                   /* 0: the dimension is replicated on every device */
    uint8_t axes[SHD_MESH_AXES_MAX]; /* axis numbers, the first the most major; unused ones are 0 */
};

/* Unused entries and padding are zero, so that equal shardings are equal bytes. */
struct shd_sharding {
    const struct shd_mesh *mesh; /* not owned */
    uint32_t rank;
    uint16_t partial;    /* bit a: still to be combined over axis a */
    uint16_t partial_op; /* enum shd_reduce_op; 0 when `partial` is 0 */
    struct shd_dim_axes dims[SHD_RANK_MAX];
    struct shd_dim_axes flat; /* axes of the flat cut; none: there is none */
    uint8_t flat_dims;        /* number of leading dimensions taken as one; 0 without axes */
    bool uneven;              /* dimensions need not divide by their axes */
};

/* Set a sharding by which every device holds the whole array. */
SHD_API void shd_sharding_init(struct shd_sharding *out, const struct shd_mesh *mesh, size_t rank);

/* Bind a spec to a mesh for arrays of `rank` dimensions; missing trailing entries are none.
 * Errors, the first that applies: SHD_ENOMESH (mesh is NULL), SHD_EDUPAXIS, SHD_ENOAXIS,
 * SHD_ESPECLONG (more entries than dimensions, even if they are none), SHD_ERANGE (rank over
 * SHD_RANK_MAX). */
SHD_API SHD_MUST_CHECK int shd_sharding_bind(struct shd_sharding *out, const struct shd_mesh *mesh,
                                             const struct shd_spec *spec, size_t rank,
                                             struct shd_error *err);

/* SHD_OK when every dimension of `shape` (rank entries) divides by its axes, or need not, else
 * SHD_EINDIVISIBLE naming the first dimension that does not.  A flat cut takes any shape, of what
 * has been cut evenly (SHD_EUNSUPPORTED). */
SHD_API SHD_MUST_CHECK int shd_sharding_check(const struct shd_sharding *sharding,
                                              const int64_t *shape, struct shd_error *err);

/* The spec of a sharding, `rank` entries; partial axes are not part of it.  SHD_ENOMEM. */
SHD_API SHD_MUST_CHECK int shd_sharding_spec(struct shd_spec **out,
                                             const struct shd_sharding *sharding,
                                             struct shd_error *err);

/* Same mesh, axes of each dimension, partial axes and operation. */
SHD_API bool shd_sharding_equal(const struct shd_sharding *a, const struct shd_sharding *b);

/* The same sharding without the axes of size 1, which cut nothing. */
SHD_API void shd_sharding_simplify(struct shd_sharding *out, const struct shd_sharding *sharding);

/* A mask of the axes that shard some dimension, or that cut flat: bit a for axis a. */
SHD_API uint32_t shd_sharding_axes(const struct shd_sharding *sharding);

/* Into how many intervals a dimension is cut, and which of them a position holds. */
SHD_API int64_t shd_sharding_nshards(const struct shd_sharding *sharding, size_t dim);
SHD_API int64_t shd_sharding_index(const struct shd_sharding *sharding, size_t dim,
                                   int32_t position);

/* Elements of the longest of a dimension's intervals. */
SHD_API int64_t shd_sharding_extent(const struct shd_sharding *sharding, const int64_t *shape,
                                    size_t dim);

/* Into how many pieces shards are cut flat, and which of them a position holds; 1 and 0 without a
 * flat cut. */
SHD_API int64_t shd_sharding_npieces(const struct shd_sharding *sharding);
SHD_API int64_t shd_sharding_piece(const struct shd_sharding *sharding, int32_t position);

/* Extents of one shard, with its padding, which are the same for all: of a flat cut the last of the
 * dimensions that it takes as one has the extent of a piece, those before have 1.  The sharding
 * must pass shd_sharding_check() for `shape`. */
SHD_API void shd_sharding_shard_shape(const struct shd_sharding *sharding, const int64_t *shape,
                                      int64_t *out);

/* First element, per dimension, of the shard at a position; the extent where it is empty.  Of a
 * flat cut that is no place in the array, but tells the pieces apart: shd_sharding_boxes() has what
 * a piece holds. */
SHD_API void shd_sharding_offset(const struct shd_sharding *sharding, const int64_t *shape,
                                 int32_t position, int64_t *out);

/* A box of an array's elements that a position holds. */
struct shd_box {
    int64_t start[SHD_RANK_MAX];  /* in the whole array */
    int64_t extent[SHD_RANK_MAX]; /* at least 1, but for arrays without elements */
    int64_t at; /* elements of the shard before it; the box's own follow in a row, row-major, but
                   that of an uneven cut lies in the shard as if it had the shard's extents */
};

#define SHD_BOXES_MAX (2 * SHD_RANK_MAX)

/* The boxes that a position holds, in the shard's order: one, or of a flat cut as many as the piece
 * has whole rows, planes and so on, at both ends; none where it is padding alone, or empty. Returns
 * how many. */
SHD_API size_t shd_sharding_boxes(const struct shd_sharding *sharding, const int64_t *shape,
                                  int32_t position, struct shd_box out[SHD_BOXES_MAX]);

/* Whether every device holds the whole array: all axes that shard have size 1.  Neither the shape
 * nor `partial` is looked at. */
SHD_API bool shd_sharding_is_replicated(const struct shd_sharding *sharding);

/* Positions that hold equal slices form a replica group; groups are numbered by their first
 * position.  Stores, for each position, its group in group_ids and its place inside the group in
 * replica_ids (either may be NULL; shd_mesh_size() entries each), and returns the number of groups.
 * The shape matters only where a dimension has no elements: all its intervals are equal then. */
SHD_API int32_t shd_sharding_replica_groups(const struct shd_sharding *sharding,
                                            const int64_t *shape, int32_t *group_ids,
                                            int32_t *replica_ids);

/* Write the axes of all dimensions, as in "[{dp}, {}, {fsdp,tp}]", into buf (cut if needed),
 * followed by " flat over {dp}" or " rows over {dp}" where there is a flat cut of all dimensions or
 * of fewer, and " partial sum over {tp}" when there is any; returns the length of the whole text. */
SHD_API size_t shd_sharding_print(const struct shd_sharding *sharding, char *buf, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* SHD_SHARDING_H */
