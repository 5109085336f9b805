/* rounds.h - measuring executed strategies until their replayed steps are steady, for `run` and
 * `compare`.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COMMAND_ROUNDS_H
#define COMMAND_ROUNDS_H

#include "command/work.h"

/* Measure the executed items among the work's items first..first+n-1, in rounds in which they take
 * turns, until all are steady or `limit_ns` of wall time is over; without rounds if one would probably
 * exceed the limit.  The records are replayed from the measurements.  Errors are
 * logged; returns the exit status. */
int rounds_run(struct work *work, size_t first, size_t n, int64_t limit_ns);

#endif /* COMMAND_ROUNDS_H */
