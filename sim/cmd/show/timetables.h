/* timetables.h - pipeline timetables: of given schedules, of a scenario, or all in a table.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_SHOW_TIMETABLES_H
#define CMD_SHOW_TIMETABLES_H

#include "command/canvas.h"
#include "command/chosen.h"
#include "report/timetable_lanes.h"

struct timetables {
    struct canvas canvas;
    const char *name;                  /* a schedule, a scenario's file, or "all" */
    const char *names[TIMETABLES_MAX]; /* all schedules asked for, `name` first */
    size_t nnames;
    struct chosen chosen;         /* of a scenario */
    struct timetable_sizes sizes; /* stages_per_rank 0: the schedule's own */
    struct timetable_times times;
    bool has_times; /* else `times` are of all stages of a rank together */
};

/* Whether a name is that of a scenario's file: names of schedules are letters, digits, '-' and
 * '_'. */
bool timetables_is_file(const char *name);

/* Draw or print what is asked for; returns the exit status. */
int timetables_run(struct timetables *timetables);

#endif /* CMD_SHOW_TIMETABLES_H */
