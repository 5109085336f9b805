/* walker.h - one device on its way through a program, for the files of this room.
 *
 * walk.c goes from op to op; moves.c executes ops that move data between devices; inspect.c shows
 * shards to those who verify; step_times.c takes the times of steps.
 *
 * Thread class: a walker is owned by its device's thread; a walk is shared, and constant but for
 * what each device writes at its own place.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_WALK_WALKER_H
#define RUN_WALK_WALKER_H

#include <stdatomic.h>

#include "run/device.h"
#include "run/group.h"
#include "run/walk/walk.h"

/* Wall-clock and process CPU time at which a device began or ended a step. */
struct moment {
    int64_t wall_ns, cpu_ns;
};

/* n: devices that inspect shards or are about to; done: event signalled after each inspection. */
struct looks {
    _Atomic uint32_t n, done;
};

struct walk {
    struct record *record;
    const struct program *program;
    const struct walk_opts *opts;
    uint32_t repeats;
    int32_t alone;               /* the only device to walk; -1: all walk */
    struct moment *first, *last; /* [repeat][device] */
    int64_t *sorted;             /* wall and CPU time of each repeat, to take medians */
    const void *const **results; /* [device]: result shards while `together` reads them */
    struct looks *looks;
};

/* State of one device while it walks the program. */
struct walker {
    const struct walk *walk;
    const struct program *program;
    struct shd_device *dev;
    int32_t position;
    uint32_t rank;        /* in the pipeline */
    void **shards;        /* shard of each buffer, NULL while not alive.  Of buffers in `frames`:
                             the current microbatch's */
    void ***frames;       /* [microbatch][frame]: buffers of the suspended microbatches; NULL:
                             none */
    void **spare_frame;   /* freed frame, kept for reuse */
    const void **results; /* room for the shards of results */
    int nthreads;
    uint32_t repeat;     /* step number, from 0 */
    uint32_t microbatch; /* current microbatch, from 0 */
    bool first;          /* the segment's first microbatch: accumulated buffers start from zero */
    int core;            /* core held while computing, or TURNS_NONE */
};

/* The group of all devices on this device's pipeline rank. */
SHD_MUST_CHECK int walker_seat_on_rank(struct run_seat *out, struct walker *w,
                                       struct shd_error *err);

/* Ops that move data; *received is set, or left alone where nothing is received, to the bytes that
 * came from other devices.  Errors are those of run/. */
SHD_MUST_CHECK int walker_reshard(struct walker *w, const struct program_op *op, uint64_t *received,
                                  struct shd_error *err);
SHD_MUST_CHECK int walker_rows(struct walker *w, const struct program_op *op, uint64_t *received,
                               struct shd_error *err);
SHD_MUST_CHECK int walker_send(struct walker *w, const struct program_op *op,
                               struct shd_error *err);
SHD_MUST_CHECK int walker_receive(struct walker *w, const struct program_op *op, uint64_t *received,
                                  struct shd_error *err);

/* Call `observe` and `inspect` for op `i`, with what they need of other devices. */
SHD_MUST_CHECK int walker_show(struct walker *w, uint32_t i, struct shd_error *err);

/* Store the median, first and fastest times of all repeats in the record. */
void walk_take_times(struct record *record, struct walk *walk);

#endif /* RUN_WALK_WALKER_H */
