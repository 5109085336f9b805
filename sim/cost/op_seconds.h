/* op_seconds.h - the time of each op of a program on a stated cluster.
 *
 * The work of an op comes from the program: flops and bytes from its kernel, a product's extents
 * from its description, a collective's operand from its buffers.  Rates come from the cluster
 * (hardware/hardware.h).  The plan, the price of a layout and an explanation read the same figures.
 *
 * If the cluster's software fuses consecutive memory-bound ops into one kernel (a chain), the first
 * op has the time of the whole chain: a value that only the chain reads is never written.  Engines
 * that serve make numbers of codes inside of the product that reads them: the product is a chain
 * with what makes them, of codes and scales in place of numbers.
 *
 * Thread class: immutable once created; pure functions of it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COST_OP_SECONDS_H
#define COST_OP_SECONDS_H

#include "hardware/hardware.h"
#include "hardware/reshard.h"
#include "hardware/steps.h"
#include "program/program.h"

/* The steps of an algorithm that a scenario asks for, over groups along some axes of the mesh. */
struct op_schedule {
    const struct coll_algo *algo;
    struct shd_groups groups; /* on the mesh that counts */
    struct hardware_steps steps[HARDWARE_NSTEPS];
};
/* What an op moves instead of its kernel's own bytes. */
struct op_moves {
    bool elsewhere; /* the op takes no time: another op of its chain takes the time of both */
    double bytes;   /* of the chain that has its time there, without ...; 0: the op is no chain */
    double rows; /* ... capacity of the experts' row buffers; a device moves only the filled part */
    uint32_t taken; /* ... as in this buffer */
    double unread;  /* bytes of the operands of a product that codes are read in place of, more than
                       these have; of a product of experts the part that it touches counts */
    enum kernel_type type; /* of models of measured kernels, if `coded` */
    bool coded;            /* operands are codes that the kernel reads itself */
    bool hidden; /* the op takes no time of the step: it runs beside others that take longer */
    uint32_t first;   /* an expert's product: the first of the ops of experts that end with it, ... */
    double starts_s;  /* ... and the host's time to start these; 0: the op has to wait for none */
    double crossing; /* of an exchange of experts' rows, as in struct hardware_group */
    double columns, beside_flops, beside_bytes; /* of further matmuls merged into the kernel */
};
#define OP_SCHEDULES_MAX 16 /* kept; those of more are walked again for each op */

struct op_seconds {
    const struct program *program;   /* not owned */
    const struct hardware *hardware; /* not owned, or `served` */
    struct hardware *served;         /* as the kind of step uses it; NULL: as its file says */
    bool prompts;     /* of a step that takes prompts in */
    uint32_t host_op; /* the kernel before which the host prepares such a step; PROGRAM_NONE */
    double host_s;    /* time that devices wait for the host before host_op */
    const struct shd_mesh *mesh; /* not owned: the program's, or that of op_seconds_lay() */
    struct op_schedule schedules[OP_SCHEDULES_MAX];
    size_t nschedules;
    bool resized;                    /* the mesh has axis sizes unlike the program's: */
    double sizes[SHD_MESH_AXES_MAX]; /* those of the program's axes there */
    struct op_moves *moves;          /* [op]; all zeros: the kernel's own */
};

/* SHD_ENOMEM. */
SHD_MUST_CHECK int op_seconds_init(struct op_seconds *out, const struct program *program,
                                   const struct hardware *hardware, struct shd_error *err);
void op_seconds_fini(struct op_seconds *seconds);

/* Let groups lie on the cluster as in a mesh of the same axes in another order, which is not owned.
 *
 * Axes that shard only parameters and what belongs to them may also have other sizes: transfers,
 * and chains of ops, then take what the program of that mesh takes at least, if the axes have no
 * more devices than in this program. */
void op_seconds_lay(struct op_seconds *seconds, const struct shd_mesh *mesh);

/* ---- op_groups.c ---- */

/* Axes of the program's mesh as those of the mesh that op_seconds_lay() has set. */
void op_seconds_find_axes(const struct op_seconds *seconds, uint8_t *axes, size_t naxes);

/* The group along axes of the program's mesh; `axes` become those of the other mesh. */
void op_seconds_group_along(struct hardware_group *out, const struct op_seconds *seconds,
                            uint8_t *axes, size_t naxes);

/* The group of an op that communicates in groups. */
void op_seconds_group(struct hardware_group *out, const struct op_seconds *seconds, uint32_t op);

/* Find what crosses in each exchange of experts' rows, as groups are laid out, where the software
 * dispatches by node.  DeepEP and HybridEP, Megatron's dispatcher `flex`, send a token's row once to
 * each node that has experts of it, and from there to the devices of these; results are added up in
 * their node on the way back.  The program has rows sent directly, and its bytes are counted so:
 * the time alone is that of an exchange by nodes.  Where a scenario has moe.node_axis the program
 * itself goes by nodes. */
void op_seconds_cross(struct op_seconds *seconds);

/* ---- op_work.c ---- */

/* Bytes of a buffer on a device, as laid out; with axes of other sizes the least that a part of an
 * array has. */
double op_seconds_bytes(const struct op_seconds *seconds, uint32_t buffer);

/* The type of codes by whose rate a product runs: with codes of two types, the wider one. */
enum shd_dtype op_seconds_code(const struct kern_coded *coded);

/* The experts, as many as are expected, whose weights a product of experts reads on a device; 0: it
 * is none. */
double op_seconds_experts(const struct program *program, const struct program_op *op,
                          int32_t position);

/* Whether the kernel of an op is of a kind, which is the same on all devices. */
bool op_seconds_is_kind(const struct program_op *op, enum hardware_work_kind kind);

/* What the kernel of an op does, wherever it runs, for the position of a device; false: it has
 * none. */
bool op_seconds_set_work(struct hardware_work *out, const struct op_seconds *seconds,
                         const struct program_op *op, int32_t position);

/* What the kernel of an op does on the device at a position, done once.  False: the op has none on
 * the device. */
bool op_seconds_work(struct hardware_work *out, const struct op_seconds *seconds, uint32_t op,
                     int32_t position);

/* ---- op_seconds.c ---- */

/* As op_seconds_work(), with the bytes of the chain that begins with the op.  False also for the
 * other ops of a chain. */
bool op_seconds_timed(struct hardware_work *out, const struct op_seconds *seconds, uint32_t op,
                      int32_t position);

/* The resource that bounds the time of an op's kernel; meaningless for an op without a kernel. */
enum hardware_bound op_seconds_bound(const struct op_seconds *seconds, uint32_t op,
                                     int32_t position);

/* The collective that an op which communicates in groups is timed as; rows of experts count as an
 * all-to-all of the same bytes, or as the sum that engines of serving make of them. */
void op_seconds_transfer(struct hardware_transfer *out, const struct op_seconds *seconds,
                         uint32_t op, int32_t position);

/* The stream of an op beside the computations (cost/events.h).  Of transfers between devices: one
 * stream a tier.  On a torus one stream for each axis, which has links of its own; a transfer along
 * several axes uses the first axis's stream. */
unsigned op_seconds_stream(const struct op_seconds *seconds, uint32_t op);

/* Seconds of a buffer's message from device to device.  `along`: mesh axes (a bit each) along which
 * devices with the same shard share in sending it, if software does so.
 */
double op_seconds_message(const struct op_seconds *seconds, int64_t from, int64_t to,
                          uint32_t buffer, uint32_t along);

/* Seconds of an op on the device at a position, done once.  A send takes 0: its receive has the
 * time.
 */
double op_seconds_of(const struct op_seconds *seconds, uint32_t op, int32_t position);

/* Lower bound on the seconds of the chain that begins with an op, however the chain is split. *end
 * is the op behind the chain; 0, and the op itself: no chain begins there. */
double op_seconds_chain(const struct op_seconds *seconds, uint32_t op, uint32_t *end);

/* Whether op_seconds_of() is equal on every device of the op's rank. */
bool op_seconds_even(const struct op_seconds *seconds, uint32_t op);

#endif /* COST_OP_SECONDS_H */
