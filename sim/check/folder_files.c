/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "check/folder_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/text.h"

#define DEPTH_MAX 64 /* nested folders, which are calls of walk() */

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

/* As folder_ends_in(), ignoring case. */
static bool seems_to_end_in(const char *name, const char *const *endings)
{
    for (; *endings; endings++) {
        size_t length = strlen(name), n = strlen(*endings);

        if (length > n && !strcasecmp(name + length - n, *endings))
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

static bool is_dots(const char *name)
{
    return !strcmp(name, ".") || !strcmp(name, "..");
}

static int add(struct walk *w, char ***list, size_t *count, const char *path)
{
    char *copy = strdup(path);

    if (!copy || !array_make_room(list, *count, sizeof **list)) {
        free(copy);
        return shd_error_set(w->err, SHD_ENOMEM, "no memory for the names of files");
    }
    (*list)[(*count)++] = copy;
    return SHD_OK;
}

static int take(struct walk *w, const char *path)
{
    return add(w, &w->out->paths, &w->out->npaths, path);
}

static int leave_out(struct walk *w, const char *path)
{
    return add(w, &w->out->left_out, &w->out->nleft_out, path);
}

/* Visit the files in a folder, recursively. */
static int walk(struct walk *w, const char *below, unsigned depth, bool within);

static int visit_file(struct walk *w, const char *path, const char *name, bool within)
{
    if (!seems_to_end_in(name, w->endings))
        return SHD_OK;
    if (within && name[0] != '.' && folder_ends_in(name, w->endings))
        return take(w, path);
    return leave_out(w, path);
}

/* A link to nothing, a pipe, a socket or a device, which is never opened: reading a pipe would
 * wait. */
static int visit_other(struct walk *w, const char *path, const char *name)
{
    return seems_to_end_in(name, w->endings) ? leave_out(w, path) : SHD_OK;
}

static int visit_folder(struct walk *w, const char *path, const char *name, unsigned depth,
                        bool within)
{
    if (name[0] == '.')
        return SHD_OK;
    if (depth == DEPTH_MAX)
        return leave_out(w, path);
    return walk(w, path, depth + 1, within && !is_in(w->without, name));
}

/* Visit a file or folder.  `path` is relative to the root; `within`: wanted, not below an excluded
 * folder. */
static int visit(struct walk *w, const char *path, const char *name, unsigned depth, bool within)
{
    struct text full = TEXT_INIT;
    struct stat own, info;
    bool is_there, is_listed, is_link;

    text_addf(&full, "%s/%s", w->root, path);
    if (full.failed)
        return shd_error_set(w->err, SHD_ENOMEM, "no memory for the names of files");
    is_listed = lstat(text_get(&full), &own) == 0;
    is_link = is_listed && S_ISLNK(own.st_mode);
    is_there = stat(text_get(&full), &info) == 0;
    text_fini(&full);
    if (!is_listed)
        return SHD_OK; /* removed meanwhile */
    if (!is_there || (!S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode)))
        return visit_other(w, path, name);
    if (S_ISDIR(info.st_mode) && is_link)
        return name[0] == '.' ? SHD_OK : leave_out(w, path);
    if (S_ISDIR(info.st_mode))
        return visit_folder(w, path, name, depth, within);
    return visit_file(w, path, name, within);
}

static int walk(struct walk *w, const char *below, unsigned depth, bool within)
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
        if (is_dots(entry->d_name))
            continue;
        text_clear(&path);
        text_addf(&path, "%s%s%s", below, below[0] ? "/" : "", entry->d_name);
        status = path.failed ? shd_error_set(w->err, SHD_ENOMEM, "no memory for the names of files")
                             : visit(w, text_get(&path), entry->d_name, depth, within);
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

static void sort(char **paths, size_t count)
{
    if (count)
        qsort(paths, count, sizeof *paths, compare_paths);
}

int folder_init(struct folder *out, const char *path, const char *const *endings,
                const char *const *without, struct shd_error *err)
{
    struct walk w = {out, path, endings, without, err};
    int status;

    *out = (struct folder){.paths = NULL};
    status = walk(&w, "", 0, true);
    sort(out->paths, out->npaths);
    sort(out->left_out, out->nleft_out);
    return status;
}

void folder_fini(struct folder *folder)
{
    for (size_t i = 0; i < folder->npaths; i++)
        free(folder->paths[i]);
    for (size_t i = 0; i < folder->nleft_out; i++)
        free(folder->left_out[i]);
    free(folder->paths);
    free(folder->left_out);
    *folder = (struct folder){.paths = NULL};
}

int folder_has(const struct folder *folder, const char *path)
{
    for (size_t i = 0; i < folder->npaths; i++)
        if (!strcmp(folder->paths[i], path))
            return 1;
    return 0;
}
