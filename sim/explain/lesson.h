/* lesson.h - a program told step by step: how arrays lie, what moves and why, and what else could
 * have been.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EXPLAIN_LESSON_H
#define EXPLAIN_LESSON_H

#include <shd/error.h>

#include "base/text.h"
#include "explain/values.h"
#include "partition/alternatives.h"
#include "record/record.h"

#define LESSON_ALL UINT32_MAX

struct lesson {
    const char *scenario, *strategy;
    const struct record *record;
    enum partition_placement placement; /* that decided */
    struct alternatives *alternatives; /* NULL: not told */
    const struct values *values;       /* NULL: not told */
    int32_t position;                  /* the device whose transfers are told */
    uint32_t op;                       /* only this one, or LESSON_ALL */
    size_t width;
    bool colour; /* with ANSI escapes: heads are bold, of ops that communicate yellow */
};

/* SHD_ENOMEM. */
SHD_MUST_CHECK int lesson_text(const struct lesson *lesson, struct text *out,
                               struct shd_error *err);

#endif /* EXPLAIN_LESSON_H */
