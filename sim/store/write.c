/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "store/write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(struct shd_error *err, const char *path)
{
    return shd_error_set(err, SHD_ESYSTEM, "%.150s cannot be written: %s", path, strerror(errno));
}

static int write_all(int fd, const struct text *text)
{
    const char *from = text_get(text);
    size_t left = text->length;

    while (left > 0) {
        ssize_t n = write(fd, from, left);

        if (n < 0 && errno != EINTR)
            return -1;
        from += n > 0 ? n : 0;
        left -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

/* A file that is there keeps its mode; a new one has the usual one. */
static mode_t mode_for(const char *path)
{
    struct stat info;
    mode_t mask = umask(0);

    umask(mask);
    return stat(path, &info) == 0 ? info.st_mode & 07777 : 0666 & ~mask;
}

static int replace(const char *path, const struct text *text, struct shd_error *err)
{
    struct text name = TEXT_INIT;
    int status = SHD_OK, fd;
    char *beside;

    text_addf(&name, "%s.XXXXXX", path);
    beside = text_take(&name);
    if (!beside)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the name of a file");
    fd = mkstemp(beside);
    if (fd < 0) {
        status = fail(err, path);
        free(beside);
        return status;
    }
    if (write_all(fd, text) < 0 || fchmod(fd, mode_for(path)) < 0 || fsync(fd) < 0)
        status = fail(err, path);
    if (close(fd) < 0 && status == SHD_OK)
        status = fail(err, path);
    if (status == SHD_OK && rename(beside, path) < 0)
        status = fail(err, path);
    if (status != SHD_OK)
        unlink(beside);
    free(beside);
    return status;
}

static int write_through(const char *path, const struct text *text, struct shd_error *err)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    int status = fd < 0 || write_all(fd, text) < 0 ? fail(err, path) : SHD_OK;

    if (fd >= 0 && close(fd) < 0 && status == SHD_OK)
        status = fail(err, path);
    return status;
}

int store_write(const char *path, const struct text *text, struct shd_error *err)
{
    struct stat info;

    if (text->failed)
        return shd_error_set(err, SHD_ENOMEM, "no memory for %.150s", path);
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))
        return write_through(path, text, err);
    return replace(path, text, err);
}

int store_make_folder(const char *path, struct shd_error *err)
{
    char *copy = strdup(path);
    int status = SHD_OK;

    if (!copy)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the name of a file");
    for (char *slash = copy + 1; status == SHD_OK && (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        if (mkdir(copy, 0777) < 0 && errno != EEXIST)
            status = fail(err, copy);
        *slash = '/';
    }
    free(copy);
    return status;
}
