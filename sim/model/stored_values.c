/* Checking values of a file (model/stored_values.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/stored_values.h"

#include <inttypes.h>

#include "graph/graph.h"

#define BLOCK 256

bool stored_values_check(const struct stored_array *stored, double least, double most,
                         struct place place, struct diag *diag)
{
    int64_t count = (int64_t)(stored->bytes / shd_dtype_size(stored->dtype));
    double values[BLOCK];
    struct shd_error err;

    for (int64_t at = 0; at < count; at += BLOCK) {
        size_t n = (size_t)(count - at < BLOCK ? count - at : BLOCK);

        kern_stored_values(stored, at, 1, n, values);
        for (size_t i = 0; i < n; i++) {
            if (values[i] >= least && values[i] <= most)
                continue;
            diag_error(diag, place,
                       "element %" PRId64 " of '%.100s' is %.0f; expected a whole number from %.0f "
                       "to %.0f",
                       at + (int64_t)i, stored->name, values[i], least, most);
            return false;
        }
    }
    if (file_bytes_check(stored->file, &err) == SHD_OK)
        return true;
    diag_failure(diag, place, err.status, "%s", err.text);
    return false;
}
