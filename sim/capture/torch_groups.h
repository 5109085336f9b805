/* torch_groups.h - which ranks the process group of a call has.
 *
 * A trace describes the groups that its rank is in, and a call names one of them, or lists its
 * ranks, all or as many as fit; or says nothing, and a guess is noted.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CAPTURE_TORCH_GROUPS_H
#define CAPTURE_TORCH_GROUPS_H

#include "capture/torch_trace.h"

/* Room for the ranks of a group, used again and again; free ids. */
struct torch_ranks {
    int32_t *ids;
    uint32_t n;
};

/* Whether a call says its group: by name, or by its ranks. */
bool torch_group_is_told(struct torch_trace *trace, const struct torch_call *call);

/* How many ranks the group of a call has, as its arguments or its arrays tell; TORCH_UNKNOWN. */
int64_t torch_group_size(const struct torch_call *call);

/* The group of a call that does not say it, which is noted; the trace's rank and world are known.
 * False: none can be, or memory ran out; either is reported. */
bool torch_group_guess(uint32_t *out, struct torch_trace *trace, const struct torch_call *call,
                       struct torch_ranks *ranks);

/* The number in the traces of a group that the trace describes, and of that which a call says.
 * False: its ranks are not told, or one is in it twice; or memory ran out, which is reported. */
bool torch_group_described(uint32_t *out, struct torch_trace *trace, struct torch_group *group,
                           struct torch_ranks *ranks);
bool torch_group_of(uint32_t *out, struct torch_trace *trace, const struct torch_call *call,
                    struct torch_ranks *ranks);

#endif /* CAPTURE_TORCH_GROUPS_H */
