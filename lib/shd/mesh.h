/* shd/mesh.h - a device mesh: named axes over devices.
 *
 * A position in the mesh is its row-major index (the last axis varies fastest).  Unless other ids
 * were given, the device at position p has id p, and nothing is stored per device.
 *
 * Thread class: immutable once created; any number of threads may read it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHD_MESH_H
#define SHD_MESH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shd/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The most axes of a mesh: struct shd_sharding keeps sets of axes as the bits of a uint16_t. */
#define SHD_MESH_AXES_MAX 16

struct shd_mesh; /* opaque */

/* Create a mesh of `naxes` axes (0 axes: one device).  Names are copied and must be distinct and
 * non-empty; sizes are in devices and at least 1.
 *
 * On success stores the mesh in *out; free it with shd_mesh_destroy().  Returns SHD_EINVAL (empty
 * name, size below 1), SHD_EDUPAXIS, SHD_ERANGE (more axes than SHD_MESH_AXES_MAX, or the product
 * of sizes does not fit an int32_t) or SHD_ENOMEM.
 */
SHD_API SHD_MUST_CHECK int shd_mesh_create(struct shd_mesh **out, const char *const *names,
                                           const int32_t *sizes, size_t naxes,
                                           struct shd_error *err);

/* The same with the device ids of all positions, row-major, copied; they must be distinct and not
 * negative (SHD_EINVAL). */
SHD_API SHD_MUST_CHECK int shd_mesh_create_with_ids(struct shd_mesh **out, const char *const *names,
                                                    const int32_t *sizes, size_t naxes,
                                                    const int32_t *device_ids,
                                                    struct shd_error *err);

/* Free a mesh.  NULL is allowed. */
SHD_API void shd_mesh_destroy(struct shd_mesh *mesh);

SHD_API size_t shd_mesh_naxes(const struct shd_mesh *mesh);
SHD_API int32_t shd_mesh_size(const struct shd_mesh *mesh); /* devices in all */

/* Name and size of axis 0..naxes-1.  The name lives as long as the mesh. */
SHD_API const char *shd_mesh_axis_name(const struct shd_mesh *mesh, size_t axis);
SHD_API int32_t shd_mesh_axis_size(const struct shd_mesh *mesh, size_t axis);

/* The number of devices along several different axes, the product of their sizes: those of a mask
 * (bit a: axis a), and those listed. */
SHD_API int64_t shd_mesh_size_along(const struct shd_mesh *mesh, uint32_t axes);
SHD_API int64_t shd_mesh_size_of_axes(const struct shd_mesh *mesh, const uint8_t *axes,
                                      size_t naxes);

/* The axis of a name, or -1. */
SHD_API int shd_mesh_find_axis(const struct shd_mesh *mesh, const char *name);

/* Coordinates of a position along every axis, and back.  `coords` holds naxes entries. */
SHD_API void shd_mesh_coords(const struct shd_mesh *mesh, int32_t position, int32_t *coords);
SHD_API int32_t shd_mesh_position(const struct shd_mesh *mesh, const int32_t *coords);

/* The coordinate of a position along one axis. */
SHD_API int32_t shd_mesh_coord(const struct shd_mesh *mesh, int32_t position, size_t axis);

/* The device id at a position, and the position of a device id (-1 if it is not in the mesh). */
SHD_API int32_t shd_mesh_device_id(const struct shd_mesh *mesh, int32_t position);
SHD_API int32_t shd_mesh_find_device(const struct shd_mesh *mesh, int32_t device_id);

/* Same names, sizes and device ids. */
SHD_API bool shd_mesh_equal(const struct shd_mesh *a, const struct shd_mesh *b);

/* Write "dp=2, tp=4" into buf (cut if needed); returns the length of the whole text. */
SHD_API size_t shd_mesh_print(const struct shd_mesh *mesh, char *buf, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* SHD_MESH_H */
