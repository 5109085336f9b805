/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "cmd/check_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/pack.h"
#include "cmd/check_strategy.h"
#include "cmd/cmd.h"
#include "ranks/ranks.h"
#include "report/outcome.h"

#define BASELINE_BYTES_MAX ((size_t)16 << 20) /* of a file that is read: as YAML_DOC_BYTES_MAX */

struct file_check {
    const struct check_wish *wish;
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
        diag_error(faults, place, CHECK_FOREIGN);
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
        pack_uint(f->answer, CHECK_OUTCOME);
        outcome_pack(&o, f->answer);
        ok = !f->answer->failed;
    }
    if (!ok)
        f->answer->length = whole; /* what rank 0 tells is all of it */
    if (there)
        outcome_fini(&o);
    return ok ? CMD_OK : check_no_memory();
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
    bool update = f->wish->update;
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
    const char *why = f->wish->plan ? NULL : work_too_much(item, flops);
    bool no_progress = w->log.quiet;

    w->log.quiet = f->wish->quiet;
    if (why)
        log_note(&w->log, "%s: planned, not executed: %s %s", f->path, item->scenario->strategy,
                 why);
    w->log.quiet = no_progress;
    return f->wish->plan || why ? RECORD_PLANNED : RECORD_EXECUTED;
}

static int check_strategies(struct file_check *f, struct work *w)
{
    double flops = 0;
    int exit = CMD_OK;

    f->now = calloc(w->nitems + 1, sizeof *f->now);
    if (!f->now)
        return check_no_memory();
    for (size_t i = 0; i < w->nitems && exit == CMD_OK; i++) {
        struct check_strategy s;

        w->items[i].trial.memory = f->wish->memory;
        exit = check_strategy_init(&s, w, &w->items[i], mode_of(f, w, &w->items[i], &flops),
                                   f->wish->whole_bytes,
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
            exit = note_words(f, f->wish->update ? OUTCOME_PASSED : OUTCOME_FAILED,
                              f->was.list[i].name,
                              "there is a baseline, but no such strategy any more");
    return exit;
}

static void note_baseline(struct file_check *f)
{
    struct text text = TEXT_INIT;

    if (!f->wish->update || f->wrong)
        return;
    baseline_print(f->now, f->nnow, f->suite, &text);
    f->answer->failed |= text.failed;
    if (strcmp(text_get(&text), text_get(&f->before)) != 0) {
        pack_uint(f->answer, CHECK_BASELINE);
        pack_string(f->answer, f->baseline_path);
        pack_string(f->answer, text_get(&text));
    } else {
        pack_uint(f->answer, CHECK_SAME);
    }
    text_fini(&text);
}

static int check_loaded(struct file_check *f, struct work *w)
{
    struct diag faults = DIAG_INIT;
    int exit = CMD_OK, status;

    status = read_baseline(f, &faults);
    if (status == SHD_ENOMEM) {
        exit = check_no_memory();
    } else if (status != SHD_OK && (f->is_foreign || !f->wish->update)) {
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
        w.log.quiet = f->wish->quiet || !w.log.is_tty;
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

int check_file_work(void *wish, const void *task, size_t bytes, struct text *answer)
{
    struct file_check f = {.wish = wish, .answer = answer, .before = TEXT_INIT};
    const char *dir, *folder;
    struct unpack from;
    int exit;

    unpack_init(&from, task, bytes);
    dir = unpack_string(&from);
    folder = unpack_string(&from);
    f.suite = unpack_string(&from);
    f.path = check_join(dir, f.suite);
    f.baseline_path = check_join(folder, f.suite);
    exit = f.path && f.baseline_path ? check_file(&f) : check_no_memory();
    for (size_t i = 0; i < f.nnow; i++)
        baseline_fini(&f.now[i]);
    free(f.now);
    baseline_file_fini(&f.was);
    text_fini(&f.before);
    free(f.path);
    free(f.baseline_path);
    return exit;
}

void check_file_ask(struct text *out, const char *dir, const char *folder, const char *suite)
{
    pack_string(out, dir);
    pack_string(out, folder);
    pack_string(out, suite);
}

bool check_is_baseline(const char *path)
{
    struct text text = TEXT_INIT;
    struct shd_error err;
    bool own = file_read(&text, path, BASELINE_BYTES_MAX, &err) == SHD_OK && baseline_is_own(&text);

    text_fini(&text);
    return own;
}

char *check_join(const char *dir, const char *name)
{
    struct text text = TEXT_INIT;
    size_t length = strlen(dir);

    while (length > 1 && dir[length - 1] == '/')
        length--;
    text_addf(&text, "%.*s/%s", (int)length, dir, name);
    return text_take(&text);
}

int check_no_memory(void)
{
    cmd_error("no memory for the check");
    return CMD_CANNOT;
}
