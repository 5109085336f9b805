/* The shardings that a scenario requests for the arrays of its graph.
 *
 * Parameters follow the first rule whose pattern matches their name, or their shapes, adapters the
 * parameter that they adapt, unless a rule is for them; optimizer
 * state is sharded like its parameter, unless a rule for "opt/" says otherwise; ZeRO cuts both
 * further.  Inputs follow the logical axes of their dimensions.  A constraint applies to the
 * constraint nodes of its name; the cotangent there is sharded like the value.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <shd/auto_shard.h>

#include "base/nearest.h"
#include "graph/pad.h"
#include "model/matrices.h"
#include "model/rule_match.h"
#include "model/model.h"
#include "model/routed.h"
#include "model/zero.h"

/* An extent that does not divide is padded to a multiple of at most this number. */
#define MULTIPLES_MAX 65536

struct binding {
    const struct graph *graph;
    const struct shd_mesh *mesh;
    const struct scenario *scenario;
    struct model_shardings *out;
    struct diag *diag;
    size_t nindivisible; /* number of reported errors about dimensions that do not divide */
    uint32_t batch_axes; /* bit a: axis a shards the first dimension of an input */
    int64_t *multiples;  /* NULL, or by dimension: the multiple to which it must be padded,
                            collected instead of reporting an error */
};

/* A hint for "extent 32" when the scenario has a batch of 512: the microbatches. */
static const char *microbatch_of(char *buf, size_t size, const struct binding *b,
                                 const struct graph_node *node, const struct shd_error *err)
{
    buf[0] = '\0';
    if (err->status == SHD_EINDIVISIBLE && node->op == GRAPH_INPUT && b->graph->microbatches > 1)
        snprintf(buf, size,
                 "; each of %u microbatches has %" PRId64 " of %" PRId64 " sequences: with fewer "
                 "microbatches each has more",
                 b->graph->microbatches, b->scenario->batch.size / b->graph->microbatches,
                 b->scenario->batch.size);
    return buf;
}

/* A hint to pad, appended to the suggested numbers of shards.  A cache is not padded. */
static const char *padding_of(const struct binding *b, const struct shd_error *err)
{
    return b->scenario->uneven == SCENARIO_REFUSED && !scenario_serves(b->scenario) &&
                   strstr(err->text, "would do")
               ? ", or 'uneven: pad'"
               : "";
}

static void report_binding(struct binding *b, struct place place, const struct graph_node *node,
                           const struct shd_error *err)
{
    size_t before = b->diag->nerrors;
    char why[128];

    diag_failure(b->diag, place, err->status, "'%s': %s%s%s", node->name, err->text,
                 padding_of(b, err), microbatch_of(why, sizeof why, b, node, err));
    if (err->status == SHD_EINDIVISIBLE)
        b->nindivisible += b->diag->nerrors - before;
}

static int64_t common_multiple(int64_t a, int64_t b)
{
    int64_t rest = a, divisor = b;

    while (rest) {
        int64_t next = divisor % rest;

        divisor = rest;
        rest = next;
    }
    return a / divisor * b;
}

/* Check that a sharding divides an array; or, with `multiples`, record which multiples it needs. */
static int check_division(struct binding *b, uint32_t node, struct shd_error *err)
{
    const struct shd_sharding *s = &b->out->storage[node];
    const struct graph_node *n = &b->graph->nodes[node];
    int64_t shape[GRAPH_RANK_MAX];

    graph_shape(b->graph, node, shape);
    if (!b->multiples)
        return shd_sharding_check(s, shape, err);
    for (uint32_t d = 0; d < n->rank; d++) {
        int64_t *multiple = &b->multiples[n->dims[d]];

        *multiple = common_multiple(*multiple, shd_sharding_nshards(s, d));
        if (*multiple > MULTIPLES_MAX && shape[d] % *multiple != 0)
            return shd_error_set(err, SHD_EINDIVISIBLE,
                                 "dimension %" PRIu32 " of extent %" PRId64
                                 " would be padded to a multiple of %" PRId64
                                 "; expected one of at most %d",
                                 d, shape[d], *multiple, MULTIPLES_MAX);
    }
    return SHD_OK;
}

/* Check that an array is not sharded over the axis of the pipeline's stages. */
static int check_stages(const struct binding *b, uint32_t node, struct shd_error *err)
{
    const char *name = b->scenario->pipeline.axis;
    int axis = name ? shd_mesh_find_axis(b->mesh, name) : -1;

    if (axis < 0 || b->graph->nstages == 1 ||
        !(shd_sharding_axes(&b->out->storage[node]) >> axis & 1))
        return SHD_OK;
    return shd_error_set(err, SHD_EINVAL,
                         "'%s' holds the stages of the pipeline and shards no array; expected "
                         "other axes",
                         name);
}

static void bind_spec(struct binding *b, uint32_t node, const struct shd_spec *spec,
                      struct place place)
{
    const struct graph_node *n = &b->graph->nodes[node];
    struct shd_error err;
    int status = shd_sharding_bind(&b->out->storage[node], b->mesh, spec, n->rank, &err);

    if (status == SHD_OK)
        status = check_stages(b, node, &err);
    if (status == SHD_OK)
        status = check_division(b, node, &err);
    if (status == SHD_OK)
        b->out->nodes[node] = &b->out->storage[node];
    else
        report_binding(b, place, n, &err);
}

static void bind_rule(struct binding *b, uint32_t node, const struct scenario_rule *rule)
{
    b->out->rules[node] = rule;
    bind_spec(b, node, rule->spec, rule->spec_place);
}

/* Shard a parameter by its shape; strict: every dimension must divide. */
static void bind_auto(struct binding *b, uint32_t node)
{
    const struct shd_auto_options options = {.min_elements = 0, .strict = true};
    const struct graph_node *n = &b->graph->nodes[node];
    struct shd_spec_entry methods[SHD_AUTO_METHODS_MAX];
    struct place place = scenario_place(b->scenario, "rules");
    int64_t shape[GRAPH_RANK_MAX];
    struct shd_spec *spec = NULL;
    struct shd_error err;

    graph_shape(b->graph, node, shape);
    if (shd_auto_spec(&spec, b->mesh, shape, n->rank, methods,
                      shd_auto_methods(methods, b->mesh, shape, n->rank), &options, &err) == SHD_OK)
        bind_spec(b, node, spec, place);
    else
        report_binding(b, place, n, &err);
    shd_spec_destroy(spec);
}

/* Append mesh axes to those of a dimension, without those that the array is sharded over. */
static void add_axes(const struct binding *b, struct shd_sharding *s, uint32_t d,
                     const char *const *names, size_t n)
{
    for (size_t a = 0; a < n; a++) {
        int axis = shd_mesh_find_axis(b->mesh, names[a]);

        if (axis >= 0 && !(shd_sharding_axes(s) >> axis & 1))
            s->dims[d].axes[s->dims[d].naxes++] = (uint8_t)axis;
    }
}

/* Shard an input: each dimension by its logical axis, without mesh axes that an earlier dimension
 * uses. */
static void bind_logical(struct binding *b, uint32_t node)
{
    const struct graph_node *n = &b->graph->nodes[node];
    struct shd_sharding *s = &b->out->storage[node];
    struct shd_error err;

    shd_sharding_init(s, b->mesh, n->rank);
    for (uint32_t d = 0; d < n->rank; d++) {
        const struct scenario_logical *l =
            scenario_find_logical(b->scenario, b->graph->dims[n->dims[d]].name);

        if (l)
            add_axes(b, s, d, (const char *const *)l->axes, l->naxes);
        if (l && check_division(b, node, &err) != SHD_OK)
            report_binding(b, l->place, n, &err);
    }
    b->out->nodes[node] = s;
}

/* Shard experts' rows over the axes of the sequence, too, where groups of tokens divide over them:
 * else each of these devices would do the expert work of all. */
static void bind_rows(struct binding *b, uint32_t node)
{
    const struct graph_node *n = &b->graph->nodes[node];
    const struct graph_node *dispatch = &b->graph->nodes[n->inputs[0]];
    struct shd_sharding *s = &b->out->storage[node];
    struct routed_rows rows;

    if (!scenario_find_logical(b->scenario, "seq"))
        return;
    rows = routed_rows_of(b->scenario);
    if (rows.nslots == rows.nbatch)
        return;
    shd_sharding_init(s, b->mesh, n->rank);
    add_axes(b, s, 0, rows.experts, rows.nexperts);
    add_axes(b, s, 1, rows.slots, rows.nslots);
    if (dispatch->attr.experts.groups % shd_sharding_nshards(s, 1) == 0)
        b->out->nodes[node] = s;
}

/* The parameter that an adapter belongs to, made shortly before it. */
static uint32_t base_of(const struct binding *b, uint32_t node)
{
    const char *base = b->graph->nodes[node].base;
    uint32_t n = node;

    while (n > 0 && (b->graph->nodes[n].op != GRAPH_PARAM || strcmp(b->graph->nodes[n].name, base)))
        n--;
    return n;
}

/* The dimension of `like` that a dimension is, or has parts of; its rank if there is none. */
static uint32_t place_in(const struct graph *g, const struct graph_node *like, uint32_t dim)
{
    uint32_t d = 0, root = g->dims[dim].of == GRAPH_NONE ? dim : g->dims[dim].of;

    while (d < like->rank && like->dims[d] != root && g->dims[like->dims[d]].of != root)
        d++;
    return d;
}

/* Shard an adapter, or scales, as the base along the dimensions that the base has, too, without
 * ZeRO's axes, and without those that do not divide what has an element for several of the base. */
static void bind_like(struct binding *b, uint32_t node, uint32_t base)
{
    const struct graph_node *n = &b->graph->nodes[node];
    const struct graph_node *like = &b->graph->nodes[base];
    struct shd_sharding *s = &b->out->storage[node];

    if (!b->out->nodes[base])
        return;
    shd_sharding_init(s, b->mesh, n->rank);
    for (uint32_t d = 0; d < n->rank; d++) {
        const struct graph_dim *dim = &b->graph->dims[n->dims[d]];
        uint32_t from = place_in(b->graph, like, n->dims[d]);
        int64_t nshards = 1;

        for (uint32_t a = 0; from < like->rank && a < b->out->nodes[base]->dims[from].naxes; a++) {
            uint8_t axis = b->out->nodes[base]->dims[from].axes[a];

            nshards *= shd_mesh_axis_size(b->mesh, axis);
            if (!(b->out->stored[base] >> axis & 1) &&
                (dim->of == GRAPH_NONE || dim->size % nshards == 0))
                s->dims[d].axes[s->dims[d].naxes++] = axis;
        }
    }
    b->out->rules[node] = b->out->rules[base];
    b->out->nodes[node] = s;
}

/* Shard pools of pages, the first dimension, as the batch is. */
static void bind_pools(const struct binding *b, struct shd_sharding *s)
{
    const struct scenario_logical *l = scenario_find_logical(b->scenario, "batch");

    if (l)
        add_axes(b, s, 0, (const char *const *)l->axes, l->naxes);
}

/* Shard a cache: along the batch and the tokens as inputs are, the tokens over context.axis as
 * well, and along the dimensions of the parameter that makes what is kept as that one. */
static void bind_cache(struct binding *b, uint32_t node)
{
    const struct graph_node *n = &b->graph->nodes[node];
    struct shd_sharding *s = &b->out->storage[node];
    const char *cut = b->scenario->context.axis;
    int parts = cut ? shd_mesh_find_axis(b->mesh, cut) : -1;
    uint32_t param = n->base ? base_of(b, node) : node;
    const struct shd_sharding *like = n->base ? b->out->nodes[param] : NULL;

    bind_logical(b, node);
    if (n->kept->pages)
        bind_pools(b, s);
    if (parts >= 0 && !(shd_sharding_axes(s) >> parts & 1))
        s->dims[1].axes[s->dims[1].naxes++] = (uint8_t)parts;
    for (uint32_t d = 2; like && d < n->rank; d++) {
        uint32_t from = place_in(b->graph, &b->graph->nodes[param], n->dims[d]);

        for (uint32_t a = 0; from < like->rank && a < like->dims[from].naxes; a++) {
            uint8_t axis = like->dims[from].axes[a];

            if (!(b->out->stored[param] >> axis & 1) && !(shd_sharding_axes(s) >> axis & 1))
                s->dims[d].axes[s->dims[d].naxes++] = axis;
        }
    }
}

/* Find the rule of a parameter.  A rule that is found in the name of an adapter's base as well is
 * the base's, and the adapter gets none. */
static int find_rule(const struct scenario_rule **rule, const struct binding *b,
                     struct match *params, const struct graph_node *n)
{
    bool of_base = false;
    int status = match_find(rule, params, n->name, b->diag);

    if (status == SHD_OK && n->base && *rule)
        status = match_test(&of_base, params, *rule, n->base, b->diag);
    if (of_base)
        *rule = NULL;
    return status;
}

/* Whether a rule is for optimizer state. */
static bool is_of_state(const struct scenario_rule *rule)
{
    const char *pattern = rule->pattern + (rule->pattern[0] == '^');

    return strncmp(pattern, "opt/", 4) == 0;
}

/* Whether a node is optimizer state, or a gradient in the sharding of the state. */
static bool is_state(const struct graph_node *n)
{
    return n->state_of != GRAPH_NONE;
}

static struct zero_axes zero_axes_of(const struct binding *b)
{
    const struct scenario_axis_list *list = &b->scenario->zero.axes;
    struct zero_axes axes = {.layout =
                                 b->scenario->zero.layout == SCENARIO_PAD ? ZERO_PAD : ZERO_FLAT};

    for (size_t i = 0; i < list->n; i++) {
        int axis = shd_mesh_find_axis(b->mesh, list->names[i]);

        if (axis >= 0)
            axes.axes[axes.n++] = (uint8_t)axis;
    }
    return axes;
}

/* Shard a node over ZeRO's axes as well, if the scenario's ZeRO stage is at least `stage`. */
static void cut_from(struct binding *b, uint32_t node, int64_t stage)
{
    struct zero_axes axes;
    int64_t shape[GRAPH_RANK_MAX];

    if (b->scenario->zero.stage < stage || !b->out->nodes[node] || b->multiples)
        return;
    axes = zero_axes_of(b);
    graph_shape(b->graph, node, shape);
    b->out->stored[node] |= zero_cut(&b->out->storage[node], shape, &axes);
}

static void note_batch_axes(struct binding *b, uint32_t node)
{
    const struct shd_sharding *s = b->out->nodes[node];

    for (uint32_t a = 0; s && s->rank > 0 && a < s->dims[0].naxes; a++)
        b->batch_axes |= UINT32_C(1) << s->dims[0].axes[a];
}

/* Let a sum over microbatches stay partial over the axes that cut the batch but not the sum (with
 * hybrid sharding, the outer axis): the update adds up the parts once. */
static void leave_parts(struct binding *b, uint32_t node)
{
    struct shd_sharding *s = &b->out->storage[node];

    s->partial = (uint16_t)(b->batch_axes & ~shd_sharding_axes(s));
    s->partial_op = s->partial ? SHD_SUM : 0;
}

/* Drop axes that ZeRO added to a parameter's sharding, behind those of its rule. */
static void drop_axes(struct shd_sharding *s, uint32_t axes)
{
    for (uint32_t d = 0; d < s->rank; d++)
        while (s->dims[d].naxes > 0 && axes >> s->dims[d].axes[s->dims[d].naxes - 1] & 1)
            s->dims[d].axes[--s->dims[d].naxes] = 0;
}

/* Shard a constraint on matrices as the optimizer's layout says. */
static void bind_matrices(struct binding *b, uint32_t node)
{
    uint32_t param = b->graph->nodes[node].state_of;
    struct shd_sharding state, asked;
    int64_t shape[GRAPH_RANK_MAX];
    struct zero_axes axes = zero_axes_of(b);

    if (!b->out->nodes[param])
        return;
    graph_shape(b->graph, param, shape);
    state = asked = *b->out->nodes[param];
    drop_axes(&asked, b->out->stored[param]);
    if (b->scenario->zero.stage >= 1 && !b->multiples)
        (void)zero_cut(&state, shape, &axes);
    matrices_place(&b->out->storage[node], b->graph, node, &state, &asked, b->scenario);
    b->out->nodes[node] = &b->out->storage[node];
}

/* Shard optimizer state like its parameter, which precedes it.  A gradient sum over microbatches
 * that would be replicated gets no request: the partitioner then chooses where to add it up. */
static void bind_state(struct binding *b, uint32_t node)
{
    uint32_t param = b->graph->nodes[node].state_of;

    if (!b->out->nodes[param])
        return;
    if (zero_is_sum(&b->graph->nodes[node]) &&
        !zero_scatters_each(b->graph, b->scenario->zero.stage))
        return;
    b->out->storage[node] = *b->out->nodes[param];
    b->out->nodes[node] = &b->out->storage[node];
    cut_from(b, node, 1);
    if (zero_is_sum(&b->graph->nodes[node]))
        leave_parts(b, node);
    if (b->graph->nodes[node].op == GRAPH_CONSTRAINT && b->graph->microbatches > 1 &&
        shd_sharding_is_replicated(b->out->nodes[node]))
        b->out->nodes[node] = NULL;
}

/* Report all unmatched parameters in one message: the cause may be a fault in a rule, whose own
 * message should not drown in many. */
static void report_unmatched(const struct binding *b, const char *first, size_t nunmatched)
{
    char more[32] = "";

    if (nunmatched > 1)
        snprintf(more, sizeof more, " and %zu more", nunmatched - 1);
    if (nunmatched > 0)
        diag_error(
            b->diag, scenario_place(b->scenario, "params"),
            "no rule matches parameter '%s'%s; end the list with [.*, []] to replicate the rest",
            first, more);
}

/* The parameter that a node was made of. */
static uint32_t parameter_of(const struct graph *graph, uint32_t node)
{
    while (graph->nodes[node].op != GRAPH_PARAM)
        node = graph->nodes[node].inputs[0];
    return node;
}

static int bind_nodes(struct binding *b, struct match *params, struct match *constraints)
{
    const char *unmatched = NULL;
    size_t nunmatched = 0;
    int status = SHD_OK;

    for (uint32_t node = 0; node < b->graph->nnodes && status == SHD_OK; node++) {
        const struct graph_node *n = &b->graph->nodes[node];
        const struct scenario_rule *rule = NULL;

        if (n->op == GRAPH_CONSTRAINT && n->attr.constraint.gathered) {
            bind_like(b, node, parameter_of(b->graph, node));
            continue;
        }
        if (n->op == GRAPH_PARAM && b->scenario->rules == SCENARIO_RULES_AUTO && !n->base) {
            bind_auto(b, node);
        } else if (n->op == GRAPH_PARAM) {
            status = find_rule(&rule, b, params, n);
            if (status == SHD_OK && !rule && !n->base && nunmatched++ == 0)
                unmatched = n->name;
        } else if (is_state(n)) {
            status = match_find(&rule, params, n->name, b->diag);
            if (rule && !is_of_state(rule))
                rule = NULL;
        } else if (n->op == GRAPH_CONSTRAINT || (n->op == GRAPH_INPUT && !n->source.by_step)) {
            status = match_find(&rule, constraints, n->name, b->diag);
        }
        if (rule)
            bind_rule(b, node, rule);
        else if (n->kept)
            bind_cache(b, node);
        else if (n->base)
            bind_like(b, node, base_of(b, node));
        else if (is_state(n) && n->op == GRAPH_CONSTRAINT &&
                 n->attr.constraint.place != GRAPH_NO_MATRIX)
            bind_matrices(b, node);
        else if (is_state(n))
            bind_state(b, node);
        else if (n->op == GRAPH_INPUT)
            bind_logical(b, node);
        else if (n->op == GRAPH_CONSTRAINT && b->graph->nodes[n->inputs[0]].op == GRAPH_DISPATCH)
            bind_rows(b, node);
        if (n->op == GRAPH_INPUT && !is_state(n))
            note_batch_axes(b, node);
        if (n->op == GRAPH_PARAM)
            cut_from(b, node, 3);
    }
    report_unmatched(b, unmatched, nunmatched);
    return status;
}

/* Report patterns that match no name.  The author of the rule may not know the model's names, so
 * the message offers the nearest one, or else an example. */
static void report_unused(const struct binding *b, const struct match *set, bool of_params)
{
    const char *what = of_params ? "rule" : "constraint", *of = of_params ? "parameter" : "value";

    for (size_t r = 0; r < set->nrules; r++) {
        const char *pattern = set->rules[r].pattern, *example = NULL;
        char hint[SCENARIO_NAME_MAX + sizeof(struct nearest_text)];
        struct nearest near;

        if (set->found[r])
            continue;
        nearest_init(&near, pattern);
        for (uint32_t i = 0; i < b->graph->nnodes; i++) {
            const struct graph_node *n = &b->graph->nodes[i];

            if (of_params ? n->op != GRAPH_PARAM && !is_state(n)
                          : is_state(n) || (n->op != GRAPH_CONSTRAINT && n->op != GRAPH_INPUT))
                continue;
            nearest_add(&near, match_last_parts(n->name, pattern));
            if (!example || n->op == GRAPH_CONSTRAINT)
                example = n->name;
        }
        if (near.best || !example)
            snprintf(hint, sizeof hint, "%s", nearest_hint(&near).text);
        else
            snprintf(hint, sizeof hint,
                     "; one of its names is '%s', and 'shardsim show names' lists all", example);
        diag_error(b->diag, set->rules[r].place, "%s '%s' matches no %s of this model%s", what,
                   pattern, of, hint);
    }
}

static void report_unknown_logical(const struct binding *b)
{
    for (size_t l = 0; l < b->scenario->nlogical; l++)
        if (graph_find_dim(b->graph, b->scenario->logical[l].name) == GRAPH_NONE)
            diag_error(b->diag, b->scenario->logical[l].place,
                       "this model has no logical axis '%s'", b->scenario->logical[l].name);
}

/* Whether a node is the cotangent input of an output of this name. */
static bool is_cotangent(const struct graph_node *node, const char *output)
{
    if (node->op != GRAPH_INPUT || strncmp(node->name, "ct", 2) != 0)
        return false;
    return node->name[2] == '\0' || (node->name[2] == '/' && !strcmp(node->name + 3, output));
}

void model_shardings_bind_outputs(struct model_shardings *shardings, const struct graph *graph)
{
    for (uint32_t o = 0; o < graph->noutputs; o++) {
        const struct graph_output *output = &graph->outputs[o];

        if (output->kind == GRAPH_GRADIENT)
            shardings->outputs[o] = shardings->nodes[output->of];
        if (output->kind != GRAPH_OUTPUT || !shardings->nodes[output->node])
            continue;
        for (uint32_t node = 0; node < graph->nnodes; node++)
            if (is_cotangent(&graph->nodes[node], output->name))
                shardings->nodes[node] = shardings->nodes[output->node];
    }
}

int model_shardings_init(struct model_shardings *out, const struct graph *graph)
{
    memset(out, 0, sizeof *out);
    out->storage = calloc((size_t)graph->nnodes + 1, sizeof *out->storage);
    out->nodes = calloc((size_t)graph->nnodes + 1, sizeof *out->nodes);
    out->outputs = calloc((size_t)graph->noutputs + 1, sizeof *out->outputs);
    out->rules = calloc((size_t)graph->nnodes + 1, sizeof *out->rules);
    out->stored = calloc((size_t)graph->nnodes + 1, sizeof *out->stored);
    return out->storage && out->nodes && out->outputs && out->rules && out->stored ? SHD_OK
                                                                                   : SHD_ENOMEM;
}

/* Resolve all requests.  `multiples` NULL: every sharded dimension must divide. */
static int bind_all(struct model_shardings *out, int64_t *multiples, const struct graph *graph,
                    const struct shd_mesh *mesh, const struct scenario *scenario, struct diag *diag)
{
    struct binding b = {graph, mesh, scenario, out, diag, 0, 0, multiples};
    struct match params = MATCH_INIT, constraints = MATCH_INIT;
    size_t before = diag->nerrors;
    int status = model_shardings_init(out, graph);

    if (status != SHD_OK)
        diag_no_memory(diag);
    if (status == SHD_OK)
        status = match_init(&params, scenario->params, scenario->nparams, diag);
    if (status == SHD_OK)
        status = match_init(&constraints, scenario->constraints, scenario->nconstraints, diag);
    if (status == SHD_OK)
        status = bind_nodes(&b, &params, &constraints);
    if (status == SHD_OK) {
        model_shardings_bind_outputs(out, graph);
        report_unused(&b, &params, true);
        report_unused(&b, &constraints, false);
        report_unknown_logical(&b);
        if (diag->nerrors > before)
            status = diag_status(diag, before);
        if (status == SHD_EINVAL && diag->nerrors - before == b.nindivisible)
            status = SHD_EINDIVISIBLE;
    }
    match_fini(&params);
    match_fini(&constraints);
    if (status != SHD_OK)
        model_shardings_fini(out);
    return status;
}

int model_shardings(struct model_shardings *out, const struct graph *graph,
                    const struct shd_mesh *mesh, const struct scenario *scenario, struct diag *diag)
{
    return bind_all(out, NULL, graph, mesh, scenario, diag);
}

int model_shardings_asked(struct model_shardings *out, const struct graph *graph,
                          const struct shd_mesh *mesh, const struct scenario *scenario,
                          struct diag *diag)
{
    int64_t *multiples = malloc(((size_t)graph->ndims + 1) * sizeof *multiples);
    int status;

    if (!multiples) {
        diag_no_memory(diag);
        return SHD_ENOMEM;
    }
    for (uint32_t d = 0; d < graph->ndims; d++)
        multiples[d] = 1;
    status = bind_all(out, multiples, graph, mesh, scenario, diag);
    free(multiples);
    return status;
}

/* The multiple that each dimension must have, and the padded sizes that follow. */
static int find_sizes(int64_t *sizes, int64_t *multiples, const struct graph *graph,
                      const struct shd_mesh *mesh, const struct scenario *scenario,
                      struct diag *diag)
{
    struct model_shardings asked;
    struct shd_error err;
    int status;

    for (uint32_t d = 0; d < graph->ndims; d++)
        multiples[d] = 1;
    status = bind_all(&asked, multiples, graph, mesh, scenario, diag);
    if (status != SHD_OK)
        return status;
    model_shardings_fini(&asked);
    status = graph_padded_sizes(sizes, graph, multiples, &err);
    if (status != SHD_OK)
        diag_failure(diag, scenario_place(scenario, "uneven"), status, "%s", err.text);
    return status;
}

int model_pad(struct graph **out, const struct graph *graph, const struct shd_mesh *mesh,
              const struct scenario *scenario, struct diag *diag)
{
    int64_t *sizes = malloc(2 * ((size_t)graph->ndims + 1) * sizeof *sizes);
    struct shd_error err;
    bool longer = false;
    int status = SHD_OK;

    *out = NULL;
    if (!sizes) {
        diag_no_memory(diag);
        return SHD_ENOMEM;
    }
    status = find_sizes(sizes, sizes + graph->ndims, graph, mesh, scenario, diag);
    for (uint32_t d = 0; d < graph->ndims && status == SHD_OK; d++)
        longer = longer || sizes[d] > graph->dims[d].size;
    if (longer) {
        status = graph_pad(out, graph, sizes, &err);
        if (status != SHD_OK)
            diag_failure(diag, scenario_place(scenario, "uneven"), status, "%s", err.text);
    }
    free(sizes);
    return status;
}

void model_shardings_fini(struct model_shardings *shardings)
{
    free(shardings->storage);
    free(shardings->nodes);
    free(shardings->outputs);
    free(shardings->rules);
    free(shardings->stored);
    memset(shardings, 0, sizeof *shardings);
}
