/* trace.h - a replayed or modelled step as Chrome's trace events, which Perfetto opens.
 *
 * A process is a device, or devices that the program treats alike where there are many, named so.
 * Its threads are computations, and transfers along each of the mesh's axes.  Slices are ops;
 * counters are the bytes of memory in use and the bytes received so far; arrows lead from those
 * that send into a transfer to those that receive.  Times are those of the record's step, in
 * microseconds.
 *
 * Memory is that of the program's order: a transfer's result takes its place when the computations
 * before it in the program are done, whenever the bytes come.  Of devices alike, which stand for
 * each other, no arrow leads from one to another.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_TRACE_H
#define REPORT_TRACE_H

#include "base/json_out.h"
#include "report/result.h"

/* As many processes are drawn as this, at most. */
#define TRACE_PROCESSES_MAX 64

/* Write the object of a result whose record has times (cost/timeline.h).  SHD_ENOMEM. */
SHD_MUST_CHECK int trace_json(const struct result *result, struct json_out *out,
                              struct shd_error *err);

#endif /* REPORT_TRACE_H */
