/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/store.h"

#include <inttypes.h>
#include <stdlib.h>

#include "run/device.h"

int shd_store_create(struct shd_store **out, const struct shd_mesh *mesh,
                     const struct shd_run_opts *opts, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out))
        return SHD_EINVAL;

    struct backend_choice memory;
    struct shd_store *store;
    int32_t ndevices;

    if (!mesh)
        return shd_error_set(err, SHD_ENOMESH, "no mesh is given");
    ndevices = shd_mesh_size(mesh);
    if (!backend_choose(&memory, opts ? opts->memory : NULL, ndevices, 0))
        return shd_error_set(err, SHD_EINVAL, "no device memory of the kind '%.40s' here",
                             opts->memory);
    store = calloc(1, sizeof(*store));
    if (store)
        store->arenas = calloc((size_t)ndevices, sizeof(*store->arenas));
    if (!store || !store->arenas) {
        free(store);
        return shd_error_set(err, SHD_ENOMEM, "no memory for a store of %" PRId32 " devices",
                             ndevices);
    }
    store->mesh = mesh;
    store->ndevices = ndevices;
    if (opts)
        store->opts = *opts;
    for (int32_t d = 0; d < ndevices; d++)
        arena_init(&store->arenas[d], d, store->opts.memory_bytes, memory.backend);
    *out = store;
    return SHD_OK;
}

void shd_store_destroy(struct shd_store *store)
{
    if (!store)
        return;
    for (int32_t d = 0; d < store->ndevices; d++)
        arena_fini(&store->arenas[d]);
    free(store->arenas);
    free(store);
}

const struct shd_mesh *shd_store_mesh(const struct shd_store *store)
{
    if (!store)
        return NULL;
    return store->mesh;
}

uint64_t shd_store_live_bytes(const struct shd_store *store, int32_t position)
{
    if (!store)
        return 0;
    return position >= 0 && position < store->ndevices ? store->arenas[position].live_bytes : 0;
}

int shd_store_run(struct shd_store *store, shd_device_fn fn, void *arg,
                  struct shd_run_stats *stats, struct shd_error *err)
{
    if (!SHD_GIVEN(err, store)) {
        if (stats)
            *stats = (struct shd_run_stats){.error_device = -1};
        return SHD_EINVAL;
    }
    return run_devices(store->mesh, fn, arg, &store->opts, store->arenas, NULL, stats, err);
}
