/* Fuzzes files of arrays with libFuzzer: any bytes are a file whose arrays lie inside of it, or are
 * refused with a message.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array_file.h"
#include "base/npz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
    if (!holds)
        abort();
}

/* The header of a member, which the bytes of an archive seldom reach. */
static void read_header(const uint8_t *data, size_t size)
{
    struct stored_array array = {.rank = 0};
    const char *fault = NULL;
    size_t length = 0;

    if (npz_header(&array, &length, data, size, &fault))
        require(length <= size && array.rank <= SHD_RANK_MAX && !fault);
    else
        require(fault != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct diag errors = DIAG_INIT;
    struct array_file *file = NULL;
    struct nearest nearest;
    char path[64];
    int fd = memfd_create("fuzz", 0);

    require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    nearest_init(&nearest, "x");
    if (array_file_open(&file, path, &errors) == SHD_OK) {
        const struct stored_array *found = array_file_find(file, "x", &nearest);

        require(errors.nerrors == 0);
        require(!found || (found->at <= size && found->bytes <= size - found->at));
    } else {
        require(errors.nerrors > 0);
    }
    array_file_destroy(file);
    diag_fini(&errors);
    close(fd);
    read_header(data, size);
    return 0;
}
