/* search/journal.h - a file of a search's plans, so that an interrupted search can continue.
 *
 * The file consists of lines: a head with everything that plans depend on (the program's version,
 * hashes of the scenario and of the content of the cluster's file, the number of devices), then a
 * line for each plan, each with its own hash.  Only one search at a time holds a journal.  A line
 * is written when its plan is done and belongs to the system from then on, so that a killed search
 * loses only the plans in progress.  A last line that was cut short is dropped; any other damage is
 * refused.  Numbers are written so that they read back exactly.
 *
 * Pieces are not kept but built again.
 *
 * Thread class: owned by one thread; journal_find() may be called by any number between additions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_JOURNAL_H
#define SEARCH_JOURNAL_H

#include "search/layout_plan.h"

struct journal; /* opaque */

/* Open the journal of a subject, or create the file.  The first plan of the file is made again and
 * compared, because another program of the same version would plan differently.  SHD_ESYSTEM
 * (cannot be read or written, or another search holds it), SHD_EINVAL (no journal, of another
 * search, or damaged, with the line), SHD_ENOMEM. */
SHD_MUST_CHECK int journal_open(struct journal **out, const char *path,
                                const struct subject *subject, struct shd_error *err);
void journal_close(struct journal *journal); /* NULL is allowed */

/* The plan of a layout that the file had when the journal was opened; NULL: none, or `journal` is
 * NULL. */
const struct plan *journal_find(const struct journal *journal, const struct layout *layout);

/* Write a plan to the file.  A refused plan is skipped: to refuse it again takes little time. After
 * a write that fails, as on a full disk, nothing more is written: journal_check() tells.
 * SHD_ENOMEM. */
SHD_MUST_CHECK int journal_add(struct journal *journal, const struct layout *layout,
                               const struct plan *plan, struct shd_error *err);

/* Whether all was written so far; SHD_ESYSTEM with the reason if not.  NULL: SHD_OK. */
int journal_check(const struct journal *journal, struct shd_error *err);

#endif /* SEARCH_JOURNAL_H */
