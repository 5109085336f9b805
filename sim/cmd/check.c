/* shardsim check - every scenario against its stored baseline.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/file.h"
#include "base/units.h"
#include "cmd/args.h"
#include "cmd/check_strategy.h"
#include "cmd/cmd.h"
#include "ranks/farm.h"
#include "ranks/ranks.h"
#include "report/outcome.h"
#include "store/baseline_folder.h"
#include "store/folder.h"
#include "store/write.h"

#define BASELINE_BYTES_MAX ((size_t)16 << 20) /* of a file that is read: as YAML_DOC_BYTES_MAX */
/* A weight of so much that is replicated over several devices is warned of, if not told otherwise:
 * a float32 matrix of 4096 x 4096, the size of one of a model of 7B. */
#define WHOLE_BYTES (UINT64_C(64) << 20)
#define FOREIGN "the first line is not that of a baseline, so this is left as it is; move it away"

struct check {
    const char *dir, *baselines, *junit; /* baselines: NULL for those beside dir */
    const char *memory;                  /* NULL: the default */
    char *folder;                        /* of the baselines of this folder */
    char *own_dir;                       /* of `only`; NULL: a folder was named */
    const char *only; /* the one file that is checked, below the folder; NULL: all */
    bool plan, update, prune, quiet;
    uint64_t whole_bytes;
    struct outcome *outcomes;
    size_t noutcomes;
    size_t nwritten, nsame; /* baselines, with --update */
    bool failed;
    struct farm *farm;   /* of the ranks; a task is a file */
    char *const *suites; /* those of this round */
    int exit;            /* of the file that ended it */
};

static const char *const endings[] = {".yaml", ".yml", NULL};

enum { KEY_PLAN = 1000, KEY_UPDATE, KEY_PRUNE, KEY_JUNIT, KEY_BASELINES, KEY_WHOLE, KEY_MEMORY };

static const struct argp_option option_table[] = {
    {"plan", KEY_PLAN, NULL, 0, "On paper: the same bytes and memory, but no numbers are verified",
     0},
    {"update", KEY_UPDATE, NULL, 0,
     "Accept what there is as the new baselines; refused where CI is set, for a person must look",
     0},
    {"prune", KEY_PRUNE, NULL, 0,
     "With --update: remove the baselines of scenarios that no longer exist; without it they are "
     "only reported",
     0},
    {"junit", KEY_JUNIT, "FILE", 0, "Write JUnit XML as well", 0},
    {"baselines", KEY_BASELINES, "DIR", 0,
     "Where the baselines are, in a folder of the same name as DIR; otherwise results/baselines "
     "beside DIR",
     0},
    {"whole", KEY_WHOLE, "SIZE", 0,
     "Report weights above this size that are replicated over devices (64MiB)", 0},
    {"memory", KEY_MEMORY, ARGS_MEMORY, 0, ARGS_MEMORY_DOC, 0},
    {"quiet", 'q', NULL, 0, "No progress on stderr", 0},
    {NULL, 0, NULL, 0, NULL, 0}};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct check *c = state->input;
    struct shd_error err;

    switch (key) {
    case KEY_PLAN:
        c->plan = true;
        return 0;
    case KEY_UPDATE:
        c->update = true;
        return 0;
    case KEY_PRUNE:
        c->prune = true;
        return 0;
    case KEY_JUNIT:
        c->junit = arg;
        return 0;
    case KEY_BASELINES:
        c->baselines = arg;
        return 0;
    case KEY_WHOLE:
        if (units_parse_bytes(&c->whole_bytes, arg, &err) != SHD_OK)
            args_error(state, "--whole: %s", err.text);
        return 0;
    case KEY_MEMORY:
        c->memory = args_parse_memory(arg, state);
        return 0;
    case 'q':
        c->quiet = true;
        return 0;
    case ARGP_KEY_ARG:
        if (c->dir)
            args_error(state, "one folder at a time; '%s' is another", arg);
        c->dir = arg;
        return 0;
    case ARGP_KEY_END:
        if (c->prune && !c->update)
            args_error(state, "--prune goes with --update");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Whether an environment variable is set to something that means yes. */
static bool is_on(const char *name)
{
    const char *value = getenv(name);

    return value && value[0] && strcmp(value, "0") != 0 && strcasecmp(value, "false") != 0;
}

static int no_memory(void)
{
    cmd_error("no memory for the check");
    return CMD_CANNOT;
}

static char *join(const char *dir, const char *name)
{
    struct text text = TEXT_INIT;
    size_t length = strlen(dir);

    while (length > 1 && dir[length - 1] == '/')
        length--;
    text_addf(&text, "%.*s/%s", (int)length, dir, name);
    return text_take(&text);
}

/* ---- outcomes ---- */

static struct outcome *new_outcome(struct check *c, const char *file, const char *suite,
                                   const char *name)
{
    struct outcome *more = realloc(c->outcomes, (c->noutcomes + 1) * sizeof *more);

    if (!more)
        return NULL;
    c->outcomes = more;
    return outcome_init(&more[c->noutcomes], file, suite, name) ? &more[c->noutcomes++] : NULL;
}

static int print_outcome(struct check *c, const struct outcome *o)
{
    struct text tap = TEXT_INIT, annotation = TEXT_INIT;
    int exit;

    c->failed |= o->kind == OUTCOME_FAILED;
    outcome_print_tap(o, c->noutcomes, &tap);
    exit = cmd_put(&tap);
    if (is_on("GITHUB_ACTIONS")) {
        outcome_print_annotation(o, &annotation);
        fputs(text_get(&annotation), stderr);
        if (annotation.failed && exit == CMD_OK)
            exit = no_memory();
    }
    text_fini(&tap);
    text_fini(&annotation);
    return exit;
}

static int add_outcome(struct check *c, enum outcome_kind kind, const char *file, const char *suite,
                       const char *name, const struct diag *reasons)
{
    struct outcome *o = new_outcome(c, file, suite, name);

    if (!o)
        return no_memory();
    o->kind = kind;
    diag_append(&o->reasons, reasons);
    return o->reasons.no_memory ? no_memory() : print_outcome(c, o);
}

static int add_words(struct check *c, enum outcome_kind kind, const char *file, const char *suite,
                     const char *name, const char *words)
{
    struct diag reasons = DIAG_INIT;
    int exit;

    diag_error(&reasons, (struct place){file, 0, 0}, "%s", words);
    exit = add_outcome(c, kind, file, suite, name, &reasons);
    diag_fini(&reasons);
    return exit;
}

/* ---- one file ----
 *
 * A task of the farm, done by any rank: its answer is what came of it, of which rank 0 tells and
 * writes. */

enum note { NOTE_OUTCOME, NOTE_BASELINE, NOTE_SAME };

struct file_check {
    const struct check *check;
    const char *suite; /* below the folder */
    char *path, *baseline_path;
    struct text *answer;
    struct text before; /* the baseline as it is stored, "" for none */
    bool is_foreign;    /* what is in the place of the baseline is none, or cannot be read */
    struct baseline_file was;
    struct baseline *now;
    size_t nnow;
    bool wrong; /* not to be accepted */
};

static int read_baseline(struct file_check *f, struct diag *faults)
{
    struct place place = {f->baseline_path, 1, 1};
    struct shd_error err;
    struct stat info;

    if (lstat(f->baseline_path, &info) != 0 && errno == ENOENT)
        return SHD_OK;
    f->is_foreign = true;
    if (file_read(&f->before, f->baseline_path, BASELINE_BYTES_MAX, &err) != SHD_OK) {
        diag_failure(faults, place, err.status, "%s", err.text);
        return err.status;
    }
    f->is_foreign = !baseline_is_own(&f->before);
    if (f->is_foreign) {
        diag_error(faults, place, FOREIGN);
        return SHD_EINVAL;
    }
    return baseline_parse(&f->was, f->baseline_path, &f->before, faults);
}

static int note_outcome(struct file_check *f, enum outcome_kind kind, const char *name,
                        const struct diag *reasons)
{
    struct outcome o;
    bool there = outcome_init(&o, f->path, f->suite, name), ok = there;
    size_t whole = f->answer->length;

    if (ok) {
        o.kind = kind;
        diag_append(&o.reasons, reasons);
        ok = !o.reasons.no_memory;
    }
    if (ok) {
        pack_uint(f->answer, NOTE_OUTCOME);
        outcome_pack(&o, f->answer);
        ok = !f->answer->failed;
    }
    if (!ok)
        f->answer->length = whole; /* what rank 0 tells is all of it */
    if (there)
        outcome_fini(&o);
    return ok ? CMD_OK : no_memory();
}

static int note_words(struct file_check *f, enum outcome_kind kind, const char *name,
                      const char *words)
{
    struct diag reasons = DIAG_INIT;
    int exit;

    diag_error(&reasons, (struct place){f->path, 0, 0}, "%s", words);
    exit = note_outcome(f, kind, name, &reasons);
    diag_fini(&reasons);
    return exit;
}

static int judge(struct file_check *f, const struct scenario *scenario, struct check_strategy *s)
{
    bool update = f->check->update;
    struct diag reasons = DIAG_INIT;
    enum outcome_kind kind = OUTCOME_PASSED;
    int exit;

    diag_append(&reasons, &s->wrong);
    diag_append(&reasons, &s->changes);
    if (s->wrong.nerrors || (s->changes.nerrors && !update))
        kind = OUTCOME_FAILED;
    f->wrong |= s->wrong.nerrors > 0;
    exit = note_outcome(f, kind, scenario->strategy, &reasons);
    diag_fini(&reasons);
    return exit;
}

/* Why a strategy could not be executed is said by rank 0, which tries it once more. */
static bool is_for_first(const struct check_strategy *s)
{
    return ranks_me() > 0 && !s->now.name;
}

/* What would take too long is checked on paper: the same bytes and memory, and no numbers. */
static enum record_mode mode_of(const struct file_check *f, struct work *w,
                                const struct work_item *item, double *flops)
{
    const char *why = f->check->plan ? NULL : work_too_much(item, flops);
    bool no_progress = w->log.quiet;

    w->log.quiet = f->check->quiet;
    if (why)
        log_note(&w->log, "%s: planned, not executed: %s %s", f->path, item->scenario->strategy,
                 why);
    w->log.quiet = no_progress;
    return f->check->plan || why ? RECORD_PLANNED : RECORD_EXECUTED;
}

static int check_strategies(struct file_check *f, struct work *w)
{
    double flops = 0;
    int exit = CMD_OK;

    f->now = calloc(w->nitems + 1, sizeof *f->now);
    if (!f->now)
        return no_memory();
    for (size_t i = 0; i < w->nitems && exit == CMD_OK; i++) {
        struct check_strategy s;

        w->items[i].trial.memory = f->check->memory;
        exit = check_strategy_init(&s, w, &w->items[i], mode_of(f, w, &w->items[i], &flops),
                                   f->check->whole_bytes,
                                   baseline_find(&f->was, w->items[i].scenario->strategy));
        if (exit == CMD_OK)
            exit = is_for_first(&s) ? CMD_CANNOT : judge(f, w->items[i].scenario, &s);
        f->now[f->nnow++] = s.now;
        s.now = (struct baseline){.name = NULL};
        check_strategy_fini(&s);
        trial_fini(&w->items[i].trial);
    }
    for (size_t i = 0; i < w->nskipped && exit == CMD_OK; i++)
        exit = note_words(f, OUTCOME_SKIPPED, w->skipped[i].scenario->strategy, w->skipped[i].why);
    return exit;
}

static bool is_there(const struct file_check *f, const char *strategy)
{
    for (size_t i = 0; i < f->nnow; i++)
        if (f->now[i].name && !strcmp(f->now[i].name, strategy))
            return true;
    return false;
}

/* Tell of baselines whose strategies are gone. */
static int check_left_over(struct file_check *f)
{
    int exit = CMD_OK;

    for (size_t i = 0; i < f->was.count && exit == CMD_OK; i++)
        if (!f->wrong && !is_there(f, f->was.list[i].name))
            exit = note_words(f, f->check->update ? OUTCOME_PASSED : OUTCOME_FAILED,
                              f->was.list[i].name,
                              "there is a baseline, but no such strategy any more");
    return exit;
}

static void note_baseline(struct file_check *f)
{
    struct text text = TEXT_INIT;

    if (!f->check->update || f->wrong)
        return;
    baseline_print(f->now, f->nnow, f->suite, &text);
    f->answer->failed |= text.failed;
    if (strcmp(text_get(&text), text_get(&f->before)) != 0) {
        pack_uint(f->answer, NOTE_BASELINE);
        pack_string(f->answer, f->baseline_path);
        pack_string(f->answer, text_get(&text));
    } else {
        pack_uint(f->answer, NOTE_SAME);
    }
    text_fini(&text);
}

static int check_loaded(struct file_check *f, struct work *w)
{
    struct diag faults = DIAG_INIT;
    int exit = CMD_OK, status;

    status = read_baseline(f, &faults);
    if (status == SHD_ENOMEM) {
        exit = no_memory();
    } else if (status != SHD_OK && (f->is_foreign || !f->check->update)) {
        f->wrong = true;
        exit = note_outcome(f, OUTCOME_FAILED, "", &faults);
    } else {
        exit = check_strategies(f, w);
    }
    diag_fini(&faults);
    if (exit == CMD_OK)
        exit = check_left_over(f);
    if (exit == CMD_OK)
        note_baseline(f);
    return exit;
}

static int check_file(struct file_check *f)
{
    struct work w = {.diag = DIAG_INIT};
    int exit = CMD_CANNOT;

    if (work_init(&w, 1)) {
        w.names[w.nnames++] = f->path;
        /* Where it is no terminal the test points show that it goes on. */
        w.log.quiet = f->check->quiet || !w.log.is_tty;
        log_progress_begin(&w.log);
        exit = work_load(&w);
        if (exit == CMD_USAGE)
            exit = note_outcome(f, OUTCOME_FAILED, "", &w.diag);
        else if (exit == CMD_OK)
            exit = check_loaded(f, &w);
        else
            diag_write(&w.diag, stderr);
        log_progress_end(&w.log);
        work_fini(&w);
    }
    return exit;
}

/* The work of a farm_crew: a task is a folder, that of its baselines, and the file below both. */
static int work_on_file(void *arg, const void *task, size_t bytes, struct text *answer)
{
    struct file_check f = {.check = arg, .answer = answer, .before = TEXT_INIT};
    const char *dir, *folder;
    struct unpack from;
    int exit;

    unpack_init(&from, task, bytes);
    dir = unpack_string(&from);
    folder = unpack_string(&from);
    f.suite = unpack_string(&from);
    f.path = join(dir, f.suite);
    f.baseline_path = join(folder, f.suite);
    exit = f.path && f.baseline_path ? check_file(&f) : no_memory();
    for (size_t i = 0; i < f.nnow; i++)
        baseline_fini(&f.now[i]);
    free(f.now);
    baseline_file_fini(&f.was);
    text_fini(&f.before);
    free(f.path);
    free(f.baseline_path);
    return exit;
}

/* ---- all files ---- */

/* Whether a file is a baseline; what cannot be read is none. */
static bool is_baseline(const char *path)
{
    struct text text = TEXT_INIT;
    struct shd_error err;
    bool own = file_read(&text, path, BASELINE_BYTES_MAX, &err) == SHD_OK && baseline_is_own(&text);

    text_fini(&text);
    return own;
}

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

static int check_orphan(struct check *c, const char *suite, const char *path)
{
    if (!is_baseline(path))
        return add_words(c, OUTCOME_FAILED, path, suite, "", FOREIGN);
    if (!c->prune)
        return add_words(c, OUTCOME_FAILED, path, suite, "",
                         "a baseline without a scenario; 'shardsim check --update --prune' removes "
                         "it");
    if (unlink(path) == 0)
        return add_words(c, OUTCOME_PASSED, path, suite, "",
                         "a baseline without a scenario, removed");
    cmd_error("%s cannot be removed: %s", path, strerror(errno));
    return CMD_CANNOT;
}

/* Tell of, or remove, the baselines of scenarios that are gone.  All are listed before any is
 * removed. */
static int check_orphans(struct check *c, const struct folder *scenarios,
                         const struct folder *baselines)
{
    int exit = CMD_OK;

    for (int listed = !c->prune; listed < 2; listed++)
        for (size_t i = 0; i < baselines->npaths && exit == CMD_OK; i++) {
            char *path;

            if (folder_has(scenarios, baselines->paths[i]))
                continue;
            path = join(c->folder, baselines->paths[i]);
            if (!path)
                exit = no_memory();
            else if (listed)
                exit = check_orphan(c, baselines->paths[i], path);
            else if (is_baseline(path))
                exit = list_pruned(path);
            free(path);
        }
    return exit;
}

static int write_junit(const struct check *c)
{
    struct text text = TEXT_INIT;
    struct shd_error err;
    int status = SHD_OK;

    if (!c->junit)
        return CMD_OK;
    outcome_print_junit(c->outcomes, c->noutcomes, &text);
    status = store_write(c->junit, &text, &err);
    text_fini(&text);
    if (status != SHD_OK)
        cmd_error("%s", err.text);
    return status == SHD_OK ? CMD_OK : CMD_CANNOT;
}

static int finish(struct check *c, int exit)
{
    struct text plan = TEXT_INIT;
    int written;

    if (exit == CMD_OK)
        text_addf(&plan, "1..%zu\n", c->noutcomes);
    else
        text_addf(&plan, "Bail out! %s\n",
                  exit == CMD_INTERRUPTED ? "interrupted" : "cannot go on here");
    written = cmd_put_last(&plan);
    text_fini(&plan);
    if (exit == CMD_OK)
        exit = written;
    if (exit == CMD_OK)
        exit = write_junit(c);
    return exit == CMD_OK && c->failed ? CMD_FAILED : exit;
}

/* ---- answers of the farm ---- */

static int take_outcome(struct check *c, struct unpack *from)
{
    struct outcome *more = realloc(c->outcomes, (c->noutcomes + 1) * sizeof *more);

    if (!more)
        return no_memory();
    c->outcomes = more;
    if (!outcome_unpack(&more[c->noutcomes], from))
        return no_memory();
    return print_outcome(c, &more[c->noutcomes++]);
}

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
        cmd_error("%s", err.text);
    c->nwritten += status == SHD_OK;
    return status == SHD_OK ? CMD_OK : CMD_CANNOT;
}

static void ask_for_file(void *arg, size_t task, struct text *out)
{
    const struct check *c = arg;

    pack_string(out, c->dir);
    pack_string(out, c->folder);
    pack_string(out, c->suites[task]);
}

/* Also of a file that could not be checked to the end: what there is. */
static int take_file_check(void *arg, size_t task, int status, const struct text *answer)
{
    struct check *c = arg;
    struct unpack from;
    int exit = CMD_OK;

    (void)task;
    unpack_init(&from, text_get(answer), answer->length);
    while (from.at < from.end && !from.bad && exit == CMD_OK) {
        uint64_t note = unpack_uint(&from);

        if (note == NOTE_OUTCOME)
            exit = take_outcome(c, &from);
        else if (note == NOTE_BASELINE)
            exit = take_baseline(c, &from);
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
        return no_memory();
    return c->exit == CMD_OK && ntaken < n ? CMD_INTERRUPTED : c->exit;
}

static void tell_ranks(const struct check *c)
{
    struct text text = TEXT_INIT;

    if (ranks_count() > 1 && !c->quiet) {
        farm_tell(c->farm, &text);
        fprintf(stderr, "shardsim: %s\n", text_get(&text));
    }
    text_fini(&text);
}

/* The answer in a line, which the TAP above spells out. */
static void say_verdict(const struct check *c)
{
    size_t nfailed = 0;

    for (size_t i = 0; i < c->noutcomes; i++)
        nfailed += c->outcomes[i].kind == OUTCOME_FAILED;
    if (c->update)
        fprintf(stderr, "shardsim: %zu baseline%s written, %zu already so; below %s\n", c->nwritten,
                c->nwritten == 1 ? "" : "s", c->nsame, c->folder);
    if (nfailed > 0)
        fprintf(stderr, "shardsim: %zu of %zu changed or %s wrong: see 'not ok' above\n", nfailed,
                c->noutcomes, nfailed == 1 ? "is" : "are");
    else if (!c->update)
        fprintf(stderr, "shardsim: %zu of %zu as in the baselines\n", c->noutcomes, c->noutcomes);
}

static int check_files(struct check *c, const struct folder *scenarios,
                       const struct folder *baselines)
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
    for (size_t i = 0; c->only && i < scenarios->npaths && exit == CMD_OK; i++)
        if (!strcmp(scenarios->paths[i], c->only))
            exit = check_suites(c, &scenarios->paths[i], 1);
    if (exit == CMD_OK && !c->only)
        exit = check_orphans(c, scenarios, baselines);
    exit = finish(c, exit);
    tell_ranks(c);
    if (!c->quiet && exit != CMD_CANNOT && exit != CMD_INTERRUPTED)
        say_verdict(c);
    return exit;
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

/* Of the folders above a file, as it was given, the lowest that has baselines; if none has, that of
 * the file. */
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

/* A file is checked as part of the folder that it is in. */
static int take_file(struct check *c)
{
    const char *path = c->dir, *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    struct stat info;

    if (stat(c->dir, &info) != 0 || !S_ISREG(info.st_mode))
        return CMD_OK;
    if (!folder_ends_in(name, endings)) {
        cmd_error("%s is not a scenario; expected a file that ends in .yaml or .yml", c->dir);
        return CMD_USAGE;
    }
    c->own_dir = slash ? strndup(c->dir, (size_t)(slash - c->dir)) : strdup(".");
    if (!c->own_dir)
        return no_memory();
    c->only = name;
    c->dir = c->own_dir[0] ? c->own_dir : "/";
    if (c->own_dir[0] && slash)
        take_folder_above(c, path);
    return CMD_OK;
}

static int check_folder(struct check *c)
{
    static const char *const without[] = {"hardware", "models", NULL};
    struct folder scenarios, baselines = {NULL, 0};
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
    if (status == SHD_OK && access(c->folder, F_OK) == 0)
        status = folder_init(&baselines, c->folder, endings, NULL, &err);
    if (status == SHD_OK && scenarios.npaths == 0)
        status = shd_error_set(&err, SHD_ENOTFOUND,
                               "%.150s has no scenario, which ends in .yaml or .yml", c->dir);
    if (status == SHD_OK)
        exit = check_files(c, &scenarios, &baselines);
    else
        cmd_error("%s", err.text);
    if (status == SHD_ENOMEM)
        exit = CMD_CANNOT;
    folder_fini(&scenarios);
    folder_fini(&baselines);
    return exit;
}

/* What rank 0 does. */
static int check(struct check *c)
{
    int exit;

    if (c->update && is_on("CI")) {
        cmd_error("--update is refused where CI is set: accept changes where "
                  "a person looks at them");
        return CMD_USAGE;
    }
    exit = take_file(c);
    return exit == CMD_OK ? check_folder(c) : exit;
}

static int run(int argc, char **argv)
{
    const struct argp argp = {
        option_table,
        parse_option,
        "[DIR|FILE]",
        "Check every scenario below a folder (scenarios), or one file of it, against its stored "
        "baseline: how each parameter, input and constraint is sharded, every collective, bytes, "
        "flops and peak memory, exactly; and that the numbers are right.  What changed is said in "
        "words.  What is too large to be executed in about a minute is planned.  Prints TAP.\v"
        "Suspicious layouts fail too, until they are accepted: a rule shadowed by earlier ones, a "
        "large weight left replicated, a constraint that undoes its neighbour.  Folders 'hardware' "
        "and "
        "'models' are left out.\n\n"
        "Examples:\n"
        "  All of scenarios/, before a commit:\n"
        "    shardsim check\n"
        "  One of them:\n"
        "    shardsim check --plan scenarios/fsdp.yaml\n"
        "  In CI, on paper, with a report that it can show:\n"
        "    shardsim check --plan --junit check.xml layouts\n"
        "  Accept a change after looking at what was said:\n"
        "    shardsim check --update\n\n" ARGS_EXIT_STATUS(
            "  1    something changed or is wrong\n") "\n\n"
                                                      "Environment:\n"
                                                      "  CI              unless empty, 0 or false: "
                                                      "--update is refused\n"
                                                      "  GITHUB_ACTIONS  unless empty, 0 or false: "
                                                      "failures are annotated on stderr",
        NULL,
        NULL,
        NULL};
    struct check c = {.whole_bytes = WHOLE_BYTES};
    int exit;

    args_parse(&argp, argc, argv, &c);
    c.dir = c.dir ? c.dir : "scenarios";
    c.farm = farm_create(&(struct farm_crew){work_on_file, &c, 1, &cmd_stop_request});
    if (!c.farm)
        return no_memory();
    exit = ranks_me() > 0 ? farm_serve(c.farm) : check(&c);
    farm_destroy(c.farm, exit);
    for (size_t i = 0; i < c.noutcomes; i++)
        outcome_fini(&c.outcomes[i]);
    free(c.outcomes);
    free(c.folder);
    free(c.own_dir);
    return exit;
}

const struct cmd cmd_check = {"check", "every scenario against its stored baseline", run};
