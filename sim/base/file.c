/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_near.h"
#include "base/units.h"

static int too_large(struct shd_error *err, uint64_t size, const char *more, size_t max_bytes)
{
    char has[UNITS_TEXT_MAX];
    char limit[UNITS_TEXT_MAX];

    units_print_bytes(has, sizeof(has), size);
    units_print_bytes(limit, sizeof(limit), max_bytes);
    return shd_error_set(err, SHD_ERANGE, "the file has %s%s; at most %s are read", more, has,
                         limit);
}

static int read_stream(struct text *out, FILE *file, const char *path, size_t max_bytes,
                       struct shd_error *err)
{
    char chunk[1 << 14], hint[FILE_NEAR_MAX];
    size_t total = 0;
    struct stat info;

    if (fstat(fileno(file), &info) == 0) {
        if (S_ISDIR(info.st_mode))
            return shd_error_set(err, SHD_ESYSTEM, "this is a directory; expected a file%s",
                                 file_near_inside(path, hint, sizeof hint));
        if (S_ISREG(info.st_mode) && (uint64_t)info.st_size > max_bytes)
            return too_large(err, (uint64_t)info.st_size, "", max_bytes);
    }
    for (;;) {
        size_t n = fread(chunk, 1, sizeof(chunk), file);
        if (n == 0)
            break;
        total += n;
        if (total > max_bytes)
            return too_large(err, max_bytes, "more than ", max_bytes);
        text_add_bytes(out, chunk, n);
    }
    if (ferror(file))
        return shd_error_set(err, SHD_ESYSTEM, "cannot be read: %s", strerror(errno));
    if (out->failed)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the file");
    return SHD_OK;
}

int file_read(struct text *out, const char *path, size_t max_bytes, struct shd_error *err)
{
    struct text text = TEXT_INIT;
    char hint[FILE_NEAR_MAX] = "";
    FILE *file = stdin;

    if (strcmp(path, "-") != 0)
        file = fopen(path, "rb");
    if (!file && errno == ENOMEM)
        return shd_error_set(err, SHD_ENOMEM, "no memory to open the file");
    if (!file) {
        int code = errno;

        return shd_error_set(err, SHD_ESYSTEM, "cannot be opened: %s%s", strerror(code),
                             code == ENOENT ? file_near_hint(path, hint, sizeof hint) : "");
    }
    int status = read_stream(&text, file, path, max_bytes, err);
    if (file != stdin)
        fclose(file);
    if (status == SHD_OK) {
        text_add_bytes(out, text_get(&text), text.length);
        if (out->failed)
            status = shd_error_set(err, SHD_ENOMEM, "no memory for the file");
    }
    text_fini(&text);
    return status;
}

static int map_open(const uint8_t **out, uint64_t *nbytes, int fd, struct shd_error *err)
{
    struct stat info;
    void *bytes;

    if (fstat(fd, &info) < 0)
        return shd_error_set(err, SHD_ESYSTEM, "cannot be read: %s", strerror(errno));
    if (!S_ISREG(info.st_mode))
        return shd_error_set(err, SHD_ESYSTEM, "no regular file");
    *out = NULL;
    *nbytes = 0;
    if (info.st_size == 0) /* which mmap() refuses */
        return SHD_OK;
    bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return shd_error_set(err, errno == ENOMEM ? SHD_ENOMEM : SHD_ESYSTEM,
                             "cannot be mapped: %s", strerror(errno));
    *out = bytes;
    *nbytes = (uint64_t)info.st_size;
    return SHD_OK;
}

int file_map(const uint8_t **out, uint64_t *nbytes, const char *path, struct shd_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), status; /* a pipe may have no writer */

    if (fd < 0)
        return shd_error_set(err, SHD_ESYSTEM, "cannot be opened: %s", strerror(errno));
    status = map_open(out, nbytes, fd, err);
    close(fd);
    return status;
}

void file_unmap(const uint8_t *bytes, uint64_t nbytes)
{
    if (bytes)
        munmap((void *)(uintptr_t)bytes, (size_t)nbytes);
}
