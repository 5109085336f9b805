/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "store/folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"

#define DEPTH_MAX 16 /* a link to a folder above it would never end */

struct walk {
    struct folder *out;
    const char *root;
    const char *const *endings, *const *without;
    struct shd_error *err;
};

bool folder_ends_in(const char *name, const char *const *endings)
{
    for (; *endings; endings++) {
        size_t length = strlen(name), n = strlen(*endings);

        if (length > n && !strcmp(name + length - n, *endings))
            return true;
    }
    return false;
}

static bool is_in(const char *const *words, const char *word)
{
    for (; words && *words; words++)
        if (!strcmp(*words, word))
            return true;
    return false;
}

static int add(struct walk *w, const char *path)
{
    char **paths = realloc(w->out->paths, (w->out->npaths + 1) * sizeof *paths);
    char *copy = strdup(path);

    if (paths)
        w->out->paths = paths;
    if (!paths || !copy) {
        free(copy);
        return shd_error_set(w->err, SHD_ENOMEM, "no memory for the names of files");
    }
    paths[w->out->npaths++] = copy;
    return SHD_OK;
}

/* Calls itself for the folders in a folder. */
static int walk(struct walk *w, const char *below, unsigned depth);

/* `path` is relative to the root folder. */
static int visit(struct walk *w, const char *path, const char *name, unsigned depth)
{
    struct text full = TEXT_INIT;
    struct stat info;
    int status = SHD_OK, found;

    text_addf(&full, "%s/%s", w->root, path);
    if (full.failed)
        return shd_error_set(w->err, SHD_ENOMEM, "no memory for the names of files");
    found = stat(text_get(&full), &info);
    text_fini(&full);
    if (found < 0)
        return SHD_OK; /* gone meanwhile, or a link to nothing */
    if (S_ISDIR(info.st_mode) && depth < DEPTH_MAX && !is_in(w->without, name))
        status = walk(w, path, depth + 1);
    else if (S_ISREG(info.st_mode) && folder_ends_in(name, w->endings))
        status = add(w, path);
    return status;
}

static int walk(struct walk *w, const char *below, unsigned depth)
{
    struct text path = TEXT_INIT;
    struct dirent *entry;
    DIR *dir;
    int status = SHD_OK;

    text_addf(&path, "%s/%s", w->root, below);
    dir = path.failed ? NULL : opendir(text_get(&path));
    if (path.failed || (!dir && errno == ENOMEM))
        status = shd_error_set(w->err, SHD_ENOMEM, "no memory for the names of files");
    else if (!dir)
        status = shd_error_set(w->err, SHD_ESYSTEM, "%.150s: %s",
                               below[0] ? text_get(&path) : w->root, strerror(errno));
    while (dir && status == SHD_OK && (entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        text_clear(&path);
        text_addf(&path, "%s%s%s", below, below[0] ? "/" : "", entry->d_name);
        status = path.failed ? shd_error_set(w->err, SHD_ENOMEM, "no memory for the names of files")
                             : visit(w, text_get(&path), entry->d_name, depth);
    }
    if (dir)
        closedir(dir);
    text_fini(&path);
    return status;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int folder_init(struct folder *out, const char *path, const char *const *endings,
                const char *const *without, struct shd_error *err)
{
    struct walk w = {out, path, endings, without, err};
    int status;

    *out = (struct folder){NULL, 0};
    status = walk(&w, "", 0);
    if (out->npaths)
        qsort(out->paths, out->npaths, sizeof *out->paths, compare_paths);
    return status;
}

void folder_fini(struct folder *folder)
{
    for (size_t i = 0; i < folder->npaths; i++)
        free(folder->paths[i]);
    free(folder->paths);
    *folder = (struct folder){NULL, 0};
}

int folder_has(const struct folder *folder, const char *path)
{
    for (size_t i = 0; i < folder->npaths; i++)
        if (!strcmp(folder->paths[i], path))
            return 1;
    return 0;
}
