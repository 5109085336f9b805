/* show.h - the drawings of `show`: one file each, and the table that lists them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_SHOW_H
#define CMD_SHOW_H

#include <shd/sharding.h>
#include <shd/spec.h>

#include "cmd/canvas.h"
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

/* Parse "dp=2,tp=4" (or "dp: 2, tp: 4", braces allowed) into *out.  CMD_OK; CMD_USAGE (bad input)
 * or CMD_CANNOT (no memory), with a message. */
int show_parse_mesh(struct shd_mesh **out, const char *text);

/* Options of drawings of a mesh and of arrays on a mesh. */
struct show_request {
    struct canvas canvas;
    const char *mesh, *axes, *shape, *spec; /* -m, -a, -n, -p; NULL where not given */
};

/* An argp parser for these options, whose input is a struct show_request.  The calling parser
 * decides whether arguments without an option are allowed, and which options are required. */
error_t show_parse_option(int key, char *arg, struct argp_state *state);
extern const struct argp_child show_children[];

/* Parse the command line into *options, and its mesh with show_parse_mesh(). */
int show_parse(struct shd_mesh **mesh, struct show_request *options, const struct argp *argp,
               int argc, char **argv);

/* Parse "dp,tp" into axis numbers, at most SHD_MESH_AXES_MAX; on bad input prints why and returns
 * CMD_USAGE. */
int show_parse_axes(uint8_t *axes, size_t *naxes, const char *text, const struct shd_mesh *mesh);

/* Parse "8,16", "8x16" or "(8, 16)", at most SHD_RANK_MAX extents: returns the rank, or -1. */
int show_parse_shape(int64_t *shape, const char *text);

/* Parse a complete spec, or else the entries of one: "dp,tp" is "[dp,tp]".  Errors of
 * shd_spec_parse(), shd_sharding_bind() and shd_sharding_check(). */
SHD_MUST_CHECK int show_parse_sharding(struct shd_sharding *out, const struct shd_mesh *mesh,
                                       const char *text, const int64_t *shape, size_t rank,
                                       struct shd_error *err);

/* Print a suggestion for the first axis of a spec that the mesh lacks, "; did you mean 'dp'?", or
 * "", into buf; returns buf. */
const char *show_axis_hint(const struct shd_spec *spec, const struct shd_mesh *mesh, char *buf,
                           size_t size);

/* Print a message of bad input: "shardsim: error: ..."; returns CMD_USAGE. */
int show_error(const char *what, const char *message);

/* Print a message of a failed call; returns CMD_CANNOT if memory was lacking, else CMD_USAGE. */
int show_failure(const char *what, const struct shd_error *err);

#endif /* CMD_SHOW_H */
