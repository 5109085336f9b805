/* What a scenario asks of the arrays of its graph.
 *
 * Parameters follow the rules, the first whose pattern is found in the name; inputs follow the
 * logical axes of their dimensions; constraints are asked for at the places of that name, and the
 * cotangent lies as the result does.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/regex.h>

#include <stdlib.h>
#include <string.h>

#include "model/model.h"

struct binding {
    const struct graph *graph;
    const struct shd_mesh *mesh;
    const struct scenario *scenario;
    struct model_shardings *out;
    struct diag *diag;
};

struct rule_set {
    const struct scenario_rule *rules;
    size_t nrules;
    struct shd_regex **compiled;
    bool *used; /* found in some name, first or not */
};

static int compile_rules(struct rule_set *set, struct diag *diag)
{
    set->compiled = calloc(set->nrules + 1, sizeof *set->compiled);
    set->used = calloc(set->nrules + 1, sizeof *set->used);
    if (!set->compiled || !set->used)
        return SHD_ENOMEM;
    for (size_t r = 0; r < set->nrules; r++) {
        struct shd_error err;
        int status = shd_regex_compile(&set->compiled[r], set->rules[r].pattern, &err);

        if (status == SHD_OK)
            continue;
        diag_error(diag, set->rules[r].place, "%s", err.text);
        return status;
    }
    return SHD_OK;
}

static void free_rules(struct rule_set *set)
{
    for (size_t r = 0; set->compiled && r < set->nrules; r++)
        shd_regex_destroy(set->compiled[r]);
    free(set->compiled);
    free(set->used);
}

/* The first rule whose pattern is found in a name; marks all that are. */
static const struct scenario_rule *match(struct rule_set *set, const char *name)
{
    const struct scenario_rule *first = NULL;

    for (size_t r = 0; r < set->nrules; r++) {
        struct shd_regex_match found;

        if (shd_regex_search(&found, set->compiled[r], name, NULL) != SHD_OK || !found.found)
            continue;
        set->used[r] = true;
        if (!first)
            first = &set->rules[r];
    }
    return first;
}

static int bind_rule(struct binding *b, uint32_t node, const struct scenario_rule *rule)
{
    const struct graph_node *n = &b->graph->nodes[node];
    int64_t shape[GRAPH_RANK_MAX];
    struct shd_error err;
    int status;

    graph_shape(b->graph, node, shape);
    status = shd_sharding_bind(&b->out->storage[node], b->mesh, rule->spec, n->rank, &err);
    if (status == SHD_OK)
        status = shd_sharding_check(&b->out->storage[node], shape, &err);
    if (status == SHD_OK)
        b->out->nodes[node] = &b->out->storage[node];
    else
        diag_error(b->diag, rule->spec_place, "'%s': %s", n->name, err.text);
    return status;
}

/* Inputs: every dimension by its logical axis; an axis taken by an earlier one is left out. */
static void bind_logical(struct binding *b, uint32_t node)
{
    const struct graph_node *n = &b->graph->nodes[node];
    struct shd_sharding *s = &b->out->storage[node];
    int64_t shape[GRAPH_RANK_MAX];
    struct shd_error err;

    shd_sharding_init(s, b->mesh, n->rank);
    graph_shape(b->graph, node, shape);
    for (uint32_t d = 0; d < n->rank; d++) {
        const struct scenario_logical *l =
            scenario_find_logical(b->scenario, b->graph->dims[n->dims[d]].name);

        for (size_t a = 0; l && a < l->naxes; a++) {
            int axis = shd_mesh_find_axis(b->mesh, l->axes[a]);

            if (axis >= 0 && !(shd_sharding_axes(s) >> axis & 1))
                s->dims[d].axes[s->dims[d].naxes++] = (uint8_t)axis;
        }
        if (l && shd_sharding_check(s, shape, &err) != SHD_OK)
            diag_error(b->diag, l->place, "'%s': %s", n->name, err.text);
    }
    b->out->nodes[node] = s;
}

static void bind_nodes(struct binding *b, struct rule_set *params, struct rule_set *constraints)
{
    for (uint32_t node = 0; node < b->graph->nnodes; node++) {
        const struct graph_node *n = &b->graph->nodes[node];
        const struct scenario_rule *rule = NULL;

        if (n->op == GRAPH_PARAM) {
            rule = match(params, n->name);
            if (!rule)
                diag_error(b->diag, scenario_place(b->scenario, "params"),
                           "no rule matches parameter '%s'; end the list with [.*, []] to replicate "
                           "what is left",
                           n->name);
        } else if (n->op == GRAPH_CONSTRAINT || n->op == GRAPH_INPUT) {
            rule = match(constraints, n->name);
        }
        if (rule)
            (void)bind_rule(b, node, rule); /* reported to diag */
        else if (n->op == GRAPH_INPUT)
            bind_logical(b, node);
    }
}

static void report_unused(const struct rule_set *set, const char *what, const char *of,
                          struct diag *diag)
{
    for (size_t r = 0; r < set->nrules; r++)
        if (!set->used[r])
            diag_error(diag, set->rules[r].place, "%s '%s' matches no %s of this model", what,
                       set->rules[r].pattern, of);
}

static void report_unknown_logical(const struct binding *b)
{
    for (size_t l = 0; l < b->scenario->nlogical; l++)
        if (graph_find_dim(b->graph, b->scenario->logical[l].name) == GRAPH_NONE)
            diag_error(b->diag, b->scenario->logical[l].place,
                       "this model has no logical axis '%s'", b->scenario->logical[l].name);
}

/* Whether a node is the input that the loss multiplies an output of this name with. */
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
    return out->storage && out->nodes && out->outputs ? SHD_OK : SHD_ENOMEM;
}

int model_shardings(struct model_shardings *out, const struct graph *graph,
                    const struct shd_mesh *mesh, const struct scenario *scenario, struct diag *diag)
{
    struct binding b = {graph, mesh, scenario, out, diag};
    struct rule_set params = {scenario->params, scenario->nparams, NULL, NULL};
    struct rule_set constraints = {scenario->constraints, scenario->nconstraints, NULL, NULL};
    size_t before = diag->nerrors;
    int status = model_shardings_init(out, graph);

    if (status == SHD_OK)
        status = compile_rules(&params, diag);
    if (status == SHD_OK)
        status = compile_rules(&constraints, diag);
    if (status == SHD_OK) {
        bind_nodes(&b, &params, &constraints);
        model_shardings_bind_outputs(out, graph);
        report_unused(&params, "rule", "parameter", diag);
        report_unused(&constraints, "constraint", "value", diag);
        report_unknown_logical(&b);
        if (diag->nerrors > before)
            status = SHD_EINVAL;
    }
    free_rules(&params);
    free_rules(&constraints);
    if (status != SHD_OK)
        model_shardings_fini(out);
    return status;
}

void model_shardings_fini(struct model_shardings *shardings)
{
    free(shardings->storage);
    free(shardings->nodes);
    free(shardings->outputs);
    memset(shardings, 0, sizeof *shardings);
}
