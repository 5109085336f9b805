/* trace.h - a replayed or modelled step as Chrome trace events, which Perfetto opens.
 *
 * A process is a device, or a class of devices that the program treats alike.  Its threads are
 * computations, and transfers along each set of mesh axes.  Slices are ops; counters are the bytes
 * of memory in use and the bytes received so far; arrows lead from the senders of a transfer to its
 * receivers.  Times are microseconds of the record's step.
 *
 * Memory follows the program's order: a transfer's result is allocated when the computations before
 * the transfer are done, whenever its bytes arrive.  No arrow leads from one device to another of
 * the same class.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_TRACE_H
#define REPORT_TRACE_H

#include "base/json_out.h"
#include "report/result.h"

/* Most processes that are drawn. */
#define TRACE_PROCESSES_MAX 64

/* Write a result, whose record must have times (cost/timeline.h), as a JSON object.  SHD_ENOMEM. */
SHD_MUST_CHECK int trace_json(const struct result *result, struct json_out *out,
                              struct shd_error *err);

#endif /* REPORT_TRACE_H */
