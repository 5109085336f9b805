/* Tests optimizers against plain loops: some steps of SGD, AdamW and Muon on a linear model with
 * hand-written gradients, on one device and on four that shard batch and state.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/optimizer/training.h"
#include "model/zero.h"
#include "partition/partition.h"
#include "../support/tap.h"
#include "trial/collect.h"
#include "trial/verify.h"
#include "run/walk/walk.h"

enum { BATCH = 8, IN = 12, OUT = 4, NPARAMS = IN * OUT + OUT, STEPS = 5, NODES_MAX = 512 };

static const struct kern_source x_source = {
    .seed = 3, .scale = 2, .place = {.per_step = BATCH * IN}};
static const struct kern_source w_source = {.seed = 5, .scale = 1};
static const struct kern_source c_source = {.seed = 7, .scale = 1};

/* ---- plain loops ---- */

struct plain {
    double p[NPARAMS]; /* w[IN][OUT], then c[OUT] */
    double m[NPARAMS], v[NPARAMS];
    double losses[STEPS], norms[STEPS];
};

static void fill(const struct kern_source *source, uint32_t step, int64_t n, double *out)
{
    static const int64_t start[1] = {0};
    struct kern_source s = *source;

    s.step = step;
    kern_fill(&s, SHD_F64, 1, &n, start, &n, out);
}

/* The loss is the mean of (x w + c)^2 over batch and outputs; g gets its gradient. */
static double plain_gradient(const struct plain *s, uint32_t step, double *g)
{
    double x[BATCH * IN], loss = 0;

    fill(&x_source, step, BATCH * IN, x);
    memset(g, 0, NPARAMS * sizeof *g);
    for (int b = 0; b < BATCH; b++)
        for (int o = 0; o < OUT; o++) {
            double y = s->p[IN * OUT + o], dy;

            for (int i = 0; i < IN; i++)
                y += x[b * IN + i] * s->p[i * OUT + o];
            loss += y * y / (BATCH * OUT);
            dy = 2 * y / (BATCH * OUT);
            g[IN * OUT + o] += dy;
            for (int i = 0; i < IN; i++)
                g[i * OUT + o] += dy * x[b * IN + i];
        }
    return loss;
}

static double plain_rate(const struct optimizer_opts *o, uint32_t step)
{
    if (step < o->warmup)
        return o->rate * (step + 1) / o->warmup;
    if (o->decay == OPTIMIZER_CONSTANT)
        return o->rate;
    return o->rate * 0.5 * (1 + cos(M_PI * (step - o->warmup) / (double)(o->steps - o->warmup)));
}

static void plain_sgd(struct plain *s, const struct optimizer_opts *o, double rate, const double *g)
{
    for (int i = 0; i < NPARAMS; i++) {
        s->m[i] = o->momentum * s->m[i] + g[i] + o->weight_decay * s->p[i];
        s->p[i] -= rate * s->m[i];
    }
}

static void plain_adamw(struct plain *s, const struct optimizer_opts *o, double rate, int t,
                        const double *g)
{
    for (int i = 0; i < NPARAMS; i++) {
        double m, v;

        s->m[i] = o->beta1 * s->m[i] + (1 - o->beta1) * g[i];
        s->v[i] = o->beta2 * s->v[i] + (1 - o->beta2) * g[i] * g[i];
        m = s->m[i] / (1 - pow(o->beta1, t));
        v = s->v[i] / (1 - pow(o->beta2, t));
        s->p[i] -= rate * o->weight_decay * s->p[i];
        s->p[i] -= rate * m / (sqrt(v) + o->eps);
    }
}

/* Newton-Schulz steps of u[IN][OUT], whose shorter side is the outputs, as torch.optim.Muon has
 * them. */
static void plain_orthogonal(double *u, const struct optimizer_opts *o)
{
    const double *c = o->muon.coefficients;
    double norm = 0;

    for (int i = 0; i < IN * OUT; i++)
        norm += u[i] * u[i];
    for (int i = 0; i < IN * OUT; i++)
        u[i] /= fmax(sqrt(norm), 1e-7);
    for (uint32_t step = 0; step < o->muon.steps; step++) {
        double gram[OUT][OUT] = {{0}}, square[OUT][OUT] = {{0}}, next[IN * OUT];

        for (int a = 0; a < OUT; a++)
            for (int b = 0; b < OUT; b++)
                for (int i = 0; i < IN; i++)
                    gram[a][b] += u[i * OUT + a] * u[i * OUT + b];
        for (int a = 0; a < OUT; a++)
            for (int b = 0; b < OUT; b++)
                for (int k = 0; k < OUT; k++)
                    square[a][b] += gram[a][k] * gram[k][b];
        for (int i = 0; i < IN; i++)
            for (int a = 0; a < OUT; a++) {
                next[i * OUT + a] = c[0] * u[i * OUT + a];
                for (int b = 0; b < OUT; b++)
                    next[i * OUT + a] += (c[1] * gram[a][b] + c[2] * square[a][b]) * u[i * OUT + b];
            }
        memcpy(u, next, sizeof next);
    }
}

/* The matrix by Muon, the vector by AdamW. */
static void plain_muon(struct plain *s, const struct optimizer_opts *o, double rate, int t,
                       const double *g)
{
    static const double ratios[] = {[MUON_ORIGINAL] = 1,
                                    [MUON_MATCH_RMS_ADAMW] =
                                        0.69282032302755091741,                /* 0.2 sqrt(12) */
                                    [MUON_SPECTRAL] = 0.57735026918962576451}; /* sqrt(4/12) */
    double u[IN * OUT], matrix[IN * OUT], b = o->momentum;

    for (int i = 0; i < IN * OUT; i++) {
        matrix[i] = s->p[i] * (1 - rate * o->weight_decay);
        s->m[i] = b * s->m[i] + (1 - b) * g[i];
        u[i] = o->muon.nesterov ? b * s->m[i] + (1 - b) * g[i] : s->m[i];
    }
    plain_orthogonal(u, o);
    {
        struct plain rest = *s;

        plain_adamw(&rest, o, rate * o->rest_rate / o->rate, t, g);
        memcpy(s->p + IN * OUT, rest.p + IN * OUT, OUT * sizeof(double));
        memcpy(s->m + IN * OUT, rest.m + IN * OUT, OUT * sizeof(double));
        memcpy(s->v + IN * OUT, rest.v + IN * OUT, OUT * sizeof(double));
    }
    for (int i = 0; i < IN * OUT; i++)
        s->p[i] = matrix[i] - rate * ratios[o->muon.ratio] * u[i];
}

static void plain_train(struct plain *s, const struct optimizer_opts *o)
{
    *s = (struct plain){.losses = {0}};
    fill(&w_source, 0, IN * OUT, s->p);
    fill(&c_source, 0, OUT, s->p + IN * OUT);
    for (uint32_t step = 0; step < STEPS; step++) {
        double g[NPARAMS], squares = 0, scale = 1;

        s->losses[step] = plain_gradient(s, step, g);
        for (int i = 0; i < NPARAMS; i++)
            squares += g[i] * g[i];
        s->norms[step] = sqrt(squares);
        if (o->clip > 0)
            scale = fmin(1, o->clip / (s->norms[step] + 1e-6));
        for (int i = 0; i < NPARAMS; i++)
            g[i] *= scale;
        if (o->kind == &optimizer_muon)
            plain_muon(s, o, plain_rate(o, step), (int)step + 1, g);
        else if (o->kind == &optimizer_sgd)
            plain_sgd(s, o, plain_rate(o, step), g);
        else
            plain_adamw(s, o, plain_rate(o, step), (int)step + 1, g);
    }
}

/* ---- the program ---- */

/* `homes`: of a matrix of Muon. */
static struct graph *make_graph(const struct optimizer_opts *opts, uint32_t homes)
{
    struct optimizer_matrix matrices[NODES_MAX] = {{.in = 0}};
    struct optimizer_opts muon;
    struct graph *g = graph_create();
    uint32_t b = graph_dim(g, "batch", BATCH), i = graph_dim(g, "in", IN);
    uint32_t o = graph_dim(g, "out", OUT), x, w, c;

    x = graph_input(g, "x", SHD_F64, (uint32_t[]){b, i}, 2, x_source);
    w = graph_param(g, "w", SHD_F64, (uint32_t[]){i, o}, 2, w_source);
    c = graph_param(g, "c", SHD_F64, (uint32_t[]){o}, 1, c_source);
    x = graph_einsum(g, "y", x, w, (uint32_t[]){b, o}, 2);
    x = graph_map(g, "y", KERN_ADD, x, c, 0);
    x = graph_map(g, "square", KERN_MUL, x, x, 0);
    x = graph_reduce(g, "loss", SHD_MEAN, x, NULL, 0);
    muon = *opts;
    if (opts->kind == &optimizer_muon) {
        optimizer_find_matrices(matrices, g);
        matrices[w].homes = homes;
        muon.matrices = matrices;
    }
    training_add(g, x, &muon);
    return g;
}

/* Shard the batch and the optimizer's state over the only axis. */
static void place(const struct shd_sharding **nodes, struct shd_sharding *storage,
                  const struct graph *g, const struct shd_mesh *mesh)
{
    for (uint32_t n = 0; n < g->nnodes; n++) {
        int64_t shape[GRAPH_RANK_MAX];

        if (strcmp(g->nodes[n].name, "x") != 0 && g->nodes[n].state_of == GRAPH_NONE)
            continue;
        shd_sharding_init(&storage[n], mesh, g->nodes[n].rank);
        graph_shape(g, n, shape);
        if (g->nodes[n].state_of == GRAPH_NONE)
            storage[n].dims[0] = (struct shd_dim_axes){1, {0}};
        else
            (void)zero_cut(&storage[n], shape, &(struct zero_axes){.n = 1});
        nodes[n] = &storage[n];
    }
}

static void keep_numbers(void *arg, int32_t position, uint32_t step, const void *const *shards)
{
    struct plain *got = arg;

    if (position != 0) /* device 0 has both results without dimensions, the loss and the norm */
        return;
    got->losses[step] = *(const double *)shards[0];
    got->norms[step] = *(const double *)shards[1];
}

static void take(struct plain *out, const struct collect *results)
{
    static const struct {
        const char *name;
        size_t offset, n;
    } places[] = {{"w", offsetof(struct plain, p), IN * OUT},
                  {"c", offsetof(struct plain, p) + IN * OUT * sizeof(double), OUT},
                  {"opt/momentum/w", offsetof(struct plain, m), IN * OUT},
                  {"opt/m/w", offsetof(struct plain, m), IN * OUT},
                  {"opt/m/c", offsetof(struct plain, m) + IN * OUT * sizeof(double), OUT},
                  {"opt/v/w", offsetof(struct plain, v), IN * OUT}};
    const struct program *p = results->program;

    for (uint32_t r = 0; r < p->nresults; r++)
        for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
            if (p->results[r].kind == PROGRAM_NEXT && !strcmp(p->results[r].name, places[i].name))
                memcpy((char *)out + places[i].offset, results->wholes[r],
                       places[i].n * sizeof(double));
}

/* A use of a graph and its program. */
typedef bool (*use_fn)(void *arg, const struct graph *graph, const struct program *program);

static bool run(void *arg, const struct graph *graph, const struct program *program)
{
    struct plain *out = arg;
    struct collect results;
    struct walk_opts opts = {.repeats = STEPS,
                             .finish = collect_finish,
                             .finish_arg = &results,
                             .stepped = keep_numbers,
                             .stepped_arg = out};
    struct record *record;

    (void)graph;
    bool good = record_create(&record, program, RECORD_EXECUTED, false, NULL) == SHD_OK &&
                collect_init(&results, program, NULL) == SHD_OK;

    if (!good || program->results[0].kind != PROGRAM_LOSS)
        return false;
    good = walk_run(record, &opts, NULL) == SHD_OK;
    if (good)
        take(out, &results);
    collect_fini(&results);
    record_destroy(record);
    return good;
}

/* ---- verification of steps that follow each other ---- */

/* Flip one bit of a parameter of device 0 at the begin of a step. */
struct planting {
    const struct program *program;
    uint32_t step; /* from 0, of all executed steps; two more steps follow the first STEPS and
                    * are verified */
    uint32_t seen; /* steps that device 0 has begun */
};

static void plant(void *arg, int32_t device, uint32_t op, uint32_t microbatch,
                  const void *const *shards)
{
    struct planting *p = arg;

    (void)microbatch;
    if (device == 0 && op == p->program->first_op && p->seen++ == p->step)
        for (uint32_t r = 0; r < p->program->nresults; r++)
            if (!strcmp(p->program->results[r].name, "w"))
                *(unsigned char *)(uintptr_t)shards[p->program->results[r].of] ^= 1;
}

/* Whether verification finds the verified step wrong at its begin, because a parameter is not as
 * the previous step left it. */
static bool see_planted(void *arg, const struct graph *graph, const struct program *program)
{
    struct planting p = {.program = program, .step = *(const uint32_t *)arg};
    struct verify_opts vopts = {.ndevices = shd_mesh_size(program->mesh), .nsteps = STEPS};
    struct walk_opts opts = {.repeats = STEPS, .observe = plant, .observe_arg = &p};
    struct verify_reference reference;
    struct record *record;
    bool seen;

    if (verify_reference(&reference, graph, &vopts, NULL) != SHD_OK)
        return false;
    seen = record_create(&record, program, RECORD_EXECUTED, false, NULL) == SHD_OK &&
           verify_run(record, &reference, &opts, NULL) == SHD_OK && record->step.error > 1 &&
           program->ops[record->step_op].kind == PROGRAM_FILL;
    record_destroy(record);
    verify_reference_fini(&reference);
    return seen;
}

static uint32_t find_result(const struct program *program, const char *name)
{
    uint32_t r = 0;

    while (strcmp(program->results[r].name, name) != 0)
        r++;
    return r;
}

/* Whether several steps keep the state after the first step, equal to that of one step alone, and
 * whether verification finds a fault in that state although all later steps are right. */
static bool see_first(void *arg, const struct graph *graph, const struct program *program)
{
    struct verify_opts one_step = {.ndevices = shd_mesh_size(program->mesh), .nsteps = 1},
                       steps = {.ndevices = one_step.ndevices, .nsteps = STEPS};
    const struct walk_opts opts = {.repeats = STEPS};
    uint32_t w = find_result(program, "w");
    struct verify_reference one, all;
    struct record *record;
    double *first;
    bool seen;

    (void)arg;
    if (verify_reference(&one, graph, &one_step, NULL) != SHD_OK ||
        verify_reference(&all, graph, &steps, NULL) != SHD_OK || all.first.n <= w)
        return false;
    first = all.first.arrays[w].values;
    seen = !one.first.arrays &&
           !memcmp(first, one.last.arrays[w].values, IN * OUT * sizeof(double)) &&
           memcmp(first, all.last.arrays[w].values, IN * OUT * sizeof(double)) != 0;
    first[0] += 1;
    seen = record_create(&record, program, RECORD_EXECUTED, false, NULL) == SHD_OK &&
           verify_run(record, &all, &opts, NULL) == SHD_OK && record->checks[w].error > 1 && seen;
    record_destroy(record);
    verify_reference_fini(&one);
    verify_reference_fini(&all);
    return seen;
}

static bool train(const struct optimizer_opts *opts, int32_t ndevices, use_fn use, void *arg)
{
    const struct shd_sharding *nodes[NODES_MAX] = {NULL};
    struct shd_sharding *storage = calloc(NODES_MAX, sizeof *storage);
    struct partition_request request = {.nodes = nodes};
    struct graph *g =
        make_graph(opts, ndevices > 1 && opts->muon.nesterov ? (uint32_t)ndevices : 0);
    struct program *program = NULL;
    struct shd_mesh *mesh = NULL;
    struct shd_error err = {SHD_OK, ""};
    bool good = graph_status(g, &err) == SHD_OK && g->nnodes <= NODES_MAX &&
                shd_mesh_create(&mesh, (const char *const[]){"dp"}, &ndevices, 1, &err) == SHD_OK;

    request.graph = g;
    request.mesh = mesh;
    if (good)
        place(nodes, storage, g, mesh);
    good = good && partition_build(&program, &request, &err) == SHD_OK && use(arg, g, program);
    if (err.status != SHD_OK)
        diag("%s", err.text);
    program_destroy(program);
    shd_mesh_destroy(mesh);
    graph_destroy(g);
    free(storage);
    return good;
}

/* ---- cases ---- */

static bool same(const double *got, const double *want, int n)
{
    double size = 0, off = 0;

    for (int i = 0; i < n; i++) {
        size = fmax(size, fabs(want[i]));
        off = isnan(got[i]) ? INFINITY : fmax(off, fabs(got[i] - want[i]));
    }
    if (!(off <= 1e-12 * size))
        diag("off by %g of %g", off, size);
    return off <= 1e-12 * size;
}

static void compare(const struct optimizer_opts *opts, const char *what, int32_t ndevices)
{
    bool adamw = opts->kind == &optimizer_adamw, muon = opts->kind == &optimizer_muon;
    struct plain want, got = {.losses = {0}};
    bool good = train(opts, ndevices, run, &got);

    plain_train(&want, opts);
    ok(good && same(got.losses, want.losses, STEPS), "%s, %d devices: losses", what, (int)ndevices);
    ok(good && same(got.norms, want.norms, STEPS), "%s, %d devices: norms of gradients", what,
       (int)ndevices);
    ok(good && same(got.p, want.p, NPARAMS), "%s, %d devices: parameters", what, (int)ndevices);
    if (adamw || opts->momentum > 0)
        ok(good && same(got.m, want.m, adamw || muon ? NPARAMS : IN * OUT),
           "%s, %d devices: first moments", what, (int)ndevices);
    if (adamw)
        ok(good && same(got.v, want.v, IN * OUT), "%s, %d devices: second moments", what,
           (int)ndevices);
    if (muon)
        ok(good && got.v[0] == 0, "%s, %d devices: no second moment of a matrix", what,
           (int)ndevices);
}

/* Plant the fault in the second of the two verified steps. */
static void check_verification(const struct optimizer_opts *opts, const char *what)
{
    static const uint32_t second = STEPS + 1, never = UINT32_MAX;

    ok(train(opts, 4, see_planted, (void *)(uintptr_t)&second),
       "%s: one flipped bit of a parameter between steps is found", what);
    ok(!train(opts, 4, see_planted, (void *)(uintptr_t)&never),
       "%s: a right parameter is not reported", what);
    ok(train(opts, 4, see_first, NULL), "%s: the state after the first step is compared, too",
       what);
}

int main(void)
{
    static const struct {
        const char *what;
        struct optimizer_opts opts;
    } cases[] = {
        {"SGD", {.kind = &optimizer_sgd, .rate = 0.1}},
        {"SGD with momentum and decay",
         {.kind = &optimizer_sgd, .rate = 0.1, .momentum = 0.9, .weight_decay = 0.1}},
        {"SGD, clipped, with a warm-up and a cosine",
         {.kind = &optimizer_sgd,
          .rate = 0.2,
          .warmup = 2,
          .decay = OPTIMIZER_COSINE,
          .clip = 0.5}},
        {"AdamW",
         {.kind = &optimizer_adamw, .rate = 0.01, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8}},
        {"AdamW with decay, clipped, with a warm-up and a cosine",
         {.kind = &optimizer_adamw,
          .rate = 0.05,
          .warmup = 3,
          .decay = OPTIMIZER_COSINE,
          .clip = 0.25,
          .weight_decay = 0.2,
          .beta1 = 0.8,
          .beta2 = 0.95,
          .eps = 1e-3}},
        {"Muon",
         {.kind = &optimizer_muon,
          .rate = 0.02,
          .momentum = 0.9,
          .beta1 = 0.9,
          .beta2 = 0.99,
          .eps = 1e-8,
          .muon = {.steps = 5, .coefficients = {3.4445, -4.775, 2.0315}, .dtype = SHD_F64},
          .rest = &optimizer_adamw,
          .rest_rate = 0.01}},
        {"Muon of Nesterov and with a decay, clipped, in homes, with a warm-up",
         {.kind = &optimizer_muon,
          .rate = 0.02,
          .warmup = 3,
          .clip = 0.25,
          .weight_decay = 0.2,
          .momentum = 0.95,
          .beta1 = 0.8,
          .beta2 = 0.95,
          .eps = 1e-3,
          .muon = {.nesterov = true,
                   .steps = 3,
                   .coefficients = {2, -1.5, 0.5},
                   .ratio = MUON_MATCH_RMS_ADAMW,
                   .dtype = SHD_F64},
          .rest = &optimizer_adamw,
          .rest_rate = 0.02}},
        {"Muon, scaled by the spectral norm",
         {.kind = &optimizer_muon,
          .rate = 0.02,
          .momentum = 0.5,
          .beta1 = 0.9,
          .beta2 = 0.99,
          .eps = 1e-8,
          .muon = {.steps = 5,
                   .coefficients = {3.4445, -4.775, 2.0315},
                   .ratio = MUON_SPECTRAL,
                   .dtype = SHD_F64},
          .rest = &optimizer_adamw,
          .rest_rate = 0.02}},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct optimizer_opts opts = cases[i].opts;

        opts.steps = STEPS;
        opts.types = (struct optimizer_types){SHD_F64, SHD_F64, SHD_F64, SHD_F64};
        compare(&opts, cases[i].what, 1);
        compare(&opts, cases[i].what, 4);
        check_verification(&opts, cases[i].what);
    }
    return done();
}
