/* show.h - what `show` can draw: one file each, and the table that lists them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_SHOW_H
#define CMD_SHOW_H

#include <shd/mesh.h>

#include "cmd/cmd.h"

/* argv[0] is "shardsim show NAME". */
extern const struct cmd show_array;
extern const struct cmd show_groups;
extern const struct cmd show_matrix;
extern const struct cmd show_mesh;
extern const struct cmd show_tree;

/* Parse "dp=2,tp=4" (or "dp: 2, tp: 4", braces allowed); on bad input prints why and returns
 * NULL. */
struct shd_mesh *show_parse_mesh(const char *text);

/* Print a message of bad input: "shardsim: error: ..."; returns CMD_USAGE. */
int show_error(const char *what, const char *message);

#endif /* CMD_SHOW_H */
