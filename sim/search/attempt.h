/* search/attempt.h - a layout as a scenario, and its program.
 *
 * A layout of a subject, the scenario that is searched, is what `--set` makes of the subject: the
 * mesh, the rules of Megatron (arXiv 1909.08053, 2205.05198), the pipeline and so on.  So whatever
 * else the subject says holds, and what is priced is what `shardsim plan` plans.
 *
 * A piece is the same with few layers: where the layout has a pipeline five of them in four stages,
 * all on the same devices, of which the second has one layer and the third has two, so that what
 * they differ by is a layer; else two or three.  Its mesh is as large and in the same order, so
 * that transfers run over the same links, but ranks of the pipeline, and replicas where it is not
 * about them, do all the same.
 *
 * Thread class: a subject is immutable; an attempt is owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_ATTEMPT_H
#define SEARCH_ATTEMPT_H

#include "hardware/hardware.h"
#include "search/space.h"
#include "trial/trial.h"

struct subject {
    struct text text; /* the canonical text of the scenario */
    const struct hardware *hardware;
    struct space space;
    /* What the cluster is supposed to have of its links' bandwidth and of its devices' memory: 1,
     * or less; then `hardware` is this one. */
    double links, memory;
    struct hardware supposed;
};

/* What is searched of a scenario, on so many devices (0: as many as its mesh has).  The trial is to
 * outlive it; free it with subject_fini(), whatever it returns.  SHD_EINVAL: the scenario names no
 * cluster; errors as space_init(). */
SHD_MUST_CHECK int subject_init(struct subject *out, const struct trial *trial, int64_t devices,
                                const struct space_range *ranges, size_t nranges,
                                struct shd_error *err);
void subject_fini(struct subject *subject);

/* Suppose a cluster with parts of its links' bandwidth and of its devices' memory.  The subject
 * stays where it is from then on. */
void subject_suppose(struct subject *subject, double links, double memory);

enum attempt_kind {
    ATTEMPT_WHOLE,
    ATTEMPT_LAYERS,  /* a piece, for what a microbatch costs: replicas do the same */
    ATTEMPT_REPLICAS /* a piece, for what replicas cost: sequences one at a time, none done again */
};

#define ATTEMPT_STAGES 4 /* of a piece of a pipeline */
#define ATTEMPT_LAYERS_STAGED 5

struct attempt {
    struct scenario_file *file;
    struct trial trial;
};

/* Whether the piece of a layout has gradients of weights in a phase of their own. */
bool attempt_splits(const struct layout *layout, enum attempt_kind kind);

/* Microbatches of its program: a piece has two where the layout has more, so that its gradients are
 * summed as those of many are.  Those of one are not summed, and are of another type; so has a
 * piece that is scaled, of more sequences than there are. */
int64_t attempt_microbatches(const struct subject *subject, const struct layout *layout,
                             enum attempt_kind kind);

/* The mesh of a layout's program.  On success free it with shd_mesh_destroy(). */
SHD_MUST_CHECK int attempt_mesh(struct shd_mesh **out, const struct layout *layout,
                                enum attempt_kind kind, struct shd_error *err);

/* Build the program of a layout; a piece has so many layers.  Errors as trial_init(), the first of
 * them in `err`; on success free it with attempt_fini(). */
SHD_MUST_CHECK int attempt_init(struct attempt *out, const struct subject *subject,
                                const struct layout *layout, enum attempt_kind kind, int64_t layers,
                                struct shd_error *err);
void attempt_fini(struct attempt *attempt);

#endif /* SEARCH_ATTEMPT_H */
