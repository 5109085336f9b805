/* shardsim explain - a step and the reasons of its collectives, a collective's schedule, or a
 * reshard.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/nearest.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/common.h"
#include "cmd/explain_links.h"
#include "cmd/explain_reshard.h"
#include "cmd/show.h"
#include "explain/lesson.h"
#include "explain/overview.h"
#include "explain/roofline.h"
#include "explain/schedule.h"
#include "jobs/canvas.h"
#include "jobs/chosen.h"
#include "jobs/command.h"
#include "model/model.h"
#include "walk/walk.h"

struct options {
    struct canvas canvas;
    struct chosen chosen;
    const char *op, *device;
    bool values, roofline;
    bool collectives, ops, verbose;
};

static void check_scenario(const struct args_line *line, void *input)
{
    const struct options *o = input;

    if (o->op && (o->collectives || o->ops))
        args_error(line, "--op is of one op; expected no --%s with it",
                   o->collectives ? "collectives" : "ops");
    if (canvas_is_picture(&o->canvas) && !o->roofline)
        args_error(line, "a lesson is text; a picture such as '%s' goes with --roofline",
                   o->canvas.output);
}

/* A whole number `first` to `last`, or -1 with a message; `as` says where the numbers are told, or
 * "". */
static long parse_number(const char *what, const char *text, long first, long last, const char *as)
{
    char *end;
    long n = strtol(text, &end, 10);

    if (end != text && !*end && n >= first && n <= last)
        return n;
    cmd_error("%s is '%s'; expected a whole number from %ld to %ld%s", what, text, first, last, as);
    return -1;
}

/* ---- a scenario ---- */

static int run_for_values(struct trial *trial, struct values *values, struct shd_error *err)
{
    struct walk_opts opts = {.stop_request = &cmd_stop_request,
                             .memory_bytes = trial->scenario->memory_limit_bytes,
                             .observe = values_observe,
                             .observe_arg = values};
    struct record *record;
    int status = values_init(values, trial->program, err);

    if (status == SHD_OK)
        status = record_create(&record, trial->program, RECORD_EXECUTED, false, err);
    if (status == SHD_OK) {
        status = walk_run(record, &opts, err);
        if (status == SHD_OK && atomic_load(&values->failed))
            status = shd_error_set(err, SHD_ENOMEM, "no memory for values");
        record_destroy(record);
    }
    return status;
}

/* Whether the form that fits a screen is asked for: nothing selects ops, and nothing asks for what
 * only whole accounts have. */
static bool wants_overview(const struct options *o)
{
    return !o->op && !o->collectives && !o->ops && !o->verbose && !o->device && !o->values;
}

static int add_ops(const struct options *o, struct trial *trial, struct lesson *lesson,
                   struct text *text, struct shd_error *err)
{
    const struct partition_request request = trial_request(trial);
    struct values values = {.texts = NULL};
    int status = alternatives_create(&lesson->alternatives, &request, err);

    if (status == SHD_OK && o->values)
        status = run_for_values(trial, &values, err);
    lesson->placement = request.placement;
    lesson->values = o->values ? &values : NULL;
    if (status == SHD_OK)
        status = lesson_text(lesson, text, err);
    alternatives_destroy(lesson->alternatives);
    values_fini(&values);
    return status;
}

static int teach(const struct options *o, struct trial *trial, struct lesson *lesson,
                 struct text *text, struct shd_error *err)
{
    struct fold fold = {.entries = NULL};
    struct text what = TEXT_INIT;
    int status = trial_plan(trial, err);

    model_describe(&what, trial->scenario);
    if (status == SHD_OK && what.failed)
        status = shd_error_set(err, SHD_ENOMEM, "no memory for the model's description");
    if (status == SHD_OK && !o->verbose && !o->op)
        status = fold_init(&fold, trial->program, err);
    lesson->what = text_get(&what);
    lesson->record = trial->record;
    lesson->collectives = o->collectives;
    lesson->fold = fold.entries ? &fold : NULL;
    if (status == SHD_OK)
        status = wants_overview(o) ? overview_text(lesson, text, err)
                                   : add_ops(o, trial, lesson, text, err);
    fold_fini(&fold);
    text_fini(&what);
    return status;
}

static int roofline(const struct options *o, const struct trial *trial, const struct lesson *lesson,
                    struct text *text, struct shd_error *err)
{
    if (!trial->hardware)
        return shd_error_set(err, SHD_ERANGE,
                             "--roofline needs a cluster; expected 'hardware: NAME' in %s, or "
                             "--set hardware=NAME",
                             o->chosen.path);
    return (canvas_is_picture(&o->canvas) ? roofline_picture : roofline_text)(
        trial->program, trial->hardware, lesson->position, text, err);
}

static int explain_trial(const struct options *o, struct trial *trial)
{
    struct lesson lesson = {.scenario = trial->scenario->name,
                            .strategy = trial->scenario->strategy,
                            .op = LESSON_ALL,
                            .width = o->canvas.style.width,
                            .colour = o->canvas.style.colour};
    struct text text = TEXT_INIT;
    struct shd_error err;
    long n;
    int status;

    if (o->op) {
        n = parse_number("--op", o->op, 1, (long)trial->program->nops,
                         ", as explain without --op numbers them");
        if (n < 0)
            return CMD_USAGE;
        lesson.op = (uint32_t)n - 1;
    }
    if (o->device) {
        n = parse_number("--device", o->device, 0, (long)shd_mesh_size(trial->mesh) - 1, "");
        if (n < 0)
            return CMD_USAGE;
        lesson.position = (int32_t)n;
    }
    status = o->roofline ? roofline(o, trial, &lesson, &text, &err)
                         : teach(o, trial, &lesson, &text, &err);
    if (status != SHD_OK) {
        if (!cmd_is_stopped(status))
            (void)cmd_wrong(o->chosen.path, err.text);
        status = status == SHD_ERANGE ? CMD_USAGE : cmd_exit_of(status);
    } else {
        status = canvas_put(&o->canvas, &text);
    }
    text_fini(&text);
    return status;
}

#define AT(field) ARGS_AT(struct options, field)

static const struct args_row scenario_rows[] = {
    {"collectives", 0, NULL, args_switch, AT(collectives), 0, 0,
     "Each collective in full: layouts before and after, why, transfers, other placements"},
    {"device", 0, "K", args_text, AT(device), 0, 0,
     "Show the transfers of this device; 0 if not given"},
    {"op", 0, "N", args_text, AT(op), 0, 0, "Only the op of this number, in full"},
    {"ops", 0, NULL, args_switch, AT(ops), 0, 0, "Each op in full"},
    {"roofline", 0, NULL, args_switch, AT(roofline), 0, 0,
     "What each op takes on the scenario's hardware, and whether the rate of flops, memory or "
     "the network bounds it; with --output FILE.svg as a picture"},
    {"values", 0, NULL, args_switch, AT(values), 0, 0,
     "Execute, and show the numbers of small arrays on every device before and after"},
    {"verbose", 'v', NULL, args_switch, AT(verbose), 0, 0,
     "Every layer; without it equal layers are shown once"},
    {0}};

static const struct args scenario_args = {
    .own = {scenario_rows},
    .parts = {{&common_chosen, offsetof(struct options, chosen)},
              {&common_canvas, offsetof(struct options, canvas)}},
    .check = check_scenario,
    .operands = "SCENARIO\ncollective COLLECTIVE\nreshard --mesh AXES --shape SIZES",
    .help =
        "Explain a step: what is computed between which collectives, and why each of these is "
        "there, with equal layers shown once.  In full, an op is shown with the sharding of each "
        "array before and after it, who gets what from whom, and what other placements would have "
        "cost.  Or draw the schedule of a collective, step by step ('shardsim explain collective "
        "--help').  Or plan how an array gets from one sharding to another ('shardsim explain "
        "reshard --help')."
        "\v"
        "Examples:\n"
        "  A whole step:\n"
        "    shardsim explain scenarios/tensor_parallel.yaml\n"
        "  Its collectives in full:\n"
        "    shardsim explain scenarios/tensor_parallel.yaml --collectives\n"
        "  One op of it, as device 3 sees it:\n"
        "    shardsim explain scenarios/tensor_parallel.yaml --op 10 --device 3\n"
        "  A ring, step by step:\n"
        "    shardsim explain collective all-reduce --algorithm ring --devices "
        "4\n"
        "  Which ops are bound by memory, for a slide:\n"
        "    shardsim explain scenarios/dp_tp.yaml -s hardware=b200 --roofline -o "
        "r.svg\n\n" ARGS_EXIT_STATUS("")};

static int explain_scenario(int argc, char **argv)
{
    struct options o = {.values = false};
    int status;

    canvas_init(&o.canvas);
    args_parse(&scenario_args, argc, argv, &o);
    status = chosen_load(&o.chosen);
    if (status == CMD_OK)
        status = explain_trial(&o, &o.chosen.trial);
    chosen_fini(&o.chosen);
    return status;
}

/* ---- a collective ---- */

struct collective_options {
    struct canvas canvas;
    const char *kind, *algorithm, *devices;
    struct explain_links links; /* with a cluster only */
};

/* A drawing is of an algorithm, a time of a cluster. */
static void check_links(const struct args_line *line, void *input)
{
    const struct collective_options *o = input;
    const struct explain_links *l = &o->links;

    if (l->hardware && o->algorithm)
        args_error(line, "--hardware takes the best schedule; expected no --algorithm");
    if (l->hardware && !l->bytes)
        args_error(line, "--hardware without a size; expected --bytes, e.g. --bytes 64MiB");
    if (!l->hardware && (l->mesh || l->axes || l->bytes || l->slices || l->json))
        args_error(line, "--mesh, --axes, --bytes, --slices and --json are of links; expected "
                         "--hardware too");
}

static int find_kind(const char *name)
{
    int kind = coll_kind_parse(name);
    char hint[NEAREST_HINT_MAX];
    struct nearest near;

    if (kind >= 0)
        return kind;
    nearest_init(&near, name);
    for (int k = 0; k < COLL_NKINDS; k++)
        nearest_add(&near, coll_kind_name((enum coll_kind)k));
    cmd_error("there is no collective '%s'%s", name, nearest_hint(&near, hint, sizeof hint));
    return -1;
}

static const struct coll_algo *find_algo(enum coll_kind kind, const char *name)
{
    const struct coll_algo *algo = coll_find(kind, name);
    char hint[NEAREST_HINT_MAX];
    struct nearest near;

    if (algo)
        return algo;
    nearest_init(&near, name);
    for (size_t i = 0; coll_algos[i]; i++)
        if (coll_algos[i]->kind == kind)
            nearest_add(&near, coll_algos[i]->name);
    cmd_error("%s has no algorithm '%s'%s", coll_kind_name(kind), name,
              nearest_hint(&near, hint, sizeof hint));
    return NULL;
}

#define ALGORITHMS_WIDTH 58 /* beside the collective's name and a comma, in 78 columns */

/* The algorithms of a collective, the first of which is the default. */
static void list_algorithms(struct text *out, enum coll_kind kind)
{
    size_t used = 0; /* columns of the line behind the collective's name */

    for (size_t i = 0; coll_algos[i]; i++) {
        size_t length = strlen(coll_algos[i]->name);

        if (coll_algos[i]->kind != kind)
            continue;
        if (used > 0 && used + 2 + length > ALGORITHMS_WIDTH) { /* argp would not indent the next
                                                                   line */
            text_addf(out, ",\n  %-14s  ", "");
            used = 0;
        }
        text_addf(out, "%s%s", used > 0 ? ", " : "", coll_algos[i]->name);
        used += length + 2;
    }
}

static void list_collectives(struct text *out)
{
    for (int k = 0; k < COLL_NKINDS; k++) {
        text_addf(out, "\n  %-14s  ", coll_kind_name((enum coll_kind)k));
        list_algorithms(out, (enum coll_kind)k);
    }
}

#undef AT
#define AT(field) ARGS_AT(struct collective_options, field)

static const struct args_row collective_rows[] = {
    {"algorithm", 0, "ALGORITHM", args_text, AT(algorithm), 0, 0,
     "The algorithm, if not the default one"},
    {"devices", 0, "N", args_text, AT(devices), 0, 0,
     "The number of devices in the group (4 if not given)"},
    {NULL, 0, NULL, NULL, 0, 0, 0, 0, "Its time on a cluster:"},
    {"hardware", 0, "HARDWARE", args_text, AT(links.hardware), 0, 0,
     "On this cluster ('shardsim show hardware') or file: what its links carry, what bounds it, "
     "how long it takes"},
    {"mesh", 'm', "AXES", args_text, AT(links.mesh), 0, 0,
     "Over a mesh, e.g. dp=2,tp=8, or of sizes alone, 16,16, whose axes are 0 and 1"},
    {"axes", 0, "AXES", args_text, AT(links.axes), 0, 0,
     "Along these axes of it, e.g. tp (all if not given)"},
    {"bytes", 'b', "SIZE", args_text, AT(links.bytes), 0, 0,
     "What each member contributes, e.g. 64MiB: for all-gather its shard; for reduce-scatter, "
     "all-reduce and all-to-all its whole array"},
    {"slices", 0, "N", args_text, AT(links.slices), 0, 0,
     "The mesh consists of N equal slices of a torus (1)"},
    {"json", 0, NULL, args_switch, AT(links.json), 0, 0, "Print the machine form"},
    {0}};

static const struct args collective_args = {
    .own = {collective_rows,
            {args_text, AT(kind), "one collective at a time; '%s' is too much",
             "no collective given; expected e.g. all-reduce"}},
    .parts = {{&common_canvas, offsetof(struct collective_options, canvas)}},
    .operands = "COLLECTIVE",
    .more = list_collectives,
    .check = check_links,
    .help = "Draw what every device of a group holds after each step of a collective; or with "
            "--hardware, show its time on the links of a cluster.\v"
            "Examples:\n"
            "  A ring, step by step:\n"
            "    shardsim explain collective all-reduce --algorithm ring --devices 4\n"
            "  Over both axes of a torus of 8 by 8:\n"
            "    shardsim explain collective all-gather --hardware tpu-v4 -m 8,8 -b "
            "4MiB\n\n" ARGS_EXIT_STATUS("") "\n\n"
                                            "Collectives:\f"};

static int explain_collective(int argc, char **argv)
{
    struct collective_options o = {.devices = "4"};
    const struct coll_algo *algo;
    struct figure figure;
    struct shd_error err;
    long n;
    int kind, status;

    canvas_init(&o.canvas);
    args_parse(&collective_args, argc, argv, &o);
    kind = find_kind(o.kind);
    if (kind >= 0 && o.links.hardware) {
        o.links.kind = (enum coll_kind)kind;
        o.links.devices = o.devices;
        return explain_links(&o.links, &o.canvas);
    }
    algo = kind < 0 ? NULL : find_algo((enum coll_kind)kind, o.algorithm);
    n = algo ? parse_number("--devices", o.devices, 1, SCHEDULE_MEMBERS_MAX, "") : -1;
    if (n < 0)
        return CMD_USAGE;
    figure_init(&figure);
    if (schedule_draw(&figure, algo, (uint32_t)n, &err) == SHD_OK)
        status = canvas_draw(&o.canvas, &figure);
    else
        status = cmd_failure("cannot draw", &err);
    figure_fini(&figure);
    return status;
}

static int run(int argc, char **argv)
{
    static const struct {
        const char *name;
        char title[32];
        int (*run)(int argc, char **argv);
    } subjects[] = {{"collective", "shardsim explain collective", explain_collective},
                    {"reshard", "shardsim explain reshard", explain_reshard}};
    static const char *const words[] = {"collective", "reshard"};
    int verb = 1;

    if (argc > 1 && coll_kind_parse(argv[1]) >= 0 && access(argv[1], F_OK) != 0) {
        cmd_error("'%s' is a collective; expected 'explain collective %s'", argv[1], argv[1]);
        return CMD_USAGE;
    }

    if (argc > 2 && argv[1][0] != '-' && argv[2][0] != '-') { /* no file: that would stand alone */
        const char *word = nearest_find(argv[1], words, 2);

        if (word && strcmp(argv[1], word) != 0) {
            cmd_error("there is no '%s' to explain; did you mean '%s'?", argv[1], word);
            return CMD_USAGE;
        }
    }
    /* The options that all forms share may stand before the word that chooses the form. */
    while (verb < argc && (!strcmp(argv[verb], "--ascii") || !strncmp(argv[verb], "--color", 7)))
        verb++;
    for (size_t i = 0; verb < argc && i < sizeof subjects / sizeof subjects[0]; i++) {
        char title[sizeof subjects[i].title];

        if (strcmp(argv[verb], subjects[i].name) != 0)
            continue;
        memcpy(title, subjects[i].title, sizeof title);
        memmove(&argv[2], &argv[1], (size_t)(verb - 1) * sizeof *argv);
        argv[1] = title; /* argp names the program by it */
        return subjects[i].run(argc - 1, argv + 1);
    }
    return explain_scenario(argc, argv);
}

const struct cmd cmd_explain = {"explain", "what a step does and why, a collective, or a reshard",
                                run};
