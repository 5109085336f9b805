/* Fuzzes texts of compiled modules with libFuzzer: any bytes are read or refused with a message,
 * and a capture adds up.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>

#include "capture/axes.h"
#include "capture/hlo.h"
#include "capture/rows.h"
#include "capture/sums.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
    if (!holds)
        abort();
}

static void add_up(const struct capture *capture)
{
    uint128 *received = calloc((size_t)capture->ndevices, sizeof *received), sum = 0;
    struct shd_mesh *mesh = NULL;
    struct shd_error err;
    struct rows rows;

    require(received != NULL);
    require(sums_by_device(received, capture, &err) == SHD_OK);
    for (int32_t d = 0; d < capture->ndevices; d++)
        sum += received[d];
    require(sum == sums_total(capture));
    require(axes_infer(&mesh, capture, &err) == SHD_OK);
    require(rows_init(&rows, capture, mesh, NULL, &err) == SHD_OK);
    require(rows.received_bytes == sum);
    rows_fini(&rows);
    shd_mesh_destroy(mesh);
    free(received);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct hlo_request request = {.devices = 0, .trips = 2};
    struct diag errors = DIAG_INIT;
    struct capture capture;
    int status;

    capture_init(&capture);
    status = hlo_read(&capture, "fuzz", (const char *)data, size, &request, &errors);
    require((status == SHD_OK) == (errors.nerrors == 0));
    if (status == SHD_OK)
        add_up(&capture);
    capture_fini(&capture);
    diag_fini(&errors);
    return 0;
}
