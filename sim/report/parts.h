/* parts.h - the sections of a page, each about one strategy; page.h puts them in order.
 *
 * `id` is the strategy's number, which makes the ids of a section's elements unique.  Without
 * memory the text has failed, or SHD_ENOMEM is returned.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_PARTS_H
#define REPORT_PARTS_H

#include "report/compare_rows.h"
#include "report/result.h"

/* The verdict, in sentences. */
void verdict_print(const struct compare_rows *rows, struct text *out);

/* A row for each strategy. */
void strategies_print(const struct compare_rows *rows, struct text *out);

/* Bytes from device to device, in at most `nrows` rows and columns. */
SHD_MUST_CHECK int heat_print(const struct result *result, size_t id, int32_t nrows,
                              struct text *out, struct shd_error *err);

/* Timeline of each device or class of devices, drawn with at most `nbars` bars. */
#define LANES_SHOWN_MAX 32
SHD_MUST_CHECK int when_print(const struct result *result, size_t id, size_t nbars,
                              struct text *out, struct shd_error *err);

/* Memory over the step, of each rank of the pipeline. */
#define RANKS_SHOWN_MAX 32
SHD_MUST_CHECK int memory_print(const struct result *result, size_t id, struct text *out,
                                struct shd_error *err);

SHD_MUST_CHECK int collectives_print(const struct result *result, size_t id, struct text *out,
                                     struct shd_error *err);

SHD_MUST_CHECK int mesh_print(const struct result *result, size_t id, struct text *out,
                              struct shd_error *err);

#endif /* REPORT_PARTS_H */
