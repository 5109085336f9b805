/* steady.h - replayed steps with an estimate of their error.
 *
 * The replayed time is the least time of each work (works.h).  A least time can only fall as more
 * is measured, and comparing halves tells how far it may still fall: the measurements are cut in
 * two, the step is replayed with each half alone, and the spread is how far the slower half's step
 * lies above the step from both halves, as a fraction of it.  The spread is the error of half the
 * measurements, so it slightly overstates the error of all.  A work that one half did not measure
 * counts in both halves with the other's time.
 *
 * Two replayed steps tie if they differ by no more than the larger of their noises.  A step's noise
 * is its spread, but at least STEADY_SPREAD: measuring ends when the spread is that small, and a
 * smaller spread by chance proves nothing.  The larger noise and not the sum, because no step is
 * below its true time, so that the two errors do not add up.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COST_STEADY_H
#define COST_STEADY_H

#include "cost/works.h"

/* A small spread: differences of this size between layouts decide nothing. */
#define STEADY_SPREAD 0.01

/* Rounds of measuring.  With fewer rounds, each half is a single round, and halves agree by chance;
 * for more rounds there are no columns, since the execution before the first round takes two. */
#define STEADY_ROUNDS_LEAST 4
#define STEADY_ROUNDS_MAX (WORKS_COLUMNS_MAX - 2)

/* Give every op the least time of its work in the columns from..to-1 (in record->times), and replay
 * the step with its spread; the halves are the earlier and the later columns.  `ids` number the
 * program's works in `works`; all its works must be measured in these columns.  Errors as
 * replay_run(). */
SHD_MUST_CHECK int steady_replay(struct record *record, const struct record_transfers *transfers,
                                 const struct works *works, const uint32_t *ids, uint32_t from,
                                 uint32_t to, struct shd_error *err);

/* Whether measuring ends after this many rounds and this time: when the spreads of all records are
 * small, or a limit is reached.  Records without a replay do not count. */
bool steady_ends(const struct record *const *records, size_t nrecords, uint32_t nrounds,
                 int64_t elapsed_ns, int64_t limit_ns);

#endif /* COST_STEADY_H */
