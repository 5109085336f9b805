/* rows.h - tokens to the rows of experts and back: who pulls how many rows from whom.
 *
 * Such an op has an array of tokens [batch, seq, (choice,) width], one of experts' rows [expert,
 * slot, width], and the ids and slots that say which token's choice is which row (int32 [batch,
 * seq, choice]; slots count within a group of the batch, -1 is no row).  It copies: each device,
 * for every row of its own result, from itself or from the device that holds the row and has its
 * own coordinates on all axes that do not cut the operand's first two dimensions.  So it is an
 * all-to-all in which everybody sends and receives as much as the data asks for.
 *
 * A device has the ids of all tokens that may come to its rows, or whose rows it wants.  Execution
 * reads them; what is told here comes from the op's routing.
 *
 * Thread class: pure functions of a program that is built.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PROGRAM_ROWS_H
#define PROGRAM_ROWS_H

#include "program/program.h"

/* The two arrays: which of them is the operand says rows.combines. */
struct program_rows_arrays {
    const struct program_buffer *tokens, *experts, *ids;
    const struct program_buffer *from, *to; /* the same two as operand and result */
    int64_t capacity;                       /* slots of an expert in a group */
    int64_t group_rows;                     /* of the batch */
    int64_t choices;
    uint64_t row_bytes; /* that a device has of a row */
};
struct program_rows_arrays program_rows_arrays(const struct program *program,
                                               const struct program_op *op);

/* An entry of the array of tokens and the row that it is, both numbered in the whole arrays. */
struct program_rows_place {
    int64_t batch, seq, choice;
    int64_t expert, slot;
};

/* A walk through the entries of a device's ids that have a row. */
struct program_rows_walk {
    struct program_rows_arrays arrays;
    const int32_t *ids, *slots;
    int64_t ids_start[3], at, end;
};
struct program_rows_walk program_rows_walk(const struct program *program,
                                           const struct program_op *op, int32_t position,
                                           const int32_t *ids, const int32_t *slots);
bool program_rows_next(struct program_rows_walk *walk, struct program_rows_place *out);

/* The number of the shard in which an element of the first two dimensions lies, and that which a
 * position holds; how many there are. */
int64_t program_rows_shards(const struct program_buffer *buffer);
int64_t program_rows_shard(const struct program_buffer *buffer, int64_t first, int64_t second);
int64_t program_rows_shard_at(const struct program_buffer *buffer, int32_t position);

/* From whom a position gets what lies in a shard of the operand. */
int32_t program_rows_source(const struct program_buffer *from, int32_t position, int64_t shard);

/* Complete an op of which all arrays are known: its axes, and how many rows go where, which equal
 * ops share.  SHD_ENOMEM. */
SHD_MUST_CHECK int program_rows_set(struct program *program, struct program_op *op,
                                    struct shd_error *err);
void program_rows_free_counts(struct program_rows_counts *counts); /* NULL is allowed */

/* How many rows an expert's shard, or a device's, gets from all tokens: what is planned. */
uint64_t program_rows_kept(const struct program *program, const struct program_op *op,
                           int32_t position);

/* How many choices the tokens of all groups make: those that are kept and those that are dropped.
 */
uint64_t program_rows_choices(const struct program_op *op);

/* The rows that an expert keeps, of all groups. */
uint64_t program_rows_of_expert(const struct program_op *op, uint32_t expert);

/* Whether the routing is what a router is taken to decide, and a run may differ. */
bool program_rows_assumed(const struct program_op *op);

/* Whether that holds of any op of a program. */
bool program_assumes_rows(const struct program *program);

/* As program_moved() and the like, of an op that moves rows. */
struct program_moved program_rows_moved(const struct program *program, const struct program_op *op,
                                        int32_t position);
uint128 program_rows_received_by_all(const struct program *program, const struct program_op *op);
void program_rows_transfers(const struct program *program, const struct program_op *op,
                            int32_t position, program_transfer_fn fn, void *arg);

/* The axes on whose coordinates it depends what a device moves; whether two ops move the same. */
uint32_t program_rows_moves_axes(const struct program *program, const struct program_op *op);
bool program_rows_moves_alike(const struct program *program, const struct program_op *a,
                              const struct program_op *b);

#endif /* PROGRAM_ROWS_H */
