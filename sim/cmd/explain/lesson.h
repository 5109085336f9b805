/* lesson.h - a program explained op by op: the shardings of arrays, the transfers and their reasons,
 * and the cost of other placements.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_EXPLAIN_LESSON_H
#define CMD_EXPLAIN_LESSON_H

#include <shd/error.h>

#include "base/text.h"
#include "cmd/explain/fold.h"
#include "cmd/explain/values.h"
#include "partition/alternatives.h"
#include "program/record.h"

#define LESSON_ALL UINT32_MAX

struct lesson {
    const char *scenario, *strategy;
    const char *what; /* the step in words: model, batch and phases */
    const struct record *record;
    enum partition_placement placement; /* how the program was placed */
    struct alternatives *alternatives;  /* NULL: not included */
    const struct values *values;        /* NULL: not included */
    int32_t position;                   /* the device whose transfers are explained */
    uint32_t op;                        /* explain this op only, or LESSON_ALL */
    bool collectives;                   /* explain only ops that communicate */
    const struct fold *fold;            /* explain equal layers once; NULL: every layer */
    size_t width;
    bool colour; /* ANSI escapes: bold heads, yellow for ops that communicate */
};

/* SHD_ENOMEM. */
SHD_MUST_CHECK int lesson_text(const struct lesson *lesson, struct text *out,
                               struct shd_error *err);

#endif /* CMD_EXPLAIN_LESSON_H */
