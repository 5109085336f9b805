/* base/supposed.h - a cluster's name or path with overrides of its figures: "h100-sxm with
 * tiers.1.rate=100GB/s, kernels.launch=2us".
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_SUPPOSED_H
#define BASE_SUPPOSED_H

#include <stddef.h>

#define SUPPOSED_WITH " with "
#define SUPPOSED_AND ", "

/* Length of the name or path itself. */
size_t supposed_name_length(const char *cluster);

/* The first override, PATH=VALUE; "" if there is none. */
const char *supposed_first(const char *cluster);

/* The override after the one at `at`, or ""; *length gets the length of the one at `at`. */
const char *supposed_next(const char *at, size_t *length);

#endif /* BASE_SUPPOSED_H */
