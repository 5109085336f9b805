/* roofline_table.h - the time of each op of a plan on its cluster; equal ops, such as those of
 * equal layers, are one line.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_EXPLAIN_ROOFLINE_TABLE_H
#define CMD_EXPLAIN_ROOFLINE_TABLE_H

#include "base/text.h"
#include "cost/op_seconds.h"

/* Equal ops: the same name except for the layer's number, and the same work. */
struct roofline_line {
    uint32_t op; /* the first of the ops */
    uint64_t times;
    double seconds; /* of one execution of one op */
    struct hardware_work work;
};

struct roofline_table {
    struct op_seconds seconds;
    struct roofline_line *lines; /* sorted by the total time of their ops, longest first */
    uint32_t nlines;
    double all_s; /* of all lines */
};

/* Make the table for the device at a position.  SHD_ENOMEM.  Free with roofline_table_fini(). */
SHD_MUST_CHECK int roofline_table_init(struct roofline_table *out, const struct program *program,
                                       const struct hardware *hardware, int32_t position,
                                       struct shd_error *err);
void roofline_table_fini(struct roofline_table *table);

/* Total seconds of a line's ops. */
double roofline_line_seconds(const struct roofline_line *line);

/* The limit of a line's ops on the device at a position: "network" or "host" for work in parallel to
 * computations, else hardware_bound_name(). */
const char *roofline_line_bound(const struct roofline_table *table,
                                const struct roofline_line *line, int32_t position);

/* Add an op's name, with '*' for its layer number. */
void roofline_add_name(struct text *out, const struct program_op *op);

#endif /* CMD_EXPLAIN_ROOFLINE_TABLE_H */
