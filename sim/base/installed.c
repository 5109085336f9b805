/* Looking for the program's own file by its name, and for share/shardsim from there (base/installed.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/installed.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char share[PATH_MAX];

/* Whether the path is of the program: `found` is then its own, without symbolic links. */
static bool is_program(const char *path, char found[PATH_MAX])
{
    struct stat file;

    return access(path, X_OK) == 0 && stat(path, &file) == 0 && S_ISREG(file.st_mode) &&
           realpath(path, found);
}

static bool find_on_path(const char *name, char found[PATH_MAX])
{
    const char *folders = getenv("PATH");

    while (folders && *folders) {
        size_t length = strcspn(folders, ":");
        char path[PATH_MAX];
        int n = snprintf(path, sizeof path, "%.*s/%s", (int)length, folders, name);

        if (n > 0 && (size_t)n < sizeof path && is_program(path, found))
            return true;
        folders += length + (folders[length] == ':');
    }
    return false;
}

void installed_find(const char *program)
{
    char found[PATH_MAX], *slash;
    struct stat folder;
    int length;

    if (!(strchr(program, '/') ? is_program(program, found) : find_on_path(program, found)))
        return;
    for (int up = 0; up < 2; up++) {
        slash = strrchr(found, '/');
        if (!slash)
            return;
        *slash = '\0';
    }
    length = snprintf(share, sizeof share, "%s/share/%s", found, PACKAGE);
    if (length < 0 || (size_t)length >= sizeof share || stat(share, &folder) != 0)
        share[0] = '\0';
}

const char *installed_folder(void)
{
    return *share ? share : NULL;
}
