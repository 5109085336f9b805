/* scenario/value.h - what the types of values have in common: who reads, names, lists, messages.
 *
 * Readers report what is wrong and go on with the next value; an option that was tried is marked as
 * given either way.  A reader replaces what the option had before.
 *
 * Thread class: a reader is owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_VALUE_H
#define SCENARIO_VALUE_H

#include <stdbool.h>

#include "base/diag.h"
#include "base/yaml.h"
#include "scenario/option.h"
#include "scenario/scenario.h"

/* One strategy being read. */
struct reader {
    struct scenario *scenario;
    struct diag *diag;
    bool replay;       /* the file's own values were read before: costly checks are done */
    bool mesh_unknown; /* the mesh could not be read: what names its axes cannot be checked */
    bool meant[SCENARIO_OPTIONS_MAX]; /* by option: an unknown key was likely this one, misspelled;
                                         that it is missing then is no news */
};

/* "model.d_ff is 'x'; expected a whole number from 1 to 10" and, if a word was meant, which. */
void value_error(struct reader *r, const struct option *option, const struct yaml_node *node);

/* A copy of a name: text that is not empty, not null, without control characters, and of at most
 * SCENARIO_NAME_MAX bytes; else NULL, reported as the fault of `what`. */
char *value_read_name(struct reader *r, const char *what, const struct yaml_node *node);

/* A key that a small map of its own does not have: "unknown key 'thta' in rope; expected ...; did
 * you mean 'theta'?" */
void value_unknown_key(struct reader *r, const struct yaml_node *key, const char *map,
                       const char *expected, const char *const *keys, size_t nkeys);

/* Memory ran out: reported once. */
void value_no_memory(struct reader *r);

/* One more item of an array of `*count` items, zeroed; NULL, reported at `node`, without memory or
 * over the limit. */
void *value_append(struct reader *r, void *array, size_t *count, size_t item_size, size_t max,
                   const struct yaml_node *node);

/* Replace a map option by the entries of a node. */
void value_read_map(struct reader *r, const struct option *option, const struct yaml_node *node);

#endif /* SCENARIO_VALUE_H */
