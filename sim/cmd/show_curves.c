/* shardsim show curves - the losses of a training, a line for each strategy.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/show.h"

#include "cmd/common.h"
#include "command/training.h"

static const struct args_row rows[] = {{"json", 'j', NULL, args_switch,
                                        ARGS_AT(struct training, json), 0, 0,
                                        "Print all losses as JSON, one object per strategy, and "
                                        "the expert load balance of the last step"},
                                       {0}};

static const struct args args = {
    .own = {.rows = rows},
    .parts = {{&common_work, offsetof(struct training, work)},
              {&common_canvas, offsetof(struct training, canvas)}},
    .operands = "SCENARIO...",
    .help = "Train with every strategy and show the loss of each step, and its difference from the "
            "first strategy: as a table of some steps, or with -o FILE.svg as curves. Results are "
            "not verified; 'shardsim run' does that.\vExamples:\n"
            "  Do all layouts train to the same loss?\n"
            "    shardsim show curves scenarios/train_zero.yaml --set steps=5\n\n" ARGS_EXIT_STATUS(
                "")};

static int run(int argc, char **argv)
{
    struct training o = {.json = false};
    int exit;

    args_parse(&args, argc, argv, &o);
    exit = training_run(&o);
    work_fini(&o.work);
    return exit;
}

const struct cmd show_curves = {"curves", "loss curves of training, by strategy", run};
