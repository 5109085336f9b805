/* shardsim run - execute, verify, record.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/cmd.h"
#include "cmd/common.h"

#define REPEATS_MAX 1000000 /* more is a slip of the hand */
#define THREADS_MAX 1024    /* of one device, far above the cores of a host */

#define AT(field) ARGS_AT(struct trials, field)

static const struct args_row rows[] = {
    {"repeat", 0, "N", args_count, AT(repeats), 1, REPEATS_MAX,
     "Execute the step N times to measure it: the time is the median without the first run, which "
     "is reported separately. A training scenario sets its own number of steps"},
    {"threads", 0, "N", args_count, AT(nthreads), 1, THREADS_MAX,
     "Threads per device (default: 1); results do not depend on N. The step is replayed only with "
     "1"},
    {"outputs", 0, "FILE", args_text, AT(outputs), 0, 0,
     "Write the unsharded outputs of the last step to FILE.safetensors; for one strategy, in one "
     "process"},
    COMMON_MEMORY(struct trials, memory),
    {0}};

static const struct args args = {
    .own = {.rows = rows},
    .parts = {{&common_trials, 0},
              {&common_work, offsetof(struct trials, work)},
              {&common_spread, offsetof(struct trials, work)}},
    .operands = "SCENARIO...",
    .help = "Execute every strategy of the scenarios on virtual devices with real numbers, and "
            "verify outputs, loss and gradients against the unsharded computation. Reports every "
            "collective with its reason, memory, flops, and the balance of the work.\vExamples:\n"
            "  The collectives of a layout, and whether its results are right:\n"
            "    shardsim run scenarios/tensor_parallel.yaml\n"
            "  The same scenario on four devices:\n"
            "    shardsim run scenarios/tensor_parallel.yaml --set mesh.tp=4\n"
            "  All strategies of a file, as JSON:\n"
            "    shardsim run -q --json scenarios/strategies.yaml "
            ">strategies.json\n\n" ARGS_EXIT_STATUS(
                "  1    wrong results, or a device ran out of memory\n")};

static int run(int argc, char **argv)
{
    struct trials trials = {.mode = RECORD_EXECUTED};
    int exit;

    args_parse(&args, argc, argv, &trials);
    exit = trials_run(&trials);
    work_fini(&trials.work);
    return exit;
}

const struct cmd cmd_run = {"run", "execute a step on virtual devices and verify it", run};
