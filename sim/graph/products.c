/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/products.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "graph/rebuild.h"
#include "graph/stages.h"

/* How a product reads an operand. */
enum role { ROLE_DATA, ROLE_WEIGHT, ROLE_GRADIENT };

/* A product to rewrite, by old numbers. */
struct product {
    uint32_t node;
    enum role roles[2]; /* of its operands */
};

/* An array's groups in a product: the dimensions of its magnitudes. */
struct groups {
    struct graph_coding coding;
    uint32_t rank, dims[GRAPH_RANK_MAX];
};

/* A rounded array, and the old node and stage that it is of; for weights that each phase brings
 * together the phase, else GRAPH_NPHASES. */
struct rounded {
    uint32_t of, stage;
    uint32_t before; /* the rounded array of the same node before it, or GRAPH_NONE */
    enum graph_phase phase;
    struct groups groups;
    struct graph_codes codes; /* new numbers */
};

struct rounding {
    const struct products_opts *opts;
    struct graph *graph;          /* being rebuilt ... */
    const struct graph_node *old; /* ... from these nodes */
    uint32_t nold;
    struct product *products;
    uint32_t nproducts;
    struct rounded *made;
    uint32_t nmade;
    /* By old node, GRAPH_NONE for none: */
    uint32_t *product_of; /* its product */
    uint32_t *gradient;   /* the first product of the backward phase of which it is the second
                             operand ... */
    uint32_t *another;    /* ... and of each such product the next */
    uint32_t *read; /* the first operand of a product, counted two a product, that it is ... */
    uint32_t *next; /* ... and of each operand the next that is the same node */
    uint32_t *last; /* the last array rounded of it */
};

/* ---- which products ---- */

static bool add_product(struct rounding *r, uint32_t node, enum role first, enum role second)
{
    if (r->product_of[node] != GRAPH_NONE)
        return true;
    if (!array_make_room(&r->products, r->nproducts, sizeof *r->products))
        return false;
    r->products[r->nproducts] = (struct product){node, {first, second}};
    r->product_of[node] = r->nproducts++;
    return true;
}

static void list_gradients(struct rounding *r)
{
    for (uint32_t n = r->nold; n-- > 0;) {
        const struct graph_node *g = &r->old[n];

        if (g->op != GRAPH_EINSUM || g->phase != GRAPH_BACKWARD)
            continue;
        r->another[n] = r->gradient[g->inputs[1]];
        r->gradient[g->inputs[1]] = n;
    }
}

/* Add the products of a chosen product's gradient: of the adjoint and one of its operands, the
 * gradient of the other. */
static bool add_gradients(struct rounding *r, const struct products_chosen *chosen)
{
    const struct graph_node *product = &r->old[chosen->node];
    uint32_t weight = product->inputs[chosen->weight], data = product->inputs[!chosen->weight];

    for (uint32_t n = r->gradient[weight]; n != GRAPH_NONE; n = r->another[n])
        if (r->old[n].gradient_of == data && !add_product(r, n, ROLE_GRADIENT, ROLE_WEIGHT))
            return false;
    for (uint32_t n = r->gradient[data]; n != GRAPH_NONE; n = r->another[n])
        if (r->old[n].gradient_of == weight && !add_product(r, n, ROLE_GRADIENT, ROLE_DATA))
            return false;
    return true;
}

/* List the operands of products by node. */
static bool list_readers(struct rounding *r)
{
    r->next = malloc((2 * (size_t)r->nproducts + 1) * sizeof *r->next);
    for (uint32_t i = 2 * r->nproducts; r->next && i-- > 0;) {
        uint32_t of = r->old[r->products[i / 2].node].inputs[i % 2];

        r->next[i] = r->read[of];
        r->read[of] = i;
    }
    return r->next;
}

static bool find_products(struct rounding *r, const struct products_chosen *chosen,
                          uint32_t nchosen)
{
    bool done = true;

    list_gradients(r);
    for (uint32_t c = 0; c < nchosen && done; c++) {
        enum role first = chosen[c].weight ? ROLE_DATA : ROLE_WEIGHT;

        done =
            add_product(r, chosen[c].node, first, first == ROLE_DATA ? ROLE_WEIGHT : ROLE_DATA) &&
            add_gradients(r, &chosen[c]);
    }
    return done && list_readers(r);
}

/* ---- groups ---- */

/* Cut a dimension of the groups into blocks. */
static void coarsen(struct rounding *r, struct groups *out, uint32_t at)
{
    struct graph *g = r->graph;
    uint32_t dim = out->dims[at], k = out->coding.ncoarse;
    int64_t size = g->dims[dim].size, block = r->opts->block < size ? r->opts->block : size;
    uint32_t blocks;

    if (block < 1 || size % block != 0) {
        graph_fail(g, SHD_EINDIVISIBLE,
                   "products.block: blocks of %" PRId64 " do not divide dimension '%s' of %" PRId64
                   "; expected a divisor, or an exception for its products",
                   block, g->dims[dim].name, size);
        return;
    }
    blocks = graph_dim(g, graph_text(g, "%s:%" PRId64, g->dims[dim].name, block), size / block);
    out->dims[at] = blocks;
    out->coding.coarse[k].dim = dim;
    out->coding.coarse[k].blocks = blocks;
    out->coding.ncoarse++;
}

/* Give each part of the data's dimensions magnitudes of its own, where the groups have not. */
static void group_parts(struct rounding *r, struct groups *out, const struct graph_node *x)
{
    struct graph *g = r->graph;

    for (uint32_t i = 0; i < KERN_COARSE_MAX && g->err.status == SHD_OK; i++) {
        uint32_t dim = r->opts->local[i].dim, k = out->coding.ncoarse;
        int64_t parts = r->opts->local[i].parts;
        bool grouped = false;

        for (uint32_t d = 0; d < out->rank; d++)
            grouped |= out->dims[d] == dim;
        if (parts < 2 || grouped || !graph_has_dim(x, dim))
            continue;
        out->coding.coarse[k].dim = dim;
        out->coding.coarse[k].blocks = out->dims[out->rank++] =
            graph_dim(g, graph_text(g, "%s/parts", g->dims[dim].name), parts);
        out->coding.ncoarse++;
    }
}

/* The innermost dimension of an array that a product sums over, or that it does not. */
static uint32_t innermost(const struct graph_node *x, const struct graph_node *product, bool summed)
{
    for (uint32_t d = x->rank; d-- > 0;)
        if (graph_has_dim(product, x->dims[d]) != summed)
            return d;
    return GRAPH_NONE;
}

static void group_blocks(struct rounding *r, struct groups *out, const struct graph_node *x,
                         const struct graph_node *product, enum role role)
{
    uint32_t along = innermost(x, product, true), across = innermost(x, product, false);
    bool square = r->opts->recipe == PRODUCTS_BLOCKWISE && role == ROLE_WEIGHT;

    out->rank = x->rank;
    memcpy(out->dims, x->dims, sizeof out->dims);
    if (square && across != GRAPH_NONE && across < along)
        coarsen(r, out, across);
    if (along != GRAPH_NONE)
        coarsen(r, out, along);
    if (square && across != GRAPH_NONE && across > along)
        coarsen(r, out, across);
}

/* How a product groups an operand. */
static struct groups groups_of(struct rounding *r, const struct graph_node *x,
                               const struct graph_node *product, enum role role)
{
    struct groups out;

    memset(&out, 0, sizeof out); /* compared by bytes */
    out.coding.code = role == ROLE_GRADIENT ? r->opts->gradients : r->opts->code;
    switch (r->opts->recipe) {
    case PRODUCTS_TENSORWISE:
        break;
    case PRODUCTS_ROWWISE:
        for (uint32_t d = 0; d < x->rank; d++)
            if (graph_has_dim(product, x->dims[d]))
                out.dims[out.rank++] = x->dims[d];
        break;
    default:
        group_blocks(r, &out, x, product, role);
    }
    if (role != ROLE_WEIGHT && r->opts->recipe <= PRODUCTS_ROWWISE)
        group_parts(r, &out, x);
    out.coding.scaling = r->opts->recipe == PRODUCTS_MXFP8   ? KERN_SCALE_POWER
                         : r->opts->recipe == PRODUCTS_NVFP4 ? KERN_SCALE_DOUBLE
                                                             : KERN_SCALE_EXACT;
    return out;
}

/* ---- rounding ---- */

/* Whether a weight is rounded in each phase anew. */
static bool is_gathered(const struct rounding *r, enum role role)
{
    return role == ROLE_WEIGHT && !r->opts->gathers;
}

static const struct rounded *find_rounded(const struct rounding *r, uint32_t of,
                                          enum graph_phase phase, const struct groups *groups)
{
    for (uint32_t i = r->last[of]; i != GRAPH_NONE; i = r->made[i].before)
        if (r->made[i].stage == r->graph->stage && r->made[i].phase == phase &&
            !memcmp(&r->made[i].groups, groups, sizeof *groups))
            return &r->made[i];
    return NULL;
}

static uint32_t gather(struct graph *g, const char *name, uint32_t x)
{
    x = graph_constraint(g, graph_text(g, "%s/gathered", name), x);
    if (x != GRAPH_NONE)
        g->nodes[x].attr.gathered = true;
    return x;
}

/* Round the old node `of`, now `x`, as a product reads it, unless it is rounded so already. */
static struct graph_codes round_operand(struct rounding *r, const struct product *p, uint32_t k,
                                        uint32_t of, uint32_t x)
{
    const struct graph_node *product = &r->old[p->node];
    struct graph_codes codes = {GRAPH_NONE, GRAPH_NONE, GRAPH_NONE, {.ncoarse = 0}};
    struct groups groups = groups_of(r, &r->old[of], product, p->roles[k]);
    bool gathered = is_gathered(r, p->roles[k]);
    enum graph_phase phase = gathered ? r->graph->phase : GRAPH_NPHASES;
    const struct rounded *found = find_rounded(r, of, phase, &groups);
    const char *name = r->old[of].name;
    struct graph *g = r->graph;

    if (found)
        return found->codes;
    if (gathered)
        x = gather(g, name, x);
    codes.coding = groups.coding;
    codes.amax =
        graph_amax(g, graph_text(g, "%s/amax", name), x, &groups.coding, groups.dims, groups.rank);
    if (groups.coding.scaling == KERN_SCALE_DOUBLE)
        codes.whole = graph_reduce(g, graph_text(g, "%s/amax", name), SHD_MAX, codes.amax, NULL, 0);
    graph_encode(g, graph_text(g, "%s/codes", name), x, &codes);
    if (!array_make_room(&r->made, r->nmade, sizeof *r->made)) {
        graph_fail(g, SHD_ENOMEM, "no memory for a graph of %u nodes", g->nnodes);
        return codes;
    }
    r->made[r->nmade] = (struct rounded){of, g->stage, r->last[of], phase, groups, codes};
    r->last[of] = r->nmade++;
    return codes;
}

/* Round an array of the forward phase for the products of the backward phase, too. */
static void round_ahead(struct rounding *r, const struct product *now, uint32_t of, uint32_t x)
{
    for (uint32_t i = r->read[of]; i != GRAPH_NONE; i = r->next[i]) {
        const struct product *later = &r->products[i / 2];

        if (later->node > now->node && !is_gathered(r, later->roles[i % 2]) &&
            r->old[later->node].stage == r->graph->stage)
            (void)round_operand(r, later, i % 2, of, x);
    }
}

/* A graph_rebuild_fn: the product of codes in place of a product. */
static uint32_t make(void *arg, struct graph *graph, uint32_t old, const struct graph_node *node)
{
    struct rounding *r = arg;
    const struct graph_node *n = &r->old[old];
    const struct product *p;
    struct graph_codes a, b;

    if (r->product_of[old] == GRAPH_NONE)
        return graph_rebuild_copy(graph, node);
    p = &r->products[r->product_of[old]];
    graph->phase = n->phase;
    graph->stage = n->stage;
    a = round_operand(r, p, 0, n->inputs[0], node->inputs[0]);
    b = round_operand(r, p, 1, n->inputs[1], node->inputs[1]);
    for (uint32_t k = 0; k < 2 && r->opts->keeps_codes && n->phase == GRAPH_FORWARD; k++)
        round_ahead(r, p, n->inputs[k], node->inputs[k]);
    return graph_coded(graph, n->name, &a, &b, n->dims, n->rank);
}

static void rebuild(struct rounding *r)
{
    struct graph *g = r->graph;
    enum graph_phase phase = g->phase;
    uint32_t stage = g->stage;

    graph_rebuild(g, make, r);
    g->phase = phase;
    g->stage = stage;
    if (g->nstages > 1 && g->err.status == SHD_OK)
        graph_mark_weights(g);
}

void products_round(struct graph *graph, const struct products_chosen *chosen, uint32_t nchosen,
                    const struct products_opts *opts)
{
    struct rounding r = {.opts = opts, .graph = graph, .old = graph->nodes, .nold = graph->nnodes};
    size_t n = r.nold;
    uint32_t *numbers;

    if (graph->err.status != SHD_OK || nchosen == 0)
        return;
    numbers = malloc((5 * n + 1) * sizeof *numbers);
    if (numbers) {
        memset(numbers, 0xff, 5 * n * sizeof *numbers); /* GRAPH_NONE */
        r.product_of = numbers;
        r.gradient = numbers + n;
        r.another = numbers + 2 * n;
        r.read = numbers + 3 * n;
        r.last = numbers + 4 * n;
    }
    if (numbers && find_products(&r, chosen, nchosen))
        rebuild(&r);
    else
        graph_fail(graph, SHD_ENOMEM, "no memory for products in a graph of %u nodes", r.nold);
    free(numbers);
    free(r.next);
    free(r.products);
    free(r.made);
}
