/* asked.h - parse meshes, axes, shapes, shardings and collectives of command lines and files.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COMMAND_ASKED_H
#define COMMAND_ASKED_H

#include <stdbool.h>

#include <shd/sharding.h>
#include <shd/spec.h>

#include "base/nearest.h"
#include "coll/coll.h"

/* Parse "dp=2,tp=4" (or "dp: 2, tp: 4", braces allowed) into *out.  CMD_OK; CMD_USAGE (bad input)
 * or CMD_CANNOT (no memory), with a message. */
int asked_mesh(struct shd_mesh **out, const char *text);

/* Parse "dp,tp" into axis numbers, at most SHD_MESH_AXES_MAX; on bad input prints why and returns
 * CMD_USAGE. */
int asked_axes(uint8_t *axes, size_t *naxes, const char *text, const struct shd_mesh *mesh);

/* Parse "8,16", "8x16" or "(8, 16)", at most SHD_RANK_MAX extents: returns the rank, or -1. */
int asked_shape(int64_t *shape, const char *text);

/* Parse a complete spec, or else the entries of one: "dp,tp" is "[dp,tp]".  Errors of
 * shd_spec_parse(), shd_sharding_bind() and shd_sharding_check(). */
SHD_MUST_CHECK int asked_sharding(struct shd_sharding *out, const struct shd_mesh *mesh,
                                       const char *text, const int64_t *shape, size_t rank,
                                       struct shd_error *err);

/* A suggestion for the first axis of a spec that the mesh lacks: "; did you mean 'dp'?", or "". */
struct nearest_text asked_axis_hint(const struct shd_spec *spec, const struct shd_mesh *mesh);

/* Parse a whole number from `first` to `last`.  On error prints a message, ended by `as`, which says
 * where valid numbers are listed, or "", and returns -1. */
long asked_number(const char *what, const char *text, long first, long last, const char *as);

/* Parse a whole number in a range, with or without a suffix (4k is 4096); false, with *out unchanged,
 * on bad input. */
bool asked_size(long *out, const char *text, long least, long most);

/* The kind of collective of this name; -1, with a message: unknown. */
int asked_collective(const char *name);

/* The algorithm of this name (NULL: the default one); NULL, with a message: unknown. */
const struct coll_algo *asked_algorithm(enum coll_kind kind, const char *name);

#endif /* COMMAND_ASKED_H */
