/* search/tensors.h - finds the best sharding of each tensor of a model: which axes shard which
 * dimension of each parameter, and of the batch.
 *
 * A kind is a parameter of every layer: `layers/0/mlp/up/kernel` and `layers/1/mlp/up/kernel` have
 * the same sharding.  A way assigns each kind a spec whose axes divide it, and the batch some axes;
 * tuples of axes are in the mesh's order.  Activations are placed by the scenario's `placement`,
 * without its constraints.  A way is priced as `shardsim plan` plans its scenario: the step on the
 * cluster, and the peak memory.
 *
 * Ways are enumerated kind by kind.  If the parameters assigned so far do not fit, even with all
 * others sharded as far as possible, every way with this beginning is skipped; all other ways are
 * planned.  So the result is the optimum, however the partitioner places a way.
 *
 * Thread class: owned by one thread; tensors_run() starts its own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_TENSORS_H
#define SEARCH_TENSORS_H

#include "search/refusals.h"
#include "trial/variant.h"

#define TENSORS_KINDS_MAX 64
#define TENSORS_AXES_MAX 4       /* axes with more than one device */
#define TENSORS_WAYS_MAX 1000000 /* most ways to enumerate */

/* For each axis the dimension that the axis shards, from 1 on; 0: none. */
struct tensors_spec {
    uint8_t dim[TENSORS_AXES_MAX];
};

struct tensors_kind {
    char *name;    /* of the parameter, `*` for the layer; owned */
    char *pattern; /* regular expression for the kind in `params`; owned */
    char *held;    /* the scenario's spec of a kind that is not searched, owned; else NULL */
    uint32_t rank;
    int64_t shape[GRAPH_RANK_MAX];
    uint32_t count;     /* tensors */
    double bytes;       /* of all its tensors, unsharded */
    double least_bytes; /* on a device, at the most sharding possible */
    size_t nspecs;
    struct tensors_spec *specs; /* owned */
};

struct tensors_way {
    uint32_t batch; /* bit a: axis a shards the batch */
    struct tensors_spec specs[TENSORS_KINDS_MAX];
};

struct tensors_plan {
    enum variant_outcome state; /* too big: over the limit, or for the cluster */
    double step_s;
    uint64_t peak_bytes;
    uint64_t number; /* of the way */
    struct tensors_way way;
    char why[160]; /* refused */
};

/* Textbook shardings of the searched tensors. */
enum tensors_textbook {
    TENSORS_DATA,   /* replicated; the batch is sharded over all axes */
    TENSORS_FSDP,   /* each tensor and the batch sharded over all axes */
    TENSORS_TENSOR, /* Megatron's columns and rows, over all axes */
    TENSORS_BOTH,   /* TENSORS_TENSOR over all axes but the first, which shards the batch */
    TENSORS_NTEXTBOOK
};

struct tensors_opts {
    const char *pattern;   /* regular expression (Python's re.search) of names to search; NULL:
                              all */
    uint64_t memory_bytes; /* limit of a device; 0: the scenario's */
    int nthreads;
    const int *stop; /* may be NULL: ended early when it is set */
};

struct tensors {
    const struct scenario *scenario; /* not owned */
    struct text base;                /* the scenario's text without the settings of a way */
    uint64_t memory_bytes;           /* 0: no limit */
    uint32_t naxes;
    const char *axes[TENSORS_AXES_MAX]; /* names, of the scenario's mesh */
    int32_t sizes[TENSORS_AXES_MAX];
    size_t nkinds;
    struct tensors_kind kinds[TENSORS_KINDS_MAX];
    uint64_t nways, nplanned; /* ways without a plan do not fit by their parameters alone */
    uint64_t nfit, ntoo_big;
    struct refusals refusals;
    bool found, stopped;
    struct tensors_plan best;
    uint32_t ntextbook; /* without TENSORS_BOTH on a mesh with one axis */
    struct tensors_plan textbook[TENSORS_NTEXTBOOK];
};

/* Search the tensors of a trial, which must outlive the result.  End it with tensors_fini() if it
 * succeeds.  SHD_EINVAL: the scenario names no cluster, has a pipeline or context parallelism, or
 * there are too many ways; the errors of shd_regex_compile(); SHD_ENOMEM. */
SHD_MUST_CHECK int tensors_run(struct tensors *out, const struct trial *trial,
                               const struct tensors_opts *opts, struct shd_error *err);
void tensors_fini(struct tensors *tensors);

const char *tensors_textbook_name(enum tensors_textbook which);

/* Print the spec of a kind, and the batch's axes, as in a scenario. */
void tensors_print_spec(struct text *out, const struct tensors *t, const struct tensors_way *way,
                        size_t kind);
void tensors_print_batch(struct text *out, const struct tensors *t, const struct tensors_way *way);

/* Print the scenario of a way.  SHD_ENOMEM, or the error that refuses the scenario. */
SHD_MUST_CHECK int tensors_scenario(struct text *out, const struct tensors *t,
                                    const struct tensors_way *way, struct shd_error *err);

#endif /* SEARCH_TENSORS_H */
