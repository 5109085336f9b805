/* steady.h - replayed steps of which it is known how far they can be trusted.
 *
 * Replayed is the least time of each work (works.h).  A least time can only fall as more is seen,
 * and how far it has still to fall is told by its halves: the measuring is cut in two, the step is
 * replayed with what each half alone has seen, and the spread is how far the slower half's step
 * lies above the step from both, as a fraction of it.  It is what half as much measuring would have
 * got wrong, so a little more than what all of it does.  A work that one half has not seen counts
 * in both as the other saw it.
 *
 * Two replayed steps are a tie when they differ by no more than the larger of their noises.  A
 * step's noise is its spread, but at least STEADY_SPREAD: measuring ends when the spread is that
 * small, and what is smaller by chance proves nothing.  The larger and not the sum, for no step is
 * below its true time, so that one's error does not add to the other's.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COST_STEADY_H
#define COST_STEADY_H

#include "cost/works.h"

/* A spread that is small: differences of this size between layouts decide nothing. */
#define STEADY_SPREAD 0.01

/* Rounds of measuring: fewer have halves of a single round, which agree by chance; for more there
 * are no columns, as two are taken by what comes before the first round. */
#define STEADY_ROUNDS_LEAST 4
#define STEADY_ROUNDS_MAX (WORKS_COLUMNS_MAX - 2)

/* Give every op the least time that its work took in the columns from..to-1 (in record->times), and
 * replay the step with its spread; the halves are the earlier and the later columns.  `ids` are the
 * numbers of the record's program in `works`; what it computes was seen in these columns.
 * Errors as replay_run(). */
SHD_MUST_CHECK int steady_replay(struct record *record, const struct record_transfers *transfers,
                                 const struct works *works, const uint32_t *ids, uint32_t from,
                                 uint32_t to, struct shd_error *err);

/* Whether measuring ends after so many rounds and so much time: when the spread of all records is
 * small, or a limit is reached.  Records without a replay do not count. */
bool steady_ends(const struct record *const *records, size_t nrecords, uint32_t nrounds,
                 int64_t elapsed_ns, int64_t limit_ns);

#endif /* COST_STEADY_H */
