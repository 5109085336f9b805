/* trace_times.h - times of arrival as a file has them, and the unit that they are in.
 *
 * A number called timestamp is in seconds in one published trace and in milliseconds in another.
 * The unit is the one that the caller or the field's name says.  Else numbers as large as the time
 * since 1970 tell theirs, fractions mean seconds, and what the format's best known trace has is
 * taken unless it comes to a rate of requests that no service sees.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SERVING_TRACE_TIMES_H
#define SERVING_TRACE_TIMES_H

#include "serving/trace.h"

struct trace_times {
    double *values;     /* [requests added] in the file's unit; of dates 0 */
    int64_t unit_ns;    /* of the field's name or the format; 0: no number yet */
    bool named;         /* the field's name says the unit */
    bool has_fractions; /* of some value */
    uint32_t nnumbers, ndates;
};

/* Keep the time of request `number`, or make room for one that is a date. */
SHD_MUST_CHECK bool trace_times_add(struct trace_times *times, uint32_t number, double value,
                                    bool is_date);

/* Choose the unit, and set the arrivals of the trace's requests after the first in ns; those of
 * dates are in ns already.  `asked_ns`: the caller's unit; 0: none.  Errors go to `file`. */
void trace_times_set(struct request_trace *trace, const struct trace_times *times, int64_t asked_ns,
                     struct place file, struct diag *diag);

#endif /* SERVING_TRACE_TIMES_H */
