/* Fuzzes cluster files with libFuzzer: any bytes are refused with a message or give a cluster on
 * which every collective of every group has a time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "hardware/hardware.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
    if (!holds)
        abort();
}

static void check_times(const struct hardware *hardware, const struct shd_mesh *mesh)
{
    static const uint8_t axes[] = {0, 1};

    for (size_t first = 0; first < 2; first++)
        for (size_t n = 0; first + n <= 2; n++) {
            struct hardware_group group;

            hardware_group_of(&group, hardware, mesh, axes + first, n);
            for (int kind = 0; kind < COLL_NKINDS; kind++) {
                double seconds =
                    hardware_collective_seconds(hardware, (enum coll_kind)kind, &group, 1 << 20);

                require(isfinite(seconds) && seconds >= 0);
            }
        }
    require(hardware_message_seconds(hardware, 0, 31, 1) >= 0);
}

static void check_kernels(const struct hardware *hardware)
{
    for (int kind = HARDWARE_MATMUL; kind <= HARDWARE_MEMORY; kind++) {
        struct hardware_work work = {
            (enum hardware_work_kind)kind, SHD_BF16, 2, 100, 100, 100, 4e6, 8e4};
        double seconds = hardware_kernel_seconds(hardware, &work);

        require(isfinite(seconds) && seconds >= 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"x", "y"};
    static const int32_t sizes[] = {4, 8};
    struct diag errors = DIAG_INIT;
    struct text messages = TEXT_INIT;
    struct hardware *hardware = NULL;
    struct shd_mesh *mesh = NULL;
    int status = hardware_parse(&hardware, "fuzz", (const char *)data, size, &errors);

    diag_print(&errors, &messages);
    require((status == SHD_OK) == (hardware != NULL) &&
            (status == SHD_OK) == (errors.nerrors == 0));
    require(shd_mesh_create(&mesh, names, sizes, 2, NULL) == SHD_OK);
    if (hardware) {
        if (hardware_lay_out(hardware, 32, 1, NULL, NULL) == SHD_OK)
            check_times(hardware, mesh);
        check_kernels(hardware);
    }
    shd_mesh_destroy(mesh);
    hardware_destroy(hardware);
    text_fini(&messages);
    diag_fini(&errors);
    return 0;
}
