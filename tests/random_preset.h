/* random_preset.h - scenarios of the shipped models, with random sizes, meshes and layouts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RANDOM_PRESET_H
#define RANDOM_PRESET_H

#include <stdbool.h>
#include <stdint.h>

#include "trial/trial.h"

struct random_preset {
    struct scenario_file *file;
    struct trial trial;
};

/* Make the scenario of a seed, in a type, up to its program.  False: the random layout does not
 * suit the model (an axis does not divide a dimension), and nothing needs to be freed. */
bool random_preset_init(struct random_preset *out, uint64_t seed, enum shd_dtype dtype);
void random_preset_fini(struct random_preset *preset);

#endif /* RANDOM_PRESET_H */
