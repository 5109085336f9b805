/* nccl.h - times of collectives, from raw output of nccl-tests (all_reduce_perf and the like),
 * including lines of NCCL itself and of launchers, and prefixes of lines.
 *
 * A row of a table begins with a size in bytes, a count of elements and their type, anywhere in a
 * line.  The line of column names tells which columns are the out-of-place time in microseconds,
 * and algbw and busbw in GB/s (size/time, and the part of that on each link).  Other lines may name
 * the collective (a name with _perf) and the number of ranks ("# Rank 7 ...", or "# nranks 8");
 * otherwise these are inferred from the columns, if only one collective fits.  A file may have
 * several tables.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CALIBRATE_NCCL_H
#define CALIBRATE_NCCL_H

#include "calibrate/samples.h"

/* Add the times of a file, with a set for each collective and number of ranks; faults go to `diag`
 * with their line.  The ranks are devices 0, 1 and so on of `hardware`, a name or path.
 * SHD_EINVAL, SHD_ENOMEM. */
SHD_MUST_CHECK int nccl_read(struct samples *samples, const char *path, const char *hardware,
                             struct diag *diag);

#endif /* CALIBRATE_NCCL_H */
