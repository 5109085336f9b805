/* shardsim query - JSON lines in, JSON lines out.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "query/query.h"

#include <argp.h>

#include "cmd/cmd.h"

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    (void)arg;
    if (key != ARGP_KEY_ARG)
        return ARGP_ERR_UNKNOWN;
    argp_error(state, "questions come on standard input, not as arguments");
    return 0;
}

static int run(int argc, char **argv)
{
    static const struct argp argp = {
        NULL, parse_option, "",
        "Answer questions: one object {\"id\", \"op\", \"in\"} a line on standard input, one object "
        "{\"id\", \"out\"} or {\"id\", \"err\": {\"kind\", \"message\"}} a line on standard output, in "
        "the same order.\v"
        "Example: echo '{\"id\": 1, \"op\": \"sharding.shards\", \"in\": {\"mesh\": [[\"tp\", 2]], "
        "\"shape\": [4, 6], \"spec\": [null, \"tp\"]}}' | shardsim query",
        NULL, NULL, NULL};
    struct shd_error err;
    int status;

    argp_parse(&argp, argc, argv, 0, NULL, NULL);
    status = query_serve(stdin, stdout, &cmd_stop_request, &err);
    if (status != SHD_OK && !cmd_stop_request)
        fprintf(stderr, "shardsim: error: %s\n", err.text);
    return cmd_stop_request ? CMD_INTERRUPTED : status == SHD_OK ? CMD_OK : CMD_CANNOT;
}

const struct cmd cmd_query = {"query", "JSON lines in, JSON lines out: for other languages", run};
