/* base/supposed.h - a cluster's name or path, and what is supposed of it: "h100-sxm with
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

/* Characters of the name or path itself. */
size_t supposed_name_length(const char *cluster);

/* The first supposition, PATH=VALUE; "" if there is none. */
const char *supposed_first(const char *cluster);

/* The one behind that, likewise; *length is that of the one at `at`. */
const char *supposed_next(const char *at, size_t *length);

#endif /* BASE_SUPPOSED_H */
