/* torch_chakra.h - the collectives of one rank, from an execution trace in Chakra's schema, as
 * PyTorch's ExecutionTraceObserver writes it (JSON).
 *
 * A trace is a list of nodes, each with its parent node (ctrl_deps), its arguments and its
 * attributes.  Node numbers ascend in order of starts, and serve as times here.  The reader takes
 * the nodes named in torch_trace.h; `## process_group:init ##` has the groups.  Schemas from 1.0.2
 * on are supported, in which a call may lack attributes: then its arguments are read instead.
 * Additions by trace linkers are ignored.
 *
 * Thread class: pure.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CAPTURE_TORCH_CHAKRA_H
#define CAPTURE_TORCH_CHAKRA_H

#include "base/diag.h"
#include "capture/traces.h"

/* Whether a text begins like such a trace. */
bool torch_chakra_is(const char *text, size_t length);

/* Add the rank and its calls.  Faults go to `diag`; SHD_EINVAL, SHD_ENOMEM. */
SHD_MUST_CHECK int torch_chakra_read(struct traces *out, const char *file, const char *text,
                                     size_t length, struct diag *diag);

#endif /* CAPTURE_TORCH_CHAKRA_H */
