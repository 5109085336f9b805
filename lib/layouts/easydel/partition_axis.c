/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <shd/partition_axis.h>

#include <stdlib.h>
#include <string.h>

struct shd_partition_axis {
    struct shd_axis_value values[SHD_NAXIS_FIELDS];
    char *text; /* copies of the names that were given */
};

/* What a field takes when it is left at its default, besides the value of a mesh axis's field
 * (which are numbers from 0): nothing, since it has no default that could be asked for; or (fsdp,
 * dp). */
#define NO_DEFAULT (-1)
#define BATCH_DEFAULT (-2)

static const struct {
    const char *name;
    const char *initial; /* the axis's name, for the fields of mesh axes; else NULL */
    int fallback;        /* a mesh axis field, or one of the above */
    bool starts_default; /* a field that is not given is at its default; false: it is none */
} fields[SHD_NAXIS_FIELDS] = {
    [SHD_AXIS_DATA_PARALLEL] = {"data_parallel_axis", "dp", NO_DEFAULT, false},
    [SHD_AXIS_FULLY_SHARDED_DATA_PARALLEL] = {"fully_sharded_data_parallel_axis", "fsdp",
                                              NO_DEFAULT, false},
    [SHD_AXIS_TENSOR_PARALLEL] = {"tensor_parallel_axis", "tp", NO_DEFAULT, false},
    [SHD_AXIS_SEQUENCE_PARALLEL] = {"sequence_parallel_axis", "sp", NO_DEFAULT, false},
    [SHD_AXIS_EXPERT_PARALLEL] = {"expert_parallel_axis", "ep", NO_DEFAULT, false},
    [SHD_AXIS_BATCH] = {"batch_axis", NULL, BATCH_DEFAULT, true},
    [SHD_AXIS_SEQUENCE] = {"sequence_axis", NULL, SHD_AXIS_SEQUENCE_PARALLEL, true},
    [SHD_AXIS_QUERY_SEQUENCE] = {"query_sequence_axis", NULL, SHD_AXIS_SEQUENCE_PARALLEL, true},
    [SHD_AXIS_HEAD] = {"head_axis", NULL, SHD_AXIS_TENSOR_PARALLEL, true},
    [SHD_AXIS_KEY_SEQUENCE] = {"key_sequence_axis", NULL, SHD_AXIS_SEQUENCE_PARALLEL, true},
    [SHD_AXIS_HIDDEN_STATE] = {"hidden_state_axis", NULL, SHD_AXIS_TENSOR_PARALLEL, true},
    [SHD_AXIS_MLP_INTERMEDIATE] = {"mlp_intermediate_axis", NULL, SHD_AXIS_TENSOR_PARALLEL, true},
    [SHD_AXIS_VOCAB] = {"vocab_axis", NULL, SHD_AXIS_TENSOR_PARALLEL, true},
    [SHD_AXIS_EXPERT] = {"expert_axis", NULL, SHD_AXIS_EXPERT_PARALLEL, true},
    [SHD_AXIS_EXPERT_GATE] = {"expert_gate_axis", NULL, NO_DEFAULT, false},
    [SHD_AXIS_ATTENTION_DIM] = {"attention_dim_axis", NULL, NO_DEFAULT, false},
    [SHD_AXIS_BIAS_HEAD_SEQUENCE] = {"bias_head_sequence_axis", NULL, NO_DEFAULT, false},
    [SHD_AXIS_BIAS_KEY_SEQUENCE] = {"bias_key_sequence_axis", NULL, NO_DEFAULT, false},
    [SHD_AXIS_GENERATION_BATCH] = {"generation_batch_axis", NULL, NO_DEFAULT, false},
    [SHD_AXIS_GENERATION_QUERY_SEQUENCE] = {"generation_query_sequence_axis", NULL, NO_DEFAULT,
                                            false},
    [SHD_AXIS_GENERATION_HEAD] = {"generation_head_axis", NULL, SHD_AXIS_TENSOR_PARALLEL, true},
    [SHD_AXIS_GENERATION_KEY_SEQUENCE] = {"generation_key_sequence_axis", NULL,
                                          SHD_AXIS_SEQUENCE_PARALLEL, true},
    [SHD_AXIS_GENERATION_ATTENTION_DIM] = {"generation_attention_dim_axis", NULL, NO_DEFAULT,
                                           false},
};

const char *shd_axis_field_name(enum shd_axis_field field)
{
    return (unsigned)field < SHD_NAXIS_FIELDS ? fields[field].name : "no field";
}

/* The field of a whole name; -1 where there is none. */
static int find_field(const char *name)
{
    for (int f = 0; f < SHD_NAXIS_FIELDS; f++) {
        if (!strcmp(fields[f].name, name))
            return f;
    }
    return -1;
}

int shd_axis_field_find(const char *name)
{
    if (!name)
        return -1;

    size_t length = strlen(name);

    for (int f = 0; f < SHD_NAXIS_FIELDS; f++) {
        const char *rest = fields[f].name + length;

        if (!strncmp(fields[f].name, name, length) && (!*rest || !strcmp(rest, "_axis")))
            return f;
    }
    return -1;
}

static struct shd_axis_value name_value(const char *name)
{
    return (struct shd_axis_value){SHD_AXIS_IS_NAME, 1, {name}};
}

static int check_override(const struct shd_axis_override *override, struct shd_error *err)
{
    int field;

    if (!SHD_GIVEN(err, override->field))
        return SHD_EINVAL;
    field = find_field(override->field);
    if (field < 0)
        return shd_error_set(err, SHD_ETYPE, "there is no field '%.100s'", override->field);
    if (override->value.naxes > SHD_AXIS_VALUE_MAX)
        return shd_error_set(err, SHD_ERANGE, "'%s' has %zu axes: at most %d are possible",
                             override->field, override->value.naxes, SHD_AXIS_VALUE_MAX);
    if (field < SHD_NMESH_AXIS_FIELDS && override->value.kind == SHD_AXIS_IS_TUPLE)
        return shd_error_set(err, SHD_ETYPE, "'%s' is one mesh axis, not several", override->field);
    return SHD_OK;
}

static size_t text_size(const struct shd_axis_override *overrides, size_t noverrides)
{
    size_t size = 1;

    for (size_t i = 0; i < noverrides; i++) {
        for (size_t a = 0; a < overrides[i].value.naxes; a++)
            size += overrides[i].value.axes[a] ? strlen(overrides[i].value.axes[a]) + 1 : 0;
    }
    return size;
}

static struct shd_axis_value copy_value(const struct shd_axis_value *value, char **text)
{
    struct shd_axis_value copy = {.kind = value->kind, .naxes = value->naxes};

    for (size_t a = 0; a < value->naxes; a++) {
        if (!value->axes[a])
            continue;
        copy.axes[a] = *text;
        *text = stpcpy(*text, value->axes[a]) + 1;
    }
    return copy;
}

/* The name that a mesh axis has, which is resolved first; NULL where it is none. */
static const char *mesh_axis(const struct shd_partition_axis *axis, enum shd_axis_field field)
{
    return axis->values[field].axes[0];
}

static int resolve(struct shd_partition_axis *axis, enum shd_axis_field field,
                   struct shd_error *err)
{
    int fallback = fields[field].fallback;

    if (axis->values[field].kind != SHD_AXIS_IS_DEFAULT)
        return SHD_OK;
    if (fallback == NO_DEFAULT)
        return shd_error_set(err, SHD_EINVAL, "'%s' has no default; expected a value",
                             fields[field].name);
    if (fallback == BATCH_DEFAULT)
        axis->values[field] =
            (struct shd_axis_value){SHD_AXIS_IS_TUPLE,
                                    2,
                                    {mesh_axis(axis, SHD_AXIS_FULLY_SHARDED_DATA_PARALLEL),
                                     mesh_axis(axis, SHD_AXIS_DATA_PARALLEL)}};
    else
        axis->values[field] = axis->values[fallback];
    return SHD_OK;
}

static void set_initial(struct shd_partition_axis *axis)
{
    for (int f = 0; f < SHD_NAXIS_FIELDS; f++) {
        if (fields[f].initial)
            axis->values[f] = name_value(fields[f].initial);
        else if (fields[f].starts_default)
            axis->values[f].kind = SHD_AXIS_IS_DEFAULT;
    }
}

int shd_partition_axis_create(struct shd_partition_axis **out,
                              const struct shd_axis_override *overrides, size_t noverrides,
                              struct shd_error *err)
{
    if (!SHD_GIVEN(err, out) || !SHD_GIVEN_ARRAY(err, overrides, noverrides))
        return SHD_EINVAL;

    int status = SHD_OK;

    for (size_t i = 0; !status && i < noverrides; i++)
        status = check_override(&overrides[i], err);
    if (status)
        return status;

    struct shd_partition_axis *axis = calloc(1, sizeof(*axis));

    if (axis)
        axis->text = malloc(text_size(overrides, noverrides));
    if (axis && axis->text) {
        char *text = axis->text;

        set_initial(axis);
        for (size_t i = 0; i < noverrides; i++)
            axis->values[find_field(overrides[i].field)] = copy_value(&overrides[i].value, &text);
        for (int f = 0; !status && f < SHD_NAXIS_FIELDS; f++)
            status = resolve(axis, (enum shd_axis_field)f, err);
    } else {
        status = shd_error_set(err, SHD_ENOMEM, "no memory for a partition axis");
    }
    if (status)
        shd_partition_axis_destroy(axis);
    else
        *out = axis;
    return status;
}

void shd_partition_axis_destroy(struct shd_partition_axis *axis)
{
    if (!axis)
        return;
    free(axis->text);
    free(axis);
}

const struct shd_axis_value *shd_partition_axis_get(const struct shd_partition_axis *axis,
                                                    enum shd_axis_field field)
{
    if (!axis || (unsigned)field >= SHD_NAXIS_FIELDS)
        return NULL;
    return &axis->values[field];
}

/* The field that stands for another one in generation. */
static int in_generation(int field)
{
    switch (field) {
    case SHD_AXIS_BATCH:
        return SHD_AXIS_GENERATION_BATCH;
    case SHD_AXIS_QUERY_SEQUENCE:
        return SHD_AXIS_GENERATION_QUERY_SEQUENCE;
    case SHD_AXIS_HEAD:
        return SHD_AXIS_GENERATION_HEAD;
    case SHD_AXIS_KEY_SEQUENCE:
        return SHD_AXIS_GENERATION_KEY_SEQUENCE;
    case SHD_AXIS_ATTENTION_DIM:
        return SHD_AXIS_GENERATION_ATTENTION_DIM;
    default:
        return field;
    }
}

const struct shd_axis_value *shd_partition_axis_find(const struct shd_partition_axis *axis,
                                                     const char *name, enum shd_axis_mode mode)
{
    if (!name)
        return NULL;

    int field = shd_axis_field_find(name);

    if (field < 0)
        return NULL;
    return &axis->values[mode == SHD_MODE_GENERATION ? in_generation(field) : field];
}

/* The spec's entry for one dimension; `axes` has room for SHD_AXIS_VALUE_MAX names. */
static int find_entry(struct shd_spec_entry *entry, const char **axes,
                      const struct shd_partition_axis *axis, const char *name,
                      enum shd_axis_mode mode, struct shd_error *err)
{
    *entry = (struct shd_spec_entry){axes, 0};
    if (!name || !strcmp(name, "_"))
        return SHD_OK;

    const struct shd_axis_value *value = shd_partition_axis_find(axis, name, mode);

    if (!value)
        return shd_error_set(err, SHD_ENOTFOUND, "no axis of a model is named '%.100s'", name);
    for (size_t a = 0; a < value->naxes; a++) {
        if (value->axes[a])
            axes[entry->naxes++] = value->axes[a];
    }
    return SHD_OK;
}

int shd_partition_axis_spec(struct shd_spec **out, const struct shd_partition_axis *axis,
                            const char *const *names, size_t nnames, enum shd_axis_mode mode,
                            struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, axis) || !SHD_GIVEN_ARRAY(err, names, nnames))
        return SHD_EINVAL;
    if (mode != SHD_MODE_TRAINING && mode != SHD_MODE_GENERATION)
        return shd_error_set(err, SHD_EINVAL, "%d is not a mode", (int)mode);

    struct shd_spec_entry *entries = calloc(nnames + 1, sizeof(*entries));
    const char **axes = calloc(nnames + 1, SHD_AXIS_VALUE_MAX * sizeof(*axes));
    int status = SHD_OK;

    if (!entries || !axes)
        status = shd_error_set(err, SHD_ENOMEM, "no memory for a partition spec");
    for (size_t i = 0; !status && i < nnames; i++)
        status = find_entry(&entries[i], axes + i * SHD_AXIS_VALUE_MAX, axis, names[i], mode, err);
    if (!status)
        status = shd_spec_create(out, entries, nnames, err);
    free(entries);
    free(axes);
    return status;
}
