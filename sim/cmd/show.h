/* show.h - the drawings of `show`: one file each, and the table that lists them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_SHOW_H
#define CMD_SHOW_H

#include <argp.h>

#include <shd/mesh.h>

#include "cmd/cmd.h"
#include "jobs/canvas.h"

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

/* Options of drawings of a mesh and of arrays on a mesh. */
struct show_request {
    struct canvas canvas;
    const char *mesh, *axes, *shape, *spec; /* -m, -a, -n, -p; NULL where not given */
};

/* An argp parser for these options, whose input is a struct show_request.  The calling parser
 * decides whether arguments without an option are allowed, and which options are required. */
error_t show_parse_option(int key, char *arg, struct argp_state *state);
extern const struct argp_child show_children[];

/* Parse the command line into *options, and its mesh with asked_mesh(). */
int show_parse(struct shd_mesh **mesh, struct show_request *options, const struct argp *argp,
               int argc, char **argv);

#endif /* CMD_SHOW_H */
