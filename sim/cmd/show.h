/* show.h - what `show` can draw: one file each, and the table that lists them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_SHOW_H
#define CMD_SHOW_H

#include <shd/sharding.h>

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
extern const struct show_subject show_tree;

/* Parse "dp=2,tp=4" (or "dp: 2, tp: 4", braces allowed); on bad input prints why and returns
 * NULL. */
struct shd_mesh *show_parse_mesh(const char *text);

/* Parse "dp,tp" into axis numbers, at most SHD_MESH_AXES_MAX; on bad input prints why and returns
 * CMD_USAGE. */
int show_parse_axes(uint8_t *axes, size_t *naxes, const char *text, const struct shd_mesh *mesh);

/* Parse "8,16", "8x16" or "(8, 16)", at most SHD_RANK_MAX extents: returns the rank, or -1. */
int show_parse_shape(int64_t *shape, const char *text);

/* Parse a spec as it stands, or else as the entries of one: "dp,tp" is "[dp,tp]".  Errors of
 * shd_spec_parse(), shd_sharding_bind() and shd_sharding_check(). */
SHD_MUST_CHECK int show_parse_sharding(struct shd_sharding *out, const struct shd_mesh *mesh,
                                       const char *text, const int64_t *shape, size_t rank,
                                       struct shd_error *err);

/* Print a message of bad input: "shardsim: error: ..."; returns CMD_USAGE. */
int show_error(const char *what, const char *message);

#endif /* CMD_SHOW_H */
