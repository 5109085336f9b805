/* A gated layer written down with the graph builder, on 2 x 4 devices: batch over dp, the hidden
 * dimension over tp; forward and backward, verified against one device.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <inttypes.h>
#include <stdio.h>

#include <shd/graph.h>

static void build(struct shd_graph *g)
{
    int32_t x, up, gate, down, h, y;

    shd_graph_dim(g, "b", 8);
    shd_graph_dim(g, "d", 32);
    shd_graph_dim(g, "f", 64);
    x = shd_graph_input(g, "x", SHD_F32, "b,d");
    up = shd_graph_param(g, "up", SHD_F32, "d,f");
    gate = shd_graph_param(g, "gate", SHD_F32, "d,f");
    down = shd_graph_param(g, "down", SHD_F32, "f,d");

    h = shd_graph_einsum(g, "gated", x, gate, "b,f");
    h = shd_graph_map(g, "silu", "silu", h, SHD_GRAPH_NONE, 0);
    h = shd_graph_map(g, "product", "mul", h, shd_graph_einsum(g, "upped", x, up, "b,f"), 0);
    h = shd_graph_constraint(g, "hidden", h);
    y = shd_graph_constraint(g, "sum", shd_graph_einsum(g, "downed", h, down, "b,d"));
    shd_graph_output(g, "y", y);
    /* The same could be a line; here it normalises the result. */
    shd_graph_output(g, "z", shd_graph_line(g, "z[b,d] = rms_norm(x + sum, d)"));
    shd_graph_backward(g);
}

int main(void)
{
    const char *axes[] = {"dp", "tp"};
    const int32_t sizes[] = {2, 4};
    const struct shd_graph_spec specs[] = {
        {"x", "[dp]"},          {"up", "[null, tp]"},        {"gate", "[null, tp]"},
        {"down", "[tp, null]"}, {"hidden", "P('dp', 'tp')"}, {"sum", "[dp]"},
    };
    struct shd_mesh *mesh = NULL;
    struct shd_graph *graph = NULL;
    struct shd_graph_stats stats;
    struct shd_error err;
    int status = shd_mesh_create(&mesh, axes, sizes, 2, &err);

    if (status == SHD_OK)
        status = shd_graph_create(&graph, &err);
    if (status == SHD_OK) {
        build(graph);
        status =
            shd_graph_run(graph, mesh, specs, sizeof specs / sizeof specs[0], NULL, &stats, &err);
    }
    if (status != SHD_OK) {
        fprintf(stderr, "own_graph: %s\n", err.text);
    } else {
        printf("%" PRId32 " devices: %s, %" PRIu32 " collectives, received %" PRIu64
               " bytes, %" PRIu64 " flops a device\n",
               stats.ndevices, stats.within ? "verified" : "wrong", stats.ncollectives,
               stats.received_bytes[0], stats.flops[0]);
        status = stats.within ? SHD_OK : SHD_EINVAL;
        shd_graph_stats_fini(&stats);
    }
    shd_graph_destroy(graph);
    shd_mesh_destroy(mesh);
    return status == SHD_OK ? 0 : 1;
}
