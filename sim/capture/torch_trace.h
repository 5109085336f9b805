/* torch_trace.h - the trace of one rank of a PyTorch job, as a reader of either format finds it:
 * what ran when inside of what, and what the calls of collectives say of themselves.
 *
 * The same collective is told several times: as an op (`c10d::allreduce_`), by the process group
 * inside of it (`record_param_comms`), as a label (`nccl:all_reduce`) and as a kernel.  Counted is
 * the one that says most: what the process group tells, else the op, else the label, else the
 * kernel.
 *
 * Pieces are of the text that is read, which must live until torch_trace_finish() has returned.
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
    TORCH_SCOPE,      /* what the program says it does */
    TORCH_BACKWARD,   /* the reverse of an op */
    TORCH_FUNCTIONAL, /* _c10d_functional::all_reduce, which names its group */
    TORCH_OP,
    TORCH_GROUP_CALL, /* record_param_comms */
    TORCH_LABEL,
    TORCH_KERNEL
};

/* What ran on a thread, in any unit of time. */
struct torch_event {
    enum torch_role role;
    uint64_t thread;
    int64_t begin, end;
    struct json_piece name;
    uint32_t call; /* number of the call that it is; of a functional op, whose group is named */
};

/* A call, with what is known of it. */
struct torch_call {
    struct json_text at; /* where it stands */
    struct json_piece name;
    const struct torch_op *op; /* NULL: not known */
    enum torch_role role;
    int64_t begin;
    int64_t in_elements, out_elements; /* of this rank; TORCH_UNKNOWN, as all below */
    int64_t element_bytes;
    int64_t npieces; /* arrays at once; at least 1 */
    struct json_piece group_name, group_ranks;
    int64_t group_size, group_start, group_stride;
    int64_t own;   /* its rank in the group */
    int64_t other; /* the other of a message: by rank, */
    int64_t other_in_group;
    bool async;
    /* As torch_nest() finds them: */
    bool counted, backward, taken; /* taken: a label that is an op's */
    int64_t step;
    struct json_piece where;
};

/* A process group that the trace describes. */
struct torch_group {
    struct json_piece name, id, description, ranks;
    int64_t size;
    uint32_t group; /* number in the traces + 1; 0: not looked at yet */
};

struct torch_trace {
    const char *file;
    struct traces *traces;
    struct diag *diag;
    struct torch_event *events;
    struct torch_call *calls;
    struct torch_group *groups;
    uint32_t nevents, ncalls, ngroups;
    char *description; /* of the groups, where it stood in a string; owned */
    int64_t rank, world;
    bool is_world_told;
    uint64_t nnameless;   /* kernels of NCCL that do not say which collective they are */
    int64_t guessed_size; /* of the last group that was guessed by its size; 0: none was */
    uint32_t guessed;     /* its number in the traces */
};

/* torch_room.c. */
void torch_trace_init(struct torch_trace *trace, const char *file, struct traces *traces,
                      struct diag *diag);
void torch_trace_fini(struct torch_trace *trace);

/* Room for one more item of `size` bytes behind the first n, as array_make_room().  False: no
 * memory, which is reported. */
bool torch_trace_grow(struct torch_trace *trace, void *items, uint32_t n, size_t size);

/* Whether a call failed, which is reported. */
bool torch_trace_failed(struct torch_trace *trace, int status, const struct shd_error *err);

/* Report a call that cannot be. */
void torch_trace_refuse(const struct torch_trace *trace, const struct torch_call *call,
                        const char *fmt, ...) SHD_PRINTF(3, 4);

/* A call of which nothing is known but its name. */
struct torch_call torch_call_named(struct json_piece name, enum torch_role role);

/* False: no memory, which is reported. */
bool torch_trace_add_event(struct torch_trace *trace, const struct torch_event *event);
bool torch_trace_add_call(struct torch_trace *trace, const struct torch_call *call,
                          struct torch_event *event);

/* An event by its name: what of it matters here.  False: nothing. */
bool torch_role_of(enum torch_role *role, struct json_piece name, bool is_scope);

/* The collective that an event's name tells: "c10d::allreduce_", "nccl:all_reduce". */
struct json_piece torch_op_name(struct json_piece name);

/* torch_groups.c: take an array of descriptions of process groups: [{"pg_name": "0", "ranks": [0,
 * 1], ...}, ...]. */
bool torch_trace_read_groups(struct torch_trace *trace, struct json_text *j);

/* The same in a string, with its escapes. */
bool torch_trace_read_groups_of_string(struct torch_trace *trace, struct json_piece string);

/* Add up what was found: the rank and its calls go to the traces. */
void torch_trace_finish(struct torch_trace *trace);

/* torch_nest.c: which calls count, and in which step, scope and phase each is.  False: no memory.
 */
bool torch_nest(struct torch_trace *trace);

#endif /* CAPTURE_TORCH_TRACE_H */
