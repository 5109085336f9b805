/* search/attempt.h - turns a layout into a scenario and builds its program.
 *
 * A layout is applied to the subject, the scenario that is searched, in the way of `--set`: it sets
 * the mesh, the rules of Megatron (arXiv 1909.08053, 2205.05198), the pipeline and so on.  Whatever
 * else the subject says holds, and a layout is priced as `shardsim plan` plans it.
 *
 * A piece is a layout with few layers.  With a pipeline it has five layers in four stages, all on
 * the same devices; the second stage has one layer and the third has two, so that their difference
 * is a layer.  Without a pipeline it has two or three layers.  The mesh is as large and in the same
 * order as the layout's, so that transfers run over the same links; but all ranks of the pipeline,
 * and all replicas unless the piece is about replicas, do the same work.
 *
 * Thread class: a subject is immutable; an attempt is owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_ATTEMPT_H
#define SEARCH_ATTEMPT_H

#include "hardware/hardware.h"
#include "search/space.h"
#include "trial/variant.h"

/* Whether the target system can express a layout; the trial has no program. */
typedef int subject_check_fn(const void *arg, const struct trial *trial, struct shd_error *err);

/* Whether the target system can express what a layout's scenario says of all but the sizes and the
 * order of the mesh's axes, and ZeRO. */
typedef int subject_read_fn(const void *arg, const struct scenario *scenario,
                            struct shd_error *err);

/* Excludes the layouts that `read` or `check` refuses. */
struct subject_filter {
    const char *system; /* NULL: no layout is excluded */
    subject_check_fn *check;
    subject_read_fn *read;
    const void *arg;
};

struct subject {
    struct text text; /* the canonical text of the scenario */
    const struct scenario_model *model;
    struct hardware cluster;         /* from the hardware file, laid out for the devices */
    const struct hardware *hardware; /* the assumed cluster: points to `supposed` */
    struct space space;
    /* Types of layers, of which some are the cheapest in each respect; 0: all layers are of one. */
    enum scenario_layer_type types[SCENARIO_NLAYER_TYPES];
    uint32_t ntypes;
    bool has_own;      /* the scenario itself gives ... */
    struct layout own; /* ... this layout, which the space need not list */
    struct subject_filter filter;
    /* Assumed fractions of the cluster's link bandwidth and device memory, at most 1; and the
     * fraction of memory kept free, which `memory` already excludes (hardware/margin.h). */
    double links, memory, margin;
    struct hardware supposed;
};

/* Prepare the search of a scenario on `devices` devices (0: as many as its mesh has), with the
 * margin of memory kept free.  The subject must not be moved afterwards, and the trial must outlive
 * the subject.  Free the subject with subject_fini(), also on failure.  `filter` may be NULL.
 * SHD_EINVAL: the scenario names no cluster; SHD_ERANGE: too many ranges; errors of
 * space_init(). */
SHD_MUST_CHECK int subject_init(struct subject *out, const struct trial *trial, int64_t devices,
                                const struct space_range *ranges, size_t nranges,
                                const struct subject_filter *filter, struct shd_error *err);
void subject_fini(struct subject *subject);

/* Assume a cluster with these fractions of its link bandwidth and device memory, without a margin.
 */
void subject_suppose(struct subject *subject, double links, double memory);

enum attempt_kind {
    ATTEMPT_WHOLE,
    ATTEMPT_LAYERS,  /* a piece to price a microbatch: all replicas do the same work */
    ATTEMPT_REPLICAS /* a piece to price replicas: one sequence at a time, no recomputation */
};

#define ATTEMPT_STAGES 4 /* stages of a piece with a pipeline */
#define ATTEMPT_LAYERS_STAGED 5

/* Whether the piece of a layout computes gradients of weights in a phase of their own. */
bool attempt_splits(const struct layout *layout, enum attempt_kind kind);

/* Microbatches of the program.  A piece has two if the layout has two or more, so that gradients
 * are accumulated as in the layout: gradients of a single microbatch are not accumulated and have
 * another type.  A scaled piece with more sequences than a replica has one microbatch. */
int64_t attempt_microbatches(const struct subject *subject, const struct layout *layout,
                             enum attempt_kind kind);

/* The mesh of a layout's program.  On success free it with shd_mesh_destroy(). */
SHD_MUST_CHECK int attempt_mesh(struct shd_mesh **out, const struct layout *layout,
                                enum attempt_kind kind, struct shd_error *err);

/* Build the program of a layout; a piece has `layers` layers, all of one type, or as the scenario has
 * them (SCENARIO_NLAYER_TYPES).  Errors as variant_need(); on success free the variant with
 * variant_fini(). */
SHD_MUST_CHECK int attempt_init(struct variant *out, const struct subject *subject,
                                const struct layout *layout, enum attempt_kind kind, int64_t layers,
                                enum scenario_layer_type type, struct shd_error *err);

/* Apply the subject's filter to a layout, built with the fewest layers that its stages allow.
 * SHD_OK: accepted.  Errors as attempt_init() and the filter's. */
SHD_MUST_CHECK int attempt_check(const struct subject *subject, const struct layout *layout,
                                 struct shd_error *err);

/* Apply the subject's filter to the scenario of a layout alone.  SHD_OK: accepted, or the scenario
 * cannot be read, which says nothing of the system.  SHD_ENOMEM; errors of the filter. */
SHD_MUST_CHECK int attempt_read(const struct subject *subject, const struct layout *layout,
                                struct shd_error *err);

#endif /* SEARCH_ATTEMPT_H */
