/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "export/export.h"

#include <string.h>

#include "export/targets.h"

const struct export_target *const export_targets[] = {&export_jax, &export_megatron,
                                                      &export_pytorch, &export_torchtitan, NULL};

const struct export_target *export_find(const char *name)
{
    for (size_t i = 0; export_targets[i]; i++)
        if (!strcmp(export_targets[i]->name, name))
            return export_targets[i];
    return NULL;
}
