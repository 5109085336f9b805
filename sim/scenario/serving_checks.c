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
    {"optimizer", "kind", "nothing is learned"},
    {"batch", "microbatches", "a step of serving is one batch"},
    {"context", "documents", "each sequence is one"},
    {"pipeline", "axis", "stages of layers are not served yet; expected tensor parallelism"},
    {"model", "mtp", "modules for further tokens are not served yet"},
    {NULL, "uneven", "a cache is not padded"},
    {NULL, "data", "tokens are random ones, and those that are made"},
};

static void check_refused(struct reader *r)
{
    const struct scenario *s = r->scenario;

    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        if (is_given(s, refused[i].section, refused[i].key))
            diag_error(
                r->diag, s->places[option_id(option_find(refused[i].section, refused[i].key))],
                "%s in a step of serving: %s",
                option_path(option_find(refused[i].section, refused[i].key)).text, refused[i].why);
}

/* Steps are those of the tokens; as many may be said, as the text of a scenario does. */
static void check_steps(struct reader *r)
{
    const struct scenario *s = r->scenario;
    int64_t steps = s->step.decode ? scenario_decode_steps(s) : 1;

    if (s->steps != steps)
        WRONG(r, "steps",
              "steps in a step of serving: decode.tokens says how many there are; expected %" PRId64
              ", or none",
              steps);
}

/* What a model lacks that is to be served. */
static void check_model(struct reader *r)
{
    const struct scenario *s = r->scenario;

    if (s->model.vocab == 0 || s->model.kind == SCENARIO_T5 || s->model.kind == SCENARIO_GRAPH)
        WRONG(r, "step",
              "a model of kind %s makes no tokens one after the other; expected a decoder, such as "
              "llama3",
              scenario_kind_name(s->model.kind));
    else if (!s->model.causal)
        WRONG(r, "step", "tokens that see later ones cannot be kept; expected model.causal true");
    else if (s->model.attention == SCENARIO_UNFUSED)
        WRONG(r, "model.attention", "unfused attention has no cache; expected fused");
    if (s->model.positions > 0 && scenario_sequence_tokens(s) > s->model.positions)
        WRONG(r, s->step.decode ? "decode.tokens" : "batch.seq",
              "%" PRId64 " tokens of a sequence are kept, and the model has %" PRId64
              " positions; expected fewer",
              scenario_sequence_tokens(s), s->model.positions);
}

static void check_pages(struct reader *r)
{
    const struct scenario *s = r->scenario;
    int64_t shards = scenario_batch_shards(s);
    int64_t kept = scenario_kept_tokens(s) + (s->step.prefill ? s->batch.seq : 0);

    if (s->decode.shared > 0 && s->decode.page == 0)
        WRONG(r, "decode.shared", "tokens are shared by pages; expected decode.page, such as 16");
    if (s->decode.shared > 0 && scenario_cache_parts(s) > 1 && s->context.order != SCENARIO_STRIPED)
        WRONG(r, "decode.shared",
              "the first tokens lie in the first part of the cache alone; expected context.order "
              "striped");
    if (s->decode.shared > kept)
        WRONG(r, "decode.shared",
              "%" PRId64 " tokens are shared of %" PRId64 " that are kept; expected at most these",
              s->decode.shared, kept);
    if (s->decode.page > 0 && s->batch.size % shards != 0)
        WRONG(r, "batch.size",
              "%" PRId64 " sequences do not divide into the %" PRId64
              " pools of pages that the batch's axes make",
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
              "%" PRId64 " %s of experts of which there are none; expected moe.experts", copies,
              noun);
    else if (!scenario_serves(s))
        WRONG(r, "moe.redundant",
              "%" PRId64 " %s of experts in a step that serves nobody; expected 0, or step: "
              "[prefill] or [decode]",
              copies, noun);
    else if (s->products.weights == SCENARIO_BASE_NF4 ||
             (s->lora.rank > 0 && s->lora.base == SCENARIO_BASE_NF4))
        WRONG(r, "moe.redundant",
              "%" PRId64 " %s of experts in nf4, which scales weights by those of other "
              "experts, so that copies would differ; expected other weights",
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
              "%" PRId64 " sequences of %" PRId64 " tokens, and limits.%s is %" PRId64
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
              "magnitudes that are known before are one number for each array of a model that is "
              "served; expected step: [prefill] or [decode] and products.recipe tensorwise or "
              "nvfp4");

    check_copies(r);
    if (!scenario_serves(s) && s->limits.sequences + s->limits.tokens > 0)
        WRONG(r, s->limits.sequences > 0 ? "limits.sequences" : "limits.tokens",
              "the most %s of a server in a step that serves nobody; expected none, or step: "
              "[prefill] or [decode]",
              s->limits.sequences > 0 ? "sequences" : "tokens");
    if (!scenario_serves(s))
        return;
    check_refused(r);
    check_steps(r);
    check_model(r);
    if (s->context.method == SCENARIO_RING && scenario_kept_tokens(s) > 0)
        WRONG(r, "context.method",
              "a ring would move the cache around; expected gather, which leaves it where it lies");
    if (!s->step.decode && is_given(s, "decode", "tokens"))
        WRONG(r, "decode.tokens", "a prefill makes one token; expected step: [decode]");
    if (!s->step.decode && is_given(s, "decode", "draft"))
        WRONG(r, "decode.draft", "a prefill proposes no tokens; expected step: [decode]");
    check_pages(r);
    check_limits(r);
    if (scenario_cache_bits(s) == 8 && s->model.dtype == SHD_F64)
        WRONG(r, "decode.cache",
              "keys in float64 are not rounded to 8 bits; expected a model.dtype of at most 32 "
              "bits, or a cache of int4 or mxfp4");
    if (s->decode.draft > 0 && s->decode.accepted > (double)s->decode.draft)
        WRONG(r, "decode.accepted", "%g tokens are right of %" PRId64 " that are proposed",
              s->decode.accepted, s->decode.draft);
    if (scenario_cache_tokens(s) > INT32_MAX)
        WRONG(r, "decode.context", "%" PRId64 " tokens of a sequence; expected at most %d",
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
                       "%s of the prefill is not that of the decode, which reads what it kept; "
                       "expected the same",
                       option_path(o).text);
    }
}
