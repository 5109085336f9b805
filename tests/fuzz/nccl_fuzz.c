/* Fuzzes logs of nccl-tests with libFuzzer: any bytes of a file are read or refused with a
 * message.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "calibrate/nccl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct samples samples = {.n = 0};
    struct diag errors = DIAG_INIT;
    int file = memfd_create("log", 0), status;
    char path[64];

    require(file >= 0 && write(file, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    status = nccl_read(&samples, path, "a100-sxm", &errors);
    require((status == SHD_OK) == (errors.nerrors == 0));
    require(status != SHD_OK || samples.n > 0);
    for (size_t i = 0; i < samples.n; i++)
        require(samples.items[i].measured_s > 0 && samples.items[i].bytes > 0);
    samples_fini(&samples);
    close(file);
    diag_fini(&errors);
    return 0;
}
