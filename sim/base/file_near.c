/* Finding a similarly named file for a path that does not exist (base/file_near.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/file_near.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/installed.h"
#include "base/nearest.h"

#define NAME_BYTES_MAX 128 /* longest file name that is offered */

/* The names in a folder, sorted; 0 if it cannot be read. */
static size_t read_names(struct dirent ***names, const char *folder)
{
    int n = scandir(*folder ? folder : ".", names, NULL, alphasort);

    if (n >= 0)
        return (size_t)n;
    *names = NULL;
    return 0;
}

static void free_names(struct dirent **names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(names[i]);
    free(names);
}

/* The file extension of a name; NULL: the name is not offered. */
static const char *ending(const char *name)
{
    const char *dot = strrchr(name, '.');

    return dot && dot > name && *name != '.' && strlen(name) < NAME_BYTES_MAX ? dot : NULL;
}

/* Compares each name both with and without its extension. */
static const char *nearest_name(struct dirent *const *names, size_t n, const char *wanted)
{
    const char *best = NULL;
    size_t distance = 0;

    for (size_t i = 0; i < n; i++) {
        const char *name = names[i]->d_name, *dot = ending(name);
        char bare[NAME_BYTES_MAX];
        struct nearest near;

        if (!dot)
            continue;
        snprintf(bare, sizeof bare, "%.*s", (int)(dot - name), name);
        nearest_init(&near, wanted);
        nearest_add(&near, name);
        nearest_add(&near, bare);
        if (!near.best || (best && near.distance >= distance))
            continue;
        best = name;
        distance = near.distance;
    }
    return best;
}

static const char *put(char *buf, size_t size, const char *before, const char *folder,
                       const char *name, const char *after)
{
    int length = snprintf(buf, size, "%s'%s%s'%s", before, folder, name, after);

    if (length < 0 || (size_t)length >= size)
        buf[0] = '\0';
    return buf;
}

static const char *hint_in(const char *folder, const char *wanted, char *buf, size_t size)
{
    struct dirent **names;
    size_t n = read_names(&names, folder);
    const char *name = nearest_name(names, n, wanted);

    buf[0] = '\0';
    if (name)
        put(buf, size, "; did you mean ", folder, name, "?");
    free_names(names, n);
    return buf;
}

/* A path of the examples in the manual, given elsewhere than where these lie. */
static const char *hint_installed(const char *path, char *buf, size_t size)
{
    const char *share = installed_folder();
    char there[FILE_NEAR_MAX];
    int length = share ? snprintf(there, sizeof there, "%s/%s", share, path) : -1;

    buf[0] = '\0';
    return length > 0 && length < FILE_NEAR_MAX && access(there, R_OK) == 0
               ? put(buf, size, "; did you mean ", "", there, "?")
               : buf;
}

const char *file_near_hint(const char *path, char *buf, size_t size)
{
    const char *slash = strrchr(path, '/');
    char folder[FILE_NEAR_MAX];
    int length = slash ? (int)(slash + 1 - path) : 0;

    buf[0] = '\0';
    if (length >= FILE_NEAR_MAX)
        return buf;
    snprintf(folder, sizeof folder, "%.*s", length, path);
    hint_in(folder, path + length, buf, size);
    if (!*buf && !slash)
        hint_in("scenarios/", path, buf, size);
    return *buf ? buf : hint_installed(path, buf, size);
}

const char *file_near_inside(const char *folder, char *buf, size_t size)
{
    struct dirent **names;
    size_t n = read_names(&names, folder), length = strlen(folder);

    buf[0] = '\0';
    for (size_t i = 0; i < n && !*buf; i++) {
        const char *dot = ending(names[i]->d_name);

        if (dot && !strcmp(dot, ".yaml") && length < FILE_NEAR_MAX) {
            char inside[FILE_NEAR_MAX + 1];

            snprintf(inside, sizeof inside, "%s%s", folder,
                     length && folder[length - 1] == '/' ? "" : "/");
            put(buf, size, ", such as ", inside, names[i]->d_name, "");
        }
    }
    free_names(names, n);
    return buf;
}
