/* Tests shd/partition_axis.h: the axes of each dimension, in training and in generation.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/partition_axis.h>

#include "../support/layout.h"
#include "../support/tap.h"

#define NAME(s) {SHD_AXIS_IS_NAME, 1, {s}}
#define NONE {SHD_AXIS_IS_NONE, 0, {NULL}}
#define DEFAULT {SHD_AXIS_IS_DEFAULT, 0, {NULL}}
#define TUPLE(a, b) {SHD_AXIS_IS_TUPLE, 2, {a, b}}

static const struct {
    const char *what;
    struct shd_axis_override overrides[2];
    size_t noverrides;
    const char *names[5];
    size_t nnames;
    const char *training, *generation;
} cases[] = {
    {"defaults",
     {{NULL, NONE}},
     0,
     {"batch", "query_sequence", "head", "attention_dim"},
     4,
     "[[fsdp, dp], sp, tp, null]",
     "[null, null, tp, null]"},
    {"full names",
     {{NULL, NONE}},
     0,
     {"expert_axis", "vocab_axis", "key_sequence"},
     3,
     "[ep, tp, sp]",
     "[ep, tp, sp]"},
    {"not sharded",
     {{NULL, NONE}},
     0,
     {NULL, "_", "expert_gate", "bias_key_sequence"},
     4,
     "[null, null, null, null]",
     "[null, null, null, null]"},
    {"a renamed mesh axis",
     {{"tensor_parallel_axis", NAME("mp")}},
     1,
     {"head", "mlp_intermediate"},
     2,
     "[mp, mp]",
     "[mp, mp]"},
    {"a mesh axis that is none",
     {{"data_parallel_axis", NONE}},
     1,
     {"batch"},
     1,
     "[fsdp]",
     "[null]"},
    {"overrides",
     {{"head_axis", TUPLE("a", "b")}, {"sequence_axis", NONE}},
     2,
     {"head", "sequence", "query_sequence"},
     3,
     "[[a, b], null, sp]",
     "[tp, null, null]"},
    {"generation has its own",
     {{"generation_batch_axis", NAME("x")}},
     1,
     {"batch"},
     1,
     "[[fsdp, dp]]",
     "[x]"},
    {"sequences of generation",
     {{"generation_key_sequence_axis", NAME("x")}, {"generation_attention_dim_axis", NAME("y")}},
     2,
     {"key_sequence", "attention_dim"},
     2,
     "[sp, null]",
     "[x, y]"},
    {"the default asked for", {{"batch_axis", DEFAULT}}, 1, {"batch"}, 1, "[[fsdp, dp]]", "[null]"},
};

static void test_case(size_t row)
{
    struct shd_partition_axis *axis = NULL;
    struct shd_spec *training = NULL, *generation = NULL;
    const char *const *names = cases[row].names;

    must(shd_partition_axis_create(&axis, cases[row].overrides, cases[row].noverrides, NULL),
         cases[row].what);
    must(shd_partition_axis_spec(&training, axis, names, cases[row].nnames, SHD_MODE_TRAINING,
                                 NULL),
         cases[row].what);
    must(shd_partition_axis_spec(&generation, axis, names, cases[row].nnames, SHD_MODE_GENERATION,
                                 NULL),
         cases[row].what);
    ok(!strcmp(text_of(training), cases[row].training), "%s, training: %s", cases[row].what,
       text_of(training));
    ok(!strcmp(text_of(generation), cases[row].generation), "%s, generation: %s", cases[row].what,
       text_of(generation));
    shd_spec_destroy(training);
    shd_spec_destroy(generation);
    shd_partition_axis_destroy(axis);
}

/* Names with and without "_axis", and their axes in both modes. */
static void test_find(void)
{
    const struct shd_axis_override overrides[] = {{"generation_batch_axis", NAME("dp")},
                                                  {"batch_axis", NAME("fsdp")}};
    struct shd_partition_axis *axis = NULL;
    const struct shd_axis_value *value;

    ok(shd_axis_field_find("head") == SHD_AXIS_HEAD &&
           shd_axis_field_find("head_axis") == SHD_AXIS_HEAD &&
           shd_axis_field_find("batch") == SHD_AXIS_BATCH &&
           shd_axis_field_find("expert") == SHD_AXIS_EXPERT &&
           shd_axis_field_find("expert_gate") == SHD_AXIS_EXPERT_GATE,
       "fields by name, with their _axis or without");
    ok(shd_axis_field_find("") == -1 && shd_axis_field_find("hea") == -1 &&
           shd_axis_field_find("head_") == -1 && shd_axis_field_find("head_axis_axis") == -1,
       "no fields of other names");
    must(shd_partition_axis_create(&axis, overrides, 2, NULL), "overrides");
    value = shd_partition_axis_find(axis, "batch", SHD_MODE_TRAINING);
    ok(value && value->naxes == 1 && !strcmp(value->axes[0], "fsdp"), "batch in training");
    value = shd_partition_axis_find(axis, "batch_axis", SHD_MODE_GENERATION);
    ok(value && value->naxes == 1 && !strcmp(value->axes[0], "dp"), "batch in generation");
    value = shd_partition_axis_find(axis, "vocab", SHD_MODE_GENERATION);
    ok(value && !strcmp(value->axes[0], "tp"), "vocabulary has one meaning in both");
    ok(!shd_partition_axis_find(axis, "nose", SHD_MODE_TRAINING), "a name that is no field");
    shd_partition_axis_destroy(axis);
}

static void test_bad(void)
{
    static const struct {
        struct shd_axis_override override;
        int status;
    } rows[] = {
        {{"bogus_axis", NAME("x")}, SHD_ETYPE},
        {{"batch", NAME("x")}, SHD_ETYPE},
        {{"expert_gate_axis", DEFAULT}, SHD_EINVAL},
        {{"generation_batch_axis", DEFAULT}, SHD_EINVAL},
        {{"data_parallel_axis", DEFAULT}, SHD_EINVAL},
        {{"data_parallel_axis", TUPLE("a", "b")}, SHD_ETYPE},
        {{"head_axis", {SHD_AXIS_IS_TUPLE, 17, {NULL}}}, SHD_ERANGE},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct shd_partition_axis *axis = NULL;

        ok(shd_partition_axis_create(&axis, &rows[i].override, 1, NULL) == rows[i].status && !axis,
           "refused: '%s', row %zu", rows[i].override.field, i);
    }
}

static void test_first_fault(void)
{
    const struct shd_axis_override overrides[] = {{"generation_batch_axis", DEFAULT},
                                                  {"attention_dim_axis", DEFAULT}};
    const char *const unknown[] = {"nose"};
    struct shd_partition_axis *axis = NULL;
    struct shd_spec *spec = NULL;
    struct shd_error err = {0};

    ok(shd_partition_axis_create(&axis, overrides, 2, &err) == SHD_EINVAL &&
           strstr(err.text, "'attention_dim_axis'"),
       "the first field in order is told: %s", err.text);
    must(shd_partition_axis_create(&axis, NULL, 0, NULL), "defaults");
    ok(shd_partition_axis_spec(&spec, axis, unknown, 1, SHD_MODE_TRAINING, NULL) ==
           SHD_ENOTFOUND,
       "no such axis of a model");
    ok(shd_partition_axis_get(axis, SHD_AXIS_BATCH)->kind == SHD_AXIS_IS_TUPLE &&
           !strcmp(shd_partition_axis_get(axis, SHD_AXIS_BATCH)->axes[0], "fsdp") &&
           shd_partition_axis_get(axis, SHD_AXIS_GENERATION_BATCH)->kind == SHD_AXIS_IS_NONE,
       "fields can be read");
    ok(SHD_NAXIS_FIELDS == 23 &&
           !strcmp(shd_axis_field_name(SHD_AXIS_GENERATION_ATTENTION_DIM),
                   "generation_attention_dim_axis"),
       "23 fields");
    shd_partition_axis_destroy(axis);
    shd_partition_axis_destroy(NULL);
}

int main(void)
{
    plan(0);
    for (size_t row = 0; row < sizeof(cases) / sizeof(cases[0]); row++)
        test_case(row);
    test_find();
    test_bad();
    test_first_fault();
    return done();
}
