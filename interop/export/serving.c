/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "export/serving.h"

#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "base/literal.h"
#include "base/words.h"
#include "base/yaml.h"
#include "scenario/published_types.h"
#include "scenario/table.h"

static const struct {
    const char *dim;
    enum serving_class which;
} classes[] = {{"heads", SERVING_HEADS},    {"kv_heads", SERVING_KEY_HEADS},
               {"mlp", SERVING_MLP},        {"shared_mlp", SERVING_SHARED},
               {"expert", SERVING_EXPERTS}, {"expert_mlp", SERVING_EXPERT_WIDTHS},
               {"vocab", SERVING_WORDS}};

int export_serving_refuse(const struct export_serving *e, const char *what)
{
    return shd_error_set(e->err, SHD_EUNSUPPORTED, "%s %s", e->system, what);
}

int64_t export_serving_size(const struct export_serving *e, uint32_t axes)
{
    return shd_mesh_size_along(e->layout->mesh, axes);
}

bool export_serving_is(const struct export_serving *e, enum serving_class which, uint32_t axes)
{
    return !e->has[which] || e->of[which] == axes;
}

/* ---- the axes ---- */

static uint32_t axes_of(const struct export_serving *e, const struct shd_sharding *s, uint32_t d)
{
    uint32_t axes = 0;

    for (uint8_t i = 0; s && i < s->dims[d].naxes; i++)
        axes |= (uint32_t)1 << s->dims[d].axes[i];
    return axes & e->all;
}

static const char *dim_name(const struct graph *graph, const struct graph_node *node, uint32_t d)
{
    return graph->dims[node->dims[d]].name;
}

/* Note over which axes a dimension of a parameter is sharded; all of a class are so alike, but for
 * a vocabulary that does not divide, and routers and norms, which are whole. */
static int note_dim(struct export_serving *e, uint32_t id, uint32_t d)
{
    const struct graph_node *node = &e->layout->graph->nodes[id];
    const char *dim = dim_name(e->layout->graph, node, d);
    uint32_t axes = axes_of(e, export_sharding(e->layout, id), d);
    bool whole = strstr(node->name, "router") || strstr(node->name, "norm");
    size_t c = 0;

    while (c < sizeof classes / sizeof *classes && strcmp(classes[c].dim, dim) != 0)
        c++;
    if (strchr(dim, ':')) /* magnitudes of blocks lie where their weights do */
        return SHD_OK;
    if (whole || c == sizeof classes / sizeof *classes)
        return axes == 0 ? SHD_OK
                         : shd_error_set(e->err, SHD_EUNSUPPORTED,
                                         "%s does not shard '%.60s' along %s; expected a rule that "
                                         "leaves this dimension whole",
                                         e->system, node->name, dim);
    if (e->has[classes[c].which] && e->of[classes[c].which] != axes)
        return shd_error_set(e->err, SHD_EUNSUPPORTED,
                             "'%.60s' is sharded along %s over other axes than the other "
                             "parameters; %s supports one layout for all",
                             node->name, dim, e->system);
    e->has[classes[c].which] = true;
    e->of[classes[c].which] = axes;
    return SHD_OK;
}

static int note_params(struct export_serving *e)
{
    const struct graph *graph = e->layout->graph;
    int status = SHD_OK;

    for (uint32_t i = 0; i < graph->nnodes && status == SHD_OK; i++) {
        const struct graph_node *node = &graph->nodes[i];

        for (uint32_t d = 0; d < node->rank && status == SHD_OK; d++) {
            if (export_is_leaf(node, GRAPH_PARAM))
                status = note_dim(e, i, d);
            else if (!strcmp(node->name, "tokens") && export_is_leaf(node, GRAPH_INPUT))
                e->batch |= axes_of(e, export_sharding(e->layout, i), d);
        }
    }
    return status;
}

/* Servers number devices with data parallelism outermost. */
static int check_order(const struct export_serving *e)
{
    uint32_t inner = 0;

    for (size_t a = shd_mesh_naxes(e->layout->mesh); a-- > 0;) {
        uint32_t axis = (uint32_t)1 << a;

        if (e->all & axis & ~e->batch && inner & e->batch)
            return shd_error_set(e->err, SHD_EUNSUPPORTED,
                                 "'%.40s' is outside the batch axes in `mesh`; %s has data "
                                 "parallelism outermost",
                                 shd_mesh_axis_name(e->layout->mesh, a), e->system);
        inner |= axis;
    }
    return SHD_OK;
}

/* Whether a set has the outermost axes of another. */
static bool is_outermost(uint32_t axes, uint32_t of)
{
    uint32_t highest = axes;

    while (highest & (highest - 1))
        highest &= highest - 1;
    return !(axes & ~of) && (of & ~axes & (highest > 0 ? highest - 1 : 0)) == 0;
}

static int check_attention(const struct export_serving *e)
{
    const struct scenario_model *m = &e->layout->source->model;
    int64_t heads = m->kv_heads > 0 ? m->kv_heads : m->heads;
    int64_t inside = export_serving_size(e, e->inside);
    int64_t keys = export_serving_size(e, e->of[SERVING_KEY_HEADS]);

    if (!export_serving_is(e, SERVING_HEADS, e->inside))
        return export_serving_refuse(
            e, "shards heads over all axes but the batch axes; expected rules to match");
    if (!export_serving_is(e, SERVING_WORDS, e->inside) &&
        !(m->vocab % inside && e->of[SERVING_WORDS] == 0))
        return export_serving_refuse(e, "shards the vocabulary like heads; expected rules to "
                                        "match");
    if (e->has[SERVING_KEY_HEADS] && (!is_outermost(e->of[SERVING_KEY_HEADS], e->inside) ||
                                      keys != (inside < heads ? inside : heads)))
        return export_serving_refuse(e, "gives each device at least one KV head, replicated over "
                                        "neighbours if there are fewer heads; expected rules to "
                                        "match");
    return SHD_OK;
}

/* The cache is cut over the innermost devices, every n-th token on one. */
static int check_context(struct export_serving *e)
{
    const struct scenario *s = e->layout->source;
    int axis = s->context.axis ? shd_mesh_find_axis(e->layout->mesh, s->context.axis) : -1;
    uint32_t cut = axis >= 0 ? e->all & (uint32_t)1 << axis : 0;

    e->cache_parts = export_serving_size(e, cut);
    if (e->cache_parts == 1)
        return SHD_OK;
    if (!(cut & e->inside) || cut & e->of[SERVING_KEY_HEADS] ||
        is_outermost(cut, e->inside) != (cut == e->inside) ||
        !is_outermost(e->inside & ~cut, e->inside))
        return export_serving_refuse(e, "shards the KV cache over the innermost tensor-parallel "
                                        "devices with the same KV heads; expected context.axis to "
                                        "match");
    if (s->context.order != SCENARIO_STRIPED || s->step.prefill)
        return export_serving_refuse(e, "stripes the KV cache token by token, in decode only; "
                                        "expected context.order striped");
    return SHD_OK;
}

/* ---- the model ---- */

/* Options of a model that are none of what a server loads: what a command says, or decides in its
 * own way; what only training has; and the load of experts that a plan takes. */
static const char not_loaded[] = "model.kind model.size model.from model.dtype model.attention "
                                 "model.mtp model.mtp_weight moe.drop moe.aux_loss moe.z_loss "
                                 "moe.routing moe.skew moe.ranks moe.redundant";

static bool is_loaded(const struct option *option, const struct scenario_model *m)
{
    return (option_is_in(option, "model") || option_is_in(option, "moe") ||
            option_is_in(option, "mla") || option_is_in(option, "products")) &&
           option_is_of(option, m->kind) && !words_has(not_loaded, option_path(option).text);
}

/* Refuse types of weights other than the published ones. */
static int refuse_types(const struct export_serving *e, const struct scenario *plain,
                        const struct option *option)
{
    struct text value = TEXT_INIT;
    int status;

    option->type->print(plain, option, &value);
    status = shd_error_set(e->err, SHD_EUNSUPPORTED,
                           "%s loads a model in its published types; expected %s %.60s", e->system,
                           option_path(option).text, text_get(&value));
    text_fini(&value);
    return status;
}

/* Refuse a given value other than that of the plain model. */
static int check_value(const struct export_serving *e, const struct scenario *plain,
                       const struct option *option)
{
    const struct scenario *s = e->layout->source;
    bool same;

    if (option_is_same(&same, s, plain, option) != SHD_OK)
        return shd_error_set(e->err, SHD_ENOMEM, "no memory for a model's options");
    if (same)
        return SHD_OK;
    if (option_is_in(option, "products"))
        return refuse_types(e, plain, option);
    return shd_error_set(e->err, SHD_EUNSUPPORTED, "%s loads a model as %s; expected no %s with %s",
                         e->system, s->model.from ? "its config.json says" : "it was published",
                         option_path(option).text, s->model.from ? "model.from" : "model.size");
}

/* Append the options of `products` that the model has as it is loaded: as it was published or, of
 * 16 bits, in FP8 where the server is asked to round weights of outputs and activations of tokens.
 */
static int find_types(struct text *out, struct export_serving *e, struct diag *diag)
{
    const struct scenario *s = e->layout->source;
    const char *otherwise;
    int status = scenario_model_products(out, &otherwise, &s->model, diag);

    if (s->products.weights == SCENARIO_BASE_MXFP4)
        (void)published_types_alone(out);
    if (status != SHD_OK || out->length > 0 || s->products.recipe != SCENARIO_ROWWISE)
        return status;
    e->quantization = "fp8";
    text_add(out, "recipe: rowwise, amax: local");
    return SHD_OK;
}

/* Read the model of `size` or `from` by itself, its weights as published, for sequences of the same
 * length. */
static int read_plain(struct scenario_file **out, struct export_serving *e)
{
    const struct scenario *s = e->layout->source;
    const struct scenario_model *m = &s->model;
    struct text text = TEXT_INIT, products = TEXT_INIT;
    struct diag diag = DIAG_INIT;
    int status = find_types(&products, e, &diag);

    text_addf(&text,
              "version: %d\nmesh: {d: 1}\nstep: [prefill]\nbatch: {size: 1, seq: %" PRId64
              "}\nproducts: {%s}\nmodel: {%s: ",
              SCENARIO_VERSION, s->batch.seq, text_get(&products), m->from ? "from" : "size");
    yaml_print_string(&text, m->from ? m->from : scenario_model_name((size_t)m->size - 1));
    text_add(&text, "}\n");
    if (text.failed || products.failed)
        status = SHD_ENOMEM;
    if (status == SHD_OK)
        status = scenario_parse(out, "<model>", text_get(&text), text.length, NULL, 0, &diag);
    if (status != SHD_OK)
        status = shd_error_set(e->err, status == SHD_ENOMEM ? status : SHD_EUNSUPPORTED,
                               "%s must load the model from its name alone: %.100s", e->system,
                               diag_first(&diag, "no memory for it"));
    diag_fini(&diag);
    text_fini(&text);
    text_fini(&products);
    return status;
}

/* Refuse options by which the model is another than `size` or `from` alone gives. */
static int check_model(struct export_serving *e)
{
    const struct scenario *s = e->layout->source;
    struct scenario_file *plain;
    int status = read_plain(&plain, e);

    if (status != SHD_OK)
        return status;
    for (size_t i = 0; i < option_count && status == SHD_OK; i++)
        if ((s->places[i].file || option_is_in(&option_table[i], "products")) &&
            is_loaded(&option_table[i], &s->model))
            status = check_value(e, &plain->scenarios[0], &option_table[i]);
    scenario_file_destroy(plain);
    return status;
}

static int find_model(struct export_serving *e)
{
    const struct scenario_model *m = &e->layout->source->model;

    e->model = m->from       ? m->from
               : m->size > 0 ? scenario_model_repository((size_t)m->size - 1, 0)
                             : NULL;
    if (!e->model)
        return export_serving_refuse(e, "loads a model from a repository or a folder with "
                                        "config.json; expected a model.size with a repository, or "
                                        "model.from");
    e->model_length = m->from ? (size_t)(file_name(m->from) - m->from) : strlen(e->model);
    if (m->from && e->model_length == 0) {
        e->model = ".";
        e->model_length = 1;
    }
    return check_model(e);
}

/* ---- the rest ---- */

/* The options of the step that no command says; those of the model are compared with its own.  What
 * is fused keeps less for a backward phase, and a server has none. */
static int check_option(void *arg, const char *option, const char *value)
{
    static const char *const said[] = {
        "model.",         "moe.",         "mla.",          "products.",
        "batch.size",     "batch.seq",    "decode.tokens", "decode.page",
        "decode.context", "decode.cache", "decode.block",  "context.axis",
        "context.order",  "limits.",      "fused.",        NULL};
    const struct export_serving *e = arg;

    for (size_t i = 0; said[i]; i++)
        if (!strncmp(option, said[i], strlen(said[i])))
            return SHD_OK;
    if (strchr(option, '.') == NULL)
        return SHD_OK;
    return shd_error_set(e->err, SHD_EUNSUPPORTED,
                         "%s has no option for %s %s; expected its default", e->system, option,
                         value);
}

/* A cache of 4 bits is mxfp4 in blocks of so many elements; 0: the system has none. */
static int check_cache(const struct export_serving *e, int64_t block)
{
    const struct scenario_decode *d = &e->layout->source->decode;

    if (scenario_cache_bits(e->layout->source) != 4)
        return SHD_OK;
    if (block == 0)
        return export_serving_refuse(e, "has no 4-bit KV cache; expected another decode.cache");
    if (d->cache != SCENARIO_CACHE_MXFP4 || d->block != block)
        return shd_error_set(e->err, SHD_EUNSUPPORTED,
                             "%s supports a 4-bit KV cache only as mxfp4 with blocks of %" PRId64
                             "; expected decode: {cache: mxfp4, block: %" PRId64 "}",
                             e->system, block, block);
    return SHD_OK;
}

int export_serving_check_source(struct export_job *job, const char *system, int64_t cache_block)
{
    const struct export_layout layout = {.source = job->source};
    struct export_serving e = {.layout = &layout, .system = system, .err = job->err};
    int status = scenario_each_given(job->source, check_option, &e);

    if (status == SHD_OK)
        status = find_model(&e);
    return status == SHD_OK ? check_cache(&e, cache_block) : status;
}

int export_serving_find(struct export_serving *out, const struct export_layout *layout,
                        const char *system, struct shd_error *err)
{
    int status;

    *out = (struct export_serving){.layout = layout, .system = system, .err = err};
    for (size_t a = 0; a < shd_mesh_naxes(layout->mesh); a++)
        if (shd_mesh_axis_size(layout->mesh, a) > 1)
            out->all |= (uint32_t)1 << a;
    status = find_model(out);
    if (status == SHD_OK)
        status = note_params(out);
    out->inside = out->all & ~out->batch;
    if (status == SHD_OK)
        status = check_order(out);
    if (status == SHD_OK)
        status = check_attention(out);
    return status == SHD_OK ? check_context(out) : status;
}

int export_serving_check_copies(const struct export_serving *e)
{
    if (e->layout->source->model.moe.redundant == 0 || e->of[SERVING_EXPERTS] != 0)
        return SHD_OK;
    return export_serving_refuse(e, "supports redundant experts only with expert parallelism; "
                                    "expected rules that shard experts, or no moe.redundant");
}

/* The tokens of a sequence for which the model has no position, which servers refuse. */
static int64_t beyond_model(const struct scenario *s)
{
    int64_t longest = scenario_model_longest(&s->model), tokens = scenario_sequence_tokens(s);

    return longest > 0 && tokens > longest ? tokens - longest : 0;
}

void export_serving_add_length(struct text *out, const char *option, const struct scenario *s)
{
    export_serving_add_number(out, option, scenario_sequence_tokens(s) - beyond_model(s), 0);
}

void export_serving_begin(struct text *out, const struct export_serving *serving,
                          const char *target)
{
    const struct scenario *s = serving->layout->source;

    text_addf(out,
              "#!/bin/sh\n"
              "# Written by 'shardsim export --to %s'; add options such as ports.\n",
              target);
    export_add_title(out, serving->layout);
    if (beyond_model(s) > 0)
        text_addf(out,
                  "# Sequences of %" PRId64 " tokens were planned, and the model has %" PRId64 " "
                  "positions: the server accepts shorter sequences only.\n",
                  scenario_sequence_tokens(s), scenario_sequence_tokens(s) - beyond_model(s));
}

void export_serving_add_memory(struct text *out, const char *option, const struct scenario *s)
{
    if (s->limits.memory.part > 0)
        text_addf(out, " \\\n    %s %.6g", option, s->limits.memory.part);
}

int64_t export_serving_add_sequences(struct text *out, const char *option, const struct scenario *s,
                                     int64_t each, int64_t parts)
{
    int64_t most = s->limits.sequences * parts;

    most = most > each ? most : each;
    export_serving_add_number(out, option, most, 0);
    return most;
}

void export_serving_add_types(struct text *out, const struct export_serving *serving)
{
    text_addf(out, " \\\n    --dtype %s", shd_dtype_name(serving->layout->source->model.dtype));
    if (serving->quantization)
        text_addf(out, " \\\n    --quantization %s", serving->quantization);
}

/* A folder may have any name: as a word of the command it is quoted, and is no option. */
void export_serving_add_model(struct text *out, const struct export_serving *serving)
{
    struct text word = TEXT_INIT;

    text_add(&word, serving->model[0] == '-' ? "./" : "");
    text_add_bytes(&word, serving->model, serving->model_length);
    literal_add_shell(out, text_get(&word));
    out->failed |= word.failed;
    text_fini(&word);
}

void export_serving_add_number(struct text *out, const char *option, int64_t value,
                               int64_t standard)
{
    if (value != standard)
        text_addf(out, " \\\n    %s %" PRId64, option, value);
}

void export_serving_add_cache(struct text *out, const struct scenario *scenario)
{
    static const char *const names[SCENARIO_NCACHE_TYPES] = {[SCENARIO_CACHE_E4M3] = "fp8_e4m3",
                                                             [SCENARIO_CACHE_E5M2] = "fp8_e5m2",
                                                             [SCENARIO_CACHE_MXFP4] = "fp4_e2m1"};
    const char *name = names[scenario->decode.cache];

    if (name)
        text_addf(out, " \\\n    --kv-cache-dtype %s", name);
}
