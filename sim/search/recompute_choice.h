/* search/recompute_choice.h - what a layout may compute again: words, and what they set.
 *
 * The first words are tried in every search: nothing, attention, norms and mlps, all but what is
 * dear to compute, everything, and what the scenario names.  Behind them come all policies and
 * modules that scenarios know by a name (scenario/recompute_policies.h); these are tried only if
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

/* Those that are tried in every search; SPACE_GIVEN, the values that the scenario names, only if it
 * names some. */
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

/* The value as the scenario's option; not for SPACE_GIVEN.  `experts`: the layers' mlps are
 * experts. `whole`: the software calls a layer again, to its end. */
void recompute_choice_set(struct text *out, int32_t value, bool experts, bool whole);

#endif /* SEARCH_RECOMPUTE_CHOICE_H */
