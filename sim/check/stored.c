/* Stored baselines: where they are, and read (check_stored.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "check/stored.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "check/script.h"

#define BASELINE_BYTES_MAX ((size_t)16 << 20) /* largest file read; as YAML_DOC_BYTES_MAX */

int check_stored_read(struct check_stored *out, const char *path, struct diag *faults)
{
    struct place place = {path, 1, 1};
    struct shd_error err;
    struct stat info;

    if (lstat(path, &info) != 0 && errno == ENOENT)
        return SHD_OK;
    out->is_foreign = true;
    if (file_read(&out->text, path, BASELINE_BYTES_MAX, &err) != SHD_OK) {
        diag_failure(faults, place, err.status, "%s", err.text);
        return err.status;
    }
    out->is_foreign = !baseline_is_own(&out->text);
    if (out->is_foreign) {
        diag_error(faults, place, CHECK_FOREIGN);
        return SHD_EINVAL;
    }
    return baseline_parse(&out->was, path, &out->text, faults);
}

void check_stored_fini(struct check_stored *stored)
{
    baseline_file_fini(&stored->was);
    text_fini(&stored->text);
}

bool check_is_baseline(const char *path)
{
    struct text text = TEXT_INIT;
    struct shd_error err;
    bool own = file_read(&text, path, BASELINE_BYTES_MAX, &err) == SHD_OK && baseline_is_own(&text);

    text_fini(&text);
    return own;
}

char *check_join_baseline(const char *folder, const char *suite)
{
    struct text name = TEXT_INIT;
    char *path = NULL;

    text_addf(&name, "%s%s", suite, check_is_script(suite) ? CHECK_BASELINE_ENDING : "");
    if (!name.failed)
        path = check_join(folder, text_get(&name));
    text_fini(&name);
    return path;
}

char *check_join(const char *dir, const char *name)
{
    struct text text = TEXT_INIT;
    size_t length = strlen(dir);

    if (!strcmp(dir, "."))
        return strdup(name);
    while (length > 1 && dir[length - 1] == '/')
        length--;
    text_addf(&text, "%.*s/%s", (int)length, dir, name);
    return text_take(&text);
}
