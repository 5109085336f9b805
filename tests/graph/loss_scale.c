/* Tests a scaled loss against plain loops: which steps are skipped, how a dynamic scale changes,
 * and the masters, moments and 16-bit parameters after each step, on one device and on four.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/optimizer/training.h"
#include "kern/convert.h"
#include "model/zero.h"
#include "partition/partition.h"
#include "program/record.h"
#include "../support/tap.h"
#include "run/walk/walk.h"

enum { N = 4, STEPS = 14, INITIAL = 1024, INTERVAL = 3, RESULTS_MAX = 16 };

/* The gradient of each step, equal for all elements.  In float16 it is infinite from 65520 / scale
 * on: in steps 2 and 3, and later when the scale has been doubled too often. */
static const double gradients[STEPS] = {1, -2, 100, 63.9375, 3, 1, 0.5, 2, 1, 16, 1, 1, 1, 40};

struct state {
    double scale, good_steps, master, momentum, param;
};

/* ---- plain loops ---- */

static void plain_step(struct state *s, double gradient, const struct optimizer_opts *opts)
{
    bool dynamic = opts->loss_scale.kind == LOSS_SCALE_DYNAMIC;
    double scaled = kern_round(SHD_F16, s->scale * gradient);

    if (!isfinite(scaled)) {
        s->scale /= dynamic ? 2 : 1;
        s->good_steps = 0;
        return;
    }
    s->momentum = kern_round(SHD_BF16, (float)(opts->momentum * s->momentum) + scaled / s->scale);
    s->master = (float)(s->master - (float)(opts->rate * s->momentum));
    s->param = kern_round(SHD_F16, s->master);
    s->good_steps += dynamic;
    if (s->good_steps == INTERVAL) {
        s->scale *= 2;
        s->good_steps = 0;
    }
}

/* ---- the program ---- */

/* loss = sum of x w over all elements, so that the gradient of w is x. */
static struct graph *make_graph(const struct optimizer_opts *opts)
{
    const struct kern_source x_source = {.by_step = gradients, .nsteps = STEPS};
    const struct kern_source w_source = {.scale = 0, .offset = 0.3};
    struct graph *g = graph_create();
    uint32_t dim = graph_dim(g, "n", N), x, w;

    x = graph_input(g, "x", SHD_F16, &dim, 1, x_source);
    w = graph_param(g, "w", SHD_F16, &dim, 1, w_source);
    x = graph_map(g, "product", KERN_MUL, w, x, 0);
    x = graph_convert(g, "loss/out", SHD_F32, x);
    x = graph_reduce(g, "loss", SHD_SUM, x, NULL, 0);
    training_add(g, x, opts);
    return g;
}

struct watch {
    const struct program *program;
    const struct optimizer_opts *opts;
    struct state want;
    uint32_t nwrong, nskipped;
};

/* The first element of an array's next value. */
static double left(const struct program *program, const char *name, const void *const *shards)
{
    double value[1 + KERN_LANES] = {NAN};

    for (uint32_t r = 0; r < program->nresults; r++)
        if (program->results[r].kind == PROGRAM_NEXT && !strcmp(program->results[r].name, name))
            kern_load_f64(program->buffers[program->results[r].buffer].dtype, shards[r], 1, 1,
                          value);
    return value[0];
}

static bool holds(const char *name, uint32_t step, double got, double want)
{
    if (got != want)
        diag("step %u: %s is %.9g, not %.9g", (unsigned)step, name, got, want);
    return got == want;
}

static void end_step(void *arg, int32_t position, uint32_t step, const void *const *shards)
{
    struct watch *w = arg;
    struct state before = w->want;
    const struct program *p = w->program;
    bool good = true;

    if (position != 0)
        return;
    plain_step(&w->want, gradients[step], w->opts);
    w->nskipped += w->want.master == before.master;
    good &= holds("master", step, left(p, "opt/master/w", shards), w->want.master);
    good &= holds("momentum", step, left(p, "opt/momentum/w", shards), w->want.momentum);
    good &= holds("parameter", step, left(p, "w", shards), w->want.param);
    if (w->opts->loss_scale.kind == LOSS_SCALE_DYNAMIC) {
        good &= holds("scale", step, left(p, "opt/loss_scale", shards), w->want.scale);
        good &= holds("good steps", step, left(p, "opt/good_steps", shards), w->want.good_steps);
    }
    w->nwrong += !good;
}

/* Shard the optimizer's state over the only axis. */
static void place(const struct shd_sharding **nodes, struct shd_sharding *storage,
                  const struct graph *g, const struct shd_mesh *mesh)
{
    for (uint32_t n = 0; n < g->nnodes; n++) {
        int64_t shape[GRAPH_RANK_MAX];

        if (g->nodes[n].state_of == GRAPH_NONE)
            continue;
        shd_sharding_init(&storage[n], mesh, g->nodes[n].rank);
        graph_shape(g, n, shape);
        (void)zero_cut(&storage[n], shape, &(struct zero_axes){.n = 1});
        nodes[n] = &storage[n];
    }
}

static bool run(struct watch *watch, int32_t ndevices)
{
    struct walk_opts opts = {.repeats = STEPS, .stepped = end_step, .stepped_arg = watch};
    struct graph *g = make_graph(watch->opts);
    const struct shd_sharding **nodes = calloc(g->nnodes + 1, sizeof *nodes);
    struct shd_sharding *storage = calloc(g->nnodes + 1, sizeof *storage);
    struct partition_request request = {.graph = g, .nodes = nodes};
    struct program *program = NULL;
    struct record *record = NULL;
    struct shd_mesh *mesh = NULL;
    struct shd_error err = {SHD_OK, ""};
    bool good = graph_status(g, &err) == SHD_OK &&
                shd_mesh_create(&mesh, (const char *const[]){"dp"}, &ndevices, 1, &err) == SHD_OK;

    if (good)
        place(nodes, storage, g, mesh);
    request.mesh = mesh;
    good = good && partition_build(&program, &request, &err) == SHD_OK &&
           record_create(&record, program, RECORD_EXECUTED, false, &err) == SHD_OK;
    watch->program = program;
    good = good && walk_run(record, &opts, &err) == SHD_OK;
    if (!good)
        diag("%s", err.text);
    record_destroy(record);
    program_destroy(program);
    shd_mesh_destroy(mesh);
    graph_destroy(g);
    free(storage);
    free(nodes);
    return good;
}

static void compare(enum loss_scale_kind kind, const char *what, int32_t ndevices,
                    uint32_t nskipped)
{
    const struct optimizer_opts opts = {.kind = &optimizer_sgd,
                                        .rate = 0.125,
                                        .momentum = 0.5,
                                        .steps = STEPS,
                                        .types = {SHD_F32, SHD_F32, SHD_BF16, SHD_F32},
                                        .loss_scale = {kind, INITIAL, INTERVAL}};
    struct watch watch = {.opts = &opts,
                          .want = {INITIAL, 0, (float)0.3, 0, kern_round(SHD_F16, 0.3)}};
    bool good = run(&watch, ndevices);

    ok(good && watch.nwrong == 0, "%s, %d devices: all that stays, after each of %d steps", what,
       (int)ndevices, STEPS);
    ok(good && watch.nskipped == nskipped, "%s, %d devices: %u steps are skipped: %u", what,
       (int)ndevices, (unsigned)nskipped, (unsigned)watch.nskipped);
}

int main(void)
{
    for (int32_t ndevices = 1; ndevices <= 4; ndevices += 3) {
        compare(LOSS_SCALE_STATIC, "static", ndevices, 1);
        compare(LOSS_SCALE_DYNAMIC, "dynamic", ndevices, 2);
    }
    return done();
}
