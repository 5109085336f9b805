/* Checks of serving (scenario/serving_checks.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "scenario/serving_checks.h"

#include <inttypes.h>
#include <string.h>

#include "scenario/table.h"

static bool is_given(const struct scenario *s, const char *section, const char *key)
{
    return s->places[option_id(option_find(section, key))].file &&
           !option_is_default(s, option_find(section, key));
}

/* What a step of serving has nothing to do with, or is not built for. */
static const struct {
    const char *section, *key, *why;
} refused[] = {
    {"optimizer", "kind", "serving does not train"},
    {"batch", "microbatches", "a serving step is a single batch"},
    {"context", "documents", "each sequence is a single document"},
    {"pipeline", "axis",
     "pipeline parallelism is not supported in serving; expected tensor parallelism"},
    {"model", "mtp", "MTP modules are not supported in serving"},
    {NULL, "uneven", "a KV cache cannot be padded"},
    {NULL, "data", "prompts are random tokens, continued by generated tokens"},
};

static void check_refused(struct reader *r)
{
    const struct scenario *s = r->scenario;

    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        if (is_given(s, refused[i].section, refused[i].key))
            diag_error(
                r->diag, s->places[option_id(option_find(refused[i].section, refused[i].key))],
                "%s in a serving step: %s",
                option_path(option_find(refused[i].section, refused[i].key)).text, refused[i].why);
}

/* Steps are those of the tokens; as many may be said, as the text of a scenario does. */
static void check_steps(struct reader *r)
{
    const struct scenario *s = r->scenario;
    int64_t steps = s->step.decode ? scenario_decode_steps(s) : 1;

    if (s->steps != steps)
        WRONG(r, "steps",
              "decode.tokens sets the number of steps in serving; expected steps: %" PRId64
              ", or no steps",
              steps);
}

/* What a model lacks that is to be served. */
static void check_model(struct reader *r)
{
    const struct scenario *s = r->scenario;

    if (s->model.vocab == 0 || s->model.kind == SCENARIO_T5 || s->model.kind == SCENARIO_GRAPH)
        WRONG(r, "step", "a model of kind %s cannot decode; expected a decoder, such as llama3",
              scenario_kind_name(s->model.kind));
    else if (!s->model.causal)
        WRONG(r, "step", "a KV cache needs causal attention; expected model.causal: true");
    else if (s->model.attention == SCENARIO_UNFUSED)
        WRONG(r, "model.attention", "unfused attention has no KV cache; expected fused");
    if (s->model.positions > 0 && scenario_sequence_tokens(s) > s->model.positions)
        WRONG(r, s->step.decode ? "decode.tokens" : "batch.seq",
              "%" PRId64 " tokens per sequence exceed the model's %" PRId64
              " positions; expected fewer",
              scenario_sequence_tokens(s), s->model.positions);
}

static void check_pages(struct reader *r)
{
    const struct scenario *s = r->scenario;
    int64_t shards = scenario_batch_shards(s);
    int64_t kept = scenario_kept_tokens(s) + (s->step.prefill ? s->batch.seq : 0);

    if (s->decode.shared > 0 && s->decode.page == 0)
        WRONG(r, "decode.shared", "a shared prefix needs pages; expected decode.page, such as 16");
    if (s->decode.shared > 0 && scenario_cache_parts(s) > 1 && s->context.order != SCENARIO_STRIPED)
        WRONG(r, "decode.shared",
              "a shared prefix would lie in the first shard of the KV cache only; expected "
              "context.order striped");
    if (s->decode.shared > kept)
        WRONG(r, "decode.shared",
              "%" PRId64 " shared tokens exceed the %" PRId64
              " tokens in the KV cache; expected at most as many",
              s->decode.shared, kept);
    if (s->decode.page > 0 && s->batch.size % shards != 0)
        WRONG(r, "batch.size",
              "%" PRId64 " sequences do not divide into %" PRId64
              " page pools, one for each data-parallel shard",
              s->batch.size, shards);
}

/* Copies would have to learn alike, and to be scaled alike. */
static void check_copies(struct reader *r)
{
    const struct scenario *s = r->scenario;
    int64_t copies = s->model.moe.redundant;
    const char *noun = copies == 1 ? "copy" : "copies";

    if (copies == 0)
        return;
    if (s->model.moe.experts == 0)
        WRONG(r, "moe.redundant",
              "%" PRId64
              " redundant %s of experts, but the model has no experts; expected moe.experts",
              copies, noun);
    else if (!scenario_serves(s))
        WRONG(r, "moe.redundant",
              "%" PRId64 " redundant %s of experts outside of serving; expected 0, or step: "
                         "[prefill] or [decode]",
              copies, noun);
    else if (s->products.weights == SCENARIO_BASE_NF4 ||
             (s->lora.rank > 0 && s->lora.base == SCENARIO_BASE_NF4))
        WRONG(r, "moe.redundant",
              "%" PRId64 " redundant %s of nf4 experts would differ from the originals: nf4 scales "
                         "span experts; expected another type of weights",
              copies, noun);
}

/* A batch is of as many sequences as the server takes at once. */
static void check_limits(struct reader *r)
{
    const struct scenario *s = r->scenario;
    int64_t parts = scenario_batch_shards(s), each = (s->batch.size + parts - 1) / parts;
    int64_t most = scenario_most_sequences(s);

    if (each > most)
        WRONG(r, "batch.size",
              "%" PRId64 " sequences of %" PRId64 " tokens exceed limits.%s %" PRId64
              "; expected at most %" PRId64 " sequences",
              s->batch.size, scenario_cache_tokens(s),
              most == s->limits.sequences ? "sequences" : "tokens",
              most == s->limits.sequences ? most : s->limits.tokens, most * parts);
}

void check_serving(struct reader *r)
{
    const struct scenario *s = r->scenario;

    if (s->products.amax == SCENARIO_AMAX_STATIC &&
        (!scenario_serves(s) || (s->products.recipe != SCENARIO_TENSORWISE &&
                                 s->products.recipe != SCENARIO_NVFP4)))
        WRONG(r, "products.amax",
              "static scales need a served model and one scale per tensor; expected step: "
              "[prefill] or [decode] and products.recipe tensorwise or nvfp4");

    check_copies(r);
    if (!scenario_serves(s) && s->limits.sequences + s->limits.tokens > 0)
        WRONG(
            r, s->limits.sequences > 0 ? "limits.sequences" : "limits.tokens",
            "a limit of %s applies to serving only; expected none, or step: [prefill] or [decode]",
            s->limits.sequences > 0 ? "sequences" : "tokens");
    if (!scenario_serves(s))
        return;
    check_refused(r);
    check_steps(r);
    check_model(r);
    if (s->context.method == SCENARIO_RING && scenario_kept_tokens(s) > 0)
        WRONG(r, "context.method", "ring attention would move the KV cache; expected gather");
    if (!s->step.decode && is_given(s, "decode", "tokens"))
        WRONG(r, "decode.tokens", "a prefill generates one token; expected step: [decode]");
    if (!s->step.decode && is_given(s, "decode", "draft"))
        WRONG(r, "decode.draft", "a prefill has no draft tokens; expected step: [decode]");
    check_pages(r);
    check_limits(r);
    if (scenario_cache_bits(s) == 8 && s->model.dtype == SHD_F64)
        WRONG(r, "decode.cache",
              "an FP8 cache of float64 keys is not supported; expected a model.dtype of at most 32 "
              "bits, or decode.cache int4 or mxfp4");
    if (s->decode.draft > 0 && s->decode.accepted > (double)s->decode.draft)
        WRONG(r, "decode.accepted", "%g accepted tokens exceed the %" PRId64 " draft tokens",
              s->decode.accepted, s->decode.draft);
    if (scenario_cache_tokens(s) > INT32_MAX)
        WRONG(r, "decode.context", "%" PRId64 " tokens per sequence; expected at most %d",
              scenario_cache_tokens(s), INT32_MAX);
}

/* What a cache is of: options of a section, or one of them. */
static const struct {
    const char *section, *key;
} shared[] = {{"model", NULL},      {"mla", NULL},       {"moe", NULL},      {"batch", NULL},
              {"decode", "shared"}, {"decode", "cache"}, {"decode", "block"}};

/* An axis of the mesh may be another one in a prefill of devices of its own, and experts may have
 * other copies. */
static bool is_shared(const struct option *o)
{
    for (size_t i = 0; i < sizeof shared / sizeof shared[0]; i++)
        if (option_is_in(o, shared[i].section) &&
            (!shared[i].key || !strcmp(o->key, shared[i].key)))
            return strcmp(o->key, "node_axis") != 0 && strcmp(o->key, "redundant") != 0;
    return false;
}

void check_halves(const struct scenario *prefill, const struct scenario *decode, struct diag *diag)
{
    for (size_t i = 0; i < option_count; i++) {
        const struct option *o = &option_table[i];
        bool same = true;

        if (is_shared(o) && prefill->places[i].file &&
            option_is_same(&same, prefill, decode, o) != SHD_OK)
            diag_no_memory(diag);
        else if (!same)
            diag_error(diag, prefill->places[i],
                       "%s differs between prefill and decode, which share the KV cache; expected "
                       "equal values",
                       option_path(o).text);
    }
}
