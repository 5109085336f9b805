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
    .help = "Analytical: compute bytes, flops and peak memory of each device for every strategy, "
            "equal to the byte to an execution by 'shardsim run', and the time on the scenario's "
            "cluster. Nothing is executed. If a step does not fit limits.memory, the smallest "
            "changes that make it fit are listed.\vExamples:\n"
            "  More devices than this machine could execute:\n"
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

const struct cmd cmd_plan = {"plan", "analytical: memory, traffic and time; nothing is executed",
                             run};
