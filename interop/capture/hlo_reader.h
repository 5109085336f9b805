/* hlo_reader.h - the reader of a compiled XLA module at work: computations, and who calls whom how
 * often.
 *
 * hlo.c reads the module; hlo_calls.c reads what calls other computations.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CAPTURE_HLO_READER_H
#define CAPTURE_HLO_READER_H

#include "capture/hlo.h"
#include "capture/hlo_groups.h"
#include "capture/hlo_loops.h"
#include "capture/hlo_slices.h"
#include "capture/hlo_statements.h"
#include "capture/hlo_text.h"

struct call {
    uint32_t callee;
    uint64_t times;
    uint32_t choice; /* calls of a conditional share a number, and only one of them counts; 0:
                        always counts */
};

struct computation {
    uint32_t first_call, end_call;
    uint32_t first_collective, end_collective;
    bool moves;      /* the computation or a callee has a collective */
    bool is_reached; /* through calls from the entry, also in branches that do not count */
    uint64_t slice_bytes, root_slice_bytes; /* of hlo_slices.h */
    uint128 bytes;                          /* received in one run, with callees */
    uint64_t times;
};

struct reader {
    struct capture *capture;
    const struct hlo_request *request;
    const char *file;
    struct diag *diag;
    int line;               /* where the current statement begins */
    const char *counted_to; /* `line` counts lines up to here */
    struct hlo_lists lists;
    bool is_scheduled;
    bool is_counted;        /* the module or the caller says the number of devices */
    int sharded_line;       /* line of a parameter or copy with a sharding; 0: none */
    int asks_line;          /* line of something that only unpartitioned modules have; 0: none */
    struct hlo_names names; /* of computations */
    struct hlo_loops loops;
    struct hlo_slices slices; /* of the current computation */
    struct computation *computations;
    uint32_t ncomputations;
    struct call *calls;
    uint32_t ncalls;
    uint32_t nchoices;
    uint32_t nloops, nbranched; /* noted so far */
    uint32_t entry;             /* number + 1; 0: none yet */
    bool inside;                /* inside a computation */
};

/* Report a fault at the current statement.  Returns `status`. */
int hlo_fault(struct reader *r, int status, const char *message);

/* Note an assumption (capture_note()).  SHD_ENOMEM, reported. */
int hlo_note(struct reader *r, const char *fmt, ...) SHD_PRINTF(2, 3);

/* Add calls to the computations that an attribute names: "%f", or "{%f, %g}". */
int hlo_add_calls(struct reader *r, struct hlo_piece attributes, const char *key, uint64_t times,
                  uint32_t choice);

/* Bytes of the slice that is the root of the computation which a fusion calls; 0: none. */
uint64_t hlo_callee_slice(const struct reader *r, struct hlo_piece attributes);

/* Add a call by a fusion or a reduce, if the callee communicates; other callees may be missing in
 * the text. */
int hlo_add_moving_call(struct reader *r, struct hlo_piece attributes, const char *key);

/* Add a loop's calls; the condition runs once more than the body. */
int hlo_read_while(struct reader *r, const struct hlo_statement *statement);

/* Add the calls of a conditional, one of which counts. */
int hlo_read_conditional(struct reader *r, const struct hlo_statement *statement);

/* Note how many loops and conditionals have no note of their own. */
int hlo_note_others(struct reader *r);

#endif /* CAPTURE_HLO_READER_H */
