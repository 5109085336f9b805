/* show.h - the drawings of `show`: one file each, and the table that lists them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_SHOW_H
#define CMD_SHOW_H

#include "cmd/cmd.h"

/* argv[0] is "shardsim show NAME". */
extern const struct cmd show_array;
extern const struct cmd show_curves;
extern const struct cmd show_figures;
extern const struct cmd show_functions;
extern const struct cmd show_groups;
extern const struct cmd show_hardware;
extern const struct cmd show_matrix;
extern const struct cmd show_memory;
extern const struct cmd show_mesh;
extern const struct cmd show_names;
extern const struct cmd show_options;
extern const struct cmd show_schema;
extern const struct cmd show_strategies;
extern const struct cmd show_timetable;
extern const struct cmd show_tree;

#endif /* CMD_SHOW_H */
