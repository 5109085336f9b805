/* works.h - which ops of which devices are the same work, and the time of each work.
 *
 * Two kernels are the same work if kernel, description (element type, extents, strides) and offsets
 * are equal, and each reads one array twice where the other does; two local reshard steps, if they
 * make the same of shards of the same extents.  So equal layers, equal devices and equal parts of
 * different programs are the same work. (All virtual devices are of one class: threads of this
 * machine.)
 *
 * The time of a work varies only through disturbances: caches used by others, pages touched for the
 * first time, a shared processor.  All of them add time and none subtracts, so the least measured
 * time is closest to the work's own.  Times are kept in columns, one for each part of the
 * measurement, so that the least times of different parts can be compared.
 *
 * A run in which the thread kept its core counts with its wall time, else with its CPU time.  CPU
 * time is used only if no run kept its core, because it is no upper or lower bound: in a virtual
 * machine a thread's CPU time is now and then a fifth too low (time taken by the host is charged to
 * the wrong thread), and the least of many times would be just these.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COST_WORKS_H
#define COST_WORKS_H

#include "program/record.h"

struct works; /* opaque */

#define WORKS_NONE UINT32_MAX
#define WORKS_COLUMNS_MAX 64 /* times kept of each work, one a round; compare takes about fifty
                                rounds */

struct works *works_create(void);        /* NULL: no memory */
void works_destroy(struct works *works); /* NULL is allowed */

/* Number the works of a program: out[device * nops + op], WORKS_NONE for arguments and for ops that
 * communicate.  Free *out with free().  SHD_ENOMEM. */
SHD_MUST_CHECK int works_number(uint32_t **out, struct works *works, const struct program *program,
                                struct shd_error *err);

/* Number of works so far, of all programs. */
uint32_t works_count(const struct works *works);

/* Put the times of the record's ops into a column, for the devices first, first + stride and so on.
 * `ids` number the works of the record's program. */
void works_take(struct works *works, uint32_t column, const uint32_t *ids,
                const struct record *record, int32_t first, int32_t stride);

/* Least time of a work in the columns from..to-1, in nanoseconds; -1: not measured. */
int64_t works_least(const struct works *works, uint32_t id, uint32_t from, uint32_t to);

#endif /* COST_WORKS_H */
