/* shd/partitioner.h - from a model's logical axes to a mesh and specs: one object that holds the
 * choices.
 *
 * A partitioner is made from what decides the mesh (partitions or a submesh, or mesh shapes inside
 * and across slices) and from logical axis rules.  It makes the mesh for a topology, the specs of a
 * train state, and the layout of the data.  The base kind knows no rules: it gives parameters
 * no specs and shards the data along "data".
 *
 * Thread class: immutable once created.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHD_PARTITIONER_H
#define SHD_PARTITIONER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shd/chunk.h>
#include <shd/context.h>
#include <shd/error.h>
#include <shd/logical.h>
#include <shd/mesh.h>
#include <shd/spec.h>
#include <shd/topology.h>
#include <shd/tpu_mesh.h>
#include <shd/tree.h>

#ifdef __cplusplus
extern "C" {
#endif

struct shd_partitioner; /* opaque */

enum shd_partitioner_kind {
    SHD_PARTITIONER_LOGICAL, /* axes by logical rules (T5X's PjitPartitioner) */
    SHD_PARTITIONER_BASE
};

struct shd_partitioner_opts {
    enum shd_partitioner_kind kind;
    struct shd_mesh_request mesh;          /* num_partitions 0: not given */
    const struct shd_logical_rules *rules; /* NULL: shd_logical_rules_standard(1, 1) */
    /* Refuse what the original only logs: partitions and a submesh both, a submesh that has not 4
     * extents; and negative batches. */
    bool strict;
};

/* Create a partitioner; everything is copied.  SHD_EINVAL when neither partitions nor a submesh are
 * given.  Where mesh shapes inside and across slices are both given, each rule of the name "batch"
 * takes the axes (replica, data), whatever it said.  SHD_ENOMEM. */
SHD_API SHD_MUST_CHECK int shd_partitioner_create(struct shd_partitioner **out,
                                                  const struct shd_partitioner_opts *opts,
                                                  struct shd_error *err);

/* Free a partitioner.  NULL is allowed. */
SHD_API void shd_partitioner_destroy(struct shd_partitioner *partitioner);

/* The rules, which are empty for the base kind; the mesh axes that shard a batch, of which there
 * may be none; and a spec whose only entry is these axes.  They live as long as the partitioner. */
SHD_API const struct shd_logical_rules *
shd_partitioner_rules(const struct shd_partitioner *partitioner);
SHD_API const struct shd_spec_entry *
shd_partitioner_data_axes(const struct shd_partitioner *partitioner);
SHD_API const struct shd_spec *shd_partitioner_data_spec(const struct shd_partitioner *partitioner);

/* The mesh of a topology: see shd_default_mesh_create(). */
SHD_API SHD_MUST_CHECK int shd_partitioner_mesh(struct shd_mesh **out,
                                                const struct shd_partitioner *partitioner,
                                                const struct shd_topology *topology,
                                                struct shd_error *err);

/* A leaf's logical axes: its `rank` names, or NULL when it has none or the kind is the base. */
SHD_API const char *const *shd_partitioner_logical_axes(const struct shd_partitioner *partitioner,
                                                        const struct shd_leaf *leaf);

/* The spec of a leaf; NULL is stored for one without logical axes.  Free it with
 * shd_spec_destroy().  SHD_EDUPAXIS naming the leaf, SHD_ENOMEM. */
SHD_API SHD_MUST_CHECK int shd_partitioner_leaf_axes(struct shd_spec **out,
                                                     const struct shd_partitioner *partitioner,
                                                     const struct shd_leaf *leaf,
                                                     struct shd_error *err);

/* The specs of all leaves of a train state, in its order: shd_tree_count() pointers are stored in
 * `specs`, as above; on failure none is. */
SHD_API SHD_MUST_CHECK int shd_partitioner_mesh_axes(struct shd_spec **specs,
                                                     const struct shd_partitioner *partitioner,
                                                     const struct shd_tree *tree,
                                                     struct shd_error *err);

/* The layout of the data seen from the chunker's host: see shd_data_layout_init().  Another host's
 * is that of its own chunker. */
SHD_API SHD_MUST_CHECK int shd_partitioner_data_layout(struct shd_data_layout *out,
                                                       const struct shd_partitioner *partitioner,
                                                       const struct shd_chunker *chunker,
                                                       int64_t batch_size, struct shd_error *err);

/* The context that a partitioned function runs in: the mesh, and the partitioner's rules. */
SHD_API struct shd_context shd_partitioner_context(const struct shd_partitioner *partitioner,
                                                   const struct shd_mesh *mesh);

#ifdef __cplusplus
}
#endif

#endif /* SHD_PARTITIONER_H */
