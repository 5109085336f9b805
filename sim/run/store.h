/* store.h - a store, shared by the files of the room.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_STORE_H
#define RUN_STORE_H

#include <shd/store.h>

#include "run/arena.h"

struct shd_store {
    const struct shd_mesh *mesh;
    struct shd_run_opts opts;
    int32_t ndevices;
    struct arena *arenas; /* by position */
};

#endif /* RUN_STORE_H */
