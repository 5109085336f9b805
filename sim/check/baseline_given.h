/* baseline_given.h - options given to a strategy besides its sharding rules, compared with its
 * baseline: what is computed, on which cluster, and how.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CHECK_BASELINE_GIVEN_H
#define CHECK_BASELINE_GIVEN_H

#include "check/baseline.h"

struct baseline_change {
    const char *key;
    const char *was, *is; /* NULL: the default */
    const char *subject;  /* "the model", if old figures describe something else after this
                             change; or NULL */
    struct place place;
};

/* Whether the k-th given option has changed, with k from 0 to was->ngiven + is->ngiven; an option
 * given both times counts once.  `place` is used for a change without a place of its own. */
bool baseline_given_change(struct baseline_change *out, const struct baseline *was,
                           const struct baseline *is, size_t k, struct place place);

/* Add "the model and the batch changed: model.layers is 1, was 2, batch.size is 8, was 4"; false,
 * with nothing added, if no such option changed. */
bool baseline_given_subjects(struct text *out, const struct baseline *was,
                             const struct baseline *is);

/* The tokens of a step, before and now, if the batch is the only changed option of the workload;
 * false: more changed, nothing changed, or the sizes are not given. */
bool baseline_given_tokens(double *was_tokens, double *is_tokens, const struct baseline *was,
                           const struct baseline *is);

/* Add "model.layers is 1, was 2". */
void baseline_given_print(struct text *out, const struct baseline_change *change);

#endif /* CHECK_BASELINE_GIVEN_H */
