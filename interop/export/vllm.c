/* Export target: a layout as the command of vLLM's server.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>

#include "export/serving.h"
#include "export/targets.h"

#define PAGE 16 /* tokens of a page of the cache, by default */
/* Tokens of a step, by default: on smaller devices and on larger ones. */
#define TOKENS_LEAST 2048
#define TOKENS_MOST 8192

/* Experts are on all devices, whole or in parts of their widths. */
static int check(const struct export_serving *e)
{
    bool apart = e->of[SERVING_EXPERTS] == e->all && e->of[SERVING_EXPERT_WIDTHS] == 0;
    bool cut = e->of[SERVING_EXPERTS] == 0 && e->of[SERVING_EXPERT_WIDTHS] == e->all;

    if (!export_serving_is(e, SERVING_MLP, e->inside) ||
        !export_serving_is(e, SERVING_SHARED, e->inside))
        return export_serving_refuse(
            e, "shards MLPs and shared experts like heads; expected rules to match");
    if (e->has[SERVING_EXPERTS] && !apart && !cut)
        return export_serving_refuse(e, "shards either experts or their widths over all devices; "
                                        "expected rules to match");
    return export_serving_check_copies(e);
}

static void add_transfer(struct text *out, const char *role)
{
    text_addf(out,
              " \\\n    --kv-transfer-config '{\"kv_connector\": \"NixlConnector\", "
              "\"kv_role\": \"%s\"}'",
              role);
}

/* A step has a token of each sequence: vLLM refuses more sequences than tokens. */
static void add_sequences(struct text *out, const struct scenario *s, int64_t each)
{
    int64_t sequences = export_serving_add_sequences(out, "--max-num-seqs", s, each, 1);

    if (sequences > TOKENS_LEAST)
        export_serving_add_number(out, "--max-num-batched-tokens",
                                  sequences > TOKENS_MOST ? sequences : TOKENS_MOST, 0);
    if (s->prefill && s->prefill->apart)
        add_transfer(out, "kv_consumer");
}

static void add_load(struct text *out, const struct export_serving *e)
{
    const struct scenario *s = e->layout->source;
    int64_t each = s->batch.size / export_serving_size(e, e->batch);

    export_serving_add_length(out, "--max-model-len", s);
    if (s->step.prefill) {
        export_serving_add_number(out, "--max-num-batched-tokens", each * s->batch.seq, 0);
        add_transfer(out, "kv_producer");
    } else {
        add_sequences(out, s, each);
    }
    export_serving_add_number(out, "--block-size", s->decode.page, 0);
    export_serving_add_memory(out, "--gpu-memory-utilization", s);
    export_serving_add_number(out, "--num-gpu-blocks-override",
                              s->limits.tokens / (s->decode.page > 0 ? s->decode.page : PAGE), 0);
    export_serving_add_cache(out, s);
}

static int check_source(struct export_job *job)
{
    return export_serving_check_source(job, "vLLM", 0);
}

static int write(const struct export_layout *layout, struct text *out, struct shd_error *err)
{
    struct export_serving e;
    int status = export_serving_find(&e, layout, "vLLM", err);
    int64_t copies = layout->source->model.moe.redundant;

    if (status == SHD_OK)
        status = check(&e);
    if (status != SHD_OK)
        return status;
    export_serving_begin(out, &e, "vllm");
    text_add(out, "vllm serve ");
    export_serving_add_model(out, &e);
    export_serving_add_types(out, &e);
    export_serving_add_number(out, "--tensor-parallel-size", export_serving_size(&e, e.inside), 0);
    export_serving_add_number(out, "--data-parallel-size", export_serving_size(&e, e.batch), 1);
    export_serving_add_number(out, "--decode-context-parallel-size", e.cache_parts, 1);
    if (e.has[SERVING_EXPERTS] && e.all && e.of[SERVING_EXPERTS] == e.all)
        text_add(out, " \\\n    --enable-expert-parallel");
    if (copies > 0)
        text_addf(out,
                  " \\\n    --enable-eplb \\\n    --eplb-config "
                  "'{\"num_redundant_experts\": %" PRId64 "}'",
                  copies);
    add_load(out, &e);
    text_add(out, " \"$@\"\n");
    return SHD_OK;
}

const struct export_target export_vllm = {
    .name = "vllm",
    .desc = "vLLM server command, from what each mesh axis shards",
    .write = write,
    .source = check_source,
    .software = "vllm",
    .serves = EXPORT_SERVES};
