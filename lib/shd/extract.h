/* shd/extract.h - shardings out of a tree of values: eformer's extract_shardings(),
 * extract_sharding_structure(), get_shardings_with_structure() and get_partition_spec().
 *
 * A tree of values is given leaf by leaf, each with its kind and, where it has one, its spec.  Each
 * call stores one spec for each leaf, or NULL for none.  Specs are passed through, not copied.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHD_EXTRACT_H
#define SHD_EXTRACT_H

#include <stddef.h>

#include <shd/error.h>
#include <shd/mesh.h>
#include <shd/spec.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a leaf is. */
enum shd_value_kind {
    SHD_VALUE_NONE,      /* an empty subtree, left unchanged */
    SHD_VALUE_PLACED,    /* a device array whose sharding is a spec on a mesh */
    SHD_VALUE_ON_DEVICE, /* a device array with another sharding: on one device */
    SHD_VALUE_PLANNED,   /* no array, but something with a sharding that is a spec on a mesh */
    SHD_VALUE_BARE,      /* something whose sharding is a bare spec, without mesh */
    SHD_VALUE_NUMBER,    /* a whole number, a float or a boolean of the host */
    SHD_VALUE_OTHER      /* host arrays, texts, shapes without sharding */
};

struct shd_value {
    enum shd_value_kind kind;
    const char *name;            /* for messages */
    const struct shd_spec *spec; /* PLACED, PLANNED, BARE */
};

/* The specs of leaves that have one, a bare one bound to the mesh.  SHD_ENOMESH when the mesh is
 * NULL, whatever the leaves are; for a bare spec SHD_ENOAXIS and SHD_EDUPAXIS. */
SHD_API SHD_MUST_CHECK int shd_extract_shardings(const struct shd_spec **out,
                                                 const struct shd_value *values, size_t nvalues,
                                                 const struct shd_mesh *mesh,
                                                 struct shd_error *err);

/* The specs of device arrays that have one.  Needs no mesh and cannot fail. */
SHD_API void shd_extract_structure(const struct shd_spec **out, const struct shd_value *values,
                                   size_t nvalues);

/* The spec of every leaf: its own for a device array; `empty`, which is [], for a number.
 * SHD_ETYPE for a device array without a spec, SHD_EINVAL for anything else. */
SHD_API SHD_MUST_CHECK int shd_extract_specs(const struct shd_spec **out,
                                             const struct shd_value *values, size_t nvalues,
                                             const struct shd_spec *empty, struct shd_error *err);

#ifdef __cplusplus
}
#endif

#endif /* SHD_EXTRACT_H */
