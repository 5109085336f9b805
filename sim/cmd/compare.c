/* shardsim compare - strategies side by side.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "base/nearest.h"
#include "cmd/cmd.h"
#include "cmd/common.h"
#include "command/comparison.h"
#include "command/picture.h"

/* As long as a user waits for a table.  The time is enough for some fifty rounds of
 * scenarios/strategies.yaml on a quiet host of two cores, and for four rounds where four other
 * programs are busy on every core. */
#define SECONDS_DEFAULT 5
#define SECONDS_MAX 86400 /* a day */

static void take_columns(const struct args_value *v)
{
    struct comparison *o = v->at;
    char *rest = NULL;

    for (char *name = strtok_r(v->arg, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        if (!compare_find_columns(o->columns, name))
            args_error(v->line,
                       "--columns: no column '%s'; expected names as in --format=csv, or "
                       "all%s",
                       name, compare_hint(name).text);
        o->has_columns = true;
    }
    if (!o->has_columns)
        args_error(v->line,
                   "--columns is empty; expected keys of the CSV, headings of the table, or all");
}

static void take_sort(const struct args_value *v)
{
    int *sort = v->at;

    *sort = compare_find_sort(v->arg);
    if (*sort < 0)
        args_error(v->line, "--sort: no numeric column '%s'; expected a name as in --format=csv%s",
                   v->arg, compare_hint(v->arg).text);
}

static void find_format(const struct args_line *line, void *input)
{
    struct comparison *o = input;
    bool given = args_given(line, "format") || args_given(line, "json");

    if (o->path && picture_is_name(o->path)) {
        if (given)
            args_error(line, "'%s' is a picture; remove --format and --json", o->path);
        return;
    }
    if (o->path && !given && !compare_format_of(&o->format, o->path))
        args_error(line,
                   "the ending of '%s' is not a known format; expected .txt, .md, .csv, .json, "
                   ".svg, .png, or --format",
                   o->path);
}

#define AT(field) ARGS_AT(struct comparison, field)

static const struct args_row rows[] = {
    {"base", 'b', "NAME", args_text, AT(base), 0, 0,
     "Strategy to compare with: 'STRATEGY', 'SCENARIO: STRATEGY' or 'FILE: STRATEGY' (default: the "
     "first)"},
    {"columns", 0, "NAMES", take_columns, 0, 0, 0, 0,
     "Columns of the table, separated by commas: keys of the CSV, headings such as replayed, or "
     "all (default: columns that differ between strategies, as the width allows). For a picture: "
     "up to six numeric columns to draw as bars"},
    {"sort", 0, "NAME", take_sort, AT(sort), 0, 0, "Sort by this column, best first"},
    {"top", 0, "N", args_count, AT(top), 1, INT32_MAX, "Show only the first N strategies"},
    {"plan", 0, NULL, args_switch, AT(plan), 0, 0,
     "Analytical: nothing is executed, replayed or verified"},
    {"seconds", 0, "N", args_count, AT(seconds), 0, SECONDS_MAX,
     "Repeat measurements until replayed times are steady, for about N seconds at most (default: "
     "5); 0: do not repeat"},
    COMMON_MEMORY(struct comparison, memory),
    COMMON_SAVE(struct comparison, save),
    {"output", 'o', "FILE", args_text, AT(path), 0, 0,
     "Write to a file; its ending selects the format: .txt, .md, .csv, .json, or a picture (.svg, "
     ".png)"},
    {"format", 0, "table|markdown|csv|json", args_choice, AT(format), 0, 0,
     "Output format (default: table)"},
    {"json", 'j', NULL, args_set, AT(format), COMPARE_JSON, 0, "Same as --format=json"},
    COMMON_COLOUR(struct comparison, colour),
    {0}};

static const struct args args = {
    .own = {.rows = rows},
    .parts = {{&common_work, offsetof(struct comparison, work)},
              {&common_spread, offsetof(struct comparison, work)}},
    .operands = "SCENARIO...",
    .check = find_format,
    .help = "Compare the strategies of one or more scenario files: bytes received, flops, memory, "
            "replayed step time, and correctness. The summary names the best strategy, its margin, "
            "the reason and the cost.\v" SIDES_WHEN_EXECUTED "\n\n"
            "For the replayed step, all devices execute each strategy once. Then rounds measure "
            "the strategies in turns, times only. Equal work has one time: the minimum over all "
            "measurements. The spread is how much longer the step is over the slower half of the "
            "rounds than over all rounds. Rounds end when every spread is at most 1 %, or after "
            "--seconds. Steps whose difference is at most 1 %, or at most the larger of their two "
            "spreads, are within noise: neither is called faster.\n\n"
            "Examples:\n"
            "  Five layouts of one model, compared with the one named tensor:\n"
            "    shardsim compare scenarios/strategies.yaml --base tensor\n"
            "  The five layouts of a sweep of forty that move the fewest bytes:\n"
            "    shardsim compare --plan scenarios/sweep.yaml --sort received_bytes --top 5\n"
            "  A sweep of forty layouts, analytically, for a spreadsheet:\n"
            "    shardsim compare --plan scenarios/sweep.yaml -o sweep.csv\n"
            "  Two files, as a table for a pull request:\n"
            "    shardsim compare scenarios/dp_tp.yaml scenarios/fsdp.yaml -o "
            "table.md\n"
            "  The same comparison as bars, for a slide:\n"
            "    shardsim compare scenarios/dp_tp.yaml scenarios/fsdp.yaml -o "
            "bars.png\n"
            "\n" ARGS_EXIT_STATUS("  1    wrong results, or a strategy does not fit\n")};

static int run(int argc, char **argv)
{
    struct comparison o = {.format = COMPARE_TABLE, .sort = -1, .seconds = SECONDS_DEFAULT};
    int exit;

    args_parse(&args, argc, argv, &o);
    exit = comparison_run(&o);
    work_fini(&o.work);
    return exit;
}

const struct cmd cmd_compare = {"compare", "compare strategies: bytes, memory, time", run};
