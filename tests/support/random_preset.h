/* random_preset.h - scenarios of the shipped models, with random sizes, meshes and layouts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RANDOM_PRESET_H
#define RANDOM_PRESET_H

#include <stdbool.h>
#include <stdint.h>

#include "trial/variant.h"

/* Make the scenario of a seed, in a type, up to its program.  False: the random layout does not
 * suit the model (an axis does not divide a dimension), and nothing needs to be freed; else
 * free it with variant_fini(). */
bool random_preset_init(struct variant *out, uint64_t seed, enum shd_dtype dtype);

#endif /* RANDOM_PRESET_H */
