/* torch_chakra.h - the collectives of one rank, from an execution trace in Chakra's schema, as
 * PyTorch's ExecutionTraceObserver writes it (JSON).
 *
 * A trace is a list of nodes, each with the node that it ran in (ctrl_deps), its arguments and its
 * attributes.  Numbers of nodes ascend as they begin, and stand for times here.  Read are the nodes
 * that torch_trace.h names; `## process_group:init ##` has the groups.  Schemas since 1.0.2 are
 * read, in which a call's attributes may be missing and its arguments are looked at instead; what
 * trace linkers add to nodes does no harm.
 *
 * Thread class: pure.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CAPTURE_TORCH_CHAKRA_H
#define CAPTURE_TORCH_CHAKRA_H

#include "base/diag.h"
#include "capture/traces.h"

/* Whether a text begins as such a trace does. */
bool torch_chakra_is(const char *text, size_t length);

/* Add the rank and its calls.  Faults go to `diag`; SHD_EINVAL, SHD_ENOMEM. */
SHD_MUST_CHECK int torch_chakra_read(struct traces *out, const char *file, const char *text,
                                     size_t length, struct diag *diag);

#endif /* CAPTURE_TORCH_CHAKRA_H */
