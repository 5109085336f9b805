/* show.h - what `show` can draw: one file each, and the table that lists them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_SHOW_H
#define CMD_SHOW_H

#include <shd/mesh.h>
#include <shd/spec.h>

struct show_subject {
    const char *name;
    const char *desc; /* one line for the list in --help */
    /* argv[0] is "shardsim show NAME"; returns the exit status. */
    int (*run)(int argc, char **argv);
};

extern const struct show_subject show_array;
extern const struct show_subject show_groups;
extern const struct show_subject show_matrix;
extern const struct show_subject show_mesh;
extern const struct show_subject show_options;
extern const struct show_subject show_schema;
extern const struct show_subject show_strategies;
extern const struct show_subject show_tree;

/* Parse "dp=2,tp=4" (or "dp: 2, tp: 4", braces allowed); on bad input prints why and returns
 * NULL. */
struct shd_mesh *show_parse_mesh(const char *text);

/* What the first axis of a spec that the mesh lacks may have meant, "; did you mean 'dp'?", or "" into
 * buf; returns buf. */
const char *show_axis_hint(const struct shd_spec *spec, const struct shd_mesh *mesh, char *buf,
                           size_t size);

/* Print a message of bad input: "shardsim: error: ..."; returns CMD_USAGE. */
int show_error(const char *what, const char *message);

#endif /* CMD_SHOW_H */
