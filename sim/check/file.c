/* Checking one scenario file against its baseline (check_file.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "check/file.h"

#include <stdlib.h>
#include <string.h>

#include "base/pack.h"
#include "base/wait.h"
#include "check/script.h"
#include "check/stored.h"
#include "command/command.h"
#include "run/ranks/ranks.h"
#include "report/outcome.h"

#define OLDER                                                                                 \
    "its baseline is of an older shardsim, without the given options and the modelled step; " \
    "'shardsim check --update' adds them"
#define OLD_FORMAT                                                                           \
    "its baseline has format 1, with old keys of figures; 'shardsim check --update' writes " \
    "format 2"

/* A strategy that was tried. */
struct strategy_check {
    const struct scenario *scenario;
    struct check_strategy check;
    const char *notes[OUTCOME_NNOTES]; /* NULL: none */
    uint64_t time_ns;
};

struct file_check {
    const struct check_wish *wish;
    const char *suite; /* below the folder */
    char *path, *baseline_path;
    bool is_script;
    const char **words; /* for a script: those of the baseline, with those of the command line */
    size_t nwords;
    struct check_script script; /* of such a file; zeroed until it is read */
    struct text hardware;       /* as a value of --set */
    char *imported;             /* name of the imported scenario in messages, without line numbers */
    struct text told;   /* packed outcomes, for the answer */
    struct check_stored stored;
    struct strategy_check *done;
    size_t ndone;
    int64_t load_ns; /* time in which the file was read and its programs were made */
    bool wrong;             /* not to be accepted */
    struct unpack orphans;  /* names of baselines without a scenario, to the end of the task */
    const char *was_called; /* the orphan that matches this file; NULL: none */
};

/* Whether a file was given: the script, its baseline, or one that the script reads. */
static bool is_given(const struct file_check *f, const char *file)
{
    bool given = !strcmp(file, f->path) || !strcmp(file, f->baseline_path);

    for (size_t i = 0; i < f->nwords && !given; i++)
        given = !strncmp(f->words[i], "with=", 5) && !strcmp(f->words[i] + 5, file);
    return given;
}

/* Append reasons; those at a line of the scenario that a script became have no line in the script.
 */
static void append_reasons(const struct file_check *f, struct diag *out, const struct diag *reasons)
{
    for (size_t i = 0; i < reasons->nmessages; i++) {
        const struct diag_message *m = &reasons->messages[i];
        struct place place = {m->file, m->line, m->column};

        if (f->is_script && m->file && !is_given(f, m->file))
            place = (struct place){f->path, 0, 0};
        diag_error(out, place, "%s", m->text);
    }
    if (reasons->no_memory)
        diag_no_memory(out);
}

/* Note the outcome of a strategy, or of the file as a whole if `name` is "" and `strategy` NULL. */
static int note_outcome(struct file_check *f, enum outcome_kind kind, const char *file,
                        const char *name, const struct diag *reasons,
                        const struct strategy_check *strategy)
{
    struct outcome o;
    bool there = outcome_init(&o, file, f->suite, name), ok = there;
    size_t whole = f->told.length;

    for (size_t i = 0; ok && strategy && i < OUTCOME_NNOTES; i++)
        ok = outcome_set_note(&o, (enum outcome_note)i, strategy->notes[i]);
    if (ok) {
        o.kind = kind;
        o.time_ns = strategy ? strategy->time_ns : 0;
        append_reasons(f, &o.reasons, reasons);
        ok = !o.reasons.no_memory;
    }
    if (ok) {
        pack_uint(&f->told, CHECK_OUTCOME);
        outcome_pack(&o, &f->told);
        ok = !f->told.failed;
    }
    if (!ok)
        f->told.length = whole; /* drop the incomplete note */
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
    exit = note_outcome(f, kind, f->path, name, &reasons, NULL);
    diag_fini(&reasons);
    return exit;
}

/* ---- whether the file was renamed ---- */

static bool is_as(const struct file_check *f, const struct baseline_file *was)
{
    bool same = was->count == f->ndone && f->ndone > 0;

    for (size_t i = 0; i < f->ndone && same; i++) {
        const struct baseline *now = &f->done[i].check.now;
        const struct baseline *before = baseline_find(was, f->done[i].scenario->strategy);
        struct diag changes = DIAG_INIT;

        same = now->name && before && before->nfindings == now->nfindings;
        if (same)
            baseline_diff(&changes, before, now, (struct place){f->path, 0, 0}, false);
        same &= changes.nerrors == 0 && !changes.no_memory;
        diag_fini(&changes);
    }
    return same;
}

/* Whether a baseline without a scenario is as this file is now; what cannot be read is not. */
static bool is_orphan_as(const struct file_check *f, const char *orphan)
{
    size_t length = strlen(f->baseline_path) - strlen(f->suite);
    struct check_stored stored = CHECK_STORED_INIT;
    struct text path = TEXT_INIT;
    struct diag faults = DIAG_INIT;
    bool same;

    text_addf(&path, "%.*s%s", (int)length, f->baseline_path, orphan);
    same = check_stored_read(&stored, text_get(&path), &faults) == SHD_OK && is_as(f, &stored.was);
    check_stored_fini(&stored);
    diag_fini(&faults);
    text_fini(&path);
    return same;
}

static int find_name_before(struct file_check *f)
{
    size_t whole = f->told.length;

    while (f->stored.was.count == 0 && !f->was_called && f->orphans.at < f->orphans.end &&
           !f->orphans.bad) {
        const char *orphan = unpack_string(&f->orphans);

        if (!f->orphans.bad && is_orphan_as(f, orphan))
            f->was_called = orphan;
    }
    if (!f->was_called)
        return CMD_OK;
    pack_uint(&f->told, CHECK_RENAMED);
    pack_string(&f->told, f->was_called);
    if (!f->told.failed)
        return CMD_OK;
    f->told.length = whole; /* drop the incomplete note */
    return check_no_memory();
}

/* Add the reasons why a strategy fails, or that the file seems renamed. */
static void add_reasons(struct diag *out, const struct file_check *f,
                        const struct check_strategy *c)
{
    diag_append(out, &c->wrong);
    if (f->was_called && c->changed_kind == OUTCOME_NEW && !c->wrong.nerrors)
        diag_error(out, (struct place){f->path, 0, 0},
                   "has no baseline, and equals that of %s: renamed? 'shardsim check --update "
                   "--prune' moves the baseline",
                   f->was_called);
    else
        diag_append(out, &c->changes);
}

/* A baseline is written for all strategies of a file, or not at all. */
static int judge(struct file_check *f, const struct strategy_check *s)
{
    const struct check_strategy *c = &s->check;
    struct diag reasons = DIAG_INIT;
    enum outcome_kind kind = OUTCOME_PASSED;
    int exit;

    add_reasons(&reasons, f, c);
    if (c->wrong.nerrors)
        kind = c->wrong_kind;
    else if (c->changes.nerrors && (!f->wish->update || f->wrong))
        kind = c->changed_kind;
    if (f->wish->update && kind != OUTCOME_PASSED && !c->wrong.nerrors)
        diag_error(&reasons, (struct place){f->path, 0, 0},
                   "not accepted, because another strategy of this file is wrong");
    exit = note_outcome(f, kind, f->path, s->scenario->strategy, &reasons, s);
    diag_fini(&reasons);
    return exit;
}

/* Why a strategy could not be executed is said by rank 0, which tries it once more. */
static bool is_for_first(const struct check_strategy *s)
{
    return ranks_me() > 0 && !s->now.name;
}

/* Choose the mode of a strategy.  One that would take too long is planned: with the same bytes and
 * memory, but no numbers. */
static enum record_mode mode_of(const struct file_check *f, struct work *w,
                                const struct work_item *item, double *flops, const char **why)
{
    bool no_progress = w->log.quiet;

    *why = f->wish->plan ? NULL : work_too_much(item, flops);
    w->log.quiet = f->wish->quiet;
    if (*why)
        log_note(&w->log, "%s: planned, not executed: %s %s", f->path, item->scenario->strategy,
                 *why);
    w->log.quiet = no_progress;
    return f->wish->plan || *why ? RECORD_PLANNED : RECORD_EXECUTED;
}

static int check_strategies(struct file_check *f, struct work *w)
{
    double flops = 0;
    int exit = CMD_OK;

    f->done = calloc(w->nitems + 1, sizeof *f->done);
    if (!f->done)
        return check_no_memory();
    for (size_t i = 0; i < w->nitems && exit == CMD_OK; i++) {
        struct strategy_check *s = &f->done[f->ndone++];
        struct baseline *was = baseline_find(&f->stored.was, w->items[i].scenario->strategy);
        const struct check_before before = {was, f->is_script ? &f->script.lines : NULL,
                                            f->is_script ? &f->script.unplanned : NULL};
        int64_t begin_ns = wait_clock_ns();

        s->scenario = w->items[i].scenario;
        w->items[i].trial.memory = f->wish->memory;
        exit = check_strategy_init(&s->check, w, &w->items[i],
                                   mode_of(f, w, &w->items[i], &flops, &s->notes[OUTCOME_PLANNED]),
                                   f->wish, &before);
        s->time_ns = (uint64_t)(wait_clock_ns() - begin_ns + f->load_ns / (int64_t)w->nitems);
        if (exit == CMD_OK && is_for_first(&s->check))
            exit = CMD_CANNOT;
        if (was && !was->has_given && !f->wish->update)
            s->notes[OUTCOME_OLDER] = OLDER;
        else if (was && f->stored.was.version < BASELINE_VERSION && !f->wish->update)
            s->notes[OUTCOME_OLDER] = OLD_FORMAT;
        f->wrong |= s->check.wrong.nerrors > 0;
        trial_fini(&w->items[i].trial);
    }
    return exit;
}

/* Tell of the strategies tried, even if the file was not checked to the end. */
static int tell_strategies(struct file_check *f, const struct work *w, bool all)
{
    int exit = CMD_OK;

    for (size_t i = 0; i + !all < f->ndone && exit == CMD_OK; i++)
        exit = judge(f, &f->done[i]);
    for (size_t i = 0; all && i < w->nskipped && exit == CMD_OK; i++)
        exit = note_words(f, OUTCOME_SKIPPED, w->skipped[i].scenario->strategy, w->skipped[i].why);
    return exit;
}

static bool is_there(const struct file_check *f, const char *strategy)
{
    for (size_t i = 0; i < f->ndone; i++)
        if (!strcmp(f->done[i].scenario->strategy, strategy))
            return true;
    return false;
}

/* Tell of baselines whose strategies are gone. */
static int check_left_over(struct file_check *f)
{
    int exit = CMD_OK;

    for (size_t i = 0; i < f->stored.was.count && exit == CMD_OK; i++)
        if (!f->wrong && !is_there(f, f->stored.was.list[i].name))
            exit = note_words(f, f->wish->update ? OUTCOME_PASSED : OUTCOME_MISSING,
                              f->stored.was.list[i].name,
                              "it has a baseline, but the file no longer has this strategy");
    return exit;
}

/* A baseline's text without its first line, which names the file by the path of the check. */
static const char *below_name(const char *baseline)
{
    return baseline + strcspn(baseline, "\n");
}

/* Print the baseline as it is to be stored: with the version that wrote the stored one, where
 * nothing else would change. */
static void print_baseline(const struct file_check *f, const struct baseline *now, struct text *out)
{
    struct baseline_head head = {f->suite, f->stored.was.by, f->words, f->nwords};

    if (f->stored.was.by)
        baseline_print(now, f->ndone, &head, out);
    if (f->stored.was.by && !strcmp(below_name(text_get(out)), below_name(text_get(&f->stored.text))))
        return;
    text_clear(out);
    head.by = PACKAGE_VERSION;
    baseline_print(now, f->ndone, &head, out);
}

/* Note a baseline to be written, before the outcomes, which say that changes were accepted. */
static int note_baseline(struct file_check *f, struct text *answer)
{
    struct baseline *now = calloc(f->ndone + 1, sizeof *now);
    struct text text = TEXT_INIT;

    if (!now)
        return check_no_memory();
    for (size_t i = 0; i < f->ndone; i++)
        now[i] = f->done[i].check.now; /* which owns it */
    print_baseline(f, now, &text);
    free(now);
    answer->failed |= text.failed;
    if (strcmp(below_name(text_get(&text)), below_name(text_get(&f->stored.text))) != 0) {
        pack_uint(answer, CHECK_BASELINE);
        pack_string(answer, f->baseline_path);
        pack_string(answer, text_get(&text));
    } else {
        pack_uint(answer, CHECK_SAME);
    }
    text_fini(&text);
    return CMD_OK;
}

static int check_loaded(struct file_check *f, struct work *w)
{
    int exit = check_strategies(f, w), told;

    if (exit == CMD_OK)
        exit = find_name_before(f);
    told = tell_strategies(f, w, exit == CMD_OK);
    exit = exit == CMD_OK ? told : exit;
    return exit == CMD_OK ? check_left_over(f) : exit;
}

/* Make the scenario of a script, for `w` to load.  False: `diag` says why not. */
static bool import_script(struct file_check *f, struct work *w, struct diag *diag)
{
    struct text name = TEXT_INIT;

    f->words = calloc(f->stored.was.nwords + f->wish->nwords + 1, sizeof *f->words);
    if (!f->words) {
        diag_no_memory(diag);
        return false;
    }
    f->nwords = check_script_merge(f->words, (const char *const *)f->stored.was.words,
                                   f->stored.was.nwords,
                                   (const char *const *)f->wish->words, f->wish->nwords);
    check_script_init(&f->script, f->path, f->words, f->nwords, diag);
    text_addf(&name, "%s, imported", f->path);
    f->imported = text_take(&name);
    if (!f->imported)
        diag_no_memory(diag);
    if (diag->nerrors > 0 || diag->no_memory)
        return false;
    w->names[0] = f->imported;
    w->text = &f->script.scenario;
    if (f->script.hardware) {
        text_addf(&f->hardware, "hardware=%s", f->script.hardware);
        w->sets[w->nsets++] = text_get(&f->hardware);
    }
    return true;
}

/* Load the scenarios; what is wrong with the file goes to w->diag. */
static int load(struct file_check *f, struct work *w)
{
    int exit = CMD_OK;

    f->load_ns = -wait_clock_ns();
    w->names[w->nnames++] = f->path;
    if (f->is_script && !import_script(f, w, &w->diag))
        exit = cmd_exit_of_input(&w->diag);
    if (exit == CMD_OK)
        exit = work_load(w);
    f->load_ns += wait_clock_ns();
    f->wrong = exit != CMD_OK;
    return exit;
}

/* Read the baseline, then the file, which a baseline may say how to read. */
static int check_work(struct file_check *f, struct work *w)
{
    struct diag faults = DIAG_INIT;
    int status = check_stored_read(&f->stored, f->baseline_path, &faults), exit;
    bool bad = status != SHD_OK && (f->stored.is_foreign || !f->wish->update);

    exit = status == SHD_ENOMEM ? check_no_memory() : load(f, w);
    if (status != SHD_ENOMEM && exit == CMD_USAGE) {
        exit = note_outcome(f, OUTCOME_BAD_SCENARIO, f->path, "", &w->diag, NULL);
    } else if (exit == CMD_OK && bad) {
        f->wrong = true;
        exit = note_outcome(f, OUTCOME_BAD_BASELINE, f->baseline_path, "", &faults, NULL);
        exit = exit == CMD_OK ? check_left_over(f) : exit;
    } else if (exit == CMD_OK) {
        exit = check_loaded(f, w);
    } else if (status != SHD_ENOMEM) {
        diag_write(&w->diag, stderr);
    }
    diag_fini(&faults);
    return exit;
}

static int check_file(struct file_check *f, struct text *answer)
{
    struct work w = {.diag = DIAG_INIT};
    int exit = CMD_CANNOT;

    if (work_init(&w, 1)) {
        /* Without a terminal, the test points show progress. */
        w.log.quiet = f->wish->quiet || !w.log.is_tty;
        log_progress_begin(&w.log);
        exit = check_work(f, &w);
        log_progress_end(&w.log);
        if (exit == CMD_OK && f->wish->update && !f->wrong)
            exit = note_baseline(f, answer);
        work_fini(&w);
    }
    return exit;
}

static void file_check_fini(struct file_check *f)
{
    for (size_t i = 0; i < f->ndone; i++)
        check_strategy_fini(&f->done[i].check);
    free(f->done);
    check_script_fini(&f->script);
    free(f->words);
    text_fini(&f->hardware);
    free(f->imported);
    check_stored_fini(&f->stored);
    text_fini(&f->told);
    free(f->path);
    free(f->baseline_path);
}

int check_file_work(void *wish, const void *task, size_t bytes, struct text *answer)
{
    struct file_check f = {.wish = wish,
                           .told = TEXT_INIT,
                           .stored = CHECK_STORED_INIT,
                           .hardware = TEXT_INIT,
                           .script = {.scenario = TEXT_INIT}};
    const char *dir, *folder;
    struct unpack from;
    int exit;

    unpack_init(&from, task, bytes);
    dir = unpack_string(&from);
    folder = unpack_string(&from);
    f.suite = unpack_string(&from);
    f.orphans = from;
    f.path = check_join(dir, f.suite);
    f.is_script = check_is_script(f.suite);
    f.baseline_path = check_join_baseline(folder, f.suite);
    exit = f.path && f.baseline_path ? check_file(&f, answer) : check_no_memory();
    text_add_bytes(answer, text_get(&f.told), f.told.length);
    file_check_fini(&f);
    return exit;
}

void check_file_ask(struct text *out, const struct check_item *item, const struct check_list *list)
{
    pack_string(out, item->dir);
    pack_string(out, item->folder);
    pack_string(out, item->suite);
    for (size_t i = 0; i < list->norphans; i++)
        if (!strcmp(list->orphans[i].folder, item->folder))
            pack_string(out, list->orphans[i].suite);
}

int check_no_memory(void)
{
    cmd_error("no memory for the check");
    return CMD_CANNOT;
}
