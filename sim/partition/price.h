/* price.h - what it costs to take an array from one sharding to another, remembered; and to work.
 *
 * Costs are bytes, or where a cluster is given seconds on it.  Only costs of one kind are compared.
 *
 * Shardings are kept once and known by number, so that the search compares numbers.
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

#include "coll/coll.h"
#include "graph/graph.h"
#include "hardware/hardware.h"

/* Costs in bytes are those received by all devices together, the rest converted to them.
 *
 * Bytes are what is asked to be few, so work only decides between ways that move about the same: it
 * counts some 60 times less than on today's clusters, where a device does 1,000 to 2,000 flops and
 * reads or writes about 10 bytes of its own memory in the time a byte takes to arrive (A100: 312
 * Tflop/s and 2 TB/s beside 0.2 to 0.3 TB/s).  A step costs a little by itself: small arrays are
 * not worth two where one does.
 *
 * Costs in seconds are those of each step one after the other: what goes on beside computations is
 * not known yet when they are compared. */
#define PRICE_FLOPS_PER_BYTE 64000.0
#define PRICE_LOCAL_PER_BYTE 1024.0
#define PRICE_STEP_BYTES 256.0
#define PRICE_IMPOSSIBLE 1e300

struct price; /* opaque */

/* `algos`: the algorithms that collectives are asked to take, by kind (NULL entries: the default;
 * NULL: all), which must outlive it; their bytes count, however few the default would move.
 * `hardware`: laid out for the mesh, costs are seconds on it, by its own schedules; NULL: bytes.
 * NULL: no memory. */
struct price *price_create(const struct graph *graph, const struct shd_mesh *mesh,
                           const struct coll_algo *const *algos, const struct hardware *hardware);
void price_destroy(struct price *price);

/* The number of a sharding.  When the host has no memory for it, that of another, and
 * price_failed() says so from then on: whoever asks for many may look once. */
uint32_t price_number(struct price *price, const struct shd_sharding *sharding);
bool price_failed(const struct price *price);
const struct shd_sharding *price_sharding(const struct price *price, uint32_t number);

/* Cost of taking a node's array from one sharding to another. */
double price_reshard(struct price *price, uint32_t node, uint32_t from, uint32_t to);

/* How many costs were worked out so far, and not only looked up. */
uint64_t price_worked_out(const struct price *price);

/* The steps that have this cost.  The errors of shd_reshard_build_with(). */
SHD_MUST_CHECK int price_plan(struct shd_reshard_plan *out, const struct price *price,
                              uint32_t node, uint32_t from, uint32_t to, struct shd_error *err);

/* Cost of one step, of a shift say. */
double price_step(const struct price *price, const struct shd_reshard_step *step,
                  const int64_t *shape, enum shd_dtype dtype);

/* Cost of so many bytes that each device fetches along the axes that cut an array. */
double price_fetch(const struct price *price, const struct shd_sharding *cut, double device_bytes);

/* Cost of the work of each device: flops, and bytes that it touches. */
double price_work(const struct price *price, enum shd_dtype dtype, double flops, double bytes);

#endif /* PARTITION_PRICE_H */
