/* scenario/published_types.h - the types in which the weights of a published model are kept, by the
 * quantization_config of its config.json, as options of `products`.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_PUBLISHED_TYPES_H
#define SCENARIO_PUBLISHED_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "base/yaml.h"

/* Append options of `products` that keep the weights as the quantization_config of a model with so
 * many layers says, as "recipe: blockwise"; none: they are kept in model.dtype.  *otherwise becomes
 * what is planned in another way than the config says, static text; NULL: nothing. */
void published_types_read(struct text *products, const char **otherwise,
                          const struct yaml_node *quantization, int64_t layers);

/* Turn products of 4 bits into products of model.dtype whose weights alone are codes of 4 bits, as
 * engines have them on devices that do not multiply such codes; false: there are none. */
bool published_types_alone(struct text *products);

#endif /* SCENARIO_PUBLISHED_TYPES_H */
