/* import/rules_spec.h - what stands behind a pattern in a list of rules, as mesh axes.
 *
 *   P(("fsdp", "sp"), "tp")    PartitionSpec(...), PS(...), or the tuple alone
 *   pmag.resolve(ColumnWise)   EasyDeL's kinds of layers, by eformer's PartitionAxis
 *   pmag.resolve(axes=[EP, EMPTY, TP], mode=MODE_TRAIN)
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef IMPORT_RULES_SPEC_H
#define IMPORT_RULES_SPEC_H

#include "import/rules.h"
#include "import/statements.h"

#define RULES_SPEC_ENTRIES_MAX 16 /* dimensions: beyond any array */

struct rules_spec {
    size_t nentries;
    struct shd_spec_entry entries[RULES_SPEC_ENTRIES_MAX];
    /* Of each entry; they live as long as statements and rules. */
    const char *axes[RULES_SPEC_ENTRIES_MAX][SHD_AXIS_VALUE_MAX];
};

/* What a value says.  False with a report: it is no spec, or names what is neither an axis of the
 * mesh nor of the model. */
bool rules_spec_read(struct rules_spec *out, const struct import_rules *rules,
                     const struct statements *statements, const struct value *value,
                     struct diag *diag);

/* The mesh axes of one entry, None, "tp" or ("fsdp", "sp"), as the only entry of `out`. */
bool rules_spec_read_entry(struct rules_spec *out, const struct import_rules *rules,
                           const struct statements *statements, const struct value *value,
                           struct diag *diag);

/* EasyDeL's default rules for a batch or a sequence ("batch", "sequence"): the axes of that field
 * which the mesh has, as scenarios write them. */
void rules_spec_add_field(struct text *out, const struct import_rules *rules, const char *field);

#endif /* IMPORT_RULES_SPEC_H */
