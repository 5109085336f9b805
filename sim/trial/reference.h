/* reference.h - the unsharded computation: a program of one device, computed by all ranks in
 * shares.
 *
 * Of each array every rank has a piece (ranks/pieces.h), and of each op it computes some rows of
 * the results (kern/cut.h), from the rows of operands that these need: what it has, and what others
 * send it.  Nothing that is summed is cut, so that each element has the bits that one process gives
 * it. What is small, every rank computes whole; what cannot be cut, one of them.
 *
 * Nothing here knows of shardings, of the partitioner's collectives or of how devices run: what
 * judges them shares no more with them than kernels and the order of a program.
 *
 * Thread class: called by one thread of each rank, all together in the same order.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRIAL_REFERENCE_H
#define TRIAL_REFERENCE_H

#include "program/program.h"
#include "ranks/pieces.h"
#include "trial/decisions.h"

/* This rank's piece of an array: elements of the program's type, and what each may be off where
 * something is known to be lost. */
struct reference_array {
    struct pieces lies;
    void *values;
    double *allowed; /* NULL: nothing */
};

/* Of all results of a program, in its order. */
struct reference_results {
    uint32_t n;
    struct reference_array *arrays; /* NULL: they were not asked for */
};
void reference_fini(struct reference_results *results);

struct reference_opts {
    uint32_t nsteps;  /* that follow each other, at least 1 */
    bool bounds;      /* what elements may be off is to be found, too: the program is in float64 */
    int32_t ndevices; /* that the computation in question is sharded over */
    int nthreads;     /* in each kernel */
    bool shared;      /* all ranks compute it together; else this one does alone */
    uint64_t least;   /* elements of an array that is worth sharing; 0: some thousand */
    const struct decisions *decisions; /* that it is to make; NULL: its own */
    const int *stop_request;           /* NULL: none */
};

/* What it took this rank, counted as it went. */
struct reference_work {
    uint64_t flops;      /* of kernels, without the rules of errors */
    uint64_t peak_bytes; /* of arrays, and what was sent for an op */
};

/* Compute the results after the last step and, where `first` is not NULL and there are several
 * steps, after the first.  SHD_ENOMEM, SHD_ESTOPPED. */
SHD_MUST_CHECK int reference_compute(struct reference_results *last,
                                     struct reference_results *first, struct reference_work *work,
                                     const struct program *program,
                                     const struct reference_opts *opts, struct shd_error *err);

/* One result with every rank: what elements may be off is as large as values, or NULL.  Free both
 * with reference_drop(). */
struct reference_whole {
    const void *values;
    const double *allowed;
    void *own[2]; /* memory of the two, where it is not the piece itself */
};
SHD_MUST_CHECK int reference_gather(struct reference_whole *out,
                                    const struct reference_array *array, uint32_t size,
                                    struct shd_error *err);
void reference_drop(struct reference_whole *whole);

#endif /* TRIAL_REFERENCE_H */
