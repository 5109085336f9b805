/* torch_trace.h - the trace of one rank of a PyTorch job, in the form both readers share: nested
 * events, and the recorded data of collective calls.
 *
 * A collective is recorded several times: as an op (`c10d::allreduce_`), by the process group
 * inside it (`record_param_comms`), as a label (`nccl:all_reduce`) and as a kernel.  The most
 * detailed record counts: the process group's, else the op, else the label, else the kernel.
 *
 * Pieces refer to the text that is read, which must live until torch_trace_finish() has returned.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CAPTURE_TORCH_TRACE_H
#define CAPTURE_TORCH_TRACE_H

#include "base/json_text.h"
#include "capture/torch_ops.h"
#include "capture/traces.h"

#define TORCH_UNKNOWN (-1)

enum torch_role {
    TORCH_STEP,       /* a step, ProfilerStep#N */
    TORCH_SCOPE,      /* a scope named by the program */
    TORCH_BACKWARD,   /* the backward of an op */
    TORCH_FUNCTIONAL, /* _c10d_functional::all_reduce, which names its group */
    TORCH_OWN,        /* a collective under a library's own name (torch_own.h) */
    TORCH_OP,
    TORCH_GROUP_CALL, /* record_param_comms */
    TORCH_LABEL,
    TORCH_KERNEL
};

/* An event on a thread; times in any unit. */
struct torch_event {
    enum torch_role role;
    uint64_t thread;
    int64_t begin, end;
    struct json_piece name;
    uint32_t call; /* number of its call; of a functional op too, whose call has the group's name */
};

/* A call, with all known data. */
struct torch_call {
    struct json_text at; /* its place in the file */
    struct json_piece name;
    const struct torch_op *op; /* NULL: unknown */
    enum torch_role role;
    int64_t begin;
    int64_t in_elements, out_elements; /* of this rank; TORCH_UNKNOWN if not recorded, as for all
                                          below */
    int64_t element_bytes;
    int64_t npieces; /* arrays moved at once; at least 1 */
    struct json_piece group_name, group_ranks;
    int64_t group_size, group_start, group_stride;
    int64_t record; /* correlation id by which kernels name their launching record */
    int64_t own;    /* this rank's number in the group */
    int64_t other;  /* other rank of a message, by its number in the job */
    int64_t other_in_group;
    bool async;
    /* Set by torch_nest(): */
    bool counted, backward, taken; /* taken: a label that belongs to an op */
    bool launches;                 /* a kernel names it; set by torch_own_count_kernels() */
    int64_t step;
    struct json_piece where;
};

/* A process group that the trace describes. */
struct torch_group {
    struct json_piece name, id, description, ranks;
    int64_t size;
    uint32_t group; /* number in the traces + 1; 0: not resolved yet */
};

/* A kernel whose name is that of a collective. */
struct torch_kernel {
    int64_t record; /* of torch_call; TORCH_UNKNOWN */
    enum coll_kind kind;
    struct json_piece name;
};

struct torch_trace {
    const char *file;
    struct traces *traces;
    struct diag *diag;
    struct torch_event *events;
    struct torch_call *calls;
    struct torch_group *groups;
    struct torch_kernel *kernels;
    uint32_t nevents, ncalls, ngroups, nkernels;
    char *description; /* of the groups, decoded from a string; owned */
    int64_t rank, world;
    bool is_world_told;
    uint64_t nnameless;   /* NCCL kernels without the name of their collective */
    int64_t guessed_size; /* of the last group guessed by size; 0: none */
    uint32_t guessed;     /* number of that group in the traces */
};

/* In torch_room.c. */
void torch_trace_init(struct torch_trace *trace, const char *file, struct traces *traces,
                      struct diag *diag);
void torch_trace_fini(struct torch_trace *trace);

/* Room for one more item of `size` bytes behind the first n, as array_make_room().  False: no
 * memory, which is reported. */
bool torch_trace_grow(struct torch_trace *trace, void *items, uint32_t n, size_t size);

/* Whether a status is an error, which is then reported. */
bool torch_trace_failed(struct torch_trace *trace, int status, const struct shd_error *err);

/* Report an impossible call. */
void torch_trace_refuse(const struct torch_trace *trace, const struct torch_call *call,
                        const char *fmt, ...) SHD_PRINTF(3, 4);

/* A call with all data unknown but its name. */
struct torch_call torch_call_named(struct json_piece name, enum torch_role role);

/* False: no memory, or elements of an unknown type, which is reported. */
bool torch_trace_add_event(struct torch_trace *trace, const struct torch_event *event);
bool torch_trace_add_call(struct torch_trace *trace, const struct torch_call *call,
                          struct torch_event *event);

/* The role of an event by its name.  False: irrelevant. */
bool torch_role_of(enum torch_role *role, struct json_piece name, bool is_scope);

/* The collective in an event's name: "c10d::allreduce_", "nccl:all_reduce". */
struct json_piece torch_op_name(struct json_piece name);

/* In torch_groups.c: read an array of process groups: [{"pg_name": "0", "ranks": [0, 1], ...},
 * ...]. */
bool torch_trace_read_groups(struct torch_trace *trace, struct json_text *j);

/* As torch_trace_read_groups(), from a JSON string with escapes. */
bool torch_trace_read_groups_of_string(struct torch_trace *trace, struct json_piece string);

/* Evaluate the trace: its rank and calls go to the traces. */
void torch_trace_finish(struct torch_trace *trace);

/* In torch_nest.c: find which calls count, and the step, scope and phase of each.  False: no
 * memory.
 */
bool torch_nest(struct torch_trace *trace);

#endif /* CAPTURE_TORCH_TRACE_H */
