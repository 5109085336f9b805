/* torch_own.h - collectives under names of libraries' own: an engine's all-reduce through memory of
 * its peers (`_C_custom_ar::all_reduce`, `symm_mem::two_shot_all_reduce_`, `trtllm::allreduce`),
 * which no process group sees.
 *
 * A name tells the collective by its words.  A record inside another of the same collective is the
 * same collective (torch_nest.c).  What has such words and cannot be counted is told in a note.
 *
 * Thread class: pure functions; a trace is owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CAPTURE_TORCH_OWN_H
#define CAPTURE_TORCH_OWN_H

#include "capture/torch_arrays.h"
#include "capture/torch_trace.h"

/* Whether a name has the words of a collective, and is not that of a step around one (a copy in, a
 * wait). */
bool torch_own_is(struct json_piece name);

/* The collective of such a name.  NULL: several, or one whose operand is not among the arguments,
 * as that of a product fused with a collective. */
const struct torch_op *torch_own_op(struct json_piece name);

/* Take sizes, type and group from the arguments of a record of this kind. */
void torch_own_sizes(const struct torch_arrays *arrays, struct torch_call *call);

/* Whether a record can be counted: its collective and its sizes are known. */
bool torch_own_is_known(const struct torch_call *call);

/* Whether the name of a kernel has the words of a collective. */
bool torch_own_is_kernel(struct json_piece name);

/* Note a kernel, if its name has such words; `record` is the number of the record that
 * launched it, TORCH_UNKNOWN if none is told.  False: no memory, which is reported. */
bool torch_own_add_kernel(struct torch_trace *trace, struct json_piece name, int64_t record);

/* Count the kernels that no call of the trace launched (CUDA graphs do).  False: no memory, which
 * is reported. */
bool torch_own_count_kernels(struct torch_trace *trace);

#endif /* CAPTURE_TORCH_OWN_H */
