/* shardsim query - JSON lines in, JSON lines out.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "query/query.h"

#include <argp.h>

#include "cmd/args.h"
#include "cmd/cmd.h"
#include "cmd/pages.h"

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    (void)arg;
    if (key != ARGP_KEY_ARG)
        return ARGP_ERR_UNKNOWN;
    args_error(state, "questions come on standard input, not as arguments");
    return 0;
}

static int run(int argc, char **argv)
{
    static const struct argp argp = {
        NULL,
        parse_option,
        NULL,
        "Answer questions: one object {\"id\", \"op\", \"in\"} a line on standard input, one "
        "object {\"id\", \"out\"} or {\"id\", \"err\": {\"kind\", \"message\"}} a line on standard "
        "output, in the same order.\v"
        "A question, for the blocks of an array on two devices: {\"id\": 1, \"op\": "
        "\"sharding.shards\", \"in\": {\"mesh\": [[\"tp\", 2]], \"shape\": [4, 6], \"spec\": "
        "[null, \"tp\"]}}.\n\n"
        "Examples:\n"
        "  Answer a file of questions:\n"
        "    shardsim query <questions.jsonl >answers.jsonl\n\n" ARGS_EXIT_STATUS(""),
        NULL,
        NULL,
        NULL};
    struct shd_error err;
    int status;

    args_parse(&argp, argc, argv, NULL);
    pages_keep();
    status = query_serve(stdin, stdout, &cmd_stop_request, &err);
    if (status != SHD_OK && !cmd_stop_request)
        cmd_error("%s", err.text);
    return cmd_stop_request ? CMD_INTERRUPTED : status == SHD_OK ? CMD_OK : CMD_CANNOT;
}

const struct cmd cmd_query = {"query", "JSON lines in, JSON lines out: for other languages", run};
