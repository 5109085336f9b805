/* The content of a model's arrays: random numbers, determined by seed and name.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>

#include "model/model.h"

struct kern_source model_source(uint64_t seed, const char *name, double scale)
{
    uint32_t h = 2166136261u ^ (uint32_t)seed ^ (uint32_t)(seed >> 32); /* FNV-1a of the name */

    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 16777619u;
    return (struct kern_source){.seed = h, .scale = scale};
}

double model_scale(const struct graph *graph, const uint32_t *dims, uint32_t rank, bool param)
{
    if (!param)
        return 2;
    return rank < 2 ? 0.2 : sqrt(12 / (double)graph->dims[dims[0]].size);
}
