/* search/tensors.h - the best place for each tensor of a model: which axes cut which dimension of
 * each parameter, and of the batch.
 *
 * A kind is a parameter of every layer: `layers/0/mlp/up/kernel` and that of layer 1 are cut alike.
 * A way gives each kind a spec, any that divides, and the batch some axes; tuples of axes are in
 * the mesh's order.  What nobody says of activations is placed as the scenario's `placement` has
 * it, without its constraints.  A way is what `shardsim plan` plans of that scenario: its step on
 * the cluster, and its peak memory.
 *
 * Ways are gone through kind by kind.  Where the parameters that are placed, with the others cut
 * as far as they divide, do not fit, no way that begins so does; all other ways are planned.  So
 * the best is the best of all, whatever the partitioner makes of a way.
 *
 * Thread class: owned by one thread; tensors_run() starts its own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_TENSORS_H
#define SEARCH_TENSORS_H

#include "trial/trial.h"

#define TENSORS_KINDS_MAX 64
#define TENSORS_AXES_MAX 4       /* of more than one device */
#define TENSORS_WAYS_MAX 1000000 /* that are gone through */

/* By axis: the dimension that it cuts, from 1 on; 0: none. */
struct tensors_spec {
    uint8_t dim[TENSORS_AXES_MAX];
};

struct tensors_kind {
    char *name;    /* of the parameter, `*` for the layer; owned */
    char *pattern; /* that matches it in `params`; owned */
    char *held;    /* its spec as the scenario has it, owned; NULL: it is searched */
    uint32_t rank;
    int64_t shape[GRAPH_RANK_MAX];
    uint32_t count;     /* tensors */
    double bytes;       /* of all of them, not cut */
    double least_bytes; /* of a device's part, cut as far as it may be */
    size_t nspecs;
    struct tensors_spec *specs; /* owned */
};

struct tensors_way {
    uint32_t batch; /* bit a: axis a shards the batch */
    struct tensors_spec specs[TENSORS_KINDS_MAX];
};

enum tensors_state {
    TENSORS_FITS,
    TENSORS_TOO_BIG, /* its peak is over the limit */
    TENSORS_REFUSED  /* the scenario cannot be so: something does not divide */
};

struct tensors_plan {
    enum tensors_state state;
    double step_s;
    uint64_t peak_bytes;
    uint64_t number; /* of the way */
    struct tensors_way way;
};

/* The textbook's ways, of the tensors that are searched. */
enum tensors_textbook {
    TENSORS_DATA,   /* replicated; the batch is sharded over all axes */
    TENSORS_FSDP,   /* each sharded over all axes, and the batch, too */
    TENSORS_TENSOR, /* Megatron's columns and rows, over all axes */
    TENSORS_BOTH,   /* the same over all axes but the first, which shards the batch */
    TENSORS_NTEXTBOOK
};

struct tensors_opts {
    const char *pattern;   /* of names to search, as Python's re.search; NULL: all */
    uint64_t memory_bytes; /* a device may have; 0: as the scenario says */
    int nthreads;
    const int *stop; /* may be NULL: ended early when it is set */
};

struct tensors {
    const struct scenario *scenario; /* not owned */
    struct text base;                /* its text, without what ways say */
    uint64_t memory_bytes;           /* 0: no limit */
    uint32_t naxes;
    const char *axes[TENSORS_AXES_MAX]; /* names, of the scenario's mesh */
    int32_t sizes[TENSORS_AXES_MAX];
    size_t nkinds;
    struct tensors_kind kinds[TENSORS_KINDS_MAX];
    uint64_t nways, nplanned; /* the others do not fit, without a look at their plans */
    uint64_t nfit, ntoo_big, nrefused;
    bool found, stopped;
    struct tensors_plan best;
    uint32_t ntextbook; /* on a mesh of one axis the last is the first */
    struct tensors_plan textbook[TENSORS_NTEXTBOOK];
};

/* Search the tensors of a trial, which must outlive the result.  End it with tensors_fini() if it
 * succeeds.  SHD_EINVAL: the scenario names no cluster, has a pipeline or context parallelism, or
 * there are too many ways; the errors of shd_regex_compile(); SHD_ENOMEM. */
SHD_MUST_CHECK int tensors_run(struct tensors *out, const struct trial *trial,
                               const struct tensors_opts *opts, struct shd_error *err);
void tensors_fini(struct tensors *tensors);

const char *tensors_textbook_name(enum tensors_textbook which);

/* The spec of a kind, and the batch's axes, as in a scenario. */
void tensors_print_spec(struct text *out, const struct tensors *t, const struct tensors_way *way,
                        size_t kind);
void tensors_print_batch(struct text *out, const struct tensors *t, const struct tensors_way *way);

/* The scenario of a way.  SHD_ENOMEM, and what it is refused for. */
SHD_MUST_CHECK int tensors_scenario(struct text *out, const struct tensors *t,
                                    const struct tensors_way *way, struct shd_error *err);

#endif /* SEARCH_TENSORS_H */
