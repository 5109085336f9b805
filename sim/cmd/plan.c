/* shardsim plan - the same program on paper.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/cmd.h"
#include "cmd/common.h"

static const struct args args = {
    .parts = {{&common_trials, 0}, {&common_work, offsetof(struct trials, work)}},
    .operands = "SCENARIO...",
    .help =
        "Walk the program of every strategy on paper: bytes, flops and peak memory of each device, "
        "equal to the byte to what 'shardsim run' would do.  Nothing is allocated or computed.  "
        "Where a step does not fit limits.memory, the smallest changes with which it would are "
        "planned, too, and listed.\v"
        "Examples:\n"
        "  More devices than would fit here:\n"
        "    shardsim plan scenarios/fsdp.yaml -s mesh.fsdp=64 -s batch.size=64\n"
        "  Does it fit in 16 MiB on each device?\n"
        "    shardsim plan scenarios/fsdp.yaml --set limits.memory=16MiB\n\n" ARGS_EXIT_STATUS(
            "  1    does not fit limits.memory or the memory of the cluster\n")};

static int run(int argc, char **argv)
{
    struct trials trials = {.mode = RECORD_PLANNED};
    int exit;

    args_parse(&args, argc, argv, &trials);
    exit = trials_run(&trials);
    work_fini(&trials.work);
    return exit;
}

const struct cmd cmd_plan = {"plan", "the same program on paper: memory and traffic", run};
