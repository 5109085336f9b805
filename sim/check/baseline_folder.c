/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "check/baseline_folder.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"

static int no_memory(struct shd_error *err)
{
    return shd_error_set(err, SHD_ENOMEM, "no memory for the name of a folder");
}

static bool is_dots(const char *name)
{
    return !name[0] || !strcmp(name, ".") || !strcmp(name, "..");
}

/* Split a path into its folder ("" for the working folder) and its name there.  Links are not
 * followed; a path without a name, like "x/..", is resolved first. */
static int split(char **path, char **name, const char *given, struct shd_error *err)
{
    char *copy = strdup(given), *slash;
    size_t length = copy ? strlen(copy) : 0;

    while (length > 1 && copy[length - 1] == '/')
        copy[--length] = '\0';
    slash = copy ? strrchr(copy, '/') : NULL;
    if (copy && is_dots(slash ? slash + 1 : copy)) {
        free(copy);
        copy = realpath(given, NULL);
        if (!copy)
            return shd_error_set(err, SHD_ESYSTEM, "%.150s: %s", given, strerror(errno));
        slash = strrchr(copy, '/');
    }
    *name = copy ? strdup(slash ? slash + 1 : copy) : NULL;
    if (slash)
        slash[slash == copy] = '\0'; /* "/" is a folder too */
    else if (copy)
        *copy = '\0';
    *path = copy;
    return *path && *name ? SHD_OK : no_memory(err);
}

/* Append one component to a path without links, "." and "..". */
static void step_into(struct text *path, const char *name, size_t length)
{
    if (length == 0 || (length == 1 && name[0] == '.'))
        return;
    if (length == 2 && !strncmp(name, "..", 2)) {
        while (path->length > 0 && path->data[--path->length] != '/')
            ;
        text_add(path, "");
        return;
    }
    text_addf(path, "/%.*s", (int)length, name);
}

/* Real path of the longest existing prefix of `path`; *length: the prefix's length.  NULL: not even
 * the working folder exists. */
static char *find_real(const char *path, size_t *length)
{
    for (size_t n = strlen(path);;) {
        char *part = strndup(path, n);
        char *real = part ? realpath(n ? part : ".", NULL) : NULL;

        free(part);
        *length = n;
        if (real || n == 0)
            return real;
        while (n > 0 && path[n - 1] == '/')
            n--;
        while (n > 0 && path[n - 1] != '/')
            n--;
    }
}

/* Absolute path without links.  Components that do not exist yet are kept as given. */
static int resolve(struct text *out, const char *path, struct shd_error *err)
{
    size_t length;
    char *real = find_real(path, &length);

    if (!real)
        return shd_error_set(err, SHD_ESYSTEM, "%.120s: %s", path, strerror(errno));
    text_add(out, strcmp(real, "/") != 0 ? real : "");
    free(real);
    for (const char *rest = path + length; *rest;) {
        size_t n = strcspn(rest, "/");

        step_into(out, rest, n);
        rest += n + (rest[n] == '/');
    }
    return out->failed ? no_memory(err) : SHD_OK;
}

/* Whether the folder is `other`, an existing folder, or lies inside `other`.  Compares device and
 * inode, not names: there are links, mounts, and file systems that ignore case. */
static int is_within(bool *out, const char *path, const struct stat *other, struct shd_error *err)
{
    struct text way = TEXT_INIT;
    int status = resolve(&way, path, err);

    *out = false;
    while (status == SHD_OK && !*out) {
        struct stat info;
        char *slash;

        *out = stat(way.length ? way.data : "/", &info) == 0 && info.st_dev == other->st_dev &&
               info.st_ino == other->st_ino;
        slash = way.length ? strrchr(way.data, '/') : NULL;
        if (!slash)
            break;
        *slash = '\0';
        way.length = (size_t)(slash - way.data);
    }
    text_fini(&way);
    return status;
}

static int refuse_overlap(const char *scenarios, const char *baselines, struct shd_error *err)
{
    struct stat info;
    bool within = false;
    int status = SHD_OK;

    if (stat(scenarios, &info) == 0)
        status = is_within(&within, baselines, &info, err);
    if (status == SHD_OK && !within && stat(baselines, &info) == 0)
        status = is_within(&within, scenarios, &info, err);
    if (status == SHD_OK && within)
        return shd_error_set(err, SHD_EINVAL,
                             "scenarios in '%.50s' and baselines in '%.50s' are nested folders; "
                             "expected separate folders",
                             scenarios, baselines);
    return status;
}

int baseline_folder_find(char **out, const char *scenarios, const char *root, struct shd_error *err)
{
    struct text text = TEXT_INIT;
    char *path = NULL, *name = NULL, *made = NULL;
    int status = split(&path, &name, scenarios, err);

    if (status == SHD_OK) {
        size_t length = root ? strlen(root) : 0;

        while (length > 1 && root[length - 1] == '/')
            length--;
        if (root)
            text_addf(&text, "%.*s/%s", (int)length, root, name);
        else
            text_addf(&text, "%s%s%s/%s", path, *path && strcmp(path, "/") != 0 ? "/" : "",
                      BASELINES_ROOT, name);
        made = text_take(&text);
        status = made ? refuse_overlap(scenarios, made, err) : no_memory(err);
    }
    free(path);
    free(name);
    if (status == SHD_OK)
        *out = made;
    else
        free(made);
    return status;
}
