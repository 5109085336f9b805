/* search/recompute_choice.h - choices of activation recomputation: names, and the options they set.
 *
 * Every search tries the first names: none, attention, norms and MLPs, all but ops expensive to
 * compute, everything, and the scenario's own list.  The policies and modules that scenarios know by
 * name follow (scenario/recompute_policies.h); these are tried only if
 * recompute has a range.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_RECOMPUTE_CHOICE_H
#define SEARCH_RECOMPUTE_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

/* Choices tried in every search.  SPACE_GIVEN, the scenario's own list, is tried only if the scenario
 * has a list. */
enum space_recompute {
    SPACE_NONE,
    SPACE_SELECTIVE,
    SPACE_MLP,
    SPACE_BY_OP,
    SPACE_FULL,
    SPACE_GIVEN,
    SPACE_NRECOMPUTES
};

/* The word of a value; NULL: past the last. */
const char *recompute_choice_word(int32_t value);

/* Write the choice as the scenario's option; not for SPACE_GIVEN.  `experts`: the layers' MLPs are
 * experts. `whole`: the software recomputes whole layers, to their end. */
void recompute_choice_set(struct text *out, int32_t value, bool experts, bool whole);

#endif /* SEARCH_RECOMPUTE_CHOICE_H */
