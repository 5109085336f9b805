/* shardsim show figures - the key, unit and meaning of every figure that is printed of a strategy.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/args.h"
#include "cmd/show.h"
#include "jobs/command.h"
#include "report/figures.h"
#include "report/table.h"

static void print_figures(struct text *out)
{
    struct table table;

    table_init(&table, "lll");
    table_add(&table, "key");
    table_add(&table, "unit");
    table_add(&table, "what it is");
    for (enum figure_id id = 0; id < NFIGURES; id++) {
        table_add(&table, "%s", figure_table[id].key);
        table_add(&table, "%s", figure_unit_name(figure_table[id].unit));
        table_add(&table, "%s", figure_table[id].label);
    }
    table_print(&table, 0, out);
    table_fini(&table);
}

static const struct args figures_args = {
    .help = "Print the figures of a strategy: the key of each, which is the same in CSV, JSON and "
            "baselines, its unit, and what it is.\v"
            "A key that ends in _most is of the device with the most of it; one that begins with "
            "measured, replayed or modelled says where its figure is from.  In the JSON of a "
            "result \"figures\" has all that are known.\n\n"
            "Examples:\n"
            "  By what can a comparison be sorted?\n"
            "    shardsim show figures\n\n" ARGS_EXIT_STATUS("")};

static int run(int argc, char **argv)
{
    struct text text = TEXT_INIT;
    int status;

    args_parse(&figures_args, argc, argv, NULL);
    print_figures(&text);
    status = cmd_put(&text);
    text_fini(&text);
    return status;
}

const struct cmd show_figures = {"figures", "the figures of a strategy: key, unit, meaning", run};
