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

#include "scenario/draft.h"
#include "scenario/tensor_rules.h"
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
                   "%" PRId64 " heads and %" PRId64 " KV heads do not divide over %" PRId64 " "
                   "tensor-parallel devices",
                   m->heads, heads, inside);
    else if (inside / keys % v->cache_parts)
        diag_error(diag, job->end,
                   "a KV cache in %" PRId64 " shards: only %" PRId64 " devices have the same KV "
                   "heads; expected a divisor",
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
                       "expert parallelism over %" PRId64 " devices crosses the %" PRId64 " "
                       "data-parallel ranks, heads or cache shards; one mesh must fit all",
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
        text_add(out, "# Devices along rep share KV heads and have different query heads.\n");
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

/* The axes between two cuts as those of a rule; NULL: none. */
static const char *span_of(struct text *out, const struct cuts *c, int64_t from, int64_t to)
{
    add_span(out, c, from, to);
    return from < to ? text_get(out) : NULL;
}

/* The systems pad a vocabulary that does not divide; here the table is then whole everywhere. */
static void add_params(struct text *out, const struct cuts *c)
{
    const struct serving *v = c->v;
    const struct scenario_model *m = &v->model;
    int64_t from = v->parts, all = v->devices;
    struct text t[6] = {TEXT_INIT, TEXT_INIT, TEXT_INIT, TEXT_INIT, TEXT_INIT, TEXT_INIT};
    struct tensor_axes axes = {.queries = span_of(&t[0], c, from, all),
                               .keys = span_of(&t[1], c, from, m->mla.kv_rank > 0 ? all : c->kv),
                               .mlp = span_of(&t[2], c, begin_of(v, v->dense), all),
                               .shared = span_of(&t[3], c, begin_of(v, v->shared), all),
                               .experts = span_of(&t[4], c, 1, v->experts),
                               .expert_widths = span_of(&t[5], c, v->experts, all)};

    axes.vocab = m->vocab % (all / from) ? NULL : axes.queries;
    text_add(out, "params:\n");
    tensor_rules_print(out, m, &axes, RULES_BLOCK);
    for (size_t i = 0; i < sizeof t / sizeof *t; i++)
        text_drop(out, &t[i]);
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
                  "# The vocabulary of %" PRId64 " is not a multiple of %" PRId64 ": the server "
                  "pads it, the plan replicates the head.\n",
                  v->model.vocab, inside);
    if (v->gathers && v->experts > 1 && v->parts > 1)
        text_add(&job->notes, "# The plan dispatches tokens with an all-to-all; the server "
                              "all-gathers the tokens of all data-parallel ranks.\n");
}

/* Check that copies of experts can be dealt out, and tell what a balancer does without any. */
static void check_copies(struct import_job *job, const struct serving *v, struct diag *diag)
{
    int64_t copies = job->server.copies, places = v->model.moe.experts + copies;

    if (copies == 0 && job->server.balances)
        text_add(&job->unsaid, "# Planned differently, --enable-eplb: experts are placed in order, "
                               "without balancing.\n");
    if (copies > 0 && v->experts == 1)
        diag_error(diag, job->end,
                   "%" PRId64 " redundant experts need expert parallelism; expected it in the "
                   "command",
                   copies);
    else if (copies > 0 && places % v->experts)
        diag_error(diag, job->end,
                   "%" PRId64 " experts and %" PRId64 " redundant %s do not divide over %" PRId64
                   " devices",
                   v->model.moe.experts, copies, copies == 1 ? "one" : "ones", v->experts);
}

/* A prompt, too, is cut as the cache is; what a decode reads need not divide. */
static void add_step(struct draft *out, const struct import_job *job, const struct serving *v)
{
    int64_t unit = v->cache_parts, seq = (job->seq + unit - 1) / unit * unit;
    const char *type = job->server.cache_type, *code = type ? serving_cache_code(type) : NULL;

    draft_set(out, "step", "[%s]", v->prefill ? "prefill" : "decode");
    draft_set_count(out, "batch.size", job->batch);
    draft_set_count(out, "batch.seq", v->prefill ? job->seq : seq);
    if (!v->prefill && seq > job->seq)
        draft_set_count(out, "decode.context", job->seq);
    if (job->server.page > 1)
        draft_set_count(out, "decode.page", job->server.page);
    if (code)
        draft_set(out, "decode.cache", "%s", code);
}

static void add_limits(struct draft *out, const struct serving *v)
{
    if (v->memory > 0)
        draft_set(out, "limits.memory", "%.6g%%", 100 * v->memory);
    if (v->sequences > 0)
        draft_set_count(out, "limits.sequences", v->sequences);
    if (v->tokens > 0)
        draft_set_count(out, "limits.tokens", v->tokens);
}

void serving_print(struct import_job *job, const struct serving *v, struct diag *diag)
{
    struct text *out = &job->scenario;
    struct draft draft = DRAFT_OF(out);
    struct cuts cuts;

    check_copies(job, v, diag);
    if (!find_cuts(&cuts, v, job, diag))
        return;
    add_notes(job, v);
    add_mesh(out, &cuts);
    draft_set_string(&draft, v->from_config ? "model.from" : "model.size", job->size);
    draft_set(&draft, "model.dtype", "%s", shd_dtype_name(v->model.dtype));
    if (v->products && *v->products)
        text_addf(draft_text(&draft), "products: {%s}\n", v->products);
    add_limits(&draft, v);
    if (job->server.copies > 0)
        draft_set_count(&draft, "moe.redundant", job->server.copies);
    add_step(&draft, job, v);
    (void)draft_text(&draft);
    add_batch(out, &cuts);
    add_params(out, &cuts);
    add_constraints(out, &cuts);
}
