/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/choose.h"

#include <stdlib.h>
#include <string.h>

#define VERSIONS_MAX 64   /* shardings of one value at a time; more are not looked at */
#define OPTIONS_MAX 6     /* places for one axis in one op */
#define ORDERS_MAX 4      /* orders of axes inside tuples */
#define COMBINATIONS_MAX 4096
#define SWEEPS_MAX 8

/* ---- the cost of a state ---- */

/* The same sharding without axes of size 1, which mean nothing. */
static struct shd_sharding significant(const struct shd_sharding *s)
{
    struct shd_sharding out;

    shd_sharding_init(&out, s->mesh, s->rank);
    for (uint32_t d = 0; d < s->rank; d++)
        for (uint8_t a = 0; a < s->dims[d].naxes; a++)
            if (shd_mesh_axis_size(s->mesh, s->dims[d].axes[a]) > 1)
                out.dims[d].axes[out.dims[d].naxes++] = s->dims[d].axes[a];
    return out;
}

uint32_t choose_output_need(struct choose *choose, uint32_t output)
{
    const struct shd_sharding *asked = NULL;
    struct shd_sharding whole;
    uint32_t node = choose->graph->outputs[output].node;

    if (choose->request->outputs)
        asked = choose->request->outputs[output];
    if (asked) {
        whole = significant(asked);
        return price_number(choose->price, &whole);
    }
    whole = *price_sharding(choose->price, choose->nodes[node].home);
    whole.partial = 0;
    whole.partial_op = 0;
    return price_number(choose->price, &whole);
}

struct versions {
    uint32_t count;
    uint32_t numbers[VERSIONS_MAX];
};

/* Bring one more version about; returns what that costs. */
static double bring(struct choose *c, uint32_t node, struct versions *v, uint32_t need)
{
    double best = PRICE_IMPOSSIBLE;

    for (uint32_t i = 0; i < v->count; i++) {
        double cost = price_reshard(c->price, node, v->numbers[i], need);

        if (cost == 0)
            return 0;
        if (cost < best)
            best = cost;
    }
    if (v->count < VERSIONS_MAX)
        v->numbers[v->count++] = need;
    return best;
}

static double value_cost(struct choose *c, uint32_t node)
{
    const struct choose_node *n = &c->nodes[node];
    struct versions v = {1, {n->home}};
    double cost = 0;

    if (n->home == CHOOSE_UNKNOWN)
        return 0;
    for (uint32_t o = n->output; o < c->graph->noutputs; o++)
        if (c->graph->outputs[o].node == node)
            cost += bring(c, node, &v, choose_output_need(c, o));
    for (uint32_t r = 0; r < n->nreaders; r++) {
        uint32_t need = c->nodes[n->readers[r].node].needs[n->readers[r].operand];

        if (need != CHOOSE_UNKNOWN)
            cost += bring(c, node, &v, need);
    }
    return cost;
}

static double local_elements(const struct graph_node *array, const int8_t *factors,
                             const int64_t *extents)
{
    return (double)rule_product(factors, extents, 0, array->rank);
}

/* Flops and bytes touched, by all devices, in bytes received that take as long.  What counts is
 * how often work is done twice, so the loop's extents will do for every kernel. */
static double work_cost(const struct choose *c, uint32_t node)
{
    const struct graph_node *g = &c->graph->nodes[node];
    const struct choose_node *n = &c->nodes[node];
    const struct assigned a = {c->graph, node, &n->rule, &n->assign, c->mesh};
    int64_t extents[RULE_FACTORS_MAX];
    double flops = g->op == GRAPH_EINSUM ? 2 : 1, touched;

    if (!n->works)
        return 0;
    assign_extents(extents, &a);
    touched = local_elements(g, n->rule.result[0], extents);
    for (uint32_t k = 0; k < g->ninputs; k++)
        touched += local_elements(&c->graph->nodes[g->inputs[k]], n->rule.operand[k], extents);
    for (uint32_t f = 0; f < n->rule.nfactors; f++)
        if (n->rule.factors[f].follows == RULE_FREE)
            flops *= (double)extents[f];
    return (double)shd_mesh_size(c->mesh) *
           (flops / PRICE_FLOPS_PER_BYTE +
            touched * (double)shd_dtype_size(g->dtype) / PRICE_LOCAL_PER_BYTE);
}

/* All that changes when the assignment of `node` does. */
static double near_cost(struct choose *c, uint32_t node)
{
    const struct graph_node *g = &c->graph->nodes[node];
    double cost = value_cost(c, node) + work_cost(c, node);

    for (uint32_t x = 0; x < g->nextras; x++)
        cost += value_cost(c, g->extras[x]);
    for (uint32_t k = 0; k < g->ninputs; k++) {
        bool seen = false;

        for (uint32_t j = 0; j < k; j++)
            seen |= g->inputs[j] == g->inputs[k];
        if (!seen)
            cost += value_cost(c, g->inputs[k]);
    }
    return cost;
}

double choose_total(struct choose *choose)
{
    double cost = 0;

    for (uint32_t n = 0; n < choose->graph->nnodes; n++)
        if (choose->nodes[n].live)
            cost += value_cost(choose, n) + work_cost(choose, n);
    return cost;
}

/* ---- candidates ---- */

struct candidates {
    uint32_t brought; /* bit a: axis a cuts an operand where it lies */
    uint32_t noptions[SHD_MESH_AXES_MAX];
    int8_t options[SHD_MESH_AXES_MAX][OPTIONS_MAX];
    uint8_t linear_operand;
    uint32_t norders;
    uint8_t orders[ORDERS_MAX][SHD_MESH_AXES_MAX];
};

/* Option 0 of every axis is ASSIGN_NONE. */
static void add_option(struct candidates *cs, size_t axis, int place)
{
    for (uint32_t i = 0; i < cs->noptions[axis]; i++)
        if (cs->options[axis][i] == place)
            return;
    if (cs->noptions[axis] < OPTIONS_MAX)
        cs->options[axis][cs->noptions[axis]++] = (int8_t)place;
}

/* The mesh's order, changed as little as makes the tuples of one sharding come in theirs. */
static void add_order(struct candidates *cs, const struct shd_sharding *s)
{
    uint8_t order[SHD_MESH_AXES_MAX];

    memcpy(order, cs->orders[0], sizeof order);
    for (uint32_t d = 0; d < s->rank; d++) {
        const struct shd_dim_axes *t = &s->dims[d];
        uint8_t next = 0;

        for (int i = 0; i < SHD_MESH_AXES_MAX && next < t->naxes; i++)
            if (memchr(t->axes, order[i], t->naxes))
                order[i] = t->axes[next++];
    }
    for (uint32_t o = 0; o < cs->norders; o++)
        if (!memcmp(cs->orders[o], order, sizeof order))
            return;
    if (cs->norders < ORDERS_MAX)
        memcpy(cs->orders[cs->norders++], order, sizeof order);
}

/* Take the places that a neighbouring sharding of an array has for its axes; `factors` are the
 * op's for the dimensions of that array. */
static void add_neighbour(const struct choose *c, struct candidates *cs, uint32_t node,
                          const int8_t *factors, uint32_t number)
{
    const struct rule *rule = &c->nodes[node].rule;
    const struct shd_sharding *s;
    bool tuple = false;

    if (number == CHOOSE_UNKNOWN)
        return;
    s = price_sharding(c->price, number);
    for (uint32_t d = 0; d < s->rank; d++) {
        const struct rule_factor *f = &rule->factors[factors[d]];

        for (uint8_t a = 0; a < s->dims[d].naxes && !f->whole; a++)
            add_option(cs, s->dims[d].axes[a], f->follows == RULE_FREE ? factors[d] : f->follows);
        tuple |= s->dims[d].naxes > 1;
    }
    if (tuple)
        add_order(cs, s);
}

static void add_partial(const struct choose *c, struct candidates *cs, uint32_t node, uint32_t k)
{
    const struct graph_node *g = &c->graph->nodes[node];
    uint32_t home = c->nodes[g->inputs[k]].home;
    const struct shd_sharding *s = price_sharding(c->price, home);

    if (!s->partial || s->partial_op != SHD_SUM || !assign_linear(g, k))
        return;
    for (size_t a = 0; a < shd_mesh_naxes(c->mesh); a++)
        if (s->partial >> a & 1)
            add_option(cs, a, ASSIGN_PARTIAL);
    cs->linear_operand = (uint8_t)k;
}

/* What is asked of one of the op's results. */
static void add_asked(struct choose *c, struct candidates *cs, uint32_t node, uint32_t r)
{
    const struct choose_node *result = &c->nodes[assign_result_node(c->graph, node, r)];
    const int8_t *factors = c->nodes[node].rule.result[r];

    if (result->output != GRAPH_NONE && c->request->outputs &&
        c->request->outputs[result->output])
        add_neighbour(c, cs, node, factors, choose_output_need(c, result->output));
    for (uint32_t i = 0; i < result->nreaders; i++)
        add_neighbour(c, cs, node, factors,
                      c->nodes[result->readers[i].node].needs[result->readers[i].operand]);
}

static void find_candidates(struct choose *c, uint32_t node, struct candidates *cs)
{
    const struct graph_node *g = &c->graph->nodes[node];
    const struct choose_node *n = &c->nodes[node];

    memset(cs, 0, sizeof *cs);
    for (int a = 0; a < SHD_MESH_AXES_MAX; a++) {
        cs->orders[0][a] = (uint8_t)a;
        add_option(cs, (size_t)a, ASSIGN_NONE);
    }
    cs->norders = 1;
    for (uint32_t k = 0; k < g->ninputs; k++)
        add_neighbour(c, cs, node, n->rule.operand[k], c->nodes[g->inputs[k]].home);
    for (uint32_t a = 0; a < SHD_MESH_AXES_MAX; a++)
        if (cs->noptions[a] > 1)
            cs->brought |= 1u << a;
    for (uint32_t r = 0; r < n->rule.nresults; r++)
        add_asked(c, cs, node, r);
    for (uint32_t k = 0; k < g->ninputs; k++) {
        const struct choose_node *in = &c->nodes[g->inputs[k]];

        for (uint32_t r = 0; r < in->nreaders; r++)
            add_neighbour(c, cs, node, n->rule.operand[k],
                          c->nodes[in->readers[r].node].needs[in->readers[r].operand]);
        add_partial(c, cs, node, k);
    }
}

/* ---- the search ---- */

/* Make the shardings of a node, and of its extras, follow its assignment. */
static void settle(struct choose *c, uint32_t node)
{
    struct choose_node *n = &c->nodes[node];
    const struct assigned a = {c->graph, node, &n->rule, &n->assign, c->mesh};
    struct shd_sharding s;

    for (uint32_t k = 0; k < c->graph->nodes[node].ninputs; k++) {
        assign_operand(&s, &a, k);
        n->needs[k] = price_number(c->price, &s);
    }
    for (uint32_t r = 0; r < n->rule.nresults; r++) {
        assign_result(&s, &a, r);
        c->nodes[assign_result_node(c->graph, node, r)].home = price_number(c->price, &s);
    }
}

bool choose_place(struct choose *choose, uint32_t node, const struct assign *assign)
{
    struct choose_node *n = &choose->nodes[node];
    const struct assigned assigned = {choose->graph, node, &n->rule, assign, choose->mesh};

    if (!assign_valid(&assigned))
        return false;
    n->assign = *assign;
    settle(choose, node);
    return true;
}

struct best {
    bool found;
    double cost;
    struct assign assign;
};

static void consider(struct choose *c, uint32_t node, const struct assign *a, struct best *best)
{
    struct choose_node *n = &c->nodes[node];
    const struct assigned assigned = {c->graph, node, &n->rule, a, c->mesh};
    double cost;

    if (!assign_valid(&assigned))
        return;
    n->assign = *a;
    settle(c, node);
    cost = near_cost(c, node);
    if (best->found && cost >= best->cost)
        return;
    *best = (struct best){true, cost, *a};
}

static uint32_t first_digit(uint32_t axis, uint32_t busy)
{
    return busy >> axis & 1;
}

/* Try every combination of the axes' options, in every order of axes; axes in `busy` must cut
 * something. */
static void consider_all(struct choose *c, uint32_t node, const struct candidates *cs, uint32_t busy,
                         struct best *best)
{
    uint32_t digits[SHD_MESH_AXES_MAX], naxes = (uint32_t)shd_mesh_naxes(c->mesh), a;
    struct assign assign;

    for (a = 0; a < naxes; a++)
        digits[a] = first_digit(a, busy);
    for (uint32_t tried = 0; tried < COMBINATIONS_MAX; tried++) {
        assign_init(&assign);
        assign.linear_operand = cs->linear_operand;
        for (a = 0; a < naxes; a++)
            assign.place[a] = cs->options[a][digits[a]];
        for (uint32_t o = 0; o < cs->norders; o++) {
            memcpy(assign.order, cs->orders[o], sizeof assign.order);
            consider(c, node, &assign, best);
        }
        for (a = 0; a < naxes && ++digits[a] == cs->noptions[a]; a++)
            digits[a] = first_digit(a, busy);
        if (a == naxes)
            break;
    }
}

/* Whether an assignment lets all axes in `busy` cut something. */
static bool keeps_busy(const struct assign *assign, uint32_t busy, size_t naxes)
{
    for (size_t a = 0; a < naxes; a++)
        if (busy >> a & 1 && assign->place[a] == ASSIGN_NONE)
            return false;
    return true;
}

/* Give a node its best assignment as things stand, the one it has unless another is better; true
 * when that changed its shardings.
 *
 * Devices among which an operand is cut share the work: to gather it and compute everything
 * everywhere may move less, but is not what a cluster is for.  Only where they cannot, they repeat
 * it. */
static bool improve(struct choose *c, uint32_t node)
{
    struct choose_node *n = &c->nodes[node];
    struct best best = {.found = false};
    struct choose_node before = *n;
    struct candidates cs;
    uint32_t busy;

    find_candidates(c, node, &cs);
    busy = n->works ? cs.brought : 0;
    if (before.home != CHOOSE_UNKNOWN && keeps_busy(&n->assign, busy, shd_mesh_naxes(c->mesh)))
        best = (struct best){true, near_cost(c, node), n->assign};
    consider_all(c, node, &cs, busy, &best);
    if (!best.found)
        consider_all(c, node, &cs, 0, &best);
    n->assign = best.assign;
    settle(c, node);
    return n->home != before.home || memcmp(n->needs, before.needs, sizeof n->needs) != 0;
}

static bool free_to_choose(const struct choose *c, uint32_t node)
{
    return c->nodes[node].live && !c->nodes[node].fixed &&
           rule_of(c->graph->nodes[node].op) != NULL;
}

/* Revisit all nodes, backwards and forwards in turn, as long as something changes. */
static void sweep(struct choose *c)
{
    uint32_t nnodes = c->graph->nnodes;

    for (int n = 0; n < SWEEPS_MAX; n++) {
        bool changed = false;

        for (uint32_t i = 0; i < nnodes; i++) {
            uint32_t node = n % 2 ? i : nnodes - 1 - i;

            if (free_to_choose(c, node))
                changed |= improve(c, node);
        }
        if (!changed)
            break;
    }
}

/* The assignment that a constraint's home amounts to. */
static void assign_home(struct choose *c, uint32_t node)
{
    struct choose_node *n = &c->nodes[node];
    const struct shd_sharding *s = price_sharding(c->price, n->home);

    for (uint32_t d = 0; d < s->rank; d++)
        for (uint8_t a = 0; a < s->dims[d].naxes; a++)
            n->assign.place[s->dims[d].axes[a]] = n->rule.result[0][d];
}

/* A constraint says where the value lies.  Its gradient starts there too, a good guess, but may move:
 * what a forward gather brought together, the backward step can scatter. */
static void free_gradients(struct choose *c)
{
    for (uint32_t node = 0; node < c->graph->nnodes; node++) {
        struct choose_node *n = &c->nodes[node];

        if (!n->live || !n->fixed || c->graph->nodes[node].op != GRAPH_CONSTRAINT ||
            c->graph->nodes[node].phase != GRAPH_BACKWARD)
            continue;
        assign_home(c, node);
        n->fixed = false;
    }
}

static void search(struct choose *c)
{
    for (uint32_t node = 0; node < c->graph->nnodes; node++)
        if (free_to_choose(c, node))
            improve(c, node);
    sweep(c);
    free_gradients(c);
    sweep(c);
}

/* ---- setting up ---- */

static void mark_live(struct choose *c)
{
    for (uint32_t o = 0; o < c->graph->noutputs; o++)
        c->nodes[c->graph->outputs[o].node].live = true;
    for (uint32_t node = c->graph->nnodes; node-- > 0;)
        for (uint32_t k = 0; c->nodes[node].live && k < c->graph->nodes[node].ninputs; k++)
            c->nodes[c->graph->nodes[node].inputs[k]].live = true;
}

/* Extras come with the op that is their operand and read nothing of it. */
static bool reads(const struct choose *c, uint32_t node)
{
    return c->nodes[node].live && c->graph->nodes[node].op != GRAPH_EXTRA;
}

static int list_readers(struct choose *c, struct shd_error *err)
{
    const struct graph *g = c->graph;
    size_t total = 0;

    for (uint32_t node = 0; node < g->nnodes; node++)
        total += g->nodes[node].ninputs;
    c->readers = malloc((total + 1) * sizeof *c->readers);
    if (!c->readers)
        return shd_error_set(err, SHD_ENOMEM, "no memory to partition %u ops", g->nnodes);
    for (uint32_t node = 0; node < g->nnodes; node++)
        for (uint32_t k = 0; reads(c, node) && k < g->nodes[node].ninputs; k++)
            c->nodes[g->nodes[node].inputs[k]].nreaders++;
    total = 0;
    for (uint32_t node = 0; node < g->nnodes; node++) {
        c->nodes[node].readers = c->readers + total;
        total += c->nodes[node].nreaders;
        c->nodes[node].nreaders = 0;
    }
    for (uint32_t node = 0; node < g->nnodes; node++)
        for (uint32_t k = 0; reads(c, node) && k < g->nodes[node].ninputs; k++) {
            struct choose_node *in = &c->nodes[g->nodes[node].inputs[k]];

            in->readers[in->nreaders++] = (struct choose_reader){node, k};
        }
    return SHD_OK;
}

/* Leaves and constraints: what was asked for, where something was. */
static int set_fixed(struct choose *c, uint32_t node, struct shd_error *err)
{
    const struct graph_node *g = &c->graph->nodes[node];
    struct choose_node *n = &c->nodes[node];
    const struct shd_sharding *asked = c->request->nodes ? c->request->nodes[node] : NULL;
    struct shd_sharding whole;
    struct shd_error why;
    int64_t shape[GRAPH_RANK_MAX];

    if (g->op > GRAPH_PARAM && (g->op != GRAPH_CONSTRAINT || !asked))
        return SHD_OK;
    if (!asked) {
        shd_sharding_init(&whole, c->mesh, g->rank);
        asked = &whole;
    }
    graph_shape(c->graph, node, shape);
    if (shd_sharding_check(asked, shape, &why) != SHD_OK)
        return shd_error_set(err, why.status, "'%s': %s", g->name, why.text);
    whole = significant(asked);
    n->fixed = true;
    n->home = price_number(c->price, &whole);
    if (g->op == GRAPH_CONSTRAINT)
        n->needs[0] = n->home;
    return SHD_OK;
}

static int check_outputs(const struct choose *c, struct shd_error *err)
{
    for (uint32_t o = 0; c->request->outputs && o < c->graph->noutputs; o++) {
        const struct shd_sharding *asked = c->request->outputs[o];
        int64_t shape[GRAPH_RANK_MAX];
        struct shd_error why;

        graph_shape(c->graph, c->graph->outputs[o].node, shape);
        if (asked && shd_sharding_check(asked, shape, &why) != SHD_OK)
            return shd_error_set(err, why.status, "'%s': %s", c->graph->outputs[o].name, why.text);
    }
    return SHD_OK;
}

static void set_rule(struct choose *c, uint32_t node)
{
    const struct rule_op *row = rule_of(c->graph->nodes[node].op);

    if (!row)
        return;
    row->rule(&c->nodes[node].rule, c->graph, node);
    c->nodes[node].works = row->lower || row->fuses;
}

static int set_up(struct choose *c, struct shd_error *err)
{
    const struct graph *g = c->graph;
    int status;

    c->price = price_create(g);
    c->nodes = calloc((size_t)g->nnodes + 1, sizeof *c->nodes);
    if (!c->price || !c->nodes)
        return shd_error_set(err, SHD_ENOMEM, "no memory to partition %u ops", g->nnodes);
    for (uint32_t node = 0; node < g->nnodes; node++) {
        c->nodes[node].home = CHOOSE_UNKNOWN;
        c->nodes[node].output = GRAPH_NONE;
        for (int k = 0; k < GRAPH_INPUTS_MAX; k++)
            c->nodes[node].needs[k] = CHOOSE_UNKNOWN;
        set_rule(c, node);
        assign_init(&c->nodes[node].assign);
    }
    for (uint32_t o = g->noutputs; o-- > 0;)
        c->nodes[g->outputs[o].node].output = o;
    mark_live(c);
    for (uint32_t node = 0; node < g->nnodes; node++) {
        status = set_fixed(c, node, err);
        if (status != SHD_OK)
            return status;
    }
    status = check_outputs(c, err);
    return status == SHD_OK ? list_readers(c, err) : status;
}

int choose_init(struct choose *out, const struct partition_request *request, struct shd_error *err)
{
    struct choose c = {.graph = request->graph, .mesh = request->mesh, .request = request};
    int status = set_up(&c, err);

    if (status != SHD_OK) {
        choose_fini(&c);
        return status;
    }
    search(&c);
    *out = c;
    return SHD_OK;
}

void choose_fini(struct choose *choose)
{
    price_destroy(choose->price);
    free(choose->nodes);
    free(choose->readers);
    memset(choose, 0, sizeof *choose);
}
