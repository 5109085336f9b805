/* trees/import.h - reads parameter trees of real models (names, types and shapes) from the files
 * that come with a model.
 *
 * FILE.safetensors                its header; the data is never read
 * model.safetensors.index.json    the headers of all files that it names, beside it
 * config.json                     of a Hugging Face model: what its family's module would hold
 * any other YAML or JSON          a list of arrays, see import_list()
 * a directory                     the first of these that it has: the index, model.safetensors,
 * config.json
 *
 * Names are kept as they are ("model.layers.0.mlp.up_proj.weight").  Every reader is bounded: by
 * the limits of base/yaml.h, and by IMPORT_ARRAYS_MAX.
 *
 * Thread class: a tree is owned by one thread while it is read; the readers are pure.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TREES_IMPORT_H
#define TREES_IMPORT_H

#include <shd/tree.h>

#include "base/yaml.h"

#define IMPORT_ARRAYS_MAX 1000000   /* arrays of a tree, from all its files: beyond any model */
#define IMPORT_FILES_MAX 10000      /* files of an index: beyond any model */

/* Read a model.  On success stores the tree in *out; free it with shd_tree_destroy().  On failure
 * reports to `diag`, leaves *out alone and returns SHD_EINVAL, SHD_ERANGE or SHD_ENOMEM. */
SHD_MUST_CHECK int import_model(struct shd_tree **out, const char *path, struct diag *diag);

/* ---- the readers: add what a text says to a tree ---- */

/* Read the bytes of a safetensors file, or its first bytes with the whole header. */
SHD_MUST_CHECK int import_safetensors(struct shd_tree *tree, const char *path, const char *bytes,
                                      size_t length, struct diag *diag);

/* Read a config.json of a family that plans know (scenario/family.h). */
SHD_MUST_CHECK int import_config(struct shd_tree *tree, const struct yaml_node *root,
                                 struct diag *diag);

/* {name: [2, 3], name: {shape: [2, 3], dtype: bfloat16}}, or
 * [[name, [2, 3]], [name, [2, 3], bfloat16], {name: ..., shape: ..., dtype: ...}]; float32 if no
 * type is given. */
SHD_MUST_CHECK int import_list(struct shd_tree *tree, const struct yaml_node *root,
                               struct diag *diag);

/* ---- what the readers share ---- */

/* Add an array; faults are reported at `place`. */
int import_add(struct shd_tree *tree, const struct shd_leaf *leaf, struct place place,
               struct diag *diag);

#endif /* TREES_IMPORT_H */
