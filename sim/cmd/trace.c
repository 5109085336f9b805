/* shardsim trace - a step as trace events, to be opened in Perfetto.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/json_out.h"
#include "cmd/cmd.h"
#include "cmd/common.h"
#include "cost/timeline.h"
#include "command/command.h"
#include "command/sides.h"
#include "report/trace.h"

/* The time that a user waits for a trace; rounds within this time make replayed steps steadier. */
#define ROUNDS_NS INT64_C(2000000000)

static int put(struct sides_request *o, const struct result *result)
{
    struct text text = TEXT_INIT;
    struct json_out json;
    struct shd_error err;
    int status, exit;

    json_out_init_text(&json, &text, JSON_OUT_PRETTY);
    status = trace_json(result, &json, &err);
    if (status == SHD_OK && json_out_fini(&json) != SHD_OK)
        status = shd_error_set(&err, SHD_ENOMEM, "no memory for the trace");
    exit = work_put(&o->work, o->path, &text, status, &err);
    text_fini(&text);
    return exit;
}

static int trace(struct sides_request *o)
{
    struct sides sides = {.work = &o->work, .plan = o->plan, .limit_ns = ROUNDS_NS};
    int exit = sides_try(&sides, 0), written;

    if (exit < CMD_USAGE && sides.compare.nresults == 1) {
        if (timeline_is_known(sides.results[0].record)) {
            written = put(o, &sides.results[0]);
        } else {
            log_error(&o->work.log,
                      "%s: the times of a plan need a cluster; expected e.g. -s hardware=h100-sxm",
                      o->work.items[0].scenario->strategy);
            written = CMD_USAGE;
        }
        exit = cmd_worse(exit, written);
    }
    sides_fini(&sides);
    return exit;
}

/* The only strategy of the work; false, with a message, where there are more. */
static bool is_one(struct sides_request *o)
{
    struct text names = TEXT_INIT;

    if (o->work.nitems == 1)
        return true;
    for (size_t i = 0; i < o->work.nitems; i++)
        text_addf(&names, "%s'%s'", i ? ", " : "", o->work.items[i].scenario->strategy);
    log_error(&o->work.log, "the file has several strategies; choose one with --strategy: %s",
              text_get(&names));
    text_fini(&names);
    return false;
}

static const struct args args = {
    .parts = {{&common_sides, 0}, {&common_work, offsetof(struct sides_request, work)}},
    .operands = "SCENARIO",
    .help =
        "Write a step as Chrome trace events, for https://ui.perfetto.dev: a process for each "
        "device (above 64 devices, for each class of equal devices); threads for computation and "
        "for transfers along each mesh axis; counters of memory in use and bytes received; arrows "
        "from senders to receivers.\vTimes are replayed, with one CPU core per device. With "
        "--plan they are modelled on the scenario's cluster. A step too large for this machine is "
        "planned, too: more than 1024 devices, half of this machine's memory, or 10^12 flops.\n\n"
        "Examples:\n"
        "  A replayed step:\n"
        "    shardsim trace scenarios/dp_tp.yaml -o step.json\n"
        "  The same step modelled on a cluster:\n"
        "    shardsim trace --plan scenarios/dp_tp.yaml -s hardware=b200 -o "
        "step.json\n\n" ARGS_EXIT_STATUS("  1    wrong results, or the step does not fit\n")};

static int run(int argc, char **argv)
{
    struct sides_request o = {.plan = false};
    int exit;

    args_parse(&args, argc, argv, &o);
    exit = cmd_check_ending(o.path, ".json", ", which Perfetto opens");
    if (exit == CMD_OK)
        exit = cmd_check_output(o.path);
    o.work.plan = o.plan;
    if (exit == CMD_OK)
        exit = work_prepare(&o.work);
    if (exit == CMD_OK)
        exit = is_one(&o) ? trace(&o) : CMD_USAGE;
    work_fini(&o.work);
    return exit;
}

const struct cmd cmd_trace = {"trace", "write a step's timeline for Perfetto", run};
