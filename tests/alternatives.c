/* What partition/alternatives.h promises, on a product whose costs can be counted by hand.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "partition/alternatives.h"

#include <stdlib.h>
#include <string.h>

#include "tap.h"

#define B 4
#define M 8
#define E 2
#define G 4 /* devices */

/* y[b,e] = x[b,m] w[m,e], both cut along m, y wanted whole. */
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

/* Bytes against the chosen way, less where negative. */
static bool is_more(const struct alternative *a, int64_t bytes)
{
    return bytes < 0 ? a->more_bytes == 0 && a->fewer_bytes == (uint128)-bytes
                     : a->more_bytes == (uint128)bytes && a->fewer_bytes == 0;
}

static void test_product(void)
{
    /* As it is: the all-reduce of y. */
    const int64_t chosen = 2 * (G - 1) * B * E * 4;
    /* x goes from columns to rows, w is gathered, rows of y are gathered. */
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
    ok(first == n, "the choice is as it was: the same again");
    ok(alternatives_of(alternatives, "x", 0, list) == 0, "an argument leaves no choice");
    ok(alternatives_of(alternatives, "none", 0, list) == 0, "nor what is not there");
    ok(alternatives_of(alternatives, "y", 1, list) == 0, "nor another phase");
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

int main(void)
{
    plan(0);
    test_product();
    test_bad();
    return done();
}
