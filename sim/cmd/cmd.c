/* Listing, finding and running subcommands (cmd.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/cmd.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/nearest.h"
#include "base/text.h"
#include "command/command.h"

void cmd_list(FILE *file, const struct cmd *const *table)
{
    for (; *table; table++)
        fprintf(file, "  %-11s %s\n", (*table)->name, (*table)->desc);
}

/* A scenario was given where a command is expected. */
static bool is_file(const char *word)
{
    return strchr(word, '/') || access(word, F_OK) == 0;
}

/* Print the names expected in place of an unknown one. */
static void report_missing(const struct cmd *const *table, const char *program, const char *missing,
                           const struct nearest *near)
{
    struct text rows = TEXT_INIT;

    for (size_t i = 0; table[i]; i++)
        text_addf(&rows, "%s%s", i ? ", " : "", table[i]->name);
    if (near->best)
        cmd_error("%s '%s'%s", missing, near->word, nearest_hint(near).text);
    else if (*near->word == '-')
        cmd_error("%s '%s'; before options, expected one of %s", missing, near->word,
                  text_get(&rows));
    else if (is_file(near->word))
        cmd_error("%s '%s'; before the file, expected one of %s", missing, near->word,
                  text_get(&rows));
    else
        cmd_error("%s '%s'; expected one of %s", missing, near->word, text_get(&rows));
    text_fini(&rows);
    fprintf(stderr, "Try '%s --help'.\n", program);
}

int cmd_run_row(const struct cmd *const *table, const char *program, const char *missing, int argc,
                char **argv)
{
    const struct cmd *const *rows = table;
    char name[64];
    struct nearest near;

    nearest_init(&near, argv[1]);
    nearest_add(&near, "--help");
    nearest_add(&near, "--version");
    for (; *table; table++) {
        if (!strcmp(argv[1], (*table)->name)) {
            snprintf(name, sizeof name, "%s %s", program, (*table)->name);
            argv[1] = name; /* the program's name in argp's messages */
            return (*table)->run(argc - 1, argv + 1);
        }
        nearest_add(&near, (*table)->name);
    }
    report_missing(rows, program, missing, &near);
    return CMD_USAGE;
}
