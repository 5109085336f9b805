/* op_chains.h - chains: consecutive ops bound by memory that software runs as one kernel.
 *
 * A chain reads what ops before it made, and writes what ops behind it read; a value between its
 * ops is never written.  Ops that have no time of their own, as they are part of another kernel, do
 * not end a chain.
 *
 * Engines whose kernels were measured fuse more than software that trains: they round what a norm or
 * an activation made where it is made, rotate queries and keys and write them into the cache in
 * one kernel, choose and sort experts in one, and add biases where a product writes its results.
 *
 * Thread class: not thread safe.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COST_OP_CHAINS_H
#define COST_OP_CHAINS_H

#include "cost/op_seconds.h"

/* Give the first op of each chain the bytes of all, and the others no time. */
void op_chains_find(struct op_seconds *seconds);

/* Bytes of a chain on a device; 0: the op is no chain. */
double op_chains_bytes(const struct op_seconds *seconds, const struct op_moves *moves,
                       int32_t position);

#endif /* COST_OP_CHAINS_H */
