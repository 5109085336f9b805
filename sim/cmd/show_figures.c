/* shardsim show figures - the key, unit and meaning of every figure that is printed of a strategy.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "base/screen.h"
#include "cmd/args.h"
#include "cmd/show.h"
#include "command/command.h"
#include "report/figures.h"
#include "report/para.h"

static size_t longer(size_t width, const char *word)
{
    return strlen(word) > width ? strlen(word) : width;
}

static void print_figures(struct text *out, size_t columns)
{
    size_t key = 0, unit = 0;

    for (enum figure_id id = 0; id < NFIGURES; id++) {
        key = longer(key, figure_table[id].key);
        unit = longer(unit, figure_unit_name(figure_table[id].unit));
    }
    text_addf(out, "%-*s  %-*s  meaning\n", (int)key, "key", (int)unit, "unit");
    for (enum figure_id id = 0; id < NFIGURES; id++) {
        text_addf(out, "%-*s  %-*s  ", (int)key, figure_table[id].key, (int)unit,
                  figure_unit_name(figure_table[id].unit));
        para_print(out, columns, key + unit + 4, figure_table[id].label);
    }
}

static const struct args figures_args = {
    .help = "List the figures of a strategy: key (the same in CSV, JSON and baselines), unit and "
            "meaning.\vThe suffix _most is the maximum over devices. The prefixes measured, "
            "replayed and modelled are the origin of a time. In the JSON of a result, \"figures\" "
            "has all known figures.\n\n"
            "Examples:\n"
            "  The columns by which 'compare' can sort:\n"
            "    shardsim show figures\n\n" ARGS_EXIT_STATUS("")};

static int run(int argc, char **argv)
{
    struct text text = TEXT_INIT;
    struct screen screen;
    int status;

    args_parse(&figures_args, argc, argv, NULL);
    screen_init(&screen, stdout, SCREEN_NEVER);
    print_figures(&text, screen.columns);
    status = cmd_put(&text);
    text_fini(&text);
    return status;
}

const struct cmd show_figures = {"figures", "figures of a strategy: key, unit, meaning", run};
