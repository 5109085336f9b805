/* scenario/value_reader.h - shared by the types of values: the reader, names, lists, messages.
 *
 * Readers report faults and continue with the next value; an option counts as given even if its
 * value is faulty.  A reader replaces the option's earlier value.
 *
 * Thread class: a reader is owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_VALUE_READER_H
#define SCENARIO_VALUE_READER_H

#include <stdbool.h>

#include "base/diag.h"
#include "base/yaml.h"
#include "scenario/option.h"
#include "scenario/scenario.h"

/* The state of reading one strategy. */
struct reader {
    enum scenario_half half; /* of a strategy that serves both phases */
    struct scenario *scenario;
    struct diag *diag;
    bool replay;       /* the file's own values were read before, with their costly checks */
    bool mesh_unknown; /* the mesh could not be read, so that axis names cannot be checked */
    bool meant[SCENARIO_OPTIONS_MAX]; /* by option: an unknown key was probably a misspelling of
                                         this option, which is then not reported as missing */
};

/* Report a fault of an option, by its path, at the option's place. */
#define WRONG(reader, option, ...) \
    diag_error((reader)->diag, scenario_place((reader)->scenario, option), __VA_ARGS__)

/* Report "model.d_ff is 'x'; expected a whole number from 1 to 10", with a suggestion if a word is
 * near. */
void value_error(struct reader *r, const struct option *option, const struct yaml_node *node);

/* Copy a name: text that is not empty, not null, without control characters, and of at most
 * SCENARIO_NAME_MAX bytes.  Otherwise NULL, reported as a fault of `what`. */
char *value_read_name(struct reader *r, const char *what, const struct yaml_node *node);

/* Report an unknown key of a small map: "unknown key 'thta' in rope; expected ...; did you mean
 * 'theta'?" */
void value_unknown_key(struct reader *r, const struct yaml_node *key, const char *map,
                       const char *expected, const char *const *keys, size_t nkeys);

/* Report once that memory ran out. */
void value_no_memory(struct reader *r);

/* Append a zeroed item to an array of `*count` items; NULL, reported at `node`, without memory or
 * over the limit. */
void *value_append(struct reader *r, void *array, size_t *count, size_t item_size, size_t max,
                   const struct yaml_node *node);

/* Replace a map option by the entries of a node. */
void value_read_map(struct reader *r, const struct option *option, const struct yaml_node *node);

#endif /* SCENARIO_VALUE_READER_H */
