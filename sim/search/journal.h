/* search/journal.h - plans of a search that outlive it, so that one that was interrupted goes on.
 *
 * A file of lines: a head with all that plans depend on (the program's version, hashes of the
 * scenario and of what the cluster's file says, the devices), then a line a plan, each with a hash
 * of its own.  One search at a time has it.  A line is written when its plan is done and is the system's from then on, so that a
 * search that is killed loses no more than the plans at hand.  A last line that was cut short is
 * dropped; whatever else is damaged is refused.  Numbers are written so that they read as the same.
 *
 * Pieces are not kept: they are built again.
 *
 * Thread class: owned by one thread; journal_find() may be called by any number between additions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_JOURNAL_H
#define SEARCH_JOURNAL_H

#include "search/plan.h"

struct journal; /* opaque */

/* Open a journal of a subject, or begin one where there is no file.  What was noted first is
 * planned once more: another program of the same version would come to something else.
 * SHD_ESYSTEM (cannot be read or written, another search has it), SHD_EINVAL (it is no journal, of
 * another search, or damaged: which line), SHD_ENOMEM. */
SHD_MUST_CHECK int journal_open(struct journal **out, const char *path,
                                const struct subject *subject, struct shd_error *err);
void journal_close(struct journal *journal); /* NULL is allowed */

/* What was noted of a layout when the journal was opened; NULL: nothing, also of a journal NULL. */
const struct plan *journal_find(const struct journal *journal, const struct layout *layout);

/* Note a plan; one that was refused is soon refused again.  SHD_ESYSTEM, SHD_ENOMEM. */
SHD_MUST_CHECK int journal_add(struct journal *journal, const struct layout *layout,
                               const struct plan *plan, struct shd_error *err);

#endif /* SEARCH_JOURNAL_H */
