/* Tests partition/alternatives.h on a product whose costs are counted by hand, and on expressions
 * whose costs are compared with those of whole programs.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "partition/alternatives.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition/emit.h"
#include "partition/place.h"
#include "../support/tap.h"

#define B 4
#define M 8
#define E 2
#define G 4 /* number of devices */

/* y[b,e] = x[b,m] w[m,e]; x and w are sharded along m, and y is asked for replicated. */
struct product {
    struct graph *graph;
    struct shd_mesh *mesh;
    struct shd_sharding cut_x, cut_w, whole;
    const struct shd_sharding *nodes[8], *outputs[1];
    struct partition_request request;
};

static void init(struct product *p, const char *name)
{
    const char *const names[] = {"tp"};
    const int32_t sizes[] = {G};
    struct kern_source source = {.seed = 1, .scale = 2};
    uint32_t b, m, e, x, w, y;

    memset(p, 0, sizeof *p);
    p->graph = graph_create();
    if (!p->graph || shd_mesh_create(&p->mesh, names, sizes, 1, NULL) != SHD_OK)
        abort();
    b = graph_dim(p->graph, "b", B);
    m = graph_dim(p->graph, "m", M);
    e = graph_dim(p->graph, "e", E);
    x = graph_input(p->graph, "x", SHD_F32, (uint32_t[]){b, m}, 2, source);
    w = graph_param(p->graph, "w", SHD_F32, (uint32_t[]){m, e}, 2, source);
    y = graph_einsum(p->graph, name, x, w, (uint32_t[]){b, e}, 2);
    graph_output(p->graph, GRAPH_OUTPUT, "y", y, GRAPH_NONE);
    shd_sharding_init(&p->whole, p->mesh, 2);
    p->cut_x = p->cut_w = p->whole;
    p->cut_x.dims[1].naxes = p->cut_w.dims[0].naxes = 1;
    p->nodes[x] = &p->cut_x;
    p->nodes[w] = &p->cut_w;
    p->outputs[0] = &p->whole;
    p->request = (struct partition_request){
        .graph = p->graph, .mesh = p->mesh, .nodes = p->nodes, .outputs = p->outputs};
}

static void fini(struct product *p)
{
    graph_destroy(p->graph);
    shd_mesh_destroy(p->mesh);
}

/* Whether an alternative moves `bytes` more than the chosen sharding (negative: fewer). */
static bool is_more(const struct alternative *a, int64_t bytes)
{
    return bytes < 0 ? a->more_bytes == 0 && a->fewer_bytes == (uint128)-bytes
                     : a->more_bytes == (uint128)bytes && a->fewer_bytes == 0;
}

static void test_product(void)
{
    /* The chosen sharding by m all-reduces y. */
    const int64_t chosen = 2 * (G - 1) * B * E * 4;
    /* Sharding by b turns x from columns to rows and gathers w and the rows of y. */
    const int64_t rows = (G - 1) * B * M / G * 4 + (G - 1) * M * E * 4 + (G - 1) * B * E * 4;
    const int64_t nothing = (G - 1) * B * M * 4 + (G - 1) * M * E * 4;
    struct alternative list[ALTERNATIVES_MAX];
    struct alternatives *alternatives;
    struct shd_error err;
    struct product p;
    uint32_t n, first;

    init(&p, "y");
    ok(alternatives_create(&alternatives, &p.request, &err) == SHD_OK, "create");
    n = alternatives_of(alternatives, "y", 0, list);
    ok(n == 3, "e does not divide by %d: three ways of four, %u", G, n);
    for (uint32_t i = 0; i < n; i++) {
        const char *dim = list[i].dim ? list[i].dim : "";

        ok(list[i].chosen == !strcmp(dim, "m") && list[i].reduced == !strcmp(dim, "m"),
           "'%s': m is chosen, and summed over", dim);
        if (!*dim)
            ok(is_more(&list[i], nothing - chosen) && list[i].work > G - 0.01 &&
                   list[i].work < G + 0.01,
               "nothing: %lld bytes more; %g of the work", (long long)(nothing - chosen),
               list[i].work);
        if (!strcmp(dim, "b"))
            ok(is_more(&list[i], rows - chosen), "b: %lld bytes more", (long long)(rows - chosen));
    }
    first = alternatives_of(alternatives, "y", 0, list);
    ok(first == n, "asking twice gives the same alternatives");
    ok(alternatives_of(alternatives, "x", 0, list) == 0, "an argument has no alternatives");
    ok(alternatives_of(alternatives, "none", 0, list) == 0, "an unknown name has no alternatives");
    ok(alternatives_of(alternatives, "y", 1, list) == 0,
       "a node of another phase has no alternatives");
    alternatives_destroy(alternatives);
    alternatives_destroy(NULL);
    fini(&p);
}

static void test_bad(void)
{
    struct alternatives *alternatives;
    struct shd_error err;
    struct product p;

    init(&p, "y");
    p.cut_w.dims[0].naxes = 0;
    p.cut_w.dims[1].naxes = 1;
    ok(alternatives_create(&alternatives, &p.request, &err) == SHD_EINDIVISIBLE,
       "a sharding that does not divide");
    fini(&p);
}

/* ---- against whole programs ---- */

#define LAYERS 3
#define WIDTH 16
#define NODES_MAX 64

/* Layers on a mesh of two axes: two products with an expression between them that is also read
 * under another name, and a sum that several ops read and that is also a result. */
struct layers {
    struct graph *graph;
    struct shd_mesh *mesh;
    struct shd_sharding by_rows, by_columns;
    const struct shd_sharding *nodes[NODES_MAX];
    char names[LAYERS][7][16];
    struct partition_request request;
};

static const char *layer_name(struct layers *l, int layer, int k)
{
    snprintf(l->names[layer][k], sizeof l->names[layer][k], "%d/%d", layer, k);
    return l->names[layer][k];
}

static uint32_t add_layer(struct layers *l, int layer, const uint32_t *dims, uint32_t x)
{
    const struct kern_source source = {.seed = 1, .scale = 2};
    const uint32_t inner[] = {dims[0], dims[2]}, outer[] = {dims[0], dims[1]};
    struct graph *g = l->graph;
    uint32_t up = graph_param(g, layer_name(l, layer, 0), SHD_F32, dims + 1, 2, source);
    uint32_t down =
        graph_param(g, layer_name(l, layer, 1), SHD_F32, (uint32_t[]){dims[2], dims[1]}, 2, source);
    uint32_t p = graph_einsum(g, layer_name(l, layer, 2), x, up, inner, 2);
    uint32_t e = graph_map(g, layer_name(l, layer, 3), KERN_EXP, p, GRAPH_NONE, 0);
    uint32_t q = graph_map(g, layer_name(l, layer, 4), KERN_MUL, e, p, 0);
    uint32_t d =
        graph_einsum(g, layer_name(l, layer, 5), graph_constraint(g, "same", q), down, outer, 2);

    l->nodes[up] = &l->by_columns;
    l->nodes[down] = &l->by_rows;
    return graph_map(g, layer_name(l, layer, 6), KERN_ADD, x, d, 0);
}

static void init_layers(struct layers *l, enum partition_placement placement)
{
    const char *const names[] = {"dp", "tp"};
    const int32_t sizes[] = {2, 4};
    uint32_t dims[3], x;

    memset(l, 0, sizeof *l);
    l->graph = graph_create();
    if (!l->graph || shd_mesh_create(&l->mesh, names, sizes, 2, NULL) != SHD_OK)
        abort();
    dims[0] = graph_dim(l->graph, "b", WIDTH);
    dims[1] = graph_dim(l->graph, "m", WIDTH);
    dims[2] = graph_dim(l->graph, "h", WIDTH);
    x = graph_input(l->graph, "x", SHD_F32, dims, 2, (struct kern_source){.seed = 2, .scale = 2});
    shd_sharding_init(&l->by_rows, l->mesh, 2);
    l->by_columns = l->by_rows;
    l->by_rows.dims[0].naxes = l->by_columns.dims[1].naxes = 1;
    l->by_rows.dims[0].axes[0] = l->by_columns.dims[1].axes[0] = 1;
    for (int layer = 0; layer < LAYERS; layer++) {
        x = add_layer(l, layer, dims, x);
        if (layer != 1)
            graph_output(l->graph, GRAPH_OUTPUT, "y", x, GRAPH_NONE);
    }
    l->request = (struct partition_request){
        .graph = l->graph, .mesh = l->mesh, .nodes = l->nodes, .placement = placement};
}

struct total {
    uint128 bytes, flops;
    uint32_t nkernels; /* kernels with the name */
};

/* Costs of the whole program with the present placement; false if the program cannot be made. */
static bool emit_whole(struct total *out, struct placement *p, const char *name)
{
    struct program *program = program_create(p->mesh);
    bool emitted = program && emit_program(program, p, &(struct emit_opts){0}, NULL) == SHD_OK;

    *out = (struct total){0, 0, 0};
    for (uint32_t i = 0; emitted && i < program->nops; i++) {
        const struct program_op *op = &program->ops[i];

        if (op->kind == PROGRAM_RESHARD)
            out->bytes += op->reshard.received_bytes;
        if (op->kind != PROGRAM_KERNEL || strcmp(op->name, name) != 0)
            continue;
        out->flops += op->dense_flops;
        out->nkernels++;
    }
    program_destroy(program);
    return emitted;
}

static bool is_difference(const struct alternative *a, const struct total *base,
                          const struct total *now)
{
    return is_more(a, (int64_t)now->bytes - (int64_t)base->bytes) &&
           a->work == (double)now->flops / (double)base->flops;
}

/* Whether the list has each valid sharding of a node, in order, with the bytes that the whole
 * program then moves. */
static bool told_right(struct placement *p, uint32_t node, const struct total *base,
                       const struct alternative *list, uint32_t n)
{
    struct placement_node *c = &p->nodes[node];
    const struct assign was = c->assign;
    uint32_t told = 0;
    bool right = true;

    for (uint8_t axis = 0; axis < shd_mesh_naxes(p->mesh); axis++)
        for (int place = ASSIGN_NONE; place < (int)c->rule.nfactors; place++) {
            struct assign other = was;
            const struct assigned asked = {p->graph, node, &c->rule, &other, p->mesh};
            struct total now;

            other.place[axis] = (int8_t)place;
            if (was.place[axis] == ASSIGN_PARTIAL || !assign_valid(&asked))
                continue;
            c->assign = other;
            placement_settle(p, node);
            if (emit_whole(&now, p, p->graph->nodes[node].name)) {
                right &=
                    told < n && list[told].axis == axis && is_difference(&list[told], base, &now);
                told++;
            }
        }
    c->assign = was;
    placement_settle(p, node);
    return right && told == n;
}

static void test_layers(enum partition_placement placement)
{
    struct alternative list[ALTERNATIVES_MAX];
    struct alternatives *alternatives;
    struct pool pool = {0};
    struct placement p;
    struct layers l;
    uint32_t ntold = 0;

    init_layers(&l, placement);
    if (alternatives_create(&alternatives, &l.request, NULL) != SHD_OK ||
        place_values(&p, &pool, &l.request, NULL) != SHD_OK)
        abort();
    for (uint32_t node = 0; node < l.graph->nnodes; node++) {
        const char *name = l.graph->nodes[node].name;
        struct total base;
        uint32_t n;

        if (!placement_is_free(&p, node) || !emit_whole(&base, &p, name))
            continue;
        n = alternatives_of(alternatives, name, 0, list);
        ntold += n;
        if (base.nkernels == 1)
            ok(told_right(&p, node, &base, list, n), "'%s': %u ways, as whole programs", name, n);
        else
            ok(n == 0, "'%s': computed in its reader", name);
    }
    ok(ntold > 10 * LAYERS, "%u ways in all", ntold);
    ok(!alternatives_failed(alternatives), "none left out");
    alternatives_destroy(alternatives);
    pool_free(&pool);
    graph_destroy(l.graph);
    shd_mesh_destroy(l.mesh);
}

int main(void)
{
    plan(0);
    test_layers(PARTITION_FOLLOW);
    test_layers(PARTITION_SEARCH);
    test_product();
    test_bad();
    return done();
}
