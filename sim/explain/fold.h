/* fold.h - the ops of a program, those of equal layers together.
 *
 * Two ops are alike where they have the same name but for the number of the layer, are of the same
 * phase and kind, run over the same axes, and read and write shards of the same extents, sharded
 * the same way.  Collectives of several arrays are alike where they are the same op over the same
 * axes, and of no layer.  Each entry has at most one op of a layer, or several of no layer.
 *
 * Thread class: immutable once made, as long as the program is.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EXPLAIN_FOLD_H
#define EXPLAIN_FOLD_H

#include <shd/error.h>

#include "base/text.h"
#include "program/program.h"

struct fold_entry {
    uint32_t op;             /* the first of them, which stands for all */
    uint32_t nops;           /* how many there are */
    int64_t lowest, highest; /* their layers; -1: they are of no layer */
};

struct fold {
    struct fold_entry *entries;
    uint32_t n;
    uint32_t *entry_of; /* by op */
};

/* SHD_ENOMEM. */
SHD_MUST_CHECK int fold_init(struct fold *out, const struct program *program,
                             struct shd_error *err);
void fold_fini(struct fold *fold); /* one of zeros is allowed */

/* The entry of an op; whether the op is the one that stands for it. */
const struct fold_entry *fold_entry(const struct fold *fold, uint32_t op);
bool fold_leads(const struct fold *fold, uint32_t op);

/* Where the number of the layer is in an op's name, `length` digits; NULL: the name has none. */
const char *fold_layer(const char *name, size_t *length);

/* Add "0..79", "20 of 3..79" or "5": the layers of an entry that has layers. */
void fold_add_layers(const struct fold_entry *entry, struct text *out);

#endif /* EXPLAIN_FOLD_H */
