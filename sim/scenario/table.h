/* scenario/table.h - the table of all options of a scenario file.
 *
 * The reader, the checks, the canonical print, the schema and the help text all use this table.  To
 * add an option: a field in scenario.h and a row here.  To add a type of values: a file that
 * defines a struct value_type, and its name in types.h.
 *
 * Thread class: immutable tables and pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_TABLE_H
#define SCENARIO_TABLE_H

#include "base/nearest.h"
#include "scenario/option.h"

struct option_section {
    const char *key;
    const char *help;
};

/* Top-level keys that are not options: version, strategies, sweep. */
extern const struct option_section option_file_keys[];
extern const size_t option_file_key_count;

extern const struct option option_table[];
extern const size_t option_count;
extern const struct option_section option_sections[];
extern const size_t option_section_count;

/* The row of a section (NULL: the top level) and key, or NULL. */
const struct option *option_find(const char *section, const char *key);
const struct option_section *option_find_section(const char *key);

/* Whether an option has its default value. */
bool option_is_default(const struct scenario *scenario, const struct option *option);

/* Whether an option has the same value in two scenarios.  SHD_ENOMEM. */
SHD_MUST_CHECK int option_is_same(bool *out, const struct scenario *a, const struct scenario *b,
                                  const struct option *option);

/* The index of an option's, or a section's, place in struct scenario's `places`. */
size_t option_id(const struct option *option);
size_t option_section_id(const struct option_section *section);

/* Offer all keys of a section, or of the top level with its sections, as suggestions. */
void option_offer(struct nearest *nearest, const char *section);

#endif /* SCENARIO_TABLE_H */
