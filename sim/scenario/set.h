/* scenario/set.h - values from the command line: --set model.d_ff=1024.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_SET_H
#define SCENARIO_SET_H

#include "base/yaml.h"
#include "scenario/table.h"

/* One --set, split and parsed.  A valid one has either `option` or `section`. */
struct set_value {
    const struct option *option;
    const struct option_section *section; /* the value is a map of its options */
    struct yaml_doc *doc;                 /* the value; NULL if the set is invalid */
    char *entry;                          /* "tp" for mesh.tp; else NULL */
    struct place place;                   /* of the key */
};

/* Parse `sets` into `values` (one each), reporting faults; free with set_fini() either way. */
void set_parse(struct set_value *values, const char *const *sets, size_t nsets, struct diag *diag);

void set_fini(struct set_value *values, size_t nvalues);

#endif /* SCENARIO_SET_H */
