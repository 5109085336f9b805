/* rows.h - macros for the rows of tables of options.
 *
 * Thread class: none, these are initializers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRAINING_ROWS_H
#define TRAINING_ROWS_H

#include <stddef.h>

#include "training/job.h"

#define AT(field) offsetof(struct import_job, field)
#define FIELD(option, kind, field, ...)                                \
    {                                                                  \
        .name = option, .type = kind, .offset = AT(field), __VA_ARGS__ \
    }
#define WORD(option, field, all) FIELD(option, IMPORT_WORD, field, .words = all)
#define TEXT(option, field) FIELD(option, IMPORT_TEXT, field, .min = 0)
/* Without a field: one or several names. */
#define QUIET(options)                        \
    {                                         \
        .name = options, .type = IMPORT_QUIET \
    }
#define REFUSED(options, why)                                \
    {                                                        \
        .name = options, .type = IMPORT_FLAG, .refused = why \
    }
#define UNSAID(options, instead)                                   \
    {                                                              \
        .name = options, .type = IMPORT_UNSAID, .refused = instead \
    }
#define UNSAID_UNLESS(option, all, instead)                                     \
    {                                                                           \
        .name = option, .type = IMPORT_UNSAID, .words = all, .refused = instead \
    }
#define UNLESS(option, all, why)                                          \
    {                                                                     \
        .name = option, .type = IMPORT_WORD, .words = all, .refused = why \
    }

#endif /* TRAINING_ROWS_H */
