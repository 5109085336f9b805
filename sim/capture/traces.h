/* traces.h - what ranks of one job called, each by its own trace; and the capture that comes of it.
 *
 * A reader of a format adds one rank after another, and a rank's calls in their order.  Members of
 * a group make the same calls in the same order, so that the first call that a trace has on a group
 * is the first of every member, and counts once.  A message counts where it is sent.
 *
 * Of several steps the commonest is counted.  Ranks without a trace are spread.h's matter.
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
#include "capture/capture.h"
#include "capture/torch_ops.h"

#define TRACES_NO_STEP INT64_MIN

struct traces_call {
    const struct torch_op *op; /* one that moves or waits: op->op is not NULL */
    uint32_t group;            /* traces_add_group() */
    uint32_t where;            /* traces_add_word(); 0: not known */
    uint64_t bytes;            /* IN of this member (coll.h) */
    uint64_t npieces;
    int64_t step;  /* its number; TRACES_NO_STEP */
    int32_t other; /* rank that a message goes to or comes from */
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

/* Things by number, each once, found by hash. */
struct traces_index {
    uint32_t *slots; /* number + 1; 0: free */
    uint32_t nslots; /* a power of two */
};

struct traces {
    int32_t world;               /* ranks of the job; 0: no trace has told */
    int32_t given_world;         /* as the caller says, for traces that do not; 0: not told */
    const struct shd_mesh *mesh; /* of the job, as the caller says; NULL: not told */
    struct traces_rank *ranks;
    struct traces_group *groups;
    char **words; /* the first is "" */
    struct traces_call *calls;
    uint32_t nranks, ngroups, nwords, ncalls;
    struct traces_index group_index, word_index;
    /* Calls whose group was guessed, of which the size alone is told, or nothing; whose type was
     * guessed; that are not counted, as their name is not known, or whom a message goes to. */
    uint64_t nguessed, nsized, nall, nuntyped, nunknown, npeerless;
    uint64_t nnameless; /* kernels that do not say their collective, of ranks without calls */
    bool is_reached;    /* the world is as large as groups tell, and may be larger */
    uint32_t unknown;   /* a word: one of the names that are not known */
};

void traces_init(struct traces *traces);
void traces_fini(struct traces *traces);

/* All return SHD_ENOMEM, and add: the trace of a rank, to which later calls belong; a word; a group
 * (its ids are copied, ascending); a call. */
SHD_MUST_CHECK int traces_add_rank(struct traces *traces, const char *file, int32_t rank,
                                   struct shd_error *err);
SHD_MUST_CHECK int traces_add_word(uint32_t *out, struct traces *traces, struct json_piece word,
                                   struct shd_error *err);
SHD_MUST_CHECK int traces_add_group(uint32_t *out, struct traces *traces, const int32_t *ids,
                                    uint32_t n, uint32_t name, struct shd_error *err);
SHD_MUST_CHECK int traces_add_call(struct traces *traces, const struct traces_call *call,
                                   struct shd_error *err);

struct traces_request {
    int32_t devices; /* of the job; 0: as the traces say */
    int64_t step;    /* the one to count; TRACES_NO_STEP: the commonest */
};

/* traces_steps.c: the step that is counted, and a note on it; TRACES_NO_STEP: all that was traced,
 * as one.  SHD_EINVAL (there is no such step as is wanted), SHD_ENOMEM. */
SHD_MUST_CHECK int traces_choose_step(int64_t *out, struct capture *capture,
                                      const struct traces *traces, int64_t wanted,
                                      struct shd_error *err);

/* Fill a capture.  Faults go to `diag`; SHD_EINVAL, SHD_ENOMEM. */
SHD_MUST_CHECK int traces_join(struct capture *out, const struct traces *traces,
                               const struct traces_request *request, struct diag *diag);

#endif /* CAPTURE_TRACES_H */
