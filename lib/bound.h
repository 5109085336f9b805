/* bound.h - whether a sharding of a caller's is one that shd_sharding_bind() or shd_sharding_init()
 * could have filled.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BOUND_H
#define BOUND_H

#include <shd/sharding.h>

/* Not NULL, not only cleared, and every number in it in range. */
bool sharding_is_bound(const struct shd_sharding *sharding);

/* The same as a status: SHD_EINVAL with the name of the caller's argument. */
int check_bound(const struct shd_sharding *sharding, const char *name, struct shd_error *err);

#endif /* BOUND_H */
