/* Fuzzes traces of PyTorch with libFuzzer: any bytes, of two ranks if a NUL separates them, are
 * read or refused with a message; a capture adds up, also when the traced ranks stand for all
 * others.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "capture/axes.h"
#include "capture/rows.h"
#include "capture/spread.h"
#include "capture/sums.h"
#include "capture/torch_chakra.h"
#include "capture/torch_profiler.h"

#define DEVICES_MAX 4096 /* larger captures are not added up, as they would only take longer */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
    if (!holds)
        abort();
}

static void add_up(const struct capture *capture, const struct shd_mesh *mesh)
{
    uint128 *received = calloc((size_t)capture->ndevices, sizeof *received), sum = 0;
    struct shd_error err;
    struct rows rows;

    require(received != NULL);
    require(sums_by_device(received, capture, &err) == SHD_OK);
    for (int32_t d = 0; d < capture->ndevices; d++)
        sum += received[d];
    require(sum == sums_total(capture));
    require(rows_init(&rows, capture, mesh, NULL, &err) == SHD_OK);
    require(rows.received_bytes == sum);
    rows_fini(&rows);
    free(received);
}

static void join(const struct traces *traces)
{
    const struct traces_request request = {.step = TRACES_NO_STEP};
    struct diag errors = DIAG_INIT;
    struct shd_mesh *mesh = NULL;
    struct capture capture;
    struct shd_error err;

    capture_init(&capture);
    require(traces_join(&capture, traces, &request, &errors) == SHD_OK && errors.nerrors == 0);
    if (capture.ndevices <= DEVICES_MAX) {
        require(axes_infer(&mesh, &capture, &err) == SHD_OK);
        add_up(&capture, mesh);
        require(spread_over(&capture, mesh, &err) == SHD_OK);
        add_up(&capture, mesh);
    }
    shd_mesh_destroy(mesh);
    capture_fini(&capture);
    diag_fini(&errors);
}

static int read(struct traces *traces, const char *file, const char *text, size_t length)
{
    struct diag errors = DIAG_INIT;
    int status = torch_chakra_is(text, length)
                     ? torch_chakra_read(traces, file, text, length, &errors)
                     : torch_profiler_read(traces, file, text, length, &errors);

    require((status == SHD_OK) == (errors.nerrors == 0));
    diag_fini(&errors);
    return status;
}

/* A copy of exactly the text's length, so that a sanitizer notices reading past its end. */
static char *copy_of(const char *text, size_t length)
{
    char *copy = malloc(length ? length : 1);

    require(copy != NULL);
    memcpy(copy, text, length);
    return copy;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    const char *parted = size ? memchr(text, 0, size) : NULL;
    size_t first = parted ? (size_t)(parted - text) : size;
    char *one = copy_of(text, first);
    char *other = parted ? copy_of(parted + 1, size - first - 1) : NULL;
    struct traces traces;
    int status;

    traces_init(&traces);
    status = read(&traces, "rank-0", one, first);
    if (status == SHD_OK && parted)
        status = read(&traces, "rank-1", other, size - first - 1);
    if (status == SHD_OK && traces.nranks)
        join(&traces);
    traces_fini(&traces);
    free(one);
    free(other);
    return 0;
}
