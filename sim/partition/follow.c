/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/follow.h"

#include <stdlib.h>
#include <string.h>

#include "graph/ops.h"
#include "partition/batch.h"
#include "partition/masks.h"

struct claim {
    enum follow_claim strength;
    uint8_t axis;
    int8_t factor;
    uint32_t array;  /* the array that brings the axis, or GRAPH_NONE */
    double elements; /* elements of that array: of equal claims the largest array's wins */
};

/* One claim for each axis and factor, and for each axis cut flat. */
#define CLAIMS_MAX (SHD_MESH_AXES_MAX * (RULE_FACTORS_MAX + 1))
#define NOT_ASKED UINT32_MAX
#define NEEDED_APART (UINT32_MAX - 1) /* placed readers need a value in several ways */

/* Elementwise functions after one another behind which a gradient meets its weight: squares,
 * scaled, are added to an optimizer's state. */
#define MEETS_WITHIN 3

/* Ops of one array after one another that are followed to the products that gather it: an image's
 * rows and columns are padded, sliced and made windows of. */
#define GATHERED_WITHIN 32

struct follow {
    struct placement *p;
    struct batch batch;
    bool *weight;     /* by node: depends on parameters only */
    bool *shares;     /* by node: depends on a parameter that is sharded over axes of the batch */
    uint32_t *stored; /* by weight: axes over which it is only stored sharded */
    uint32_t *sums;   /* by node: axes over which all readers take the value as partial sums; or
                         NOT_ASKED */
    uint32_t *needed; /* by node: what all readers that are placed need; or NEEDED_APART, or
                         PLACEMENT_UNKNOWN if none is */
    struct claim claims[CLAIMS_MAX];
    uint32_t nclaims;
    struct assign assign; /* assignment of the current op */
};

/* Whether claim `a` wins over `b`: by strength, then by the array's size; ties go to the older
 * claim.
 */
static bool before(const struct claim *a, const struct claim *b)
{
    return a->strength != b->strength ? a->strength > b->strength : a->elements > b->elements;
}

/* Add a claim; of several claims of an axis to a factor the strongest is kept. */
static void add_claim(struct follow *f, enum follow_claim strength, uint8_t axis, int8_t factor,
                      uint32_t array, double elements)
{
    const struct claim claim = {strength, axis, factor, array, elements};

    if (strength == CLAIM_NONE)
        return;
    for (uint32_t i = 0; i < f->nclaims; i++)
        if (f->claims[i].axis == axis && f->claims[i].factor == factor) {
            if (before(&claim, &f->claims[i]))
                f->claims[i] = claim;
            return;
        }
    f->claims[f->nclaims++] = claim;
}

/* The factor that an axis on a dimension claims; RULE_FREE if the op needs the dimension whole. */
static int8_t claimed_factor(const struct rule *rule, int8_t factor)
{
    const struct rule_factor *f = &rule->factors[factor];

    if (f->whole)
        return RULE_FREE;
    return f->follows == RULE_FREE ? factor : f->follows;
}

/* Strength of an operand's claim; `dim` GRAPH_NONE: a flat cut, which belongs to no dimension. */
static enum follow_claim operand_strength(const struct follow *f, uint32_t node, uint32_t operand,
                                          uint32_t dim)
{
    if (f->p->graph->nodes[node].op == GRAPH_DISPATCH &&
        f->p->graph->nodes[operand].dtype == SHD_I32)
        return CLAIM_QUEUES;
    if (!f->weight[operand] || f->weight[node])
        return dim != GRAPH_NONE && f->batch.dims[dim] ? CLAIM_BATCH : CLAIM_DATA;
    return f->p->graph->nodes[node].op == GRAPH_MAP ? CLAIM_MAP_WEIGHT : CLAIM_WEIGHT;
}

/* Axes over which a weight is gathered before an op with data, so that they make no claim.  An
 * update and ops on weights alone run where the weight is stored. */
static uint32_t gathered_axes(const struct follow *f, uint32_t node, uint32_t weight)
{
    bool stays = (f->weight[node] && !graph_op(f->p->graph->nodes[node].op)->unpacks) ||
                 f->p->graph->nodes[node].phase == GRAPH_OPTIMIZER;

    return stays ? 0 : f->stored[weight];
}

/* Strength of the claim that a weight's axis makes.  If no data brings an axis of the batch to an
 * op (a queue of experts has samples of several devices), the op is sharded as its weight is
 * stored, instead of being repeated on each device. */
static enum follow_claim weight_claim(const struct follow *f, uint32_t node, uint32_t weight,
                                      uint8_t axis, enum follow_claim strength)
{
    if (!(gathered_axes(f, node, weight) >> axis & 1))
        return strength;
    return f->batch.axes >> axis & 1 && f->batch.varies[node] &&
                   f->p->graph->nodes[node].op != GRAPH_MAP
               ? CLAIM_KEPT
               : CLAIM_NONE;
}

/* The axes of the batch over which the readers of a weight gather it: those that may cut other
 * operands, but along no dimension of the weight, as those that bring tokens to experts do.  Where
 * the tokens of all devices are gathered, the weight stays. */
static uint32_t axes_gathered(const struct follow *f, uint32_t node)
{
    const struct placement *p = f->p;
    const struct graph_node *value = &p->graph->nodes[node];
    uint32_t cut = 0, met = 0;

    for (uint32_t r = 0; r < p->nodes[node].nreaders; r++) {
        const struct graph_node *reader = &p->graph->nodes[p->nodes[node].readers[r].node];

        cut |= reader->ninputs == 1 ? f->batch.axes : 0;
        for (uint32_t k = 0; k < reader->ninputs; k++) {
            const struct graph_node *other = &p->graph->nodes[reader->inputs[k]];
            const struct shd_sharding *s;

            if (reader->inputs[k] == node)
                continue;
            if (p->nodes[reader->inputs[k]].home == PLACEMENT_UNKNOWN) {
                cut |= f->batch.axes;
                continue;
            }
            s = price_sharding(p->price, p->nodes[reader->inputs[k]].home);
            cut |= shd_sharding_axes(s);
            for (uint32_t d = 0; d < s->rank; d++)
                for (uint8_t a = 0; a < s->dims[d].naxes && graph_has_dim(value, other->dims[d]);
                     a++)
                    met |= UINT32_C(1) << s->dims[d].axes[a];
        }
    }
    return f->batch.axes & cut & ~met;
}

/* A table indexed by values that are the same for the whole batch, such as distances, makes a
 * larger array that meets the batch later and must then be whole along the batch's axes, and so do
 * codes of few bits.  Gathering the table is cheaper, so its batch axes count as stored only. */
static void gather_early(struct follow *f, uint32_t node, uint32_t operand)
{
    const struct graph *g = f->p->graph;
    bool grows = batch_has(&f->batch, &g->nodes[node]) ||
                 graph_elements(g, &g->nodes[node]) > graph_elements(g, &g->nodes[operand]);

    if (graph_op(g->nodes[node].op)->unpacks)
        f->stored[operand] |= axes_gathered(f, node);
    else if (f->weight[operand] && !f->weight[node] && !f->batch.varies[node] && grows)
        f->stored[operand] |= f->batch.axes;
}

/* Take over an operand's flat cut, if the op may be cut flat. */
static void take_flat(struct follow *f, const struct rule *rule, const struct shd_sharding *s)
{
    if (!rule->flat || s->flat.naxes == 0)
        return;
    f->assign.flat_dims = s->flat_dims;
    if (s->flat.naxes > 1)
        assign_take_order(&f->assign, s);
}

/* Let a dimension that follows another lie as it does, if that moves less than what is led: the
 * keys of a cache beside the queries of new tokens. */
static void lead_by_larger(struct follow *f, uint32_t node, uint32_t operand, int8_t factor,
                           const struct shd_dim_axes *axes)
{
    const struct graph *g = f->p->graph;

    if (f->p->nodes[node].rule.factors[factor].follows != RULE_FREE &&
        graph_elements(g, &g->nodes[operand]) > graph_elements(g, &g->nodes[node]))
        assign_put_first(&f->assign, axes);
}

/* The nearest value with a known home that an array is made of: the weights before type
 * conversion. */
static uint32_t known_source(const struct placement *p, uint32_t node)
{
    while (p->nodes[node].home == PLACEMENT_UNKNOWN && p->graph->nodes[node].ninputs > 0)
        node = p->graph->nodes[node].inputs[0];
    return node;
}

/* Whether two arrays have the same dimensions, in any order. */
static bool same_dims(const struct graph_node *a, const struct graph_node *b)
{
    for (uint32_t d = 0; d < a->rank; d++)
        if (!graph_has_dim(b, a->dims[d]))
            return false;
    return a->rank == b->rank;
}

/* A sharded array of the dimensions of `of`, the same for the whole batch, that a value made of it
 * meets in an elementwise function, after at most `maps` others: in a traced step a gradient meets
 * an optimizer's state, or the parameter.  GRAPH_NONE: none. */
static uint32_t met_array(const struct follow *f, const struct graph_node *of, uint32_t value,
                          unsigned maps)
{
    const struct placement *p = f->p;
    uint32_t met = GRAPH_NONE;

    for (uint32_t r = 0; r < p->nodes[value].nreaders && met == GRAPH_NONE; r++) {
        uint32_t reader = p->nodes[value].readers[r].node;
        const struct graph_node *n = &p->graph->nodes[reader];

        for (uint32_t k = 0; n->op == GRAPH_MAP && k < n->ninputs && met == GRAPH_NONE; k++) {
            uint32_t source = f->batch.varies[n->inputs[k]] ? value : known_source(p, n->inputs[k]);

            if (source != value && same_dims(of, &p->graph->nodes[source]) &&
                p->nodes[source].home != PLACEMENT_UNKNOWN &&
                shd_sharding_axes(price_sharding(p->price, p->nodes[source].home)))
                met = source;
        }
        if (met == GRAPH_NONE && maps > 0 && (n->op == GRAPH_MAP || placement_is_alias(p, reader)))
            met = met_array(f, of, reader, maps - 1);
    }
    return met;
}

/* The value of which another is the gradient, as the graph says, or as its use in a traced step
 * shows; GRAPH_NONE: none. */
static uint32_t gradient_of(const struct follow *f, uint32_t node, uint32_t value)
{
    const struct graph_node *n = &f->p->graph->nodes[value];

    if (n->gradient_of != GRAPH_NONE || n->phase == GRAPH_OPTIMIZER || n->rank == 0 ||
        f->weight[node] || batch_has(&f->batch, n))
        return n->gradient_of;
    return met_array(f, n, value, MEETS_WITHIN);
}

/* Whether a known array has an axis along another dimension than `dim`. */
static bool has_elsewhere(const struct follow *f, uint32_t array, uint8_t axis, uint32_t dim)
{
    const struct shd_sharding *s;

    if (array == GRAPH_NONE || f->p->nodes[array].home == PLACEMENT_UNKNOWN)
        return false;
    s = price_sharding(f->p->price, f->p->nodes[array].home);
    for (uint32_t d = 0; d < s->rank; d++)
        for (uint8_t a = 0; a < s->dims[d].naxes; a++)
            if (s->dims[d].axes[a] == axis && f->p->graph->nodes[array].dims[d] != dim)
                return true;
    return false;
}

/* Whether a weight brings an axis to a product along another dimension than `dim`, or asks it of
 * the product as its gradient, so that data sharded by the axis along `dim` is gathered for it. */
static bool weight_takes(const struct follow *f, uint32_t node, uint8_t axis, uint32_t dim)
{
    const struct graph_node *n = &f->p->graph->nodes[node];
    bool taken = n->op == GRAPH_EINSUM && has_elsewhere(f, gradient_of(f, node, node), axis, dim);

    for (uint32_t k = 0; n->op == GRAPH_EINSUM && k < n->ninputs && !taken; k++)
        taken = f->weight[n->inputs[k]] && !(gathered_axes(f, node, n->inputs[k]) >> axis & 1) &&
                has_elsewhere(f, n->inputs[k], axis, dim);
    return taken;
}

/* Whether all readers of a value, also through ops of one array, gather an axis along a dimension.
 */
static bool gathered_later(const struct follow *f, uint32_t node, uint8_t axis, uint32_t dim,
                           unsigned ops)
{
    const struct graph *g = f->p->graph;
    const struct placement_node *of = &f->p->nodes[node];
    bool all = of->nreaders > 0 && of->output == GRAPH_NONE;

    for (uint32_t r = 0; r < of->nreaders && all; r++) {
        uint32_t reader = of->readers[r].node;

        all = weight_takes(f, reader, axis, dim) ||
              (ops > 0 && g->nodes[reader].ninputs == 1 && graph_has_dim(&g->nodes[reader], dim) &&
               gathered_later(f, reader, axis, dim, ops - 1));
    }
    return all;
}

/* Whether an op makes a larger array of one, as windows of an image do, which is gathered later:
 * the smaller array is gathered instead. */
static bool gathers_smaller(const struct follow *f, uint32_t node, uint8_t axis, uint32_t dim)
{
    const struct graph *g = f->p->graph;
    const struct graph_node *n = &g->nodes[node];

    return n->ninputs == 1 && !f->batch.dims[dim] &&
           graph_elements(g, n) > graph_elements(g, &g->nodes[n->inputs[0]]) &&
           gathered_later(f, node, axis, dim, GATHERED_WITHIN);
}

static void claim_by_operand(struct follow *f, uint32_t node, uint32_t k)
{
    const struct graph *graph = f->p->graph;
    const struct rule *rule = &f->p->nodes[node].rule;
    uint32_t operand = graph->nodes[node].inputs[k];
    const struct shd_sharding *s = price_sharding(f->p->price, f->p->nodes[operand].home);

    gather_early(f, node, operand);
    for (uint32_t d = 0; d < s->rank; d++) {
        int8_t factor = claimed_factor(rule, rule->operand[k][d]);
        uint32_t dim = graph->nodes[operand].dims[d];

        for (uint8_t a = 0; a < s->dims[d].naxes && factor != RULE_FREE; a++)
            if (!gathers_smaller(f, node, s->dims[d].axes[a], dim))
                add_claim(f,
                          weight_claim(f, node, operand, s->dims[d].axes[a],
                                       operand_strength(f, node, operand, dim)),
                          s->dims[d].axes[a], factor, operand,
                          graph_elements(graph, &graph->nodes[operand]));
        if (s->dims[d].naxes > 1)
            assign_take_order(&f->assign, s);
        lead_by_larger(f, node, operand, rule->operand[k][d], &s->dims[d]);
    }
    for (uint8_t a = 0; a < s->flat.naxes && rule->flat; a++)
        add_claim(f,
                  weight_claim(f, node, operand, s->flat.axes[a],
                               operand_strength(f, node, operand, GRAPH_NONE)),
                  s->flat.axes[a], ASSIGN_FLAT, operand,
                  graph_elements(graph, &graph->nodes[operand]));
    take_flat(f, rule, s);
}

/* Claim the places to which all readers before, which need them alike, have an operand's partial
 * sums scattered: the value lies there then, and is not combined again for this op.  A dimension
 * that the result lacks is not claimed, as the result would be partial in turn. */
static void claim_by_scattered(struct follow *f, uint32_t node, uint32_t k)
{
    const struct graph *graph = f->p->graph;
    const struct rule *rule = &f->p->nodes[node].rule;
    uint32_t operand = graph->nodes[node].inputs[k], need = f->needed[operand];
    const struct shd_sharding *parts = price_sharding(f->p->price, f->p->nodes[operand].home), *s;

    if (parts->partial_op != SHD_SUM || !parts->partial || need >= NEEDED_APART)
        return;
    s = price_sharding(f->p->price, need);
    for (uint32_t d = 0; d < s->rank; d++) {
        int8_t factor = claimed_factor(rule, rule->operand[k][d]);

        if (factor == RULE_FREE || !memchr(rule->result[0], factor, graph->nodes[node].rank))
            continue;
        for (uint8_t a = 0; a < s->dims[d].naxes; a++)
            if (parts->partial >> s->dims[d].axes[a] & 1)
                add_claim(f, CLAIM_DATA, s->dims[d].axes[a], factor, operand,
                          graph_elements(graph, &graph->nodes[operand]));
    }
}

/* Add a claim for an asked place; if data brings the axis to the same place, the claim becomes
 * CLAIM_AGREED. */
static void claim_asked_place(struct follow *f, uint8_t axis, int8_t factor)
{
    for (uint32_t i = 0; i < f->nclaims; i++)
        if (f->claims[i].axis == axis && f->claims[i].factor == factor &&
            f->claims[i].strength == CLAIM_DATA)
            f->claims[i].strength = CLAIM_AGREED;
    add_claim(f, CLAIM_ASKED, axis, factor, GRAPH_NONE, 0);
}

static void claim_by_sharding(struct follow *f, uint32_t node, const int8_t *factors,
                              const struct shd_sharding *asked)
{
    const struct rule *rule = &f->p->nodes[node].rule;

    for (uint32_t d = 0; d < asked->rank; d++) {
        int8_t factor = claimed_factor(rule, factors[d]);

        for (uint8_t a = 0; a < asked->dims[d].naxes && factor != RULE_FREE; a++)
            claim_asked_place(f, asked->dims[d].axes[a], factor);
        if (asked->dims[d].naxes > 1)
            assign_take_order(&f->assign, asked);
    }
    for (uint8_t a = 0; a < asked->flat.naxes && rule->flat; a++)
        claim_asked_place(f, asked->flat.axes[a], ASSIGN_FLAT);
    take_flat(f, rule, asked);
}

/* Add claims of the shardings asked for a value or its aliases: as an output and by constraints. */
static void claim_by_readers(struct follow *f, uint32_t node, uint32_t value, const int8_t *factors)
{
    struct placement *p = f->p;
    const struct placement_node *n = &p->nodes[value];

    if (n->output != GRAPH_NONE && p->request->outputs && p->request->outputs[n->output])
        claim_by_sharding(f, node, factors,
                          price_sharding(p->price, placement_output_need(p, n->output)));
    for (uint32_t r = 0; r < n->nreaders; r++) {
        uint32_t reader = n->readers[r].node;

        if (placement_is_alias(p, reader))
            claim_by_readers(f, node, reader, factors);
        else if (p->graph->nodes[reader].op == GRAPH_CONSTRAINT)
            claim_by_sharding(f, node, factors, price_sharding(p->price, p->nodes[reader].home));
    }
}

/* Claim the axes that shard an array's experts, to have the rows of experts with it. */
static void claim_experts_of(struct follow *f, uint32_t node, uint32_t array,
                             enum follow_claim strength)
{
    const struct placement *p = f->p;
    const struct graph *g = p->graph;
    uint32_t experts = g->nodes[node].attr.experts.expert_dim;
    const struct shd_dim_axes *t;

    if (!graph_has_dim(&g->nodes[array], experts) || p->nodes[array].home == PLACEMENT_UNKNOWN)
        return;
    t = &price_sharding(p->price, p->nodes[array].home)
             ->dims[graph_place(&g->nodes[array], experts)];
    for (uint8_t a = 0; a < t->naxes; a++)
        add_claim(f, weight_claim(f, node, array, t->axes[a], strength), t->axes[a],
                  p->nodes[node].rule.result[0][0], array, graph_elements(g, &g->nodes[array]));
}

static bool multiplies_rows(enum graph_op op)
{
    return op == GRAPH_GROUPED || op == GRAPH_CODED_GROUPED;
}

/* Claim the axes of the experts' weights: rows go to the devices that hold their expert, in codes,
 * too, and these with their magnitudes.  Gates, which multiply experts' rows, go where these are.
 */
static void claim_by_experts(struct follow *f, uint32_t node, uint32_t value)
{
    const struct placement *p = f->p;
    const struct graph *g = p->graph;
    const struct placement_node *n = &p->nodes[value];

    for (uint32_t r = 0; r < n->nreaders; r++) {
        uint32_t reader = n->readers[r].node;

        if (placement_is_alias(p, reader) || g->nodes[reader].op == GRAPH_REDUCE ||
            g->nodes[reader].op == GRAPH_ENCODE || g->nodes[reader].op == GRAPH_DECODE)
            claim_by_experts(f, node, reader);
        for (uint32_t k = 0; g->nodes[reader].op == GRAPH_MAP && k < g->nodes[reader].ninputs; k++)
            if (g->nodes[reader].inputs[k] != value)
                claim_experts_of(f, node, g->nodes[reader].inputs[k], CLAIM_FORWARD);
        for (uint32_t k = 0; multiplies_rows(g->nodes[reader].op) && k < 2; k++) {
            uint32_t weight = known_source(p, g->nodes[reader].inputs[k]);

            if (f->weight[weight])
                claim_experts_of(f, node, weight, CLAIM_WEIGHT);
        }
    }
}

/* Claim the sharding of the value that this is the gradient of.  A weight's gradient is computed
 * where the weight is, unless the weight was gathered.  Other gradients claim only what no operand
 * brings, so that partial sums of a value cut by sequence parallelism are scattered over the
 * sequence. */
static void claim_by_forward(struct follow *f, uint32_t node, uint32_t value, const int8_t *factors)
{
    const struct placement *p = f->p;
    const struct graph_node *n = &p->graph->nodes[value];
    const struct graph_node *forward;
    const struct shd_sharding *s;
    enum follow_claim strength;
    uint32_t of = gradient_of(f, node, value);

    if (of == GRAPH_NONE || p->nodes[of].home == PLACEMENT_UNKNOWN)
        return;
    forward = &p->graph->nodes[of];
    strength = f->weight[of] && !f->weight[node] ? CLAIM_WEIGHT : CLAIM_FORWARD;
    s = price_sharding(p->price, p->nodes[of].home);
    for (uint32_t d = 0; d < n->rank; d++)
        for (uint32_t e = 0; e < forward->rank; e++) {
            int8_t factor = claimed_factor(&p->nodes[node].rule, factors[d]);

            if (forward->dims[e] != n->dims[d] || factor == RULE_FREE)
                continue;
            for (uint8_t a = 0; a < s->dims[e].naxes; a++)
                add_claim(f, weight_claim(f, node, of, s->dims[e].axes[a], strength),
                          s->dims[e].axes[a], factor, of, 0);
        }
}

/* Claim the batch's axes for a value of each sample that is made of parameters alone, as no operand
 * brings them. */
static void claim_by_samples(struct follow *f, uint32_t node)
{
    const struct placement *p = f->p;
    const struct graph_node *n = &p->graph->nodes[node];

    if (f->weight[node] || f->batch.varies[node])
        return;
    for (uint32_t d = 0; d < n->rank; d++) {
        uint32_t data = f->batch.of[n->dims[d]];
        int8_t factor = claimed_factor(&p->nodes[node].rule, p->nodes[node].rule.result[0][d]);
        const struct shd_dim_axes *t;

        if (data == GRAPH_NONE || factor == RULE_FREE)
            continue;
        t = &price_sharding(p->price, p->nodes[data].home)->dims[0];
        for (uint8_t a = 0; a < t->naxes; a++)
            add_claim(f, CLAIM_BATCH, t->axes[a], factor, data, 0);
    }
}

static void sort_claims(struct follow *f)
{
    for (uint32_t i = 1; i < f->nclaims; i++) {
        struct claim claim = f->claims[i];
        uint32_t at = i;

        for (; at > 0 && before(&claim, &f->claims[at - 1]); at--)
            f->claims[at] = f->claims[at - 1];
        f->claims[at] = claim;
    }
}

static bool is_valid(const struct follow *f, uint32_t node)
{
    const struct assigned a = {f->p->graph, node, &f->p->nodes[node].rule, &f->assign, f->p->mesh};

    return assign_valid(&a);
}

/* Grant claims in their order; skip a claim whose axis does not divide its factor. */
static void grant_claims(struct follow *f, uint32_t node)
{
    memset(f->p->nodes[node].cause, 0, sizeof f->p->nodes[node].cause);
    for (uint32_t i = 0; i < f->nclaims; i++) {
        int8_t *place = &f->assign.place[f->claims[i].axis];

        if (*place != ASSIGN_NONE)
            continue;
        *place = f->claims[i].factor;
        if (!is_valid(f, node))
            *place = ASSIGN_NONE;
        else
            f->p->nodes[node].cause[f->claims[i].axis] =
                (struct placement_cause){(uint8_t)f->claims[i].strength, f->claims[i].array};
    }
}

static bool is_operand(const struct graph_node *n, uint32_t array)
{
    for (uint32_t k = 0; k < n->ninputs; k++)
        if (n->inputs[k] == array)
            return true;
    return false;
}

/* Order axes on a dimension as the array does that brought several of them: weights of experts, or
 * the value that this is the gradient of.  Operands' orders are taken with their claims. */
static void take_orders(struct follow *f, uint32_t node)
{
    const struct placement *p = f->p;
    const struct placement_node *n = &p->nodes[node];

    for (int a = 0; a < SHD_MESH_AXES_MAX; a++)
        for (int b = 0; b < a; b++) {
            uint32_t array = n->cause[a].array;

            if (f->assign.place[a] < 0 || f->assign.place[a] != f->assign.place[b] ||
                array == GRAPH_NONE || array != n->cause[b].array ||
                is_operand(&p->graph->nodes[node], array))
                continue;
            assign_take_order(&f->assign, price_sharding(p->price, p->nodes[array].home));
        }
}

/* ---- partial sums that are passed on ---- */

/* Whether exactly one op reads a value or its aliases. */
static bool read_once(const struct placement *p, uint32_t node)
{
    for (;; node = p->graph->nodes[node].inputs[0]) {
        if (p->nodes[node].nreaders != 1 || p->nodes[node].output != GRAPH_NONE)
            return false;
        if (!placement_is_alias(p, node))
            return true;
    }
}

/* The axes over which an operand is a partial sum that this op may combine later. */
static uint32_t waiting_axes(const struct placement *p, uint32_t operand)
{
    const struct shd_sharding *s = price_sharding(p->price, p->nodes[operand].home);

    return s->partial_op == SHD_SUM && read_once(p, operand) ? s->partial : 0;
}

/* Whether partial sums pass an op, to be combined after it. */
static bool passes_sums(const struct graph_node *n)
{
    return graph_op(n->op)->passes_sums && graph_linearity(n) == KERN_LINEAR_IN_ALL &&
           (n->fn != KERN_CONVERT || assign_converts_sum(n));
}

static void pass_sums(struct follow *f, uint32_t node)
{
    const struct graph_node *n = &f->p->graph->nodes[node];
    uint32_t axes = UINT32_MAX;
    bool masked = false;

    if (!passes_sums(n))
        return;
    if (n->fn == KERN_CONVERT && kern_is_whole(f->p->graph->nodes[n->inputs[0]].dtype))
        return;
    for (uint32_t k = 0; k < n->ninputs; k++) {
        if (kern_is_whole(f->p->graph->nodes[n->inputs[k]].dtype)) /* never passed on */
            continue;
        masked |= masks_weight(f->p->graph, f->weight, node, k);
        axes &=
            masks_weight(f->p->graph, f->weight, node, k)
                ? ~shd_sharding_axes(price_sharding(f->p->price, f->p->nodes[n->inputs[k]].home))
                : waiting_axes(f->p, n->inputs[k]);
    }
    if (masked && (axes == 0 || !masks_pay(f->p, f->weight, node, axes)))
        return;
    for (uint8_t a = 0; a < shd_mesh_naxes(f->p->mesh); a++)
        if (axes >> a & 1 && f->assign.place[a] == ASSIGN_NONE)
            f->assign.place[a] = ASSIGN_PARTIAL;
    if (!is_valid(f, node))
        for (uint8_t a = 0; a < shd_mesh_naxes(f->p->mesh); a++)
            if (f->assign.place[a] == ASSIGN_PARTIAL)
                f->assign.place[a] = ASSIGN_NONE;
}

/* ---- partial sums that products read ---- */

/* The value behind an alias. */
static uint32_t named_value(const struct placement *p, uint32_t node)
{
    while (placement_is_alias(p, node))
        node = p->graph->nodes[node].inputs[0];
    return node;
}

static void claim_all(struct follow *f, uint32_t node)
{
    struct placement *p = f->p;
    const struct rule *rule = &p->nodes[node].rule;

    f->nclaims = 0;
    assign_init(&f->assign);
    for (uint32_t k = 0; k < p->graph->nodes[node].ninputs; k++)
        claim_by_operand(f, node, k);
    for (uint32_t k = 0; k < p->graph->nodes[node].ninputs; k++)
        claim_by_scattered(f, node, k);
    for (uint32_t r = 0; r < rule->nresults; r++) {
        uint32_t result = assign_result_node(p->graph, node, r);

        claim_by_readers(f, node, result, rule->result[r]);
        claim_by_forward(f, node, result, rule->result[r]);
    }
    if (p->graph->nodes[node].op == GRAPH_DISPATCH)
        claim_by_experts(f, node, node);
    claim_by_samples(f, node);
    sort_claims(f);
    pass_sums(f, node);
    grant_claims(f, node);
    take_orders(f, node);
}

/* Whether all operands of an op have a home. */
static bool is_ready(const struct placement *p, uint32_t node)
{
    for (uint32_t k = 0; k < p->graph->nodes[node].ninputs; k++)
        if (p->nodes[p->graph->nodes[node].inputs[k]].home == PLACEMENT_UNKNOWN)
            return false;
    return true;
}

/* Answers of a value's readers on reading it as partial sums. */
struct asked {
    uint32_t axes;   /* axes over which all readers can take partial sums */
    double elements; /* elements of their results that only then become partial */
};

/* Whether an operand's claim put the axis in the op, not only an asked sharding of the result. */
static bool is_bound(const struct follow *f, uint32_t node, uint8_t axis)
{
    return f->assign.place[axis] != ASSIGN_NONE &&
           f->p->nodes[node].cause[axis].claim > CLAIM_ASKED;
}

/* Drop the axes over which a product's operands shard it: over these it needs the combined sum.  A
 * product whose sharding is only asked for may scatter its partial result instead.  Returns whether
 * the result is partial anyway. */
static bool drop_sharding(const struct follow *f, uint32_t node, struct asked *asked)
{
    struct follow scratch = *f;
    const struct assigned a = {f->p->graph, node, &f->p->nodes[node].rule, &scratch.assign,
                               f->p->mesh};
    struct shd_sharding result;

    claim_all(&scratch, node);
    for (uint8_t axis = 0; axis < shd_mesh_naxes(f->p->mesh); axis++)
        if (is_bound(&scratch, node, axis))
            asked->axes &= ~(UINT32_C(1) << axis);
    assign_result(&result, &a, 0);
    return result.partial;
}

/* Ask a product.  If its other operand is placed later, in the backward phase, only the size of the
 * result is known. */
static void ask_product(const struct follow *f, uint32_t node, uint32_t k, struct asked *asked)
{
    const struct graph *g = f->p->graph;
    bool einsum = g->nodes[node].op == GRAPH_EINSUM, anyway = false;

    if (!einsum && !(g->nodes[node].op == GRAPH_EMBED_GRAD && k == 1))
        asked->axes = 0;
    else if (is_ready(f->p, node))
        anyway = drop_sharding(f, node, asked);
    if (!einsum || !anyway)
        asked->elements += graph_elements(g, &g->nodes[node]);
}

/* Ask all readers of a value and its aliases. */
static void ask_readers(const struct follow *f, uint32_t node, struct asked *asked)
{
    const struct placement_node *n = &f->p->nodes[node];

    if (n->output != GRAPH_NONE)
        asked->axes = 0;
    for (uint32_t r = 0; r < n->nreaders && asked->axes; r++)
        if (placement_is_alias(f->p, n->readers[r].node))
            ask_readers(f, n->readers[r].node, asked);
        else
            ask_product(f, n->readers[r].node, n->readers[r].operand, asked);
}

/* The axes over which all readers of a value, products, take it as partial sums: their results,
 * which are combined instead, are partial anyway or together no larger.  If one reader needs the
 * sum, all read the sum. */
static uint32_t read_as_parts(struct follow *f, uint32_t value)
{
    const struct shd_sharding *s = price_sharding(f->p->price, f->p->nodes[value].home);
    struct asked asked = {s->partial_op == SHD_SUM ? s->partial : 0, 0};

    if (f->sums[value] != NOT_ASKED)
        return f->sums[value];
    ask_readers(f, value, &asked);
    f->sums[value] =
        asked.elements <= graph_elements(f->p->graph, &f->p->graph->nodes[value]) ? asked.axes : 0;
    return f->sums[value];
}

/* Let products read partial sums if all readers of the operand can.  Gradients of key heads that
 * several devices hold are combined with those of the queries, or as the kernel's gradient;
 * gradients of distances as their table's gradient. */
static void pass_products(struct follow *f, uint32_t node)
{
    const struct graph_node *n = &f->p->graph->nodes[node];

    if (n->op != GRAPH_EINSUM && n->op != GRAPH_EMBED_GRAD)
        return;
    for (uint32_t k = 0; k < n->ninputs; k++) {
        uint32_t axes = read_as_parts(f, named_value(f->p, n->inputs[k]));

        for (uint8_t axis = 0; axis < shd_mesh_naxes(f->p->mesh); axis++)
            if (axes >> axis & 1 && !is_bound(f, node, axis)) {
                f->assign.place[axis] = ASSIGN_PARTIAL;
                f->assign.linear_operand = (uint8_t)k;
            }
        if (axes)
            return;
    }
}

/* Note what an op that is placed needs of its operands. */
static void note_needs(const struct follow *f, uint32_t node)
{
    for (uint32_t k = 0; k < f->p->graph->nodes[node].ninputs; k++) {
        uint32_t *needed = &f->needed[f->p->graph->nodes[node].inputs[k]];
        uint32_t need = f->p->nodes[node].needs[k];

        if (need != PLACEMENT_UNKNOWN)
            *needed = *needed == PLACEMENT_UNKNOWN || *needed == need ? need : NEEDED_APART;
    }
}

static void follow_node(struct follow *f, uint32_t node)
{
    claim_all(f, node);
    pass_products(f, node);
    if (!memchr(f->assign.place, ASSIGN_FLAT, sizeof f->assign.place))
        f->assign.flat_dims = 0;
    f->p->nodes[node].assign = f->assign;
    placement_settle(f->p, node);
    note_needs(f, node);
}

/* The axes that shard the step's data. */
static uint32_t data_axes(const struct placement *p)
{
    uint32_t axes = 0;

    for (uint32_t node = 0; node < p->graph->nnodes; node++) {
        const struct graph_node *n = &p->graph->nodes[node];

        if (batch_is_data(n))
            axes |= shd_sharding_axes(price_sharding(p->price, p->nodes[node].home));
    }
    return axes;
}

/* Find weights that are stored sharded over axes of the data: these are gathered for ops with data.
 * Over other axes, a stored sharding counts like one given by a rule. */
static void find_stored(struct follow *f)
{
    const struct placement *p = f->p;
    uint32_t axes = data_axes(p);

    for (uint32_t node = 0; node < p->graph->nnodes && p->request->stored; node++) {
        const struct graph_node *n = &p->graph->nodes[node];

        if (n->op == GRAPH_PARAM)
            f->stored[node] = p->request->stored[node] & axes;
        for (uint32_t k = 0; k < n->ninputs && f->weight[node]; k++)
            f->stored[node] |= f->stored[n->inputs[k]];
    }
}

/* Whether a node is a parameter sharded over axes of the batch. */
static bool shares_axes(const struct follow *f, uint32_t node)
{
    const struct placement_node *n = &f->p->nodes[node];

    return f->p->graph->nodes[node].op == GRAPH_PARAM && n->home != PLACEMENT_UNKNOWN &&
           shd_sharding_axes(price_sharding(f->p->price, n->home)) & f->batch.axes;
}

/* A value with the batch, made of a parameter that is sharded by the batch's axes, is no weight,
 * though made of parameters alone: the gradient of a sum of outputs, times a parameter. */
static void find_weights(struct follow *f)
{
    const struct graph *graph = f->p->graph;

    for (uint32_t node = 0; node < graph->nnodes; node++) {
        const struct graph_node *n = &graph->nodes[node];

        f->weight[node] = n->op != GRAPH_INPUT;
        f->shares[node] = shares_axes(f, node);
        for (uint32_t k = 0; k < n->ninputs; k++) {
            f->weight[node] &= f->weight[n->inputs[k]];
            f->shares[node] |= f->shares[n->inputs[k]];
        }
        f->weight[node] &= n->op == GRAPH_PARAM || !f->shares[node] || !batch_has(&f->batch, n);
    }
}

void follow_placement(struct placement *placement)
{
    struct pool *pool = pool_in(placement->pool);
    size_t n = placement->graph->nnodes;
    struct follow f = {.p = placement,
                       .weight = pool_array(pool, n, sizeof *f.weight),
                       .shares = pool_array(pool, n, sizeof *f.shares),
                       .stored = pool_array(pool, n, sizeof *f.stored),
                       .sums = pool_array(pool, n, sizeof *f.sums),
                       .needed = pool_array(pool, n, sizeof *f.needed)};

    batch_init(&f.batch, placement, pool);
    memset(f.sums, 0xff, n * sizeof *f.sums);     /* NOT_ASKED */
    memset(f.needed, 0xff, n * sizeof *f.needed); /* PLACEMENT_UNKNOWN */
    find_weights(&f);
    find_stored(&f);
    for (uint32_t node = 0; node < n; node++)
        if (placement_is_free(placement, node))
            follow_node(&f, node);
        else
            note_needs(&f, node);
    pool_drop(placement->pool, pool);
}
