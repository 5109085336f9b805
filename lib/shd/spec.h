/* shd/spec.h - a partition spec: for each array dimension the mesh axes that shard it, by name.
 *
 * An entry is none, one axis, or several (the first the most major).  Specs are canonical from
 * construction: an entry of no axes is none, and `("a",)` is `"a"`.  The number of entries is kept:
 * [] and [none] differ.  A spec knows no mesh; shd/sharding.h binds the two.
 *
 * Thread class: immutable once created.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHD_SPEC_H
#define SHD_SPEC_H

#include <stdbool.h>
#include <stddef.h>

#include <shd/error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct shd_spec; /* opaque */

/* One entry to build from: `naxes` names, the first the most major; 0 is none. */
struct shd_spec_entry {
    const char *const *axes;
    size_t naxes;
};

/* Build from entries; names are copied.  An empty name counts as no axis.  Duplicates are not
 * looked for: that is a sharding's business.  SHD_ENOMEM. */
SHD_API SHD_MUST_CHECK int shd_spec_create(struct shd_spec **out,
                                           const struct shd_spec_entry *entries, size_t nentries,
                                           struct shd_error *err);

/* Parse a spec in Python's or YAML's notation; all of these are the same:
 *     P(('dp', 'fsdp'), None, 'tp')    PartitionSpec(("dp","fsdp"), None, "tp")
 *     [[dp, fsdp], null, tp]           (("dp", "fsdp"), None, "tp")
 * `~` is none too.  SHD_EINVAL with the column (from 1) in the text. */
SHD_API SHD_MUST_CHECK int shd_spec_parse(struct shd_spec **out, const char *text,
                                          struct shd_error *err);

/* SHD_ENOMEM. */
SHD_API SHD_MUST_CHECK int shd_spec_copy(struct shd_spec **out, const struct shd_spec *spec,
                                         struct shd_error *err);

/* A copy of the first `nentries` entries, or of all if there are fewer.  SHD_ENOMEM. */
SHD_API SHD_MUST_CHECK int shd_spec_cut(struct shd_spec **out, const struct shd_spec *spec,
                                        size_t nentries, struct shd_error *err);

SHD_API void shd_spec_destroy(struct shd_spec *spec); /* NULL is allowed */

/* The number of entries, of the axes of entry 0..nentries-1, and the name of one of these axes,
 * which lives as long as the spec. */
SHD_API size_t shd_spec_nentries(const struct shd_spec *spec);
SHD_API size_t shd_spec_naxes(const struct shd_spec *spec, size_t entry); /* 0: none */
SHD_API const char *shd_spec_axis(const struct shd_spec *spec, size_t entry, size_t axis);

/* Element-wise equality of the canonical forms. */
SHD_API bool shd_spec_equal(const struct shd_spec *a, const struct shd_spec *b);

enum shd_spec_notation {
    SHD_SPEC_PYTHON, /* P(('dp', 'fsdp'), None, 'tp') */
    SHD_SPEC_YAML,   /* [[dp, fsdp], null, tp] */
    SHD_SPEC_JSON    /* [["dp","fsdp"],null,"tp"] */
};

/* Print into buf (NUL-terminated, cut if needed); returns the length of the whole text. */
SHD_API size_t shd_spec_print(const struct shd_spec *spec, enum shd_spec_notation notation,
                              char *buf, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* SHD_SPEC_H */
