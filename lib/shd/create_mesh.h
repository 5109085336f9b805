/* shd/create_mesh.h - eformer's create_mesh(): a mesh from dimensions, one of which may be left
 * open.
 *
 * Devices are numbered 0, 1, ...; processes and slices have equal, consecutive runs of them.  With
 * several slices the first dimension that divides by their number is sharded over them; with
 * several processes (and slices unknown, or one) each process gets a part of the mesh by
 * shd_host_mesh_shape().  The parts are laid side by side: along each dimension the slice or
 * process is the major part of the index.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHD_CREATE_MESH_H
#define SHD_CREATE_MESH_H

#include <stddef.h>
#include <stdint.h>

#include <shd/error.h>
#include <shd/mesh.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The devices that a mesh is made of.  Counts are at least 1, and processes and slices divide the
 * devices. */
struct shd_cluster {
    int32_t ndevices;
    int32_t nprocesses;
    int32_t nslices;       /* 0: devices do not tell their slice */
    int32_t nslices_asked; /* what the environment says there are (MEGASCALE_NUM_SLICES), used where
                              devices tell less than two; 0: nothing */
};

/* Sizes, and the device at each position. */
struct shd_mesh_grid {
    size_t ndims;
    int32_t sizes[SHD_MESH_AXES_MAX];
    int32_t *device_ids; /* row-major; NULL: the position is the id */
};

/* Fill in the one negative dimension so that the product is `total`, as NumPy's reshape does.
 * SHD_EINVAL for two negative ones, SHD_EINDIVISIBLE when the product cannot be `total`, SHD_ERANGE
 * for more than SHD_MESH_AXES_MAX dimensions. */
SHD_API SHD_MUST_CHECK int shd_mesh_dims_fill(int32_t *out, const int64_t *dims, size_t ndims,
                                              int32_t total, struct shd_error *err);

/* The part of a mesh that one of `nprocesses` has, each with `ndevices` devices: leading dimensions
 * are cut first.  SHD_EINVAL when counts do not agree or the cut leaves another number of devices,
 * SHD_ERANGE as above.  `out` may be `dims`. */
SHD_API SHD_MUST_CHECK int shd_host_mesh_shape(int32_t *out, const int32_t *dims, size_t ndims,
                                               int32_t ndevices, int32_t nprocesses,
                                               struct shd_error *err);

/* The sizes and devices of a mesh by `dims`, one of which may be negative and takes the rest.  The
 * sizes `dcn` say over which dimensions slices or processes are spread, one of which may be -1;
 * NULL leaves that to the rules above.  With only one slice and process `dcn` is not looked at.
 * Free with shd_mesh_grid_fini().  SHD_EINVAL, SHD_EINDIVISIBLE, SHD_ERANGE, SHD_ENOMEM. */
SHD_API SHD_MUST_CHECK int shd_mesh_grid_init(struct shd_mesh_grid *out,
                                              const struct shd_cluster *cluster,
                                              const int64_t *dims, size_t ndims, const int64_t *dcn,
                                              size_t ndcn, struct shd_error *err);

SHD_API void shd_mesh_grid_fini(struct shd_mesh_grid *grid);

/* The original's defaults: dimensions (1, -1, 1, 1, 1) named dp, fsdp, ep, tp, sp. */
#define SHD_DEFAULT_MESH_AXES 5 /* how many of both there are */
SHD_API const int64_t *shd_default_mesh_dims(void);
SHD_API const char *const *shd_default_mesh_names(void);

/* A mesh of such a grid.  Errors as above; SHD_EINVAL when names and dimensions differ in number;
 * and those of shd_mesh_create(): a name given twice is an error, though the original lets it
 * pass. */
SHD_API SHD_MUST_CHECK int
shd_mesh_create_by_dims(struct shd_mesh **out, const struct shd_cluster *cluster,
                        const int64_t *dims, size_t ndims, const char *const *names, size_t nnames,
                        const int64_t *dcn, size_t ndcn, struct shd_error *err);

/* Read "dp:2,tp:4", whose names must be just those of `names` in any order, or "2,4", which are
 * sizes for `names` in turn.  Stores `nnames` dimensions, one of which may be negative, and their
 * names, which point to those in `names`.  Blanks are allowed around numbers only.  SHD_EINVAL,
 * SHD_ERANGE. */
SHD_API SHD_MUST_CHECK int shd_mesh_dims_parse(int64_t *dims, const char **dim_names,
                                               const char *text, const char *const *names,
                                               size_t nnames, struct shd_error *err);

/* A mesh from such a text: parse_mesh_from_string(). */
SHD_API SHD_MUST_CHECK int shd_mesh_parse(struct shd_mesh **out, const char *text,
                                          const char *const *names, size_t nnames,
                                          const struct shd_cluster *cluster, struct shd_error *err);

#ifdef __cplusplus
}
#endif

#endif /* SHD_CREATE_MESH_H */
