/* pace.h - steps that make a mean number of tokens each, in whole tokens.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_PACE_H
#define BASE_PACE_H

#include <math.h>
#include <stdint.h>

/* The tokens before a step, of a mean number a step that steps are as near to as whole numbers can
 * be. */
static inline int64_t pace_tokens(double each, int64_t step)
{
    return (int64_t)floor((double)step * each + 1e-9);
}

/* The tokens of a step. */
static inline int64_t pace_tokens_of(double each, int64_t step)
{
    return pace_tokens(each, step + 1) - pace_tokens(each, step);
}

#endif /* BASE_PACE_H */
