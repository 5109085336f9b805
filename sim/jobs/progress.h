/* progress.h - shows that a long piece of work goes on, from a thread of its own.
 *
 * Thread class: owned by one thread; between start and stop nobody else may use the log.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef JOBS_PROGRESS_H
#define JOBS_PROGRESS_H

#include "base/log.h"

struct progress;

/* Show now and then, as log_progress() sees fit, that the strategy `what` is at work ("planning"),
 * with `ndone` of `ntotal` done before it.  NULL where it cannot be shown: the work goes on
 * without. */
struct progress *progress_start(struct log *log, uint64_t ndone, uint64_t ntotal, const char *verb,
                                const char *what);

/* NULL is allowed. */
void progress_stop(struct progress *progress);

#endif /* JOBS_PROGRESS_H */
