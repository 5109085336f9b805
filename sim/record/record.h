/* record.h - what happened, per device and op: bytes, flops, memory, times, and what was verified.
 *
 * `run` and `cost` fill the same record from the same program, so that a report cannot tell which of
 * them made it except by its label.
 *
 * Thread class: while devices run, row d of every per-device array is written by device d alone;
 * immutable afterwards.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RECORD_RECORD_H
#define RECORD_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include <shd/error.h>

#include "program/program.h"

enum record_mode { RECORD_EXECUTED, RECORD_PLANNED };

/* One device's time in one op, nanoseconds; start and end on one clock of the whole machine. */
struct record_time {
    int64_t start_ns, end_ns;
    int64_t cpu_ns; /* of the device's own thread */
};

/* A result compared with the unsharded computation in float64. */
struct record_check {
    enum program_result_kind kind;
    const char *name;
    double error; /* max |got - want| / max |want| over the whole array and all replicas */
};

struct record {
    enum record_mode mode;
    const struct program *program; /* not owned */
    int32_t ndevices;
    uint64_t *op_received;     /* [device][op] bytes from other devices */
    struct record_time *times; /* [device][op]; NULL when not measured */
    /* [device], whole step: */
    uint64_t *received_bytes;
    uint64_t *sent_bytes;
    uint64_t *flops;
    uint64_t *peak_bytes;
    uint64_t *matrix; /* [receiver][source]; NULL above RECORD_MATRIX_MAX devices */
    int64_t step_ns;  /* executed: wall time from the first op to the last, arguments filled before */
    bool verified;
    double tolerance;
    struct record_check *checks; /* one for each result of the program */
    uint32_t nchecks;
};

#define RECORD_MATRIX_MAX 2048

/* A record of zeros for a program.  SHD_ENOMEM. */
SHD_MUST_CHECK int record_create(struct record **out, const struct program *program,
                                 enum record_mode mode, bool times, struct shd_error *err);
void record_destroy(struct record *record); /* NULL is allowed */

/* Bytes received by all devices in one op, and in the step. */
uint64_t record_op_received(const struct record *record, uint32_t op);
uint64_t record_received(const struct record *record);

/* All checks within the tolerance (and there are some). */
bool record_verified_ok(const struct record *record);

/* Load balance of a quantity over devices: mean / max, 1 where all are equal (or all are 0). */
struct record_balance {
    double mean;
    uint64_t max;
    double ratio;
    int32_t slowest; /* the lowest device that has the maximum */
};
struct record_balance record_balance_of(const uint64_t *values, int32_t ndevices);

#endif /* RECORD_RECORD_H */
