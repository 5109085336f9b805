/* shardsim run - execute, verify, record.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/args.h"
#include "cmd/cmd.h"
#include "cmd/trials.h"

static int run(int argc, char **argv)
{
    return trials_main(
        argc, argv, RECORD_EXECUTED,
        "Execute every strategy of the scenarios on virtual devices, with real numbers; check "
        "outputs, loss and gradients against the unsharded computation; and report what was "
        "communicated, by whom and why, and how evenly the work was distributed.\v"
        "Examples:\n"
        "  What is communicated, and is it right?\n"
        "    shardsim run scenarios/tensor_parallel.yaml\n"
        "  The same on four devices:\n"
        "    shardsim run scenarios/tensor_parallel.yaml --set mesh.tp=4\n"
        "  All strategies of a file, for a program to read:\n"
        "    shardsim run -q --json scenarios/strategies.yaml "
        ">strategies.json\n\n" ARGS_EXIT_STATUS(
            "  1    wrong numbers, or a device ran out of memory\n"));
}

const struct cmd cmd_run = {"run", "execute, verify, record", run};
