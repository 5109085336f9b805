/* stage_layers.h - how many layers each stage of a pipeline has, for targets that say so.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EXPORT_STAGE_LAYERS_H
#define EXPORT_STAGE_LAYERS_H

#include <stdbool.h>

#include "export/export.h"

struct export_stages {
    int64_t *layers; /* of each stage, from the first layer on */
    uint32_t n;
    bool equal; /* all stages have as many */
};

/* SHD_EUNSUPPORTED: a layer in two stages, the embedding in another than the first stage, or what
 * follows the layers in another than the last; SHD_ENOMEM.  Free with export_stages_fini(). */
SHD_MUST_CHECK int export_stages_init(struct export_stages *out, const struct graph *graph,
                                      struct shd_error *err);
void export_stages_fini(struct export_stages *stages);

/* Whether the number divides the layers of every stage. */
bool export_stages_divide(const struct export_stages *stages, int64_t number);

#endif /* EXPORT_STAGE_LAYERS_H */
