/* random_program.h - graphs of random ops with random shardings on random meshes.
 *
 * A program is created from a seed, filled with arrays and ops by the test, and then finished:
 * every array that no op reads becomes a result, and half of the programs in float64 get
 * gradients.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RANDOM_PROGRAM_H
#define RANDOM_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include <shd/mesh.h>
#include <shd/sharding.h>

#include "coll/coll.h"
#include "graph/graph.h"

#define RANDOM_NODES_MAX 4096
#define RANDOM_ELEMENTS_MAX 4096     /* elements of one array */
#define RANDOM_ITERATIONS_MAX 100000 /* iterations of one op */
#define RANDOM_BOUND 4.0             /* values whose bound is larger are scaled back */

/* splitmix64 */
struct random {
    uint64_t state;
};

uint64_t random_next(struct random *r);
uint32_t random_below(struct random *r, uint32_t n);
bool random_chance(struct random *r, uint32_t percent);

struct random_program {
    struct random random;
    uint64_t seed;
    enum shd_dtype dtype;
    bool backward;
    struct shd_mesh *mesh;
    struct graph *graph;
    double bounds[RANDOM_NODES_MAX]; /* about the largest |value| of each forward node */
    uint32_t nbounds;
    const struct shd_sharding *nodes[RANDOM_NODES_MAX], *outputs[RANDOM_NODES_MAX];
    struct shd_sharding *storage; /* of nodes, then of outputs */
    const struct coll_algo *algos[COLL_NKINDS];
    uint64_t memory_bytes; /* 0, or a limit so small that no gathered array is kept */
};

/* Set the type of all programs created from now on; all of them may then have gradients. */
void random_program_type(enum shd_dtype dtype);

struct random_program *random_program_create(uint64_t seed);
void random_program_finish(struct random_program *p);
void random_program_destroy(struct random_program *p);

/* Print the graph and the shardings that are asked for it, as diagnostics. */
void random_dump(const struct random_program *p);

/* Ask for a random sharding of a node. */
void random_ask(struct random_program *p, uint32_t node);

/* `what`, followed by a number that no node has yet. */
const char *random_name(struct random_program *p, const char *what);

/* Note the bound of the node that was added last, and scale the node back if its bound is large;
 * returns the node to go on with. */
uint32_t random_keep(struct random_program *p, uint32_t node, double bound);

/* A random node that does not hold integers, mostly one of the last few. */
uint32_t random_pick(struct random_program *p);

double random_elements(const struct graph *g, const uint32_t *dims, uint32_t rank);

/* ---- random_ops.c: products, elementwise functions, reductions, constraints ---- */

/* An input or parameter with the given dimensions. */
uint32_t random_leaf(struct random_program *p, const uint32_t *dims, uint32_t rank);

/* sigmoid(x) + 1/2: positive and far from 0 */
uint32_t random_positive(struct random_program *p, uint32_t a);

/* Add a random op of random_ops.c on existing nodes. */
void random_op(struct random_program *p);

/* A program of the ops of random_ops.c alone. */
struct random_program *random_ops_program(uint64_t seed);

/* ---- random_layer_ops.c: attention, norms, look-ups and so on ---- */

/* How many attentions and blocks were made so far. */
struct random_layers {
    unsigned attention, causal, grouped; /* attentions: all; causal; with fewer key heads */
    unsigned blocks;
    unsigned capped, sunk;                /* attentions of capped scores, and with sinks */
    unsigned sighted, in_blocks, goes_on; /* attentions by positions: all; with keys in blocks;
                                           * continuing an earlier block */
};

extern struct random_layers random_layers;

/* A program of the ops of both files. */
struct random_program *random_layer_program(uint64_t seed);

#endif /* RANDOM_PROGRAM_H */
