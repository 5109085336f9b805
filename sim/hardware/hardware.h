/* hardware.h - a cluster as plain data: what its devices compute and its links carry in a second.
 *
 * A cluster is written in a file (docs/hardware.md): the hardware, as its makers state it, and the
 * software that was measured on it, in constants with a physical meaning each.  Those shipped are
 * in the library as text, under scenarios/hardware/ in the sources.  The seconds that follow from
 * them are pure functions: of a kernel (kernel.c), of a collective (collective.c, torus.c) of a
 * group that lies on the tiers so or so (tiers.c).
 *
 * Tiers are the links between devices from the innermost on.  Devices with consecutive ids share a
 * domain of a tier: ids 0 to 7 the first node of eight.
 *
 * All times are seconds, all rates bytes or floating-point operations a second (a multiplication
 * with its addition counts two).
 *
 * Thread class: immutable once read and laid out, any number of threads may use it; pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef HARDWARE_HARDWARE_H
#define HARDWARE_HARDWARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shd/dtype.h>
#include <shd/error.h>
#include <shd/mesh.h>

#include "base/diag.h"
#include "coll/coll.h"

#define HARDWARE_TIERS_MAX 4
#define HARDWARE_TORUS_MAX 3 /* axes of a torus */
#define HARDWARE_VALIDATIONS_MAX 16

struct hardware_kernels {
    double launch_s;             /* from the start of one small kernel to that of the next */
    double matmul_efficiency;    /* of the peak, for a large product that fills all units */
    int64_t units;               /* that work on a tile at a time each (SMs); 0: no quantisation */
    int64_t tile_m, tile_n;      /* of a product's result */
    double half_k;               /* the inner dimension k reaches k/(k+half_k) of that */
    double memory_efficiency;    /* of the bandwidth, for elementwise kernels and reductions */
    double attention_efficiency; /* of the peak: fused attention, forward */
    double attention_backward_efficiency;
    double attention_half_head; /* attention reaches head_dim / (head_dim + half_head) of it, for */
    double attention_half_keys; /* each score costs its exponential, too; and of that keys / (keys +
                                   half_keys), for each query costs something once; 0: nothing */
    int64_t alignment; /* elements: products of rows that are no multiple of it get the ... */
    double
        vector_flops_per_s; /* ... rate of the vector units instead; 0: all get the matrix units */
    double spread; /* of nodes' speed, a standard deviation: many wait for the slowest of them */
};

struct hardware_tier {
    char *name;
    int64_t devices;         /* in one domain; 0: all there are */
    double bytes_per_s;      /* into a device, and out of it at once; torus: of one link, one way */
    double efficiency;       /* of that rate, for large messages */
    double oversubscription; /* 1: none; what devices can send over what the tier carries */
    double latency_s;        /* of a message, and of a collective before its first step */
    double step_s;           /* of each step of a collective; torus: of a hop */
    double small_latency_s,
        small_step_s;        /* the same by the library's protocol for small messages, */
    double small_efficiency; /* which reaches this of the rate; 0: there is none */
    double copy_bytes_per_s; /* a collective passes its array through each device so; 0: for free */
    double host_latency_s;   /* the host takes so long to start a collective, at least, */
    double host_step_s;      /* and so long for each member after the first */
    int64_t wrap_multiple;   /* a slice's axis of a multiple of this length is a ring; 0: none is */
    bool torus;
    int ndims;                        /* torus: its axes, the last one varies fastest */
    int64_t dims[HARDWARE_TORUS_MAX]; /* of a full pod; once laid out, of the slice in use */
    bool wrap[HARDWARE_TORUS_MAX];
};

/* What the measured software does; false and 0 are what the program does by itself. */
struct hardware_software {
    bool overlaps_gradients; /* reduces gradients while the backward phase goes on */
    bool overlaps_weights;   /* gathers weights beside computation */
    bool recomputes_layers;  /* recomputation redoes whole layers, with what nobody reads after */
    bool waits_for_collectives; /* computations of forward and backward wait for each, needed or
                                   not */
    bool overlaps_regathers;    /* but not for what the backward phase gathers again */
    bool
        half_gradients; /* gradients of bfloat16 models are kept and summed in it, not in float32 */
    bool scatters_sends; /* what several devices of a node would send alike, each sends a part of,
                            to be gathered where it arrives */
    double bucket_bytes; /* arrays of parameters and their gradients travel together, so many bytes
                            at a time; 0: each by itself */
    bool fuses_elementwise; /* a chain of elementwise ops is one kernel */
    bool fsdp; /* parameters are cut as PyTorch's FSDP does: ZeRO's stage 2 gathers them once a
                  microbatch, and keeps them for its backward phase */
    bool sequence_parallel; /* tensor parallelism always cuts what lies between layers along the
                               sequence */
};

/* How far the modelled times were from published ones. */
struct hardware_validation {
    char *set; /* of published rows */
    int64_t rows;
    double mape, cross_validated_mape;        /* fractions, of step times */
    double parameters_least, parameters_most; /* of the models in the set */
    int64_t devices_least, devices_most;
    bool pipelines, experts; /* whether rows had stages of a pipeline, and experts */
};

struct hardware {
    char *name;
    char *source;
    char *place;                           /* of the file, as a message names it */
    uint64_t text_hash;                    /* of what the file says */
    double flops_per_s[SHD_NDTYPES];       /* dense matrix units, datasheet peak; 0: not told */
    double elementwise_per_s[SHD_NDTYPES]; /* operations of elementwise kernels, reductions and the
                                              like; 0: not told, only their bytes count */
    double memory_bytes, memory_bytes_per_s;
    double cache_bytes, cache_bytes_per_s; /* kernels that touch no more than so many bytes move
                                              them so fast; 0: all use the memory */
    double reserved_bytes; /* of a device's memory, that the runtime keeps for itself */
    double fragmentation;  /* what the allocator holds over what is in use, as a fraction of that */
    struct hardware_kernels kernels;
    struct hardware_tier tiers[HARDWARE_TIERS_MAX];
    int ntiers;
    struct hardware_software software;
    struct hardware_validation validations[HARDWARE_VALIDATIONS_MAX];
    int nvalidations;
    char **fitted; /* paths of the constants that were fitted: "kernels.launch"; ended by NULL */
};

/* ---- files ---- */

/* The cluster of a shipped name, or of a file, with what the name supposes of it
 * (base/supposed.h): what has a '/' or ends in ".yaml" is a path, from
 * the folder of the file `relative_to` (NULL: from the working folder).
 *
 * On success stores it in *out; free it with hardware_destroy().  On failure reports all faults to
 * `diag`, an unknown name at `named_at`, leaves *out alone and returns SHD_EINVAL or SHD_ENOMEM. */
SHD_MUST_CHECK int hardware_find(struct hardware **out, const char *name_or_path,
                                 const char *relative_to, struct place named_at, struct diag *diag);

/* Append a cluster's file to `out`, and its path, as messages name it, to `place`.  Errors as
 * hardware_find(). */
SHD_MUST_CHECK int hardware_text(struct text *out, struct text *place, const char *name_or_path,
                                 const char *relative_to, struct place named_at, struct diag *diag);

/* The same from text; `file` is the name in messages. */
SHD_MUST_CHECK int hardware_parse(struct hardware **out, const char *file, const char *text,
                                  size_t length, struct diag *diag);

/* Change numbers of a cluster, "tiers.1.rate=100GB/s, infiniband.latency=5us": by their paths in
 * its file, where a tier may go by its name.  The cluster's name says so then, and no measurement
 * is of it.  What is wrong is told at `named_at`. */
void hardware_set(struct hardware *hardware, const char *suppositions, struct place named_at,
                  struct diag *diag);

/* The name of the shipped cluster that has such devices, by rate and memory, and of which most
 * steps were measured; NULL: there is none. */
const char *hardware_measured_like(const struct hardware *hardware);

/* How far modelled times of a cluster that nobody measured may be off, at least: the largest
 * cross-validated error of a shipped cluster that was measured, as a fraction of the step. */
double hardware_error_elsewhere(void);

/* Leave a cluster parts of its links' bandwidth and of its devices' memory. */
void hardware_suppose(struct hardware *hardware, double links, double memory);

/* Free a cluster.  NULL is allowed. */
void hardware_destroy(struct hardware *hardware);

/* The peak rate of a type: its own, else of the nearest that the units have (wider first); 0 if
 * none is told. */
double hardware_flops_per_s(const struct hardware *hardware, enum shd_dtype dtype);

/* Whether the constant of a path ("kernels.half_k") was fitted rather than stated. */
bool hardware_is_fitted(const struct hardware *hardware, const char *path);

/* ---- time of a kernel ---- */

enum hardware_work_kind {
    HARDWARE_MATMUL,
    HARDWARE_ATTENTION,
    HARDWARE_ATTENTION_BACKWARD,
    HARDWARE_MEMORY /* elementwise, reductions, copies */
};

struct hardware_work {
    enum hardware_work_kind kind;
    enum shd_dtype dtype;
    int64_t batch, m, n, k; /* of a product; [batch][m][k] by [batch][k][n] */
    double flops, bytes;    /* bytes read and written */
};

double hardware_kernel_seconds(const struct hardware *hardware, const struct hardware_work *work);

/* What that time comes from: the rate of flops, the memory's bandwidth, or neither, for the kernel
 * is over before the next can start. */
enum hardware_bound {
    HARDWARE_BY_COMPUTE,
    HARDWARE_BY_MEMORY,
    HARDWARE_BY_LAUNCH,
    HARDWARE_NBOUNDS
};

enum hardware_bound hardware_kernel_bound(const struct hardware *hardware,
                                          const struct hardware_work *work);

/* "compute", "memory" or "launch" */
const char *hardware_bound_name(enum hardware_bound bound);

/* The rate at which its bytes are moved: the memory's, or where they fit it a cache's. */
double hardware_kernel_bytes_per_s(const struct hardware *hardware,
                                   const struct hardware_work *work);

/* How much longer computations take where so many nodes wait for each other: as the slowest of them
 * does, whose speeds have a spread. */
double hardware_slowest(const struct hardware *hardware, int64_t nodes);

/* ---- groups on the tiers ---- */

/* How the devices of a group lie, as seen from one of them. */
struct hardware_group {
    int64_t members;
    int64_t inside[HARDWARE_TIERS_MAX]; /* members in one domain of each tier */
    int64_t along[HARDWARE_TORUS_MAX];  /* on the torus: members along each axis, and */
    int64_t step[HARDWARE_TORUS_MAX];   /* how far neighbours among them are apart */
};

/* Give the innermost tier, if it is a torus, the slice that `devices` in `slices` equal slices
 * need: of `shape` (ndims lengths) if it is given and fits, else as near to a cube as the pod
 * allows. SHD_EINVAL: no such slice; nothing was changed. */
SHD_MUST_CHECK int hardware_lay_out(struct hardware *hardware, int64_t devices, int64_t slices,
                                    const int64_t *shape, struct shd_error *err);

/* The group along `axes` of a mesh whose positions are device ids in order; of the groups there,
 * the one of the device at position 0. */
void hardware_group_of(struct hardware_group *out, const struct hardware *hardware,
                       const struct shd_mesh *mesh, const uint8_t *axes, size_t naxes);

/* ---- time of a collective ---- */

enum hardware_schedule {
    HARDWARE_ALONE,  /* one member: nothing to do */
    HARDWARE_RING,   /* one ring through all members, or as all-to-all directly */
    HARDWARE_LEVELS, /* inside the domains of the inner tier, then between them */
    HARDWARE_TREE,   /* the same, but in trees between them */
};

/* What one tier does in it. */
struct hardware_part {
    int tier;
    int64_t members;    /* that take part on this tier */
    double bytes;       /* into each device over this tier; all-to-all on a torus: over one link */
    double bytes_per_s; /* at which they come, over all links of the device that take part */
    double steps;       /* one after the other; torus: hops */
    double start_s;     /* before the first step */
    double latency_s;   /* of the steps */
    double bandwidth_s; /* of the bytes */
    double copy_s;      /* of passing the array through the device */
    double seconds;     /* all of them; torus: only the larger of latency and bandwidth */
};

struct hardware_collective {
    enum hardware_schedule schedule;
    bool small;    /* by the protocol for small messages */
    double host_s; /* of starting it, while which the links already work */
    int nparts;
    struct hardware_part parts[HARDWARE_TIERS_MAX];
    double seconds; /* ring: parts go on at once; else one after the other; host_s at least */
};

/* The best schedule of a collective and its time, when all groups alike do theirs at the same time:
 * each device has its own share of every tier.  `operand_bytes` is IN of one member (coll.h). */
void hardware_collective(struct hardware_collective *out, const struct hardware *hardware,
                         enum coll_kind kind, const struct hardware_group *group,
                         double operand_bytes);
double hardware_collective_seconds(const struct hardware *hardware, enum coll_kind kind,
                                   const struct hardware_group *group, double operand_bytes);

/* The innermost tier that two devices share, and the links of a torus between them (else 1). */
int hardware_tier_between(const struct hardware *hardware, int64_t from, int64_t to);
int64_t hardware_hops(const struct hardware *hardware, int64_t from, int64_t to);

/* A message between two devices: send-recv, or each of a permute's. */
double hardware_message_seconds(const struct hardware *hardware, int64_t from, int64_t to,
                                double bytes);

#endif /* HARDWARE_HARDWARE_H */
