/* rows.h - moving tokens to the rows of experts and back: who pulls how many rows from whom.
 *
 * Such an op has an array of tokens [batch, seq, (choice,) width], an array of experts' rows
 * [expert, slot, width], and ids and slots that map each token's choices to rows (int32 [batch,
 * seq, choice]; slots count within a group of the batch, -1 means no row).  The op copies: for
 * every row of its own result a device pulls from itself, or from the device that holds the row and
 * has its own coordinates on all axes that do not cut the operand's first two dimensions.  It is an
 * all-to-all whose message sizes depend on the data.
 *
 * Where an axis numbers nodes, a token's row goes once to each node (row_nodes.h), to the device
 * that differs from the token's on that axis only, and from there to experts' devices; sums of a
 * token's rows come back the same way.  Of these ops one moves rows inside nodes.
 *
 * A device has the ids of all tokens that may come to its rows, or whose rows it needs.  Execution
 * reads the ids; the counts here come from the op's planned routing.
 *
 * Thread class: pure functions of a program that is built.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PROGRAM_ROWS_H
#define PROGRAM_ROWS_H

#include "program/program.h"

/* The two arrays of an op; rows.combines selects which of them is the operand. */
struct program_rows_arrays {
    const struct program_buffer *tokens, *experts, *ids;
    const struct program_buffer *from, *to; /* `tokens` and `experts` as operand and result */
    int64_t capacity;                       /* slots of an expert in a group */
    int64_t group_rows;                     /* rows of the batch in a group */
    int64_t choices;
    uint64_t row_bytes; /* bytes of a row on one device */
};
struct program_rows_arrays program_rows_arrays(const struct program *program,
                                               const struct program_op *op);

/* An entry of the token array and its row, both by index in the whole arrays. */
struct program_rows_place {
    int64_t batch, seq, choice;
    int64_t expert, slot;
};

/* The node of a position: its coordinates on axes, the first the most major. */
int32_t program_node_at(const struct shd_mesh *mesh, uint32_t axes, int32_t position);

/* The node that has a shard of the experts' rows, and that which has a row. */
int32_t program_rows_shard_node(const struct program_rows_arrays *arrays,
                                const struct program_op *op, int64_t shard);
int32_t program_rows_node(const struct program_rows_arrays *arrays, const struct program_op *op,
                          const struct program_rows_place *place);

/* Iterator over the entries of a device's ids that have a row. */
struct program_rows_walk {
    struct program_rows_arrays arrays;
    const int32_t *ids, *slots;
    int64_t ids_start[3], at, end;
};
struct program_rows_walk program_rows_walk(const struct program *program,
                                           const struct program_op *op, int32_t position,
                                           const int32_t *ids, const int32_t *slots);
bool program_rows_next(struct program_rows_walk *walk, struct program_rows_place *out);

/* How many shards the first two dimensions have; the shard of an element, and of a position. */
int64_t program_rows_shards(const struct program_buffer *buffer);
int64_t program_rows_shard(const struct program_buffer *buffer, int64_t first, int64_t second);
int64_t program_rows_shard_at(const struct program_buffer *buffer, int32_t position);

/* The device that a position pulls a shard of the operand from. */
int32_t program_rows_source(const struct program_buffer *from, int32_t position, int64_t shard);

/* Complete an op whose arrays are set: its axes and its row counts, which equal ops share.
 * SHD_ENOMEM. */
SHD_MUST_CHECK int program_rows_set(struct program *program, struct program_op *op,
                                    struct shd_error *err);
void program_rows_free_counts(struct program_rows_counts *counts); /* NULL is allowed */

/* Whether an op brings tokens to experts' rows: nothing between nodes, and nothing
 * beside tokens. */
bool program_rows_reach_experts(const struct program_op *op);

/* Planned rows that the experts on a device get from all tokens. */
uint64_t program_rows_kept(const struct program *program, const struct program_op *op,
                           int32_t position);

/* The part of an array of experts' rows that tokens take on a device, 0..1, as the routing plans;
 * 1 for other arrays.  Rows that no token takes are room of the array, which no kernel need touch.
 */
double program_rows_taken(const struct program_buffer *buffer, int32_t position);

/* Whether that may differ from device to device. */
bool program_rows_differ(const struct program_buffer *buffer);

/* The choices of all tokens in all groups, kept or dropped.
 */
uint64_t program_rows_choices(const struct program_op *op);

/* The rows that an expert keeps, summed over groups. */
uint64_t program_rows_of_expert(const struct program_op *op, uint32_t expert);

/* Whether rows go to copies of experts, which then count as experts elsewhere; and the expert of
 * which number `place` is a copy, or which has the number. */
bool program_rows_go_to_copies(const struct program_op *op);
uint32_t program_rows_expert(const struct program_op *op, uint32_t place);

/* Whether the routing is an assumption about the router, from which a run may differ. */
bool program_rows_assumed(const struct program_op *op);

/* Whether any op of a program has an assumed routing. */
bool program_assumes_rows(const struct program *program);

/* program_moved(), program_received_by_all() and program_transfers() for PROGRAM_ROWS. */
struct program_moved program_rows_moved(const struct program *program, const struct program_op *op,
                                        int32_t position);
uint128 program_rows_received_by_all(const struct program *program, const struct program_op *op);
void program_rows_transfers(const struct program *program, const struct program_op *op,
                            int32_t position, program_transfer_fn fn, void *arg);

/* program_moves_axes() and program_moves_alike() for PROGRAM_ROWS. */
uint32_t program_rows_moves_axes(const struct program *program, const struct program_op *op);
bool program_rows_moves_alike(const struct program *program, const struct program_op *a,
                              const struct program_op *b);

#endif /* PROGRAM_ROWS_H */
