/* roofline_table.h - what each op of a plan takes on its cluster: ops alike, as those of equal
 * layers are, are one line.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EXPLAIN_ROOFLINE_TABLE_H
#define EXPLAIN_ROOFLINE_TABLE_H

#include "base/text.h"
#include "cost/op_seconds.h"

/* Ops alike: of one name but for the number of its layer, of one work. */
struct roofline_line {
    uint32_t op; /* the first of them */
    uint64_t times;
    double seconds; /* of one, done once */
    struct hardware_work work;
};

struct roofline_table {
    struct op_seconds seconds;
    struct roofline_line *lines; /* those that take longest, in all, first */
    uint32_t nlines;
    double all_s; /* of all lines */
};

/* Of the device at a position.  SHD_ENOMEM.  Free with roofline_table_fini(). */
SHD_MUST_CHECK int roofline_table_init(struct roofline_table *out, const struct program *program,
                                       const struct hardware *hardware, int32_t position,
                                       struct shd_error *err);
void roofline_table_fini(struct roofline_table *table);

/* Of all of a line's ops. */
double roofline_line_seconds(const struct roofline_line *line);

/* An op's name, with '*' for the number of its layer. */
void roofline_add_name(struct text *out, const struct program_op *op);

#endif /* EXPLAIN_ROOFLINE_TABLE_H */
