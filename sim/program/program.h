/* program.h - what each device does, as plain data: ops, buffers with lifetimes, collectives.
 *
 * All devices of the mesh do the same ops on shards of equal extents (only offsets and peers
 * differ, and follow from the shardings), so a program is stored once, whatever the number of
 * devices.  Execution, planning, explanations and tests all read this one representation.
 *
 * In a pipeline each op belongs to a stage, and only the devices of that stage's rank do it: the
 * devices with the rank's coordinate on the stage axis, which shards no array.  Ops are grouped
 * into segments, and each rank has its own list of turns: which segment to do next, for which
 * microbatch.  Without a pipeline there is one stage and one rank, of all devices.
 *
 * A buffer is one array's shard.  It is allocated by the op that writes it and freed after the op
 * that reads it last, for each microbatch; arguments and results stay to the end.
 *
 * A buffer lies in the memory of its device, or in the memory of the device's host.  PROGRAM_HOST
 * copies a shard between the two.  A kernel runs on the host if its results lie there, and then its
 * operands do, too; all other ops work on the device's memory.
 *
 * Thread class: owned by one thread while built, immutable afterwards.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PROGRAM_PROGRAM_H
#define PROGRAM_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include <shd/dtype.h>
#include <shd/error.h>
#include <shd/mesh.h>
#include <shd/reshard.h>
#include <shd/sharding.h>

#include "base/text.h"
#include "base/uint128.h"
#include "coll/coll.h"
#include "kern/kernel.h"
#include "program/descs.h"

#define PROGRAM_NONE UINT32_MAX /* in place of a buffer or op number: none */
#define PROGRAM_RANK_MAX 12     /* maximum dimensions of an array */

/* Maximum bytes of a shard, 32 PiB.  The bytes that any algorithm brings to a device then fit a
 * uint64_t, for as many buffers as one op can have. */
#define PROGRAM_SHARD_BYTES_MAX (UINT64_C(1) << 55)

/* What a buffer's memory is used for. */
enum program_use {
    PROGRAM_ACTIVATIONS, /* values of the forward and backward phases, and their gradients */
    PROGRAM_PARAMETERS,
    PROGRAM_GRADIENTS, /* of parameters */
    PROGRAM_OPTIMIZER, /* optimizer state, kept from step to step */
    PROGRAM_GATHERED,  /* parameters in a sharding other than their own, or rounded to codes */
    PROGRAM_DATA,      /* inputs of the step */
    PROGRAM_CACHE,     /* what is kept of earlier tokens, from step to step */
    PROGRAM_WORKSPACE, /* of one op, or of the update */
    PROGRAM_NUSES
};

struct program_buffer {
    enum program_use use;
    const char *name; /* the array's name; several buffers may hold shardings of one array */
    enum shd_dtype dtype;
    enum shd_dtype stored; /* the requested type, where computations use another */
    uint32_t rank;
    int64_t shape[PROGRAM_RANK_MAX]; /* whole array, with padding (graph/pad.h) */
    int64_t held[PROGRAM_RANK_MAX];  /* whole array, without padding */
    int64_t local[PROGRAM_RANK_MAX]; /* the shard */
    struct shd_sharding sharding;
    uint64_t bytes;             /* of the shard, including room_bytes */
    uint64_t room_bytes;        /* spare bytes after the elements: for the padding of the pieces
                                   that make up the shard (reshard.h), or for a copy with padded
                                   chunks */
    uint32_t first_op, last_op; /* the writing op, and the op after which the buffer is freed;
                                   `nops`: never freed */
    bool argument;              /* filled before the step begins */
    bool frozen;                /* a parameter that no step changes */
    bool on_host;               /* lies in the host's memory */
    bool inside;                /* only exists in a fused kernel: takes no memory of the device */
    uint32_t chunks;            /* made and read in so many chunks, of which the device has memory
                                   for one at a time; 0: whole */
    bool offloads;              /* the partitioner's request: an argument lies on the host, a value
                                   of the forward phase waits there for the backward phase */
    uint8_t packs;              /* of parameters: how many an element is; 0: the array is beside one
                                   that has them, as scales are beside codes */
    const struct kern_routing *routing; /* of experts' rows: which of them tokens take; not owned;
                                           NULL: another array */
    uint8_t expert_dim;                 /* ... and the experts' dimension */
    uint32_t over; /* argument whose memory it reuses, overwriting a value that the next step
                      does not need; else PROGRAM_NONE */
};

/* Bytes and elements of a shard, without the spare room. */
static inline uint64_t program_buffer_filled(const struct program_buffer *buffer)
{
    return buffer->bytes - buffer->room_bytes;
}

/* Memory that a buffer occupies, in bytes; 0 inside another buffer. */
static inline uint64_t program_buffer_taken(const struct program_buffer *buffer)
{
    if (buffer->inside)
        return 0;
    return buffer->chunks > 0 ? (buffer->bytes + buffer->chunks - 1) / buffer->chunks
                              : buffer->bytes;
}

/* Bytes of the device's memory. */
static inline uint64_t program_buffer_on_device(const struct program_buffer *buffer)
{
    return buffer->on_host ? 0 : program_buffer_taken(buffer);
}

static inline uint64_t program_buffer_count(const struct program_buffer *buffer)
{
    return program_buffer_filled(buffer) / shd_dtype_size(buffer->dtype);
}

#define PROGRAM_PHASE_UPDATE 2 /* value of program_op.phase for ops done once a step */

enum program_op_kind {
    PROGRAM_FILL,    /* write an argument, or a microbatch's data, from its source */
    PROGRAM_KERNEL,  /* local math */
    PROGRAM_RESHARD, /* one reshard step of an array.  A collective of several arrays has an
                        input and an output for each, all of one type; the step's dimensions
                        apply to each */
    PROGRAM_SEND,    /* send one array to the devices of another rank with equal other
                        coordinates, without waiting for the receiver */
    PROGRAM_RECV,    /* receive an array from a PROGRAM_SEND, in the same sharding */
    PROGRAM_ROWS,    /* move rows, selected by ids and slots, to experts or back: reads an array,
                        ids and slots, writes one array; rows.h */
    PROGRAM_HOST,    /* copy a shard between the memories of a device and its host: one input and
                        one output, of which one lies on the host */
    PROGRAM_NKINDS
};

/* The parts of a step, in the order in which a stage reaches them. */
enum program_part {
    PROGRAM_ARGUMENTS,
    PROGRAM_START, /* once a step, before the first microbatch */
    PROGRAM_FORWARD,
    PROGRAM_BACKWARD, /* the backward phase, without ... */
    PROGRAM_WEIGHTS,  /* ... the ops that only contribute to gradients of parameters, where a
                         schedule splits it */
    PROGRAM_UPDATE,   /* once a step, after the last microbatch */
    PROGRAM_NPARTS
};

/* The default part of ops in a phase. */
enum program_part program_part_of_phase(uint8_t phase);

/* Whether a part runs once a step instead of once for each microbatch. */
static inline bool program_part_is_once(enum program_part part)
{
    return part == PROGRAM_START || part == PROGRAM_UPDATE;
}

static inline bool program_is_backward(enum program_part part)
{
    return part == PROGRAM_BACKWARD || part == PROGRAM_WEIGHTS;
}

/* How often a part runs in a step of `microbatches`. */
static inline uint32_t program_part_times(enum program_part part, uint32_t microbatches)
{
    return program_part_is_once(part) ? 1 : microbatches;
}

#define PROGRAM_INPUTS_MAX KERN_MAP_INPUTS_MAX
#define PROGRAM_PARTS_MAX 8 /* maximum arrays of one collective */
#define PROGRAM_OUTPUTS_MAX PROGRAM_PARTS_MAX
_Static_assert(PROGRAM_PARTS_MAX <= PROGRAM_INPUTS_MAX && KERN_OUTPUTS_MAX <= PROGRAM_OUTPUTS_MAX,
               "an op has room for what it reads and writes");

/* A kernel's offset argument: where the device's shard of a buffer starts along a dimension. */
struct program_offset {
    uint32_t buffer, dim;
};

/* Between which arrays rows move; see rows.h. */
enum program_rows_way {
    PROGRAM_ROWS_DIRECT,  /* between tokens and experts */
    PROGRAM_ROWS_IN_NODE, /* between tokens and experts of one node */
    PROGRAM_ROWS_BETWEEN  /* between tokens and what their nodes have of them */
};

/* How rows move between tokens and experts; see rows.h. */
struct program_rows {
    bool combines;                            /* true: from experts to tokens; false: from tokens
                                                 to experts */
    bool sums;                                /* of a combine: a token's rows are added up */
    bool beside;                              /* numbers that go beside tokens: gates, magnitudes */
    enum program_rows_way way;
    uint32_t node_axes; /* bit a: mesh axis a numbers nodes; 0 for PROGRAM_ROWS_DIRECT */
    uint32_t experts;  /* PROGRAM_ROWS_BETWEEN: the buffer of experts' rows, which says on which
                          node an expert is */
    uint32_t groups;                          /* groups of the batch, each with its own slots */
    const struct kern_routing *routing;       /* the planned routing; not owned */
    const struct program_rows_counts *counts; /* owned by the program */
    const struct program_node_counts *nodes;  /* PROGRAM_ROWS_BETWEEN: instead of `counts` */
    uint8_t naxes; /* mesh axes along which rows come from other devices, ascending; 0: all rows
                      are local */
    uint8_t axes[SHD_MESH_AXES_MAX];
};

struct program_op {
    enum program_op_kind kind;
    uint8_t phase; /* enum graph_phase value: 0 forward, 1 backward, 2 optimizer */
    uint8_t part;  /* enum program_part */
    uint32_t stage;
    const char *name; /* the model's op, or the op that needed this reshard step */
    const char *why;  /* for communication: the reason, a sentence; else NULL */
    uint32_t ninputs, noutputs, noffsets;
    bool holds;                          /* ... a buffer that the op keeps alive without reading: */
    uint32_t held;                       /* not freed before the op is done */
    uint32_t inputs[PROGRAM_INPUTS_MAX]; /* buffers */
    uint32_t outputs[PROGRAM_OUTPUTS_MAX];
    struct program_offset offsets[KERN_OFFSETS_MAX];
    uint64_t workspace_bytes;         /* live during the op only */
    uint64_t dense_flops;             /* of one device, without skipping by a mask */
    uint64_t unsharded_flops;         /* of one device that does the op on whole arrays */
    uint64_t model_flops;             /* as unsharded_flops, but without skipping by a mask and
                                         without the kernel's own recomputation; 0 for the
                                         optimizer's matmuls */
    uint32_t cut_axes;                /* bit a: mesh axis a shards the work */
    uint32_t times;                   /* runs in a step: 1, or one for each microbatch */
    bool again;                       /* the recomputation of a forward op */
    bool on_host;                     /* PROGRAM_KERNEL: the host computes it */
    bool accumulates;                 /* the kernel adds to its output of earlier microbatches,
                                         starting from zeros; this implicit first input is not in
                                         `inputs` */
    const struct kern_kernel *kernel; /* PROGRAM_KERNEL */
    union {
        struct kern_source source;   /* PROGRAM_FILL */
        const union kern_desc *desc; /* PROGRAM_KERNEL: shared with the ops that are alike */
        struct shd_reshard_step reshard;
        struct program_rows rows; /* PROGRAM_ROWS */
        uint32_t channel; /* PROGRAM_SEND, PROGRAM_RECV: pairs a send with its receive */
        bool to_host;     /* PROGRAM_HOST: from device to host; else from host to device */
    };
};

/* Consecutive ops that run without interruption, for one microbatch or once a step.  A device skips
 * the ops of stages that its rank does not hold. */
struct program_segment {
    enum program_part part;
    uint32_t stage; /* for segments of microbatches */
    uint32_t first_op, end_op;
};

/* Whether a segment runs once a step instead of once for each microbatch. */
static inline bool program_segment_is_once(const struct program_segment *segment)
{
    return program_part_is_once(segment->part);
}

/* One segment done for `count` consecutive microbatches. */
struct program_turn {
    uint32_t segment, microbatch, count;
    bool first; /* the segment's first turn of the step: sums over microbatches start */
    uint8_t paired; /* of a pair's forward: how many turns behind it are the pair's backward */
};

enum program_result_kind {
    PROGRAM_OUTPUT,
    PROGRAM_LOSS,
    PROGRAM_GRADIENT,
    PROGRAM_NEXT /* replaces an argument when the next step begins */
};

struct program_result {
    enum program_result_kind kind;
    const char *name;
    uint32_t buffer;
    uint32_t of; /* PROGRAM_NEXT: the argument's buffer, of the same sharding; else PROGRAM_NONE */
};

struct program {
    const struct shd_mesh *mesh;           /* mesh of all shardings; may split axes of ... */
    const struct shd_mesh *asked_mesh;     /* ... the mesh that the user asked for; positions are
                                              the same */
    struct shd_mesh *own_mesh;             /* owned: `mesh` if it differs from `asked_mesh`; else
                                              NULL */
    uint8_t asked_axis[SHD_MESH_AXES_MAX]; /* [axis of `mesh`] the axis of asked_mesh that it is
                                              part of */
    struct program_buffer *buffers;
    uint32_t nbuffers;
    struct program_op *ops;
    uint32_t nops;
    uint32_t microbatches; /* in a step, at least 1 */
    uint32_t first_op;     /* first op after the arguments */
    uint32_t update_op;    /* first op of the update, after all microbatches */
    int stage_axis; /* pipeline axis: a device's coordinate is its rank; -1: one rank and one stage
                     */
    uint32_t nstages, nranks;
    uint32_t *rank_of_stage; /* NULL: all stages on rank 0 */
    struct program_segment *segments;
    uint32_t nsegments;
    struct program_turn *turns; /* rank r has first_turn[r] to first_turn[r + 1] - 1 */
    uint32_t *first_turn;
    struct program_channel {
        uint32_t send, recv; /* ops */
    } * channels;
    uint32_t nchannels;
    uint32_t *frames; /* buffers that carry data from one segment of a microbatch to another: one
                         copy for each microbatch in flight */
    uint32_t nframes;
    struct program_result *results;
    uint32_t nresults;
    const struct coll_algo *algos[COLL_NKINDS]; /* requested by the scenario; NULL: the default */
    struct program_rows_counts *rows_counts;    /* for all PROGRAM_ROWS */
    struct program_node_counts *node_counts;
    struct program_descs descs; /* of all kernels */
    const char *note;           /* one sentence on what the partitioner left out; NULL: nothing */
    struct program_text *texts;
    bool failed; /* a text could not be allocated: the program must not be used */
};

struct program *program_create(const struct shd_mesh *mesh); /* NULL: no memory */
void program_destroy(struct program *program);               /* NULL is allowed */

/* Set `algos`; NULL: the defaults. */
void program_ask_algos(struct program *program, const struct coll_algo *const *algos);

/* Format a text that lives as long as the program.  Out of memory it returns "" and sets
 * `failed`. */
const char *program_text(struct program *program, const char *fmt, ...) SHD_PRINTF(2, 3);

/* Add a buffer for an array in a sharding; SHD_EINDIVISIBLE, SHD_ENOMEM, SHD_ERANGE. */
SHD_MUST_CHECK int program_add_buffer(uint32_t *out, struct program *program, const char *name,
                                      enum shd_dtype dtype, const int64_t *shape,
                                      const struct shd_sharding *sharding, struct shd_error *err);

/* Add a buffer for a copy of another's shard, in the memory of the device or of the host; a result
 * or an argument it is not.  SHD_ENOMEM. */
SHD_MUST_CHECK int program_add_copy(uint32_t *out, struct program *program, uint32_t of,
                                    bool on_host, struct shd_error *err);

/* Grow a buffer to at least `bytes`, as spare room after its elements. */
void program_make_room(struct program *program, uint32_t buffer, uint64_t bytes);

/* Grow the buffers of a one-array reshard step by the spare room that the step needs: the padding
 * of the shard's last piece where it gathers or reduce-scatters pieces, or a copy of an operand
 * whose chunks need padding. */
void program_make_step_room(struct program *program, const struct program_op *op);

/* Append an op, copied with the kernel's description that it points to, all bytes of which count:
 * descriptions are zeroed before they are set.  SHD_ENOMEM. */
SHD_MUST_CHECK int program_add_op(struct program *program, const struct program_op *op,
                                  struct shd_error *err);

SHD_MUST_CHECK int program_add_result(struct program *program, enum program_result_kind kind,
                                      const char *name, uint32_t buffer, struct shd_error *err);

/* Make a buffer the value of argument `of` in the next step.  SHD_EINVAL where the buffer is an
 * argument or a result already, or is sharded unlike the argument. */
SHD_MUST_CHECK int program_add_next(struct program *program, const char *name, uint32_t buffer,
                                    uint32_t of, struct shd_error *err);

/* Let results overwrite the arguments that they replace in the next step, where no later op reads
 * the argument.  SHD_ENOMEM. */
SHD_MUST_CHECK int program_update_in_place(struct program *program, struct shd_error *err);

/* Whether a step starts from state that the previous step left. */
bool program_has_state(const struct program *program);

/* Whether a step has more than a forward phase. */
bool program_learns(const struct program *program);

/* Whether a step is of serving: it has state, and learns nothing. */
bool program_serves(const struct program *program);

/* ---- the order of a step ---- */

/* The stage axis, and the order in which ranks do their stages. */
struct timetable;
struct program_stages {
    int axis; /* in the program's mesh; its size is the timetable's number of ranks */
    const struct timetable *timetable;
};

/* Set how often and in which order each op runs, once lifetimes are set: all ops run once for each
 * microbatch, except those of arguments, START and UPDATE.  Ops must be sorted by part and stage
 * (program_sort_ops()).  `stages` NULL: one stage.  SHD_EUNSUPPORTED where a microbatch passes an
 * array to the update, or makes a result, without accumulating it; SHD_ENOMEM. */
SHD_MUST_CHECK int program_set_order(struct program *program, uint32_t microbatches,
                                     const struct program_stages *stages, struct shd_error *err);

/* Let op i be the one that was from[i], in place: ops are large.  Overwrites `from`. */
void program_permute_ops(struct program *program, uint32_t *from);

/* Sort ops by part and stage, stably.  SHD_ENOMEM. */
SHD_MUST_CHECK int program_sort_ops(struct program *program, struct shd_error *err);

/* The rank of a device, and whether a rank holds an op's stage. */
uint32_t program_rank(const struct program *program, int32_t position);
bool program_holds(const struct program *program, uint32_t rank, const struct program_op *op);

/* The position with a device's other coordinates on another rank, and on the rank that does
 * `op`. */
int32_t program_peer(const struct program *program, int32_t position, uint32_t rank);
int32_t program_doer(const struct program *program, const struct program_op *op, int32_t position);

/* The axes of the mesh other than the stage axis: those that the devices of one rank span.  Returns
 * how many. */
size_t program_rank_axes(const struct program *program, uint8_t axes[SHD_MESH_AXES_MAX]);

/* One op for one microbatch. */
struct program_action {
    uint32_t op, microbatch;
    bool begins; /* the segment's first op for this microbatch, on this rank */
    bool first;  /* the segment's first turn: sums over microbatches start */
};

/* Iterator over the actions of a rank, without those of arguments. */
struct program_walk {
    const struct program *program;
    uint32_t rank, turn, microbatch, op; /* of the next action */
    bool begins;
};
struct program_walk program_walk_begin(const struct program *program, uint32_t rank);
bool program_walk_next(struct program_walk *walk, struct program_action *out); /* false: the end */

/* The number of a rank's actions in a step. */
uint64_t program_nactions(const struct program *program, uint32_t rank);

/* Number the actions of a rank, by op and then by microbatch: base[op] is the op's first action,
 * UINT64_MAX if the rank does not do it.  Returns how many actions there are. */
uint64_t program_number_actions(const struct program *program, uint32_t rank, uint64_t *base);

/* Set first_op and last_op of every buffer, and first_op and update_op of the program. */
void program_set_lifetimes(struct program *program);

/* ---- reading a program ---- */

/* The collective of a reshard step; -1 for local steps (slice, mask). */
int program_coll_kind(const struct program_op *op);

/* The number of devices in a group of a reshard step. */
uint32_t program_step_nmembers(const struct program_op *op);

/* Whether a reduce-scatter cuts operand `k` into chunks that do not divide evenly: it then
 * exchanges padded chunks from a copy. */
bool program_pads_chunks(const struct program *program, const struct program_op *op, uint32_t k);

/* Whether a backward all-gather gathers an activation that the forward phase, or its recomputation,
 * made: it does not depend on the backward phase itself.  Requires lifetimes. */
bool program_gathers_again(const struct program *program, const struct program_op *op);

/* Whether `op` reads an output of `from`. */
bool program_reads(const struct program_op *op, const struct program_op *from);

/* Whether an op moves bytes between devices. */
bool program_communicates(const struct program_op *op);

/* Whether an op leaves the device's cores to the computations after it: it communicates, copies
 * between device and host, or runs on the host. */
bool program_is_beside(const struct program_op *op);

/* Whether anything is in the host's memory. */
bool program_uses_host(const struct program *program);

/* The bytes that a device of a rank copies to and from the host's memory in a step. */
struct program_host_moved {
    uint128 to_host, from_host;
};
struct program_host_moved program_host_moved(const struct program *program, uint32_t rank);

/* The axes that a group of a communicating op spans: those of a collective, or of a permute or
 * exchange (shd_reshard_step_axes()).  Returns how many; 0 for other ops and for sends between
 * stages. */
size_t program_op_axes(const struct program_op *op, uint8_t axes[SHD_MESH_AXES_MAX]);

/* Whether an op's output follows from several devices' shards, even if the op is local: inspecting
 * it requires the shards of other devices. */
bool program_reads_others(const struct program_op *op);

/* Write the axes that a step runs over, by their names in the asked mesh: "dp,tp", and "tp:(4)2"
 * for a part of tp; cut if needed, returns the length of the whole text. */
size_t program_axes_print(const struct program *program, const uint8_t *axes, uint32_t naxes,
                          char *buf, size_t size);

/* Append the sharding of a buffer like shd_sharding_print(), but write an asked axis whose parts
 * all follow each other by its own name: "[{tp}, {}]", not "[{tp:(1)2,tp:(2)4}, {}]". */
void program_add_sharding(const struct program *program, const struct shd_sharding *sharding,
                          struct text *out);

/* The usual name of a step: "all-gather", "slice", "exchange". */
const char *program_step_name(const struct program_op *op);

/* The algorithm that executes a step, and the shape of its call; NULL for steps without a schedule
 * (local steps and exchanges).  In a collective of several arrays chunk c is the concatenation of
 * their chunks c. */
const struct coll_algo *program_algo(const struct program *program, const struct program_op *op,
                                     struct coll_shape *shape);

/* The offsets that an op's kernel gets on the device at `position`. */
void program_op_offsets(const struct program *program, const struct program_op *op,
                        int32_t position, int64_t offsets[KERN_OFFSETS_MAX]);

/* Floating-point operations of the device at `position` in one run of an op.  They differ between
 * devices only where the kernel has its own dense flops (it skips work by a mask), and then depend
 * on the op's offsets alone. */
uint64_t program_op_flops(const struct program *program, const struct program_op *op,
                          int32_t position);

/* Whether an op's flops differ between devices. */
bool program_op_skips(const struct program_op *op);

/* An axis of the asked mesh, of more than one device. */
struct program_work_axis {
    bool idle;       /* the axis shards no work at all */
    double repeated; /* fraction of the dense flops, 0 to 1, in ops that the axis does not fully
                        shard */
    int32_t times;   /* largest number of times that devices along the axis repeat an op */
};

/* The step's flops, compared with one device working on whole arrays. */
struct program_work {
    uint128 unsharded_flops;
    uint128 model_flops; /* without skipping by a mask, and without recomputation: the flops of
                            MFU */
    uint128 causal_flops; /* of these, causal attention's: of fused kernels; Megatron-LM counts half */
    uint128 again_flops; /* recomputation, counted alike: the flops of HFU are model_flops plus
                            these */
    struct program_work_axis axes[SHD_MESH_AXES_MAX]; /* [axis of asked_mesh] */
};
void program_work(struct program_work *out, const struct program *program);

/* Bit mask of the axes that an op's flops may depend on: those that shard a dimension whose offset
 * the kernel gets, if the kernel skips work by offset. */
uint32_t program_flops_axes(const struct program *program, const struct program_op *op);

/* Bytes that the device at a position receives and sends in one run of an op, from the algorithm's
 * closed form or the fetched boxes: no schedule is walked. */
struct program_moved {
    uint64_t received, sent;
};
struct program_moved program_moved(const struct program *program, const struct program_op *op,
                                   int32_t position);

/* Bytes that all devices together receive: in one run of an op, and in a reshard step (not yet an
 * op) of an array of `shape` with the given algorithms (by collective; entries may be NULL).  The
 * time does not grow with the number of devices, unless group members receive different amounts. */
uint128 program_received_by_all(const struct program *program, const struct program_op *op);
uint128 program_step_received(const struct shd_reshard_step *step, const int64_t *shape,
                              enum shd_dtype dtype, const struct coll_algo *const *algos);

/* Call `fn` for each move of the schedule, or fetched box, that brings bytes to a position from
 * another device, until it returns false.  A source may come several times. */
typedef bool (*program_transfer_fn)(void *arg, int32_t source, uint64_t bytes);
void program_transfers(const struct program *program, const struct program_op *op, int32_t position,
                       program_transfer_fn fn, void *arg);

#define PROGRAM_DEAD_MAX (PROGRAM_INPUTS_MAX + PROGRAM_OUTPUTS_MAX + 1)

/* Store the buffers that are freed after op `i`, each once, and return how many there are. */
uint32_t program_dead_buffers(const struct program *program, uint32_t i,
                              uint32_t dead[PROGRAM_DEAD_MAX]);

/* Whether an op's output needs new memory: not if the op adds to an existing buffer, or overwrites
 * an argument. */
bool program_allocates(const struct program *program, const struct program_op *op, uint32_t output,
                       bool first);

/* The highest number of live bytes on one device, and their uses at that time. */
struct program_memory {
    uint128 peak_bytes;
    uint128 uses[PROGRAM_NUSES]; /* at the first op with the peak; their sum is peak_bytes */
    uint32_t op, microbatch;     /* the op at the peak */
};
void program_memory(struct program_memory *out, const struct program *program, uint32_t rank);

/* Callbacks for the memory of a rank's devices in a step, in the order of its actions. */
struct program_memory_watch {
    /* A buffer is allocated (alive) or freed.  Several microbatches may each hold a copy of it. */
    void (*buffer)(void *arg, uint32_t buffer, bool alive);
    /* An op while all its inputs and outputs are live; its workspace is live, too. */
    void (*op)(void *arg, uint32_t op, uint32_t microbatch);
    void *arg;
    bool of_host; /* tell of the buffers in the host's memory instead of the device's */
};

/* Walk a step.  Of several microbatches in one turn only the first two are walked: the others are
 * like the second. */
void program_memory_walk(const struct program *program, uint32_t rank,
                         const struct program_memory_watch *watch);

/* Elements of all parameters, as whole arrays; and of those that are learned. */
double program_parameters(const struct program *program);
double program_learned(const struct program *program);

/* The highest number of live bytes in the host's memory for one device of a rank. */
uint128 program_host_peak_bytes(const struct program *program, uint32_t rank);

/* The rank with the highest peak memory, and its bytes. */
uint32_t program_peak_rank(const struct program *program);
uint128 program_peak_bytes(const struct program *program);

/* The average fraction of the microbatches' time in which ranks of a pipeline are idle, 0 to 1,
 * with a flop as the unit of time and transfers that take no time. 0 with one rank.  SHD_ENOMEM. */
SHD_MUST_CHECK int program_bubble(double *out, const struct program *program,
                                  struct shd_error *err);

const char *program_use_name(enum program_use use); /* "activations", "parameters", ... */

const char *program_kind_name(enum program_op_kind kind);
const char *program_phase_name(uint8_t phase); /* "forward", "backward", "optimizer" */

#endif /* PROGRAM_PROGRAM_H */
