/* nccl_line.h - parsing lines of nccl-tests logs: rows, column names, and facts about a table.
 *
 * Launchers add prefixes to lines ("[1,0]<stdout>:", "0: "), and NCCL and others write lines in
 * between.  A row is recognised by its start: two integers and the type of elements.
 *
 * Thread class: pure functions of the line.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CALIBRATE_NCCL_LINE_H
#define CALIBRATE_NCCL_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coll/coll.h"

/* Indexes of the columns that are read, from 0; -1: missing. */
struct nccl_columns {
    int redop, root, time, algbw, busbw;
};

/* The columns of nccl-tests since 2.9. */
#define NCCL_COLUMNS_INIT                                        \
    {                                                            \
        .redop = 3, .root = 4, .time = 5, .algbw = 6, .busbw = 7 \
    }

struct nccl_row {
    double bytes, count, us, algbw, busbw;
    double element_bytes; /* 0: unknown type */
    bool has_redop;       /* "sum", not "none" */
    bool has_root;        /* 0 or more */
};

enum nccl_line {
    NCCL_OTHER,
    NCCL_ROW,
    NCCL_BAD_ROW, /* begins like a row */
    NCCL_COLUMN_NAMES,
    NCCL_BAD_NAMES /* without a time for each size */
};

/* Classify a line; stores the contents of a row or of column names. */
enum nccl_line nccl_line_read(const char *line, const struct nccl_columns *columns,
                              struct nccl_row *row, struct nccl_columns *names);

/* A program of nccl-tests. */
struct nccl_program {
    const char *name;
    bool is_fitted; /* calibrate can fit its kind of collective */
    enum coll_kind kind;
};

/* The last program that a line names; NULL: none. */
const struct nccl_program *nccl_line_program(const char *line);

/* The rank in "# Rank 7 Group ...", plus one; 0: another line. */
int32_t nccl_line_ranks(const char *line);

#endif /* CALIBRATE_NCCL_LINE_H */
