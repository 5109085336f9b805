/* torch_profiler.h - the collectives of one rank, from the Chrome trace of PyTorch's profiler
 * (export_chrome_trace).
 *
 * The reader takes the events named in torch_trace.h, and the rank (distributedInfo).  A call's
 * data is in its `args`: record_param_comms and kernels have "Collective name", "In msg nelems",
 * "dtype", "Group size", "Process Group Ranks" and others; ops and labels have "Input Dims" and
 * "Input type", if shapes were recorded.
 *
 * Thread class: pure.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CAPTURE_TORCH_PROFILER_H
#define CAPTURE_TORCH_PROFILER_H

#include "base/diag.h"
#include "capture/traces.h"

/* Whether a text begins like such a trace. */
bool torch_profiler_is(const char *text, size_t length);

/* Add the rank and its calls.  Faults go to `diag`; SHD_EINVAL, SHD_ENOMEM. */
SHD_MUST_CHECK int torch_profiler_read(struct traces *out, const char *file, const char *text,
                                       size_t length, struct diag *diag);

#endif /* CAPTURE_TORCH_PROFILER_H */
