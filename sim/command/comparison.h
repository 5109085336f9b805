/* comparison.h - strategies of scenario files compared: tried, and printed side by side.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COMMAND_COMPARISON_H
#define COMMAND_COMPARISON_H

#include "command/save.h"
#include "command/work.h"
#include "report/compare.h"

struct comparison {
    struct work work; /* of work_init() */
    struct save save;
    const char *base, *path; /* NULL: the first; standard output */
    const char *memory;      /* NULL: the default */
    bool plan;
    enum compare_format format;
    enum screen_colour colour;
    bool columns[NFIGURES];
    bool has_columns;
    int sort; /* fields of struct compare */
    size_t top;
    int seconds; /* time limit of the rounds: no round begins later */
};

/* Compare all strategies of all files; returns the exit status. */
int comparison_run(struct comparison *comparison);

#endif /* COMMAND_COMPARISON_H */
