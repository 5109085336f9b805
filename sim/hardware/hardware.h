/* hardware.h - a cluster as plain data: what its devices compute and its links carry in a second.
 *
 * A cluster is written in a file (docs/hardware.md): the hardware, as its makers state it, and the
 * software that was measured on it, in constants with a physical meaning each.  Those shipped are
 * in the library as text, under scenarios/hardware/ in the sources.  The seconds that follow from
 * them are pure functions: of a kernel (kernel_time.c), of a collective (collective_time.c,
 * torus.c) of a group that lies on the tiers so or so (tiers.c).
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
#include "base/text.h"
#include "coll/coll.h"
#include "hardware/kernel_model.h"

#define HARDWARE_TIERS_MAX 4
#define HARDWARE_TORUS_MAX 3 /* axes of a torus */
#define HARDWARE_VALIDATIONS_MAX 16

struct hardware_kernels {
    double launch_s;             /* between the starts of two small kernels */
    double matmul_efficiency;    /* fraction of the peak, for a large product that fills all
                                    units */
    double coded_efficiency;     /* the same of products of 8 bits or fewer; 0: no other */
    int64_t units;               /* that work on a tile at a time each (SMs); 0: no quantisation */
    int64_t tile_m, tile_n;      /* of a product's result, for large products */
    double half_k;               /* a product reaches k/(k+half_k) of that efficiency, k being
                                    its inner dimension */
    double memory_efficiency;    /* fraction of the bandwidth, for elementwise kernels and
                                    reductions */
    double attention_efficiency; /* fraction of the peak: fused attention, forward */
    double attention_backward_efficiency;
    double attention_half_head; /* attention reaches head_dim / (head_dim + half_head) of that,
                                   since each score also costs its exponential, */
    double attention_half_keys; /* and keys / (keys + half_keys) of the result, since each query
                                   has a fixed cost; 0: no cost */
    double attention_half_queries; /* and queries / (queries + half_queries) of that, since tiles
                                      are computed whole; of serving alone */
    int64_t alignment; /* elements: products with rows that are no multiple of it run at ... */
    double
        vector_flops_per_s; /* ... this rate of the vector units instead; 0: all run on the
                               matrix units */
    double spread; /* standard deviation of nodes' speeds: many nodes wait for the slowest */
};

struct hardware_tier {
    char *name;
    int64_t devices;         /* in one domain; 0: all devices */
    double bytes_per_s;      /* into a device, and at the same time out of it; torus: of one
                                link, in one direction */
    double efficiency;       /* fraction of that rate, for large messages */
    double oversubscription; /* ratio of what devices can send to what the tier carries; 1: no
                                oversubscription */
    double latency_s;        /* of a message, and of a collective before its first step */
    double step_s;           /* of each step of a collective; torus: of a hop */
    double small_latency_s,
        small_step_s;        /* latency and step of the library's protocol for small messages, */
    double
        small_efficiency; /* and the fraction of the rate with that protocol; 0: no such protocol */
    double copy_bytes_per_s; /* rate at which a collective passes its array through each device;
                                0: free */
    double host_latency_s;   /* least time for the host to start a collective, */
    double host_step_s;      /* and additional time for each member after the first */
    double direct_s;         /* of each step in which all members read from all others at once; 0:
                                no such steps.  Of serving alone */
    int64_t wrap_multiple;   /* an axis of a slice wraps around if its length is a multiple of
                                this; 0: no axis does */
    bool torus;
    int ndims;                        /* torus: number of axes, the last varies fastest */
    int64_t dims[HARDWARE_TORUS_MAX]; /* of a full pod; once laid out, of the slice in use */
    int64_t pod[HARDWARE_TORUS_MAX];  /* of a full pod, once laid out */
    bool wrap[HARDWARE_TORUS_MAX];
};

/* Behaviour of the measured software; false and 0 are this program's own behaviour. */
struct hardware_software {
    const char *name;        /* in the table (software.h); NULL: only the file says what it does */
    bool overlaps_gradients; /* reduces gradients during the backward phase */
    bool overlaps_weights;   /* gathers weights during computation */
    bool waits_for_weights;  /* computations wait for what the update gathers.  No key of a
                                cluster's file: a job's own option */
    bool recomputes_layers;  /* recomputation repeats whole layers, including values without
                                later readers */
    bool overlaps_sends;     /* ranks with several stages send and receive messages beside
                                computation */
    bool overlaps_products;  /* activations are gathered or reduce-scattered piece by piece beside
                                the product that reads or makes them */
    bool waits_for_collectives; /* computations of forward and backward wait for every
                                   collective, needed or not */
    bool overlaps_pairs;        /* experts' rows of an overlapped pair's forward travel beside the
                                   computation of its backward, and the other way round */
    bool dispatches_by_node;    /* in training a token's row goes once to each domain of the first
                                   tier, and from there to the devices of its experts */
    bool overlaps_regathers;    /* except for gathers repeated in the backward phase */
    bool
        half_gradients; /* gradients of bfloat16 models are kept and summed in bfloat16, not in
                           float32 */
    bool coded_half_gradients; /* the same, only where products are rounded to 8 bits or fewer */
    bool scatters_sends; /* if several devices of a node would send the same data, each sends a
                            part, which is gathered at the destination */
    double expert_launch_s; /* host's time to start a product of one expert, in training, ... */
    double expert_coding_s; /* ... and to start rounding one expert's rows to 8 bits or fewer */
    double bucket_bytes; /* parameters and gradients are communicated in buckets of this size; 0:
                            each array separately */
    bool fuses_elementwise; /* a chain of elementwise ops is one kernel */
    bool fuses_loss;        /* cross-entropy is one kernel, without copies of logits in float32 */
    bool fuses_activation;  /* gated activations keep their operands alone */
    bool fuses_gates;       /* gates multiply experts' activations, and no results are kept */
    bool chunks_again;      /* a loss in chunks makes their logits again in the backward phase */
    bool codes_frozen;      /* weights that are not learned are kept as codes of 8 bits or fewer, if
                               products round them */
    bool fsdp; /* parameters are sharded as in PyTorch's FSDP: ZeRO's stage 2 gathers them once a
                  microbatch, and keeps them for its backward phase */
    bool sequence_parallel; /* tensor parallelism always shards values between layers along the
                               sequence */
    /* Kernels that send experts' rows to other devices and back, as models of measured ones name
     * them: in steps that decode, and in those that take prompts in; NULL: the collectives' library
     * does. */
    const char *exchange, *prompts_exchange;
};

/* What engines of serving do otherwise than the software that trains; 0: nothing else. */
struct hardware_serving {
    double launch_s; /* kernels start from a captured graph */
    double step_s;   /* of the host in each step, while devices wait */
    double host_launch_s; /* of the host for each kernel of a step without a captured graph, beside
                             the devices */
    double matmul_efficiency, memory_efficiency, attention_efficiency;
    double attention_half_queries; /* as that of kernels */
    double direct_s;               /* as that of the first tier */
};

/* What kernels of PyTorch's FSDP reach, where the file's kernels are those of other software: parts
 * of the peak as in struct hardware_kernels; all 0: what they reach there.  While the cluster runs
 * software of FSDP, the two have changed places. */
struct hardware_fsdp {
    double matmul_efficiency, coded_efficiency;
    double attention_efficiency, attention_backward_efficiency;
};

/* The fraction of measured kernels' computing rates (kernel_model.h) that lasts in steps that learn,
 * whose times are then the models'; 0: by constants.  Coded: of 8 bits or fewer. */
struct hardware_sustained {
    double products, coded_products, experts, coded_experts, attention; /* fused, forward */
};

/* The host of a node: what its devices keep and compute outside their own memory.  What is of the
 * node is shared equally by its devices. */
struct hardware_host {
    double memory_bytes;        /* of a node; 0: nothing is known of the host */
    int64_t devices;            /* of a node */
    double to_host_bytes_per_s; /* of each device's link, each direction by itself */
    double from_host_bytes_per_s;
    double latency_s; /* of a copy */
    double memory_bytes_per_s;
    double memory_efficiency; /* fraction of that rate, in the optimizer's update */
    double flops_per_s;       /* of all cores, float32 */
};

/* Steps whose errors are alike, since their products and their sums over devices are: of tensor
 * parallelism over so many devices, and with a largest product of so many rows, and another of so
 * large an inner dimension, each within the same power of two. */
struct hardware_near {
    int64_t tensor, rows, inner;
    int64_t steps;
    double claim;
};
#define HARDWARE_NEAR_MAX 64

/* The deviation of modelled times from published ones. */
struct hardware_validation {
    char *set;      /* name of the set of published rows */
    char *software; /* that they ran; NULL: not said */
    int64_t rows;
    double mape, cross_validated_mape; /* fractions, of step times */
    double
        claim; /* nine of ten errors are smaller, of rows that the constants were not fitted to */
    double parameters_least, parameters_most; /* of the models in the set */
    int64_t devices_least, devices_most;
    int64_t length_least, length_most; /* of sequences */
    uint32_t traits; /* bit t: some of the rows had enum hardware_trait t (traits.h) */
    struct hardware_near near[HARDWARE_NEAR_MAX];
    int nnear;
};

struct hardware {
    char *name;
    char *source;
    char *place;                           /* of the file, for messages */
    uint64_t text_hash;                    /* of the file's text */
    double flops_per_s[SHD_NDTYPES];       /* dense matrix units, datasheet peak; 0: unknown */
    double elementwise_per_s[SHD_NDTYPES]; /* operations of elementwise kernels, reductions and
                                              the like; 0: unknown, only their bytes count */
    double memory_bytes, memory_bytes_per_s;
    double cache_bytes, cache_bytes_per_s; /* size of a cache and its rate, for kernels whose
                                              bytes fit it; 0: all use the memory */
    double reserved_bytes; /* of a device's memory, reserved by the runtime */
    double fragmentation;  /* memory that the allocator holds beyond what is in use, as a
                              fraction of the latter */
    struct hardware_kernels kernels;
    struct hardware_host host;
    struct hardware_tier tiers[HARDWARE_TIERS_MAX];
    int ntiers;
    struct hardware_software software;
    bool other_software; /* than the file says, so than what was measured */
    struct hardware_fsdp fsdp;
    struct hardware_serving serving;
    struct hardware_sustained sustained;
    struct kernel_models *models; /* of measured kernels; NULL: none */
    const char *models_of;        /* the shipped cluster that owns the models; NULL: this cluster */
    bool links_apart; /* the models come from a cluster with the same devices but other links */
    bool served;                  /* by engines that have all-reduces of their own */
    bool by_models; /* kernels and collectives take what such took alone, where a model is of them */
    struct hardware_validation validations[HARDWARE_VALIDATIONS_MAX];
    int nvalidations;
    char **fitted; /* paths of the fitted constants: "kernels.launch"; NULL-terminated */
};

/* ---- files ---- */

/* Find a cluster by the name of a shipped one, or by the path of a file, including overrides in the
 * name (base/supposed.h).  A name with a '/' or the ending ".yaml" is a path, relative to the
 * folder of the file `relative_to` (NULL: to the working folder).
 *
 * On success stores it in *out; free it with hardware_destroy().  On failure reports all faults to
 * `diag`, an unknown name at `named_at`, leaves *out alone and returns SHD_EINVAL or SHD_ENOMEM. */
SHD_MUST_CHECK int hardware_find(struct hardware **out, const char *name_or_path,
                                 const char *relative_to, struct place named_at, struct diag *diag);

/* Append the text of a cluster's file to `out`, and its path for messages to `place`.  Errors as
 * hardware_find(). */
SHD_MUST_CHECK int hardware_text(struct text *out, struct text *place, const char *name_or_path,
                                 const char *relative_to, struct place named_at, struct diag *diag);

/* Parse a cluster from text; `file` is its name in messages. */
SHD_MUST_CHECK int hardware_parse(struct hardware **out, const char *file, const char *text,
                                  size_t length, struct diag *diag);

/* Override numbers of a cluster, "tiers.1.rate=100GB/s, infiniband.latency=5us", by their paths in
 * its file; a tier may be given by its name.  The overrides become part of the cluster's name, and
 * its measurements are dropped.  Faults are reported at `named_at`. */
void hardware_set(struct hardware *hardware, const char *suppositions, struct place named_at,
                  struct diag *diag);

/* Whether the rows were steps of serving, which say nothing of those that learn. */
bool hardware_validates_serving(const struct hardware_validation *validation);

/* The name of the shipped cluster with equal devices, by rate and memory, for which most steps were
 * measured; NULL: none.  *failed is set if memory ran out, and stays as it is else. */
const char *hardware_measured_like(const struct hardware *hardware, bool *failed);

/* Add what a cluster's constants were fitted to, and how far off steps left out of the fit were:
 * "7 steps of fp8_nemo, 9.6 % off"; or "no measured step". */
void hardware_print_measured(struct text *out, const struct hardware *hardware);

/* A lower estimate of the error of modelled times for an unmeasured cluster: the largest
 * cross-validated error of any measured shipped cluster, as a fraction of the step. */
double hardware_error_elsewhere(void);

/* Let a cluster run the software of a name (software.h), with the efficiencies that its kernels
 * reach in it; false: there is none. */
bool hardware_run_software(struct hardware *hardware, const char *name);

/* Whether software keeps and sums gradients of a bfloat16 model in bfloat16; `coded`: its products
 * are rounded to 8 bits or fewer. */
bool hardware_halves_gradients(const struct hardware_software *software, bool coded);

/* Reduce a cluster's link bandwidths and device memory to these fractions. */
void hardware_suppose(struct hardware *hardware, double links, double memory);

/* Free a cluster.  NULL is allowed. */
void hardware_destroy(struct hardware *hardware);

/* The peak rate of a type: its own, else that of the nearest type with a rate (wider first); 0 if
 * none is known. */
double hardware_flops_per_s(const struct hardware *hardware, enum shd_dtype dtype);

/* The cluster as engines of serving use it, and as kernels run that were measured alone: copies
 * that share all texts with `hardware`, and are not to be destroyed. */
struct hardware hardware_as_served(const struct hardware *hardware);
struct hardware hardware_as_measured(const struct hardware *hardware);

/* Whether the constant with a path ("kernels.half_k") was fitted rather than stated. */
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
    enum kernel_type type;  /* of operands, for models of measured kernels; KERNEL_ANY_TYPE: none */
    double experts;         /* of a product of experts: those with rows */
    int64_t sequences, heads, kv_heads, queries; /* of attention; of a sequence */
    double head; /* elements of a head, the mean of keys and values */
    bool latent; /* of latent vectors, or of keys that are longer than values */
};

double hardware_kernel_seconds(const struct hardware *hardware, const struct hardware_work *work);

/* The limit of a kernel: the rate of flops; the memory's bandwidth; launches, if the kernel ends
 * before the next can start; or tiles of a product that leave units idle. */
enum hardware_bound {
    HARDWARE_BY_COMPUTE,
    HARDWARE_BY_MEMORY,
    HARDWARE_BY_LAUNCH,
    HARDWARE_BY_TILES,
    HARDWARE_NBOUNDS
};

enum hardware_bound hardware_kernel_bound(const struct hardware *hardware,
                                          const struct hardware_work *work);

/* "compute", "memory", "launch" or "tiles" */
const char *hardware_bound_name(enum hardware_bound bound);

/* The rate at which a kernel's bytes move: the memory's, or a cache's if they fit. */
double hardware_kernel_bytes_per_s(const struct hardware *hardware,
                                   const struct hardware_work *work);

/* The factor by which computations take longer if this many nodes wait for each other: for the
 * slowest of them, as their speeds have a spread. */
double hardware_slowest(const struct hardware *hardware, int64_t nodes);

/* ---- the host ---- */

/* Seconds of a copy between one device and its host, over the device's own link. */
double hardware_host_copy_seconds(const struct hardware *hardware, bool to_host, double bytes);

/* Seconds of a kernel on the host for one of `devices` devices in all, while the host works for all
 * devices of the node. */
double hardware_host_kernel_seconds(const struct hardware *hardware,
                                    const struct hardware_work *work, int64_t devices);

/* How many of `devices` devices are in one node. */
int64_t hardware_host_devices(const struct hardware *hardware, int64_t devices);

/* SHD_EINVAL, with the keys that the cluster's file lacks, if nothing is known of the host. */
SHD_MUST_CHECK int hardware_host_check(const struct hardware *hardware, struct shd_error *err);

/* ---- groups on the tiers ---- */

/* The placement of a group's devices on the tiers, as seen from one of them. */
struct hardware_group {
    int64_t members;
    int64_t inside[HARDWARE_TIERS_MAX]; /* members in one domain of each tier */
    int64_t along[HARDWARE_TORUS_MAX];  /* on the torus: members along each axis, and */
    int64_t step[HARDWARE_TORUS_MAX];   /* the distance of neighbours among them */
    double crossing; /* all-to-all by domains of the first tier: a row for several members of
                        another domain crosses once; the fraction of such rows that cross.  0: each
                        member's row is sent to it directly */
};

/* Set the innermost tier, if it is a torus, to the slice for `devices` in `slices` equal slices:
 * with `shape` (ndims lengths) if given and possible, else as near to a cube as the pod allows.
 * SHD_EINVAL: no such slice; nothing was changed. */
SHD_MUST_CHECK int hardware_lay_out(struct hardware *hardware, int64_t devices, int64_t slices,
                                    const int64_t *shape, struct shd_error *err);

/* The group along `axes` of a mesh whose positions are device ids in order: the one with position
 * 0. */
void hardware_group_of(struct hardware_group *out, const struct hardware *hardware,
                       const struct shd_mesh *mesh, const uint8_t *axes, size_t naxes);

/* ---- time of a collective ---- */

enum hardware_schedule {
    HARDWARE_ALONE,    /* one member: nothing to do */
    HARDWARE_RING,     /* one ring through all members; all-to-all directly */
    HARDWARE_LEVELS,   /* inside the domains of the inner tier, then between them */
    HARDWARE_TREE,     /* likewise, with trees between the domains */
    HARDWARE_DIRECT,   /* members of one domain read from all others at once */
    HARDWARE_MEASURED, /* by a model of measured collectives */
};

/* One tier's part in a collective. */
struct hardware_part {
    int tier;
    int64_t members;    /* that take part on this tier */
    double bytes;       /* into each device over this tier; all-to-all on a torus: over one link */
    double bytes_per_s; /* arrival rate, over all participating links of the device */
    double steps;       /* sequential; torus: hops */
    double start_s;     /* before the first step */
    double latency_s;   /* of the steps */
    double bandwidth_s; /* of the bytes */
    double copy_s;      /* of passing the array through the device */
    double seconds;     /* total; torus: only the larger of latency and bandwidth */
};

struct hardware_collective {
    enum hardware_schedule schedule;
    bool small;    /* uses the protocol for small messages */
    double host_s; /* the host's starting time, during which links already work */
    int nparts;
    struct hardware_part parts[HARDWARE_TIERS_MAX];
    double seconds; /* ring: parts are parallel; otherwise sequential; at least host_s */
};

/* The best schedule of a collective and its time, if all groups of the same kind run theirs at the
 * same time: each device has its own share of every tier.  `operand_bytes` is IN of one member
 * (coll.h). */
void hardware_collective(struct hardware_collective *out, const struct hardware *hardware,
                         enum coll_kind kind, const struct hardware_group *group,
                         double operand_bytes);
double hardware_collective_seconds(const struct hardware *hardware, enum coll_kind kind,
                                   const struct hardware_group *group, double operand_bytes);

/* The innermost tier that two devices share, and the number of torus links between them (else
 * 1). */
int hardware_tier_between(const struct hardware *hardware, int64_t from, int64_t to);
int64_t hardware_hops(const struct hardware *hardware, int64_t from, int64_t to);

/* The time of a message between two devices: send-recv, or each message of a permute. */
double hardware_message_seconds(const struct hardware *hardware, int64_t from, int64_t to,
                                double bytes);

#endif /* HARDWARE_HARDWARE_H */
