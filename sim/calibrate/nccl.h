/* nccl.h - times of collectives, from the output of nccl-tests (all_reduce_perf and the like).
 *
 * A row of the table has the size in bytes, and out of place the time in microseconds, algbw and
 * busbw in GB/s (size/time, and what of that crosses a link).  Which collective it was and among
 * how many ranks is in the lines that begin with '#': a name with _perf, and the lines "# Rank", or
 * "# nranks 8"; without them it is an all-reduce, among as many as busbw over algbw tells.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CALIBRATE_NCCL_H
#define CALIBRATE_NCCL_H

#include "calibrate/samples.h"

/* Add the times of a file, a set by the collective and its ranks; faults go to `diag` with their
 * line.  The ranks are devices 0, 1 and so on of `hardware`, a name or path.  SHD_EINVAL,
 * SHD_ENOMEM. */
SHD_MUST_CHECK int nccl_read(struct samples *samples, const char *path, const char *hardware,
                             struct diag *diag);

#endif /* CALIBRATE_NCCL_H */
