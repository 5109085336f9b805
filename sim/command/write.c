/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "command/write.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system.h"
#include "run/ranks/ranks.h"

#define TRIES 100 /* before giving up on a file that other processes write at once */

static int fail(struct shd_error *err, const char *path)
{
    if (errno == ENOENT)
        return shd_error_set(err, SHD_ESYSTEM,
                             "%.150s cannot be written: its folder does not exist; make it first",
                             path);
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

/* Mode of an existing file; for a new file the default mode. */
static mode_t mode_for(const char *path)
{
    struct stat info;
    mode_t mask = umask(0);

    umask(mask);
    return stat(path, &info) == 0 ? info.st_mode & 07777 : 0666 & ~mask;
}

/* Write the text to the file and sync it to disk. */
static int fill(int fd, const char *path, const struct text *text, struct shd_error *err)
{
    int status = SHD_OK;

    if (write_all(fd, text) < 0 || fchmod(fd, mode_for(path)) < 0 || fsync(fd) < 0)
        status = fail(err, path);
    return status;
}

/* Link a nameless file to its path.  If the path exists, the file is linked to a hidden
 * name first, because only rename() replaces a file.  The hidden name is always the same, so that
 * the next write reuses what a kill in between leaves behind. */
static int name_file(int fd, const char *path, const char *beside)
{
    sigset_t all, before;
    int failed;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    failed = system_link(fd, path);
    for (int i = 0; failed && errno == EEXIST && i < TRIES; i++) {
        failed = system_link(fd, beside);
        if (!failed)
            failed = rename(beside, path);
        else if (errno == EEXIST && unlink(beside) == 0)
            errno = EEXIST;
        if (failed && errno == ENOENT) /* another process renamed the hidden file */
            errno = EEXIST;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

/* Write through a nameless file, which vanishes with the process. */
static int replace_nameless(int fd, const char *path, const char *beside, const struct text *text,
                            struct shd_error *err)
{
    int status = fill(fd, path, text, err);

    if (status == SHD_OK && name_file(fd, path, beside) != 0) {
        status = fail(err, path);
        unlink(beside);
    }
    close(fd);
    return status;
}

/* Write through a hidden temporary file, for file systems without nameless files. */
static int replace_named(const char *path, char *beside, const struct text *text,
                         struct shd_error *err)
{
    int fd = mkstemp(beside), status;

    if (fd < 0)
        return fail(err, path);
    status = fill(fd, path, text, err);
    if (close(fd) < 0 && status == SHD_OK)
        status = fail(err, path);
    if (status == SHD_OK && rename(beside, path) < 0)
        status = fail(err, path);
    if (status != SHD_OK)
        unlink(beside);
    return status;
}

static int replace(const char *path, const struct text *text, struct shd_error *err)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    struct text folder = TEXT_INIT, hidden = TEXT_INIT;
    int status, fd;

    text_addf(&folder, "%.*s.", (int)(name - path), path);
    text_addf(&hidden, "%.*s.%s.XXXXXX", (int)(name - path), path, name);
    if (folder.failed || hidden.failed) {
        status = shd_error_set(err, SHD_ENOMEM, "no memory for the name of a file");
    } else {
        fd = system_open_nameless(text_get(&folder));
        status = fd >= 0 ? replace_nameless(fd, path, text_get(&hidden), text, err)
                         : replace_named(path, hidden.data, text, err);
    }
    text_fini(&folder);
    text_fini(&hidden);
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

/* All ranks have the same text; the first rank writes it. */
int store_write(const char *path, const struct text *text, struct shd_error *err)
{
    struct stat info;

    if (text->failed)
        return shd_error_set(err, SHD_ENOMEM, "no memory for %.150s", path);
    if (ranks_me() > 0)
        return SHD_OK;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))
        return write_through(path, text, err);
    return replace(path, text, err);
}

int store_check(const char *path, struct shd_error *err)
{
    const char *slash = strrchr(path, '/');
    struct text folder = TEXT_INIT;
    struct stat info;
    int status = SHD_OK;

    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return shd_error_set(err, SHD_ESYSTEM,
                             "%.150s cannot be written: it is a folder; expected a file", path);
    text_addf(&folder, "%.*s.", slash ? (int)(slash + 1 - path) : 0, path);
    if (folder.failed)
        status = shd_error_set(err, SHD_ENOMEM, "no memory for the name of a folder");
    else if (stat(path, &info) != 0 && access(text_get(&folder), W_OK | X_OK) != 0)
        status = fail(err, path);
    text_fini(&folder);
    return status;
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
