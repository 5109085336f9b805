/* verify.h - execute a program and compare every result with the unsharded computation.
 *
 * The reference is the same graph on a mesh of one device, in float64, with the same data.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRIAL_VERIFY_H
#define TRIAL_VERIFY_H

#include "graph/graph.h"
#include "program/record.h"
#include "trial/decisions.h"
#include "trial/reference.h"
#include "run/walk/walk.h"

struct verify_reference {
    uint32_t nresults;
    struct reference_results last;  /* after all steps */
    struct reference_results first; /* after the first of several steps; else empty */
    double *unsharded; /* by result: max |a-b| / max |b| of the unsharded computation in the
                          graph's own types, if some have 16 bits; else NULL */
    bool shared;       /* each rank has pieces of the results */
    struct reference_work work; /* work of the float64 computation */
};

struct verify_opts {
    int32_t ndevices;                  /* devices over which the verified computation is sharded */
    uint32_t nsteps;                   /* consecutive steps; 0: one */
    int nthreads;                      /* threads in each kernel of the reference */
    const struct decisions *decisions; /* decisions to use; NULL: its own */
    const int *stop_request;
    bool shared;    /* all ranks verify together: each computes a share of the reference */
    bool tolerance; /* results are also checked against a tolerance, except results that are 0
                       but for rounding */
    uint64_t least; /* as in struct reference_opts */
};

/* Compute a graph's results without sharding, with error bounds for a computation in the graph's
 * own types.  Takes about three times as long as without bounds, and twice the memory. */
SHD_MUST_CHECK int verify_reference(struct verify_reference *out, const struct graph *graph,
                                    const struct verify_opts *opts, struct shd_error *err);
void verify_reference_fini(struct verify_reference *reference);

/* Execute the record's program as often as the options say (for steps with state, as many steps as
 * the reference took), and fill the record's checks; then execute it again, unmeasured, and judge
 * every op by what it read (op_verdicts.h).  Of a shared reference, one whole result at a time is
 * in memory, and `together` of the options is not called. */
SHD_MUST_CHECK int verify_run(struct record *record, const struct verify_reference *reference,
                              const struct walk_opts *opts, struct shd_error *err);

#endif /* TRIAL_VERIFY_H */
