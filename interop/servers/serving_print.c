/* Writes a server's layout as a scenario (serving.h).
 *
 * The devices of a copy are numbered; whatever is sharded is so over neighbours, or over devices at
 * a distance: between two cuts of the numbers.  All cuts together make the axes of the mesh, each a
 * factor between two cuts that follow on one another.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>

#include "base/yaml.h"
#include "servers/serving.h"

#define CUTS_MAX 8

/* Sizes of the outermost devices that are alike in something, in increasing order; the first is 1
 * and the last all devices. */
struct cuts {
    int64_t at[CUTS_MAX];
    size_t n;
    int64_t kv;    /* behind the devices with different key heads */
    int64_t cache; /* before the devices with different parts of a sequence's cache */
    const struct serving *v;
};

static void add_cut(struct cuts *cuts, int64_t at)
{
    size_t i = cuts->n;

    for (size_t j = 0; j < cuts->n; j++)
        if (cuts->at[j] == at)
            return;
    for (; i > 0 && cuts->at[i - 1] > at; i--)
        cuts->at[i] = cuts->at[i - 1];
    cuts->at[i] = at;
    cuts->n++;
}

/* Key heads fewer than the devices of tensor parallelism are on several devices each, which may
 * have different parts of the cache; compressed keys are on all. */
static bool find_cuts(struct cuts *c, const struct serving *v, struct import_job *job,
                      struct diag *diag)
{
    const struct scenario_model *m = &v->model;
    int64_t inside = v->devices / v->parts;
    int64_t heads = m->kv_heads > 0 ? m->kv_heads : m->heads;
    bool latent = m->mla.kv_rank > 0;
    int64_t keys = latent ? 1 : inside < heads ? inside : heads; /* devices that have others each */
    int64_t cache = v->devices / v->cache_parts;

    *c = (struct cuts){.kv = latent ? cache : v->parts * keys, .cache = cache, .v = v};
    if (m->heads % inside || heads % keys || inside % keys)
        diag_error(diag, job->end,
                   "%" PRId64 " heads and %" PRId64 " key heads do not divide over %" PRId64
                   " devices of tensor parallelism",
                   m->heads, heads, inside);
    else if (inside / keys % v->cache_parts)
        diag_error(diag, job->end,
                   "a cache in %" PRId64 " parts: %" PRId64 " devices have the same key heads, "
                   "and parts go among these; expected a divisor",
                   v->cache_parts, inside / keys);
    if (diag->nerrors > 0)
        return false;
    add_cut(c, 1);
    add_cut(c, v->parts);
    add_cut(c, c->kv);
    add_cut(c, c->cache);
    add_cut(c, v->devices);
    add_cut(c, v->experts);
    for (size_t i = 1; i < c->n; i++)
        if (c->at[i] % c->at[i - 1] || (c->at[i - 1] == v->experts && v->experts > c->cache)) {
            diag_error(diag, job->end,
                       "experts on %" PRId64 " devices lie across the %" PRId64 " parts of the "
                       "batch, or of heads or the cache; a scenario has one mesh for all",
                       v->experts, v->parts);
            return false;
        }
    return true;
}

/* The name of the axis that ends at a cut. */
static void add_name(struct text *out, const struct cuts *c, size_t cut)
{
    int64_t end = c->at[cut];
    const char *name = end <= c->v->parts                             ? "dp"
                       : end <= c->kv                                 ? "tp"
                       : end <= c->cache || c->cache == c->v->devices ? "rep"
                                                                      : "cp";
    int64_t first = end <= c->v->parts ? 1 : end <= c->kv ? c->v->parts : c->kv;

    text_add(out, name);
    if (cut > 0 && c->at[cut - 1] > first && end <= c->cache)
        text_add(out, "2");
}

/* Add the axes between two cuts: null, tp, [dp, tp]. */
static void add_span(struct text *out, const struct cuts *c, int64_t from, int64_t to)
{
    struct text names = TEXT_INIT;
    size_t n = 0;

    for (size_t i = 1; i < c->n; i++)
        if (c->at[i] > from && c->at[i] <= to) {
            text_add(&names, n++ ? ", " : "");
            add_name(&names, c, i);
        }
    text_addf(out, n > 1 ? "[%s]" : "%s", n ? text_get(&names) : "null");
    out->failed |= names.failed;
    text_fini(&names);
}

/* Add a rule "  - [PATTERN, [BEFORE, SPAN]]". */
static void add_rule(struct text *out, const struct cuts *c, const char *pattern,
                     const char *before, int64_t from, int64_t to)
{
    text_addf(out, "  - [%s, [%s", pattern, before);
    add_span(out, c, from, to);
    text_add(out, "]]\n");
}

/* ---- the mesh ---- */

static void add_mesh(struct text *out, const struct cuts *c)
{
    const struct serving *v = c->v;
    size_t n = 0;

    text_add(out, "mesh: {");
    if (v->copies > 1 || c->n == 1)
        text_addf(out, "replica: %" PRId64 "%s", v->copies, c->n > 1 ? ", " : "");
    for (size_t i = 1; i < c->n; i++) {
        text_add(out, n++ ? ", " : "");
        add_name(out, c, i);
        text_addf(out, ": %" PRId64, c->at[i] / c->at[i - 1]);
    }
    text_add(out, "}\n");
    if (c->kv < c->cache)
        text_add(out, "# Devices of rep have the same key heads, and other query heads.\n");
}

static void add_batch(struct text *out, const struct cuts *c)
{
    struct text parts = TEXT_INIT;

    add_span(&parts, c, 1, c->v->parts);
    if (c->v->copies > 1 && c->v->parts > 1)
        text_addf(out, "axes: {batch: [replica, %s]}\n", text_get(&parts));
    else if (c->v->copies > 1 || c->v->parts > 1)
        text_addf(out, "axes: {batch: %s}\n", c->v->copies > 1 ? "replica" : text_get(&parts));
    out->failed |= parts.failed;
    text_fini(&parts);
    if (c->v->cache_parts > 1)
        text_add(out, "context: {axis: cp, order: striped}\n");
}

/* ---- parameters ---- */

/* Where the devices that shard something begin; none if they begin at the end. */
static int64_t begin_of(const struct serving *v, enum serving_span span)
{
    return span == SERVING_ALL ? 1 : span == SERVING_INSIDE ? v->parts : v->devices;
}

static void add_attention(struct text *out, const struct cuts *c)
{
    const struct scenario_model *m = &c->v->model;
    int64_t from = c->v->parts, all = c->v->devices;
    bool latent = m->mla.kv_rank > 0;

    if (all == from)
        return;
    add_rule(out, c, latent ? "attn/(q|q_rope)/kernel" : "attn/q/kernel", "null, ", from, all);
    add_rule(out, c, "attn/(k|v)/kernel", "null, ", from, latent ? all : c->kv);
    add_rule(out, c, "attn/o/kernel", "", from, all);
    if (m->attention_bias != SCENARIO_BIAS_NONE) {
        add_rule(out, c, "attn/q/bias", "", from, all);
        add_rule(out, c, "attn/(k|v)/bias", "", from, c->kv);
    }
    if (m->sinks)
        add_rule(out, c, "attn/sinks", "", from, all);
}

static void add_mlp(struct text *out, const struct cuts *c)
{
    const struct scenario_model *m = &c->v->model;
    int64_t from = begin_of(c->v, c->v->dense), all = c->v->devices;
    bool dense = m->moe.experts == 0 || m->moe.first_dense > 0 || m->moe.every > 1;

    if (dense && from < all) {
        add_rule(out, c, "mlp/(gate|up)/kernel", "null, ", from, all);
        add_rule(out, c, "mlp/down/kernel", "", from, all);
        if (m->bias)
            add_rule(out, c, "mlp/(gate|up)/bias", "", from, all);
    }
    from = begin_of(c->v, c->v->shared);
    if (m->moe.shared > 0 && from < all) {
        add_rule(out, c, "shared/(gate|up)/kernel", "null, ", from, all);
        add_rule(out, c, "shared/down/kernel", "", from, all);
    }
}

static void add_experts(struct text *out, const struct cuts *c)
{
    int64_t cut = c->v->experts, all = c->v->devices;
    struct text experts = TEXT_INIT;

    if (c->v->model.moe.experts == 0 || all == 1)
        return;
    add_span(&experts, c, 1, cut);
    text_addf(out, "  - [moe/(gate|up)/kernel, [%s, null, ", text_get(&experts));
    add_span(out, c, cut, all);
    text_addf(out, "]]\n  - [moe/down/kernel, [%s, ", text_get(&experts));
    add_span(out, c, cut, all);
    text_add(out, "]]\n");
    if (c->v->model.moe.expert_bias) {
        text_addf(out, "  - [moe/(gate|up)/bias, [%s, ", text_get(&experts));
        add_span(out, c, cut, all);
        text_addf(out, "]]\n  - [moe/down/bias, [%s]]\n", text_get(&experts));
    }
    out->failed |= experts.failed;
    text_fini(&experts);
}

/* The systems pad a vocabulary that does not divide; here the table is then whole everywhere. */
static void add_words(struct text *out, const struct cuts *c)
{
    const struct scenario_model *m = &c->v->model;
    int64_t from = c->v->parts, all = c->v->devices;

    if (all == from || m->vocab % (all / from))
        return;
    add_rule(out, c, "embed/table", "", from, all);
    if (!m->tied)
        add_rule(out, c, "head/kernel", "null, ", from, all);
    if (m->head_bias)
        add_rule(out, c, "head/bias", "", from, all);
}

/* Tokens of all parts of the batch come together where widths are sharded over these. */
static void add_constraints(struct text *out, const struct cuts *c)
{
    const struct serving *v = c->v;
    const struct scenario_moe *moe = &v->model.moe;
    bool dense = moe->experts == 0 || moe->first_dense > 0 || moe->every > 1;
    struct text list = TEXT_INIT;

    if (v->parts > 1 && dense && v->dense == SERVING_ALL)
        text_add(&list, "  - [mlp/in, []]\n");
    if (v->parts > 1 && moe->experts > 0 && v->experts == 1)
        text_add(&list, "  - [moe/in, []]\n");
    if (v->parts > 1 && moe->shared > 0 && v->shared == SERVING_ALL)
        text_add(&list, "  - [shared/in, []]\n");
    if (list.length > 0)
        text_addf(out, "constraints: # tokens of all parts of the batch are gathered\n%s",
                  text_get(&list));
    out->failed |= list.failed;
    text_fini(&list);
}

static void add_notes(struct import_job *job, const struct serving *v)
{
    int64_t inside = v->devices / v->parts;

    if (v->model.vocab % inside)
        text_addf(&job->notes,
                  "# A vocabulary of %" PRId64 " does not divide by %" PRId64 ": there it is "
                  "padded, here each device has all of it.\n",
                  v->model.vocab, inside);
    if (v->gathers && v->experts > 1 && v->parts > 1)
        text_add(&job->notes, "# Tokens are sent to their experts here; there those of all parts "
                              "of the batch are gathered.\n");
}

/* Check that copies of experts can be dealt out, and tell what a balancer does without any. */
static void check_copies(struct import_job *job, const struct serving *v, struct diag *diag)
{
    int64_t copies = job->server.copies, places = v->model.moe.experts + copies;

    if (copies == 0 && job->server.balances)
        text_add(&job->unsaid, "# Otherwise than there, --enable-eplb: experts are planned on the "
                               "devices in their order.\n");
    if (copies > 0 && v->experts == 1)
        diag_error(diag, job->end,
                   "%" PRId64 " redundant experts, but no device has whole experts of its own; "
                   "expected expert parallelism",
                   copies);
    else if (copies > 0 && places % v->experts)
        diag_error(diag, job->end,
                   "%" PRId64 " experts and %" PRId64 " redundant %s do not divide over %" PRId64
                   " devices",
                   v->model.moe.experts, copies, copies == 1 ? "one" : "ones", v->experts);
}

/* A prompt, too, is cut as the cache is; what a decode reads need not divide. */
static void add_step(struct text *out, const struct import_job *job, const struct serving *v)
{
    int64_t unit = v->cache_parts, seq = (job->seq + unit - 1) / unit * unit;
    const char *type = job->server.cache_type, *code = type ? serving_cache_code(type) : NULL;
    struct text decode = TEXT_INIT;

    text_addf(out, "step: [%s]\nbatch: {size: %" PRId64 ", seq: %" PRId64 "}\n",
              v->prefill ? "prefill" : "decode", job->batch, v->prefill ? job->seq : seq);
    if (!v->prefill && seq > job->seq)
        text_addf(&decode, ", context: %" PRId64, job->seq);
    if (job->server.page > 1)
        text_addf(&decode, ", page: %" PRId64, job->server.page);
    if (code)
        text_addf(&decode, ", cache: %s", code);
    if (decode.length > 0)
        text_addf(out, "decode: {%s}\n", text_get(&decode) + 2);
    out->failed |= decode.failed;
    text_fini(&decode);
}

static void add_limits(struct text *out, const struct serving *v)
{
    struct text limits = TEXT_INIT;

    if (v->memory > 0)
        text_addf(&limits, ", memory: %.6g%%", 100 * v->memory);
    if (v->sequences > 0)
        text_addf(&limits, ", sequences: %" PRId64, v->sequences);
    if (v->tokens > 0)
        text_addf(&limits, ", tokens: %" PRId64, v->tokens);
    if (limits.length > 0)
        text_addf(out, "limits: {%s}\n", text_get(&limits) + 2);
    out->failed |= limits.failed;
    text_fini(&limits);
}

void serving_print(struct import_job *job, const struct serving *v, struct diag *diag)
{
    struct text *out = &job->scenario;
    struct cuts cuts;

    check_copies(job, v, diag);
    if (!find_cuts(&cuts, v, job, diag))
        return;
    add_notes(job, v);
    add_mesh(out, &cuts);
    text_addf(out, "model: {%s: ", v->from_config ? "from" : "size");
    yaml_print_string(out, job->size);
    text_addf(out, ", dtype: %s}\n", shd_dtype_name(v->model.dtype));
    if (v->products && *v->products)
        text_addf(out, "products: {%s}\n", v->products);
    add_limits(out, v);
    if (job->server.copies > 0)
        text_addf(out, "moe: {redundant: %" PRId64 "}\n", job->server.copies);
    add_step(out, job, v);
    add_batch(out, &cuts);
    text_add(out, "params:\n");
    add_experts(out, &cuts);
    add_attention(out, &cuts);
    add_mlp(out, &cuts);
    add_words(out, &cuts);
    text_add(out, "  - [.*, []]\n");
    add_constraints(out, &cuts);
}
