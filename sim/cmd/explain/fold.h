/* fold.h - the ops of a program, folded so that equal layers appear once.
 *
 * Two ops are folded together if they have the same name except for the number of the layer, the
 * same phase and kind, run over the same axes, and read and write shards of the same extents,
 * sharded the same way.  Merged collectives of several arrays are folded if they are the same op
 * over the same axes; they belong to no layer.  An entry has at most one op of a layer, or several
 * of no layer.
 *
 * Thread class: immutable once made, as long as the program is.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_EXPLAIN_FOLD_H
#define CMD_EXPLAIN_FOLD_H

#include <shd/error.h>

#include "base/text.h"
#include "program/program.h"

struct fold_entry {
    uint32_t op;             /* the first op, which represents all */
    uint32_t nops;           /* number of ops */
    int64_t lowest, highest; /* lowest and highest layer; -1: no layer */
};

struct fold {
    struct fold_entry *entries;
    uint32_t n;
    uint32_t *entry_of; /* by op */
};

/* SHD_ENOMEM. */
SHD_MUST_CHECK int fold_init(struct fold *out, const struct program *program,
                             struct shd_error *err);
void fold_fini(struct fold *fold); /* a zeroed fold is allowed */

/* The entry of an op, and whether the op represents its entry. */
const struct fold_entry *fold_entry(const struct fold *fold, uint32_t op);
bool fold_leads(const struct fold *fold, uint32_t op);

/* The layer's number in an op's name, `length` digits; NULL: the name has none. */
const char *fold_layer(const char *name, size_t *length);

/* Add the layers of an entry that has layers: "0..79", "20 of 3..79" or "5". */
void fold_add_layers(const struct fold_entry *entry, struct text *out);

#endif /* CMD_EXPLAIN_FOLD_H */
