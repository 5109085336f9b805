/* walk.h - execute a program: every device thread walks its ops with real bytes.
 *
 * Thread class: walk_run() may be called by several threads with records of their own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef WALK_WALK_H
#define WALK_WALK_H

#include <shd/run.h>

#include "program/record.h"

/* Called in each device's thread when its step is done and the results are still there.
 * `shards[r]` is the device's shard of result r, row-major. */
typedef void (*walk_finish_fn)(void *arg, int32_t position, const void *const *shards);

/* Called in each device's thread after each op, for each microbatch in the order of its schedule,
 * while what the op read is still there: `shards[b]` is the device's shard of buffer b, NULL where
 * it is not alive. Arguments that are filled in anew are such ops again. */
typedef void (*walk_observe_fn)(void *arg, int32_t position, uint32_t op, uint32_t microbatch,
                                const void *const *shards);

/* Called in each device's thread after each step, 0 the first, with the device's shards of results,
 * as above. */
typedef void (*walk_stepped_fn)(void *arg, int32_t position, uint32_t step,
                                const void *const *shards);

/* Called in one device's thread of each rank after each repeat of the step, 0 the first, while all
 * others wait:
 * the record's times are those of this repeat. */
typedef void (*walk_repeated_fn)(void *arg, uint32_t repeat);

/* Called in one device's thread of each rank after the first step and after the last, 0 the first,
 * while all devices wait: `results[d]` are the device's shards of results, as above; NULL where it
 * is another rank's. */
typedef void (*walk_together_fn)(void *arg, uint32_t step, const void *const *const *results);

/* Where a run is spread over ranks: called in the thread of the device at `position`, before
 * `inspect` is of any device of its rank, with what `peer`, a device of another rank, has of a
 * buffer that the op reads.  (Of an op that receives: what `peer` sent.)  `shard` is there until
 * the function returns.  NULL, and -1 for the peer: all have looked at an op at which devices meet.
 */
typedef void (*walk_peer_fn)(void *arg, int32_t position, uint32_t op, int32_t peer,
                             uint32_t buffer, const void *shard);

struct spread;

struct walk_opts {
    const struct spread *spread; /* over which ranks; NULL: all devices are here.  Callbacks are of
                                    this rank's devices; the record is filled on all ranks */
    uint64_t memory_bytes;       /* limit of a device; 0: none */
    int nthreads;                /* inside kernels; 0: one */
    const char *memory;          /* as in shd_run_opts; NULL: by backend_choose() */
    uint32_t repeats;        /* of the step; 0: one.  Each begins with the arguments of the first,
                                but for what a step leaves to the next (PROGRAM_NEXT) and data that
                                changes from step to step */
    const int *stop_request; /* as in shd_run_opts; NULL: none */
    walk_finish_fn finish;   /* NULL: nothing to do */
    void *finish_arg;
    walk_stepped_fn stepped; /* NULL: nothing to do */
    void *stepped_arg;
    walk_together_fn together; /* NULL: nothing to do */
    void *together_arg;
    walk_observe_fn observe; /* NULL: nothing to do.  With it, or `inspect`, nothing is written over
                                arguments: a step takes more memory than planned */
    void *observe_arg;
    walk_repeated_fn repeated; /* NULL: nothing to do */
    void *repeated_arg;
    walk_observe_fn inspect; /* called after `observe`; at a step between devices all of them are
                                there at once, and may read each other's shards; NULL: nothing to
                                do */
    walk_peer_fn peer;       /* needed with `inspect` where there is a spread; has its argument */
    void *inspect_arg;
};

/* Run the step and fill a record of mode RECORD_EXECUTED.  Errors as shd_run(); the record is
 * filled as far as devices came.
 *
 * Of a step that is repeated, bytes, flops and the times of ops are those of the last one.
 * The time of a step has the filling in of data for all microbatches but the first.
 */
SHD_MUST_CHECK int walk_run(struct record *record, const struct walk_opts *opts,
                            struct shd_error *err);

/* Run the step of one device with the machine to itself: what it would receive is stood in for by
 * what it has, so that no other device is needed and the numbers are of the right size but wrong.
 * Only the times of this device in the record are filled; of the options, `finish` and
 * `stepped` are not called.
 */
SHD_MUST_CHECK int walk_alone(struct record *record, int32_t position, const struct walk_opts *opts,
                              struct shd_error *err);

#endif /* WALK_WALK_H */
