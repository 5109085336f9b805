/* reshard_asked.h - a reshard that is asked for in words, as a question.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_EXPLAIN_RESHARD_ASKED_H
#define CMD_EXPLAIN_RESHARD_ASKED_H

#include "cmd/explain/reshard_words.h"

struct reshard_asked {
    const char *mesh, *shape, *from, *to; /* as asked.h has them; `from` and `to`: replicated */
    const char *to_mesh, *to_first, *partial, *dtype, *memory; /* NULL: not said */
    const char *links[SHD_LINK_TIERS_MAX];                     /* "8:1us:200GB/s" */
    size_t nlinks;
    const char *hardware, *slices;
};

/* Read it; prints what is wrong and returns the exit status.  End with reshard_asked_fini() in any
 * case, of a question that was zeros before. */
int reshard_asked_read(struct reshard_question *out, const struct reshard_asked *asked);
void reshard_asked_fini(struct reshard_question *question);

#endif /* CMD_EXPLAIN_RESHARD_ASKED_H */
