/* traces.h - collect the calls of a job's ranks, each from its own trace, and join them to a
 * capture.
 *
 * A format's reader adds one rank after another, and a rank's calls in order.  Members of a group
 * make the same calls in the same order, so the n-th calls of all members on a group are one
 * collective.  A message counts at its sender.
 *
 * Of several steps the most common one counts. spread.h covers ranks without a trace.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CAPTURE_TRACES_H
#define CAPTURE_TRACES_H

#include <shd/mesh.h>

#include "base/diag.h"
#include "base/json_text.h"
#include "base/map.h"
#include "capture/capture.h"
#include "capture/torch_ops.h"

#define TRACES_NO_STEP INT64_MIN

struct traces_call {
    const struct torch_op *op; /* a collective or message: op->op is not NULL */
    uint32_t group;            /* traces_add_group() */
    uint32_t where;            /* traces_add_word(); 0: unknown */
    uint64_t bytes;            /* IN of this member (coll.h) */
    uint64_t npieces;
    int64_t step;  /* step number, or TRACES_NO_STEP */
    int32_t other; /* the other rank of a message */
    enum capture_phase phase;
    bool async;
    int line;
    uint32_t rank; /* number of the trace; set by traces_add_call() */
};

struct traces_rank {
    char *file; /* owned */
    int32_t rank;
};

struct traces_group {
    int32_t *ids; /* ascending */
    uint32_t n;
    uint32_t name; /* a word: "mesh_tp"; 0: none */
};

struct traces {
    int32_t world;               /* ranks of the job; 0: no trace says */
    int32_t given_world;         /* ranks by the caller, for traces that do not say; 0: unknown */
    const struct shd_mesh *mesh; /* the job's mesh by the caller; NULL: unknown */
    struct traces_rank *ranks;
    struct traces_group *groups;
    char **words; /* the first is "" */
    struct traces_call *calls;
    uint32_t nranks, ngroups, nwords, ncalls;
    struct map group_index, word_index;
    /* Numbers of calls: with a group guessed by its size, or as all ranks; with a guessed type; not
     * counted for an unknown name, or for an unknown other rank of a message. */
    uint64_t nguessed, nsized, nall, nuntyped, nunknown, npeerless;
    uint64_t nnameless; /* kernels without the name of their collective, of ranks without calls */
    uint64_t ntensor;   /* calls whose group is guessed to be that of tensor parallelism */
    uint64_t nlone;     /* kernels of collectives that belong to no call */
    uint32_t lone;      /* a word: the name of such a kernel, as an example */
    bool is_reached;    /* the world's size is inferred from groups, and may be larger */
    uint32_t unknown;   /* a word: one of the unknown names */
};

void traces_init(struct traces *traces);
void traces_fini(struct traces *traces);

/* Add the trace of a rank, to which later calls belong; a word; a group (its ids, ascending, are
 * copied); a call.  All return SHD_ENOMEM. */
SHD_MUST_CHECK int traces_add_rank(struct traces *traces, const char *file, int32_t rank,
                                   struct shd_error *err);
SHD_MUST_CHECK int traces_add_word(uint32_t *out, struct traces *traces, struct json_piece word,
                                   struct shd_error *err);
SHD_MUST_CHECK int traces_add_group(uint32_t *out, struct traces *traces, const int32_t *ids,
                                    uint32_t n, uint32_t name, struct shd_error *err);
SHD_MUST_CHECK int traces_add_call(struct traces *traces, const struct traces_call *call,
                                   struct shd_error *err);

struct traces_request {
    int32_t devices; /* number of ranks; 0: take the traces' */
    int64_t step;    /* the step to count; TRACES_NO_STEP: the most common */
};

/* In traces_steps.c: choose the step to count, with a note; TRACES_NO_STEP: count everything as one
 * step.  SHD_EINVAL (the wanted step does not exist), SHD_ENOMEM. */
SHD_MUST_CHECK int traces_choose_step(int64_t *out, struct capture *capture,
                                      const struct traces *traces, int64_t wanted,
                                      struct shd_error *err);

/* Join the calls into a capture.  Faults go to `diag`; SHD_EINVAL, SHD_ENOMEM. */
SHD_MUST_CHECK int traces_join(struct capture *out, const struct traces *traces,
                               const struct traces_request *request, struct diag *diag);

#endif /* CAPTURE_TRACES_H */
