/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/file.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

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

static int read_stream(struct text *out, FILE *file, size_t max_bytes, struct shd_error *err)
{
    char chunk[1 << 14];
    size_t total = 0;
    struct stat info;

    if (fstat(fileno(file), &info) == 0) {
        if (S_ISDIR(info.st_mode))
            return shd_error_set(err, SHD_ESYSTEM, "this is a directory; expected a file");
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
    FILE *file = stdin;

    if (strcmp(path, "-") != 0)
        file = fopen(path, "rb");
    if (!file && errno == ENOMEM)
        return shd_error_set(err, SHD_ENOMEM, "no memory to open the file");
    if (!file)
        return shd_error_set(err, SHD_ESYSTEM, "cannot be opened: %s", strerror(errno));
    int status = read_stream(&text, file, max_bytes, err);
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
