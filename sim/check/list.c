/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "check/list.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/text.h"
#include "check/script.h"
#include "check/stored.h"
#include "check/baseline_folder.h"
#include "check/folder_files.h"

static const char *const scenario_endings[] = {".yaml", ".yml", NULL};
static const char *const script_endings[] = {".bash",  ".json", ".sbatch", ".sh",
                                             ".slurm", ".toml", NULL};
static const char *const without[] = {"hardware", "models", NULL};

bool check_list_is_scenario(const char *name)
{
    return folder_ends_in(name, scenario_endings);
}

void check_item_fini(struct check_item *item)
{
    free(item->dir);
    free(item->folder);
    free(item->suite);
    *item = (struct check_item){.dir = NULL};
}

void check_list_fini(struct check_list *list)
{
    for (size_t i = 0; i < list->nitems; i++)
        check_item_fini(&list->items[i]);
    for (size_t i = 0; i < list->norphans; i++) {
        free(list->orphans[i].folder);
        free(list->orphans[i].suite);
    }
    for (size_t i = 0; i < list->nleft_out; i++)
        free(list->left_out[i]);
    free(list->items);
    free(list->orphans);
    free(list->left_out);
    *list = (struct check_list){.items = NULL};
}

/* ---- adding ---- */

/* Whether two paths, each a name below a folder, are the same text.  Without memory: false. */
static bool is_same(const char *dir, const char *name, const char *other_dir, const char *other)
{
    char *path = check_join(dir, name), *other_path = check_join(other_dir, other);
    bool same = path && other_path && !strcmp(path, other_path);

    free(path);
    free(other_path);
    return same;
}

static bool has_item(const struct check_list *list, const char *dir, const char *suite)
{
    for (size_t i = 0; i < list->nitems; i++)
        if (text_ends_with(suite, file_name(list->items[i].suite)) &&
            is_same(list->items[i].dir, list->items[i].suite, dir, suite))
            return true;
    return false;
}

static bool add_item(struct check_list *list, const char *dir, const char *folder,
                     const char *suite)
{
    struct check_item item;

    if (has_item(list, dir, suite))
        return true;
    item = (struct check_item){strdup(dir), strdup(folder), strdup(suite)};
    if (!item.dir || !item.folder || !item.suite ||
        !array_make_room(&list->items, list->nitems, sizeof *list->items)) {
        check_item_fini(&item);
        return false;
    }
    list->items[list->nitems++] = item;
    return true;
}

static bool add_orphan(struct check_list *list, const char *folder, const char *suite)
{
    struct check_orphan made = {strdup(folder), strdup(suite), NULL};
    bool known = false;

    for (size_t i = 0; i < list->norphans; i++)
        known |= is_same(list->orphans[i].folder, list->orphans[i].suite, folder, suite);
    if (!known && made.folder && made.suite &&
        array_make_room(&list->orphans, list->norphans, sizeof *list->orphans)) {
        list->orphans[list->norphans++] = made;
        return true;
    }
    free(made.folder);
    free(made.suite);
    return known;
}

/* ---- the files of a folder ---- */

/* Whether a file or a folder (`kind`: S_IFREG, S_IFDIR) of this name is below a folder. */
static bool is_below(const char *dir, const char *name, mode_t kind)
{
    char *path = check_join(dir, name);
    struct stat info;
    bool is = path && stat(path, &info) == 0 && (info.st_mode & S_IFMT) == kind;

    free(path);
    return is;
}

/* The script that a baseline is of; NULL: it is no baseline of a script by its name, or no memory.
 */
static char *script_of(const char *baseline)
{
    size_t length = strlen(baseline) - strlen(CHECK_BASELINE_ENDING);
    char *name = text_ends_with(baseline, CHECK_BASELINE_ENDING) ? strndup(baseline, length) : NULL;

    if (name && check_is_script(name))
        return name;
    free(name);
    return NULL;
}

/* Add the script of a baseline that is of no scenario; or the baseline, as one that is left over.
 * Where only scripts are taken, other baselines are of scenarios in folders of their own. */
static bool add_baseline(struct check_list *list, const char *dir, const char *folder,
                         const char *baseline, enum check_take take)
{
    char *script = script_of(baseline);
    bool ok = true;

    if (script && is_below(dir, script, S_IFREG))
        ok = add_item(list, dir, folder, script);
    else if (take == CHECK_TAKE_ALL || (script && folder_ends_in(script, script_endings)))
        ok = add_orphan(list, folder, baseline);
    free(script);
    return ok;
}

/* Whether a path is that of a baseline, in results/baselines of the folder or of one below. */
static bool is_of_baselines(const char *path)
{
    const char *at = strstr(path, BASELINES_ROOT "/");

    return at && (at == path || at[-1] == '/');
}

/* Add a script without a baseline in `folder`: with that of another folder, or without any. */
static bool add_script(struct check_list *list, const char *dir, const char *folder,
                       const char *suite)
{
    char *path = check_join(dir, suite);
    struct check_item above;
    bool ok = path != NULL;

    if (path && !is_of_baselines(suite) && !has_item(list, dir, suite) && check_launches(path)) {
        if (check_list_find_above(&above, dir, suite)) {
            ok = add_item(list, above.dir, above.folder, above.suite);
            check_item_fini(&above);
        } else {
            ok = add_item(list, dir, folder, suite);
        }
    }
    free(path);
    return ok;
}

/* Move the names of what is left out to the list. */
static bool take_left_out(struct check_list *list, struct folder *scenarios)
{
    for (size_t i = 0; i < scenarios->nleft_out; i++) {
        if (!array_make_room(&list->left_out, list->nleft_out, sizeof *list->left_out))
            return false;
        list->left_out[list->nleft_out++] = scenarios->left_out[i];
        scenarios->left_out[i] = NULL;
    }
    return true;
}

static int no_memory(struct shd_error *err)
{
    return shd_error_set(err, SHD_ENOMEM, "no memory for the check");
}

static int add_scenarios(struct check_list *list, const char *dir, const char *folder,
                         struct folder *scenarios, struct shd_error *err)
{
    int status = folder_init(scenarios, dir, scenario_endings, without, err);
    bool ok = true, is_known = false;

    /* A project's folder of scenarios may be listed for its baselines, too. */
    for (size_t i = 0; i < list->nitems; i++)
        is_known |= !strcmp(list->items[i].dir, dir);

    for (size_t i = 0; i < scenarios->npaths && ok; i++)
        if (!is_of_baselines(scenarios->paths[i]))
            ok = add_item(list, dir, folder, scenarios->paths[i]);
    if (status == SHD_OK && (!ok || (!is_known && !take_left_out(list, scenarios))))
        status = no_memory(err);
    return status;
}

static int add_baselines(struct check_list *list, const char *dir, const char *folder,
                         const struct folder *scenarios, enum check_take take,
                         struct shd_error *err)
{
    struct folder baselines;
    int status = folder_init(&baselines, folder, scenario_endings, NULL, err);

    for (size_t i = 0; i < baselines.npaths && status == SHD_OK; i++)
        if (!folder_has(scenarios, baselines.paths[i]) &&
            !add_baseline(list, dir, folder, baselines.paths[i], take))
            status = no_memory(err);
    folder_fini(&baselines);
    return status;
}

static int add_scripts(struct check_list *list, const char *dir, const char *folder,
                       struct shd_error *err)
{
    struct folder scripts;
    int status = folder_init(&scripts, dir, script_endings, without, err);

    for (size_t i = 0; i < scripts.npaths && status == SHD_OK; i++)
        if (!add_script(list, dir, folder, scripts.paths[i]))
            status = no_memory(err);
    folder_fini(&scripts);
    return status;
}

int check_list_add(struct check_list *list, const char *dir, const char *folder,
                   enum check_take take, struct shd_error *err)
{
    struct folder scenarios = {.paths = NULL};
    int status = SHD_OK;

    if (take == CHECK_TAKE_ALL)
        status = add_scenarios(list, dir, folder, &scenarios, err);
    if (status == SHD_OK && access(folder, F_OK) == 0)
        status = add_baselines(list, dir, folder, &scenarios, take, err);
    if (status == SHD_OK && take != CHECK_TAKE_KEPT)
        status = add_scripts(list, dir, folder, err);
    folder_fini(&scenarios);
    return status;
}

/* ---- a project ---- */

static int add_folder(struct check_list *list, const char *dir, const char *folder,
                      const char *name, struct shd_error *err)
{
    char *below = check_join(dir, name), *baselines = check_join(folder, name);
    int status = below && baselines ? check_list_add(list, below, baselines, CHECK_TAKE_ALL, err)
                                    : no_memory(err);

    free(below);
    free(baselines);
    return status;
}

/* Whether a folder of baselines has one that is of a scenario, by its name. */
static int has_scenarios(bool *out, const char *folder, const char *name, struct shd_error *err)
{
    char *path = check_join(folder, name);
    struct folder baselines = {.paths = NULL};
    int status = path ? folder_init(&baselines, path, scenario_endings, NULL, err) : no_memory(err);

    *out = false;
    for (size_t i = 0; i < baselines.npaths && !*out; i++) {
        char *script = script_of(baselines.paths[i]);

        *out = !script || !folder_ends_in(script, script_endings);
        free(script);
    }
    folder_fini(&baselines);
    free(path);
    return status;
}

/* Add the folders that have baselines of scenarios. */
static int add_folders(struct check_list *list, const char *dir, const char *folder,
                       struct shd_error *err)
{
    struct dirent **entries;
    int n = scandir(folder, &entries, NULL, alphasort), status = SHD_OK;

    if (n < 0)
        return errno == ENOENT ? SHD_OK
                               : shd_error_set(err, errno == ENOMEM ? SHD_ENOMEM : SHD_ESYSTEM,
                                               "%.150s: %s", folder, strerror(errno));
    for (int i = 0; i < n; i++) {
        const char *name = entries[i]->d_name;
        bool take =
            name[0] != '.' && is_below(folder, name, S_IFDIR) && is_below(dir, name, S_IFDIR);

        if (status == SHD_OK && take)
            status = has_scenarios(&take, folder, name, err);
        if (status == SHD_OK && take)
            status = add_folder(list, dir, folder, name, err);
        free(entries[i]);
    }
    free(entries);
    return status;
}

int check_list_add_project(struct check_list *list, const char *dir, const char *folder,
                           struct shd_error *err)
{
    int status = add_folders(list, dir, folder, err);

    if (status == SHD_OK && is_below(dir, "scenarios", S_IFDIR))
        status = add_folder(list, dir, folder, "scenarios", err);
    if (status == SHD_OK)
        status = check_list_add(list, dir, folder, CHECK_TAKE_SCRIPTS, err);
    return status;
}

/* ---- a script's baseline ---- */

bool check_list_has_baseline(const char *folder, const char *suite)
{
    char *path = check_join_baseline(folder, suite);
    bool found = path && access(path, F_OK) == 0;

    free(path);
    return found;
}

/* The path of a folder relative to the working folder or, if outside of the latter, unchanged. */
static char *from_here(const char *path)
{
    char *here = realpath(".", NULL);
    size_t length = here ? strlen(here) : 0;
    char *out;

    if (!here || strncmp(path, here, length) != 0 || (path[length] && path[length] != '/'))
        out = strdup(path[0] ? path : "/");
    else
        out = strdup(path[length] ? path + length + 1 : ".");
    free(here);
    return out;
}

bool check_list_find_above(struct check_item *out, const char *dir, const char *suite)
{
    char *real = realpath(dir, NULL), *path = real ? check_join(real, suite) : NULL;
    bool found = false;

    *out = (struct check_item){.dir = NULL};
    for (char *slash, *cut = NULL; !found && path && (slash = strrchr(path, '/')); cut = slash) {
        *slash = '\0';
        if (cut)
            *cut = '/';
        *out = (struct check_item){from_here(path), NULL, strdup(slash + 1)};
        out->folder = out->dir ? check_join(out->dir, BASELINES_ROOT) : NULL;
        found = out->suite && out->folder && check_list_has_baseline(out->folder, out->suite);
        if (!found)
            check_item_fini(out);
    }
    free(path);
    free(real);
    return found;
}
