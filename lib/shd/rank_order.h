/* shd/rank_order.h - process groups by a text that says how ranks are laid out.
 *
 * An order such as "tp-cp-ep-dp-pp" lists kinds of parallelism from the one whose ranks are
 * neighbours to the slowest (Megatron-core's notation).  It is a mesh with its axes the other way
 * round (the last axis of a mesh is the fastest), and groups along kinds are shd_groups along these
 * axes.  The groups of a torch DeviceMesh need nothing more than a mesh: they are shd_groups_init()
 * along one dimension, or along several for a flattened one.
 *
 * Thread class: immutable once created.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHD_RANK_ORDER_H
#define SHD_RANK_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include <shd/error.h>
#include <shd/group.h>
#include <shd/mesh.h>

#ifdef __cplusplus
extern "C" {
#endif

struct shd_rank_sizes {
    int64_t tp;
    int64_t cp;
    int64_t ep;
    int64_t dp;
    int64_t pp;
};

/* The mesh of an order, in any case of letters.  Kinds that the order leaves out must have size 1,
 * and are its slowest axes.  Position p is rank p, plus whatever offset the caller gives the whole.
 *
 * SHD_EINVAL (a size below 1, a kind left out that is larger, a name that is no kind, or expert and
 * context parallelism together, which Megatron-core keeps in orders of their own), SHD_EDUPAXIS (a
 * kind twice), SHD_ERANGE, SHD_ENOMEM. */
SHD_API SHD_MUST_CHECK int shd_rank_order_mesh(struct shd_mesh **out, const char *order,
                                               const struct shd_rank_sizes *sizes,
                                               struct shd_error *err);

/* The groups along the axes that a text names, as "tp-pp".  Members are in the mesh's order,
 * whatever the text's; naming an axis twice changes nothing.  SHD_EINVAL for a name that is no
 * axis, SHD_ENOMESH (mesh is NULL). */
SHD_API SHD_MUST_CHECK int shd_rank_order_groups(struct shd_groups *out,
                                                 const struct shd_mesh *mesh, const char *axes,
                                                 struct shd_error *err);

#ifdef __cplusplus
}
#endif

#endif /* SHD_RANK_ORDER_H */
