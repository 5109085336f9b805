/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "model/matrices.h"

#include <stdlib.h>
#include <string.h>

#include "model/rule_match.h"

/* ---- which parameters are matrices ---- */

/* Take the dimensions that a pattern of optimizer.apart names from the sides of a matrix. */
static int take_apart(struct optimizer_matrix *m, const struct graph *graph, uint32_t param,
                      struct match *apart, struct diag *diag)
{
    const struct graph_node *n = &graph->nodes[param];
    int status = SHD_OK;

    for (uint32_t d = 0; d < n->rank && status == SHD_OK; d++) {
        const struct scenario_rule *rule = NULL;

        if (!((m->in | m->out) >> d & 1))
            continue;
        status = match_find(&rule, apart, graph->dims[n->dims[d]].name, diag);
        if (!rule)
            continue;
        m->in &= (uint16_t) ~(1u << d);
        m->out &= (uint16_t) ~(1u << d);
        if (m->in && m->out)
            continue;
        diag_error(diag, rule->place,
                   "'%s' takes all dimensions of a side from '%s'; expected a dimension beside "
                   "others, or a narrower optimizer.for",
                   rule->pattern, n->name);
        return SHD_EINVAL;
    }
    return status;
}

static int take_all_apart(struct optimizer_matrix *out, const struct graph *graph,
                          const struct scenario *scenario, struct diag *diag)
{
    const struct scenario_patterns *list = &scenario->optimizer.apart;
    struct match apart = MATCH_INIT;
    int status = match_init(&apart, list->list, list->n, diag);

    for (uint32_t n = 0; n < graph->nnodes && status == SHD_OK; n++)
        if (out[n].in)
            status = take_apart(&out[n], graph, n, &apart, diag);
    for (size_t r = 0; r < list->n && status == SHD_OK; r++)
        if (!apart.found[r]) {
            diag_error(diag, list->list[r].place, "'%s' matches no dimension of a matrix",
                       list->list[r].pattern);
            status = SHD_EINVAL;
        }
    match_fini(&apart);
    return status;
}

/* Whether a spec shards one of the dimensions that number matrices over an axis. */
static bool numbers(const struct shd_spec *spec, const struct optimizer_matrix *m, const char *axis)
{
    for (size_t d = 0; spec && d < shd_spec_nentries(spec); d++)
        for (size_t a = 0; a < shd_spec_naxes(spec, d); a++)
            if (!((m->in | m->out) >> d & 1) && !strcmp(shd_spec_axis(spec, d, a), axis))
                return true;
    return false;
}

/* Set how many places share out matrices: the homes that do not number them. */
static int set_homes(struct optimizer_matrix *out, const struct graph *graph,
                     const struct scenario *scenario, struct diag *diag)
{
    const struct scenario_axis_list *homes = &scenario->optimizer.homes;
    struct match params = MATCH_INIT;
    int status = match_init(&params, scenario->params, scenario->nparams, diag);

    for (uint32_t n = 0; n < graph->nnodes && status == SHD_OK; n++) {
        const struct scenario_rule *rule = NULL;

        if (!out[n].in)
            continue;
        status = match_find(&rule, &params, graph->nodes[n].name, diag);
        out[n].homes = 1;
        for (size_t a = 0; a < homes->n; a++)
            if (!numbers(rule ? rule->spec : NULL, &out[n], homes->names[a]))
                out[n].homes *= (uint32_t)scenario_axis_size(scenario, homes->names[a]);
    }
    match_fini(&params);
    return status;
}

/* Set found[n] of matrices that optimizer.for matches.  Its default has no place of its own. */
static int choose(bool *found, const bool *may, const struct graph *graph,
                  const struct scenario *scenario, struct diag *diag)
{
    struct scenario_patterns list = scenario->optimizer.matrices;
    struct scenario_rule standard;

    if (!memchr(may, true, graph->nnodes)) {
        diag_error(diag, scenario_place(scenario, "optimizer.kind"),
                   "this model has no matrix for muon to learn; expected optimizer.kind adamw or "
                   "sgd");
        return SHD_EINVAL;
    }
    if (list.n == 1 && !list.list[0].place.file) {
        standard = list.list[0];
        standard.place = scenario_place(scenario, "optimizer.kind");
        list.list = &standard;
    }
    return match_nodes(found, graph, may, &list, "matrix", diag) ? SHD_OK : SHD_EINVAL;
}

int matrices_find(struct optimizer_matrix *out, const struct graph *graph,
                  const struct scenario *scenario, struct diag *diag)
{
    bool *may = calloc(2 * ((size_t)graph->nnodes + 1), sizeof *may);
    bool *found = may + graph->nnodes + 1;
    int status;

    if (!may) {
        diag_no_memory(diag);
        return SHD_ENOMEM;
    }
    optimizer_find_matrices(out, graph);
    for (uint32_t n = 0; n < graph->nnodes; n++)
        may[n] = out[n].in && !graph->nodes[n].frozen;
    status = choose(found, may, graph, scenario, diag);
    for (uint32_t n = 0; n < graph->nnodes; n++)
        if (!found[n])
            out[n] = (struct optimizer_matrix){.in = 0};
    free(may);
    if (status == SHD_OK)
        status = take_all_apart(out, graph, scenario, diag);
    if (status == SHD_OK && scenario->optimizer.layout == SCENARIO_OWNED)
        status = set_homes(out, graph, scenario, diag);
    return status;
}

/* ---- where they are computed ---- */

/* Shard the longer side over axes, as far as they divide one of its dimensions: the longest one. */
static void shard_longer(struct shd_sharding *s, const int64_t *shape, uint16_t longer,
                         const struct shd_dim_axes *axes)
{
    for (uint8_t a = 0; a < axes->naxes; a++) {
        int64_t size = shd_mesh_axis_size(s->mesh, axes->axes[a]), local[SHD_RANK_MAX];
        int best = -1;

        shd_sharding_shard_shape(s, shape, local);
        for (uint32_t d = 0; d < s->rank; d++)
            if (longer >> d & 1 && local[d] % size == 0 && local[d] > 0 &&
                (best < 0 || local[d] > local[best]))
                best = (int)d;
        if (best >= 0)
            s->dims[best].axes[s->dims[best].naxes++] = axes->axes[a];
    }
}

/* Take the axes of a matrix's sides, and of a flat cut, from a sharding. */
static struct shd_dim_axes take_sides(struct shd_sharding *s, uint16_t sides)
{
    struct shd_dim_axes taken = s->flat;

    s->flat = (struct shd_dim_axes){.naxes = 0};
    s->flat_dims = 0;
    for (uint32_t d = 0; d < s->rank; d++) {
        if (!(sides >> d & 1))
            continue;
        for (uint8_t a = 0; a < s->dims[d].naxes; a++)
            taken.axes[taken.naxes++] = s->dims[d].axes[a];
        s->dims[d] = (struct shd_dim_axes){.naxes = 0};
    }
    return taken;
}

/* The sharding of a stack of matrices that are sharded so, of rank `rank`: a side is sharded as its
 * first dimension is. */
static void stack(struct shd_sharding *out, const struct shd_sharding *of, uint32_t rank,
                  uint16_t shorter, uint16_t longer)
{
    uint32_t number = 1;

    shd_sharding_init(out, of->mesh, rank);
    for (uint32_t d = of->rank; d-- > 0;)
        if ((shorter | longer) >> d & 1)
            out->dims[shorter >> d & 1 ? rank - 2 : rank - 1] = of->dims[d];
    for (uint32_t d = 0; d < of->rank; d++)
        if (!((shorter | longer) >> d & 1))
            out->dims[number++] = of->dims[d];
}

static void add_home(struct shd_sharding *s, uint8_t axis)
{
    if (!(shd_sharding_axes(s) >> axis & 1))
        s->dims[0].axes[s->dims[0].naxes++] = axis;
}

/* Shard a stack over its homes: first those that shard the matrices, in their order there, so that
 * one all-to-all brings about what one dimension of the matrices is sharded over. */
static void shard_homes(struct shd_sharding *s, const struct shd_dim_axes *first,
                        const struct scenario *scenario)
{
    const struct scenario_axis_list *homes = &scenario->optimizer.homes;

    for (uint8_t a = 0; a < first->naxes; a++)
        if (scenario_has_axis(homes, shd_mesh_axis_name(s->mesh, first->axes[a])))
            add_home(s, first->axes[a]);
    for (size_t a = 0; a < homes->n; a++)
        add_home(s, (uint8_t)shd_mesh_find_axis(s->mesh, homes->names[a]));
}

void matrices_place(struct shd_sharding *out, const struct graph *graph, uint32_t node,
                    const struct shd_sharding *state, const struct shd_sharding *asked,
                    const struct scenario *scenario)
{
    const struct graph_node *n = &graph->nodes[node];
    uint16_t shorter = n->attr.constraint.shorter, longer = n->attr.constraint.longer;
    struct shd_sharding whole = *asked;
    struct shd_dim_axes taken;
    int64_t shape[GRAPH_RANK_MAX];

    *out = *state;
    taken = take_sides(out, shorter | longer);
    if (n->attr.constraint.place == GRAPH_HOME) {
        (void)take_sides(&whole, shorter | longer);
        stack(out, &whole, n->rank, shorter, longer);
        shard_homes(out, &taken, scenario);
        return;
    }
    if (n->attr.constraint.place == GRAPH_BACK) {
        stack(out, state, n->rank, shorter, longer);
        return;
    }
    graph_shape(graph, node, shape);
    if (scenario->optimizer.layout == SCENARIO_DISTRIBUTED)
        shard_longer(out, shape, longer, &taken);
}
