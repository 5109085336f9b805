/* base/shape.h - shapes of arrays in texts from outside.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_SHAPE_H
#define BASE_SHAPE_H

#include <shd/shape.h>

#include "base/yaml.h"

/* Read the shape of array `name`, such as [2, 3], of at most SHD_RANK_MAX dimensions.  False: it is
 * none, which is reported. */
bool shape_read(int64_t *shape, size_t *rank, const struct yaml_node *node, const char *name,
                struct diag *diag);

#endif /* BASE_SHAPE_H */
