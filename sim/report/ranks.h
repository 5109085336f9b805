/* ranks.h - the stages of each rank of a pipeline, and its memory at the peak by kind.
 *
 * Thread class: pure functions of the program.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_RANKS_H
#define REPORT_RANKS_H

#include "base/json_out.h"
#include "base/text.h"
#include "program/program.h"

/* Print a table with a row per rank; of many ranks the first, the last and the one with the most
 * memory; in lines of `columns`. */
void ranks_text(const struct program *program, size_t columns, struct text *out);

/* [{"rank": 0, "stages": [0], "microbatches_alive": 2, "peak_bytes": 1, "by_kind": {...}}, ...] */
void ranks_json(const struct program *program, struct json_out *out);

/* Write {"parameters": 1, ...} for a device at its peak. */
void ranks_kinds_json(const struct program_memory *memory, struct json_out *out);

#endif /* REPORT_RANKS_H */
