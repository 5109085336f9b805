/* record.h - what happened, per device and op: bytes, flops, memory, times, and the results of
 * verification.
 *
 * `walk` and `cost` fill the same record from the same program, so that a report can tell which of
 * them made it only by its label.  Figures are kept in rows: one for each device of an executed
 * step, one for each class of devices that a planned program treats alike, so that a million
 * devices need only a few rows.  A reader asks for rows and the number of devices that each stands
 * for, and need not know whether the record was executed or planned.
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

/* One device's time in one op, nanoseconds; start and end are on one clock of the whole machine. */
struct record_time {
    int64_t start_ns, end_ns;
    int64_t
        cpu_ns; /* of the device's own thread; in a replayed record, of the same work */
};

/* A result compared with the unsharded computation in float64, over all devices.  Each element has
 * its own error bound (docs/verification.md). */
struct record_check {
    enum program_result_kind kind;
    const char *name;
    double error;   /* the largest |got - want| / bound; above 1 the result is wrong.  Infinity
                       where the bound is 0, or where one value is not finite and the other
                       differs */
    int32_t device; /* the lowest device with that error; this field and the next four are not
                       set when error is 0 */
    int64_t at;     /* index in the whole array, row-major */
    double got, want, allowed;
    double relative;  /* max |got - want| / max |want| of what is finite */
    double most, largest; /* these two maxima: max |got - want| and max |want| */
    double widest;    /* the largest finite bound of an element; for a `zero` result without a
                         bound, the limit derived from the unsharded run's error */
    bool zero;        /* the result is 0 in exact arithmetic, as far as its bounds tell: `want`
                         is rounding residue of float64, so that `relative` says nothing */
    double unsharded; /* `relative` of the unsharded computation in the program's own types; set
                         if the record is `beside_unsharded` */
    uint64_t nopen;   /* elements on all devices that cannot be judged: their bound is infinite */
    uint64_t infinite, nan; /* elements on all devices that are infinite or NaN, even if they are
                               in the unsharded run, too: training cannot continue from them.  Of
                               outputs only NaN is counted, and is right where the unsharded
                               run has it.  In a program with state only the loss and the
                               next state count: a loss scale skips steps whose gradients are not
                               finite */
    /* In a check over several steps with state, `error` is the larger of the errors after the first
     * and after the last step; `relative`, `unsharded` and `nopen` are of the last. */
    bool after_first;     /* `error` is of the first step */
    uint64_t nopen_first; /* `nopen` after the first step */
};

/* The time of a transfer in a replay: latency plus bytes / rate. */
struct record_transfers {
    uint64_t bytes_per_s; /* into one device; at least 1 */
    int64_t latency_ns;
};

/* One device in a replayed or modelled step.  busy + exposed + exposed to the host + waiting + idle
 * = the step. */
struct record_replayed {
    int64_t busy_ns;          /* computing */
    int64_t communication_ns; /* receiving bytes, with or without computation at the same time */
    int64_t exposed_ns;       /* receiving bytes while no computation can start before they
                                 arrive */
    int64_t waiting_ns;       /* waiting for other devices to enter a transfer, without computing */
    int64_t idle_ns;          /* finished, while other devices are not */
    int64_t exposed_host_ns;  /* the host copies or computes, while no computation of the device can
                                 start before it ends */
};

/* A stretch of the critical path. */
struct record_stretch {
    int32_t device;
    uint32_t op;
    int64_t start_ns, end_ns; /* from the start of the step; each stretch begins where the one
                                 before ended */
};

/* The step as if each device had its own core; see cost/replay.h. */
struct record_replay {
    struct record_transfers transfers;
    int64_t step_ns;
    uint32_t repeats; /* how many repeats of the step the times were taken in */
    double spread;    /* relative spread of the step's time; see cost/steady.h.  Negative:
                         unknown */
    int64_t noise_ns; /* steps that differ by no more are a tie; negative: unknown */
    struct record_replayed *devices;
    struct record_stretch *path; /* from the start of the step to its end */
    uint32_t npath;
};

/* Kinds of computation in a modelled step. */
enum record_work {
    RECORD_MATMUL,
    RECORD_ATTENTION,
    RECORD_ELEMENTWISE, /* and reductions, look-ups, copies */
    RECORD_UPDATE,      /* by the optimizer */
    RECORD_NWORKS
};

/* What limits a kernel: the rate of flops, the memory's bandwidth, the launch rate of kernels, or
 * tiles that leave units idle. */
enum record_bound {
    RECORD_BY_COMPUTE,
    RECORD_BY_MEMORY,
    RECORD_BY_LAUNCH,
    RECORD_BY_TILES,
    RECORD_NBOUNDS
};

struct hardware;

/* The straggler: a slow device. */
struct record_straggler {
    int32_t device;     /* its position; -1: none */
    double compute;     /* slowdown factor of the computations, and ... */
    double links;       /* ... of the transfers; 1: none */
    int64_t without_ns; /* the step's time without the slowdown */
};

/* A planned step on a given cluster; see cost/modelled.h.  Times of ops and works are those of the
 * busiest lane. */
struct record_modelled {
    const struct hardware *hardware; /* not owned */
    int64_t work_ns[RECORD_NWORKS];
    int64_t again_ns;               /* the part of work_ns in recomputation of the forward phase */
    double moved_bytes;             /* read and written by its kernels */
    struct record_straggler straggler;
    struct record_replay *timeline; /* its devices are lanes: classes of equal devices */
    uint32_t row;                   /* row of the busiest lane */
    int64_t *op_ns;      /* [op] total busy time; for a transfer, the time in which bytes arrive */
    int64_t *exposed_ns; /* [op] time in which the op kept computations from continuing */
    uint8_t *bound;      /* [op] enum record_bound: the limit on the kernel's time */
};

/* The origin of the devices' memory, and the reason for it (run/backend.h). */
struct record_memory {
    const char *kind; /* NULL: not executed */
    bool usual;
    char why[160];
};

/* Figures of each step of a training run. */
struct record_training {
    uint32_t nsteps; /* 0: no training */
    double *losses, *grad_norms;
};

/* What a decode takes over from the prefill before it (trial/handoff.h). */
struct record_handoff {
    bool used;
    bool apart;       /* the prefill has devices of its own ... */
    int32_t ndevices; /* ... of this number */
    uint128 bytes;    /* received by all devices of the decode */
    uint64_t most;    /* by the device that receives most */
    double seconds;   /* modelled; 0: without a cluster */
};

struct record {
    struct record_handoff handoff;
    enum record_mode mode;
    const struct program *program; /* not owned */
    int32_t ndevices;
    struct program_classes *classes; /* planned: one row for each class; NULL: one row for each
                                        device */
    uint32_t nrows;
    uint64_t *op_received;     /* [device][op] bytes from other devices; NULL when planned */
    uint64_t *op_flops;        /* [device][op] counted by the kernels; NULL when planned */
    struct record_time *times; /* [device][op]; NULL when not measured */
    /* Executed: rows that came to each expert of a device, from any device, in ops that dispatch
     * tokens forward; record_expert_rows().  NULL: no such op. */
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
        *uneven_flops[KERN_NUNEVENS]; /* the part in ops that skip work, by what determines the
                                         skipping */
    uint128 *peak_bytes;
    uint128 *to_host_bytes, *from_host_bytes; /* copied to and from the host's memory */
    uint128 *host_peak_bytes;                 /* of the host's memory, used for the device */
    uint128 worst_peak_bytes; /* of the fullest device, with room for all tokens at each expert;
                                 0: the plan assumes no routing, or ... */
    bool worst_unknown;       /* ... it assumes one, and this memory could not be found */
    uint128 *matrix; /* executed: [receiver][source]; NULL above RECORD_MATRIX_MAX devices */
    /* Executed: wall time from the first op to the last, with arguments filled before. */
    uint32_t repeats; /* how often the step ran */
    int64_t first_step_ns;
    int64_t step_ns;         /* the median of the later steps; the first step if it is alone */
    int64_t fastest_step_ns; /* of the later steps */
    int64_t cpu_ns;          /* CPU time of all threads in a step, a median over the same steps */
    struct record_memory memory;
    struct record_replay *replay;     /* NULL when not replayed */
    struct record_modelled *modelled; /* NULL without a given cluster */
    struct record_training training;  /* executed */
    bool verified;
    double tolerance; /* additional limit on `relative` of results that are not 0 in exact
                         arithmetic; 0: none */
    struct record_check *checks; /* one for each result of the program */
    uint32_t nchecks;
    bool beside_unsharded; /* the program has 16-bit arrays, which are inexact even unsharded */
    struct record_check step; /* the step check that counts: the first wrong op of the program,
                                 or if none is wrong, the op closest to its bound; `name` is that
                                 of its first result */
    uint32_t step_op;         /* op of `step` */
    uint32_t nsteps;          /* reshard steps and ops judged against their own inputs */
};

/* The rows of each expert that a device has, in the order of the experts, over all microbatches of
 * the last step; NULL for another kind of op, or if not executed. */
uint64_t *record_expert_rows(const struct record *record, uint32_t op, int32_t position);

/* The bytes that a device received from each position in such an op, over all microbatches of the
 * last step; NULL for another kind of op, for more than RECORD_LINKS_MAX devices, or if not
 * executed. */
uint64_t *record_expert_links(const struct record *record, uint32_t op, int32_t position);

/* Most devices with a matrix for each op that dispatches tokens: it takes 32 KiB. */
#define RECORD_LINKS_MAX 64

/* Most devices with a matrix for the step: it takes 64 MiB.  Above this only the sums are kept
 * (shd/run.h has the same limit). */
#define RECORD_MATRIX_MAX 2048

/* The worst check of column `i` of found[device][ncolumns]; the lowest device's in a tie. */
struct record_check record_check_of(const struct record *record,
                                    const struct kern_difference *found, uint32_t ncolumns,
                                    uint32_t i);

/* A zeroed record of a program.  SHD_ENOMEM. */
SHD_MUST_CHECK int record_create(struct record **out, const struct program *program,
                                 enum record_mode mode, bool times, struct shd_error *err);
void record_destroy(struct record *record); /* NULL is allowed */

/* A zeroed replay of `ndevices` with room for a path of `nactions`; NULL: no memory. */
struct record_replay *record_replay_create(int32_t ndevices, uint32_t nactions);
void record_replay_destroy(struct record_replay *replay); /* NULL is allowed */

/* A zeroed model of `nops` ops, without a timeline; NULL: no memory.  Destroying it destroys its
 * timeline. */
struct record_modelled *record_modelled_create(uint32_t nops);
void record_modelled_destroy(struct record_modelled *modelled); /* NULL is allowed */

/* Replace the record's training figures by zeros for `nsteps`.  SHD_ENOMEM. */
SHD_MUST_CHECK int record_train(struct record *record, uint32_t nsteps, struct shd_error *err);

/* The devices that a row stands for, and the row of a position. */
struct program_class record_row(const struct record *record, uint32_t row);
uint32_t record_row_of(const struct record *record, int32_t position);

/* Bytes received in one op: by the device at a position, and by all devices. */
uint128 record_received_in(const struct record *record, uint32_t op, int32_t position);
uint128 record_op_received(const struct record *record, uint32_t op);

/* Flops of a device of a row in one op, over all its runs in a step. */
uint128 record_flops_in(const struct record *record, uint32_t op, uint32_t row);

/* One of the record's row arrays, summed over all devices. */
uint128 record_sum(const struct record *record, const uint128 *rows);
uint128 record_received(const struct record *record); /* bytes, in the step */

/* Flops of all devices, and the unsharded step's flops divided by them: 1 where no work is
 * repeated. (A little more where smaller shards can skip more by a mask.) */
uint128 record_flops(const struct record *record);
double record_efficiency(const struct record *record, const struct program_work *work);

/* Whether a check is within its bounds and the tolerance, if any; and whether all checks (at least
 * one) and all judged ops are.  `matches`: as in the unsharded computation, finite or not; `ok`: in
 * addition, finite where required. */
uint64_t record_check_nonfinite(const struct record_check *check); /* infinite and NaN elements */
bool record_check_matches(const struct record *record, const struct record_check *check);
bool record_check_ok(const struct record *record, const struct record_check *check);
bool record_matches(const struct record *record);
bool record_verified_ok(const struct record *record);

/* Load balance of a quantity over devices: mean / max, 1 where all devices are equal (or 0). */
struct record_balance {
    double mean;
    uint128 max;
    double ratio;
    int32_t slowest; /* the lowest device with the maximum */
};
struct record_balance record_balance_of(const struct record *record, const uint128 *rows);

#endif /* PROGRAM_RECORD_H */
