/* shardsim show functions, show options, show schema, show strategies - what a scenario file may
 * say, and what one has.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/escape.h"
#include "base/screen.h"
#include "cmd/args.h"
#include "cmd/cmd.h"
#include "cmd/show.h"
#include "command/command.h"
#include "model/graph_text.h"
#include "report/para.h"
#include "scenario/scenario.h"
#include "scenario/schema.h"

/* Parse a command line without options and arguments, and print. */
static int print(int argc, char **argv, const char *doc, void (*print_to)(struct text *out))
{
    const struct args args = {.help = doc};
    struct text text = TEXT_INIT;
    int status;

    args_parse(&args, argc, argv, NULL);
    print_to(&text);
    status = cmd_put(&text);
    text_fini(&text);
    return status;
}

static int run_functions(int argc, char **argv)
{
    return print(argc, argv,
                 "List the functions for the lines of a scenario's graph (graph.ops): arguments, "
                 "and the computation. The operators are + - * /.\vExamples:\n"
                 "  The arguments of attention:\n"
                 "    shardsim show functions | grep -A 1 attention\n\n" ARGS_EXIT_STATUS(""),
                 graph_text_print_help);
}

static const struct args options_args = {
    .own = {.word = {args_text, 0, sizeof(char *), "one key at a time; '%s' is a second one",
                     NULL}},
    .operands = "[KEY]",
    .help = "List the keys of a scenario file, or those with KEY in their name: type, default and "
            "meaning.\vExamples:\n"
            "  The keys of the model:\n"
            "    shardsim show options model\n"
            "  The keys on heads:\n"
            "    shardsim show options heads\n\n" ARGS_EXIT_STATUS("")};

static int run_options(int argc, char **argv)
{
    const char *key = NULL;
    char near[64];
    struct text lines = TEXT_INIT, text = TEXT_INIT;
    struct screen screen;
    int status = CMD_USAGE;
    size_t n;

    args_parse(&options_args, argc, argv, &key);
    screen_init(&screen, stdout, SCREEN_NEVER);
    n = scenario_print_options(&lines, key);
    para_fold(&text, screen.columns, 4, &lines);
    if (n > 0 || text.failed)
        status = cmd_put(&text);
    else if (*scenario_nearest_option(key, near, sizeof near))
        cmd_error("no option has '%s' in its name; did you mean '%s'?", key, near);
    else
        cmd_error("no option has '%s' in its name; 'shardsim show options' lists all", key);
    text_fini(&text);
    return status;
}

static int run_schema(int argc, char **argv)
{
    return print(
        argc, argv,
        "Print the JSON Schema (draft 7) of scenario files, for checking and completion in "
        "editors.\vThe YAML language server finds the schema by the first line of a scenario: '# "
        "yaml-language-server: $schema=scenario.schema.json'.\n\n"
        "Examples:\n"
        "  Write the schema beside the scenarios:\n"
        "    shardsim show schema >scenarios/scenario.schema.json\n\n" ARGS_EXIT_STATUS(""),
        schema_print);
}

static const struct args strategies_args = {
    .own = {.word = {args_text, 0, sizeof(char *), "one scenario at a time; '%s' is a second one",
                     "no scenario file given ('-' is standard input)"}},
    .operands = "SCENARIO",
    .help = "Print the names of a scenario's strategies, including those of its sweep, one per "
            "line. Errors in a strategy are reported, and do not hide the names.\vExamples:\n"
            "  The strategies of a sweep:\n"
            "    shardsim show strategies scenarios/sweep.yaml\n\n" ARGS_EXIT_STATUS("")};

static int run_strategies(int argc, char **argv)
{
    static const char *const none[] = {""};
    const struct scenario_choice names_only = {none, 1};
    struct diag diag = DIAG_INIT, again = DIAG_INIT;
    struct scenario_file *file = NULL;
    const char *path = NULL;
    struct text text = TEXT_INIT;
    int status = CMD_OK, put = CMD_OK;

    args_parse(&strategies_args, argc, argv, &path);
    if (scenario_load(&file, path, NULL, 0, &diag) != SHD_OK)
        status = cmd_exit_of_input(&diag);
    if (status == CMD_OK ||
        scenario_load_chosen(&file, path, NULL, 0, names_only, &again) == SHD_OK) {
        for (size_t i = 0; i < file->nscenarios; i++) {
            escape_add(&text, file->scenarios[i].strategy);
            text_add_char(&text, '\n');
        }
        put = cmd_put(&text);
    }
    status = cmd_worse(status, put);
    diag_fini(&again);
    diag_write(&diag, stderr);
    scenario_file_destroy(file);
    diag_fini(&diag);
    text_fini(&text);
    return status;
}

const struct cmd show_functions = {"functions", "functions for the lines of a graph",
                                   run_functions};
const struct cmd show_options = {"options", "keys of a scenario file", run_options};
const struct cmd show_schema = {"schema", "JSON Schema of scenario files, for editors", run_schema};
const struct cmd show_strategies = {"strategies", "names of a scenario's strategies",
                                    run_strategies};
