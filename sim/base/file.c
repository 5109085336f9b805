/* Reading files, whole or byte ranges of them (base/file.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_near.h"
#include "base/units.h"

static int too_large(struct shd_error *err, uint64_t size, const char *more, size_t max_bytes)
{
    return shd_error_set(err, SHD_ERANGE, "the file has %s%s; at most %s are read", more,
                         units_print_bytes(size).text, units_print_bytes(max_bytes).text);
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

const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
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
    if (status == SHD_OK && !out->data && !out->failed) {
        *out = text;
        text_init(&text);
    } else if (status == SHD_OK) {
        text_add_bytes(out, text_get(&text), text.length);
        if (out->failed)
            status = shd_error_set(err, SHD_ENOMEM, "no memory for the file");
    }
    text_fini(&text);
    return status;
}

/* ---- byte ranges ---- */

struct file_bytes {
    char *path;
    uint64_t count;
    atomic_uint_least64_t missed; /* lowest byte that could not be read; UINT64_MAX: none */
    atomic_int code;              /* errno of that read; 0: the file ended */
};

/* Non-blocking, as open() would wait for the writer of a pipe. */
static int open_file(const char *path)
{
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

/* The size of a regular, readable file. */
static int look_at(uint64_t *count, const char *path, struct shd_error *err)
{
    int fd = open_file(path), status = SHD_OK;
    struct stat info;

    if (fd < 0)
        return shd_error_set(err, SHD_ESYSTEM, "cannot be opened: %s", strerror(errno));
    if (fstat(fd, &info) < 0)
        status = shd_error_set(err, SHD_ESYSTEM, "cannot be read: %s", strerror(errno));
    else if (!S_ISREG(info.st_mode))
        status = shd_error_set(err, SHD_ESYSTEM, "not a regular file");
    else
        *count = (uint64_t)info.st_size;
    close(fd);
    return status;
}

int file_bytes_create(struct file_bytes **out, const char *path, struct shd_error *err)
{
    struct file_bytes *file = calloc(1, sizeof *file);
    int status;

    if (!file || !(file->path = strdup(path))) {
        free(file);
        return shd_error_set(err, SHD_ENOMEM, "no memory for the name of a file");
    }
    atomic_init(&file->missed, UINT64_MAX);
    status = look_at(&file->count, path, err);
    if (status == SHD_OK)
        *out = file;
    else
        file_bytes_destroy(file);
    return status;
}

void file_bytes_destroy(struct file_bytes *file)
{
    if (!file)
        return;
    free(file->path);
    free(file);
}

uint64_t file_bytes_count(const struct file_bytes *file)
{
    return file->count;
}

/* Keep the lowest byte that could not be read, and the reason. */
static void note_missed(struct file_bytes *file, uint64_t at, int code)
{
    uint64_t before = atomic_load(&file->missed);

    while (at < before && !atomic_compare_exchange_weak(&file->missed, &before, at))
        ;
    if (at < before)
        atomic_store(&file->code, code);
}

size_t file_bytes_read(struct file_bytes *file, uint64_t at, uint8_t *out, size_t n)
{
    size_t wanted = n < file->count - at ? n : (size_t)(file->count - at), have = 0;
    int fd = open_file(file->path), code = fd < 0 ? errno : 0;
    ssize_t got = fd < 0 ? 0 : 1;

    while (have < wanted && got > 0) {
        got = pread(fd, out + have, wanted - have, (off_t)(at + have));
        if (got < 0 && errno == EINTR)
            got = 1;
        else if (got < 0)
            code = errno;
        else
            have += (size_t)got;
    }
    if (fd >= 0)
        close(fd);
    if (have < wanted)
        note_missed(file, at + have, code);
    memset(out + have, 0, wanted - have);
    return wanted;
}

int file_bytes_check(const struct file_bytes *file, struct shd_error *err)
{
    uint64_t missed = atomic_load(&file->missed);
    int code = atomic_load(&file->code);

    if (missed == UINT64_MAX)
        return SHD_OK;
    if (code)
        return shd_error_set(err, SHD_ESYSTEM, "'%.80s' cannot be read at byte %" PRIu64 ": %s",
                             file->path, missed, strerror(code));
    return shd_error_set(err, SHD_ESYSTEM,
                         "'%.80s' was truncated during the read: no byte %" PRIu64 " of %" PRIu64,
                         file->path, missed, file->count);
}
