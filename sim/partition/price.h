/* price.h - costs of reshards and of work; reshard costs are cached.
 *
 * Costs are bytes, or seconds on a cluster if one is given.  Only costs of one kind are compared.
 *
 * Shardings are stored once and known by number, so that the search compares numbers.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_PRICE_H
#define PARTITION_PRICE_H

#include <stdint.h>

#include <shd/reshard.h>
#include <shd/sharding.h>

#include "base/pool.h"
#include "coll/coll.h"
#include "graph/graph.h"
#include "hardware/hardware.h"

/* Costs in bytes are bytes received by all devices together; work and steps are converted to bytes.
 *
 * Bytes are to be minimized, so work only decides between placements that move about the same: it
 * counts about 60 times less than on today's clusters, where a device does 1,000 to 2,000 flops and
 * reads or writes about 10 bytes of its own memory in the time a byte takes to arrive (A100: 312
 * Tflop/s and 2 TB/s beside 0.2 to 0.3 TB/s).  Each step has a small fixed cost: for small arrays,
 * one step is better than two.
 *
 * Costs in seconds add up all steps as if in sequence: which transfers overlap with computation is
 * unknown when costs are compared. */
#define PRICE_FLOPS_PER_BYTE 64000.0
#define PRICE_LOCAL_PER_BYTE 1024.0
#define PRICE_STEP_BYTES 256.0
#define PRICE_IMPOSSIBLE 1e300

struct price; /* opaque */

/* `excluded_axes`: bit a: no reshard goes along axis a of the mesh, which holds the stages of a
 * pipeline.  `algos`: the algorithm of each kind of collective (NULL entries: the default; NULL:
 * all default), which must outlive the object; bytes are counted for these algorithms.  `hardware`:
 * a cluster laid out for the mesh, then costs are seconds on it with its own algorithms; NULL:
 * costs are bytes. */
struct price *price_create(struct pool *pool, const struct graph *graph,
                           const struct shd_mesh *mesh, uint32_t excluded_axes,
                           const struct coll_algo *const *algos, const struct hardware *hardware);

/* The number of a sharding. */
uint32_t price_number(struct price *price, const struct shd_sharding *sharding);
const struct shd_sharding *price_sharding(const struct price *price, uint32_t number);

/* Cost of taking a node's array from one sharding to another. */
double price_reshard(struct price *price, uint32_t node, uint32_t from, uint32_t to);

/* How many costs were computed so far, not only looked up. */
uint64_t price_worked_out(const struct price *price);

/* The steps that price_reshard() prices.  Errors of shd_reshard_build_with(). */
SHD_MUST_CHECK int price_plan(struct shd_reshard_plan *out, const struct price *price,
                              uint32_t node, uint32_t from, uint32_t to, struct shd_error *err);

/* Cost of one step, a shift for example. */
double price_step(const struct price *price, const struct shd_reshard_step *step,
                  const int64_t *shape, enum shd_dtype dtype);

/* Cost if each device fetches this many bytes along the axes that cut an array, over two devices or
 * more. */
double price_fetch(const struct price *price, const struct shd_sharding *cut, double device_bytes);

/* Cost of each device's work: flops, and bytes read and written. */
double price_work(const struct price *price, enum shd_dtype dtype, double flops, double bytes);

#endif /* PARTITION_PRICE_H */
