/* The scenario of a train-step question (train_step.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "query/train_step.h"

#include <inttypes.h>
#include <string.h>

#include "question/read_field.h"
#include "scenario/draft.h"
#include "scenario/scenario.h"
#include "scenario/tensor_rules.h"
#include "timetable/timetable.h"

#define WIDTH_MAX INT32_MAX
#define LAYERS_MAX 65536
#define BATCH_MAX INT32_MAX

/* ---- recomputation ---- */

/* A recomputation policy in a question, and the corresponding value of `recompute:`, without
 * `whole`. */
struct train_step_policy {
    const char *name;
    const char *kind;     /* NULL: `recompute` is none */
    const char *more;     /* entries of the map besides the kind */
    const char *software; /* the software that uses this name; NULL: several */
};

static const struct train_step_policy policies[] = {
    {"none", NULL, "", NULL},
    {"full", "full", "", NULL},
    {"selective", "selective", "", NULL},
    {"selective layer", "full", ", every: 2, offset: 1",
     NULL}, /* torchtitan: the second of every two */
    {"selective op", "selective_op", "", NULL},
    {"selective op (SAC)", "selective_op", "", "fsdp2"},
    {"per-op SAC", "selective_op", "", "fsdp2"},
    {"minimal", "minimal", "", NULL},
};

#define NPOLICIES (sizeof policies / sizeof policies[0])

static int read_policy(const struct train_step_policy **out, const json_t *in,
                       struct shd_error *err)
{
    const char *name;
    int status = read_string(&name, in, "recompute", "none", err);

    for (size_t i = 0; i < NPOLICIES && status == SHD_OK; i++)
        if (!strcmp(policies[i].name, name)) {
            *out = &policies[i];
            return SHD_OK;
        }
    if (status != SHD_OK)
        return status;
    return shd_error_set(err, SHD_ENOTFOUND,
                         "unknown recompute '%.60s'; expected none, full, selective, selective "
                         "layer, selective op, per-op SAC or minimal",
                         name);
}

/* Read the type of the computation, and the recipe of products that are of fewer bits.  FP8 without
 * more has a scale for each array, as torchao's and Transformer Engine's standard. */
static int read_dtype_name(struct train_step *out, const json_t *in, struct shd_error *err)
{
    static const char *const names[][3] = {{"fp16", "float16", NULL},
                                           {"bf16", "bfloat16", NULL},
                                           {"fp32", "float32", NULL},
                                           {"fp8", "bfloat16", "tensorwise"},
                                           {"fp8-rowwise", "bfloat16", "rowwise"},
                                           {"fp8-blockwise", "bfloat16", "blockwise"},
                                           {"mxfp8", "bfloat16", "mxfp8"},
                                           {"nvfp4", "bfloat16", "nvfp4"}};
    const char *name;
    int status = read_string(&name, in, "dtype", "bf16", err);

    for (size_t i = 0; i < sizeof names / sizeof names[0] && status == SHD_OK; i++)
        if (!strcmp(names[i][0], name)) {
            out->dtype = names[i][1];
            out->recipe = names[i][2];
            return SHD_OK;
        }
    if (status != SHD_OK)
        return status;
    return shd_error_set(err, SHD_EUNSUPPORTED,
                         "unknown dtype '%.60s'; expected fp16, bf16, fp32, fp8, fp8-rowwise, "
                         "fp8-blockwise, mxfp8 or nvfp4",
                         name);
}

/* ---- reading ---- */

/* Read an optional number of the question. */
static int read_count(int64_t *out, const json_t *in, const char *key, int64_t fallback,
                      int64_t most, struct shd_error *err)
{
    int status = read_int(out, in, key, fallback, err);

    if (status == SHD_OK && (*out < 1 || *out > most))
        return shd_error_set(err, SHD_ERANGE, "'%s' is %" PRId64 "; expected 1 to %" PRId64, key,
                             *out, most);
    return status;
}

/* The width of a head.  If heads do not divide the hidden size it is rounded up to a multiple of 8
 * elements, as kernels prefer. */
static int64_t width_of_heads(const struct train_step *step)
{
    int64_t width = (step->hidden + step->heads - 1) / step->heads;

    return step->hidden % step->heads == 0 ? width : (width + 7) / 8 * 8;
}

static int read_model(struct train_step *step, const json_t *in, struct shd_error *err)
{
    const json_t *model = json_object_get(in, "model");
    struct {
        const char *key;
        int64_t *out;
        int64_t most;
    } sizes[] = {{"hidden", &step->hidden, WIDTH_MAX}, {"layers", &step->layers, LAYERS_MAX},
                 {"heads", &step->heads, 65536},       {"mlp_dim", &step->mlp_dim, WIDTH_MAX},
                 {"vocab", &step->vocab, WIDTH_MAX},   {"seq", &step->seq, WIDTH_MAX}};
    int status = SHD_OK;

    if (!json_is_object(model))
        return shd_error_set(err, SHD_ETYPE, "'model' must be an object");
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && status == SHD_OK; i++)
        status = read_size_up_to(sizes[i].out, model, sizes[i].key, sizes[i].most, err);
    if (status == SHD_OK)
        status = read_count(&step->kv_heads, model, "kv_heads", step->heads, step->heads, err);
    if (status == SHD_OK)
        status =
            read_count(&step->head_dim, model, "head_dim", width_of_heads(step), WIDTH_MAX, err);
    if (status == SHD_OK)
        status = read_bool(&step->gated_mlp, model, "gated_mlp", false, err);
    return status;
}

static int read_sizes(struct train_step *step, const json_t *in, struct shd_error *err)
{
    struct {
        const char *key;
        int64_t *out;
    } axes[] = {{"tp", &step->tp},
                {"pp", &step->pp},
                {"cp", &step->cp},
                {"slices", &step->slices},
                {"virtual_stages", &step->virtual_stages}};
    int64_t ep, others;
    int status = read_size_up_to(&step->devices, in, "devices", INT32_MAX, err);

    for (size_t i = 0; i < sizeof axes / sizeof axes[0] && status == SHD_OK; i++)
        status = read_count(axes[i].out, in, axes[i].key, 1, 65536, err);
    if (status == SHD_OK)
        status = read_count(&ep, in, "ep", 1, 65536, err);
    if (status != SHD_OK)
        return status;
    if (ep > 1)
        return shd_error_set(err, SHD_EUNSUPPORTED,
                             "'ep' is %" PRId64 ", but the model has no experts", ep);
    others = step->tp * step->pp * step->cp;
    status = read_count(&step->dp, in, "dp", step->devices >= others ? step->devices / others : 1,
                        INT32_MAX, err);
    if (status != SHD_OK)
        return status;
    if (step->devices % others != 0 || step->dp != step->devices / others)
        return shd_error_set(err, SHD_EINVAL,
                             "tp %" PRId64 ", pp %" PRId64 ", cp %" PRId64 " and dp %" PRId64 " do "
                             "not multiply to %" PRId64 " devices",
                             step->tp, step->pp, step->cp, step->dp, step->devices);
    if (step->dp % step->slices != 0)
        return shd_error_set(err, SHD_EINDIVISIBLE,
                             "slices %" PRId64 " does not divide dp %" PRId64, step->slices,
                             step->dp);
    return SHD_OK;
}

static int read_batch(struct train_step *step, const json_t *in, struct shd_error *err)
{
    int64_t accumulated;
    int status = read_size_up_to(&step->micro_batch, in, "micro_batch", BATCH_MAX, err);

    if (status == SHD_OK)
        status = read_size_up_to(&step->global_batch, in, "global_batch", BATCH_MAX, err);
    if (status != SHD_OK)
        return status;
    if (step->global_batch % (step->dp * step->micro_batch) != 0)
        return shd_error_set(err, SHD_EINDIVISIBLE,
                             "a global batch of %" PRId64
                             " is not a multiple of micro_batch %" PRId64 " x dp %" PRId64,
                             step->global_batch, step->micro_batch, step->dp);
    step->microbatches = step->global_batch / (step->dp * step->micro_batch);
    status = read_count(&accumulated, in, "grad_accum", step->microbatches, BATCH_MAX, err);
    if (status == SHD_OK && accumulated != step->microbatches)
        return shd_error_set(
            err, SHD_EINVAL,
            "'grad_accum' is %" PRId64 "; a global batch of %" PRId64 " is %" PRId64
            " microbatches of %" PRId64 " on each of %" PRId64 " replicas",
            accumulated, step->global_batch, step->microbatches, step->micro_batch, step->dp);
    return status;
}

/* Check divisibility, so that errors speak of the question and not of the scenario. */
static int check(const struct train_step *s, struct shd_error *err)
{
    const struct {
        const char *what, *by;
        int64_t size, parts;
    } cuts[] = {{"heads", "kv_heads", s->heads, s->kv_heads},
                {"heads", "tp", s->heads, s->tp},
                {"mlp_dim", "tp", s->mlp_dim, s->tp},
                {"seq", "tp", s->seq, s->sequence_parallel ? s->tp : 1},
                {"seq", "twice cp", s->seq, s->cp > 1 ? 2 * s->cp : 1}};

    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++)
        if (cuts[i].size % cuts[i].parts != 0)
            return shd_error_set(err, SHD_EINDIVISIBLE,
                                 "%s %" PRId64 " is not a multiple of %s %" PRId64, cuts[i].what,
                                 cuts[i].size, cuts[i].by, cuts[i].parts);
    if (s->kv_heads % s->tp != 0 && s->tp % s->kv_heads != 0)
        return shd_error_set(err, SHD_EINDIVISIBLE,
                             "neither of kv_heads %" PRId64 " and tp %" PRId64 " divides the other",
                             s->kv_heads, s->tp);
    if (s->layers < s->pp * s->virtual_stages)
        return shd_error_set(err, SHD_EINVAL,
                             "%" PRId64 " layers are not enough for %" PRId64 " stages", s->layers,
                             s->pp * s->virtual_stages);
    if (s->virtual_stages > 1 && s->pp == 1)
        return shd_error_set(err, SHD_EINVAL, "virtual stages need a pipeline, but pp is 1");
    if (s->cp > 1 && !s->flash_attention)
        return shd_error_set(err, SHD_EUNSUPPORTED,
                             "context parallelism (cp) requires flash_attention");
    return SHD_OK;
}

int train_step_read(struct train_step *out, const json_t *in, struct shd_error *err)
{
    struct train_step s = {.hidden = 0};
    int status = read_model(&s, in, err);

    if (status == SHD_OK)
        status = read_string(&s.hardware, in, "hardware", NULL, err);
    if (status == SHD_OK)
        status = read_string(&s.software, in, "software", NULL, err);
    if (status == SHD_OK)
        status = read_sizes(&s, in, err);
    if (status == SHD_OK)
        status = read_batch(&s, in, err);
    if (status == SHD_OK)
        status = read_policy(&s.recompute, in, err);
    if (status == SHD_OK && !s.software)
        s.software = s.recompute->software;
    if (status == SHD_OK)
        status = read_dtype_name(&s, in, err);
    if (status == SHD_OK)
        status = read_bool(&s.sequence_parallel, in, "sequence_parallel", false, err);
    if (status == SHD_OK)
        status = read_bool(&s.flash_attention, in, "flash_attention", true, err);
    if (status == SHD_OK)
        status = read_int(&s.zero_stage, in, "zero_stage", 0, err);
    if (status == SHD_OK && (s.zero_stage < 0 || s.zero_stage > 3))
        status = shd_error_set(err, SHD_ERANGE, "'zero_stage' is %" PRId64 "; expected 0 to 3",
                               s.zero_stage);
    if (status == SHD_OK)
        status = check(&s, err);
    if (status == SHD_OK)
        *out = s;
    return status;
}

/* ---- writing ---- */

/* With fewer key heads than tensor-parallel devices, groups of adjacent devices have the same key
 * heads, as in Megatron: the axis is split in two, of which the inner one, `copy`, does not shard
 * keys. */
static bool has_copies(const struct train_step *s)
{
    return s->tp > s->kv_heads;
}

/* The axes that shard heads, mlp widths and the vocabulary. */
static const char *tensor(const struct train_step *s)
{
    return has_copies(s) ? "[tp, copy]" : "tp";
}

/* The axes of ZeRO.  Context ranks hold different tokens but the same parameters, so ZeRO shards
 * over them like over replicas. */
static const char *zero_axis(const struct train_step *s)
{
    return s->cp > 1 ? "[dp, cp]" : "dp";
}

/* The axes that shard the batch. */
static const char *batch(const struct train_step *s)
{
    return s->slices > 1 ? "[slice, dp]" : "dp";
}

/* Write the mesh from the outermost axis: axes that communicate most are innermost. */
static void add_mesh(const struct train_step *s, struct draft *out)
{
    if (s->slices > 1)
        draft_set_count(out, "mesh.slice", s->slices);
    if (s->pp > 1)
        draft_set_count(out, "mesh.pp", s->pp);
    draft_set_count(out, "mesh.dp", s->dp / s->slices);
    if (s->cp > 1)
        draft_set_count(out, "mesh.cp", s->cp);
    draft_set_count(out, "mesh.tp", has_copies(s) ? s->kv_heads : s->tp);
    if (has_copies(s))
        draft_set_count(out, "mesh.copy", s->tp / s->kv_heads);
}

/* The size of the vocabulary, padded as in Megatron if tp does not divide it. */
static int64_t vocab_of(const struct train_step *s)
{
    int64_t multiple = 128 * s->tp;

    return s->vocab % s->tp == 0 ? s->vocab : (s->vocab + multiple - 1) / multiple * multiple;
}

/* Write the model: like Llama with a gate, else like GPT. */
static void add_model(const struct train_step *s, struct draft *out)
{
    draft_block(out);
    draft_set(out, "model.kind", "transformer");
    draft_set(out, "model.activation", s->gated_mlp ? "swiglu" : "gelu");
    draft_set(out, "model.norm", s->gated_mlp ? "rms" : "layer");
    if (s->gated_mlp) {
        draft_set(out, "model.rope", "{}");
    } else {
        draft_set_bool(out, "model.bias", true);
        draft_set(out, "model.attention_bias", "all");
        draft_set_bool(out, "model.tied", true);
    }
    draft_set_count(out, "model.d_model", s->hidden);
    draft_set_count(out, "model.d_ff", s->mlp_dim);
    draft_set_count(out, "model.layers", s->layers);
    draft_set_count(out, "model.heads", s->heads);
    draft_set_count(out, "model.kv_heads", s->kv_heads);
    draft_set_count(out, "model.head_dim", s->head_dim);
    draft_set_count(out, "model.vocab", vocab_of(s));
    draft_set(out, "model.dtype", "%s", s->dtype);
    if (!s->flash_attention)
        draft_set(out, "model.attention", "unfused");
}

static void add_types(const struct train_step *s, const struct train_step_stack *stack,
                      struct draft *out)
{
    /* Gradients of float16 keep their type in every software. */
    bool half = !strcmp(s->dtype, "float16") || stack->half_gradients;
    const char *gradients = half ? "compute" : "parameters";

    if (s->recipe) {
        draft_set(out, "products.recipe", "%s", s->recipe);
        draft_set(out, "products.amax", "local");
    }
    if (!strcmp(s->dtype, "float32"))
        return;
    draft_set(out, "types.parameters", "float32");
    draft_set(out, "types.gradients", "%s", gradients);
    draft_set(out, "types.reduce", "%s", gradients);
}

static void add_zero(const struct train_step *s, const struct train_step_stack *stack,
                     struct draft *out)
{
    bool kept = s->zero_stage == 2 && stack->fsdp;
    int64_t stage = kept ? 3 : s->zero_stage;

    if (stage == 0)
        return;
    draft_set_count(out, "zero.stage", stage);
    draft_set(out, "zero.axis", "%s", zero_axis(s));
    if (stack->fsdp)
        draft_set(out, "zero.layout", "pad");
    if (stage == 3)
        draft_set_count(out, "zero.prefetch", stack->prefetches);
    if (kept)
        draft_set(out, "zero.reshard_after_forward", "never");
}

static void add_recompute(const struct train_step *s, const struct train_step_stack *stack,
                          struct draft *out)
{
    if (!s->recompute->kind)
        return;
    draft_set(out, "recompute.kind", "%s%s", s->recompute->kind, s->recompute->more);
    if (stack->whole_layers && strcmp(s->recompute->kind, "selective") != 0)
        draft_set_bool(out, "recompute.whole", true);
}

static void add_pipeline(const struct train_step *s, struct draft *out)
{
    if (s->pp == 1)
        return;
    draft_set(out, "pipeline.axis", "pp");
    draft_set(out, "pipeline.schedule", "%s",
              timetable_made_for(TIMETABLE_IN_MEGATRON, s->virtual_stages)->name);
    if (s->virtual_stages > 1)
        draft_set_count(out, "pipeline.stages_per_rank", s->virtual_stages);
}

/* Values between layers are whole, or sharded along the sequence. */
static void add_rules(const struct train_step *s, const struct train_step_stack *stack,
                      struct text *out)
{
    const char *tp = tensor(s), *cp = s->cp > 1 ? "cp" : "null", *tokens = cp;
    struct tensor_axes axes = tensor_axes_same(tp);
    bool cut = s->sequence_parallel ||
               (stack->sequence_parallel && s->seq % (s->tp * (s->cp > 1 ? 2 * s->cp : 1)) == 0);

    const struct scenario_model model = {.kind = SCENARIO_TRANSFORMER,
                                         .tied = !s->gated_mlp,
                                         .bias = !s->gated_mlp,
                                         .attention_bias =
                                             s->gated_mlp ? SCENARIO_BIAS_NONE : SCENARIO_BIAS_ALL};

    axes.keys = "tp";
    text_add(out, "params:\n");
    tensor_rules_print(out, &model, &axes, RULES_BLOCK);
    text_addf(out, "axes: {batch: %s%s}\n", batch(s), s->cp > 1 ? ", seq: cp" : "");
    if (s->tp == 1)
        return;
    if (cut)
        tokens = s->cp == 1 ? tp : has_copies(s) ? "[cp, tp, copy]" : "[cp, tp]";
    text_add(out, "constraints:\n");
    tensor_constraints_print(
        out, &(struct tensor_values){.batch = batch(s), .seq = cp, .vocab = tp, .tokens = tokens},
        RULES_BLOCK);
}

void train_step_scenario(const struct train_step *step, const struct train_step_stack *stack,
                         struct text *out)
{
    struct draft draft = DRAFT_OF(out);

    draft_set(&draft, "version", "1");
    draft_set(&draft, "name", "train-step");
    draft_set_string(&draft, "hardware", step->hardware);
    if (step->software)
        draft_set(&draft, "software", "%s", step->software);
    if (step->slices > 1)
        draft_set_count(&draft, "slices", step->slices);
    add_mesh(step, &draft);
    add_model(step, &draft);
    draft_set_count(&draft, "batch.size", step->global_batch);
    draft_set_count(&draft, "batch.seq", step->seq);
    draft_set_count(&draft, "batch.microbatches", step->microbatches);
    draft_set(&draft, "step", "[forward, backward, update]");
    draft_set(&draft, "optimizer.kind", "adamw");
    draft_set(&draft, "optimizer.clip", "1");
    add_types(step, stack, &draft);
    add_zero(step, stack, &draft);
    add_recompute(step, stack, &draft);
    add_pipeline(step, &draft);
    if (step->cp > 1) {
        draft_set(&draft, "context.axis", "cp");
        draft_set(&draft, "context.method", "ring");
        draft_set(&draft, "context.order", "zigzag");
    }
    add_rules(step, stack, draft_text(&draft));
}
