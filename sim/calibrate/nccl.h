/* nccl.h - times of collectives, from the output of nccl-tests (all_reduce_perf and the like) as it
 * is: with the lines of NCCL itself and of what started it, and a prefix before each line.
 *
 * A row of a table begins with a size in bytes, a count of elements and their type, wherever in the
 * line that stands; the line of the column names says where its time in microseconds is, and algbw
 * and busbw in GB/s (size/time, and what of that crosses a link), out of place.  Other lines tell
 * at most which collective it was (a name with _perf) and among how many ranks ("# Rank 7 ...", or
 * "# nranks 8"); where they do not, the columns do, if only one collective has such.  A file may
 * hold several tables.
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
