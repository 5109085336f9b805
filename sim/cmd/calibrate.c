/* shardsim calibrate - the constants of a cluster's file, from times that were measured on it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "calibrate/fit.h"
#include "cmd/args.h"
#include "cmd/cmd.h"
#include "cmd/calibrate/calibration.h"

#define ROWS_MAX 1000000

#define AT(field) ARGS_AT(struct calibration, field)

static const struct args_row rows[] = {
    {"steps", 0, "FILE", args_list, ARGS_LIST(struct calibration, steps, nsteps), 0,
     CALIBRATION_FILES_MAX,
     "Steps of training that were measured, a JSON object a line: {\"id\", \"set\", \"in\": as "
     "plan.train_step is asked, \"measured\": {\"step_seconds\"}}; may be given again"},
    {"collectives", 0, "FILE", args_list, ARGS_LIST(struct calibration, collectives, ncollectives),
     0, CALIBRATION_FILES_MAX,
     "Output of nccl-tests (all_reduce_perf and the like); may be given again"},
    {"kernels", 0, "FOLDER", args_text, AT(kernels), 0, 0,
     "Fit the models of measured kernels to the tables of this folder, GPU-KIND.csv or .csv.gz, "
     "and nothing else"},
    {"constants", 0, "PATH,...", args_text, AT(constants), 0, 0,
     "Fit these, e.g. kernels.launch,tiers.1.efficiency (those that the file lists as fitted)"},
    {"folds", 0, "N", args_count, AT(folds), 0, FIT_FOLDS_MAX,
     "Cross-validate in so many parts; 0: not at all (5)"},
    {"rows", 0, "N", args_count, AT(rows), 0, ROWS_MAX,
     "At most so many steps of each set, evenly (all)"},
    {"output", 'o', "FILE", args_text, AT(output), 0, 0,
     "Write the cluster's file here, not to standard output"},
    ARGS_FORCE(struct calibration, force),
    {0}};

static void check(const struct args_line *line, void *input)
{
    const struct calibration *o = input;

    if (o->nsteps + o->ncollectives == 0 && !o->kernels)
        args_error(line, "nothing was measured; expected --steps, --collectives or --kernels");
    if (o->kernels && (o->nsteps + o->ncollectives > 0 || o->constants))
        args_error(line, "--kernels fits models of kernels alone; expected no --steps, "
                         "--collectives or --constants beside it");
}

static const struct args args = {
    .own = {.rows = rows,
            .word = {args_text, AT(hardware),
                     "one cluster is calibrated at a time, and '%s' is another",
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
        "cluster.yaml\n"
        "  Kernels of a device, each measured alone:\n"
        "    shardsim calibrate h100-sxm --kernels tables -o kernels.yaml\n\n" ARGS_EXIT_STATUS("")};

static int run(int argc, char **argv)
{
    struct calibration o = {.folds = 5};

    args_parse(&args, argc, argv, &o);
    return calibration_run(&o);
}

const struct cmd cmd_calibrate = {"calibrate", "fit a cluster's constants to measured times", run};
