/* scenarios.h - the scenarios whose ops are measured to describe this machine.
 *
 * Sizes are typical of small models run here: products of a millisecond, arrays that fit the caches
 * and some that do not.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CALIBRATE_SCENARIOS_H
#define CALIBRATE_SCENARIOS_H

/* Products with large inner dimensions, forward and backward. */
#define MACHINE_PRODUCTS                                                       \
    "version: 1\n"                                                             \
    "name: products\n"                                                         \
    "mesh: {dp: 1}\n"                                                          \
    "graph:\n"                                                                 \
    "  dims: {b: 1, s: 512, d: 512, k: 128, l: 1024, m: 192, n: 768}\n"        \
    "  inputs: {x: [b, s, d]}\n"                                               \
    "  params: {w1: [d, k], w2: [k, l], w3: [l, m], w4: [m, n], w5: [n, d]}\n" \
    "  ops:\n"                                                                 \
    "    - y1[b,s,k] = einsum(x[b,s,d], w1[d,k])\n"                            \
    "    - y2[b,s,l] = einsum(y1[b,s,k], w2[k,l])\n"                           \
    "    - y3[b,s,m] = einsum(y2[b,s,l], w3[l,m])\n"                           \
    "    - y4[b,s,n] = einsum(y3[b,s,m], w4[m,n])\n"                           \
    "    - y5[b,s,d] = einsum(y4[b,s,n], w5[n,d])\n"                           \
    "step: [forward, backward]\n"                                              \
    "params: [[.*, []]]\n"

/* Products with small inner dimensions; %d is one dimension. */
#define MACHINE_SMALL_PRODUCTS                        \
    "version: 1\n"                                    \
    "name: small-products\n"                          \
    "mesh: {dp: 1}\n"                                 \
    "graph:\n"                                        \
    "  dims: {b: 1, s: 512, d: 512, k: %d, f: 512}\n" \
    "  inputs: {x: [b, s, d]}\n"                      \
    "  params: {w1: [d, k], w2: [k, f]}\n"            \
    "  ops:\n"                                        \
    "    - y1[b,s,k] = einsum(x[b,s,d], w1[d,k])\n"   \
    "    - y2[b,s,f] = einsum(y1[b,s,k], w2[k,f])\n"  \
    "step: [forward, backward]\n"                     \
    "params: [[.*, []]]\n"

/* Attention; %d are heads and positions. */
#define MACHINE_ATTENTION                                            \
    "version: 1\n"                                                   \
    "name: attention\n"                                              \
    "mesh: {dp: 1}\n"                                                \
    "model: {kind: attention, d_model: 256, heads: %d, layers: 1}\n" \
    "batch: {size: 2, seq: %d}\n"                                    \
    "step: [forward, backward]\n"                                    \
    "params: [[.*, []]]\n"

/* A transformer; parameters are width, hidden width, type, rows and positions. */
#define MACHINE_TRANSFORMER                                                   \
    "version: 1\n"                                                            \
    "name: transformer\n"                                                     \
    "mesh: {dp: 1}\n"                                                         \
    "model: {kind: transformer, d_model: %d, d_ff: %d, heads: 4, layers: 1, " \
    "vocab: 512, dtype: %s}\n"                                                \
    "batch: {size: %d, seq: %d}\n"                                            \
    "step: [forward, backward]\n"                                             \
    "params: [[.*, []]]\n"

/* Sums of two arrays with 256 columns; %d is the number of rows. */
#define MACHINE_SUMS            \
    "version: 1\n"              \
    "name: sums\n"              \
    "mesh: {dp: 1}\n"           \
    "graph:\n"                  \
    "  dims: {s: %d, d: 256}\n" \
    "  inputs: {x: [s, d]}\n"   \
    "  params: {w: [s, d]}\n"   \
    "  ops:\n"                  \
    "    - a[s,d] = x + w\n"    \
    "    - y[s,d] = a + x\n"    \
    "step: [forward]\n"         \
    "params: [[.*, []]]\n"

/* Hundreds of ops that do almost nothing. */
#define MACHINE_NOTHING                                                       \
    "version: 1\n"                                                            \
    "name: nothing\n"                                                         \
    "mesh: {dp: 1}\n"                                                         \
    "model: {kind: mlp, d_model: 4, d_ff: 4, activation: relu, layers: 32}\n" \
    "batch: {size: 1, seq: 4}\n"                                              \
    "step: [forward, backward]\n"                                             \
    "params: [[.*, []]]\n"

#endif /* CALIBRATE_SCENARIOS_H */
