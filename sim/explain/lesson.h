/* lesson.h - a program explained op by op: how arrays are sharded, what moves and why, and what
 * other placements would have cost.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EXPLAIN_LESSON_H
#define EXPLAIN_LESSON_H

#include <shd/error.h>

#include "base/text.h"
#include "explain/fold.h"
#include "explain/values.h"
#include "partition/alternatives.h"
#include "program/record.h"

#define LESSON_ALL UINT32_MAX

struct lesson {
    const char *scenario, *strategy;
    const char *what; /* the step: model, batch and phases */
    const struct record *record;
    enum partition_placement placement; /* that decided */
    struct alternatives *alternatives;  /* NULL: not told */
    const struct values *values;        /* NULL: not told */
    int32_t position;                   /* the device whose transfers are told */
    uint32_t op;                        /* only this one, or LESSON_ALL */
    bool collectives;                   /* only ops that communicate */
    const struct fold *fold;            /* of equal layers only the first; NULL: every layer */
    size_t width;
    bool colour; /* with ANSI escapes: heads are bold, of ops that communicate yellow */
};

/* SHD_ENOMEM. */
SHD_MUST_CHECK int lesson_text(const struct lesson *lesson, struct text *out,
                               struct shd_error *err);

#endif /* EXPLAIN_LESSON_H */
