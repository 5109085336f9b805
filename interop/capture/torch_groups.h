/* torch_groups.h - the ranks in the process group of a call.
 *
 * A trace describes the groups of its rank.  A call names one of them, or lists its ranks,
 * completely or in part; otherwise the group is guessed, with a note.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CAPTURE_TORCH_GROUPS_H
#define CAPTURE_TORCH_GROUPS_H

#include "capture/torch_trace.h"

/* Scratch space for a group's ranks; free ids. */
struct torch_ranks {
    int32_t *ids;
    uint32_t n;
};

/* Whether a call gives its group, by name or by ranks. */
bool torch_group_is_told(struct torch_trace *trace, const struct torch_call *call);

/* Number of ranks in a call's group, from its arguments or arrays; TORCH_UNKNOWN. */
int64_t torch_group_size(const struct torch_call *call);

/* Guess the group of a call that does not give it, with a note; the trace's rank and world must be
 * known.  False: no guess is possible, or memory ran out; both are reported. */
bool torch_group_guess(uint32_t *out, struct torch_trace *trace, const struct torch_call *call,
                       struct torch_ranks *ranks);

/* Number in the traces of a group that the trace describes, or that a call gives.  False: its ranks
 * are unknown, or one occurs twice; or memory ran out, which is reported. */
bool torch_group_described(uint32_t *out, struct torch_trace *trace, struct torch_group *group,
                           struct torch_ranks *ranks);
bool torch_group_of(uint32_t *out, struct torch_trace *trace, const struct torch_call *call,
                    struct torch_ranks *ranks);

#endif /* CAPTURE_TORCH_GROUPS_H */
