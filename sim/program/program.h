/* program.h - what each device does, as plain data: ops, buffers with lifetimes, collectives.
 *
 * All devices of the mesh do the same ops on shards of the same extents (only offsets and peers
 * differ, and follow from the shardings), so a program is written down once, whatever the number of
 * devices.  Everything reads this one text: execution, plan, explanation, tests.
 *
 * In a pipeline an op belongs to a stage, and only the devices of the stage's rank do it: those
 * with that coordinate on the axis of stages, which shards no array.  Ops lie in segments, and each
 * rank goes through its segments in an order of its own, its turns: which segment for which
 * microbatch.  Where there is one stage, there is one rank, all devices.
 *
 * A buffer is one array's shard.  It comes to life at the op that writes it and is freed after the
 * op that reads it last, for each microbatch; arguments and results stay to the end.
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

#define PROGRAM_NONE UINT32_MAX /* in place of a number of a buffer or op: there is none */
#define PROGRAM_RANK_MAX 8      /* dimensions of an array */

/* Bytes of a shard, 32 PiB: whatever algorithm moves a buffer, or as many as one op has, the bytes
 * that it brings to a device fit a uint64_t. */
#define PROGRAM_SHARD_BYTES_MAX (UINT64_C(1) << 55)

/* What the memory of a buffer is for. */
enum program_use {
    PROGRAM_ACTIVATIONS, /* values of the forward and the backward phase, and their gradients */
    PROGRAM_PARAMETERS,
    PROGRAM_GRADIENTS, /* of parameters */
    PROGRAM_OPTIMIZER, /* its state, from step to step */
    PROGRAM_GATHERED,  /* parameters in another sharding than their own */
    PROGRAM_DATA,      /* inputs of the step */
    PROGRAM_WORKSPACE, /* of one op, or of the update */
    PROGRAM_NUSES
};

struct program_buffer {
    enum program_use use;
    const char *name; /* of the array; several buffers may hold shardings of one array */
    enum shd_dtype dtype;
    enum shd_dtype stored; /* the type that was asked for, where it is computed in another */
    uint32_t rank;
    int64_t shape[PROGRAM_RANK_MAX]; /* of the whole array, with padding (graph/pad.h) */
    int64_t held[PROGRAM_RANK_MAX];  /* without it */
    int64_t local[PROGRAM_RANK_MAX]; /* of the shard */
    struct shd_sharding sharding;
    uint64_t bytes;             /* of the shard, and ... */
    uint64_t room_bytes;        /* ... of these behind its elements: room for the padding of the
                                   pieces that it is made of or cut into (reshard.h), or for a
                                   copy whose chunks are padded */
    uint32_t first_op, last_op; /* the op that writes it, and the one after which it is freed; nops:
                                   never */
    bool argument;              /* filled before the step begins */
    uint32_t over; /* an argument whose memory it takes: written over what the next step
                      does not want; else PROGRAM_NONE */
};

/* Bytes and elements of a shard, without the room behind them. */
static inline uint64_t program_buffer_filled(const struct program_buffer *buffer)
{
    return buffer->bytes - buffer->room_bytes;
}

static inline uint64_t program_buffer_count(const struct program_buffer *buffer)
{
    return program_buffer_filled(buffer) / shd_dtype_size(buffer->dtype);
}

#define PROGRAM_PHASE_UPDATE 2 /* of struct program_op's: what is done once a step */

enum program_op_kind {
    PROGRAM_FILL,    /* an argument, or data of a microbatch: written from its source */
    PROGRAM_KERNEL,  /* local math */
    PROGRAM_RESHARD, /* one step from one sharding of an array to another; a collective of several
                        arrays has one of each as inputs and outputs, all of the same type, and
                        dimensions of the step that hold for each */
    PROGRAM_SEND,    /* to the devices of another rank, with the same other coordinates: reads one
                        array, and does not wait for who receives it */
    PROGRAM_RECV,    /* what was sent so: writes one array, in the same sharding */
    PROGRAM_ROWS,    /* rows that ids and slots tell go to experts or back: reads an array, ids and
                        slots, writes one array; rows.h */
    PROGRAM_NKINDS
};

/* The parts of a step, in the order in which a stage comes to them. */
enum program_part {
    PROGRAM_ARGUMENTS,
    PROGRAM_START, /* once a step, before the first microbatch */
    PROGRAM_FORWARD,
    PROGRAM_BACKWARD, /* where a schedule splits this phase: all but ... */
    PROGRAM_WEIGHTS,  /* ... what only gradients of parameters come of */
    PROGRAM_UPDATE,   /* once a step, after the last */
    PROGRAM_NPARTS
};

/* The part that ops of a phase are of, unless they say another. */
enum program_part program_part_of_phase(uint8_t phase);

/* Whether a step does a part once, not for each microbatch. */
static inline bool program_part_is_once(enum program_part part)
{
    return part == PROGRAM_START || part == PROGRAM_UPDATE;
}

/* How often a step of so many microbatches does a part. */
static inline uint32_t program_part_times(enum program_part part, uint32_t microbatches)
{
    return program_part_is_once(part) ? 1 : microbatches;
}

#define PROGRAM_INPUTS_MAX KERN_MAP_INPUTS_MAX
#define PROGRAM_PARTS_MAX 8 /* arrays of one collective */
#define PROGRAM_OUTPUTS_MAX PROGRAM_PARTS_MAX
_Static_assert(PROGRAM_PARTS_MAX <= PROGRAM_INPUTS_MAX && KERN_OUTPUTS_MAX <= PROGRAM_OUTPUTS_MAX,
               "an op has room for what it reads and writes");

/* A kernel's offset: where a device's shard of a buffer starts along a dimension. */
struct program_offset {
    uint32_t buffer, dim;
};

/* How rows go between tokens and experts: rows.h. */
struct program_rows {
    bool combines;                            /* experts' rows go to tokens, else tokens to rows */
    uint32_t groups;                          /* of the batch, each with slots of its own */
    const struct kern_routing *routing;       /* what is planned; not owned */
    const struct program_rows_counts *counts; /* the program's */
    uint8_t naxes; /* along which rows come from other devices, ascending; 0: all are there */
    uint8_t axes[SHD_MESH_AXES_MAX];
};

struct program_op {
    enum program_op_kind kind;
    uint8_t phase; /* enum graph_phase's number: 0 forward, 1 backward, 2 optimizer */
    uint8_t part;  /* enum program_part */
    uint32_t stage;
    const char *name; /* which op of the model this is, or which one asked for the step */
    const char *why;  /* a sentence for steps that communicate, else NULL */
    uint32_t ninputs, noutputs, noffsets;
    uint32_t inputs[PROGRAM_INPUTS_MAX]; /* buffers */
    uint32_t outputs[PROGRAM_OUTPUTS_MAX];
    struct program_offset offsets[KERN_OFFSETS_MAX];
    uint64_t workspace_bytes;         /* lives during the op only */
    uint64_t dense_flops;             /* of one device, nothing skipped for a mask */
    uint64_t unsharded_flops;         /* of the op on whole arrays, by one device */
    uint64_t model_flops;             /* the same, nothing skipped for a mask, without what its
                                         kernel does once more */
    uint32_t cut_axes;                /* bit a: axis a of the mesh shards the work */
    uint32_t times;                   /* that a step does it: once, or for each microbatch */
    bool again;                       /* of the forward phase, done once more */
    bool accumulates;                 /* a kernel that adds to what it wrote for the microbatches
                                         before, zeros for the first: that is its first input, which
                                         `inputs` lacks */
    const struct kern_kernel *kernel; /* PROGRAM_KERNEL */
    union {
        struct kern_source source; /* PROGRAM_FILL */
        union kern_desc desc;      /* PROGRAM_KERNEL */
        struct shd_reshard_step reshard;
        struct program_rows rows; /* PROGRAM_ROWS */
        uint32_t channel; /* PROGRAM_SEND, PROGRAM_RECV: the number that only these two have */
    };
};

/* Ops in a row that are done in one go, for a microbatch or once a step.  A device leaves out those
 * of stages that its rank does not hold. */
struct program_segment {
    enum program_part part;
    uint32_t stage; /* of those of microbatches */
    uint32_t first_op, end_op;
};

/* Whether a segment is done once a step, not for each microbatch. */
static inline bool program_segment_is_once(const struct program_segment *segment)
{
    return program_part_is_once(segment->part);
}

/* A segment for `count` microbatches, one after the other. */
struct program_turn {
    uint32_t segment, microbatch, count;
    bool first; /* of this segment: sums over microbatches begin */
};

enum program_result_kind {
    PROGRAM_OUTPUT,
    PROGRAM_LOSS,
    PROGRAM_GRADIENT,
    PROGRAM_NEXT /* takes the place of an argument when the next step begins */
};

struct program_result {
    enum program_result_kind kind;
    const char *name;
    uint32_t buffer;
    uint32_t of; /* PROGRAM_NEXT: the argument's buffer, of the same sharding; else PROGRAM_NONE */
};

struct program {
    const struct shd_mesh *mesh;           /* of all shardings; its axes may be parts of the ... */
    const struct shd_mesh *asked_mesh;     /* ... mesh that was asked for; the same positions */
    struct shd_mesh *own_mesh;             /* owned: `mesh` where it differs from that; else NULL */
    uint8_t asked_axis[SHD_MESH_AXES_MAX]; /* by axis of `mesh`: the asked one that it is part of */
    struct program_buffer *buffers;
    uint32_t nbuffers;
    struct program_op *ops;
    uint32_t nops;
    uint32_t microbatches; /* of a step, at least 1 */
    uint32_t first_op;     /* behind the arguments' */
    uint32_t update_op;    /* the first that a step does once, when all microbatches are done */
    int stage_axis;        /* that tells ranks apart; -1: there is one rank, and one stage */
    uint32_t nstages, nranks;
    uint32_t *rank_of_stage; /* NULL: all on rank 0 */
    struct program_segment *segments;
    uint32_t nsegments;
    struct program_turn *turns; /* of rank r: from first_turn[r] to first_turn[r + 1] - 1 */
    uint32_t *first_turn;
    struct program_channel {
        uint32_t send, recv; /* ops */
    } * channels;
    uint32_t nchannels;
    uint32_t *frames; /* buffers of which each microbatch that is under way has one of its own, from
                         one segment to another */
    uint32_t nframes;
    struct program_result *results;
    uint32_t nresults;
    const struct coll_algo *algos[COLL_NKINDS]; /* asked for by the scenario; NULL: the default */
    struct program_rows_counts *rows_counts;    /* of all PROGRAM_ROWS */
    const char *note; /* what the partitioner left out, a sentence; NULL: nothing */
    struct program_text *texts;
    bool failed; /* there was no memory for a text: not to be used */
};

struct program *program_create(const struct shd_mesh *mesh); /* NULL: no memory */
void program_destroy(struct program *program);               /* NULL is allowed */

/* Set `algos`; NULL: the defaults. */
void program_ask_algos(struct program *program, const struct coll_algo *const *algos);

/* A text that lives as long as the program.  Without memory for it, "" and a failed program. */
const char *program_text(struct program *program, const char *fmt, ...) SHD_PRINTF(2, 3);

/* Add a buffer for an array in a sharding; SHD_EINDIVISIBLE, SHD_ENOMEM, SHD_ERANGE. */
SHD_MUST_CHECK int program_add_buffer(uint32_t *out, struct program *program, const char *name,
                                      enum shd_dtype dtype, const int64_t *shape,
                                      const struct shd_sharding *sharding, struct shd_error *err);

/* Let a buffer have so many bytes at least, room behind its elements. */
void program_make_room(struct program *program, uint32_t buffer, uint64_t bytes);

/* The same for what a step of one array, with its buffers, needs behind the elements of these: the
 * padding of the last of the pieces of a shard that it makes, or cuts while it combines them; a
 * copy of an operand whose chunks have to be padded. */
void program_make_step_room(struct program *program, const struct program_op *op);

/* Append an op (copied). SHD_ENOMEM. */
SHD_MUST_CHECK int program_add_op(struct program *program, const struct program_op *op,
                                  struct shd_error *err);

SHD_MUST_CHECK int program_add_result(struct program *program, enum program_result_kind kind,
                                      const char *name, uint32_t buffer, struct shd_error *err);

/* Make a buffer what the argument `of` is in the next step; SHD_EINVAL where it is an argument or a
 * result already, or is not sharded as the argument is. */
SHD_MUST_CHECK int program_add_next(struct program *program, const char *name, uint32_t buffer,
                                    uint32_t of, struct shd_error *err);

/* Have what a step leaves to the next written over what it replaces, where nothing reads that any
 * more.  SHD_ENOMEM. */
SHD_MUST_CHECK int program_update_in_place(struct program *program, struct shd_error *err);

/* Whether a step begins with what the step before left. */
bool program_has_state(const struct program *program);

/* ---- the order of a step ---- */

/* Where stages lie, and in which order ranks go through them. */
struct timetable;
struct program_stages {
    int axis; /* of the program's mesh; as many coordinates as the timetable has ranks */
    const struct timetable *timetable;
};

/* Set which op is done how often and in which order, when lifetimes are set: all but arguments and
 * the optimizer's phase for each microbatch.  Ops must be sorted by part and stage
 * (program_sort_ops()).  `stages` NULL: one stage.  SHD_EUNSUPPORTED where a microbatch leaves an
 * array to the update, or a result, that is not accumulated; SHD_ENOMEM. */
SHD_MUST_CHECK int program_set_order(struct program *program, uint32_t microbatches,
                                     const struct program_stages *stages, struct shd_error *err);

/* Put ops in the order of their parts and stages; those of one keep their order.  SHD_ENOMEM. */
SHD_MUST_CHECK int program_sort_ops(struct program *program, struct shd_error *err);

/* The rank of a device, and whether a rank holds an op's stage. */
uint32_t program_rank(const struct program *program, int32_t position);
bool program_holds(const struct program *program, uint32_t rank, const struct program_op *op);

/* The position with a device's coordinates, but on another rank; on the one that does an op. */
int32_t program_peer(const struct program *program, int32_t position, uint32_t rank);
int32_t program_doer(const struct program *program, const struct program_op *op, int32_t position);

/* All axes of the mesh but that of stages: those of the devices of one rank.  Returns how many. */
size_t program_rank_axes(const struct program *program, uint8_t axes[SHD_MESH_AXES_MAX]);

/* An op for a microbatch. */
struct program_action {
    uint32_t op, microbatch;
    bool begins; /* the first op of its segment for this microbatch, on this rank */
    bool first;  /* its segment was not done before: sums over microbatches begin */
};

/* A walk through the actions of a rank, without the arguments'. */
struct program_walk {
    const struct program *program;
    uint32_t rank, turn, microbatch, op; /* of the next one */
    bool begins;
};
struct program_walk program_walk_begin(const struct program *program, uint32_t rank);
bool program_walk_next(struct program_walk *walk, struct program_action *out); /* false: the end */

/* How many actions a rank has in a step. */
uint64_t program_nactions(const struct program *program, uint32_t rank);

/* Give each action of a rank a number, by op and then by microbatch: an op's first goes to base[op]
 * (UINT64_MAX: it has none).  Returns how many there are. */
uint64_t program_number_actions(const struct program *program, uint32_t rank, uint64_t *base);

/* Set first_op and last_op of every buffer, and of the program, from the ops and results. */
void program_set_lifetimes(struct program *program);

/* ---- reading a program ---- */

/* The collective of a reshard step; -1 for the local ones (slice, mask). */
int program_coll_kind(const struct program_op *op);

/* How many devices a step's collective joins. */
uint32_t program_step_nmembers(const struct program_op *op);

/* Whether a step cuts its operand `k` into chunks that do not divide while it combines it: these
 * are exchanged padded, from a copy. */
bool program_pads_chunks(const struct program *program, const struct program_op *op, uint32_t k);

/* Whether the op gathers in the backward phase what the forward phase made, or made again: it waits
 * for nothing of the backward phase itself.  When lifetimes are set. */
bool program_gathers_again(const struct program *program, const struct program_op *op);

/* Whether an op reads what another one makes. */
bool program_reads(const struct program_op *op, const struct program_op *from);

/* Whether the op moves bytes between devices. */
bool program_communicates(const struct program_op *op);

/* The axes along which the devices of an op that communicates in groups lie: those of a collective,
 * or of a permute or exchange (shd_reshard_step_axes()).  Returns how many; 0 of others, and of
 * what is sent between stages. */
size_t program_op_axes(const struct program_op *op, uint8_t axes[SHD_MESH_AXES_MAX]);

/* Whether what the op makes follows from what several devices have, though it may be local: who
 * looks at it looks at the shards of others. */
bool program_reads_others(const struct program_op *op);

/* Write the axes that a step runs over, by the names people gave them: "dp,tp", and "tp:(4)2" for a
 * part of tp; cut if needed, returns the length of the whole text. */
size_t program_axes_print(const struct program *program, const uint8_t *axes, uint32_t naxes,
                          char *buf, size_t size);

/* Add the sharding of a buffer as shd_sharding_print() does, but an axis whose parts are all there,
 * in their order, by the name people gave it: "[{tp}, {}]", not "[{tp:(1)2,tp:(2)4}, {}]". */
void program_add_sharding(const struct program *program, const struct shd_sharding *sharding,
                          struct text *out);

/* The word people use for the step: "all-gather", "slice", "exchange". */
const char *program_step_name(const struct program_op *op);

/* The algorithm that executes the step, and its shape for a group member's schedule; NULL for
 * steps that are not scheduled (local ones and exchanges).  Of several arrays chunk c is the chunks
 * c of all, one after the other. */
const struct coll_algo *program_algo(const struct program *program, const struct program_op *op,
                                     struct coll_shape *shape);

/* The offsets that an op's kernel gets on the device at `position`. */
void program_op_offsets(const struct program *program, const struct program_op *op,
                        int32_t position, int64_t offsets[KERN_OFFSETS_MAX]);

/* Floating-point operations that the device at `position` does in an op.  They differ from device
 * to device only where the kernel has dense flops of its own (work is skipped for a mask), and then
 * by the op's offsets alone. */
uint64_t program_op_flops(const struct program *program, const struct program_op *op,
                          int32_t position);

/* Whether these flops differ from device to device. */
bool program_op_skips(const struct program_op *op);

/* An axis of the mesh that was asked for, of more than one device. */
struct program_work_axis {
    bool idle;       /* it shards no work at all */
    double repeated; /* part of the dense flops, 0 to 1, of ops that it does not shard (wholly) */
    int32_t times;   /* that they are done along it, at most */
};

/* The step's work against that of one device with whole arrays. */
struct program_work {
    uint128 unsharded_flops;
    uint128 model_flops; /* of one device, nothing skipped for a mask and nothing done again: what
                            MFU counts */
    uint128 again_flops; /* likewise, of ops that are done once more: with these it is HFU's */
    struct program_work_axis axes[SHD_MESH_AXES_MAX]; /* of `asked_mesh` */
};
void program_work(struct program_work *out, const struct program *program);

/* The axes (a bit each) that an op's flops may depend on: those that cut a dimension in which its
 * kernel is told the offset, where it skips work by that. */
uint32_t program_flops_axes(const struct program *program, const struct program_op *op);

/* Bytes that the device at a position receives from others in an op, done once, and sends to
 * others, by the algorithm's closed form or by the boxes: nothing is walked. */
struct program_moved {
    uint64_t received, sent;
};
struct program_moved program_moved(const struct program *program, const struct program_op *op,
                                   int32_t position);

/* Bytes that all devices receive in an op, done once, and in a step that is not yet an op, for an
 * array of `shape`, under the algorithms asked for (by collective; entries may be NULL).  Neither
 * takes longer for more devices, but where members of a group receive different amounts. */
uint128 program_received_by_all(const struct program *program, const struct program_op *op);
uint128 program_step_received(const struct shd_reshard_step *step, const int64_t *shape,
                              enum shd_dtype dtype, const struct coll_algo *const *algos);

/* Call for each move of the schedule, or box, that brings bytes to a position in an op from another
 * one, which may come several times; until the call returns false. */
typedef bool (*program_transfer_fn)(void *arg, int32_t source, uint64_t bytes);
void program_transfers(const struct program *program, const struct program_op *op, int32_t position,
                       program_transfer_fn fn, void *arg);

#define PROGRAM_DEAD_MAX (PROGRAM_INPUTS_MAX + PROGRAM_OUTPUTS_MAX)

/* Store the buffers that end with op `i`, each once, and return how many there are. */
uint32_t program_dead_buffers(const struct program *program, uint32_t i,
                              uint32_t dead[PROGRAM_DEAD_MAX]);

/* Whether an op's result needs new memory: not where the op adds to what is there, or writes over
 * an argument. */
bool program_allocates(const struct program *program, const struct program_op *op, uint32_t output,
                       bool first);

/* Bytes of live buffers at their highest on one device, and what they are for then. */
struct program_memory {
    uint128 peak_bytes;
    uint128 uses[PROGRAM_NUSES]; /* at the first op with that peak; they add up to it */
    uint32_t op, microbatch;     /* that op */
};
void program_memory(struct program_memory *out, const struct program *program, uint32_t rank);

/* What is told of the memory of a rank's devices in a step, in the order of its actions. */
struct program_memory_watch {
    /* A buffer is taken (alive), or freed; of different microbatches it may be taken several times
     * before it is freed. */
    void (*buffer)(void *arg, uint32_t buffer, bool alive);
    /* An op, when all that it reads and writes is there; its workspace is alive, too. */
    void (*op)(void *arg, uint32_t op, uint32_t microbatch);
    void *arg;
};

/* Walk a step.  Of microbatches that are done in a row, one segment for all, the first two are
 * walked: the others are like the second. */
void program_memory_walk(const struct program *program, uint32_t rank,
                         const struct program_memory_watch *watch);

/* Elements of all parameters, as whole arrays. */
double program_parameters(const struct program *program);

/* The rank of a pipeline that has most, and its bytes. */
uint32_t program_peak_rank(const struct program *program);
uint128 program_peak_bytes(const struct program *program);

/* The part of the microbatches' time that ranks of a pipeline are idle, on average: 0 to 1, where a
 * flop is the unit of time and transfers take none.  0 with one rank.  SHD_ENOMEM. */
SHD_MUST_CHECK int program_bubble(double *out, const struct program *program,
                                  struct shd_error *err);

const char *program_use_name(enum program_use use); /* "activations", "parameters", ... */

const char *program_kind_name(enum program_op_kind kind);
const char *program_phase_name(uint8_t phase); /* "forward", "backward", "optimizer" */

#endif /* PROGRAM_PROGRAM_H */
