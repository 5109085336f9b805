/* search/own_layout.h - the layout that a scenario itself gives, as one of the space: where a search
 * begins.
 *
 * The role of a mesh axis follows from what it shards, as in exports: sequences (replicas), experts,
 * tokens (context parallelism), heads and widths (tensor parallelism), or nothing but the stages.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_OWN_LAYOUT_H
#define SEARCH_OWN_LAYOUT_H

#include "search/space.h"
#include "trial/trial.h"

/* Find the layout of a trial's scenario.  False: an axis has no role, or two roles are mixed in the
 * mesh's order.  The layout need not be among those that the space lists: what a search never sets,
 * such as gathered keys of context parallelism, is left out. */
bool own_layout_find(struct layout *out, const struct space *space, const struct trial *trial);

#endif /* SEARCH_OWN_LAYOUT_H */
