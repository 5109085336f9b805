/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/products.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "graph/stages.h"

/* How a product reads an operand. */
enum role { ROLE_DATA, ROLE_WEIGHT, ROLE_GRADIENT };

/* A product to rewrite, by old numbers. */
struct product {
    uint32_t node;
    enum role roles[2]; /* of its operands */
};

/* An array's groups in a product: the dimensions of its magnitudes, and of those of its parts. */
struct groups {
    struct graph_coding coding;
    uint32_t rank, dims[GRAPH_RANK_MAX];
    uint32_t part_rank, part_dims[GRAPH_RANK_MAX];
};

/* A rounded array, and the old node and stage that it is of; for weights that each phase brings
 * together the phase, else GRAPH_NPHASES. */
struct rounded {
    uint32_t of, stage;
    enum graph_phase phase;
    struct groups groups;
    struct graph_codes codes; /* new numbers */
};

struct rounding {
    const struct products_opts *opts;
    struct graph *graph;          /* being rebuilt ... */
    const struct graph_node *old; /* ... from these nodes */
    uint32_t nold;
    uint32_t *moved; /* new numbers by old number */
    struct product *products;
    uint32_t nproducts;
    uint32_t *product_of; /* by old node: its product + 1, or 0 */
    struct rounded *made;
    uint32_t nmade;
};

/* ---- which products ---- */

static bool add_product(struct rounding *r, uint32_t node, enum role first, enum role second)
{
    if (r->product_of[node])
        return true;
    if (!array_make_room(&r->products, r->nproducts, sizeof *r->products))
        return false;
    r->products[r->nproducts] = (struct product){node, {first, second}};
    r->product_of[node] = ++r->nproducts;
    return true;
}

/* Add the products of a chosen product's gradient: of the adjoint and one of its operands, the
 * gradient of the other. */
static bool add_gradients(struct rounding *r, const struct products_chosen *chosen)
{
    const struct graph_node *product = &r->old[chosen->node];
    uint32_t weight = product->inputs[chosen->weight], data = product->inputs[!chosen->weight];

    for (uint32_t n = chosen->node + 1; n < r->nold; n++) {
        const struct graph_node *g = &r->old[n];
        bool of_data = g->inputs[1] == weight && g->gradient_of == data;
        bool of_weight = g->inputs[1] == data && g->gradient_of == weight;

        if (g->op == product->op && g->phase == GRAPH_BACKWARD && (of_data || of_weight) &&
            !add_product(r, n, ROLE_GRADIENT, of_data ? ROLE_WEIGHT : ROLE_DATA))
            return false;
    }
    return true;
}

static bool find_products(struct rounding *r, const struct products_chosen *chosen,
                          uint32_t nchosen)
{
    bool done = true;

    for (uint32_t c = 0; c < nchosen && done; c++) {
        enum role first = chosen[c].weight ? ROLE_DATA : ROLE_WEIGHT;

        done =
            add_product(r, chosen[c].node, first, first == ROLE_DATA ? ROLE_WEIGHT : ROLE_DATA) &&
            add_gradients(r, &chosen[c]);
    }
    return done;
}

/* ---- groups ---- */

/* Replace a dimension of the groups by that of blocks of it. */
static void set_blocks(struct graph *g, struct groups *out, uint32_t at, int64_t each,
                       int64_t period)
{
    uint32_t dim = out->dims[at], k = out->coding.ncoarse++;
    const struct graph_dim *d = &g->dims[dim];
    const char *name = period < d->size && each < period
                           ? graph_text(g, "%s:%" PRId64 "/%" PRId64, d->name, each, period)
                           : graph_text(g, "%s:%" PRId64, d->name, each);

    out->dims[at] = graph_dim(g, name, kern_blocks(d->size, each, period));
    out->coding.coarse[k].dim = dim;
    out->coding.coarse[k].blocks = out->dims[at];
    out->coding.coarse[k].each = each;
    out->coding.coarse[k].period = period;
}

/* The elements of dimension `d` of an array that a device has, unless they are too many or too few
 * to be a part of it with magnitudes of its own. */
static int64_t part_of(const struct rounding *r, const struct graph_node *x, uint32_t d,
                       enum role role)
{
    const struct products_opts *o = r->opts;
    int64_t size = r->graph->dims[x->dims[d]].size, parts = 1;

    if (role == ROLE_WEIGHT && o->weight_parts)
        parts = o->weight_parts[x - r->old][d];
    else if (role != ROLE_WEIGHT && o->data_parts && x->dims[d] < o->ndims)
        parts = o->data_parts[x->dims[d]];
    if (parts <= 1 || size % parts == 0)
        return parts > 1 ? size / parts : size;
    if (!r->opts->padded) /* binding the shardings refuses it at the line of its rule */
        return size;
    graph_fail(r->graph, SHD_EINDIVISIBLE,
               "products.amax local: %" PRId64 " parts do not divide dimension '%s' of "
               "%" PRId64 "; expected products.amax all",
               parts, r->graph->dims[x->dims[d]].name, size);
    return size;
}

/* Cut a dimension of the groups into blocks, which begin anew with a device's part, and of an
 * expert's slots with each group of tokens.  Blocks of experts' weights that do not divide a part
 * do not: a device has those of other parts, too. */
static void coarsen(struct rounding *r, struct groups *out, uint32_t at,
                    const struct graph_node *product, int64_t part)
{
    struct graph *g = r->graph;
    uint32_t dim = out->dims[at];
    bool grouped = product->op == GRAPH_GROUPED;
    bool slots = grouped && dim == product->attr.experts.slot_dim;
    int64_t size = g->dims[dim].size;
    int64_t all = slots ? product->attr.experts.routing->capacity : part;
    int64_t block = r->opts->block < all ? r->opts->block : all;
    int64_t period = slots || (!grouped && block > 0 && part % block != 0) ? all : size;

    if (block < 1 || (size % block != 0 && !slots)) {
        graph_fail(g, SHD_EINDIVISIBLE,
                   "products.block: blocks of %" PRId64 " do not divide dimension '%s' of %" PRId64
                   "; expected a divisor, or its matmuls in products.except",
                   block, g->dims[dim].name, size);
        return;
    }
    set_blocks(g, out, at, block, period);
}

/* Give each device's part of an array magnitudes of its own, along dimensions that the groups do
 * not have. */
static void group_parts(struct rounding *r, struct groups *out, const struct graph_node *x,
                        enum role role)
{
    struct graph *g = r->graph;

    for (uint32_t d = 0; d < x->rank && g->err.status == SHD_OK; d++) {
        int64_t size = g->dims[x->dims[d]].size, part = part_of(r, x, d, role);
        bool grouped = false;

        for (uint32_t i = 0; i < out->rank; i++)
            grouped |= out->dims[i] == x->dims[d];
        if (part == size || grouped)
            continue;
        if (out->coding.ncoarse + 1 == KERN_COARSE_MAX) { /* one is for blocks */
            graph_fail(g, SHD_EUNSUPPORTED,
                       "products.amax local: '%.60s' is sharded along more than %d dimensions; "
                       "expected products.amax all",
                       x->name, KERN_COARSE_MAX - 1);
            return;
        }
        out->dims[out->rank] = x->dims[d];
        set_blocks(g, out, out->rank++, part, size);
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
        coarsen(r, out, across, product, part_of(r, x, across, role));
    if (along != GRAPH_NONE)
        coarsen(r, out, along, product, part_of(r, x, along, role));
    if (square && across != GRAPH_NONE && across > along)
        coarsen(r, out, across, product, part_of(r, x, across, role));
}

static struct groups no_groups(const struct rounding *r, enum role role)
{
    struct groups out;

    memset(&out, 0, sizeof out); /* compared by bytes */
    out.coding.code = role == ROLE_GRADIENT ? r->opts->gradients : r->opts->code;
    out.coding.scaling = r->opts->recipe == PRODUCTS_MXFP8   ? KERN_SCALE_POWER
                         : r->opts->recipe == PRODUCTS_NVFP4 ? KERN_SCALE_DOUBLE
                                                             : KERN_SCALE_EXACT;
    return out;
}

/* Groups of the whole array, or of what is one by itself: an expert's array, a device's part. */
static void group_whole(struct rounding *r, struct groups *out, const struct graph_node *x,
                        const struct graph_node *product, enum role role)
{
    if (product->op == GRAPH_GROUPED && graph_has_dim(x, product->attr.experts.expert_dim))
        out->dims[out->rank++] = product->attr.experts.expert_dim;
    group_parts(r, out, x, role);
}

/* Note the parts that have a scale above those of the groups. */
static void add_parts(struct groups *out, const struct groups *parts)
{
    for (uint32_t k = 0; k < parts->coding.ncoarse; k++)
        out->coding.coarse[out->coding.ncoarse + k] = parts->coding.coarse[k];
    out->coding.nparts = parts->coding.ncoarse;
    out->part_rank = parts->rank;
    memcpy(out->part_dims, parts->dims, sizeof out->part_dims);
}

/* How a product groups an operand. */
static struct groups groups_of(struct rounding *r, const struct graph_node *x,
                               const struct graph_node *product, enum role role)
{
    struct groups out = no_groups(r, role), parts = no_groups(r, role);

    switch (r->opts->recipe) {
    case PRODUCTS_TENSORWISE:
        group_whole(r, &out, x, product, role);
        break;
    case PRODUCTS_ROWWISE:
        for (uint32_t d = 0; d < x->rank; d++)
            if (graph_has_dim(product, x->dims[d]))
                out.dims[out.rank++] = x->dims[d];
        group_parts(r, &out, x, role);
        break;
    case PRODUCTS_NVFP4:
        group_blocks(r, &out, x, product, role);
        group_whole(r, &parts, x, product, role);
        add_parts(&out, &parts);
        break;
    default:
        group_blocks(r, &out, x, product, role);
    }
    return out;
}

/* ---- rounding ---- */

/* Whether a weight is rounded in each phase anew. */
static bool is_gathered(const struct rounding *r, enum role role)
{
    return role == ROLE_WEIGHT && !r->opts->gathers;
}

/* The phase that an operand is rounded in; GRAPH_NPHASES: once for all. */
static enum graph_phase phase_of(const struct rounding *r, enum role role)
{
    return is_gathered(r, role) ? r->graph->phase : GRAPH_NPHASES;
}

static const struct rounded *find_rounded(const struct rounding *r, uint32_t of,
                                          enum graph_phase phase, const struct groups *groups)
{
    for (uint32_t i = r->nmade; i-- > 0;)
        if (r->made[i].of == of && r->made[i].stage == r->graph->stage &&
            r->made[i].phase == phase && !memcmp(&r->made[i].groups, groups, sizeof *groups))
            return &r->made[i];
    return NULL;
}

static uint32_t gather(struct graph *g, const char *name, uint32_t x)
{
    x = graph_constraint(g, graph_text(g, "%s/gathered", name), x);
    if (x != GRAPH_NONE)
        g->nodes[x].attr.constraint.gathered = true;
    return x;
}

static void note_rounded(struct rounding *r, const struct rounded *made)
{
    if (array_make_room(&r->made, r->nmade, sizeof *r->made))
        r->made[r->nmade++] = *made;
    else
        graph_fail(r->graph, SHD_ENOMEM, "no memory for a graph of %u nodes", r->graph->nnodes);
}

/* A magnitude that no data of these models exceeds. */
#define KNOWN_MOST 8

/* The largest magnitudes of x, which is the old node `of`, or one that is known before. */
static uint32_t amax_of(struct rounding *r, uint32_t of, uint32_t x, const struct groups *groups,
                        bool known)
{
    const char *name = r->old[of].name;
    struct graph *g = r->graph;

    if (known)
        return graph_input(g, graph_text(g, "%s/amax/%u", name, of), r->old[of].dtype, NULL, 0,
                           (struct kern_source){.offset = KNOWN_MOST});
    return graph_amax(g, graph_text(g, "%s/amax", name), x, &groups->coding, groups->dims,
                      groups->rank);
}

/* How the blocks along a dimension of an array, if it has some, are grouped into parts. */
static struct graph_coarse in_blocks(const struct graph *g, const struct graph_coding *coding,
                                     struct graph_coarse part)
{
    for (uint32_t k = 0; k < coding->ncoarse; k++) {
        const struct graph_coarse *c = &coding->coarse[k];

        if (c->dim != part.dim)
            continue;
        part.dim = c->blocks;
        part.each = kern_blocks(part.each, c->each, c->period < part.each ? c->period : part.each);
        part.period = g->dims[c->blocks].size;
    }
    return part;
}

/* The largest magnitudes of the parts of an array, from those of its groups. */
static uint32_t amax_of_parts(struct rounding *r, uint32_t of, uint32_t amax,
                              const struct groups *groups)
{
    const struct graph_coding *coding = &groups->coding;
    struct graph_coding parts = {.code = coding->code, .scaling = coding->scaling};

    for (uint32_t k = 0; k < coding->nparts; k++)
        parts.coarse[parts.ncoarse++] =
            in_blocks(r->graph, coding, coding->coarse[coding->ncoarse + k]);
    return graph_amax(r->graph, graph_text(r->graph, "%s/amax", r->old[of].name), amax, &parts,
                      groups->part_dims, groups->part_rank);
}

/* Quantize x, a phase's version of the old node `of`, unless already quantized alike. */
static struct graph_codes round_as(struct rounding *r, uint32_t of, uint32_t x,
                                   enum graph_phase phase, const struct groups *groups, bool known)
{
    struct graph_codes codes = {GRAPH_NONE, GRAPH_NONE, GRAPH_NONE, groups->coding};
    const struct rounded *found = find_rounded(r, of, phase, groups);
    const char *name = r->old[of].name;
    struct graph *g = r->graph;

    if (found)
        return found->codes;
    if (groups->coding.scaling == KERN_SCALE_DOUBLE) {
        codes.amax = amax_of(r, of, x, groups, false);
        codes.whole =
            known ? amax_of(r, of, x, groups, true) : amax_of_parts(r, of, codes.amax, groups);
    } else {
        codes.amax = amax_of(r, of, x, groups, known);
    }
    graph_encode(g, graph_text(g, "%s/codes", name), x, &codes);
    note_rounded(r, &(struct rounded){of, g->stage, phase, *groups, codes});
    return codes;
}

/* Set `out` to the codes in which rows came to experts, under the constraints that they are read
 * with; false: none came so. */
static bool find_sent(struct rounding *r, uint32_t of, const struct groups *groups,
                      struct graph_codes *out)
{
    const struct graph_node *n = &r->old[of];
    const struct rounded *found;

    if (n->op == GRAPH_DISPATCH) {
        found = find_rounded(r, of, GRAPH_NPHASES, groups);
        if (found)
            *out = found->codes;
        return found != NULL;
    }
    if (n->op != GRAPH_CONSTRAINT || !find_sent(r, n->inputs[0], groups, out))
        return false;
    out->codes = graph_constraint(r->graph, n->name, out->codes);
    out->amax = graph_constraint(r->graph, n->name, out->amax);
    return true;
}

/* Quantize a matmul's operand. */
static struct graph_codes round_operand(struct rounding *r, const struct product *p, uint32_t k)
{
    const struct graph_node *product = &r->old[p->node];
    uint32_t of = product->inputs[k], x = r->moved[of];
    struct groups groups = groups_of(r, &r->old[of], product, p->roles[k]);
    bool known = r->opts->known && p->roles[k] == ROLE_DATA;
    enum graph_phase phase = known ? GRAPH_NPHASES : phase_of(r, p->roles[k]);
    struct graph_codes codes;

    if (!known && !find_rounded(r, of, phase, &groups)) {
        if (find_sent(r, of, &groups, &codes))
            note_rounded(r, &(struct rounded){of, r->graph->stage, phase, groups, codes});
        else if (is_gathered(r, p->roles[k]))
            x = gather(r->graph, r->old[of].name, x);
    }
    return round_as(r, of, x, phase, &groups, known);
}

/* Round an array of the forward phase for the products of the backward phase, too. */
static void round_ahead(struct rounding *r, const struct product *now, uint32_t of)
{
    for (uint32_t p = 0; p < r->nproducts; p++) {
        const struct product *later = &r->products[p];

        for (uint32_t k = 0; k < 2; k++)
            if (later->node > now->node && r->old[later->node].inputs[k] == of &&
                phase_of(r, later->roles[k]) == GRAPH_NPHASES &&
                r->old[later->node].stage == r->graph->stage)
                (void)round_operand(r, later, k);
    }
}

/* The product of codes in place of a product. */
static uint32_t replace(struct rounding *r, const struct product *p)
{
    const struct graph_node *n = &r->old[p->node];
    struct graph_codes a, b;

    r->graph->phase = n->phase;
    r->graph->stage = n->stage;
    a = round_operand(r, p, 0);
    b = round_operand(r, p, 1);
    for (uint32_t k = 0; k < 2 && r->opts->keeps_codes && n->phase == GRAPH_FORWARD; k++)
        round_ahead(r, p, n->inputs[k]);
    if (n->op == GRAPH_GROUPED)
        return graph_coded_grouped(r->graph, &a, &b, r->moved[n->inputs[2]], n);
    return graph_coded(r->graph, n->name, &a, &b, n->dims, n->rank);
}

/* ---- rows that go to experts ---- */

static uint32_t renumbered(const struct rounding *r, uint32_t old)
{
    return old == GRAPH_NONE ? GRAPH_NONE : r->moved[old];
}

/* Whether rows are sent in codes; numbers beside rows, as gates, are not. */
static bool is_sent(const struct rounding *r, const struct graph_node *n)
{
    return r->opts->dispatch && n->op == GRAPH_DISPATCH && r->graph->dims[n->dims[2]].size > 1;
}

/* Send codes or magnitudes as a dispatch sends rows. */
static uint32_t send_as(struct rounding *r, const struct graph_node *n, uint32_t src)
{
    const struct graph_experts *e = &n->attr.experts;
    uint32_t rows =
        graph_dispatch(r->graph, n->name, src, r->moved[n->inputs[1]], r->moved[n->inputs[2]],
                       e->expert_dim, e->slot_dim, e->groups, e->routing);

    if (rows == GRAPH_NONE)
        return rows;
    r->graph->nodes[rows].attr.experts.sums = e->sums;
    r->graph->nodes[rows].gradient_of = renumbered(r, n->gradient_of);
    return rows;
}

/* Each token's values in codes, sent with their magnitudes, in place of a dispatch. */
static uint32_t send(struct rounding *r, uint32_t node)
{
    const struct graph_node *n = &r->old[node], *src = &r->old[n->inputs[0]];
    struct groups rows = no_groups(r, n->phase == GRAPH_FORWARD ? ROLE_DATA : ROLE_GRADIENT),
                  tokens;
    struct graph_codes codes;

    r->graph->phase = n->phase;
    r->graph->stage = n->stage;
    rows.rank = n->rank;
    memcpy(rows.dims, n->dims, n->rank * sizeof *n->dims);
    coarsen(r, &rows, 2, n, r->graph->dims[n->dims[2]].size);
    tokens = rows;
    tokens.rank = src->rank;
    memcpy(tokens.dims, src->dims, src->rank * sizeof *src->dims);
    tokens.dims[src->rank - 1] = rows.dims[2];
    codes = round_as(r, n->inputs[0], r->moved[n->inputs[0]], GRAPH_NPHASES, &tokens, false);
    codes.codes = send_as(r, n, codes.codes);
    codes.amax = send_as(r, n, codes.amax);
    note_rounded(r, &(struct rounded){node, n->stage, GRAPH_NPHASES, rows, codes});
    return graph_decode(r->graph, n->name, &codes);
}

static uint32_t append(struct rounding *r, const struct graph_node *node)
{
    struct graph *g = r->graph;

    if (!array_make_room(&g->nodes, g->nnodes, sizeof *g->nodes))
        return graph_fail(g, SHD_ENOMEM, "no memory for a graph of %u nodes", g->nnodes);
    g->nodes[g->nnodes] = *node;
    for (uint32_t k = 0; k < node->ninputs; k++)
        g->nodes[g->nnodes].inputs[k] = r->moved[node->inputs[k]];
    return g->nnodes++;
}

/* ---- weights that are stored as codes ---- */

/* The product that reads a weight, if all readers are products that round it, and alike; NULL. */
static const struct product *reader_of(struct rounding *r, uint32_t weight)
{
    const struct product *found = NULL;
    struct groups groups, other;

    for (uint32_t n = weight + 1; n < r->nold; n++)
        for (uint32_t k = 0; k < r->old[n].ninputs; k++) {
            const struct product *p = r->product_of[n] ? &r->products[r->product_of[n] - 1] : NULL;

            if (r->old[n].inputs[k] != weight)
                continue;
            if (!p || k > 1 || p->roles[k] != ROLE_WEIGHT)
                return NULL;
            other = groups_of(r, &r->old[weight], &r->old[n], ROLE_WEIGHT);
            if (found && memcmp(&groups, &other, sizeof groups) != 0)
                return NULL;
            groups = other;
            found = p;
        }
    return found;
}

/* The magnitudes of a weight's groups, which stand beside its codes. */
static uint32_t add_magnitudes(struct graph *g, const struct graph_node *weight,
                               const struct groups *groups)
{
    const struct kern_source most = {.offset = weight->source.scale / 2};
    uint32_t param = graph_param(g, graph_text(g, "%s/amax", weight->name), weight->dtype,
                                 groups->dims, groups->rank, most);

    if (param == GRAPH_NONE)
        return param;
    g->nodes[param].packs = 0;
    g->nodes[param].base = weight->name;
    return param;
}

/* A block dimension is sharded like the dimension divided into blocks. */
static void name_blocks(struct graph *g, const struct groups *groups)
{
    for (uint32_t k = 0; k < groups->coding.ncoarse; k++)
        g->dims[groups->coding.coarse[k].blocks].of = groups->coding.coarse[k].dim;
}

/* Scales of a weight's groups that stand beside its codes: in e4m3 at most its largest number, each
 * another; and the one above them, of the whole array or of each expert's. */
static bool add_scales(struct graph *g, struct graph_codes *out, const struct graph_node *weight,
                       const struct groups *groups, const struct graph_node *reader)
{
    const double e4m3 = kern_code_largest(SHD_F8E4M3);
    const struct kern_source scales = {.seed = weight->source.seed,
                                       .offset = 0.75 * e4m3,
                                       .scale = 0.5 * e4m3,
                                       .copies = weight->source.copies};
    const struct kern_source above = {.offset = weight->source.scale / 2 / e4m3 /
                                                kern_code_largest(groups->coding.code)};
    bool experts =
        reader->op == GRAPH_GROUPED && graph_has_dim(weight, reader->attr.experts.expert_dim);
    const uint32_t *dims = &reader->attr.experts.expert_dim;

    out->amax = graph_param(g, graph_text(g, "%s/scales", weight->name), SHD_F8E4M3, groups->dims,
                            groups->rank, scales);
    out->whole = graph_param(g, graph_text(g, "%s/scale", weight->name), weight->dtype, dims,
                             experts ? 1 : 0, above);
    if (g->err.status != SHD_OK)
        return false;
    g->nodes[out->amax].packs = g->nodes[out->whole].packs = 0;
    g->nodes[out->amax].base = g->nodes[out->whole].base = weight->name;
    out->coding.scaling = KERN_SCALE_KEPT;
    out->coding.nparts = 0;
    return true;
}

/* Make a weight's codes of e2m1 bytes of two, along the innermost dimension that is summed over. */
static void pack_pairs(struct graph *g, struct graph_node *param, const struct graph_node *reader)
{
    uint32_t d = innermost(param, reader, true);

    if (d == GRAPH_NONE || g->dims[param->dims[d]].size % 2 != 0) {
        graph_fail(g, SHD_EINDIVISIBLE,
                   "the inputs of '%.60s' do not divide into bytes of two codes; expected its "
                   "matmul in products.except",
                   param->name);
        return;
    }
    param->dims[d] = graph_dim_of(g, param->dims[d], 2);
    param->dtype = param->stored = SHD_U8;
    param->packs = 2;
    param->source = (struct kern_source){
        .seed = param->source.seed, .modulus = UINT8_MAX + 1, .copies = param->source.copies};
}

/* Codes and magnitudes in place of a weight, with the weight's name: numbers as wide as it has, all
 * groups' magnitudes being the same where they are kept, and not scales. */
static uint32_t store(struct rounding *r, uint32_t weight, const struct product *reader)
{
    const struct graph_node *n = &r->old[weight];
    struct groups groups = groups_of(r, n, &r->old[reader->node], ROLE_WEIGHT);
    struct graph_codes codes = {GRAPH_NONE, GRAPH_NONE, GRAPH_NONE, groups.coding};
    struct graph_node param = *n;
    struct graph *g = r->graph;

    if (g->err.status != SHD_OK)
        return GRAPH_NONE;
    param.dtype = param.stored = groups.coding.code;
    param.source.offset = 0;
    param.source.scale = 2 * kern_code_largest(groups.coding.code);
    param.source.rounded = groups.coding.code;
    name_blocks(g, &groups);
    if (groups.coding.scaling == KERN_SCALE_DOUBLE)
        pack_pairs(g, &param, &r->old[reader->node]);
    codes.codes = append(r, &param);
    if (g->err.status != SHD_OK || codes.codes == GRAPH_NONE)
        return GRAPH_NONE;
    if (groups.coding.scaling != KERN_SCALE_DOUBLE)
        codes.amax = add_magnitudes(g, n, &groups);
    else if (!add_scales(g, &codes, n, &groups, &r->old[reader->node]))
        return GRAPH_NONE;
    note_rounded(r, &(struct rounded){weight, n->stage, GRAPH_NPHASES, groups, codes});
    return codes.codes;
}

static bool is_stored(struct rounding *r, uint32_t node, const struct product **reader)
{
    bool stored = r->opts->stored || (r->opts->frozen && r->old[node].frozen);

    *reader = stored && r->old[node].op == GRAPH_PARAM ? reader_of(r, node) : NULL;
    return *reader != NULL;
}

/* ---- the graph anew ---- */

/* Renumber the nodes' and outputs' references; a replacement takes the references of its matmul. */
static void renumber(struct rounding *r)
{
    struct graph *g = r->graph;

    for (uint32_t n = 0; n < r->nold; n++) {
        struct graph_node *node = &g->nodes[r->moved[n]];

        node->gradient_of = renumbered(r, r->old[n].gradient_of);
        node->state_of = renumbered(r, r->old[n].state_of);
        for (uint32_t e = 0; e < r->old[n].nextras; e++)
            node->extras[e] = r->moved[r->old[n].extras[e]];
    }
    for (uint32_t o = 0; o < g->noutputs; o++) {
        g->outputs[o].node = renumbered(r, g->outputs[o].node);
        g->outputs[o].of = renumbered(r, g->outputs[o].of);
    }
}

static void rebuild(struct rounding *r)
{
    struct graph *g = r->graph;
    enum graph_phase phase = g->phase;
    uint32_t stage = g->stage;

    g->nodes = NULL;
    g->nnodes = 0;
    for (uint32_t n = 0; n < r->nold && g->err.status == SHD_OK; n++) {
        const struct product *reader;

        r->moved[n] = r->product_of[n]           ? replace(r, &r->products[r->product_of[n] - 1])
                      : is_sent(r, &r->old[n])   ? send(r, n)
                      : is_stored(r, n, &reader) ? store(r, n, reader)
                                                 : append(r, &r->old[n]);
    }
    if (g->err.status == SHD_OK)
        renumber(r);
    else
        g->noutputs = 0; /* they name old nodes */
    g->phase = phase;
    g->stage = stage;
    if (g->nstages > 1 && g->err.status == SHD_OK)
        graph_mark_weights(g);
}

void products_round(struct graph *graph, const struct products_chosen *chosen, uint32_t nchosen,
                    const struct products_opts *opts)
{
    struct graph_node *old = graph->nodes;
    struct rounding r = {.opts = opts, .graph = graph, .old = graph->nodes, .nold = graph->nnodes};

    if (graph->err.status != SHD_OK || (nchosen == 0 && !opts->dispatch))
        return;
    r.moved = calloc(2 * (size_t)r.nold + 1, sizeof *r.moved);
    r.product_of = r.moved ? r.moved + r.nold : NULL;
    if (r.moved && find_products(&r, chosen, nchosen)) {
        rebuild(&r);
        free(old);
    } else {
        graph_fail(graph, SHD_ENOMEM, "no memory for products in a graph of %u nodes", r.nold);
    }
    free(r.moved);
    free(r.products);
    free(r.made);
}
