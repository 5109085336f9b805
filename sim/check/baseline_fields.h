/* baseline_fields.h - the fields of a baseline's maps, as tables by which they are printed, read,
 * freed and compared.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CHECK_BASELINE_FIELDS_H
#define CHECK_BASELINE_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

struct baseline_field {
    const char *key;
    bool is_text; /* char *, owned; false: uint128 */
    size_t offset;
};

/* Each table ends with a row without key. */
extern const struct baseline_field baseline_array_fields[];
extern const struct baseline_field baseline_line_fields[];
extern const struct baseline_field baseline_collective_fields[];

#endif /* CHECK_BASELINE_FIELDS_H */
