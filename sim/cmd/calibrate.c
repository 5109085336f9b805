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
     "Measured training steps, one JSON object per line: {\"id\", \"set\", \"in\": the input of "
     "plan.train_step, \"measured\": {\"step_seconds\"}}; repeatable"},
    {"collectives", 0, "FILE", args_list, ARGS_LIST(struct calibration, collectives, ncollectives),
     0, CALIBRATION_FILES_MAX,
     "Output of nccl-tests (all_reduce_perf, all_gather_perf, ...); repeatable"},
    {"kernels", 0, "FOLDER", args_text, AT(kernels), 0, 0,
     "Fit only kernel models, to the measured tables GPU-KIND.csv or .csv.gz in this folder"},
    {"constants", 0, "PATH,...", args_text, AT(constants), 0, 0,
     "Constants to fit, e.g. kernels.launch,tiers.1.efficiency (default: the constants under "
     "'fitted' in the file)"},
    {"folds", 0, "N", args_count, AT(folds), 0, FIT_FOLDS_MAX,
     "Folds of the cross-validation; 0: none (default: 5)"},
    {"rows", 0, "N", args_count, AT(rows), 0, ROWS_MAX,
     "Use at most N steps of each set, evenly spaced (default: all)"},
    {"output", 'o', "FILE", args_text, AT(output), 0, 0,
     "Write the hardware file to FILE instead of standard output"},
    ARGS_FORCE(struct calibration, force),
    {0}};

static void check(const struct args_line *line, void *input)
{
    const struct calibration *o = input;

    if (o->nsteps + o->ncollectives == 0 && !o->kernels)
        args_error(line, "no measurements; expected --steps, --collectives or --kernels");
    if (o->kernels && (o->nsteps + o->ncollectives > 0 || o->constants))
        args_error(
            line,
            "--kernels fits kernel models only; remove --steps, --collectives and --constants");
}

static const struct args args = {
    .own =
        {.rows = rows,
         .word =
             {args_text, AT(hardware), "one cluster at a time; '%s' is a second one",
              "no cluster; expected its name ('shardsim show hardware') or the path of its file"}},
    .operands = "HARDWARE",
    .check = check,
    .help = "Fit the constants of a hardware file to times measured on that cluster. Prints the "
            "file with the fitted constants, the error of the modelled times, and their error on "
            "held-out steps.\vHARDWARE is the name of a shipped cluster or the path of a hardware "
            "file. The file lists the constants to fit, with their initial values. Every set of "
            "measurements has the same weight, whatever its size.\n\n"
            "Examples:\n"
            "  From your own measured steps, starting at a shipped cluster:\n"
            "    shardsim calibrate h100-80g-roce --steps steps.jsonl -o cluster.yaml\n"
            "  Link constants only:\n"
            "    shardsim calibrate a100-sxm --collectives reduce.txt -o "
            "cluster.yaml\n"
            "  Kernel models, from kernels measured one by one:\n"
            "    shardsim calibrate h100-sxm --kernels tables -o kernels.yaml\n\n" ARGS_EXIT_STATUS(
                "")};

static int run(int argc, char **argv)
{
    struct calibration o = {.folds = 5};

    args_parse(&args, argc, argv, &o);
    return calibration_run(&o);
}

const struct cmd cmd_calibrate = {"calibrate", "fit a hardware file's constants to measured times",
                                  run};
