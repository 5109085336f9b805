/* shd/store.h - device memory that outlives a run: where parameters stay between steps.
 *
 * The memory of a run (shd/run.h) ends with it.  A store holds the memory of every device of a
 * mesh, lends it to one run after the other, and keeps what was placed (shd/params.h); what else a
 * run leaves behind is freed.  The limit of a device counts both.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHD_STORE_H
#define SHD_STORE_H

#include <shd/run.h>

#ifdef __cplusplus
extern "C" {
#endif

struct shd_store; /* opaque */

/* Create the empty memory of all devices of `mesh`, which must outlive the store.  `opts` (NULL:
 * the defaults) holds for all runs on the store; what it points to must live as long.
 * SHD_ENOMESH (mesh is NULL), SHD_EINVAL (bad options), SHD_ENOMEM. */
SHD_API SHD_MUST_CHECK int shd_store_create(struct shd_store **out, const struct shd_mesh *mesh,
                                            const struct shd_run_opts *opts,
                                            struct shd_error *err);

/* Free a store and all that is placed in it; NULL is allowed.  Parameters (shd/params.h) placed
 * there are destroyed first. */
SHD_API void shd_store_destroy(struct shd_store *store);

SHD_API const struct shd_mesh *shd_store_mesh(const struct shd_store *store);

/* Bytes that the device at a position holds now; 0 for a position that is not there. */
SHD_API uint64_t shd_store_live_bytes(const struct shd_store *store, int32_t position);

/* shd_run() on the store's memory; peak bytes include what the store holds. */
SHD_API SHD_MUST_CHECK int shd_store_run(struct shd_store *store, shd_device_fn fn, void *arg,
                                         struct shd_run_stats *stats, struct shd_error *err);

#ifdef __cplusplus
}
#endif

#endif /* SHD_STORE_H */
