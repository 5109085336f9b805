/* rules/spec.h - reads the spec after a pattern in a list of rules, as mesh axes.
 *
 * P(("fsdp", "sp"), "tp")    PartitionSpec(...), PS(...), or the tuple alone
 * pmag.resolve(ColumnWise)   EasyDeL's kinds of layers, by eformer's PartitionAxis
 * pmag.resolve(axes=[EP, EMPTY, TP], mode=MODE_TRAIN)
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RULES_SPEC_H
#define RULES_SPEC_H

#include "rules/rules.h"
#include "rules/statements.h"

#define RULES_SPEC_ENTRIES_MAX 16 /* dimensions: beyond any array */

struct rules_spec {
    size_t nentries;
    struct shd_spec_entry entries[RULES_SPEC_ENTRIES_MAX];
    /* Axes of each entry, valid as long as the statements and the rules. */
    const char *axes[RULES_SPEC_ENTRIES_MAX][SHD_AXIS_VALUE_MAX];
};

/* Read the spec in a value.  False with a report: the value is no spec, or names neither an axis of
 * the mesh nor an axis of the model. */
bool rules_spec_read(struct rules_spec *out, const struct import_rules *rules,
                     const struct statements *statements, const struct value *value,
                     struct diag *diag);

/* Read the mesh axes of one entry, None, "tp" or ("fsdp", "sp"), as the only entry of `out`. */
bool rules_spec_read_entry(struct rules_spec *out, const struct import_rules *rules,
                           const struct statements *statements, const struct value *value,
                           struct diag *diag);

/* Append EasyDeL's default axes for a batch or a sequence ("batch", "sequence"): the axes of this
 * field that the mesh has, as scenarios write them. */
void rules_spec_add_field(struct text *out, const struct import_rules *rules, const char *field);

#endif /* RULES_SPEC_H */
