/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <shd/extract.h>

#include <shd/sharding.h>

/* Whether a bare spec can be bound to the mesh: its axes are there, each named once.  The array
 * that it is for is not known yet. */
static int check_bare(const struct shd_value *value, const struct shd_mesh *mesh,
                      struct shd_error *err)
{
    struct shd_sharding sharding;

    return shd_sharding_bind(&sharding, mesh, value->spec, shd_spec_nentries(value->spec), err);
}

int shd_extract_shardings(const struct shd_spec **out, const struct shd_value *values,
                          size_t nvalues, const struct shd_mesh *mesh, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out) || !SHD_GIVEN_ARRAY(err, values, nvalues))
        return SHD_EINVAL;
    if (!mesh)
        return shd_error_set(err, SHD_ENOMESH, "no mesh is given and none is in context");
    for (size_t i = 0; i < nvalues; i++) {
        enum shd_value_kind kind = values[i].kind;

        out[i] = NULL;
        if (kind == SHD_VALUE_BARE) {
            int status = check_bare(&values[i], mesh, err);

            if (status)
                return status;
        }
        if (kind == SHD_VALUE_PLACED || kind == SHD_VALUE_PLANNED || kind == SHD_VALUE_BARE)
            out[i] = values[i].spec;
    }
    return SHD_OK;
}

void shd_extract_structure(const struct shd_spec **out, const struct shd_value *values,
                           size_t nvalues)
{
    if (!out || (!values && nvalues > 0))
        return;
    for (size_t i = 0; i < nvalues; i++)
        out[i] = values[i].kind == SHD_VALUE_PLACED ? values[i].spec : NULL;
}

int shd_extract_specs(const struct shd_spec **out, const struct shd_value *values, size_t nvalues,
                      const struct shd_spec *empty, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out) || !SHD_GIVEN_ARRAY(err, values, nvalues))
        return SHD_EINVAL;
    for (size_t i = 0; i < nvalues; i++) {
        switch (values[i].kind) {
        case SHD_VALUE_NONE:
            out[i] = NULL;
            break;
        case SHD_VALUE_PLACED:
            out[i] = values[i].spec;
            break;
        case SHD_VALUE_NUMBER:
            out[i] = empty;
            break;
        case SHD_VALUE_ON_DEVICE:
            return shd_error_set(err, SHD_ETYPE, "the sharding of '%.150s' has no spec",
                                 values[i].name);
        default:
            return shd_error_set(err, SHD_EINVAL, "'%.150s' is neither a device array nor a number",
                                 values[i].name);
        }
    }
    return SHD_OK;
}
