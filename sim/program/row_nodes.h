/* row_nodes.h - rows of tokens between nodes: each row goes once to every node that has experts of
 * its token, and each node's sum comes back once.
 *
 * An op between nodes (PROGRAM_ROWS_BETWEEN) has two arrays of tokens [batch, seq, width]: one is
 * cut by the axis that numbers nodes, the other is not.  Dispatching, a device gets the rows of
 * other nodes' tokens, from the devices that differ from it on this axis only, that name an expert
 * of its node; other rows are zeros.  Combining, a device adds up, for each of its tokens, the sums
 * of the nodes that have experts of it, in the order in which its choices name them.
 *
 * Bytes by formula: with tokens that name experts on `kept` of M nodes alike, a device receives
 * tokens * kept * (M - 1) / M rows in each of the two.
 *
 * Thread class: pure functions of a program that is built.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PROGRAM_ROW_NODES_H
#define PROGRAM_ROW_NODES_H

#include "program/rows.h"

/* Complete an op between nodes whose arrays are set: its axes and its counts.  SHD_ENOMEM. */
SHD_MUST_CHECK int program_nodes_set(struct program *program, struct program_op *op,
                                     struct shd_error *err);
void program_nodes_free_counts(struct program_node_counts *counts); /* NULL is allowed */

/* Whether a device takes the row of a walk's last entry.  Between nodes: of a dispatch if its own
 * node has the expert, and of a combine from any; in both at the first of a token's choices in that
 * node.  Inside nodes: if its own node has the expert.  Else always. */
bool program_rows_takes(const struct program_rows_walk *walk, const struct program_op *op,
                        int32_t position, const struct program_rows_place *place);

/* The device that is to another node what a position is to its own. */
int32_t program_nodes_peer(const struct program *program, const struct program_op *op,
                           int32_t position, int32_t node);

/* Nodes that have experts of a token, for each of its choices, 0..1: the part of rows that cross
 * where each node gets a token's row once.  Of a sample of the routing's tokens; experts are in
 * equal blocks on the nodes. */
double program_nodes_of_choices(const struct program_op *op, int64_t nnodes);

/* As program_rows_moved(), program_rows_received_by_all(), program_rows_transfers() and
 * program_rows_moves_alike(). */
uint128 program_nodes_received_by_all(const struct program *program, const struct program_op *op);
bool program_nodes_move_alike(const struct program *program, const struct program_op *a,
                              const struct program_op *b);
struct program_moved program_nodes_moved(const struct program *program, const struct program_op *op,
                                         int32_t position);
void program_nodes_transfers(const struct program *program, const struct program_op *op,
                             int32_t position, program_transfer_fn fn, void *arg);

#endif /* PROGRAM_ROW_NODES_H */
