/* The scenario of a train-step question (train_step.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "query/train_step.h"

#include <inttypes.h>
#include <string.h>

#include "base/yaml.h"
#include "question/read_field.h"
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
    const char *software; /* whose name of it this is; NULL: several */
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
                         "there is no recompute '%.60s'; expected none, full, selective, selective "
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
                         "there is no dtype '%.60s'; expected fp16, bf16, fp32, fp8, fp8-rowwise, "
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
                             "'ep' is %" PRId64 ", and the model has no experts", ep);
    others = step->tp * step->pp * step->cp;
    status = read_count(&step->dp, in, "dp", step->devices >= others ? step->devices / others : 1,
                        INT32_MAX, err);
    if (status != SHD_OK)
        return status;
    if (step->devices % others != 0 || step->dp != step->devices / others)
        return shd_error_set(err, SHD_EINVAL,
                             "tp %" PRId64 ", pp %" PRId64 ", cp %" PRId64 " and dp %" PRId64
                             " do not multiply to %" PRId64 " devices",
                             step->tp, step->pp, step->cp, step->dp, step->devices);
    if (step->dp % step->slices != 0)
        return shd_error_set(err, SHD_EINDIVISIBLE,
                             "%" PRId64 " slices do not divide dp, which is %" PRId64, step->slices,
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
                             "a global batch of %" PRId64 " is not whole microbatches of %" PRId64
                             " on each of %" PRId64 " replicas",
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
                                 "%s is %" PRId64 ", which %s, %" PRId64 ", does not divide",
                                 cuts[i].what, cuts[i].size, cuts[i].by, cuts[i].parts);
    if (s->kv_heads % s->tp != 0 && s->tp % s->kv_heads != 0)
        return shd_error_set(err, SHD_EINDIVISIBLE,
                             "of kv_heads, %" PRId64 ", and tp, %" PRId64
                             ", none divides the other",
                             s->kv_heads, s->tp);
    if (s->layers < s->pp * s->virtual_stages)
        return shd_error_set(err, SHD_EINVAL,
                             "%" PRId64 " layers are not enough for %" PRId64 " stages", s->layers,
                             s->pp * s->virtual_stages);
    if (s->virtual_stages > 1 && s->pp == 1)
        return shd_error_set(err, SHD_EINVAL, "virtual stages are of a pipeline, and pp is 1");
    if (s->cp > 1 && !s->flash_attention)
        return shd_error_set(err, SHD_EUNSUPPORTED,
                             "a sequence that is sharded (cp) attends by flash_attention alone");
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

/* The axes of ZeRO.  Context ranks hold other tokens and the same parameters, so they shard these
 * like replicas. */
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
static void add_mesh(const struct train_step *s, struct text *out)
{
    text_add(out, "mesh: {");
    if (s->slices > 1)
        text_addf(out, "slice: %" PRId64 ", ", s->slices);
    if (s->pp > 1)
        text_addf(out, "pp: %" PRId64 ", ", s->pp);
    text_addf(out, "dp: %" PRId64, s->dp / s->slices);
    if (s->cp > 1)
        text_addf(out, ", cp: %" PRId64, s->cp);
    text_addf(out, ", tp: %" PRId64, has_copies(s) ? s->kv_heads : s->tp);
    if (has_copies(s))
        text_addf(out, ", copy: %" PRId64, s->tp / s->kv_heads);
    text_add(out, "}\n");
}

/* The size of the vocabulary, padded as in Megatron if tp does not divide it. */
static int64_t vocab_of(const struct train_step *s)
{
    int64_t multiple = 128 * s->tp;

    return s->vocab % s->tp == 0 ? s->vocab : (s->vocab + multiple - 1) / multiple * multiple;
}

/* Write the model: like Llama with a gate, else like GPT. */
static void add_model(const struct train_step *s, struct text *out)
{
    text_addf(out, "model: {kind: transformer, %s,\n",
              s->gated_mlp ? "activation: swiglu, norm: rms, rope: {}"
                           : "activation: gelu, norm: layer, bias: true, attention_bias: all, "
                             "tied: true");
    text_addf(out,
              "        d_model: %" PRId64 ", d_ff: %" PRId64 ", layers: %" PRId64
              ", heads: %" PRId64 ", kv_heads: %" PRId64 ", head_dim: %" PRId64
              ",\n        vocab: %" PRId64 ", dtype: %s%s}\n",
              s->hidden, s->mlp_dim, s->layers, s->heads, s->kv_heads, s->head_dim, vocab_of(s),
              s->dtype, s->flash_attention ? "" : ", attention: unfused");
}

static void add_types(const struct train_step *s, const struct train_step_stack *stack,
                      struct text *out)
{
    /* Gradients of float16 keep their type in every software. */
    bool half = !strcmp(s->dtype, "float16") || stack->half_gradients;
    const char *gradients = half ? "compute" : "parameters";

    if (s->recipe)
        text_addf(out, "products: {recipe: %s, amax: local}\n", s->recipe);
    if (!strcmp(s->dtype, "float32"))
        return;
    text_addf(out, "types: {parameters: float32, gradients: %s, reduce: %s}\n", gradients,
              gradients);
}

static void add_zero(const struct train_step *s, const struct train_step_stack *stack,
                     struct text *out)
{
    bool kept = s->zero_stage == 2 && stack->fsdp;
    const char *layout = stack->fsdp ? ", layout: pad" : "";

    if (s->zero_stage == 0)
        return;
    if (s->zero_stage == 3 || kept)
        text_addf(out, "zero: {stage: 3, axis: %s%s%s%s}\n", zero_axis(s), layout,
                  stack->prefetches ? ", prefetch: 1" : ", prefetch: 0",
                  kept ? ", reshard_after_forward: never" : "");
    else
        text_addf(out, "zero: {stage: %" PRId64 ", axis: %s%s}\n", s->zero_stage, zero_axis(s),
                  layout);
}

static void add_recompute(const struct train_step *s, const struct train_step_stack *stack,
                          struct text *out)
{
    if (!s->recompute->kind)
        return;
    text_addf(out, "recompute: {kind: %s%s%s}\n", s->recompute->kind, s->recompute->more,
              stack->whole_layers && strcmp(s->recompute->kind, "selective") != 0 ? ", whole: true"
                                                                                  : "");
}

static void add_pipeline(const struct train_step *s, struct text *out)
{
    if (s->pp == 1)
        return;
    text_addf(out, "pipeline: {axis: pp, schedule: %s",
              timetable_made_for(TIMETABLE_IN_MEGATRON, s->virtual_stages)->name);
    if (s->virtual_stages > 1)
        text_addf(out, ", stages_per_rank: %" PRId64, s->virtual_stages);
    text_add(out, "}\n");
}

/* Write Megatron's rules: heads, mlp widths and the vocabulary are sharded (arXiv 1909.08053). */
static void add_rules(const struct train_step *s, struct text *out)
{
    const char *tp = tensor(s);

    text_addf(out,
              "params:\n"
              "  - [attn/q/kernel, [null, %s]]\n"
              "  - [attn/(k|v)/kernel, [null, tp]]\n"
              "  - [attn/o/kernel, [%s]]\n"
              "  - [mlp/up/kernel, [null, %s]]\n"
              "  - [mlp/down/kernel, [%s]]\n"
              "  - [embed/table, [%s]]\n",
              tp, tp, tp, tp, tp);
    if (s->gated_mlp)
        text_addf(out, "  - [mlp/gate/kernel, [null, %s]]\n  - [head/kernel, [null, %s]]\n", tp,
                  tp);
    else
        text_addf(out,
                  "  - [attn/q/bias, [%s]]\n  - [attn/(k|v)/bias, [tp]]\n"
                  "  - [mlp/up/bias, [%s]]\n",
                  tp, tp);
    text_add(out, "  - [.*, []]\n");
}

/* Write constraints: values between layers are whole, or sharded along the sequence (arXiv
 * 2205.05198). */
static void add_constraints(const struct train_step *s, const struct train_step_stack *stack,
                            struct text *out)
{
    const char *tp = tensor(s), *cp = s->cp > 1 ? "cp" : "null";
    bool cut = s->sequence_parallel ||
               (stack->sequence_parallel && s->seq % (s->tp * (s->cp > 1 ? 2 * s->cp : 1)) == 0);

    text_addf(out, "axes: {batch: %s%s}\n", batch(s), s->cp > 1 ? ", seq: cp" : "");
    if (s->tp == 1)
        return;
    text_addf(out, "constraints:\n  - [head/out, [%s, %s, %s]]\n", batch(s), cp, tp);
    if (!cut)
        text_addf(out, "  - [out$, [%s, %s]]\n", batch(s), cp);
    else
        text_addf(out, "  - [out$, [%s, [%s%s]]]\n", batch(s), s->cp > 1 ? "cp, " : "",
                  has_copies(s) ? "tp, copy" : "tp");
}

void train_step_scenario(const struct train_step *step, const struct train_step_stack *stack,
                         struct text *out)
{
    text_add(out, "version: 1\nname: train-step\n");
    text_add(out, "hardware: ");
    yaml_print_string(out, step->hardware);
    text_add(out, "\n");
    if (step->software)
        text_addf(out, "software: %s\n", step->software);
    if (step->slices > 1)
        text_addf(out, "slices: %" PRId64 "\n", step->slices);
    add_mesh(step, out);
    add_model(step, out);
    text_addf(out, "batch: {size: %" PRId64 ", seq: %" PRId64 ", microbatches: %" PRId64 "}\n",
              step->global_batch, step->seq, step->microbatches);
    text_add(out, "step: [forward, backward, update]\noptimizer: {kind: adamw, clip: 1}\n");
    add_types(step, stack, out);
    add_zero(step, stack, out);
    add_recompute(step, stack, out);
    add_pipeline(step, out);
    if (step->cp > 1)
        text_add(out, "context: {axis: cp, method: ring, order: zigzag}\n");
    add_rules(step, out);
    add_constraints(step, stack, out);
}
