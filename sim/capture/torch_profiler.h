/* torch_profiler.h - the collectives of one rank, from the Chrome trace of PyTorch's profiler
 * (export_chrome_trace).
 *
 * Read are the events that torch_trace.h names, and who the rank is (distributedInfo).  What a call
 * tells stands in its `args`: of record_param_comms and of kernels "Collective name", "In msg
 * nelems", "dtype", "Group size", "Process Group Ranks" and their like; of ops and labels "Input
 * Dims" and "Input type", if shapes were recorded.
 *
 * Thread class: pure.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CAPTURE_TORCH_PROFILER_H
#define CAPTURE_TORCH_PROFILER_H

#include "base/diag.h"
#include "capture/traces.h"

/* Whether a text begins as such a trace does. */
bool torch_profiler_is(const char *text, size_t length);

/* Add the rank and its calls.  Faults go to `diag`; SHD_EINVAL, SHD_ENOMEM. */
SHD_MUST_CHECK int torch_profiler_read(struct traces *out, const char *file, const char *text,
                                       size_t length, struct diag *diag);

#endif /* CAPTURE_TORCH_PROFILER_H */
