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

#include "base/units.h"
#include "cmd/args.h"
#include "cmd/chosen.h"
#include "cmd/cmd.h"
#include "cmd/pages.h"
#include "cmd/search_report.h"
#include "cmd/search_tensors.h"
#include "store/write.h"

#define TOP 10 /* found where nobody says how many */

struct options {
    struct chosen chosen;
    struct space_range ranges[SPACE_RANGES_MAX];
    size_t nranges, ntop, nplans, row;
    int64_t devices;
    int nthreads;
    bool all, json, quiet;
    const char *output, *journal;
    bool by_tensors;
    const char *tensors;
    uint64_t memory_bytes;
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
    KEY_TENSORS,
    KEY_MEMORY
};

static const struct argp_option option_table[] = {
    {"range", KEY_RANGE, "CHOICE=VALUE", 0,
     "Keep a choice to a value or to values from..to, e.g. tp=8 or pp=4..16; may be given again",
     0},
    {"forbid", KEY_FORBID, "CHOICE=VALUE", 0, "Leave these values out; may be given again", 0},
    {"devices", KEY_DEVICES, "N", 0, "On so many devices (as many as the scenario's mesh has)", 0},
    {"top", KEY_TOP, "N", 0, "Find the N best (10)", 0},
    {"plans", KEY_PLANS, "N", 0,
     "Plan at most N layouts, and say how much better another may be (as many as it takes)", 0},
    {"no-prune", KEY_NO_PRUNE, NULL, 0, "Plan every layout, whatever its bounds", 0},
    {"threads", 't', "N", 0, "Plan with so many threads (one a core)", 0},
    {"json", KEY_JSON, NULL, 0, "Print JSON", 0},
    {"journal", KEY_JOURNAL, "FILE", 0,
     "Keep all plans in FILE, and go on from those that are in it: the same search again, after it "
     "was interrupted",
     0},
    {"tensors", KEY_TENSORS, "PATTERN", OPTION_ARG_OPTIONAL,
     "Search instead where each parameter lies whose name matches (all), on the scenario's mesh", 0},
    {"memory", KEY_MEMORY, "SIZE", 0,
     "With --tensors: within so much memory of a device (as limits.memory says)", 0},
    {"output", 'o', "FILE", 0, "Write the best layout's scenario here", 0},
    {"row", KEY_ROW, "N", 0, "Of --output: the N-th best (1)", 0},
    {"quiet", 'q', NULL, 0, "Do not tell how far it is", 0},
    {NULL, 0, NULL, 0, NULL, 0}};

/* ---- options ---- */

static long parse_number(const char *option, const char *arg, long most,
                         const struct argp_state *state)
{
    char *end;
    long n = strtol(arg, &end, 10);

    if (end == arg || *end || n < 1 || n > most)
        args_error(state, "--%s is '%s'; expected a whole number from 1 to %ld", option, arg, most);
    return n;
}

static void parse_memory(struct options *o, const char *arg, const struct argp_state *state)
{
    struct shd_error err;

    if (units_parse_bytes(&o->memory_bytes, arg, &err) != SHD_OK)
        args_error(state, "--memory: %s", err.text);
}

/* Layouts and tensors are searched by other options. */
static void check_together(const struct options *o, const struct argp_state *state)
{
    if (!o->by_tensors && o->memory_bytes > 0)
        args_error(state, "--memory goes with --tensors only");
    if (o->by_tensors && (o->nranges > 0 || o->devices > 0 || o->nplans > 0 || o->all ||
                          o->journal || o->ntop != TOP || o->row != 1))
        args_error(state, "--tensors goes with --memory, --threads, --json and --output only");
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
        o->devices = parse_number("devices", arg, INT32_MAX, state);
        return 0;
    case KEY_TOP:
        o->ntop = (size_t)parse_number("top", arg, 1000, state);
        return 0;
    case KEY_PLANS:
        o->nplans = (size_t)parse_number("plans", arg, INT32_MAX, state);
        return 0;
    case KEY_NO_PRUNE:
        o->all = true;
        return 0;
    case 't':
        o->nthreads = (int)parse_number("threads", arg, 1024, state);
        return 0;
    case KEY_JOURNAL:
        o->journal = arg;
        return 0;
    case KEY_TENSORS:
        o->by_tensors = true;
        o->tensors = arg;
        return 0;
    case KEY_MEMORY:
        parse_memory(o, arg, state);
        return 0;
    case KEY_JSON:
        o->json = true;
        return 0;
    case 'o':
        o->output = arg;
        return 0;
    case KEY_ROW:
        o->row = (size_t)parse_number("row", arg, 1000, state);
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

/* ---- how far it is ---- */

static void show_progress(void *arg, const struct search_progress *p)
{
    char best[UNITS_TEXT_MAX], bound[UNITS_TEXT_MAX];

    (void)arg;
    if (p->best_s > 0)
        fprintf(stderr, "shardsim: %zu of at most %zu %s; best %s, none left below %s\n", p->ndone,
                p->ntotal, p->what, units_print_seconds(best, sizeof best, p->best_s),
                units_print_seconds(bound, sizeof bound, p->next_bound_s));
    else
        fprintf(stderr, "shardsim: %zu of at most %zu %s\n", p->ndone, p->ntotal, p->what);
}

/* ---- neighbours ---- */

/* Of the layouts that differ from the winner in a choice alone, the one of the lowest bound. */
static void find_neighbours(struct search_report *r, struct search *s)
{
    uint32_t winner = s->plans[s->best[0]].item;
    uint32_t found[SPACE_NCHOICES];

    memset(found, 0xff, sizeof found);
    for (size_t i = 0; i < s->nitems; i++) {
        enum space_choice which;

        if (i == winner || s->items[i].out ||
            space_differs(&s->items[i].layout, &s->items[winner].layout, &which) != 1 ||
            (found[which] != UINT32_MAX && s->items[i].bound_s >= s->items[found[which]].bound_s) ||
            !search_bound_item(s, i))
            continue;
        if (found[which] == UINT32_MAX || s->items[i].bound_s < s->items[found[which]].bound_s)
            found[which] = (uint32_t)i;
    }
    r->nneighbours = 0;
    for (int c = 0; c < SPACE_NCHOICES; c++)
        if (found[c] != UINT32_MAX)
            r->neighbours[r->nneighbours++] =
                (struct search_neighbour){.choice = (enum space_choice)c, .item = found[c]};
}

/* Plan them; where the search was cut short one of them may win, and has neighbours of its own. */
static int plan_neighbours(struct search_report *r, struct search *s)
{
    uint32_t winner;

    if (s->nbest == 0 || cmd_stop_request)
        return CMD_OK;
    do {
        winner = s->plans[s->best[0]].item;
        find_neighbours(r, s);
        for (size_t k = 0; k < r->nneighbours; k++) {
            if (cmd_stop_request) {
                r->nneighbours = k;
                return CMD_OK;
            }
            if (!search_plan_item(s, r->neighbours[k].item)) {
                cmd_error("no memory for plans");
                return CMD_CANNOT;
            }
        }
    } while (s->plans[s->best[0]].item != winner);
    return CMD_OK;
}

/* ---- what comes out ---- */

static int write_scenario(const struct options *o, const struct search *s)
{
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

static int put(const struct options *o, const struct search_report *report)
{
    struct text text = TEXT_INIT;
    struct json_out json;
    int exit;

    if (o->json) {
        json_out_init_text(&json, &text, JSON_OUT_PRETTY);
        search_report_json(&json, report);
        text_add_char(&text, '\n');
    } else {
        search_report_text(&text, report);
    }
    exit = cmd_put_last(&text);
    text_fini(&text);
    return exit;
}

static int answer(const struct options *o, struct search *s, double own_step_s)
{
    struct search_report report = {.search = s, .ntop = o->ntop, .own_step_s = own_step_s};
    int exit = plan_neighbours(&report, s), written;

    if (exit == CMD_OK)
        exit = put(o, &report);
    if (exit == CMD_OK && s->nbest == 0)
        exit = CMD_FAILED;
    if (exit == CMD_OK && o->output) {
        written = write_scenario(o, s);
        exit = written;
    }
    return cmd_stop_request ? CMD_INTERRUPTED : exit;
}

/* The step of the scenario as it stands, where it is for as many devices; 0: it has none. */
static double own_step(struct chosen *chosen, const struct space *space)
{
    struct trial *trial = &chosen->trial;
    struct modelled_figures figures;
    struct shd_error err;

    if (shd_mesh_size(trial->mesh) != space->devices || trial_plan(trial, &err) != SHD_OK)
        return 0;
    modelled_figures_of(&figures, trial->record, 0);
    return figures.step_s;
}

/* The scenario without what every layout has of its own: what is set later is added to these maps,
 * not put in their place. */
static void print_subject(struct text *out, const struct scenario *scenario)
{
    struct scenario base = *scenario;

    base.pipeline = (struct scenario_pipeline){.schedule = scenario->pipeline.schedule};
    base.context.axis = NULL;
    base.zero.stage = 0;
    base.zero.axis = NULL;
    base.zero.prefetch = 0;
    scenario_print(&base, out);
}

/* Space and text of what is searched. */
static int init_subject(struct subject *out, const struct options *o, struct shd_error *err)
{
    const struct scenario *scenario = o->chosen.trial.scenario;
    int status;

    if (!out->hardware)
        return shd_error_set(err, SHD_EINVAL,
                             "the scenario names no cluster; expected 'hardware: NAME', as "
                             "'shardsim show hardware' lists them");
    status = space_init(&out->space, scenario, o->devices, err);
    if (status != SHD_OK)
        return status;
    memcpy(out->space.ranges, o->ranges, sizeof o->ranges);
    out->space.nranges = o->nranges;
    print_subject(&out->text, scenario);
    return out->text.failed ? shd_error_set(err, SHD_ENOMEM, "no memory for the scenario") : SHD_OK;
}

static int exit_of(int status)
{
    return status == SHD_ENOMEM || status == SHD_ESYSTEM ? CMD_CANNOT : CMD_USAGE;
}

static int search(struct options *o)
{
    struct subject subject = {.text = TEXT_INIT, .hardware = o->chosen.trial.hardware};
    struct search_opts opts = {.ntop = o->ntop,
                               .nplans = o->nplans,
                               .all = o->all,
                               .nthreads = o->nthreads,
                               .stop = &cmd_stop_request,
                               .progress = o->quiet ? NULL : show_progress};
    struct search found;
    struct shd_error err;
    int exit, status = init_subject(&subject, o, &err);

    if (status == SHD_OK && o->journal)
        status = journal_open(&opts.journal, o->journal, &subject, &err);
    if (status == SHD_OK)
        status = search_run(&found, &subject, &opts, &err);
    if (status != SHD_OK) {
        cmd_error("%s", err.text);
        exit = exit_of(status);
    } else {
        exit = answer(o, &found, own_step(&o->chosen, &subject.space));
        search_fini(&found);
    }
    journal_close(opts.journal);
    text_fini(&subject.text);
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
        "be better.  What else the scenario says stays as it is.\v"
        "Choices are tp, pp, cp, dp, virtual (stages a rank), schedule (1F1B, Interleaved1F1B, "
        "ZBH1), microbatch, recompute (none, selective, full), sp (no, yes), zero and order (of "
        "the mesh, such as pp-dp-cp-tp).  Sequences are cut to less than 2,048 tokens only if cp "
        "has a range.  \n\n"
        "Examples:\n"
        "  The three best of a small model, on a cluster of B200:\n"
        "    shardsim search scenarios/train_zero.yaml -S dp -s hardware=b200 --top 3\n"
        "  Where each tensor of a small mlp should lie:\n"
        "    shardsim search scenarios/fsdp.yaml -s hardware=b200 --tensors\n"
        "\n" ARGS_EXIT_STATUS("  1    no layout fits\n"),
        children,
        NULL,
        NULL};
    struct options o = {.ntop = TOP, .row = 1};
    long ncores = sysconf(_SC_NPROCESSORS_ONLN);
    int exit;

    o.nthreads = ncores > 0 && ncores < 1024 ? (int)ncores : 1;
    args_parse(&argp, argc, argv, &o);
    pages_keep();
    exit = chosen_load(&o.chosen);
    if (exit == CMD_OK)
        exit = o.by_tensors ? search_tensors(&o) : search(&o);
    chosen_fini(&o.chosen);
    return exit;
}

const struct cmd cmd_search = {"search", "the best layout of a model on a cluster", run};
