/* shardsim report - strategies as one HTML page.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/cmd.h"
#include "cmd/common.h"
#include "command/command.h"
#include "command/sides.h"
#include "report/page.h"

/* Time for the rounds of all strategies together; replayed times get as steady as this allows. */
#define ROUNDS_NS INT64_C(5000000000)

static int put(struct sides_request *o, const struct compare *compare)
{
    struct text text = TEXT_INIT;
    struct shd_error err;
    int status = page_print(compare, &text, &err), exit;

    exit = work_put(&o->work, o->path, &text, status, &err);
    text_fini(&text);
    return exit;
}

static int report(struct sides_request *o)
{
    struct sides sides = {.work = &o->work, .plan = o->plan, .limit_ns = ROUNDS_NS};
    int exit = sides_try(&sides, 0);

    if (exit < CMD_USAGE && sides.compare.nresults > 0) {
        exit = cmd_worse(exit, put(o, &sides.compare));
        exit = cmd_worse(exit, sides_tell_fit(&sides));
    }
    sides_fini(&sides);
    return exit;
}

static const struct args args = {
    .parts = {{&common_sides, 0}, {&common_work, offsetof(struct sides_request, work)}},
    .operands = "SCENARIO...",
    .help =
        "Write a self-contained HTML page on the strategies: the verdict, a sortable table, and "
        "for each strategy its traffic matrix, timeline, memory over the step, collectives with "
        "their reasons, and mesh.\v" SIDES_WHEN_EXECUTED
        " Times of planned strategies are modelled on the scenario's cluster.\n\n"
        "Examples:\n"
        "  Five layouts of one model:\n"
        "    shardsim report scenarios/strategies.yaml -o layouts.html\n"
        "  A sweep of forty layouts on a cluster, analytically:\n"
        "    shardsim report --plan scenarios/sweep.yaml -s hardware=b200 -o "
        "sweep.html\n\n" ARGS_EXIT_STATUS("  1    wrong results, or a strategy does not fit\n")};

static int run(int argc, char **argv)
{
    struct sides_request o = {.plan = false};
    int exit;

    args_parse(&args, argc, argv, &o);
    exit = cmd_check_ending(o.path, ".html", ": open that page in a browser and print it to PDF");
    if (exit == CMD_OK)
        exit = cmd_check_output(o.path);
    o.work.plan = o.plan;
    if (exit == CMD_OK)
        exit = work_prepare(&o.work);
    if (exit == CMD_OK)
        exit = report(&o);
    work_fini(&o.work);
    return exit;
}

const struct cmd cmd_report = {"report", "write an HTML page on the strategies", run};
