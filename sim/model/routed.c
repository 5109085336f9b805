/* Routing and parameters of a scenario's experts (model/routed.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/routed.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/rule_match.h"
#include "model/model.h"

/* ---- routing ---- */

static double or_else(double value, double standard)
{
    return value > 0 ? value : standard;
}

/* Numbers of shards that tokens and experts are cut into. */
struct cut {
    int64_t experts; /* by the rules for experts' kernels and rows */
    int64_t groups;  /* shards of the batch, and of the sequence, along axes that cut no experts */
    int64_t sources; /* shards of the batch within each group */
};

/* The sharding of experts: the specs for the experts' kernels of a layer and for their rows, of
 * which the first entry counts.  Errors in rules are ignored here and reported where rules are
 * resolved. */
struct places {
    struct match params, constraints;
    const struct shd_spec *specs[2]; /* NULL: no rule */
};

static const struct shd_spec *find_spec(struct match *match, const struct scenario_rule *rules,
                                        size_t nrules, const char *name)
{
    const struct scenario_rule *rule = NULL;
    struct diag ignored;

    diag_init(&ignored);
    if (match_init(match, rules, nrules, &ignored) != SHD_OK ||
        match_find(&rule, match, name, &ignored) != SHD_OK)
        rule = NULL;
    diag_fini(&ignored);
    return rule && shd_spec_nentries(rule->spec) > 0 ? rule->spec : NULL;
}

static void find_places(struct places *out, const struct scenario *s)
{
    long long layer = 0; /* the first with experts */
    char name[64];

    *out = (struct places){.params = MATCH_INIT, .constraints = MATCH_INIT};
    while (layer + 1 < s->model.layers && !routed_in_layer(s, layer))
        layer++;
    snprintf(name, sizeof name, "layers/%lld/moe/up/kernel", layer);
    out->specs[0] = find_spec(&out->params, s->params, s->nparams, name);
    snprintf(name, sizeof name, "layers/%lld/moe/rows", layer);
    out->specs[1] = find_spec(&out->constraints, s->constraints, s->nconstraints, name);
}

static void places_fini(struct places *places)
{
    match_fini(&places->params);
    match_fini(&places->constraints);
}

static bool cuts(const struct shd_spec *spec, size_t entry, const char *axis)
{
    for (size_t a = 0; spec && entry < shd_spec_nentries(spec) && a < shd_spec_naxes(spec, entry);
         a++)
        if (!strcmp(shd_spec_axis(spec, entry, a), axis))
            return true;
    return false;
}

static bool cuts_experts(const struct places *places, const char *axis)
{
    return cuts(places->specs[0], 0, axis) || cuts(places->specs[1], 0, axis);
}

/* The widths of an expert are the last dimension of its first kernel. */
static bool cuts_widths(const struct places *places, const char *axis)
{
    return cuts(places->specs[0], 2, axis);
}

/* Append the axes of a logical axis that do not cut experts; those of the sequence may not cut
 * their widths either. */
static void add_slots(struct routed_rows *out, const struct scenario *s,
                      const struct places *places, const char *logical)
{
    const struct scenario_logical *l = scenario_find_logical(s, logical);
    bool of_tokens = !strcmp(logical, "seq");

    for (size_t a = 0; l && a < l->naxes && out->nslots < SHD_MESH_AXES_MAX; a++)
        if (!cuts_experts(places, l->axes[a]) && !(of_tokens && cuts_widths(places, l->axes[a])))
            out->slots[out->nslots++] = l->axes[a];
}

static struct routed_rows rows_of(const struct scenario *s, const struct places *places)
{
    struct routed_rows rows = {.nexperts = 0};
    const struct shd_spec *spec = places->specs[0];

    for (size_t a = 0; spec && a < shd_spec_naxes(spec, 0) && a < SHD_MESH_AXES_MAX; a++)
        rows.experts[rows.nexperts++] = shd_spec_axis(spec, 0, a);
    add_slots(&rows, s, places, "batch");
    rows.nbatch = rows.nslots;
    if (s->rules != SCENARIO_RULES_AUTO)
        add_slots(&rows, s, places, "seq");
    return rows;
}

struct routed_rows routed_rows_of(const struct scenario *scenario)
{
    struct routed_rows rows;
    struct places places;

    find_places(&places, scenario);
    rows = rows_of(scenario, &places);
    places_fini(&places);
    return rows;
}

static struct cut find_cut(const struct graph *g, const struct scenario *s, uint32_t batch)
{
    const struct scenario_logical *logical = scenario_find_logical(s, "batch");
    struct cut cut = {1, 1, 1};
    struct routed_rows rows;
    struct places places;
    int64_t tokens = 1;

    find_places(&places, s);
    rows = rows_of(s, &places);
    for (size_t i = 0; i < s->nmesh; i++)
        if (cuts_experts(&places, s->mesh[i].name))
            cut.experts *= s->mesh[i].size;
    for (size_t a = 0; logical && a < logical->naxes; a++)
        if (cuts_experts(&places, logical->axes[a]))
            cut.sources *= scenario_axis_size(s, logical->axes[a]);
    for (size_t a = 0; a < rows.nslots; a++)
        *(a < rows.nbatch ? &cut.groups : &tokens) *= scenario_axis_size(s, rows.slots[a]);
    places_fini(&places);
    if (g->dims[batch].size % cut.groups != 0)
        cut.groups = 1;
    if (g->dims[batch].size / cut.groups % tokens == 0)
        cut.groups *= tokens;
    if (g->dims[batch].size / cut.groups % cut.sources != 0)
        cut.sources = 1;
    return cut;
}

/* The cut with a given number of groups.  With fewer groups each has more shards; with more groups
 * than shards each is uncut. */
static struct cut with_groups(const struct cut *cut, int64_t groups)
{
    int64_t shards = cut->groups * cut->sources;

    return (struct cut){cut->experts, groups, shards % groups == 0 ? shards / groups : 1};
}

/* Tokens that an expert, or a copy, accepts from a group; 0: no limit. */
static int64_t capacity(const struct scenario_moe *m, int64_t tokens)
{
    double even = (double)m->top_k * (double)tokens / (double)(m->experts + m->redundant);

    return m->capacity > 0 ? (int64_t)ceil(even * m->capacity) : 0;
}

/* Number of expert ranks, one of which may be hot, or of sources of a ragged routing. */
static int64_t ranks(const struct scenario_moe *m, const struct cut *cut)
{
    if (m->ranks > 0)
        return m->ranks;
    if (m->routing == SCENARIO_ROUTING_RAGGED)
        return cut->sources;
    return m->experts % cut->experts == 0 ? cut->experts : 1;
}

/* Whether the router chooses, and no workload in its place. */
static bool is_learned(const struct scenario_moe *m)
{
    return m->routing == SCENARIO_ROUTING_AUTO || m->routing == SCENARIO_ROUTING_LEARNED;
}

static struct kern_routing_spec routing_spec(const struct graph *g, const struct scenario *s,
                                             const struct weights_dims *dims, const struct cut *cut)
{
    static const enum kern_routing_kind kinds[SCENARIO_NROUTINGS] = {
        [SCENARIO_ROUTING_AUTO] = KERN_ROUTING_UNIFORM,
        [SCENARIO_ROUTING_LEARNED] = KERN_ROUTING_UNIFORM,
        [SCENARIO_ROUTING_UNIFORM] = KERN_ROUTING_UNIFORM,
        [SCENARIO_ROUTING_ZIPF] = KERN_ROUTING_ZIPF,
        [SCENARIO_ROUTING_HOT_EXPERT] = KERN_ROUTING_HOT_EXPERT,
        [SCENARIO_ROUTING_HOT_RANK] = KERN_ROUTING_HOT_RANK,
        [SCENARIO_ROUTING_RAGGED] = KERN_ROUTING_RAGGED,
        [SCENARIO_ROUTING_EMPTY] = KERN_ROUTING_EMPTY,
        [SCENARIO_ROUTING_ROTATING] = KERN_ROUTING_HOT_EXPERT};
    const struct scenario_moe *m = &s->model.moe;
    int64_t tokens = g->dims[dims->batch].size / cut->groups * g->dims[dims->seq].size;
    bool learned = is_learned(m);

    return (struct kern_routing_spec){
        .kind = learned && m->skew > 0 ? KERN_ROUTING_ZIPF : kinds[m->routing],
        .tokens = tokens,
        .choices = (uint32_t)m->top_k,
        .experts = (uint32_t)m->experts,
        .groups = (uint32_t)m->groups,
        .kept = (uint32_t)m->kept,
        .capacity = capacity(m, tokens),
        .slot_major = m->drop == SCENARIO_DROP_CHOICES,
        .assumed = learned,
        .roomy = m->routing == SCENARIO_ROUTING_LEARNED || (learned && !s->planned),
        .rotate = m->routing == SCENARIO_ROUTING_ROTATING,
        .steps = (uint32_t)s->steps,
        .skew = or_else(m->skew, 1),
        .share = or_else(m->skew, 0.5),
        .ranks = (uint32_t)ranks(m, cut),
        .seed = (uint32_t)s->seed};
}

/* The ids that a workload has in the place of a router's. */
static uint32_t add_workload(struct graph *g, const struct scenario *s,
                             const struct weights_dims *dims, const struct kern_routing *routing)
{
    const uint32_t ids[3] = {dims->batch, dims->seq, graph_dim(g, "choice", s->model.moe.top_k)};

    return graph_input(g, "routing", SHD_I32, ids, 3, (struct kern_source){.routing = routing});
}

/* Route to copies of experts in place of these, if there are any. */
static void add_copies(struct routed *out, struct graph *g, const struct scenario *s,
                       const struct kern_routing_spec *spec, const struct cut *cut,
                       struct diag *diag)
{
    const struct scenario_moe *m = &s->model.moe;

    if (m->redundant == 0)
        return;
    if ((m->experts + m->redundant) % cut->experts == 0) {
        out->routing = graph_routing_to_copies(g, out->routing, spec, (uint32_t)m->redundant,
                                               (uint32_t)cut->experts);
        return;
    }
    graph_fail(g, SHD_EINDIVISIBLE,
               "%lld experts and %lld %s beside them do not divide over %lld devices; expected a "
               "number of copies that makes them divide",
               (long long)m->experts, (long long)m->redundant,
               m->redundant == 1 ? "copy" : "copies", (long long)cut->experts);
    diag_failure(diag, scenario_place(s, "moe.redundant"), SHD_EINDIVISIBLE, "%s", g->err.text);
}

void routed_init(struct routed *out, struct graph *graph, const struct scenario *scenario,
                 const struct weights_dims *dims, struct diag *diag)
{
    struct kern_routing_spec spec;
    struct cut cut;

    *out = (struct routed){.ids = GRAPH_NONE, .loss = GRAPH_NONE};
    if (graph->err.status != SHD_OK || scenario->model.moe.experts == 0)
        return;
    cut = find_cut(graph, scenario, dims->batch);
    if (scenario->model.moe.token_groups > 0)
        cut = with_groups(&cut, scenario->model.moe.token_groups);
    out->groups = cut.groups;
    spec = routing_spec(graph, scenario, dims, &cut);
    out->routing = graph_routing(graph, &spec);
    if (!out->routing)
        return;
    if (!is_learned(&scenario->model.moe))
        out->ids = add_workload(graph, scenario, dims, out->routing);
    add_copies(out, graph, scenario, &spec, &cut, diag);
}

/* ---- layers ---- */

bool routed_in_layer(const struct scenario *scenario, int64_t layer)
{
    const struct scenario_moe *m = &scenario->model.moe;

    if (scenario->model.residual == SCENARIO_ALONE)
        return scenario_layer_type(&scenario->model, layer) == SCENARIO_LAYER_EXPERTS;
    return m->experts > 0 && layer >= m->first_dense &&
           (layer - m->first_dense) % m->every == m->every - 1;
}

/* A bias of the router or of experts: 0 in a published model, like other biases. */
static uint32_t expert_bias(struct graph *g, const struct scenario *s, const char *layer,
                            const char *part, const uint32_t *dims, uint32_t rank)
{
    return weights_bias(g, s, graph_text(g, "%s/moe/%s", layer, part), dims, rank);
}

/* A kernel [expert, from, to], scaled so that its products keep the variance of their operand. */
static uint32_t kernel(struct graph *g, const struct scenario *s, const char *layer,
                       const char *part, const uint32_t dims[3])
{
    const char *name = graph_text(g, "%s/moe/%s/kernel", layer, part);

    if (g->err.status != SHD_OK)
        return GRAPH_NONE;
    return graph_param(g, name, s->model.dtype, dims, 3,
                       model_source(s->seed, name, sqrt(12 / (double)g->dims[dims[1]].size)));
}

/* Let each copy have the numbers of its expert; `param` has the dimension of places. */
static void share(struct graph *g, uint32_t param, const struct kern_routing *routing)
{
    if (param != GRAPH_NONE && g->err.status == SHD_OK && routing && routing->copies)
        g->nodes[param].source.copies = routing->copies;
}

static void share_all(const struct moe_weights *w, struct graph *g,
                      const struct kern_routing *routing)
{
    share(g, w->gate, routing);
    share(g, w->up, routing);
    share(g, w->down, routing);
    if (!w->biased)
        return;
    share(g, w->gate_bias, routing);
    share(g, w->up_bias, routing);
    share(g, w->down_bias, routing);
}

/* The router's bias: a number for each expert, equal for all tokens and not trained. */
static uint32_t choice_bias(struct graph *g, const struct scenario *s, const char *layer,
                            uint32_t expert)
{
    const char *name = graph_text(g, "%s/moe/router/bias", layer);

    return graph_input(g, name, s->model.dtype == SHD_F64 ? SHD_F64 : SHD_F32, &expert, 1,
                       model_source(s->seed, name, 0.02));
}

/* Biases of kernels in[expert, embed, expert_mlp] and out[expert, expert_mlp, embed], and of the
 * router, one for each expert that it chooses from. */
static void add_biases(struct moe_weights *w, struct graph *g, const struct scenario *s,
                       const char *name, const uint32_t in[3], const uint32_t out[3],
                       uint32_t chosen)
{
    const struct scenario_moe *m = &s->model.moe;
    const uint32_t hidden[2] = {in[0], in[2]}, back[2] = {out[0], out[2]};

    w->biased = m->router_bias || m->expert_bias;
    w->router_bias = w->gate_bias = w->up_bias = w->down_bias = GRAPH_NONE;
    if (m->router_bias)
        w->router_bias = expert_bias(g, s, name, "router/logit_bias", &chosen, 1);
    if (!m->expert_bias)
        return;
    if (scenario_is_gated(s->model.activation))
        w->gate_bias = expert_bias(g, s, name, "gate/bias", hidden, 2);
    w->up_bias = expert_bias(g, s, name, "up/bias", hidden, 2);
    w->down_bias = expert_bias(g, s, name, "down/bias", back, 2);
}

/* Shared experts, `width` wide each, and their gate. */
static void add_shared(struct moe_weights *w, struct graph *g, const struct scenario *s,
                       const char *name, const struct weights_dims *dims, int64_t width)
{
    const struct scenario_moe *m = &s->model.moe;
    struct weights_dims shared = *dims;

    shared.mlp =
        graph_dim(g, "shared_mlp", m->shared_d_ff > 0 ? m->shared_d_ff : m->shared * width);
    w->has_shared = true;
    w->shared = weights_mlp(g, s, graph_text(g, "%s/moe/shared", name), &shared);
    w->has_shared_gate = m->shared_gate;
    if (!m->shared_gate)
        return;
    const uint32_t gate[2] = {dims->embed, graph_dim(g, "shared_gates", 1)};

    w->shared_gate =
        weights_param(g, s, graph_text(g, "%s/moe/shared_gate/kernel", name), gate, 2, 1);
}

static struct moe_weights weights_of(struct graph *g, const struct scenario *s, const char *name,
                                     const struct weights_dims *dims,
                                     const struct kern_routing *routing)
{
    const struct scenario_moe *m = &s->model.moe;
    int64_t width = m->d_ff > 0 ? m->d_ff : s->model.d_ff;
    uint32_t expert = graph_dim(g, "expert", m->experts + m->redundant);
    uint32_t chosen = m->redundant > 0 ? graph_dim(g, "expert_id", m->experts) : expert;
    uint32_t mlp = graph_dim(g, "expert_mlp", width);
    const uint32_t router[2] = {dims->embed, chosen}, in[3] = {expert, dims->embed, mlp};
    const uint32_t out[3] = {expert, mlp, dims->embed};
    struct moe_weights w = {.bias = GRAPH_NONE, .gate = GRAPH_NONE};

    w.router = weights_param(g, s, graph_text(g, "%s/moe/router/kernel", name), router, 2, 1);
    if (m->bias && is_learned(m))
        w.bias = choice_bias(g, s, name, chosen);
    if (scenario_is_gated(s->model.activation))
        w.gate = kernel(g, s, name, "gate", in);
    w.up = kernel(g, s, name, "up", in);
    w.down = kernel(g, s, name, "down", out);
    add_biases(&w, g, s, name, in, out, chosen);
    share_all(&w, g, routing);
    if (m->shared > 0)
        add_shared(&w, g, s, name, dims, width);
    return w;
}

struct block_experts routed_layer(struct graph *graph, const struct scenario *scenario,
                                  const char *name, const struct weights_dims *dims,
                                  struct routed *all)
{
    const struct scenario_moe *m = &scenario->model.moe;

    return (struct block_experts){.weights = weights_of(graph, scenario, name, dims, all->routing),
                                  .opts = {.top_k = (uint32_t)m->top_k,
                                           .sigmoid = m->score == SCENARIO_SIGMOID,
                                           .after = m->after,
                                           .renormalize = m->renormalize,
                                           .gates_input = m->gates_input,
                                           .scale = m->scale,
                                           .groups = (uint32_t)m->groups,
                                           .kept = (uint32_t)m->kept,
                                           .by_largest = m->group_score == SCENARIO_GROUP_MAX,
                                           .token_groups = (uint32_t)all->groups,
                                           .sums = m->node_axis != NULL,
                                           .routing = all->routing,
                                           .ids = all->ids,
                                           .aux = m->aux_loss,
                                           .z = m->z_loss,
                                           .activation = weights_activation(scenario)},
                                  .loss = &all->loss};
}
