/* record.h - what happened, per device and op: bytes, flops, memory, times, and what was verified.
 *
 * `walk` and `cost` fill the same record from the same program, so that a report cannot tell which
 * of them made it except by its label.  Figures are kept in rows: of an executed step one for each
 * device, of a planned one for each class of devices that the program treats alike, so that a
 * million devices need no more than a few.  A reader asks for rows and how many devices each
 * stands for, and need not know which of the two a record is.
 *
 * Thread class: while devices run, row d of every array is written by device d alone; immutable
 * afterwards.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PROGRAM_RECORD_H
#define PROGRAM_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include <shd/error.h>

#include "base/uint128.h"
#include "program/classes.h"

enum record_mode { RECORD_EXECUTED, RECORD_PLANNED };

/* One device's time in one op, nanoseconds; start and end on one clock of the whole machine. */
struct record_time {
    int64_t start_ns, end_ns;
    int64_t
        cpu_ns; /* of the device's own thread; in a record that was replayed, of the same work */
};

/* A result compared with the unsharded computation in float64, over all devices: each element may
 * be off by a bound of its own (docs/verification.md). */
struct record_check {
    enum program_result_kind kind;
    const char *name;
    double error;   /* the largest |got - want| / bound: above 1 it is wrong.  Infinity where
                       nothing is allowed, or one of the two is not finite and the other is not
                       the same */
    int32_t device; /* the lowest that has it; this and the rest are not set when error is 0 */
    int64_t at;     /* where in the whole array, row-major */
    double got, want, allowed;
    double relative;  /* max |got - want| / max |want| of what is finite */
    double most, largest; /* these two maxima */
    double widest;    /* the largest bound of an element, but for infinity; of what is `zero` without
                         one, what is allowed by what the unsharded run is off */
    bool zero;        /* 0 in exact arithmetic, as far as its bounds tell: `want` is what rounding in
                         float64 leaves, so that `relative` says nothing */
    double unsharded; /* the same of the unsharded computation in the program's own types; set
                         where the record is `beside_unsharded` */
    uint64_t nopen;   /* elements on all devices that cannot be judged: their bound is infinite */
    uint64_t infinite, nan; /* elements on all devices that are infinite or not a number, be it as
                               they are unsharded: no training goes on from there.  Of outputs only
                               what is not a number counts: what a mask leaves nothing of is
                               infinite by right.  Of a step that updates parameters only the loss
                               and these count: a loss scale skips steps whose gradients are not
                               finite */
    /* Of several steps that leave something to the next, `error` is the larger of those after the
     * first and after the last; `relative`, `unsharded` and `nopen` are after the last. */
    bool after_first;     /* `error` is of the first */
    uint64_t nopen_first; /* as `nopen`, after the first */
};

/* What a transfer takes in a replay: the latency, and its bytes at the rate. */
struct record_transfers {
    uint64_t bytes_per_s; /* into one device; at least 1 */
    int64_t latency_ns;
};

/* One device in a replayed or modelled step.  busy + exposed + waiting + idle = the step. */
struct record_replayed {
    int64_t busy_ns;          /* at work */
    int64_t communication_ns; /* bytes arrive, whether or not there is work beside it */
    int64_t exposed_ns;       /* bytes arrive and there is no work to do until they are here */
    int64_t waiting_ns;       /* for other devices to come to a transfer, with no work beside it */
    int64_t idle_ns;          /* done, while others are not */
};

/* A stretch of the critical path. */
struct record_stretch {
    int32_t device;
    uint32_t op;
    int64_t start_ns, end_ns; /* from the step's begin; each begins where the one before ended */
};

/* The step as if each device had a core of its own; see cost/replay.h. */
struct record_replay {
    struct record_transfers transfers;
    int64_t step_ns;
    uint32_t repeats; /* of the step, in which its times were taken */
    double spread;    /* of the step, a fraction; see cost/steady.h.  Negative: not known */
    int64_t noise_ns; /* steps that differ by no more are a tie; negative: not known */
    struct record_replayed *devices;
    struct record_stretch *path; /* from the step's begin to its end */
    uint32_t npath;
};

/* What the computations of a modelled step are. */
enum record_work {
    RECORD_MATMUL,
    RECORD_ATTENTION,
    RECORD_ELEMENTWISE, /* and reductions, look-ups, copies */
    RECORD_UPDATE,      /* of the optimizer */
    RECORD_NWORKS
};

/* The rate of flops, the memory's bandwidth, or that kernels start one after the other. */
enum record_bound { RECORD_BY_COMPUTE, RECORD_BY_MEMORY, RECORD_BY_LAUNCH, RECORD_NBOUNDS };

struct hardware;

/* A device that is slower than those like it. */
struct record_straggler {
    int32_t device;     /* its position; -1: there is none */
    double compute;     /* how many times as long its computations take, and ... */
    double links;       /* ... the transfers that it takes part in; 1: no longer */
    int64_t without_ns; /* the step without it */
};

/* A planned step on a stated cluster; see cost/modelled.h.  Times of ops and works are of the
 * busiest lane. */
struct record_modelled {
    const struct hardware *hardware; /* not owned */
    int64_t work_ns[RECORD_NWORKS];
    int64_t again_ns;               /* of these, of the forward phase done once more */
    struct record_straggler straggler;
    struct record_replay *timeline; /* its devices are lanes: classes of devices alike */
    uint32_t row;                   /* the busiest lane */
    int64_t *op_ns;      /* [op] busy with it, all times; transfers: while bytes arrive */
    int64_t *exposed_ns; /* [op] that computations were kept from going on by it */
    uint8_t *bound;      /* [op] enum record_bound: what the time of its kernel comes from */
};

/* Where the devices' memory came from, and why from there (run/backend.h). */
struct record_memory {
    const char *kind; /* NULL: not executed */
    bool usual;
    char why[160];
};

/* Numbers of each step of a model in training. */
struct record_training {
    uint32_t nsteps; /* 0: nothing is trained */
    double *losses, *grad_norms;
};

struct record {
    enum record_mode mode;
    const struct program *program; /* not owned */
    int32_t ndevices;
    struct program_classes *classes; /* planned: a row is one of these; NULL: a device */
    uint32_t nrows;
    uint64_t *op_received;     /* [device][op] bytes from other devices; NULL when planned */
    uint64_t *op_flops;        /* [device][op] as the kernels counted them; NULL when planned */
    struct record_time *times; /* [device][op]; NULL when not measured */
    /* Executed: rows that came to each expert of a device in an op that dispatches tokens forward,
     * from wherever; record_expert_rows().  NULL: there is no such op. */
    uint64_t *expert_rows;
    size_t *expert_rows_at; /* [op] */
    /* Bytes between devices in these ops; record_expert_links().  NULL above RECORD_LINKS_MAX. */
    uint64_t *expert_links;
    size_t *expert_links_at; /* [op] */
    /* [row], of one device in the whole step: */
    uint128 *received_bytes;
    uint128 *sent_bytes;
    uint128 *flops;
    uint128
        *uneven_flops[KERN_NUNEVENS]; /* of these, in ops that pass over work, by what decides */
    uint128 *peak_bytes;
    uint128 *matrix; /* executed: [receiver][source]; NULL above RECORD_MATRIX_MAX devices */
    /* Executed: wall time from the first op to the last, arguments filled before. */
    uint32_t repeats; /* of the step */
    int64_t first_step_ns;
    int64_t step_ns;         /* the median of the others; the first where there are none */
    int64_t fastest_step_ns; /* of the others */
    int64_t cpu_ns;          /* of all threads in a step, likewise a median */
    struct record_memory memory;
    struct record_replay *replay;     /* NULL when not replayed */
    struct record_modelled *modelled; /* NULL: of no stated cluster */
    struct record_training training;  /* executed */
    bool verified;
    double tolerance; /* of the relative error, besides the bounds, of what is not 0 in exact
                         arithmetic; 0: none was asked for */
    struct record_check *checks; /* one for each result of the program */
    uint32_t nchecks;
    bool beside_unsharded; /* the program has 16-bit arrays, which are off without sharding, too */
    struct record_check step; /* of all steps: the first in the program that is wrong, or if none
                                 is, the one that came nearest; `name` is its first result's */
    uint32_t step_op;         /* which op that is */
    uint32_t nsteps;          /* steps that were judged by what they were given */
};

/* The rows of each expert that a device has, in the order of the experts; NULL: of another op, or
 * not executed.  Of all microbatches of the last step. */
uint64_t *record_expert_rows(const struct record *record, uint32_t op, int32_t position);

/* The bytes that a device received from each position in such an op, in all microbatches of the
 * last step; NULL: of another op, or of more devices than RECORD_LINKS_MAX, or not executed. */
uint64_t *record_expert_links(const struct record *record, uint32_t op, int32_t position);

/* A matrix of each op that dispatches tokens: of so many devices it takes 32 KiB. */
#define RECORD_LINKS_MAX 64

/* The matrix of so many devices takes 64 MiB; of more there are the sums alone (shd/run.h has the
 * same limit). */
#define RECORD_MATRIX_MAX 2048

/* The worst of column `i` of found[device][ncolumns]; of equals the lowest device's. */
struct record_check record_check_of(const struct record *record,
                                    const struct kern_difference *found, uint32_t ncolumns,
                                    uint32_t i);

/* A record of zeros for a program.  SHD_ENOMEM. */
SHD_MUST_CHECK int record_create(struct record **out, const struct program *program,
                                 enum record_mode mode, bool times, struct shd_error *err);
void record_destroy(struct record *record); /* NULL is allowed */

/* A replay of zeros for `ndevices` and a path of at most `nactions`; NULL: no memory. */
struct record_replay *record_replay_create(int32_t ndevices, uint32_t nactions);
void record_replay_destroy(struct record_replay *replay); /* NULL is allowed */

/* Zeros for so many ops, without a timeline; NULL: no memory.  Its timeline goes with it. */
struct record_modelled *record_modelled_create(uint32_t nops);
void record_modelled_destroy(struct record_modelled *modelled); /* NULL is allowed */

/* Room for the numbers of so many steps, in place of those that are there.  SHD_ENOMEM. */
SHD_MUST_CHECK int record_train(struct record *record, uint32_t nsteps, struct shd_error *err);

/* The devices that a row stands for, and the row of a position. */
struct program_class record_row(const struct record *record, uint32_t row);
uint32_t record_row_of(const struct record *record, int32_t position);

/* Bytes received in one op: by the device at a position, and by all. */
uint128 record_received_in(const struct record *record, uint32_t op, int32_t position);
uint128 record_op_received(const struct record *record, uint32_t op);

/* Flops of one op, all times that a step does it, on a device of a row. */
uint128 record_flops_in(const struct record *record, uint32_t op, uint32_t row);

/* One of the record's arrays of rows, summed over all devices. */
uint128 record_sum(const struct record *record, const uint128 *rows);
uint128 record_received(const struct record *record); /* bytes, in the step */

/* Flops done by all devices, and the unsharded step's against them: 1 where nothing is done twice.
 * (A little more where smaller shards can skip more for a mask.) */
uint128 record_flops(const struct record *record);
double record_efficiency(const struct record *record, const struct program_work *work);

/* Whether one check is within its bounds, and the tolerance where there is one; and whether all are
 * (and there are some), and each step is.  `matches`: as the unsharded computation has it, finite or
 * not; `ok`: besides, finite where it has to be. */
uint64_t record_check_nonfinite(const struct record_check *check); /* elements of either kind */
bool record_check_matches(const struct record *record, const struct record_check *check);
bool record_check_ok(const struct record *record, const struct record_check *check);
bool record_matches(const struct record *record);
bool record_verified_ok(const struct record *record);

/* Load balance of a quantity over devices: mean / max, 1 where all are equal (or all are 0). */
struct record_balance {
    double mean;
    uint128 max;
    double ratio;
    int32_t slowest; /* the lowest device that has the maximum */
};
struct record_balance record_balance_of(const struct record *record, const uint128 *rows);

#endif /* PROGRAM_RECORD_H */
