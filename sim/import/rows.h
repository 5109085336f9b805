/* rows.h - macros for the rows of tables of options.
 *
 * Thread class: none, these are initializers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef IMPORT_ROWS_H
#define IMPORT_ROWS_H

#include <stddef.h>

#include "import/job.h"

#define AT(field) offsetof(struct import_job, field)
#define WORD(option, field, all)                                               \
    {                                                                          \
        .name = option, .type = IMPORT_WORD, .offset = AT(field), .words = all \
    }
#define QUIET(option)                        \
    {                                        \
        .name = option, .type = IMPORT_QUIET \
    }
#define REFUSED(option, why)                                \
    {                                                       \
        .name = option, .type = IMPORT_FLAG, .refused = why \
    }
#define UNLESS(option, all, why)                                          \
    {                                                                     \
        .name = option, .type = IMPORT_WORD, .words = all, .refused = why \
    }

#endif /* IMPORT_ROWS_H */
