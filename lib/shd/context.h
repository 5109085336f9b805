/* shd/context.h - what a call takes from its surroundings: a mesh, and logical axis rules.
 *
 * Other systems keep these in a thread's hidden state, entered and left with blocks.  Here they are
 * a value that is passed, so that a call's meaning is in its arguments.
 *
 * Thread class: a value; copy and share it freely as long as mesh and rules live.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHD_CONTEXT_H
#define SHD_CONTEXT_H

#include <stdbool.h>

#include <shd/error.h>
#include <shd/logical.h>
#include <shd/mesh.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All zero: no mesh, no rules. */
struct shd_context {
    const struct shd_mesh *mesh;           /* not owned; NULL: none */
    const struct shd_logical_rules *rules; /* not owned; NULL: none */
};

/* Whether there is a mesh, of at least one axis.  `context` may be NULL. */
SHD_API bool shd_context_has_mesh(const struct shd_context *context);

/* Store the mesh of a context.  SHD_ENOMESH when it has none. */
SHD_API SHD_MUST_CHECK int shd_context_mesh(const struct shd_mesh **out,
                                            const struct shd_context *context,
                                            struct shd_error *err);

/* Whether a sharding constraint has an effect: only with a mesh, and never where the platform of
 * the first device is "cpu".  Where it has none, an array stays as it is. */
SHD_API bool shd_context_constrains(const struct shd_context *context, const char *platform);

#ifdef __cplusplus
}
#endif

#endif /* SHD_CONTEXT_H */
