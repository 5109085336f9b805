/* shardsim plan - the same program on paper.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/cmd.h"
#include "cmd/trials.h"

static int run(int argc, char **argv)
{
    return trials_main(
        argc, argv, RECORD_PLANNED,
        "Walk the program of every strategy on paper: bytes, flops and peak memory of each device, "
        "equal to the byte to what 'shardsim run' would do.  Nothing is allocated or computed.\v"
        "Example: shardsim plan scenarios/fsdp.yaml --set mesh.fsdp=64 --set batch.size=64\n\n"
        "Exit status: 0 all well; 1 does not fit the memory limit; 2 bad input.");
}

const struct cmd cmd_plan = {"plan", "the same program on paper: memory and traffic", run};
