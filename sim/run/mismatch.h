/* mismatch.h - whether all members of a group make the same call, and the message if not.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_MISMATCH_H
#define RUN_MISMATCH_H

#include <stddef.h>

#include <shd/error.h>

#include "run/collective.h"

/* The kind of calls from run_pull_phase(), whose tag is stored as the count. */
#define CALL_EXCHANGE COLL_NKINDS

/* Print "all-reduce (tp)"; cut to size. */
void call_print(char *buf, size_t size, const struct coll_call *call);

/* SHD_OK, or SHD_EMISMATCH naming the first member whose call differs from member 0's.  All members
 * must have put their calls into the group's mailbox. */
int mismatch_check(const struct run_group *group, struct shd_error *err);

#endif /* RUN_MISMATCH_H */
