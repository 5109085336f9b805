/* reference.h - the unsharded computation: a program of one device, computed by all ranks in
 * shares.
 *
 * Every rank has a piece of each array (run/ranks/pieces.h), and of each op it computes some rows of
 * the results (kern/cut.h) from the operand rows they need: its own, and others that ranks send.
 * Sums are never split, so each element has the same bits as in one process.  Every rank computes
 * small ops whole; one rank computes an op that cannot be cut.
 *
 * This code uses no shardings, no collectives of the partitioner and no device threads: it shares
 * only kernels and the order of a program with the run that it verifies.
 *
 * Thread class: called by one thread of each rank, all together in the same order.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRIAL_REFERENCE_H
#define TRIAL_REFERENCE_H

#include "program/program.h"
#include "run/ranks/pieces.h"
#include "trial/decisions.h"

/* This rank's piece of an array: elements of the program's type, and the allowed deviation of each
 * if precision is known to be lost. */
struct reference_array {
    struct pieces lies;
    void *values;
    double *allowed; /* NULL: exact */
};

/* All results of a program, in its order. */
struct reference_results {
    uint32_t n;
    struct reference_array *arrays; /* NULL: not asked for */
};
void reference_fini(struct reference_results *results);

struct reference_opts {
    uint32_t nsteps;  /* consecutive steps, at least 1 */
    bool bounds;      /* compute error bounds as well: the program is in float64 */
    int32_t ndevices; /* devices over which the verified computation is sharded */
    int nthreads;     /* threads in each kernel */
    bool shared;      /* all ranks compute together; false: this rank alone */
    uint64_t least;   /* smallest array, in elements, that ranks share; 0: a default of about a
                         thousand */
    const struct decisions *decisions; /* decisions to use; NULL: its own */
    const int *stop_request;           /* NULL: none */
};

/* Work of this rank, counted while computing. */
struct reference_work {
    uint64_t flops;      /* of kernels, without their error rules */
    uint64_t peak_bytes; /* of arrays, and of operands moved for an op */
};

/* Compute the results after the last step and, if `first` is not NULL and there are several steps,
 * after the first step.  SHD_ENOMEM, SHD_ESTOPPED. */
SHD_MUST_CHECK int reference_compute(struct reference_results *last,
                                     struct reference_results *first, struct reference_work *work,
                                     const struct program *program,
                                     const struct reference_opts *opts, struct shd_error *err);

/* A whole result, on every rank; `allowed` has an entry per element, or is NULL.  Free both with
 * reference_drop(). */
struct reference_whole {
    const void *values;
    const double *allowed;
    void *own[2]; /* memory of values and allowed, if they are not the piece itself */
};
SHD_MUST_CHECK int reference_gather(struct reference_whole *out,
                                    const struct reference_array *array, uint32_t size,
                                    struct shd_error *err);
void reference_drop(struct reference_whole *whole);

#endif /* TRIAL_REFERENCE_H */
