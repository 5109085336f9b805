/* Checking a folder of scenarios against their baselines (check_folder.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "jobs/check_folder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/escape.h"
#include "jobs/check_file.h"
#include "jobs/check_script.h"
#include "jobs/check_stored.h"
#include "jobs/command.h"
#include "ranks/farm.h"
#include "ranks/ranks.h"
#include "store/baseline_folder.h"
#include "store/folder.h"
#include "store/write.h"

#define LEFT_OUT_MAX 20 /* files named in a message */

static const char *const endings[] = {".yaml", ".yml", NULL};

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
        text_addf(&text,
                  ", and %s is the same now: renamed?  'shardsim check --update --prune' takes "
                  "it along",
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
        for (size_t i = 0; i < c->norphans && exit == CMD_OK; i++) {
            char *path = check_join(c->folder, c->orphans[i]);

            if (!path)
                exit = check_no_memory();
            else if (listed)
                exit = check_orphan(c, c->orphans[i], path, c->renamed[i]);
            else if (check_is_baseline(path))
                exit = list_pruned(path);
            free(path);
        }
    return exit;
}

/* The script that a baseline is of, if it is there; NULL otherwise, or without memory. */
static char *script_of(const struct check *c, const char *baseline)
{
    size_t length = strlen(baseline) - strlen(CHECK_BASELINE_ENDING);
    char *name = text_ends_with(baseline, CHECK_BASELINE_ENDING) ? strndup(baseline, length) : NULL;
    char *path = name && check_is_script(name) ? check_join(c->dir, name) : NULL;
    struct stat info;

    if (!path || stat(path, &info) != 0 || !S_ISREG(info.st_mode)) {
        free(name);
        name = NULL;
    }
    free(path);
    return name;
}

/* Sort the baselines without a scenario into those of scripts and those that are left over.  False:
 * no memory. */
static bool find_orphans(struct check *c, const struct folder *scenarios,
                         const struct folder *baselines)
{
    c->orphans = calloc(baselines->npaths + 1, sizeof *c->orphans);
    c->renamed = calloc(baselines->npaths + 1, sizeof *c->renamed);
    c->scripts = calloc(baselines->npaths + 1, sizeof *c->scripts);
    if (!c->orphans || !c->renamed || !c->scripts)
        return false;
    for (size_t i = 0; i < baselines->npaths; i++) {
        if (folder_has(scenarios, baselines->paths[i]))
            continue;
        c->scripts[c->nscripts] = script_of(c, baselines->paths[i]);
        if (c->scripts[c->nscripts])
            c->nscripts++;
        else
            c->orphans[c->norphans++] = baselines->paths[i];
    }
    return true;
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
static void take_renamed(struct check *c, const char *was_called, const char *suite)
{
    for (size_t i = 0; i < c->norphans; i++)
        if (!strcmp(c->orphans[i], was_called) && !c->renamed[i])
            c->renamed[i] = suite;
}

static void ask_for_file(void *arg, size_t task, struct text *out)
{
    const struct check *c = arg;

    check_file_ask(out, c->dir, c->folder, c->suites[task], c->orphans, c->norphans);
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
            take_renamed(c, unpack_string(&from), c->suites[task]);
        else
            c->nsame++;
    }
    c->exit = exit != CMD_OK ? exit : status;
    return c->exit;
}

/* Check files of the folder, in their order. */
static int check_suites(struct check *c, char *const *suites, size_t n)
{
    const struct farm_round round = {n, ask_for_file, take_file_check, c};
    struct shd_error err;
    size_t ntaken;

    c->suites = suites;
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
        cmd_note("%zu baseline%s written, %zu already so; below %s", c->nwritten,
                 c->nwritten == 1 ? "" : "s", c->nsame, c->folder);
    if (nfailures > 0)
        fprintf(stderr, "shardsim: %zu of %zu changed or %s wrong: see 'not ok' above\n", nfailures,
                n, nfailures == 1 ? "is" : "are");
    if (nerrors > 0)
        fprintf(stderr, "shardsim: %zu of %zu could not be read: see 'not ok' above\n", nerrors, n);
    if (nfailures + nerrors == 0 && !c->wish.update)
        fprintf(stderr, "shardsim: %zu of %zu as in the baselines\n", n, n);
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

static int check_files(struct check *c, const struct folder *scenarios)
{
    int exit = CMD_OK;

    if (c->only && !folder_has(scenarios, c->only)) { /* hidden, or written otherwise: "a//b" */
        cmd_error("%s is not among the scenarios below %s; expected the path by which it is found "
                  "there",
                  c->only, c->dir);
        return CMD_USAGE;
    }
    if (!c->only)
        exit = check_suites(c, scenarios->paths, scenarios->npaths);
    if (exit == CMD_OK && !c->only)
        exit = check_suites(c, c->scripts, c->nscripts);
    for (size_t i = 0; c->only && i < scenarios->npaths && exit == CMD_OK; i++)
        if (!strcmp(scenarios->paths[i], c->only))
            exit = check_suites(c, &scenarios->paths[i], 1);
    if (exit == CMD_OK && !c->only)
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

static bool has_baseline(const char *folder, const char *suite)
{
    char *path = check_join_baseline(folder, suite);
    bool found = path && access(path, F_OK) == 0;

    free(path);
    return found;
}

/* Take the lowest folder above a script that has its baseline, made by a check from there; if none
 * has, all stays as it is. */
static void take_baseline_above(struct check *c)
{
    char *real = realpath(c->dir, NULL), *path = real ? check_join(real, c->only) : NULL, *folder;

    for (char *slash, *cut = NULL; path && (slash = strrchr(path, '/')); cut = slash) {
        *slash = '\0';
        if (cut)
            *cut = '/';
        folder = check_join(path[0] ? path : "/", BASELINES_ROOT);
        if (folder && has_baseline(folder, slash + 1)) {
            free(c->folder);
            free(c->own_dir);
            c->folder = folder;
            c->own_dir = path;
            c->dir = path[0] ? path : "/";
            c->only = slash + 1;
            path = NULL;
        } else {
            free(folder);
        }
    }
    free(path);
    free(real);
}

/* Take a script, alone: its baseline is below results/baselines by the path as given, so that
 * `check` of a folder above the script finds both; or it is where it was made from elsewhere. */
static int take_script(struct check *c)
{
    const char *path = c->dir, *slash = strrchr(path, '/');
    bool is_below = path[0] != '/' && !strstr(path, "..");
    struct text folder = TEXT_INIT;

    if (!check_is_job(path)) {
        cmd_error("%s is not a scenario; expected a file that ends in .yaml or .yml, or options of "
                  "a job that 'shardsim import' reads: of Megatron-LM, torchtitan, vLLM, SGLang",
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
    if (!c->baselines && !has_baseline(c->folder, c->only))
        take_baseline_above(c);
    return CMD_OK;
}

/* Take a single file, which is checked as part of its folder. */
static int take_file(struct check *c)
{
    const char *path = c->dir, *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    struct stat info;

    if (stat(c->dir, &info) != 0 || !S_ISREG(info.st_mode))
        return CMD_OK;
    if (!folder_ends_in(name, endings))
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
static void say_left_out(const struct folder *scenarios)
{
    size_t n = scenarios->nleft_out;

    fprintf(stderr, "shardsim: %zu file%s left out", n, n == 1 ? "" : "s");
    for (size_t i = 0; i < n && i < LEFT_OUT_MAX; i++) {
        fputs(i ? ", " : ": ", stderr);
        escape_put(stderr, scenarios->left_out[i]);
    }
    if (n > LEFT_OUT_MAX)
        fprintf(stderr, " and %zu more", n - LEFT_OUT_MAX);
    fputs(n ? "; 'shardsim check --help' says which are\n" : "\n", stderr);
}

static int check_script(struct check *c)
{
    char *suite = strdup(c->only);
    int exit = suite ? check_suites(c, &suite, 1) : check_no_memory();

    exit = end_check(c, exit);
    free(suite);
    return exit;
}

static int check_folder(struct check *c)
{
    static const char *const without[] = {"hardware", "models", NULL};
    struct folder scenarios, baselines = {.paths = NULL};
    struct shd_error err;
    int exit = CMD_USAGE;
    int status;

    if (!is_folder(c->dir)) {
        cmd_error("there is no folder or file '%s'; expected 'shardsim check DIR', where "
                  "the scenarios are, or one of them",
                  c->dir);
        return CMD_USAGE;
    }
    status = baseline_folder_find(&c->folder, c->dir, c->baselines, &err);
    if (status != SHD_OK) {
        cmd_error("%s", err.text);
        return status == SHD_EINVAL ? CMD_USAGE : CMD_CANNOT;
    }
    status = folder_init(&scenarios, c->dir, endings, without, &err);
    if (status == SHD_OK && (c->wish.verbose || (!scenarios.npaths && scenarios.nleft_out)))
        say_left_out(&scenarios);
    if (status == SHD_OK && access(c->folder, F_OK) == 0)
        status = folder_init(&baselines, c->folder, endings, NULL, &err);
    if (status == SHD_OK && !find_orphans(c, &scenarios, &baselines))
        status = shd_error_set(&err, SHD_ENOMEM, "no memory for the check");
    if (status == SHD_OK && scenarios.npaths == 0 && c->nscripts == 0)
        status = shd_error_set(&err, SHD_ENOTFOUND,
                               "%.150s has no scenario, which ends in .yaml or .yml", c->dir);
    if (status == SHD_OK)
        exit = check_files(c, &scenarios);
    else
        cmd_error("%s", err.text);
    if (status == SHD_ENOMEM)
        exit = CMD_CANNOT;
    folder_fini(&scenarios);
    folder_fini(&baselines);
    return exit;
}

/* Check everything, as rank 0. */
static int check_all(struct check *c)
{
    int exit;

    if (c->wish.update && check_is_on("CI")) {
        cmd_error("--update is refused where CI is set: accept changes where "
                  "a person looks at them");
        return CMD_USAGE;
    }
    exit = take_file(c);
    if (exit == CMD_OK && c->wish.nwords > 0 && !c->only_script) {
        cmd_error("--%s is for a script, which was to be named, too", c->wish.words[0]);
        return CMD_USAGE;
    }
    return exit != CMD_OK ? exit : c->only_script ? check_script(c) : check_folder(c);
}

int check_run(struct check *c)
{
    int exit;

    c->dir = c->dir ? c->dir : "scenarios";
    c->farm = farm_create(&(struct farm_crew){check_file_work, &c->wish, 1, &cmd_stop_request});
    if (!c->farm)
        return check_no_memory();
    exit = ranks_me() > 0 ? farm_serve(c->farm) : check_all(c);
    farm_destroy(c->farm, exit);
    check_tell_fini(&c->tell);
    free(c->orphans);
    free(c->renamed);
    for (size_t i = 0; i < c->nscripts; i++)
        free(c->scripts[i]);
    free(c->scripts);
    free(c->folder);
    free(c->own_dir);
    return exit;
}
