/* shardsim show curves - the losses of a training, a line for each strategy.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/show.h"

#include "cmd/common.h"
#include "command/training.h"

static const struct args_row rows[] = {
    {"json", 'j', NULL, args_switch, ARGS_AT(struct training, json), 0, 0,
     "Print all losses as JSON, an object a strategy, and how even the work of experts is in the "
     "last step"},
    {0}};

static const struct args args = {
    .own = {.rows = rows},
    .parts = {{&common_work, offsetof(struct training, work)},
              {&common_canvas, offsetof(struct training, canvas)}},
    .operands = "SCENARIO...",
    .help =
        "Train with every strategy and draw the loss of each step, and how far each strategy is "
        "from the first: as a table of some steps, or with -o FILE.svg as lines. Nothing is "
        "verified, which is what 'shardsim run' does.\v"
        "Examples:\n"
        "  Do layouts learn the same?\n"
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

const struct cmd show_curves = {"curves", "the losses of a training, by strategy", run};
