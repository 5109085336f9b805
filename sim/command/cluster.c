/* Laying out a named cluster for a mesh (cluster.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "command/cluster.h"

#include <stdlib.h>

#include "hardware/shipped_models.h"
#include "command/command.h"

#define SLICES_MAX (1 << 30)

/* A whole number of at least 1, or -1. */
static long parse_count(const char *text)
{
    char *end;
    long n = strtol(text, &end, 10);

    return end != text && !*end && n >= 1 && n <= SLICES_MAX ? n : -1;
}

static int lay_out(struct hardware *hardware, const struct shd_mesh *mesh, int64_t ndevices,
                   const char *text)
{
    int64_t shape[HARDWARE_TORUS_MAX] = {1, 1, 1};
    long slices = text ? parse_count(text) : 1;
    size_t ndims = (size_t)hardware->tiers[0].ndims, naxes = shd_mesh_naxes(mesh);
    bool shaped = naxes <= ndims && ndevices == shd_mesh_size(mesh);
    struct shd_error err;

    if (slices < 0)
        return cmd_wrong("slices", "expected a whole number of at least 1");
    for (size_t a = 0; shaped && a < naxes; a++)
        shape[ndims - naxes + a] = shd_mesh_axis_size(mesh, a);
    if (naxes > 0 && shaped && shape[ndims - naxes] % slices == 0)
        shape[ndims - naxes] /= slices;
    if (hardware_lay_out(hardware, ndevices, slices, shape, &err) != SHD_OK)
        return cmd_failure("mesh", &err);
    return CMD_OK;
}

int cluster_load(struct hardware **out, const char *name)
{
    struct diag diag = DIAG_INIT;
    int exit = CMD_OK, status = hardware_find(out, name, NULL, (struct place){NULL, 0, 0}, &diag);

    if (status == SHD_OK && shipped_models_bind(*out) != SHD_OK) {
        diag_no_memory(&diag);
        status = SHD_ENOMEM;
    }
    if (status != SHD_OK) {
        diag_write(&diag, stderr);
        exit = cmd_exit_of_input(&diag);
    }
    diag_fini(&diag);
    return exit;
}

int cluster_find(struct hardware **out, const char *name, const struct shd_mesh *mesh,
                 int64_t ndevices, const char *slices)
{
    struct hardware *hardware = NULL;
    int exit = cluster_load(&hardware, name);

    if (exit == CMD_OK)
        exit = lay_out(hardware, mesh, ndevices, slices);
    if (exit == CMD_OK)
        *out = hardware;
    else
        hardware_destroy(hardware);
    return exit;
}
