/* shd/run.h - run a function on every device of a mesh: threads, device memory, collectives.
 *
 * shd_run() starts one thread per device; each calls the same function with its own shd_device.
 * Devices share nothing but what they move by collectives.  Results do not depend on timing.
 *
 * Axes are named as "tp" or "dp,tp" (the first the most major in the group's order); NULL means all
 * axes of the mesh, "" none (a group of one).  The group is the devices that differ from the caller
 * in these axes only.  Counts are in elements.  Every device of a group must make the same calls in
 * the same order.  Unless a call says otherwise `in` and `out` must not overlap.
 *
 * When a device fails the others run on until they wait for it: that wait returns SHD_ESTOPPED.  A
 * wait for a device that has ended returns SHD_ESTUCK, as does a circle of waits.  After such a
 * return every further collective of that device returns the same: clean up and return the status.
 *
 * Thread class: a shd_device belongs to its thread.  Several runs may go on at the same time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHD_RUN_H
#define SHD_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shd/dtype.h>
#include <shd/error.h>
#include <shd/mesh.h>
#include <shd/sharding.h>

#ifdef __cplusplus
extern "C" {
#endif

struct shd_device; /* opaque */

/* What every device runs; a status other than SHD_OK (with *err filled) fails the run. */
typedef int (*shd_device_fn)(struct shd_device *dev, void *arg, struct shd_error *err);

struct shd_run_opts {
    size_t stack_bytes;      /* of each thread, at least 96 KiB; 0: 256 KiB */
    uint64_t memory_bytes;   /* of each device; 0: no limit */
    int64_t wait_limit_s;    /* longest wait for another device; 0: 60; negative: none */
    int64_t fuse_bytes;      /* collectives up to this size a device are done by the last member
                                that arrives; 0: 4096; negative: none, and all members make the
                                moves of the schedules step by step.  Same bits either way */
    const char *algorithms;  /* "all-reduce=ring,all-gather=direct"; NULL: the defaults */
    const int *stop_request; /* set atomically to non-zero (by a signal handler, say) it ends the
                                run; NULL: no such thing */
    const char *memory;      /* where a device's memory comes from: "mmap", "malloc" or "jemalloc"
                                (where the program is linked with it); NULL: jemalloc for up to
                                some 186 devices, else mmap */
};

#define SHD_RUN_OPTS_INIT {0, 0, 0, 0, NULL, NULL, NULL}

/* What was counted, by position in the mesh. */
struct shd_run_stats {
    int32_t ndevices;
    int32_t error_device;     /* position whose error is the run's; -1: none, or not one device's */
    uint64_t *received_bytes; /* from other devices */
    uint64_t *sent_bytes;
    uint64_t *peak_bytes; /* device memory */
    uint64_t *matrix;     /* [receiver][source]; NULL above SHD_RUN_MATRIX_MAX devices */
};

/* The matrix of so many devices takes 32 MiB; of more there are the sums alone. */
#define SHD_RUN_MATRIX_MAX 2048

/* Run `fn` on every device of `mesh` and wait for all; `opts` NULL: the defaults.
 *
 * The run's status and error are those of the lowest position that failed by itself, so they are
 * the same each time.  SHD_ESTUCK: nobody failed but some waited in vain.  SHD_ESTOPPED: by
 * request.  SHD_EINVAL: bad options, no function, or a device's thread was ended before its
 * function returned.  SHD_ENOMESH: mesh is NULL.  SHD_ENOMEM.  SHD_ESYSTEM: a thread could not be
 * started. `stats` (may be NULL) is filled on failure as well, with zeros when nothing ran; free it
 * with shd_run_stats_fini().
 */
SHD_API SHD_MUST_CHECK int shd_run(const struct shd_mesh *mesh, shd_device_fn fn, void *arg,
                                   const struct shd_run_opts *opts, struct shd_run_stats *stats,
                                   struct shd_error *err);

SHD_API void shd_run_stats_fini(struct shd_run_stats *stats);

SHD_API const struct shd_mesh *shd_device_mesh(const struct shd_device *dev);
SHD_API int32_t shd_device_position(const struct shd_device *dev);

/* Coordinate along an axis of that name; -1 when there is none. */
SHD_API int32_t shd_device_coord(const struct shd_device *dev, const char *axis);

/* The caller's place in its group over `axes`, and the group's size.  SHD_ENOAXIS, SHD_EDUPAXIS. */
SHD_API SHD_MUST_CHECK int shd_device_group(struct shd_device *dev, const char *axes,
                                            uint32_t *member, uint32_t *nmembers,
                                            struct shd_error *err);

/* Device memory, aligned to 64 bytes, not cleared.  `label` (may be NULL) says what for, in reports
 * of memory running out; it must live as long as the memory.  SHD_EDEVMEM: over the device's limit;
 * SHD_ENOMEM: the host has none left.  What is not freed is freed at the end of the run. */
SHD_API SHD_MUST_CHECK int shd_device_alloc(struct shd_device *dev, uint64_t bytes,
                                            const char *label, void **out, struct shd_error *err);
SHD_API void shd_device_free(struct shd_device *dev, void *memory); /* NULL is allowed */
SHD_API uint64_t shd_device_live_bytes(const struct shd_device *dev);
SHD_API uint64_t shd_device_peak_bytes(const struct shd_device *dev);

/* SHD_ESTOPPED once the run was asked to stop: for functions that compute long between waits. */
SHD_API SHD_MUST_CHECK int shd_device_check_stop(struct shd_device *dev, struct shd_error *err);

/* Collectives.  All return SHD_OK; SHD_EMISMATCH (members call different things; all of them get
 * it, and the run fails by it also where their functions take no notice); SHD_ESTOPPED or
 * SHD_ESTUCK (above); SHD_ENOAXIS, SHD_EDUPAXIS (bad axes); SHD_EUNSUPPORTED (a type that is not
 * computed with, to be reduced); SHD_ERANGE (a count of more bytes than there can be); SHD_EINVAL
 * (what is no type, no reduction, no member or no memory). */

/* out[count] = the reduction of all members' in[count].  in == out is allowed. */
SHD_API SHD_MUST_CHECK int shd_device_all_reduce(struct shd_device *dev, const char *axes,
                                                 const void *in, void *out, uint64_t count,
                                                 enum shd_dtype dtype, enum shd_reduce_op op,
                                                 struct shd_error *err);

/* out[n*count] = in[count] of member 0, of 1, ...; `in` may be the own part of `out`. */
SHD_API SHD_MUST_CHECK int shd_device_all_gather(struct shd_device *dev, const char *axes,
                                                 const void *in, void *out, uint64_t count,
                                                 enum shd_dtype dtype, struct shd_error *err);

/* out = the own chunk of the reduction of in[count].  Chunks: count/n elements each; the first
 * count mod n members get one more.  `out` may be the own chunk of `in`. */
SHD_API SHD_MUST_CHECK int shd_device_reduce_scatter(struct shd_device *dev, const char *axes,
                                                     const void *in, void *out, uint64_t count,
                                                     enum shd_dtype dtype, enum shd_reduce_op op,
                                                     struct shd_error *err);

/* out = the chunk for the caller of member 0's in[count], of 1's, ... */
SHD_API SHD_MUST_CHECK int shd_device_all_to_all(struct shd_device *dev, const char *axes,
                                                 const void *in, void *out, uint64_t count,
                                                 enum shd_dtype dtype, struct shd_error *err);

/* out[count] = in[count] of member source[me]; zeros when that is UINT32_MAX.  All members pass the
 * same `source`, one entry a member. */
SHD_API SHD_MUST_CHECK int shd_device_permute(struct shd_device *dev, const char *axes,
                                              const uint32_t *source, const void *in, void *out,
                                              uint64_t count, enum shd_dtype dtype,
                                              struct shd_error *err);

/* out[count] = in[count] of member `root`; only root's `in` is read.  in == out is allowed. */
SHD_API SHD_MUST_CHECK int shd_device_broadcast(struct shd_device *dev, const char *axes,
                                                uint32_t root, const void *in, void *out,
                                                uint64_t count, enum shd_dtype dtype,
                                                struct shd_error *err);

/* As all-gather and all-reduce, but only root's `out` is written. */
SHD_API SHD_MUST_CHECK int shd_device_gather(struct shd_device *dev, const char *axes,
                                             uint32_t root, const void *in, void *out,
                                             uint64_t count, enum shd_dtype dtype,
                                             struct shd_error *err);
SHD_API SHD_MUST_CHECK int shd_device_reduce(struct shd_device *dev, const char *axes,
                                             uint32_t root, const void *in, void *out,
                                             uint64_t count, enum shd_dtype dtype,
                                             enum shd_reduce_op op, struct shd_error *err);

/* out = the own chunk of root's in[count]; other members' `in` is not read. */
SHD_API SHD_MUST_CHECK int shd_device_scatter(struct shd_device *dev, const char *axes,
                                              uint32_t root, const void *in, void *out,
                                              uint64_t count, enum shd_dtype dtype,
                                              struct shd_error *err);

/* Between two devices, by position in the mesh; both block until the elements are there. SHD_EINVAL
 * also for the caller itself. */
SHD_API SHD_MUST_CHECK int shd_device_send(struct shd_device *dev, int32_t to, const void *in,
                                           uint64_t count, enum shd_dtype dtype,
                                           struct shd_error *err);
SHD_API SHD_MUST_CHECK int shd_device_recv(struct shd_device *dev, int32_t from, void *out,
                                           uint64_t count, enum shd_dtype dtype,
                                           struct shd_error *err);

SHD_API SHD_MUST_CHECK int shd_device_barrier(struct shd_device *dev, const char *axes,
                                              struct shd_error *err);

#ifdef __cplusplus
}
#endif

#endif /* SHD_RUN_H */
