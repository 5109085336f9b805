/* Export target: a layout as the command of SGLang's server.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "export/serving.h"
#include "export/targets.h"

#define CACHE_BLOCK 16 /* elements of a cache of 4 bits that share a scale */

struct server {
    struct export_serving axes;
    uint32_t copies; /* axes of the batch along which devices have the same parameters */
    uint32_t parts;  /* the other axes of the batch: attention is done apart for each part */
    uint32_t copy;   /* axes of one copy */
    bool sends;      /* tokens are sent to experts by an exchange, beside which shared experts are
                        not sharded over all devices */
};

/* Whether all axes of a set lie outside of those of another: they come first, and have lower
 * bits. */
static bool is_outside(uint32_t axes, uint32_t of)
{
    return of == 0 || axes < (of & (~of + 1));
}

static void find_copies(struct server *v)
{
    const struct export_serving *e = &v->axes;
    uint32_t sharding = 0;

    for (int c = 0; c < SERVING_NCLASSES; c++)
        sharding |= e->of[c];
    v->copies = e->batch & ~sharding;
    v->parts = e->batch & sharding;
    v->copy = e->all & ~v->copies;
    v->sends = e->has[SERVING_SHARED] && e->of[SERVING_SHARED] != v->copy;
}

static int check(const struct server *v)
{
    const struct export_serving *e = &v->axes;
    uint32_t experts = e->of[SERVING_EXPERTS];

    if (!is_outside(v->copies, v->copy))
        return export_serving_refuse(e, "has replicas of the whole server outermost; expected the "
                                        "mesh to match");
    if (!export_serving_is(e, SERVING_MLP, v->copy) && !export_serving_is(e, SERVING_MLP, 0) &&
        !export_serving_is(e, SERVING_MLP, e->inside))
        return export_serving_refuse(e, "shards MLPs over all devices, like heads, or not at all; "
                                        "expected rules to match");
    if (v->sends && e->of[SERVING_SHARED] != 0 && e->of[SERVING_SHARED] != e->inside)
        return export_serving_refuse(e, "shards shared experts over all devices, like heads, or "
                                        "not at all; expected rules to match");
    if (e->has[SERVING_EXPERTS] && ((experts | e->of[SERVING_EXPERT_WIDTHS]) != v->copy ||
                                    experts & e->of[SERVING_EXPERT_WIDTHS] ||
                                    !is_outside(experts, e->of[SERVING_EXPERT_WIDTHS])))
        return export_serving_refuse(e, "shards experts over the outermost devices and their "
                                        "widths over the rest; expected rules to match");
    if (v->sends && experts != v->copy)
        return export_serving_refuse(e, "shards experts over all devices unless shared experts are "
                                        "sharded over all; expected rules to match");
    return export_serving_check_copies(e);
}

static void add_layout(struct text *out, const struct server *v)
{
    const struct export_serving *e = &v->axes;
    int64_t parts = export_serving_size(e, v->parts);
    int64_t copies = e->layout->source->model.moe.redundant;

    export_serving_add_number(out, "--tp-size", export_serving_size(e, v->copy), 0);
    export_serving_add_number(out, "--dp-size", export_serving_size(e, v->copies), 1);
    export_serving_add_number(out, "--attn-dp-size", parts, 1);
    if (parts > 1)
        text_add(out, " \\\n    --enable-dp-lm-head");
    export_serving_add_number(out, "--dcp-size", e->cache_parts, 1);
    export_serving_add_number(out, "--ep-size", export_serving_size(e, e->of[SERVING_EXPERTS]), 1);
    if (v->sends)
        text_add(out, " \\\n    --moe-a2a-backend deepep");
    if (copies > 0)
        text_add(out, " \\\n    --enable-eplb");
    export_serving_add_number(out, "--ep-num-redundant-experts", copies, 0);
    if (v->sends && e->of[SERVING_SHARED] != 0)
        text_add(out, " \\\n    --enable-shared-experts-attn-tp");
    if (v->copy && e->has[SERVING_MLP] && e->of[SERVING_MLP] == 0)
        export_serving_add_number(out, "--moe-dense-tp-size", 1, 0);
    else if (parts > 1 && e->has[SERVING_MLP] && e->of[SERVING_MLP] == e->inside)
        text_add(out, " \\\n    --enable-dense-mlp-attn-tp");
}

static void add_load(struct text *out, const struct server *v)
{
    const struct scenario *s = v->axes.layout->source;
    int64_t each = s->batch.size / export_serving_size(&v->axes, v->copies);

    export_serving_add_length(out, "--context-length", s);
    if (s->step.prefill) {
        export_serving_add_number(out, "--chunked-prefill-size", each * s->batch.seq, 0);
        text_add(out, " \\\n    --disaggregation-mode prefill");
    } else {
        (void)export_serving_add_sequences(out, "--max-running-requests", s, each,
                                           export_serving_size(&v->axes, v->parts));
        if (s->prefill && s->prefill->apart)
            text_add(out, " \\\n    --disaggregation-mode decode");
    }
    export_serving_add_number(out, "--page-size", s->decode.page, 0);
    export_serving_add_memory(out, "--mem-fraction-static", s);
    export_serving_add_number(out, "--max-total-tokens", s->limits.tokens, 0);
    export_serving_add_cache(out, s);
}

static int check_source(struct export_job *job)
{
    return export_serving_check_source(job, "SGLang", CACHE_BLOCK);
}

static int write(const struct export_layout *layout, struct text *out, struct shd_error *err)
{
    struct server v = {.copies = 0};
    int status = export_serving_find(&v.axes, layout, "SGLang", err);

    if (status == SHD_OK) {
        find_copies(&v);
        status = check(&v);
    }
    if (status != SHD_OK)
        return status;
    export_serving_begin(out, &v.axes, "sglang");
    if (v.parts)
        text_addf(out, "# Releases without --attn-dp-size N have --dp-size N "
                       "--enable-dp-attention.\n");
    text_add(out, "python3 -m sglang.launch_server --model-path ");
    export_serving_add_model(out, &v.axes);
    export_serving_add_types(out, &v.axes);
    add_layout(out, &v);
    add_load(out, &v);
    text_add(out, " \"$@\"\n");
    return SHD_OK;
}

const struct export_target export_sglang = {
    .name = "sglang",
    .desc = "SGLang server command, from what each mesh axis shards",
    .write = write,
    .source = check_source,
    .software = "sglang",
    .serves = EXPORT_SERVES};
