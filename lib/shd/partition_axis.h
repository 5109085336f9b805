/* shd/partition_axis.h - eformer's PartitionAxis: which mesh axes shard which axis of a model.
 *
 * Five fields name the mesh's axes; eighteen say how an axis of a model is sharded: not at all, by
 * one mesh axis, or by several.  A field left at its default follows the (perhaps renamed) mesh
 * axes: batch is (fsdp, dp); sequence, query and key sequences are sp; head, hidden state, MLP,
 * vocabulary and generation head are tp; expert is ep; all others are not sharded.
 *
 * Thread class: immutable once created.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHD_PARTITION_AXIS_H
#define SHD_PARTITION_AXIS_H

#include <stdbool.h>
#include <stddef.h>

#include <shd/error.h>
#include <shd/spec.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In the original's order. */
enum shd_axis_field {
    SHD_AXIS_DATA_PARALLEL,
    SHD_AXIS_FULLY_SHARDED_DATA_PARALLEL,
    SHD_AXIS_TENSOR_PARALLEL,
    SHD_AXIS_SEQUENCE_PARALLEL,
    SHD_AXIS_EXPERT_PARALLEL,
    SHD_NMESH_AXIS_FIELDS,
    SHD_AXIS_BATCH = SHD_NMESH_AXIS_FIELDS,
    SHD_AXIS_SEQUENCE,
    SHD_AXIS_QUERY_SEQUENCE,
    SHD_AXIS_HEAD,
    SHD_AXIS_KEY_SEQUENCE,
    SHD_AXIS_HIDDEN_STATE,
    SHD_AXIS_MLP_INTERMEDIATE,
    SHD_AXIS_VOCAB,
    SHD_AXIS_EXPERT,
    SHD_AXIS_EXPERT_GATE,
    SHD_AXIS_ATTENTION_DIM,
    SHD_AXIS_BIAS_HEAD_SEQUENCE,
    SHD_AXIS_BIAS_KEY_SEQUENCE,
    SHD_AXIS_GENERATION_BATCH,
    SHD_AXIS_GENERATION_QUERY_SEQUENCE,
    SHD_AXIS_GENERATION_HEAD,
    SHD_AXIS_GENERATION_KEY_SEQUENCE,
    SHD_AXIS_GENERATION_ATTENTION_DIM,
    SHD_NAXIS_FIELDS
};

#define SHD_AXIS_VALUE_MAX 16 /* mesh axes of one field: all that a mesh can have */

enum shd_axis_kind {
    SHD_AXIS_IS_NONE,
    SHD_AXIS_IS_NAME,   /* one axis: axes[0] */
    SHD_AXIS_IS_TUPLE,  /* `naxes` axes, the first the most major; NULL: a mesh axis that is none */
    SHD_AXIS_IS_DEFAULT /* Python's `...`; for overrides only */
};

struct shd_axis_value {
    enum shd_axis_kind kind;
    size_t naxes;
    const char *axes[SHD_AXIS_VALUE_MAX];
};

/* A field given by name, as "head_axis". */
struct shd_axis_override {
    const char *field;
    struct shd_axis_value value;
};

struct shd_partition_axis; /* opaque */

/* The original's name of a field, "head_axis"; static. */
SHD_API const char *shd_axis_field_name(enum shd_axis_field field);

/* The field of a name, with its "_axis" or without ("head"); -1: there is none. */
SHD_API int shd_axis_field_find(const char *name);

/* Set fields and resolve the rest; of several overrides of one field the last counts.  Everything
 * is copied.  SHD_ETYPE (no such field; a mesh axis given as a tuple), SHD_EINVAL (the default
 * asked for where there is none: for a mesh axis or for a field that is not sharded unless one says
 * so), SHD_ERANGE (over SHD_AXIS_VALUE_MAX axes), SHD_ENOMEM. */
SHD_API SHD_MUST_CHECK int shd_partition_axis_create(struct shd_partition_axis **out,
                                                     const struct shd_axis_override *overrides,
                                                     size_t noverrides, struct shd_error *err);

SHD_API void shd_partition_axis_destroy(struct shd_partition_axis *axis); /* NULL is allowed */

/* A resolved field, valid during the lifetime of `axis`. */
SHD_API const struct shd_axis_value *shd_partition_axis_get(const struct shd_partition_axis *axis,
                                                            enum shd_axis_field field);

enum shd_axis_mode {
    SHD_MODE_TRAINING,
    SHD_MODE_GENERATION /* batch, query_sequence, head, key_sequence and attention_dim are those of
                           the generation_ fields */
};

/* What an axis of a model stands for in a mode: the resolved field of a name as
 * shd_axis_field_find() takes it, or NULL for a name that is no field.  It lives as long as `axis`.
 */
SHD_API const struct shd_axis_value *shd_partition_axis_find(const struct shd_partition_axis *axis,
                                                             const char *name,
                                                             enum shd_axis_mode mode);

/* The spec of an array from the meaning of its dimensions: "batch", "query_sequence", "head",
 * "attention_dim", ...: a field's name, with or without "_axis"; NULL or "_" is a dimension that is
 * not sharded.  An axis that two dimensions have stays in both: binding the spec finds it.
 * SHD_ENOTFOUND for a name that is no field, SHD_ENOMEM. */
SHD_API SHD_MUST_CHECK int shd_partition_axis_spec(struct shd_spec **out,
                                                   const struct shd_partition_axis *axis,
                                                   const char *const *names, size_t nnames,
                                                   enum shd_axis_mode mode, struct shd_error *err);

#ifdef __cplusplus
}
#endif

#endif /* SHD_PARTITION_AXIS_H */
