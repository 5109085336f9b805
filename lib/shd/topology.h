/* shd/topology.h - where devices are: coordinates of chips, or a place in a process.
 *
 * A topology is a full box of devices: TPU chips with coordinates x, y, z and cores, each process
 * owning a box of them; or processes with devices numbered through.  Devices have ids from 0 and
 * are computed, not stored.
 *
 * Thread class: values and pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHD_TOPOLOGY_H
#define SHD_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shd/error.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SHD_DEVICE_COORDS_MAX 7 /* coordinates of one device; TPUs have 3 */
#define SHD_GRID_DIMS_MAX 4     /* x, y, z, core; or process, device of the process */

struct shd_topology_device {
    int64_t id;
    int64_t process;
    int64_t slice; /* -1: the device knows no slice */
    bool has_coords;
    uint8_t ncoords; /* at most SHD_DEVICE_COORDS_MAX */
    int64_t coords[SHD_DEVICE_COORDS_MAX];
    int64_t core; /* on the chip; with coordinates only */
};

/* The box of which `last` is the far corner: (x + 1, y + 1, z + 1, core + 1) for a device with
 * three coordinates, else (nprocesses, nlocal).  Stores up to SHD_GRID_DIMS_MAX extents and their
 * number.  SHD_ERANGE when a coordinate is the largest number there is. */
SHD_API SHD_MUST_CHECK int shd_device_bounds(int64_t *out, size_t *ndims,
                                             const struct shd_topology_device *last,
                                             int64_t nprocesses, int64_t nlocal,
                                             struct shd_error *err);

/* The coordinates and the core of a device that has coordinates, else (process, id modulo nlocal).
 * Stores up to SHD_DEVICE_COORDS_MAX + 1 numbers and how many there are.  SHD_EINVAL when nlocal is
 * needed and 0. */
SHD_API SHD_MUST_CHECK int shd_device_coords(int64_t *out, size_t *ndims,
                                             const struct shd_topology_device *device,
                                             int64_t nlocal, struct shd_error *err);

#define SHD_TOPOLOGY_NAME_MAX 64 /* bytes of a name with its end; "TPU v4 lite" has 12 */

/* A box of devices, made by the calls below. */
struct shd_topology {
    char platform[SHD_TOPOLOGY_NAME_MAX]; /* "cpu", "gpu", "tpu" */
    char kind[SHD_TOPOLOGY_NAME_MAX];     /* "TPU v4" */
    uint8_t ndims;                        /* 4: chips; 2: processes and their devices */
    int32_t bounds[SHD_GRID_DIMS_MAX];
    int32_t host[SHD_GRID_DIMS_MAX]; /* the box of one process */
    int32_t nslices;                 /* 0: devices know no slice */
    int32_t ndevices;
    int32_t nprocesses;
    int32_t nlocal; /* devices of a process */
};

/* A box of TPU chips: `bounds` and `host` are {x, y, z, cores}.  Device ids go through the cores,
 * then x, y, z; processes likewise through the boxes of hosts.  SHD_EINVAL (an extent below 1, a
 * name too long), SHD_EINDIVISIBLE (hosts do not fill the box), SHD_ERANGE (over 2^31 - 1 devices).
 */
SHD_API SHD_MUST_CHECK int shd_topology_init_chips(struct shd_topology *out, const char *kind,
                                                   const int64_t *bounds, const int64_t *host,
                                                   struct shd_error *err);

/* Processes of `nlocal` devices each; device k of process p has id p * nlocal + k.  Processes are
 * split evenly, in order, over `nslices` slices (0: devices know no slice).  Errors as above. */
SHD_API SHD_MUST_CHECK int shd_topology_init_hosts(struct shd_topology *out, const char *platform,
                                                   int64_t nprocesses, int64_t nlocal,
                                                   int64_t nslices, struct shd_error *err);

/* The device of an id 0..ndevices-1. */
SHD_API void shd_topology_device(const struct shd_topology *topology, int32_t id,
                                 struct shd_topology_device *out);

/* The process of an id 0..ndevices-1. */
SHD_API int32_t shd_topology_process(const struct shd_topology *topology, int32_t id);

#ifdef __cplusplus
}
#endif

#endif /* SHD_TOPOLOGY_H */
