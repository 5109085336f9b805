/* shardsim calibrate - the constants of a cluster's file, from times that were measured on it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/fit.h"
#include "calibrate/nccl.h"
#include "calibrate/steps.h"
#include "calibrate/write.h"
#include "cmd/args.h"
#include "cmd/cmd.h"
#include "jobs/command.h"
#include "report/table.h"
#include "store/write.h"

#define FILES_MAX 64 /* of each kind */
#define ROWS_MAX 1000000

struct options {
    const char *hardware, *constants, *output;
    const char *steps[FILES_MAX], *collectives[FILES_MAX];
    size_t nsteps, ncollectives;
    size_t rows;
    int folds;
};

#define AT(field) ARGS_AT(struct options, field)

static const struct args_row rows[] = {
    {"steps", 0, "FILE", args_list, ARGS_LIST(struct options, steps, nsteps), 0, FILES_MAX,
     "Steps of training that were measured, a JSON object a line: {\"id\", \"set\", \"in\": as "
     "plan.train_step is asked, \"measured\": {\"step_seconds\"}}; may be given again"},
    {"collectives", 0, "FILE", args_list, ARGS_LIST(struct options, collectives, ncollectives), 0,
     FILES_MAX, "Output of nccl-tests (all_reduce_perf and the like); may be given again"},
    {"constants", 0, "PATH,...", args_text, AT(constants), 0, 0,
     "Fit these, e.g. kernels.launch,tiers.1.efficiency (those that the file lists as fitted)"},
    {"folds", 0, "N", args_count, AT(folds), 0, FIT_FOLDS_MAX,
     "Cross-validate in so many parts; 0: not at all (5)"},
    {"rows", 0, "N", args_count, AT(rows), 0, ROWS_MAX,
     "At most so many steps of each set, evenly (all)"},
    {"output", 'o', "FILE", args_text, AT(output), 0, 0,
     "Write the cluster's file here, not to standard output"},
    {0}};

static void check(const struct args_line *line, void *input)
{
    const struct options *o = input;

    if (o->nsteps + o->ncollectives == 0)
        args_error(line, "nothing was measured; expected --steps or --collectives");
}

/* ---- what comes out ---- */

static void add_errors(struct text *out, const struct samples *samples, const struct fit *fit)
{
    struct table table;

    table_init(&table, "lrrrrrl");
    table_add(&table, "set");
    table_add(&table, "rows");
    table_add(&table, "before");
    table_add(&table, "MAPE");
    table_add(&table, "cross-validated");
    table_add(&table, "bias");
    table_add(&table, "worst");
    for (size_t i = 0; i < samples->nsets; i++) {
        const struct fit_error *e = &fit->sets[i];

        table_add(&table, "%s", samples->sets[i].name);
        table_add(&table, "%zu", samples->sets[i].n);
        table_add(&table, "%.2f %%", 100 * e->before_mape);
        table_add(&table, "%.2f %%", 100 * e->mape);
        if (isnan(e->cross_validated_mape))
            table_add(&table, "-");
        else
            table_add(&table, "%.2f %%", 100 * e->cross_validated_mape);
        table_add(&table, "%+.2f %%", 100 * e->bias);
        table_add(&table, "%s %+.1f %%", samples->items[e->worst].id, 100 * e->worst_error);
    }
    table_print(&table, 0, out);
    table_fini(&table);
}

static void add_constants(struct text *out, const struct constants *constants)
{
    struct table table;

    table_init(&table, "lrrl");
    for (size_t i = 0; i < constants->n; i++) {
        const struct constant *c = &constants->items[i];
        struct text start = TEXT_INIT, value = TEXT_INIT;

        constant_print(&start, c, c->start);
        constant_print(&value, c, c->value);
        table_add(&table, "%s", c->path);
        table_add(&table, "%s", text_get(&start));
        table_add(&table, "%s", text_get(&value));
        table_add(&table, "%s",
                  c->value <= c->least  ? "as small as it may be"
                  : c->value >= c->most ? "as large as it may be"
                                        : "");
        text_fini(&start);
        text_fini(&value);
    }
    table_print(&table, 0, out);
    table_fini(&table);
}

/* The tables go where the file does not. */
static int put(const struct options *o, const struct text *file, const struct text *tables)
{
    struct shd_error err;

    if (!o->output) {
        fputs(text_get(tables), stderr);
        return cmd_put(file);
    }
    if (store_write(o->output, file, &err) != SHD_OK) {
        cmd_error("%s", err.text);
        return CMD_CANNOT;
    }
    return cmd_put(tables);
}

/* ---- what goes in ---- */

static void read_samples(struct samples *samples, const struct options *o,
                         const struct hardware *hardware, struct diag *diag)
{
    for (size_t i = 0; i < o->nsteps; i++) {
        struct steps_file file = {.path = o->steps[i],
                                  .hardware = o->hardware,
                                  .hardware_name = hardware->name,
                                  .rows = o->rows};

        if (steps_read(samples, &file, diag) == SHD_OK && file.left_out > 0)
            cmd_note("%zu rows of %s are left out: of another cluster than %s, or without "
                     "step_seconds",
                     file.left_out, file.path, hardware->name);
    }
    for (size_t i = 0; i < o->ncollectives; i++)
        if (nccl_read(samples, o->collectives[i], o->hardware, diag) == SHD_ENOMEM)
            return;
    if (diag->nerrors == 0 && !diag->no_memory && samples->n == 0)
        diag_error(diag, (struct place){.file = NULL},
                   "no measurement is of %s; expected rows with in.hardware '%s'", hardware->name,
                   hardware->name);
}

static int fit(const struct options *o, struct samples *samples, struct constants *constants,
               const struct text *text, const char *place, struct diag *diag)
{
    struct text file = TEXT_INIT, tables = TEXT_INIT;
    struct shd_error err;
    struct fit fit;
    int exit = CMD_USAGE, status;

    status = fit_run(&fit, samples, constants, o->folds, &cmd_stop_request, &err);
    if (status != SHD_OK) {
        if (!cmd_is_stopped(status))
            cmd_error("%s", err.text);
        return cmd_exit_of(status);
    }
    if (write_hardware(&file, text, place, constants, samples, &fit, diag) == SHD_OK) {
        add_errors(&tables, samples, &fit);
        text_add_char(&tables, '\n');
        add_constants(&tables, constants);
        exit = put(o, &file, &tables);
    }
    fit_fini(&fit);
    text_fini(&file);
    text_fini(&tables);
    return exit;
}

static int calibrate(const struct options *o, struct diag *diag)
{
    struct text text = TEXT_INIT, place = TEXT_INIT;
    struct constants constants = {.n = 0};
    struct samples samples = {.n = 0};
    struct hardware *hardware = NULL;
    int exit = CMD_USAGE;
    int status =
        hardware_text(&text, &place, o->hardware, NULL, (struct place){.file = NULL}, diag);

    if (status == SHD_OK)
        status = hardware_parse(&hardware, text_get(&place), text_get(&text), text.length, diag);
    if (status == SHD_OK)
        status = constants_read(&constants, hardware, o->constants, diag);
    if (status == SHD_OK)
        read_samples(&samples, o, hardware, diag);
    if (diag->nerrors == 0 && !diag->no_memory)
        exit = fit(o, &samples, &constants, &text, text_get(&place), diag);
    samples_fini(&samples);
    constants_fini(&constants);
    hardware_destroy(hardware);
    text_fini(&text);
    text_fini(&place);
    return exit;
}

static const struct args args = {
    .own = {rows,
            {args_text, AT(hardware), "one cluster is calibrated at a time, and '%s' is another",
             "which cluster? expected its name or the path of its file"}},
    .operands = "HARDWARE",
    .check = check,
    .help =
        "Fit the constants of a cluster's file to times that were measured on it, and print the "
        "file with them, how far off the modelled times are, and how far off they are of steps "
        "that the constants were not fitted to.\v"
        "HARDWARE is the name of a cluster that is shipped, or the path of a file.  The file says "
        "which of its constants are fitted, and where the search begins.  Sets of measurements "
        "count alike, whatever their size.\n\n"
        "Examples:\n"
        "  Own steps on a cluster like one that is shipped:\n"
        "    shardsim calibrate h100-80g-roce --steps steps.jsonl -o cluster.yaml\n"
        "  Links alone:\n"
        "    shardsim calibrate a100-sxm --collectives reduce.txt -o "
        "cluster.yaml\n\n" ARGS_EXIT_STATUS("")};

static int run(int argc, char **argv)
{
    struct options o = {.folds = 5};
    struct diag diag = DIAG_INIT;
    int exit;

    args_parse(&args, argc, argv, &o);
    exit = calibrate(&o, &diag);
    diag_write(&diag, stderr);
    if (diag.nerrors > 0 || diag.no_memory)
        exit = cmd_exit_of_input(&diag);
    diag_fini(&diag);
    return exit;
}

const struct cmd cmd_calibrate = {"calibrate", "fit a cluster's constants to measured times", run};
