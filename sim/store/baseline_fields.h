/* baseline_fields.h - what a baseline's maps hold: printed, read, freed and compared by one table.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef STORE_BASELINE_FIELDS_H
#define STORE_BASELINE_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

struct baseline_field {
    const char *key;
    bool is_text; /* char *, owned; else uint128 */
    size_t offset;
};

/* Each ends with a row without key. */
extern const struct baseline_field baseline_array_fields[];
extern const struct baseline_field baseline_collective_fields[];
extern const struct baseline_field baseline_total_fields[];
extern const struct baseline_field baseline_modelled_fields[];

#endif /* STORE_BASELINE_FIELDS_H */
