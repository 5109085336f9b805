/* works.h - which ops of which devices are the same work, and the time that each work takes.
 *
 * Two ops are the same work where the same kernel runs with the same description (element type,
 * extents, strides), at the same offsets, and reads one array twice where the other does; two local
 * steps of a reshard, where they make the same of shards of the same extents.  So equal layers are
 * the same work, and equal devices, and equal parts of different programs.  (All virtual devices
 * are of one class: threads of this machine.)
 *
 * What a work takes differs from time to time only by what disturbs it: caches that others used,
 * pages touched for the first time, a processor that is shared.  All of that adds and nothing
 * subtracts, so the least time that was seen is the nearest to what the work itself takes.  Times
 * are kept in columns, one for each stretch of the measuring, so that the least of some can be
 * held against the least of others.
 *
 * A thread that kept its core all the while took the wall time.  One that lost it took its CPU
 * time; that counts only where nobody kept a core, because it is no bound: the system's count of a
 * thread's CPU time in a virtual machine is a fifth too low now and then (time that the host took
 * is taken off the wrong thread), and the least of many would be just these.
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
#define WORKS_COLUMNS_MAX 64 /* times kept of each work, one a round; compare takes about fifty */

struct works *works_create(void);        /* NULL: no memory */
void works_destroy(struct works *works); /* NULL is allowed */

/* Number the works of a program: out[device * nops + op], WORKS_NONE for arguments, and for what
 * communicates.  Free *out with free().  SHD_ENOMEM. */
SHD_MUST_CHECK int works_number(uint32_t **out, struct works *works, const struct program *program,
                                struct shd_error *err);

/* Works so far, of all programs. */
uint32_t works_count(const struct works *works);

/* Note the times of the record's ops in a column: those of the devices first, first + stride
 * and so on.  `ids` are the numbers of its program. */
void works_take(struct works *works, uint32_t column, const uint32_t *ids,
                const struct record *record, int32_t first, int32_t stride);

/* The least time of a work in the columns from..to-1, in nanoseconds; -1 where it was not seen. */
int64_t works_least(const struct works *works, uint32_t id, uint32_t from, uint32_t to);

#endif /* COST_WORKS_H */
