/* Tests shd/graph.h: graphs built by calls and lines run, and wrong ones are refused.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/graph.h>

#include <stdlib.h>
#include <string.h>

#include "../support/tap.h"

static struct shd_graph *new_graph(void)
{
    struct shd_graph *g = NULL;

    if (shd_graph_create(&g, NULL) != SHD_OK)
        return NULL;
    shd_graph_dim(g, "b", 8);
    shd_graph_dim(g, "d", 16);
    return g;
}

/* y = x w, and the ops of `line`. */
static struct shd_graph *product(const char *line)
{
    struct shd_graph *g = new_graph();
    int32_t x, w;

    shd_graph_dim(g, "f", 12);
    x = shd_graph_input(g, "x", SHD_F32, "b, d");
    w = shd_graph_param(g, "w", SHD_F32, "d f");
    shd_graph_output(g, "y", shd_graph_constraint(g, "y", shd_graph_einsum(g, "xw", x, w, "b,f")));
    if (line)
        shd_graph_output(g, "z", shd_graph_line(g, line));
    return g;
}

static void test_run(void)
{
    const char *axes[] = {"dp"};
    const int32_t sizes[] = {4};
    const struct shd_graph_spec specs[] = {{"x", "[dp]"}, {"w", "[]"}, {"y", "[dp]"}};
    const struct shd_graph_opts strict = {1e-30, 0, NULL}, small = {0, 64, NULL};
    struct shd_graph *g = product("z[b] = mean(softmax(y[b,f], f) * y)");
    struct shd_graph_stats stats;
    struct shd_error err = {0, ""};
    struct shd_mesh *mesh = NULL;

    if (shd_mesh_create(&mesh, axes, sizes, 1, NULL) != SHD_OK)
        return;
    shd_graph_backward(g);
    int status = shd_graph_run(g, mesh, specs, 3, NULL, &stats, &err);
    if (ok(status == SHD_OK && stats.ndevices == 4 && stats.within && stats.error <= 1,
           "run: verified")) {
        ok(stats.received_bytes[0] > 0 && stats.sent_bytes[3] > 0 && stats.peak_bytes[1] > 0 &&
               stats.flops[2] > 0 && stats.ncollectives > 0,
           "run: counts");
        shd_graph_stats_fini(&stats);
        ok(stats.received_bytes == NULL && stats.ndevices == 0, "stats_fini: nothing left");
    } else {
        diag("%s", err.text);
    }
    ok(shd_graph_run(g, mesh, specs, 3, &strict, &stats, &err) == SHD_OK && !stats.within,
       "run: not within a tolerance of nothing");
    shd_graph_stats_fini(&stats);
    ok(shd_graph_run(g, mesh, specs, 3, &small, &stats, &err) == SHD_EDEVMEM,
       "run: over the memory limit");
    ok(shd_graph_run(g, mesh, NULL, 0, NULL, &stats, &err) == SHD_OK && stats.within,
       "run: nothing asked for");
    shd_graph_stats_fini(&stats);
    shd_graph_destroy(g);
    shd_mesh_destroy(mesh);
    shd_graph_destroy(NULL);
}

static const struct {
    const char *what;
    struct shd_graph_spec spec;
    int status;
} bad_specs[] = {
    {"an unknown name", {"v", "[dp]"}, SHD_ENOTFOUND},
    {"a value that is no place", {"xw", "[dp]"}, SHD_ENOTFOUND},
    {"an unknown axis", {"x", "[tp]"}, SHD_ENOAXIS},
    {"a text that is no spec", {"x", "[dp"}, SHD_EINVAL},
    {"a spec that is too long", {"x", "[dp, null, null]"}, SHD_ESPECLONG},
    {"a dimension that does not divide", {"w", "[null, dp]"}, SHD_EINDIVISIBLE},
};

static void test_bad_specs(void)
{
    const char *axes[] = {"dp"};
    const int32_t sizes[] = {8};
    struct shd_mesh *mesh = NULL;
    struct shd_graph *g = product(NULL);

    if (shd_mesh_create(&mesh, axes, sizes, 1, NULL) != SHD_OK)
        return;
    for (size_t i = 0; i < sizeof bad_specs / sizeof bad_specs[0]; i++) {
        struct shd_graph_stats stats;
        struct shd_error err = {0, ""};
        int status = shd_graph_run(g, mesh, &bad_specs[i].spec, 1, NULL, &stats, &err);

        if (!ok(status == bad_specs[i].status && err.status == status, "spec: %s",
                bad_specs[i].what))
            diag("%d %s", status, err.text);
    }
    shd_graph_destroy(g);
    shd_mesh_destroy(mesh);
}

/* The first error is kept and ends the building; frees `g`. */
static void fails(struct shd_graph *g, int status, const char *text, const char *what)
{
    struct shd_error err = {0, ""};
    int got = shd_graph_status(g, &err);

    if (!ok(got == status && strstr(err.text, text) &&
                shd_graph_input(g, "more", SHD_F32, "b") == SHD_GRAPH_NONE &&
                shd_graph_status(g, NULL) == status,
            "refused: %s", what))
        diag("%d %s", got, err.text);
    shd_graph_destroy(g);
}

static void test_bad_graphs(void)
{
    struct shd_graph *g = new_graph();

    shd_graph_input(g, "x", SHD_F32, "b,q");
    fails(g, SHD_ENOTFOUND, "'x' has dimension 'q', which is not known", "a dimension");
    g = new_graph();
    shd_graph_input(g, "x", SHD_I32, "b");
    fails(g, SHD_EUNSUPPORTED, "'x' holds whole numbers", "whole numbers");
    g = new_graph();
    shd_graph_einsum(g, "y", 3, 4, "b");
    fails(g, SHD_EINVAL, "'y' is made from 3, which is not a value", "a value");
    g = new_graph();
    shd_graph_map(g, "y", "geluu", shd_graph_input(g, "x", SHD_F32, "b"), SHD_GRAPH_NONE, 0);
    fails(g, SHD_ENOTFOUND, "there is no function 'geluu' for 'y'", "a function");
    g = new_graph();
    shd_graph_map(g, "y", "add", shd_graph_input(g, "x", SHD_F32, "b"), SHD_GRAPH_NONE, 0);
    fails(g, SHD_EINVAL, "'y': add has 2 operands", "an operand");
    g = new_graph();
    shd_graph_line(g, "y = gelu(x)");
    fails(g, SHD_EINVAL, "'y = gelu(x)', column 10: no array 'x' before this line", "a line");
    g = product(NULL);
    shd_graph_backward(g);
    shd_graph_line(g, "z = y");
    fails(g, SHD_EINVAL, "a graph cannot grow behind its backward computation", "growing");
    g = new_graph();
    shd_graph_dim(g, "b", 9);
    fails(g, SHD_EINVAL, "dimension 'b' has size 8, not 9", "another size");
}

static void test_no_output(void)
{
    struct shd_graph *g = new_graph();
    struct shd_graph_stats stats;
    struct shd_mesh *mesh = NULL;

    if (shd_mesh_create(&mesh, NULL, NULL, 0, NULL) != SHD_OK)
        return;
    ok(shd_graph_run(g, mesh, NULL, 0, NULL, &stats, NULL) == SHD_EINVAL, "run: no output");
    shd_graph_destroy(g);
    shd_mesh_destroy(mesh);
}

/* What a caller may do after an error, or without wanting figures. */
static void test_stats(void)
{
    struct shd_graph *graph;
    struct shd_graph_stats stats;
    struct shd_error err;

    memset(&stats, 0xff, sizeof stats);
    if (shd_graph_create(&graph, &err) != SHD_OK)
        exit(99);
    ok(shd_graph_run(graph, NULL, NULL, 0, NULL, &stats, &err) != SHD_OK && !stats.received_bytes,
       "figures of a run that failed are zeros");
    shd_graph_stats_fini(&stats);
    shd_graph_stats_fini(NULL);
    ok(shd_graph_map(graph, "x", NULL, 0, SHD_GRAPH_NONE, 0) == SHD_GRAPH_NONE,
       "no function is no function");
    shd_graph_destroy(graph);
}

int main(void)
{
    plan(0);
    test_run();
    test_bad_specs();
    test_bad_graphs();
    test_no_output();
    test_stats();
    return done();
}
