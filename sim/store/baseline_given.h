/* baseline_given.h - what was given to a strategy beside the rules of its layout, then and now:
 * what is computed, on which cluster, and how.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef STORE_BASELINE_GIVEN_H
#define STORE_BASELINE_GIVEN_H

#include "store/baseline.h"

struct baseline_change {
    const char *key;
    const char *was, *is; /* NULL: the default */
    const char *subject;  /* "the model", where figures of before are of something else; or NULL */
    struct place place;
};

/* Whether the k-th option that was or is given, from 0 to was->ngiven + is->ngiven, has changed; an
 * option that both have counts once.  `place` is where there is none of its own. */
bool baseline_given_change(struct baseline_change *out, const struct baseline *was,
                           const struct baseline *is, size_t k, struct place place);

/* "the model and the batch changed: model.layers is 1, was 2, batch.size is 8, was 4"; false, and
 * nothing added: neither did. */
bool baseline_given_subjects(struct text *out, const struct baseline *was,
                             const struct baseline *is);

/* "model.layers is 1, was 2" */
void baseline_given_print(struct text *out, const struct baseline_change *change);

#endif /* STORE_BASELINE_GIVEN_H */
