/* shardsim search - the best layout of a model on a cluster.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/common.h"
#include "jobs/chosen.h"
#include "jobs/command.h"
#include "jobs/picture.h"
#include "jobs/search_scaling.h"
#include "jobs/search_tensors.h"
#include "ranks/ranks.h"
#include "search/crew.h"
#include "search/search_picture.h"
#include "search/search_report.h"
#include "store/write.h"
#include "timetable/timetable.h"

#define TOP 10         /* layouts listed by default */
#define TOP_MAX 1000
#define THREADS_MAX 1024
#define TELL_SECONDS 5 /* time for an interrupted search to print its best layouts */
#define SECONDS_MAX 1000000

struct options {
    struct chosen chosen;
    struct space_range ranges[SPACE_RANGES_MAX];
    size_t nranges, ntop, nplans, row;
    int64_t devices;              /* 0: the mesh's number */
    int64_t counts[SCALING_MOST]; /* of a scaling study */
    size_t ncounts;
    double price;          /* of a device for an hour; 0: not given */
    double within_s;       /* 0: find the shortest step */
    int nthreads, seconds; /* 0 seconds: no limit */
    bool all, json, quiet, sensitivity;
    const char *output, *journal, *picture;
    bool by_tensors;
    const char *tensors;
    uint64_t memory_bytes;
    struct farm *farm; /* over all ranks; NULL: only one */
    struct log *log;
};

/* ---- options ---- */

/* Layouts and tensors are searched by other options. */
static void check_together(const struct args_line *line, void *input)
{
    struct options *o = input;

    o->by_tensors = args_given(line, "tensors");
    if (o->ncounts > 1 && (o->journal || o->output || o->sensitivity || o->by_tensors))
        args_error(line, "several --devices go without --journal, --output, --sensitivity and "
                         "--tensors; ask for one count");
    if (o->journal && o->memory_bytes > 0)
        args_error(line, "--journal goes without --memory, which says what of it fits");
    if (o->sensitivity && (o->memory_bytes > 0 || o->within_s > 0))
        args_error(line, "--sensitivity goes without --memory and --within");
    if (o->price > 0 && o->ncounts < 2)
        args_error(line, "--price goes with several --devices, such as --devices 64..1024");
    if (o->ncounts > 1 && (o->memory_bytes > 0 || o->within_s > 0 || o->seconds > 0))
        args_error(line, "several --devices go without --memory, --within and --seconds");
    if (o->by_tensors &&
        (o->within_s > 0 || o->sensitivity || o->picture || o->nranges > 0 || o->devices > 0 ||
         o->nplans > 0 || o->seconds > 0 || o->all || o->journal || o->ntop != TOP || o->row != 1))
        args_error(line, "--tensors goes with --memory, --threads, --json and --output only");
}

/* "64", "64..4096" or "64,96,128". */
static void take_devices(const struct args_line *line, const struct args_row *row, char *arg,
                         void *at)
{
    struct options *o = at;
    struct shd_error err;

    (void)row;
    if (scaling_parse(o->counts, &o->ncounts, arg, &err) != SHD_OK)
        args_error(line, "--devices: %s", err.text);
    if (o->ncounts == 1)
        o->devices = o->counts[0];
}

static void take_above_0(const struct args_line *line, const struct args_row *row, char *arg,
                         void *at)
{
    char *end;
    double value = strtod(arg, &end);

    if (end == arg || *end || !(value > 0) || value > 1e9)
        args_error(line, "--%s is '%s'; expected a number above 0", row->name, arg);
    *(double *)at = value;
}

/* A range; `least` of the row says that it forbids. */
static void take_range(const struct args_line *line, const struct args_row *row, char *arg,
                       void *at)
{
    struct options *o = at;
    struct shd_error err;

    if (o->nranges == SPACE_RANGES_MAX)
        args_error(line, "more than %d ranges", SPACE_RANGES_MAX);
    if (space_parse_range(&o->ranges[o->nranges], arg, row->least, &err) != SHD_OK)
        args_error(line, "%s", err.text);
    o->nranges++;
}

#define AT(field) ARGS_AT(struct options, field)

static const struct args_row rows[] = {
    {"range", 0, "CHOICE=VALUE", take_range, 0, 0, false, 0,
     "Keep a choice to a value or to values from..to, e.g. tp=8 or pp=4..16; may be given again"},
    {"forbid", 0, "CHOICE=VALUE", take_range, 0, 0, true, 0,
     "Leave these values out; may be given again"},
    {"devices", 0, "N", take_devices, 0, 0, 0, 0,
     "On so many devices (as many as the scenario's mesh has); of A..B, all doublings, or A,B,C "
     "the best layout of each"},
    {"price", 0, "NUMBER", take_above_0, AT(price), 0, 0,
     "Of several --devices: what a device costs an hour"},
    {"top", 0, "N", args_count, AT(ntop), 1, TOP_MAX, "Find the N best (10)"},
    {"plans", 0, "N", args_count, AT(nplans), 1, INT32_MAX,
     "Plan at most N layouts, and say how much better another may be (as many as it takes)"},
    {"seconds", 0, "N", args_count, AT(seconds), 1, SECONDS_MAX,
     "Search for N seconds at most, and say how much better another layout may be (as long as it "
     "takes)"},
    {"no-prune", 0, NULL, args_switch, AT(all), 0, 0, "Plan every layout, whatever its bounds"},
    {"threads", 't', "N", args_count, AT(nthreads), 1, THREADS_MAX,
     "Plan with so many threads (one a core)"},
    {"sensitivity", 0, NULL, args_switch, AT(sensitivity), 0, 0,
     "Search again with links 10 % slower, with half the memory, and with a node less"},
    {"picture", 0, "FILE", common_picture, AT(picture), 0, 0,
     "Draw steps against memory; of several --devices, throughput against these: FILE.svg or "
     "FILE.png"},
    {"json", 0, NULL, args_switch, AT(json), 0, 0, "Print JSON"},
    {"journal", 0, "FILE", args_text, AT(journal), 0, 0,
     "Keep all plans in FILE, and go on from those that are in it: the same search again, after it "
     "was interrupted"},
    {"tensors", ARGS_BARE, "PATTERN", args_text, AT(tensors), 0, 0,
     "Search instead the sharding of each parameter whose name matches (all), on the scenario's "
     "mesh"},
    {"memory", 0, "SIZE", args_bytes, AT(memory_bytes), 0, 0,
     "What a device may have: with --tensors instead of the scenario's limits.memory, else of the "
     "cluster's own"},
    {"within", 0, "SECONDS", take_above_0, AT(within_s), 0, 0,
     "Find the layouts of least memory whose steps take no longer"},
    {"output", 'o', "FILE", args_text, AT(output), 0, 0, "Write the best layout's scenario here"},
    {"row", 0, "N", args_count, AT(row), 1, TOP_MAX, "Of --output: the N-th best (1)"},
    {"quiet", 'q', NULL, args_switch, AT(quiet), 0, 0, "Show no progress on stderr"},
    {0}};

/* ---- progress ---- */

static void show_progress(void *arg, const struct search_progress *p)
{
    char best[UNITS_TEXT_MAX], bound[UNITS_TEXT_MAX], found[3 * UNITS_TEXT_MAX] = "";
    char speed[UNITS_TEXT_MAX] = "";

    if (p->next_bound_s > 0) /* it plans */
        cmd_stop_within(TELL_SECONDS);
    if (p->best_s > 0)
        snprintf(found, sizeof found, "; best %s, none left below %s",
                 units_print_seconds(best, sizeof best, p->best_s),
                 units_print_seconds(bound, sizeof bound, p->next_bound_s));
    if (p->layouts_per_s > 0)
        snprintf(speed, sizeof speed, "; %.0f layouts a second", p->layouts_per_s);
    log_progress_line(arg, "%zu of at most %zu %s%s%s", p->ndone, p->ntotal, p->what, found, speed);
}

/* ---- what comes out ---- */

/* Why the search ended before it was over; NULL: it did not. */
static const char *why_cut_short(void)
{
    return cmd_stop_request ? "interrupted" : cmd_halt ? "out of time" : NULL;
}

static int write_scenario(const struct options *o, const struct search_outcome *outcome)
{
    const struct search *s = outcome->search;
    struct text text = TEXT_INIT;
    struct attempt attempt;
    struct shd_error err;
    int status;

    if (o->row > s->nbest) {
        cmd_error("there is no row %zu to write: %zu layouts that fit were planned", o->row,
                  s->nbest);
        return CMD_FAILED;
    }
    status =
        attempt_init(&attempt, s->subject, &s->items[s->plans[s->best[o->row - 1]].item].layout,
                     ATTEMPT_WHOLE, 0, &err);
    if (status == SHD_OK) {
        if (outcome->cut_short)
            text_addf(&text,
                      "# The best so far of a search that was cut short (%s): of %zu layouts, %zu "
                      "were planned.\n",
                      outcome->cut_short, s->nlayouts, s->nplans);
        scenario_print(attempt.trial.scenario, &text);
        attempt_fini(&attempt);
        status = text.failed ? shd_error_set(&err, SHD_ENOMEM, "no memory for the scenario")
                             : store_write(o->output, &text, &err);
    }
    text_fini(&text);
    if (status != SHD_OK) {
        cmd_error("%s", err.text);
        return CMD_CANNOT;
    }
    return CMD_OK;
}

static int put(const struct options *o, const struct search_outcome *outcome)
{
    struct text text = TEXT_INIT;
    struct json_out json;
    int exit;

    if (o->json) {
        json_out_init_text(&json, &text, JSON_OUT_PRETTY);
        outcome_json(&json, outcome);
        text_add_char(&text, '\n');
    } else {
        search_report_text(&text, outcome);
    }
    exit = cmd_put_last(&text);
    text_fini(&text);
    return exit;
}

/* Add to the search: neighbours, families, and the search repeated on a worse cluster. */
static int look_around(struct search_outcome *outcome, struct sensitivity *sensitivity,
                       const struct options *o, struct search *s, const struct search_opts *opts)
{
    struct shd_error err;
    int status = outcome_look_around(outcome, s, opts, &err);

    if (status == SHD_OK && o->sensitivity && s->nbest > 0) {
        status = sensitivity_find(sensitivity, &o->chosen.trial, &s->subject->space,
                                  &s->items[s->plans[s->best[0]].item].layout, opts, &err);
        outcome->sensitivity = sensitivity;
    }
    if (status == SHD_OK)
        return CMD_OK;
    cmd_error("%s", err.text);
    return CMD_CANNOT;
}

static int draw_front(const struct options *o, const struct search_outcome *outcome)
{
    struct text text = TEXT_INIT;
    struct shd_error err;
    int status;

    search_picture_front(&text, outcome);
    status = picture_write(o->picture, &text, &err);
    text_fini(&text);
    if (status == SHD_OK)
        return CMD_OK;
    cmd_error("%s", err.text);
    return CMD_CANNOT;
}

static int answer(const struct options *o, struct search *s, const struct search_opts *opts,
                  double own_step_s)
{
    struct search_outcome outcome = {.search = s, .ntop = o->ntop, .own_step_s = own_step_s};
    struct sensitivity sensitivity;
    int exit;

    if (!s->over)
        outcome.cut_short = why_cut_short();
    exit = look_around(&outcome, &sensitivity, o, s, opts);
    outcome_find_error(&outcome);
    if (exit == CMD_OK)
        exit = put(o, &outcome);
    if (exit == CMD_OK && s->nbest == 0)
        exit = CMD_FAILED;
    if (exit == CMD_OK && o->output)
        exit = write_scenario(o, &outcome);
    if (exit == CMD_OK && o->picture)
        exit = draw_front(o, &outcome);
    return cmd_stop_request ? CMD_INTERRUPTED : exit;
}

/* The step of the unchanged scenario, if for the same number of devices; 0: none, or
 * interrupted. */
static double own_step(struct chosen *chosen, const struct space *space)
{
    struct trial *trial = &chosen->trial;
    struct modelled_figures figures;
    struct shd_error err;

    if (cmd_stop_request || shd_mesh_size(trial->mesh) != space->devices ||
        trial_plan(trial, &err) != SHD_OK)
        return 0;
    modelled_figures_of(&figures, trial->record, 0);
    return figures.step_s;
}

static int exit_of(int status)
{
    return status == SHD_ENOMEM || status == SHD_ESYSTEM ? CMD_CANNOT : CMD_USAGE;
}

static int search(struct options *o)
{
    struct subject subject;
    struct search_opts opts = {.ntop = o->ntop,
                               .nplans = o->nplans,
                               .all = o->all,
                               .nthreads = o->nthreads,
                               .farm = o->farm,
                               .within_s = o->within_s,
                               .stop = &cmd_halt,
                               .progress = show_progress,
                               .arg = o->log};
    struct search found;
    struct shd_error err;
    int exit,
        status = subject_init(&subject, &o->chosen.trial, o->devices, o->ranges, o->nranges, &err);

    if (status == SHD_OK && o->memory_bytes > 0)
        subject_suppose(&subject, 1, (double)o->memory_bytes / subject.hardware->memory_bytes);
    if (status == SHD_OK && o->journal)
        status = journal_open(&opts.journal, o->journal, &subject, &err);
    log_progress_begin(o->log);
    if (status == SHD_OK)
        status = search_run(&found, &subject, &opts, &err);
    log_progress_end(o->log);
    if (status != SHD_OK) {
        cmd_error("%s", err.text);
        exit = exit_of(status);
    } else {
        exit = answer(o, &found, &opts, own_step(&o->chosen, &subject.space));
        search_fini(&found);
    }
    journal_close(opts.journal);
    subject_fini(&subject);
    return exit;
}

static int search_scaling(const struct options *o)
{
    const struct scaling asked = {.trial = &o->chosen.trial,
                                  .ranges = o->ranges,
                                  .nranges = o->nranges,
                                  .counts = o->counts,
                                  .ncounts = o->ncounts,
                                  .price = o->price,
                                  .json = o->json,
                                  .picture = o->picture,
                                  .opts = {.ntop = 1,
                                           .nplans = o->nplans,
                                           .all = o->all,
                                           .nthreads = o->nthreads,
                                           .farm = o->farm,
                                           .stop = &cmd_stop_request,
                                           .progress = show_progress,
                                           .arg = o->log}};

    int exit;

    log_progress_begin(o->log);
    exit = scaling_run(&asked);
    log_progress_end(o->log);
    return exit;
}

static int search_tensors(const struct options *o)
{
    const struct search_tensors asked = {.json = o->json,
                                         .output = o->output,
                                         .opts = {.pattern = o->tensors,
                                                  .memory_bytes = o->memory_bytes,
                                                  .nthreads = o->nthreads,
                                                  .stop = &cmd_stop_request}};

    return search_tensors_run(&o->chosen.trial, &asked);
}

/* Number of a machine's cores for each rank. */
static int cores_each(void)
{
    long ncores = sysconf(_SC_NPROCESSORS_ONLN) / ranks_here();

    return ncores < 1 ? 1 : ncores < THREADS_MAX ? (int)ncores : THREADS_MAX;
}

static int search_what_is_asked(struct options *o)
{
    int exit = cmd_check_output(o->output);

    if (exit == CMD_OK)
        exit = cmd_check_output(o->picture);
    if (exit == CMD_OK)
        exit = chosen_load(&o->chosen);
    if (exit == CMD_OK && o->seconds > 0)
        exit = cmd_halt_after(o->seconds);
    if (exit != CMD_OK)
        return exit;
    return o->by_tensors ? search_tensors(o) : o->ncounts > 1 ? search_scaling(o) : search(o);
}

static void tell_ranks(const struct options *o)
{
    struct text text = TEXT_INIT;

    farm_tell(o->farm, &text);
    if (!o->quiet)
        fprintf(stderr, "shardsim: %s\n", text_get(&text));
    text_fini(&text);
}

/* Rank 0 searches, and the other ranks work for it.  A rank that cannot read the scenario is of no
 * use, but does no harm. */
static int search_with_ranks(struct options *o)
{
    struct crew crew = {&o->chosen.trial, o->ranges, o->nranges};
    const struct farm_crew own = {crew_work, &crew, o->nthreads, &cmd_halt};
    int exit;

    if (ranks_count() == 1)
        return search_what_is_asked(o);
    o->farm = farm_create(&own);
    if (ranks_me() > 0) {
        if (chosen_load(&o->chosen) != CMD_OK)
            crew.trial = NULL;
        exit = farm_serve(o->farm);
    } else {
        exit = search_what_is_asked(o);
        tell_ranks(o);
    }
    farm_destroy(o->farm, exit);
    return exit;
}

static void list_schedules(struct text *out)
{
    timetable_names(out, TIMETABLE_USUAL, 0, ", ");
    text_add(out, "; and, only if it has a range, ");
    timetable_names(out, 0, TIMETABLE_USUAL | TIMETABLE_UNSEARCHED, ", ");
}

static const struct args args = {
    .own = {rows},
    .parts = {{&common_chosen, offsetof(struct options, chosen)}},
    .operands = "SCENARIO",
    .more = list_schedules,
    .check = check_together,
    .help =
        "Find the layouts with the shortest step of a scenario's model, batch and cluster: all "
        "that "
        "divide are bounded from below, and planned from the lowest bound on, until no other can "
        "be better.  Everything else in the scenario stays as it is.\v"
        "Choices are tp, pp, cp, dp, ep (of experts), virtual (stages a rank), schedule (\f), "
        "split (even, given), microbatch, recompute (none, selective, full, given), sp "
        "(no, yes), zero, shards (replicas that hold its parts) and order (of the mesh, such as "
        "pp-dp-cp-tp).  Sequences are sharded to less than 2,048 tokens only if cp has a range.\n\n"
        "Examples:\n"
        "  The three best of a small model, on a cluster of B200:\n"
        "    shardsim search scenarios/train_zero.yaml -S dp -s hardware=b200 --top 3\n"
        "  How to shard each tensor of a small mlp:\n"
        "    shardsim search scenarios/fsdp.yaml -s hardware=b200 --tensors\n"
        "\n" ARGS_EXIT_STATUS("  1    no layout fits\n")};

static int run(int argc, char **argv)
{
    struct log log;
    struct options o = {.ntop = TOP, .row = 1, .nthreads = cores_each(), .log = &log};
    int exit;

    log_init(&log, stderr);
    args_parse(&args, argc, argv, &o);
    log.quiet = o.quiet;
    exit = search_with_ranks(&o);
    chosen_fini(&o.chosen);
    return exit;
}

const struct cmd cmd_search = {"search", "the best layout of a model on a cluster", run};
