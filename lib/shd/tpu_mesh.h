/* shd/tpu_mesh.h - meshes that fit the hardware: which device gets which place.
 *
 * A model-parallel submesh is a box of neighbouring devices that together hold one copy of a model;
 * the rest of the hardware is data parallel.  The meshes have the axes (data, model), or (replica,
 * data, model) where slower links between granules (slices or processes) are used beside the faster
 * ones inside.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHD_TPU_MESH_H
#define SHD_TPU_MESH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shd/error.h>
#include <shd/mesh.h>
#include <shd/topology.h>

#ifdef __cplusplus
extern "C" {
#endif

struct shd_tpu_mesh_opts {
    bool tile_by_host; /* keep each host's devices one box of the mesh, where that needs tiling */
    int64_t local_process; /* whose devices are the local ones */
    /* T5X takes the far corner of a host's devices for the extents of the host, which is right for
     * process 0 only, and so does this.  Strict: what they are, whichever process asks. */
    bool strict;
};

/* T5X's defaults. */
#define SHD_TPU_MESH_OPTS_INIT \
    {                          \
        true, 0, false         \
    }

/* The mesh (data, model) of a topology for a submesh of `nsubmesh` extents; `opts` may be NULL.
 *
 * Each extent of the submesh must divide the hardware's (SHD_EINDIVISIBLE) and, where tiled, divide
 * or be divided by the host's (likewise); chips need 4 extents.  A submesh that fills x, or y and
 * z, makes z major over y instead of being tiled, and one that fills y, or x and z, makes z major
 * over x; they must hold all cores.  All else that fits no mesh is SHD_EINVAL. */
SHD_API SHD_MUST_CHECK int shd_tpu_mesh_create(struct shd_mesh **out,
                                               const struct shd_topology *topology,
                                               const int64_t *submesh, size_t nsubmesh,
                                               const struct shd_tpu_mesh_opts *opts,
                                               struct shd_error *err);

/* Devices to use, in any order, and those of the process that asks. */
struct shd_device_list {
    const struct shd_topology_device *devices;
    size_t ndevices;
    const struct shd_topology_device *local;
    size_t nlocal;
    int64_t nprocesses; /* of the whole system; for devices without coordinates */
    int64_t local_device_count;
};

/* The mesh (data, model) of listed devices, which must fill the box from the origin to the one with
 * the largest coordinates (SHD_EINVAL).  `opts->local_process` means nothing here, nor does
 * `strict`. */
SHD_API SHD_MUST_CHECK int shd_tpu_mesh_create_from(struct shd_mesh **out,
                                                    const struct shd_device_list *list,
                                                    const int64_t *submesh, size_t nsubmesh,
                                                    const struct shd_tpu_mesh_opts *opts,
                                                    struct shd_error *err);

/* The mesh (data, model) of processes by their devices. */
SHD_API SHD_MUST_CHECK int shd_cpu_mesh_create(struct shd_mesh **out,
                                               const struct shd_topology *topology,
                                               struct shd_error *err);

/* The mesh (data, model) that keeps `num_partitions` model-parallel devices inside a process as far
 * as they go.  SHD_EINDIVISIBLE when the number neither divides a process's devices nor is a
 * multiple of them; SHD_EINVAL for one that is not positive or too large. */
SHD_API SHD_MUST_CHECK int shd_gpu_mesh_create(struct shd_mesh **out,
                                               const struct shd_topology *topology,
                                               int64_t num_partitions, struct shd_error *err);

enum shd_granule { SHD_GRANULE_SLICE, SHD_GRANULE_PROCESS };

/* A mesh of `naxes` axes with granules on the slower links: along each axis ici[i] devices of a
 * granule, times dcn[i] granules, which are the major part.  Shapes shorter than the longer one
 * have leading extents of 1; together they need `naxes` extents.  SHD_EINVAL when granules or
 * devices of one are not the product of dcn or ici, or devices know no slice; SHD_EUNSUPPORTED for
 * chips, whose links decide their order inside a granule. */
SHD_API SHD_MUST_CHECK int
shd_hybrid_mesh_create(struct shd_mesh **out, const struct shd_topology *topology,
                       enum shd_granule granule, const char *const *names, size_t naxes,
                       const int64_t *ici, size_t nici, const int64_t *dcn, size_t ndcn,
                       struct shd_error *err);

/* What a default mesh is made from; all zero but num_partitions is the usual request. */
struct shd_mesh_request {
    int64_t num_partitions;
    const int64_t *submesh; /* taken rather than num_partitions; with no extents there is none */
    size_t nsubmesh;
    const int64_t *ici; /* together with dcn asks for a hybrid mesh; either alone means nothing */
    size_t nici;
    const int64_t *dcn;
    size_t ndcn;
};

/* The mesh for a request: hybrid, else from the submesh, else by platform: "cpu" and "gpu" as
 * above, TPUs by a table of kinds and partitions.  SHD_EINVAL when there is no default, and what
 * these calls return. */
SHD_API SHD_MUST_CHECK int shd_default_mesh_create(struct shd_mesh **out,
                                                   const struct shd_topology *topology,
                                                   const struct shd_mesh_request *request,
                                                   struct shd_error *err);

#ifdef __cplusplus
}
#endif

#endif /* SHD_TPU_MESH_H */
