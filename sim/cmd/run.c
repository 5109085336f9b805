/* shardsim run - execute, verify, record.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/cmd.h"
#include "cmd/trials.h"

static int run(int argc, char **argv)
{
    return trials_main(
        argc, argv, RECORD_EXECUTED,
        "Execute every strategy of the scenarios on virtual devices, with real numbers; check "
        "outputs, loss and gradients against the unsharded computation; and tell what was "
        "communicated, by whom and why, and how evenly the work lay.\v"
        "Example: shardsim run scenarios/tensor_parallel.yaml\n\n"
        "Exit status: 0 all well; 1 wrong numbers, or a device ran out of memory; 2 bad input; 3 "
        "could not run here; 130 interrupted.");
}

const struct cmd cmd_run = {"run", "execute, verify, record", run};
