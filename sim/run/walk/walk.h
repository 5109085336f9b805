/* walk.h - execute a program: every device thread walks its ops with real bytes.
 *
 * Thread class: walk_run() may be called by several threads with records of their own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_WALK_WALK_H
#define RUN_WALK_WALK_H

#include <shd/run.h>

#include "program/record.h"

/* Called in each device's thread at the end of the last step, before its buffers are freed:
 * `shards[r]` is the device's shard of result r, row-major. */
typedef void (*walk_finish_fn)(void *arg, int32_t position, const void *const *shards);

/* Called in each device's thread after each op, once per microbatch in the schedule's order, before
 * the op's inputs are freed: `shards[b]` is the device's shard of buffer b, NULL while buffer b is
 * not alive.  Also called for each argument that is refilled for a new step or microbatch. */
typedef void (*walk_observe_fn)(void *arg, int32_t position, uint32_t op, uint32_t microbatch,
                                const void *const *shards);

/* Called in each device's thread after each step, counted from 0, with the device's shards of the
 * results (as for walk_finish_fn). */
typedef void (*walk_stepped_fn)(void *arg, int32_t position, uint32_t step,
                                const void *const *shards);

/* Called in one device's thread of each rank after each repeat of the step, counted from 0, while
 * all other devices wait.  The record then holds the times of this repeat. */
typedef void (*walk_repeated_fn)(void *arg, uint32_t repeat);

/* Called in one device's thread of each rank after the first and after the last step, counted from
 * 0, while all devices wait: `results[d]` are device d's shards of the results (as for
 * walk_finish_fn); NULL for devices of other ranks. */
typedef void (*walk_together_fn)(void *arg, uint32_t step, const void *const *const *results);

/* Inspects a run that is spread over ranks.  Called in the thread of the device at `position`,
 * before `inspect` is called for any device of its rank: `shard` is what device `peer` of another
 * rank holds of a buffer that the op reads, or, for PROGRAM_RECV, the message that `peer` sent.
 * `shard` is valid until the function returns.  A NULL shard with peer -1 says that all devices
 * have inspected an op at which they meet.
 */
typedef void (*walk_peer_fn)(void *arg, int32_t position, uint32_t op, int32_t peer,
                             uint32_t buffer, const void *shard);

struct spread;

struct walk_opts {
    const struct spread *spread; /* ranks that share the devices; NULL: this process has all.
                                    Callbacks are called for this rank's devices; the record is
                                    filled on all ranks */
    uint64_t memory_bytes;       /* memory limit of a device; 0: none */
    int nthreads;                /* threads inside kernels; 0: one */
    const char *memory;          /* kind of device memory, as in shd_run_opts; NULL:
                                    backend_choose() decides */
    uint32_t repeats;            /* how often the step runs; 0: once.  Each repeat starts from the
                                    initial arguments, except for state (PROGRAM_NEXT) and data that
                                    changes from step to step */
    const int *stop_request;     /* as in shd_run_opts; NULL: none */
    walk_finish_fn finish;       /* NULL: nothing to do */
    void *finish_arg;
    walk_stepped_fn stepped; /* NULL: nothing to do */
    void *stepped_arg;
    walk_together_fn together; /* NULL: nothing to do */
    void *together_arg;
    walk_observe_fn observe; /* NULL: nothing to do.  With `observe` or `inspect`, no result
                                overwrites an argument in place, so a step takes more memory than
                                planned */
    void *observe_arg;
    walk_repeated_fn repeated; /* NULL: nothing to do */
    void *repeated_arg;
    walk_observe_fn inspect; /* called after `observe`.  At an op between devices all devices are
                                inspected at once and may read each other's shards; NULL: nothing
                                to do */
    walk_peer_fn peer;       /* required if `inspect` and `spread` are set; its argument is
                                inspect_arg */
    void *inspect_arg;
};

/* Run the step and fill a record of mode RECORD_EXECUTED.  Errors as shd_run(); on an error the
 * record is filled as far as the devices came.
 *
 * If the step is repeated, bytes, flops and op times are those of the last repeat.  The step's time
 * includes filling in the data of every microbatch but the first.
 */
SHD_MUST_CHECK int walk_run(struct record *record, const struct walk_opts *opts,
                            struct shd_error *err);

/* Run the step of one device with the machine to itself.  The device's own bytes replace everything
 * it would receive, so no other device is needed: array sizes are right, values are wrong.  Fills
 * only this device's times in the record; `finish` and `stepped` are not called.
 */
SHD_MUST_CHECK int walk_alone(struct record *record, int32_t position, const struct walk_opts *opts,
                              struct shd_error *err);

#endif /* RUN_WALK_WALK_H */
