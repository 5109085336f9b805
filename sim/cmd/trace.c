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
                      "%s: a plan has no times of its own; expected a cluster, as in "
                      "-s hardware=h100-sxm",
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
    log_error(&o->work.log, "there are several strategies; choose one with --strategy: %s",
              text_get(&names));
    text_fini(&names);
    return false;
}

static const struct args args = {
    .parts = {{&common_sides, 0}, {&common_work, offsetof(struct sides_request, work)}},
    .operands = "SCENARIO",
    .help =
        "A step as Chrome's trace events, which https://ui.perfetto.dev opens: a process for each "
        "device, or for devices alike where there are more than 64; threads for computations and "
        "for transfers along each axis of the mesh; counters of the memory in use and of bytes "
        "received; arrows from senders to receivers.\v"
        "Times are replayed: as if each device had a core of its own. With --plan they are "
        "modelled "
        "on the cluster that the scenario names. What does not fit here is planned, too: more than "
        "1024 devices, more than half of this machine's memory, or 10^12 flops.\n\n"
        "Examples:\n"
        "  Who waits for whom, in Perfetto?\n"
        "    shardsim trace scenarios/dp_tp.yaml -o step.json\n"
        "  The same on a cluster, on paper:\n"
        "    shardsim trace --plan scenarios/dp_tp.yaml -s hardware=b200 -o "
        "step.json\n\n" ARGS_EXIT_STATUS("  1    wrong numbers, or it does not fit\n")};

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

const struct cmd cmd_trace = {"trace", "a step as trace events, for Perfetto", run};
