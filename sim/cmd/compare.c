/* shardsim compare - strategies side by side.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/common.h"
#include "jobs/command.h"
#include "jobs/picture.h"
#include "jobs/sides.h"
#include "jobs/sweep.h"
#include "ranks/ranks.h"
#include "report/compare.h"
#include "report/compare_picture.h"
#include "report/modelled.h"

struct options {
    struct work work;
    struct save save;
    const char *base, *path; /* NULL: the first; standard output */
    const char *memory;      /* NULL: the default */
    bool plan;
    enum compare_format format;
    enum screen_colour colour;
    bool columns[NFIGURES];
    bool has_columns;
    int sort; /* fields of struct compare */
    size_t top;
    int seconds; /* for the rounds; no round begins later */
};

/* As long as a user waits for a table.  The time is enough for some fifty rounds of
 * scenarios/strategies.yaml on a quiet host of two cores, and for four rounds where four other
 * programs are busy on every core. */
#define SECONDS_DEFAULT 5
#define SECONDS_MAX 86400 /* a day */
#define SECOND_NS INT64_C(1000000000)
#define FAILURES_TOLD 8 /* strategies named one by one */

static void take_columns(const struct args_line *line, const struct args_row *row, char *arg,
                         void *at)
{
    struct options *o = at;
    char hint[NEAREST_HINT_MAX], *rest = NULL;

    (void)row;
    for (char *name = strtok_r(arg, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        if (!compare_find_columns(o->columns, name))
            args_error(line,
                       "--columns: no column '%s'; expected names as in --format=csv, or "
                       "all%s",
                       name, compare_hint(hint, sizeof hint, name));
        o->has_columns = true;
    }
    if (!o->has_columns)
        args_error(line, "--columns names none; expected keys as CSV has them, headings, or all");
}

static void take_sort(const struct args_line *line, const struct args_row *row, char *arg, void *at)
{
    char hint[NEAREST_HINT_MAX];
    int *sort = at;

    (void)row;
    *sort = compare_find_sort(arg);
    if (*sort < 0)
        args_error(line,
                   "--sort: no column of numbers '%s'; expected a name as in "
                   "--format=csv%s",
                   arg, compare_hint(hint, sizeof hint, arg));
}

static void find_format(const struct args_line *line, void *input)
{
    struct options *o = input;
    bool given = args_given(line, "format") || args_given(line, "json");

    if (o->path && picture_is_name(o->path)) {
        if (given)
            args_error(line, "--format and --json go without a picture such as '%s'", o->path);
        return;
    }
    if (o->path && !given && !compare_format_of(&o->format, o->path))
        args_error(line,
                   "'%s' has no ending that says a format; expected .txt, .md, .csv, .json, "
                   ".svg, .png, or --format",
                   o->path);
}

#define AT(field) ARGS_AT(struct options, field)

static const struct args_row rows[] = {
    {"base", 'b', "NAME", args_text, AT(base), 0, 0,
     "Compare with this strategy ('STRATEGY', 'SCENARIO: STRATEGY', or 'FILE: STRATEGY'); "
     "otherwise with the first"},
    {"columns", 0, "NAMES", take_columns, 0, 0, 0, 0,
     "The columns of the table, with commas between them: keys as CSV has them, headings such "
     "as replayed, or all; if not given, those that tell strategies apart and fit in one table. Of "
     "a picture: what it has bars of, up to six columns of numbers"},
    {"sort", 0, "NAME", take_sort, AT(sort), 0, 0, "Sort by this column, the best first"},
    {"top", 0, "N", args_count, AT(top), 1, INT32_MAX, "Show the first N only"},
    {"plan", 0, NULL, args_switch, AT(plan), 0, 0,
     "On paper: nothing is executed, replayed or verified"},
    {"seconds", 0, "N", args_count, AT(seconds), 0, SECONDS_MAX,
     "Measure in rounds until replayed times are steady, but for about N seconds at most (5); 0: "
     "in no rounds"},
    COMMON_MEMORY(struct options, memory),
    COMMON_SAVE(struct options, save),
    {"output", 'o', "FILE", args_text, AT(path), 0, 0,
     "Write to a file, in the format of its ending: .txt, .md, .csv, .json, or as a picture: .svg, "
     ".png"},
    {"format", 0, "table|markdown|csv|json", args_choice, AT(format), 0, 0,
     "How to write it; a table if not given"},
    {"json", 'j', NULL, args_set, AT(format), COMPARE_JSON, 0, "The same as --format=json"},
    COMMON_COLOUR(struct options, colour),
    {0}};

/* "WHERE: STRATEGY", or WHERE alone for the strategy that has no name. */
static bool is_name_in(const char *where, const struct scenario *s, const char *name)
{
    size_t length = strlen(where);

    if (strncmp(where, name, length) != 0)
        return false;
    return !strncmp(name + length, ": ", 2)
               ? !strcmp(name + length + 2, s->strategy)
               : !name[length] && !strcmp(s->strategy, SCENARIO_DEFAULT_STRATEGY);
}

static bool is_name(const struct scenario *s, const char *name)
{
    return !strcmp(s->strategy, name) || is_name_in(s->name, s, name) ||
           is_name_in(s->place.file, s, name);
}

/* The base's item; false, with a message, when there is none of that name. */
static bool find_base(struct options *o, size_t *base)
{
    struct nearest near;
    char hint[NEAREST_HINT_MAX];

    *base = 0;
    if (!o->base)
        return true;
    nearest_init(&near, o->base);
    for (size_t i = 0; i < o->work.nitems; i++) {
        if (is_name(o->work.items[i].scenario, o->base)) {
            *base = i;
            return true;
        }
        nearest_add(&near, o->work.items[i].scenario->strategy);
        nearest_add(&near, o->work.items[i].scenario->name);
    }
    log_error(&o->work.log, "there is no strategy '%s' to compare with%s", o->base,
              nearest_hint(&near, hint, sizeof hint));
    return false;
}

static int draw(struct options *o, const struct compare *compare)
{
    struct text svg = TEXT_INIT;
    struct shd_error err;
    int status = compare_picture(&svg, compare, &err);
    bool is_usage = status == SHD_EINVAL;

    if (status == SHD_OK)
        status = picture_write(o->path, &svg, &err);
    text_fini(&svg);
    if (status == SHD_OK)
        return CMD_OK;
    log_error(&o->work.log, "%s", err.text);
    if (cmd_stop_request)
        return CMD_INTERRUPTED;
    return is_usage ? CMD_USAGE : CMD_CANNOT;
}

/* Print failures on stderr when the table goes to a file, with its words. */
static void tell_failures(struct options *o, const struct compare *compare)
{
    size_t told = 0;

    for (size_t i = 0; i < compare->nresults; i++) {
        const struct result *r = &compare->results[i];
        uint128 peak = record_balance_of(r->record, r->record->peak_bytes).max;
        char needs[UNITS_TEXT_MAX], limit[UNITS_TEXT_MAX];

        bool is_wrong = r->record->verified && !record_verified_ok(r->record);
        bool is_over = r->memory_limit_bytes > 0 && peak > r->memory_limit_bytes;
        bool is_full = !is_over && !modelled_fits(r->record);

        if ((!is_wrong && !is_over && !is_full) || told++ >= FAILURES_TOLD)
            continue;
        if (is_wrong)
            log_error(&o->work.log, "%s: %s: wrong numbers", r->file, r->strategy);
        if (is_over)
            log_error(&o->work.log,
                      "%s: %s: needs %s a device, which does not fit limits.memory %s", r->file,
                      r->strategy, units_print_bytes(needs, sizeof needs, peak),
                      units_print_bytes(limit, sizeof limit, r->memory_limit_bytes));
        if (is_full)
            log_error(&o->work.log,
                      "%s: %s: needs %s a device beside its runtime's, which does not fit the "
                      "cluster's",
                      r->file, r->strategy, units_print_bytes(needs, sizeof needs, peak));
    }
    if (told > FAILURES_TOLD)
        log_error(&o->work.log, "%zu more are wrong or do not fit", told - FAILURES_TOLD);
}

static int print(struct options *o, const struct compare *compare)
{
    struct text text = TEXT_INIT;
    struct screen screen;
    struct shd_error err;
    int status, exit;

    screen_init(&screen, stdout, o->path && o->colour == SCREEN_AUTO ? SCREEN_NEVER : o->colour);
    status = compare_print(compare, o->format, &screen, &text, &err);
    exit = work_put(&o->work, o->path, &text, status, &err);
    text_fini(&text);
    return exit;
}

static int compare_all(struct options *o)
{
    struct sides sides = {
        .work = &o->work, .plan = o->plan, .memory = o->memory, .limit_ns = SECOND_NS * o->seconds};
    size_t base;
    int exit, printed;

    if (!find_base(o, &base))
        return CMD_USAGE;
    exit = sides_try(&sides, base);
    sides.compare.columns = o->has_columns ? o->columns : NULL;
    sides.compare.sort = o->sort;
    sides.compare.top = o->top;
    for (size_t i = 0; i < sides.compare.nresults && exit < CMD_USAGE; i++) {
        int saved = save_result(&o->save, &sides.compare.results[i], &o->work.log);

        exit = saved > exit ? saved : exit;
    }
    if (exit < CMD_USAGE && sides.compare.nresults > 0) {
        printed = (o->path && picture_is_name(o->path) ? draw : print)(o, &sides.compare);
        exit = printed > exit ? printed : exit;
        if (o->path && strcmp(o->path, "-") != 0)
            tell_failures(o, &sides.compare);
        printed = sides_tell_fit(&sides);
        exit = printed > exit ? printed : exit;
    }
    sides_fini(&sides);
    return exit;
}

/* ---- planned on all ranks ---- */

/* Like sides_tell_fit(), but the program of the strategy that needs least is built first. */
static int tell_fit(struct options *o, const struct sweep *s)
{
    struct work *w = &o->work;
    size_t least = 0;
    struct diag diag = DIAG_INIT;
    int exit = CMD_CANNOT;

    for (size_t i = 0; i < w->nitems; i++) {
        if (!s->items[i].planned || s->items[i].fits)
            return CMD_OK;
        if (s->items[i].peak_bytes < s->items[least].peak_bytes)
            least = i;
    }
    if (trial_init(&w->items[least].trial, w->items[least].scenario, &diag) == SHD_OK)
        exit = work_tell_fit(w, &w->items[least]);
    diag_fini(&diag);
    return exit;
}

struct planned {
    struct compare compare;
    struct result *results;
    struct compare_planned *rows;
    struct compare_skipped *skipped;
};

static bool planned_init(struct planned *out, const struct work *w)
{
    *out = (struct planned){.results = calloc(w->nitems + 1, sizeof *out->results),
                            .rows = calloc(w->nitems + 1, sizeof *out->rows),
                            .skipped = calloc(w->nskipped + 1, sizeof *out->skipped)};
    out->compare.results = out->results;
    out->compare.planned = out->rows;
    out->compare.skipped = out->skipped;
    return out->results && out->rows && out->skipped;
}

static void planned_fini(struct planned *p)
{
    free(p->results);
    free(p->rows);
    free(p->skipped);
}

static int list_planned(struct planned *p, const struct options *o, struct sweep *s, size_t base)
{
    const struct work *w = &o->work;
    int exit = CMD_OK;

    for (; p->compare.nskipped < w->nskipped; p->compare.nskipped++) {
        const struct work_skipped *from = &w->skipped[p->compare.nskipped];

        p->skipped[p->compare.nskipped] = (struct compare_skipped){
            from->scenario->name, from->scenario->strategy, from->why};
    }
    for (size_t i = 0; i < w->nitems; i++) {
        struct sweep_item *item = &s->items[i];
        const struct scenario *scenario = w->items[i].scenario;

        exit = item->exit > exit ? item->exit : exit;
        if (!item->planned)
            continue;
        if (i == base)
            p->compare.base = p->compare.nresults;
        p->rows[p->compare.nresults] = (struct compare_planned){&item->row, item->json};
        p->results[p->compare.nresults++] = (struct result){.scenario = scenario->name,
                                                            .strategy = scenario->strategy,
                                                            .file = scenario->place.file,
                                                            .what = text_get(&item->what)};
    }
    return exit;
}

/* A sweep_tell_fn. */
static int print_planned(void *arg, struct sweep *s)
{
    struct options *o = arg;
    struct planned p;
    size_t base;
    int exit = CMD_CANNOT, more;

    if (!find_base(o, &base))
        return CMD_USAGE;
    if (planned_init(&p, &o->work))
        exit = list_planned(&p, o, s, base);
    else
        log_error(&o->work.log, "no memory for the comparison");
    p.compare.columns = o->has_columns ? o->columns : NULL;
    p.compare.sort = o->sort;
    p.compare.top = o->top;
    if (exit < CMD_USAGE && p.compare.nresults > 0) {
        more = (o->path && picture_is_name(o->path) ? draw : print)(o, &p.compare);
        exit = more > exit ? more : exit;
        more = tell_fit(o, s);
        exit = more > exit ? more : exit;
    }
    planned_fini(&p);
    return exit;
}

static int compare_with_ranks(struct options *o)
{
    struct sweep_wants wants = {.row = true, .json = o->format == COMPARE_JSON};

    return sweep_run(&o->work, wants, print_planned, o);
}

static int compare_alone(struct options *o)
{
    int exit = o->plan ? work_prepare(&o->work) : work_prepare_all(&o->work), saved;

    if (exit == CMD_OK)
        exit = save_begin(&o->save, &o->work.log);
    if (exit == CMD_OK) {
        exit = compare_all(o);
        saved = save_end(&o->save, exit == CMD_INTERRUPTED, &o->work.log);
        exit = saved > exit ? saved : exit;
    }
    return exit;
}

static const struct args args = {
    .own = {rows},
    .parts = {{&common_work, offsetof(struct options, work)},
              {&common_spread, offsetof(struct options, work)}},
    .operands = "SCENARIO...",
    .check = find_format,
    .help =
        "Strategies side by side, all of a file's or those of several files: bytes received, "
        "flops, memory, the replayed step, and whether the numbers are right; and who wins, by how "
        "much, why, and at what price.\v" SIDES_WHEN_EXECUTED "\n\n"
        "For the replayed step each is executed once by all devices, and then measured in rounds, "
        "in which devices walk the step alone and strategies take turns. The same work has one "
        "time, the least that was seen. The spread is how far the step of the slower half of the "
        "rounds is above that of all. Rounds end when every spread is at most 1 %, or after "
        "--seconds. Steps that differ by no more than the larger spread of the two, or by 1 %, are "
        "within noise: none of them is called the best.\n\n"
        "Examples:\n"
        "  Five layouts of one model, beside the one named tensor:\n"
        "    shardsim compare scenarios/strategies.yaml --base tensor\n"
        "  The five that move least of a sweep of forty, with all columns:\n"
        "    shardsim compare --plan scenarios/sweep.yaml --sort received_bytes --top 5\n"
        "  Forty of a sweep, on paper, for a spreadsheet:\n"
        "    shardsim compare --plan scenarios/sweep.yaml -o sweep.csv\n"
        "  Two files, as a table for a pull request:\n"
        "    shardsim compare scenarios/dp_tp.yaml scenarios/fsdp.yaml -o "
        "table.md\n"
        "  The same as bars, for a slide:\n"
        "    shardsim compare scenarios/dp_tp.yaml scenarios/fsdp.yaml -o "
        "bars.png\n"
        "\n" ARGS_EXIT_STATUS("  1    wrong numbers, or one does not fit\n")};

static int run(int argc, char **argv)
{
    struct options o = {.format = COMPARE_TABLE, .sort = -1, .seconds = SECONDS_DEFAULT};
    bool shared;
    int exit;

    if (!work_init(&o.work, argc))
        return CMD_CANNOT;
    args_parse(&args, argc, argv, &o);
    shared = o.plan && !o.save.wanted && sweep_is_for(&o.work);
    exit = cmd_check_output(o.path);
    if (exit == CMD_OK && shared)
        exit = compare_with_ranks(&o);
    else if (exit == CMD_OK && (!o.plan || ranks_me() == 0))
        exit = compare_alone(&o);
    work_fini(&o.work);
    return exit;
}

const struct cmd cmd_compare = {"compare", "strategies side by side", run};
