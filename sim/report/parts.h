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

/* The strategies from the winner on, with bars; nothing for a single one.  Returns the winner. */
size_t glance_print(const struct compare_rows *rows, struct text *out);

/* How much detail a page has room for. */
struct page_room {
    int32_t heat_rows;    /* of a heat map */
    size_t bars;          /* in a strategy's timeline */
    size_t columns;       /* of a picture of memory */
    int32_t mesh_devices; /* more are not drawn */
};

/* The parts of a strategy on a page all have one form, of which page.c has a table. */

/* Bytes from device to device, in as many rows and columns as there is room for. */
SHD_MUST_CHECK int heat_print(const struct result *result, size_t id, const struct page_room *room,
                              struct text *out, struct shd_error *err);

/* If all devices receive alike, print the bytes in a sentence, or for `many` devices in a few rows;
 * else *folded is false, and nothing is printed. */
SHD_MUST_CHECK int heat_fold(const struct shd_mesh *mesh, const uint128 *matrix, bool many,
                             size_t id, struct text *out, bool *folded, struct shd_error *err);

/* Timeline of each device or class of devices, drawn with as many bars as there is room for. */
#define LANES_SHOWN_MAX 32
SHD_MUST_CHECK int when_print(const struct result *result, size_t id, const struct page_room *room,
                              struct text *out, struct shd_error *err);

/* Memory over the step, of each rank of the pipeline. */
#define RANKS_SHOWN_MAX 32
SHD_MUST_CHECK int memory_print(const struct result *result, size_t id,
                                const struct page_room *room, struct text *out,
                                struct shd_error *err);

/* The patterns that pictures of memory and timelines are filled with. */
void memory_print_patterns(struct text *out);
void when_print_patterns(struct text *out);

/* A row for each group of collectives, with its reason; of any room. */
SHD_MUST_CHECK int collectives_print(const struct result *result, size_t id,
                                     const struct page_room *room, struct text *out,
                                     struct shd_error *err);

SHD_MUST_CHECK int mesh_print(const struct result *result, size_t id, const struct page_room *room,
                              struct text *out, struct shd_error *err);

#endif /* REPORT_PARTS_H */
