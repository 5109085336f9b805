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
                   "--columns names none; expected keys as CSV has them, headings, or all");
}

static void take_sort(const struct args_value *v)
{
    int *sort = v->at;

    *sort = compare_find_sort(v->arg);
    if (*sort < 0)
        args_error(v->line,
                   "--sort: no column of numbers '%s'; expected a name as in "
                   "--format=csv%s",
                   v->arg, compare_hint(v->arg).text);
}

static void find_format(const struct args_line *line, void *input)
{
    struct comparison *o = input;
    bool given = args_given(line, "format") || args_given(line, "json");

    if (o->path && picture_is_name(o->path)) {
        if (given)
            args_error(line, "--format and --json go without a picture such as '%s'", o->path);
        return;
    }
    if (o->path && !given && !compare_format_of(&o->format, o->path))
        args_error(line,
                   "'%s' has no ending that says a format; expected .txt, .md, .csv, .json, "
                   ".svg, .png, or --format",
                   o->path);
}

#define AT(field) ARGS_AT(struct comparison, field)

static const struct args_row rows[] = {
    {"base", 'b', "NAME", args_text, AT(base), 0, 0,
     "Compare with this strategy ('STRATEGY', 'SCENARIO: STRATEGY', or 'FILE: STRATEGY'); "
     "otherwise with the first"},
    {"columns", 0, "NAMES", take_columns, 0, 0, 0, 0,
     "The columns of the table, with commas between them: keys as CSV has them, headings such "
     "as replayed, or all; if not given, those that tell strategies apart and fit in one table. Of "
     "a picture: what it has bars of, up to six columns of numbers"},
    {"sort", 0, "NAME", take_sort, AT(sort), 0, 0, "Sort by this column, the best first"},
    {"top", 0, "N", args_count, AT(top), 1, INT32_MAX, "Show the first N only"},
    {"plan", 0, NULL, args_switch, AT(plan), 0, 0,
     "On paper: nothing is executed, replayed or verified"},
    {"seconds", 0, "N", args_count, AT(seconds), 0, SECONDS_MAX,
     "Measure in rounds until replayed times are steady, but for about N seconds at most (5); 0: "
     "in no rounds"},
    COMMON_MEMORY(struct comparison, memory),
    COMMON_SAVE(struct comparison, save),
    {"output", 'o', "FILE", args_text, AT(path), 0, 0,
     "Write to a file, in the format of its ending: .txt, .md, .csv, .json, or as a picture: .svg, "
     ".png"},
    {"format", 0, "table|markdown|csv|json", args_choice, AT(format), 0, 0,
     "How to write it; a table if not given"},
    {"json", 'j', NULL, args_set, AT(format), COMPARE_JSON, 0, "The same as --format=json"},
    COMMON_COLOUR(struct comparison, colour),
    {0}};

static const struct args args = {
    .own = {.rows = rows},
    .parts = {{&common_work, offsetof(struct comparison, work)},
              {&common_spread, offsetof(struct comparison, work)}},
    .operands = "SCENARIO...",
    .check = find_format,
    .help =
        "Strategies side by side, all of a file's or those of several files: bytes received, "
        "flops, memory, the replayed step, and whether the numbers are right; and who wins, by how "
        "much, why, and at what price.\v" SIDES_WHEN_EXECUTED "\n\n"
        "For the replayed step each is executed once by all devices, and then measured in rounds, "
        "in which devices walk the step alone and strategies take turns. The same work has one "
        "time, the least that was seen. The spread is how far the step of the slower half of the "
        "rounds is above that of all. Rounds end when every spread is at most 1 %, or after "
        "--seconds. Steps that differ by no more than the larger spread of the two, or by 1 %, are "
        "within noise: none of them is called the best.\n\n"
        "Examples:\n"
        "  Five layouts of one model, beside the one named tensor:\n"
        "    shardsim compare scenarios/strategies.yaml --base tensor\n"
        "  The five that move least of a sweep of forty, with all columns:\n"
        "    shardsim compare --plan scenarios/sweep.yaml --sort received_bytes --top 5\n"
        "  Forty of a sweep, on paper, for a spreadsheet:\n"
        "    shardsim compare --plan scenarios/sweep.yaml -o sweep.csv\n"
        "  Two files, as a table for a pull request:\n"
        "    shardsim compare scenarios/dp_tp.yaml scenarios/fsdp.yaml -o "
        "table.md\n"
        "  The same as bars, for a slide:\n"
        "    shardsim compare scenarios/dp_tp.yaml scenarios/fsdp.yaml -o "
        "bars.png\n"
        "\n" ARGS_EXIT_STATUS("  1    wrong numbers, or one does not fit\n")};

static int run(int argc, char **argv)
{
    struct comparison o = {.format = COMPARE_TABLE, .sort = -1, .seconds = SECONDS_DEFAULT};
    int exit;

    args_parse(&args, argc, argv, &o);
    exit = comparison_run(&o);
    work_fini(&o.work);
    return exit;
}

const struct cmd cmd_compare = {"compare", "strategies side by side", run};
