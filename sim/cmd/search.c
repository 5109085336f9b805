/* shardsim search - the best layout of a model on a cluster.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <argp.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/units.h"
#include "cmd/args.h"
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

/* No short form. */
enum {
    KEY_RANGE = 1000,
    KEY_FORBID,
    KEY_DEVICES,
    KEY_TOP,
    KEY_PLANS,
    KEY_NO_PRUNE,
    KEY_JSON,
    KEY_ROW,
    KEY_JOURNAL,
    KEY_SENSITIVITY,
    KEY_PICTURE,
    KEY_PRICE,
    KEY_WITHIN,
    KEY_SECONDS,
    KEY_TENSORS,
    KEY_MEMORY
};

static const struct argp_option option_table[] = {
    {"range", KEY_RANGE, "CHOICE=VALUE", 0,
     "Keep a choice to a value or to values from..to, e.g. tp=8 or pp=4..16; may be given again",
     0},
    {"forbid", KEY_FORBID, "CHOICE=VALUE", 0, "Leave these values out; may be given again", 0},
    {"devices", KEY_DEVICES, "N", 0,
     "On so many devices (as many as the scenario's mesh has); of A..B, all doublings, or A,B,C "
     "the "
     "best layout of each",
     0},
    {"price", KEY_PRICE, "NUMBER", 0, "Of several --devices: what a device costs an hour", 0},
    {"top", KEY_TOP, "N", 0, "Find the N best (10)", 0},
    {"plans", KEY_PLANS, "N", 0,
     "Plan at most N layouts, and say how much better another may be (as many as it takes)", 0},
    {"seconds", KEY_SECONDS, "N", 0,
     "Search for N seconds at most, and say how much better another layout may be (as long as it "
     "takes)",
     0},
    {"no-prune", KEY_NO_PRUNE, NULL, 0, "Plan every layout, whatever its bounds", 0},
    {"threads", 't', "N", 0, "Plan with so many threads (one a core)", 0},
    {"sensitivity", KEY_SENSITIVITY, NULL, 0,
     "Search again with links 10 % slower, with half the memory, and with a node less", 0},
    {"picture", KEY_PICTURE, "FILE", 0,
     "Draw steps against memory; of several --devices, throughput against these: FILE.svg or "
     "FILE.png",
     0},
    {"json", KEY_JSON, NULL, 0, "Print JSON", 0},
    {"journal", KEY_JOURNAL, "FILE", 0,
     "Keep all plans in FILE, and go on from those that are in it: the same search again, after it "
     "was interrupted",
     0},
    {"tensors", KEY_TENSORS, "PATTERN", OPTION_ARG_OPTIONAL,
     "Search instead the sharding of each parameter whose name matches (all), on the scenario's "
     "mesh",
     0},
    {"memory", KEY_MEMORY, "SIZE", 0,
     "What a device may have: with --tensors instead of the scenario's limits.memory, else of the "
     "cluster's own",
     0},
    {"within", KEY_WITHIN, "SECONDS", 0,
     "Find the layouts of least memory whose steps take no longer", 0},
    {"output", 'o', "FILE", 0, "Write the best layout's scenario here", 0},
    {"row", KEY_ROW, "N", 0, "Of --output: the N-th best (1)", 0},
    {"quiet", 'q', NULL, 0, "Show no progress on stderr", 0},
    {NULL, 0, NULL, 0, NULL, 0}};

/* ---- options ---- */

/* Layouts and tensors are searched by other options. */
static void check_together(const struct options *o, const struct argp_state *state)
{
    if (o->ncounts > 1 && (o->journal || o->output || o->sensitivity || o->by_tensors))
        args_error(state, "several --devices go without --journal, --output, --sensitivity and "
                          "--tensors; ask for one count");
    if (o->journal && o->memory_bytes > 0)
        args_error(state, "--journal goes without --memory, which says what of it fits");
    if (o->sensitivity && (o->memory_bytes > 0 || o->within_s > 0))
        args_error(state, "--sensitivity goes without --memory and --within");
    if (o->price > 0 && o->ncounts < 2)
        args_error(state, "--price goes with several --devices, such as --devices 64..1024");
    if (o->ncounts > 1 && (o->memory_bytes > 0 || o->within_s > 0 || o->seconds > 0))
        args_error(state, "several --devices go without --memory, --within and --seconds");
    if (o->by_tensors &&
        (o->within_s > 0 || o->sensitivity || o->picture || o->nranges > 0 || o->devices > 0 ||
         o->nplans > 0 || o->seconds > 0 || o->all || o->journal || o->ntop != TOP || o->row != 1))
        args_error(state, "--tensors goes with --memory, --threads, --json and --output only");
}

/* "64", "64..4096" or "64,96,128". */
static void parse_devices(struct options *o, const char *arg, const struct argp_state *state)
{
    struct shd_error err;

    if (scaling_parse(o->counts, &o->ncounts, arg, &err) != SHD_OK)
        args_error(state, "--devices: %s", err.text);
    else if (o->ncounts == 1)
        o->devices = o->counts[0];
}

static double parse_above_0(const char *option, const char *arg, const struct argp_state *state)
{
    char *end;
    double value = strtod(arg, &end);

    if (end == arg || *end || !(value > 0) || value > 1e9)
        args_error(state, "%s is '%s'; expected a number above 0", option, arg);
    return value;
}

static void add_range(struct options *o, const char *arg, bool forbids,
                      const struct argp_state *state)
{
    struct shd_error err;

    if (o->nranges == SPACE_RANGES_MAX)
        args_error(state, "more than %d ranges", SPACE_RANGES_MAX);
    else if (space_parse_range(&o->ranges[o->nranges], arg, forbids, &err) != SHD_OK)
        args_error(state, "%s", err.text);
    else
        o->nranges++;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->chosen;
        return 0;
    case KEY_RANGE:
    case KEY_FORBID:
        add_range(o, arg, key == KEY_FORBID, state);
        return 0;
    case KEY_DEVICES:
        parse_devices(o, arg, state);
        return 0;
    case KEY_PICTURE:
        if (!picture_is_name(arg))
            args_error(state, "--picture is '%s'; expected a name that ends in " PICTURE_NAMES,
                       arg);
        o->picture = arg;
        return 0;
    case KEY_WITHIN:
        o->within_s = parse_above_0("--within", arg, state);
        return 0;
    case KEY_PRICE:
        o->price = parse_above_0("--price", arg, state);
        return 0;
    case KEY_TOP:
        o->ntop = (size_t)args_parse_count("top", arg, 1, 1000, state);
        return 0;
    case KEY_PLANS:
        o->nplans = (size_t)args_parse_count("plans", arg, 1, INT32_MAX, state);
        return 0;
    case KEY_SECONDS:
        o->seconds = (int)args_parse_count("seconds", arg, 1, SECONDS_MAX, state);
        return 0;
    case KEY_NO_PRUNE:
        o->all = true;
        return 0;
    case 't':
        o->nthreads = (int)args_parse_count("threads", arg, 1, 1024, state);
        return 0;
    case KEY_SENSITIVITY:
        o->sensitivity = true;
        return 0;
    case KEY_JOURNAL:
        o->journal = arg;
        return 0;
    case KEY_TENSORS:
        o->by_tensors = true;
        o->tensors = arg;
        return 0;
    case KEY_MEMORY:
        o->memory_bytes = args_parse_bytes("memory", arg, state);
        return 0;
    case KEY_JSON:
        o->json = true;
        return 0;
    case 'o':
        o->output = arg;
        return 0;
    case KEY_ROW:
        o->row = (size_t)args_parse_count("row", arg, 1, 1000, state);
        return 0;
    case 'q':
        o->quiet = true;
        return 0;
    case ARGP_KEY_END:
        check_together(o, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

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

    return ncores < 1 ? 1 : ncores < 1024 ? (int)ncores : 1024;
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

/* For argp's help: the first choices, with the schedules there are, before what is behind the
 * options. */
static char *tell_choices(int key, const char *text, void *unused)
{
    struct text out = TEXT_INIT;

    (void)unused;
    if (key != ARGP_KEY_HELP_POST_DOC)
        return (char *)text;
    text_add(&out, "Choices are tp, pp, cp, dp, ep (of experts), virtual (stages a rank), "
                   "schedule (");
    timetable_names(&out, TIMETABLE_USUAL, 0, ", ");
    text_add(&out, "; and, only if it has a range, ");
    timetable_names(&out, 0, TIMETABLE_USUAL | TIMETABLE_UNSEARCHED, ", ");
    text_add(&out, text);
    return text_take(&out);
}

static int run(int argc, char **argv)
{
    static const struct argp_child children[] = {{&chosen_argp, 0, NULL, 0}, {NULL, 0, NULL, 0}};
    static const struct argp argp = {
        option_table,
        parse_option,
        "SCENARIO",
        "Find the layouts with the shortest step of a scenario's model, batch and cluster: all "
        "that "
        "divide are bounded from below, and planned from the lowest bound on, until no other can "
        "be better.  Everything else in the scenario stays as it is.\v"
        "), split (even, given), microbatch, recompute (none, selective, full, given), sp "
        "(no, yes), zero, shards (replicas that hold its parts) and order (of the mesh, such as "
        "pp-dp-cp-tp).  Sequences are sharded to less than 2,048 tokens only if cp has a range.\n\n"
        "Examples:\n"
        "  The three best of a small model, on a cluster of B200:\n"
        "    shardsim search scenarios/train_zero.yaml -S dp -s hardware=b200 --top 3\n"
        "  How to shard each tensor of a small mlp:\n"
        "    shardsim search scenarios/fsdp.yaml -s hardware=b200 --tensors\n"
        "\n" ARGS_EXIT_STATUS("  1    no layout fits\n"),
        children,
        tell_choices,
        NULL};
    struct log log;
    struct options o = {.ntop = TOP, .row = 1, .nthreads = cores_each(), .log = &log};
    int exit;

    log_init(&log, stderr);
    args_parse(&argp, argc, argv, &o);
    log.quiet = o.quiet;
    exit = search_with_ranks(&o);
    chosen_fini(&o.chosen);
    return exit;
}

const struct cmd cmd_search = {"search", "the best layout of a model on a cluster", run};
