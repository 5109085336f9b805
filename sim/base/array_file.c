/* Opening files of arrays (base/array_file.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/array_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/npz.h"
#include "base/safetensors.h"
#include "base/yaml.h"

struct array_file {
    struct file_bytes *bytes;
    struct stored_array *arrays;
    size_t narrays;
};

void array_file_destroy(struct array_file *file)
{
    if (!file)
        return;
    for (size_t i = 0; i < file->narrays; i++)
        free(file->arrays[i].name);
    free(file->arrays);
    file_bytes_destroy(file->bytes);
    free(file);
}

/* Keep an array; a stored_array_fn. */
static int add_array(void *arg, const struct stored_array *array, struct place place,
                     struct diag *diag)
{
    struct array_file *file = arg;
    uint64_t size = file_bytes_count(file->bytes);
    struct stored_array *added;

    if (array->at > size || array->bytes > size - array->at) {
        diag_error(diag, place,
                   "'%.100s' has %" PRIu64 " bytes from byte %" PRIu64
                   " on, but the file has %" PRIu64 " bytes",
                   array->name, array->bytes, array->at, size);
        return SHD_EINVAL;
    }
    if (!array_make_room(&file->arrays, file->narrays, sizeof *file->arrays)) {
        diag_no_memory(diag);
        return SHD_ENOMEM;
    }
    added = &file->arrays[file->narrays];
    *added = *array;
    added->name = strdup(array->name);
    if (!added->name) {
        diag_no_memory(diag);
        return SHD_ENOMEM;
    }
    file->narrays++;
    return SHD_OK;
}

struct adding {
    struct array_file *file;
    uint64_t data; /* where it begins */
    struct diag *diag;
};

static int add_safetensors(void *arg, const struct safetensors_array *array)
{
    const struct adding *adding = arg;
    struct stored_array stored = {.name = (char *)(uintptr_t)array->name,
                                  .dtype = array->dtype,
                                  .is_unsigned = array->is_unsigned,
                                  .rank = array->rank,
                                  .at = adding->data + array->begin,
                                  .bytes = array->end - array->begin,
                                  .file = adding->file->bytes};

    memcpy(stored.shape, array->shape, array->rank * sizeof *array->shape);
    return add_array(adding->file, &stored, array->place, adding->diag);
}

static int open_safetensors(struct array_file *file, const char *path, const uint8_t *first,
                            size_t nfirst, struct diag *diag)
{
    uint64_t length =
                 nfirst < SAFETENSORS_LENGTH_BYTES ? 0 : safetensors_length((const char *)first),
             size = file_bytes_count(file->bytes);
    size_t have = nfirst, wanted = (size_t)(length < size ? length : size);
    struct adding adding = {file, length, diag};
    uint8_t *bytes;
    int status;

    if (length > YAML_DOC_BYTES_MAX || wanted < have)
        wanted = have;
    bytes = malloc(wanted + 1);
    if (!bytes) {
        diag_no_memory(diag);
        return SHD_ENOMEM;
    }
    memcpy(bytes, first, have);
    if (wanted > have)
        file_bytes_read(file->bytes, have, bytes + have, wanted - have);
    status = safetensors_read(path, (const char *)bytes, wanted, add_safetensors, &adding, diag);
    free(bytes);
    return status;
}

static int by_place(const void *a, const void *b)
{
    const struct stored_array *x = a, *y = b;

    return (x->at > y->at) - (x->at < y->at);
}

static int by_name(const void *a, const void *b)
{
    const struct stored_array *x = a, *y = b;

    return strcmp(x->name, y->name);
}

/* Check that the arrays of a safetensors file, in the order of their places, fill it from the end
 * of its header on: other bytes are of another file, or of arrays that the header lost. */
static void check_filled(const struct array_file *file, uint64_t at, struct place whole,
                         struct diag *diag)
{
    for (size_t i = 0; i < file->narrays; i++) {
        const struct stored_array *array = &file->arrays[i];

        if (array->at > at)
            diag_error(diag, whole,
                       "%" PRIu64 " bytes before '%.100s', from byte %" PRIu64
                       " on, belong to no array",
                       array->at - at, array->name, at);
        at = array->at + array->bytes > at ? array->at + array->bytes : at;
    }
    if (file_bytes_count(file->bytes) > at)
        diag_error(diag, whole,
                   "%" PRIu64 " bytes after the last array, from byte %" PRIu64 " on, belong to no "
                   "array",
                   file_bytes_count(file->bytes) - at, at);
}

/* Check that arrays have places and names of their own, and leave them sorted by name.  A header of
 * 0 bytes: the file is no safetensors file, and may hold more than its arrays. */
static int check_arrays(struct array_file *file, uint64_t header_bytes, struct place whole,
                        struct diag *diag)
{
    struct stored_array *arrays = file->arrays;
    size_t before = diag->nerrors;

    if (file->narrays > 0)
        qsort(arrays, file->narrays, sizeof *arrays, by_place);
    for (size_t i = 1; i < file->narrays; i++)
        if (arrays[i - 1].at + arrays[i - 1].bytes > arrays[i].at && arrays[i].bytes > 0)
            diag_error(diag, whole, "'%.100s' and '%.100s' overlap at byte %" PRIu64,
                       arrays[i - 1].name, arrays[i].name, arrays[i].at);
    if (header_bytes > 0)
        check_filled(file, header_bytes, whole, diag);
    if (file->narrays > 0)
        qsort(arrays, file->narrays, sizeof *arrays, by_name);
    for (size_t i = 1; i < file->narrays; i++)
        if (!strcmp(arrays[i - 1].name, arrays[i].name))
            diag_error(diag, whole, "'%.100s' appears twice", arrays[i].name);
    return diag_status(diag, before);
}

static int read_directory(struct array_file *file, const char *path, struct diag *diag)
{
    struct place whole = {path, 0, 0};
    uint8_t first[SAFETENSORS_LENGTH_BYTES];
    size_t n = 0;
    struct shd_error err;
    bool is_npz;
    int status;

    if (file_bytes_count(file->bytes) > 0)
        n = file_bytes_read(file->bytes, 0, first, sizeof first);
    is_npz = npz_begins(first, n);
    status = is_npz ? npz_read(file->bytes, path, add_array, file, diag)
                    : open_safetensors(file, path, first, n, diag);
    if (status == SHD_OK)
        status =
            check_arrays(file, is_npz ? 0 : safetensors_length((const char *)first), whole, diag);
    if (file_bytes_check(file->bytes, &err) != SHD_OK) {
        diag_failure(diag, whole, err.status, "%s", err.text);
        return err.status;
    }
    return status;
}

int array_file_open(struct array_file **out, const char *path, struct diag *diag)
{
    struct array_file *file = calloc(1, sizeof *file);
    struct shd_error err;
    int status;

    if (!file) {
        diag_no_memory(diag);
        return SHD_ENOMEM;
    }
    status = file_bytes_create(&file->bytes, path, &err);
    if (status != SHD_OK)
        diag_failure(diag, (struct place){path, 0, 0}, status, "%s", err.text);
    else
        status = read_directory(file, path, diag);
    if (status == SHD_OK)
        *out = file;
    else
        array_file_destroy(file);
    return status;
}

const struct stored_array *array_file_find(const struct array_file *file, const char *name,
                                           struct nearest *nearest)
{
    struct stored_array key = {.name = (char *)(uintptr_t)name};
    const struct stored_array *found = NULL;

    if (file->narrays > 0)
        found = bsearch(&key, file->arrays, file->narrays, sizeof key, by_name);
    for (size_t i = 0; !found && i < file->narrays; i++)
        nearest_add(nearest, file->arrays[i].name);
    return found;
}

int array_file_check(const struct array_file *file, struct shd_error *err)
{
    return file_bytes_check(file->bytes, err);
}
