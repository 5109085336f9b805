/* reshard_asked.h - parse the options of a reshard into a question.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_EXPLAIN_RESHARD_ASKED_H
#define CMD_EXPLAIN_RESHARD_ASKED_H

#include "cmd/explain/reshard_words.h"

struct reshard_asked {
    const char *mesh, *shape, *from, *to; /* see asked.h; NULL `from` or `to`: replicated */
    const char *to_mesh, *to_first, *partial, *dtype, *memory; /* NULL: not given */
    const char *links[SHD_LINK_TIERS_MAX];                     /* "8:1us:200GB/s" */
    size_t nlinks;
    const char *hardware, *slices;
};

/* Parse into a zeroed question; prints errors and returns the exit status.  End with
 * reshard_asked_fini() in any case. */
int reshard_asked_read(struct reshard_question *out, const struct reshard_asked *asked);
void reshard_asked_fini(struct reshard_question *question);

#endif /* CMD_EXPLAIN_RESHARD_ASKED_H */
