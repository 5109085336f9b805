/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <shd/context.h>

#include <string.h>

bool shd_context_has_mesh(const struct shd_context *context)
{
    return context && context->mesh && shd_mesh_naxes(context->mesh) > 0;
}

int shd_context_mesh(const struct shd_mesh **out, const struct shd_context *context,
                     struct shd_error *err)
{
    if (!SHD_GIVEN(err, out))
        return SHD_EINVAL;
    if (!shd_context_has_mesh(context))
        return shd_error_set(err, SHD_ENOMESH, "no mesh is in context");
    *out = context->mesh;
    return SHD_OK;
}

bool shd_context_constrains(const struct shd_context *context, const char *platform)
{
    if (!platform)
        return false;
    return strcmp(platform, "cpu") != 0 && shd_context_has_mesh(context);
}
