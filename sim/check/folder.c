/* Checking a folder of scenarios against their baselines (check_folder.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "check/folder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/escape.h"
#include "check/file.h"
#include "check/script.h"
#include "check/stored.h"
#include "command/command.h"
#include "run/ranks/farm.h"
#include "run/ranks/ranks.h"
#include "check/baseline_folder.h"
#include "check/folder_files.h"
#include "command/write.h"

#define LEFT_OUT_MAX 20 /* files named in a message */

/* ---- all files ---- */

static int list_pruned(const char *path)
{
    struct text text = TEXT_INIT;
    int exit;

    text_add(&text, "# to be removed: ");
    escape_add(&text, path);
    text_add(&text, "\n");
    exit = cmd_put(&text);
    text_fini(&text);
    return exit;
}

static int tell_orphan(struct check *c, const char *suite, const char *path, const char *renamed)
{
    struct text text = TEXT_INIT;
    int exit;

    text_add(&text, "a baseline without a scenario");
    if (renamed)
        text_addf(&text, ", equal to %s now: renamed? 'shardsim check --update --prune' moves it",
                  renamed);
    else
        text_add(&text, "; 'shardsim check --update --prune' removes it");
    exit = text.failed
               ? check_no_memory()
               : check_tell_words(&c->tell, OUTCOME_MISSING, path, suite, "", text_get(&text));
    text_fini(&text);
    return exit;
}

static int check_orphan(struct check *c, const char *suite, const char *path, const char *renamed)
{
    if (!check_is_baseline(path))
        return check_tell_words(&c->tell, OUTCOME_BAD_BASELINE, path, suite, "", CHECK_FOREIGN);
    if (!c->prune)
        return tell_orphan(c, suite, path, renamed);
    if (unlink(path) == 0)
        return check_tell_words(&c->tell, OUTCOME_PASSED, path, suite, "",
                                "a baseline without a scenario, removed");
    return check_tell_stop(&c->tell, "%s cannot be removed: %s", path, strerror(errno));
}

/* Tell of, or remove, the baselines of scenarios that are gone.  All are listed before any is
 * removed. */
static int check_orphans(struct check *c)
{
    int exit = CMD_OK;

    for (int listed = !c->prune; listed < 2; listed++)
        for (size_t i = 0; i < c->list.norphans && exit == CMD_OK; i++) {
            const struct check_orphan *orphan = &c->list.orphans[i];
            char *path = check_join(orphan->folder, orphan->suite);

            if (!path)
                exit = check_no_memory();
            else if (listed)
                exit = check_orphan(c, orphan->suite, path, orphan->renamed);
            else if (check_is_baseline(path))
                exit = list_pruned(path);
            free(path);
        }
    return exit;
}

/* ---- answers of the farm ---- */

static int take_baseline(struct check *c, struct unpack *from)
{
    const char *path = unpack_string(from), *was_printed = unpack_string(from);
    struct text text = TEXT_INIT;
    struct shd_error err = {SHD_OK, ""};
    int status = store_make_folder(path, &err);

    text_add(&text, was_printed);
    if (status == SHD_OK)
        status = store_write(path, &text, &err);
    text_fini(&text);
    if (status != SHD_OK)
        return check_tell_stop(&c->tell, "%s", err.text);
    c->nwritten++;
    return CMD_OK;
}

/* Note a file that an orphaned baseline fits; of several such files, the first. */
static void take_renamed(struct check *c, const char *was_called, const struct check_item *item)
{
    for (size_t i = 0; i < c->list.norphans; i++) {
        struct check_orphan *orphan = &c->list.orphans[i];

        if (!strcmp(orphan->suite, was_called) && !strcmp(orphan->folder, item->folder) &&
            !orphan->renamed)
            orphan->renamed = item->suite;
    }
}

static void ask_for_file(void *arg, size_t task, struct text *out)
{
    const struct check *c = arg;

    check_file_ask(out, &c->round[task], &c->list);
}

/* Take a file's answer, even an incomplete one of a file whose check failed. */
static int take_file_check(void *arg, size_t task, int status, const struct text *answer)
{
    struct check *c = arg;
    struct unpack from;
    int exit = CMD_OK;

    unpack_init(&from, text_get(answer), answer->length);
    while (from.at < from.end && !from.bad && exit == CMD_OK) {
        uint64_t note = unpack_uint(&from);

        if (note == CHECK_OUTCOME)
            exit = check_tell_packed(&c->tell, &from);
        else if (note == CHECK_BASELINE)
            exit = take_baseline(c, &from);
        else if (note == CHECK_RENAMED)
            take_renamed(c, unpack_string(&from), &c->round[task]);
        else
            c->nsame++;
    }
    c->exit = exit != CMD_OK ? exit : status;
    return c->exit;
}

/* Check files, in their order. */
static int check_items(struct check *c, const struct check_item *items, size_t n)
{
    const struct farm_round round = {n, ask_for_file, take_file_check, c};
    struct shd_error err;
    size_t ntaken;

    c->round = items;
    c->exit = CMD_OK;
    if (farm_run(c->farm, &round, &ntaken, &err) != SHD_OK)
        return check_no_memory();
    return c->exit == CMD_OK && ntaken < n ? CMD_INTERRUPTED : c->exit;
}

/* The answer in a line, which the TAP above spells out. */
static void say_verdict(const struct check *c)
{
    size_t nfailures = c->tell.nfailures, nerrors = c->tell.nerrors, n = c->tell.noutcomes;

    if (c->wish.update)
        cmd_note("%zu baseline%s written, %zu unchanged; below %s", c->nwritten,
                 c->nwritten == 1 ? "" : "s", c->nsame, c->folder ? c->folder : c->root);
    if (nfailures > 0)
        fprintf(stderr, "shardsim: %zu of %zu changed or %s wrong, see 'not ok' above\n", nfailures,
                n, nfailures == 1 ? "is" : "are");
    if (nerrors > 0)
        fprintf(stderr, "shardsim: %zu of %zu could not be read, see 'not ok' above\n", nerrors, n);
    if (nfailures + nerrors == 0 && !c->wish.update)
        fprintf(stderr, "shardsim: %zu of %zu equal their baselines\n", n, n);
}

/* End the check with what was told; the exit status. */
static int end_check(struct check *c, int exit)
{
    exit = check_tell_end(&c->tell, exit);
    cmd_tell_ranks(c->farm, c->wish.quiet);
    if (!c->wish.quiet && exit != CMD_CANNOT && exit != CMD_INTERRUPTED)
        say_verdict(c);
    return exit;
}

/* Check the single file that was named, an item of the list. */
static int check_only(struct check *c)
{
    for (size_t i = 0; i < c->list.nitems; i++)
        if (!strcmp(c->list.items[i].suite, c->only))
            return end_check(c, check_items(c, &c->list.items[i], 1));
    /* Hidden, or written otherwise: "a//b". */
    cmd_error("%s is not a scenario in the folder %s; expected its path relative to the folder",
              c->only, c->dir);
    return CMD_USAGE;
}

static int check_files(struct check *c)
{
    int exit;

    if (c->only)
        return check_only(c);
    exit = check_items(c, c->list.items, c->list.nitems);
    if (exit == CMD_OK)
        exit = check_orphans(c);
    return end_check(c, exit);
}

static bool is_folder(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool has_baselines(const struct check *c, const char *dir)
{
    struct shd_error err;
    char *folder = NULL;
    bool found = baseline_folder_find(&folder, dir, c->baselines, &err) == SHD_OK &&
                 access(folder, F_OK) == 0;

    free(folder);
    return found;
}

/* Take the lowest folder above a file, in the path as given, that has baselines; if none has, the
 * file's own folder. */
static void take_folder_above(struct check *c, const char *path)
{
    char *dir = c->own_dir;
    size_t length = strlen(dir);

    for (char *slash = dir + length; slash; slash = strrchr(dir, '/')) {
        *slash = '\0';
        if (has_baselines(c, dir)) {
            c->only = path + (slash - dir) + 1;
            return;
        }
    }
    memcpy(dir, path, length); /* whole again */
}

/* Take the baseline that a check from another folder made, if there is one. */
static int take_baseline_above(struct check *c)
{
    struct check_item above;

    if (!check_list_find_above(&above, c->dir, c->only))
        return CMD_OK;
    free(c->folder);
    free(c->own_dir);
    c->folder = above.folder;
    c->own_dir = above.dir;
    c->dir = c->own_dir;
    c->own_only = above.suite;
    c->only = c->own_only;
    return CMD_OK;
}

/* Take a script, alone: its baseline is below results/baselines by the path as given, so that
 * `check` of a folder above the script finds both; or it is where it was made from elsewhere. */
static int take_script(struct check *c)
{
    const char *path = c->dir, *slash = strrchr(path, '/');
    bool is_below = path[0] != '/' && !strstr(path, "..");
    struct text folder = TEXT_INIT;

    if (!check_is_job(path) && check_say_kind(path))
        return CMD_USAGE;
    if (!check_is_job(path)) {
        cmd_error("%s is not a scenario; expected a file that ends in .yaml or .yml, or a job that "
                  "'shardsim import' reads (Megatron-LM, torchtitan, vLLM, SGLang)",
                  path);
        return CMD_USAGE;
    }
    c->only_script = true;
    c->only = is_below || !slash ? path : slash + 1;
    c->own_dir = is_below || !slash ? strdup(".") : strndup(path, (size_t)(slash - path));
    if (!c->own_dir)
        return check_no_memory();
    c->dir = c->own_dir[0] ? c->own_dir : "/";
    text_addf(&folder, "%s%s%s", c->baselines || is_below ? "" : c->dir,
              c->baselines || is_below ? "" : "/", c->baselines ? c->baselines : BASELINES_ROOT);
    c->folder = text_take(&folder);
    if (!c->folder)
        return check_no_memory();
    return c->baselines || check_list_has_baseline(c->folder, c->only) ? CMD_OK
                                                                       : take_baseline_above(c);
}

/* If a single file was named, check only this file of its folder. */
static int take_file(struct check *c)
{
    const char *path = c->dir, *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    struct stat info;

    if (stat(c->dir, &info) != 0 || !S_ISREG(info.st_mode))
        return CMD_OK;
    if (!check_list_is_scenario(name))
        return take_script(c);
    c->own_dir = slash ? strndup(c->dir, (size_t)(slash - c->dir)) : strdup(".");
    if (!c->own_dir)
        return check_no_memory();
    c->only = name;
    c->dir = c->own_dir[0] ? c->own_dir : "/";
    if (c->own_dir[0] && slash)
        take_folder_above(c, path);
    return CMD_OK;
}

/* Name the files in the folder that were left out, in case they were meant to be checked. */
static void say_left_out(const struct check_list *list)
{
    size_t n = list->nleft_out;

    fprintf(stderr, "shardsim: %zu file%s skipped", n, n == 1 ? "" : "s");
    for (size_t i = 0; i < n && i < LEFT_OUT_MAX; i++) {
        fputs(i ? ", " : ": ", stderr);
        escape_put(stderr, list->left_out[i]);
    }
    if (n > LEFT_OUT_MAX)
        fprintf(stderr, " and %zu more", n - LEFT_OUT_MAX);
    fputs(n ? "; see 'shardsim check --help'\n" : "\n", stderr);
}

static int check_script(struct check *c)
{
    const struct check_item item = {(char *)c->dir, c->folder, (char *)c->only};

    return end_check(c, check_items(c, &item, 1));
}

static bool is_there(const char *dir, const char *name)
{
    char *path = check_join(dir, name);
    bool is = path && access(path, F_OK) == 0;

    free(path);
    return is;
}

/* List the files of the named folder.  Baselines are in a folder next to the named one; in
 * BASELINES_ROOT inside a project; or in both. */
static int list_folder(struct check *c, struct shd_error *err)
{
    char *within = check_join(c->dir, BASELINES_ROOT);
    bool has_within = within && !c->baselines && access(within, F_OK) == 0;
    int status = baseline_folder_find(&c->folder, c->dir, c->baselines, err);

    if (status == SHD_OK && within && !c->baselines && access(c->folder, F_OK) != 0 &&
        (has_within || is_there(c->dir, ".git"))) {
        free(c->folder);
        c->folder = within;
        return check_list_add_project(&c->list, c->dir, c->folder, err);
    }
    if (status == SHD_OK)
        status = check_list_add(&c->list, c->dir, c->folder, CHECK_TAKE_ALL, err);
    if (status == SHD_OK && has_within)
        status = check_list_add(&c->list, c->dir, within, CHECK_TAKE_KEPT, err);
    free(within);
    return status;
}

/* List all files that are checked.  Where no folder was named, scripts anywhere have baselines
 * below the same root. */
static int list_files(struct check *c, struct shd_error *err)
{
    bool named = is_folder(c->dir);
    int status = named ? list_folder(c, err) : SHD_OK;

    if (status == SHD_OK && c->by_default && is_folder(c->root))
        status = check_list_add(&c->list, ".", c->root, CHECK_TAKE_KEPT, err);
    if (status == SHD_OK && !named && c->list.nitems == 0)
        return shd_error_set(err, SHD_EINVAL,
                             "no folder or file '%.100s'; expected 'shardsim check DIR', the "
                             "folder of the scenarios, or one of them",
                             c->dir);
    if (status == SHD_OK && c->list.nitems == 0)
        return shd_error_set(
            err, SHD_ENOTFOUND,
            "%.100s has neither a scenario (.yaml, .yml) nor a launch script of a known program",
            c->dir);
    return status;
}

static int check_folder(struct check *c)
{
    struct shd_error err;
    int status = list_files(c, &err);

    if (c->wish.verbose || (!c->list.nitems && c->list.nleft_out))
        say_left_out(&c->list);
    if (status == SHD_OK)
        return check_files(c);
    cmd_error("%s", err.text);
    return status == SHD_ENOMEM ? CMD_CANNOT : CMD_USAGE;
}

/* Check everything, as rank 0. */
static int check_all(struct check *c)
{
    int exit;

    if (c->wish.update && check_is_on("CI")) {
        cmd_error("--update is refused where CI is set: baselines need human review");
        return CMD_USAGE;
    }
    exit = take_file(c);
    if (exit == CMD_OK && c->wish.nwords > 0 && !c->only_script) {
        cmd_error("--%s needs a launch script as an argument", c->wish.words[0]);
        return CMD_USAGE;
    }
    return exit != CMD_OK ? exit : c->only_script ? check_script(c) : check_folder(c);
}

int check_run(struct check *c)
{
    int exit;

    c->by_default = !c->dir;
    c->dir = c->dir ? c->dir : "scenarios";
    c->root = c->baselines ? c->baselines : BASELINES_ROOT;
    c->farm = farm_create(&(struct farm_crew){check_file_work, &c->wish, 1, &cmd_stop_request});
    if (!c->farm)
        return check_no_memory();
    exit = ranks_me() > 0 ? farm_serve(c->farm) : check_all(c);
    farm_destroy(c->farm, exit);
    check_tell_fini(&c->tell);
    check_list_fini(&c->list);
    free(c->folder);
    free(c->own_dir);
    free(c->own_only);
    return exit;
}
