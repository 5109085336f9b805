/* nccl_line.h - the lines of a log of nccl-tests: rows, names of columns, and what tells of a
 * table.
 *
 * What starts a program writes before its lines ("[1,0]<stdout>:", "0: "), and NCCL and others
 * write between them.  A row is found by how it begins: two whole numbers and the type of elements.
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

/* Places of the columns that are read, from 0; -1: the table does not have it. */
struct nccl_columns {
    int redop, root, time, algbw, busbw;
};

/* As nccl-tests has them since 2.9. */
#define NCCL_COLUMNS_INIT                                        \
    {                                                            \
        .redop = 3, .root = 4, .time = 5, .algbw = 6, .busbw = 7 \
    }

struct nccl_row {
    double bytes, count, us, algbw, busbw;
    double element_bytes; /* 0: a type that is not known here */
    bool has_redop;       /* "sum", not "none" */
    bool has_root;        /* of 0 or more */
};

enum nccl_line {
    NCCL_OTHER,
    NCCL_ROW,
    NCCL_BAD_ROW, /* begins as a row does */
    NCCL_COLUMN_NAMES,
    NCCL_BAD_NAMES /* without the time of each size */
};

/* What a line is; of a row or of names stores what they say. */
enum nccl_line nccl_line_read(const char *line, const struct nccl_columns *columns,
                              struct nccl_row *row, struct nccl_columns *names);

/* A program of nccl-tests. */
struct nccl_program {
    const char *name;
    bool is_fitted; /* its kind is one that calibrate fits */
    enum coll_kind kind;
};

/* The last program that a line names; NULL: none. */
const struct nccl_program *nccl_line_program(const char *line);

/* The rank of "# Rank  7 Group ...", plus one; 0: not such a line. */
int32_t nccl_line_ranks(const char *line);

#endif /* CALIBRATE_NCCL_LINE_H */
