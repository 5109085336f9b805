/* Tests random programs whose devices are spread over ranks: every result has the bits, and the
 * record the figures, of one process.  The same holds for the unsharded reference, of which each
 * rank computes and keeps a share.  Under mpirun (tests/run/ranks.sh) with several ranks, else with
 * one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition/partition.h"
#include "../support/random_program.h"
#include "run/ranks/pieces.h"
#include "run/ranks/ranks.h"
#include "run/ranks/spread.h"
#include "../support/tap.h"
#include "trial/verify.h"
#include "run/walk/walk.h"

#define SEED 1801
#define NPROGRAMS 15

/* The final values of the devices: a digest for each shard of each result. */
struct found {
    const struct program *program;
    uint64_t *digests; /* [device][result] */
    struct record *record;
};

static uint64_t digest(const void *memory, uint64_t bytes)
{
    const unsigned char *at = memory;
    uint64_t hash = UINT64_C(14695981039346656037);

    for (uint64_t i = 0; i < bytes; i++)
        hash = (hash ^ at[i]) * UINT64_C(1099511628211);
    return hash;
}

/* A walk_finish_fn that digests the results. */
static void keep(void *arg, int32_t position, const void *const *shards)
{
    const struct found *f = arg;
    uint32_t n = f->program->nresults;

    for (uint32_t r = 0; r < n; r++) {
        const struct program_buffer *b = &f->program->buffers[f->program->results[r].buffer];

        f->digests[(size_t)position * n + r] = digest(shards[r], b->bytes);
    }
}

static bool walk(struct found *f, const struct program *program, const struct spread *spread)
{
    struct walk_opts opts = {.finish = keep, .finish_arg = f, .spread = spread};
    size_t n = (size_t)shd_mesh_size(program->mesh) * program->nresults + 1;
    struct shd_error err;

    *f = (struct found){.program = program, .digests = calloc(n, sizeof *f->digests)};
    if (!f->digests || record_create(&f->record, program, RECORD_EXECUTED, true, &err) != SHD_OK)
        return false;
    if (walk_run(f->record, &opts, &err) != SHD_OK) {
        diag("%s", err.text);
        return false;
    }
    spread_merge_rows(spread, f->digests, program->nresults * sizeof *f->digests);
    return true;
}

static bool same(const void *a, const void *b, size_t bytes)
{
    return !memcmp(a, b, bytes);
}

static const char *difference(const struct found *a, const struct found *b)
{
    size_t n = (size_t)a->record->ndevices, nops = a->program->nops;
    const struct record *x = a->record, *y = b->record;

    if (!same(a->digests, b->digests, n * a->program->nresults * sizeof *a->digests))
        return "bits";
    if (!same(x->op_received, y->op_received, n * nops * sizeof *x->op_received))
        return "bytes received in some op";
    if (!same(x->received_bytes, y->received_bytes, n * sizeof *x->received_bytes))
        return "bytes received";
    if (!same(x->sent_bytes, y->sent_bytes, n * sizeof *x->sent_bytes))
        return "bytes sent";
    if (!same(x->matrix, y->matrix, n * n * sizeof *x->matrix))
        return "the matrix";
    if (!same(x->peak_bytes, y->peak_bytes, n * sizeof *x->peak_bytes))
        return "peak memory";
    if (!same(x->flops, y->flops, n * sizeof *x->flops) ||
        !same(x->op_flops, y->op_flops, n * nops * sizeof *x->op_flops))
        return "flops";
    return NULL;
}

static void free_found(struct found *f)
{
    free(f->digests);
    record_destroy(f->record);
}

/* Whether `is` holds on all ranks. */
static bool all(bool is)
{
    int64_t differs = !is;

    ranks_merge(&differs, sizeof differs, RANKS_MOST);
    return differs == 0;
}

/* ---- pieces of arrays ---- */

#define NMOVES 300

static struct pieces some_pieces(struct random *r, uint64_t outer, uint64_t each, uint64_t n,
                                 uint64_t inner)
{
    uint32_t nranks = (uint32_t)ranks_count();
    struct pieces pieces = {.outer = outer,
                            .rows = n * each,
                            .inner = inner,
                            .each = each,
                            .nparts = 1 + random_below(r, nranks),
                            .first = random_below(r, nranks)};

    switch (random_below(r, 4)) {
    case 0:
        return pieces_everywhere(outer * n * each * inner);
    case 1:
        return pieces_with(outer * n * each * inner, pieces.first);
    default:
        return pieces;
    }
}

/* Fill elements with their numbers in the whole array. */
static uint32_t number_at(const struct pieces *pieces, int rank, uint64_t i)
{
    uint64_t first, n = pieces_rows(pieces, rank, &first), inner = pieces->inner;
    uint64_t row = i / inner;

    return (uint32_t)((row / n * pieces->rows + first + row % n) * inner + i % inner);
}

static bool fill_piece(struct pieces_move *move)
{
    uint64_t n = pieces_elements(&move->from, ranks_me());
    uint32_t *have = malloc((n + 1) * sizeof *have);

    for (uint64_t i = 0; i < n && have; i++)
        have[i] = number_at(&move->from, ranks_me(), i);
    move->have = have;
    return have != NULL;
}

static bool is_right(const struct pieces_move *move)
{
    for (uint64_t i = 0; i < pieces_elements(&move->to, ranks_me()); i++)
        if (((const uint32_t *)move->got)[i] != number_at(&move->to, ranks_me(), i))
            return false;
    return true;
}

/* Move an array cut along two of its dimensions, and one with a few more rows, to another cut. */
static bool move_some(struct random *r)
{
    uint64_t a = random_below(r, 5), b = 1 + random_below(r, 9), c = 1 + random_below(r, 4);
    struct pieces_move moves[2] = {{.size = sizeof(uint32_t)}, {.size = sizeof(uint32_t)}};
    bool right = true;

    for (int k = 0; k < 2; k++) {
        moves[k].from = some_pieces(r, 1, 1, a, b * c);
        moves[k].to = some_pieces(r, a, 1 + (b % 2 == 0), b % 2 ? b : b / 2, c);
        right &= fill_piece(&moves[k]);
    }
    right = all(right) && all(pieces_move(moves, 2, NULL) == SHD_OK);
    for (int k = 0; k < 2; k++) {
        right = right && is_right(&moves[k]);
        free((void *)(uintptr_t)moves[k].have);
        free(moves[k].got);
    }
    return all(right);
}

static void test_pieces(void)
{
    struct random random = {SEED};
    int n = 0;

    while (n < NMOVES && move_some(&random))
        n++;
    ok(n == NMOVES, "%d moves of pieces", n);
}

/* ---- the unsharded computation ---- */

/* Arrays of any size are shared among the ranks. */
#define LEAST 1

static struct verify_opts reference_options(const struct random_program *p, bool shared)
{
    return (struct verify_opts){
        .ndevices = shd_mesh_size(p->mesh), .nthreads = 1, .shared = shared, .least = LEAST};
}

static bool same_array(const struct reference_array *alone, const struct reference_array *shared,
                       uint32_t size)
{
    uint64_t n = alone->lies.outer * alone->lies.rows * alone->lies.inner;
    struct reference_whole whole;
    bool is;

    if (reference_gather(&whole, shared, size, NULL) != SHD_OK)
        return false;
    is = same(alone->values, whole.values, n * size) && !alone->allowed == !whole.allowed &&
         (!whole.allowed || same(alone->allowed, whole.allowed, n * sizeof(double)));
    reference_drop(&whole);
    return is;
}

/* The work and memory of the ranks that share a reference, compared with those of one process. */
static struct totals {
    uint64_t alone_flops, flops, most_flops, alone_bytes, most_bytes;
} totals;

static void add_work(const struct reference_work *alone, const struct reference_work *mine)
{
    uint64_t flops = mine->flops;
    int64_t most_flops = (int64_t)mine->flops, most_bytes = (int64_t)mine->peak_bytes;

    ranks_merge(&flops, sizeof flops, RANKS_SUM);
    ranks_merge(&most_flops, sizeof most_flops, RANKS_MOST);
    ranks_merge(&most_bytes, sizeof most_bytes, RANKS_MOST);
    totals.alone_flops += alone->flops;
    totals.flops += flops;
    totals.most_flops += (uint64_t)most_flops;
    totals.alone_bytes += alone->peak_bytes;
    totals.most_bytes += (uint64_t)most_bytes;
}

static bool same_checks(const struct record *a, const struct record *b)
{
    for (uint32_t r = 0; r < a->nchecks; r++) {
        const struct record_check *x = &a->checks[r], *y = &b->checks[r];

        if (!same(&x->error, &y->error, sizeof x->error) || x->nopen != y->nopen ||
            !same(&x->relative, &y->relative, sizeof x->relative) ||
            (x->error > 0 && (x->at != y->at || x->device != y->device)))
            return false;
    }
    return a->nchecks == b->nchecks && a->nsteps == b->nsteps && a->step.error == b->step.error;
}

/* Run the program and judge it by a reference; NULL on failure. */
static struct record *judge(const struct program *program, const struct verify_reference *reference,
                            const struct spread *spread)
{
    struct walk_opts opts = {.spread = spread};
    struct record *record = NULL;
    struct shd_error err;

    if (!all(record_create(&record, program, RECORD_EXECUTED, true, &err) == SHD_OK) ||
        !all(verify_run(record, reference, &opts, &err) == SHD_OK))
        diag("%s", err.text);
    return record;
}

static const char *reference_difference(const struct program *program,
                                        const struct verify_reference *alone,
                                        const struct verify_reference *shared,
                                        const struct spread *spread)
{
    struct record *by_alone, *by_shared;
    bool values = true, checks;

    for (uint32_t r = 0; r < alone->nresults; r++) {
        bool ids = program->buffers[program->results[r].buffer].dtype == SHD_I32;

        values &= all(same_array(&alone->last.arrays[r], &shared->last.arrays[r],
                                 ids ? sizeof(int32_t) : sizeof(double)));
    }
    if (!values)
        return "values or bounds";
    by_alone = judge(program, alone, NULL);
    by_shared = judge(program, shared, spread);
    checks = by_alone && by_shared && same_checks(by_alone, by_shared);
    record_destroy(by_alone);
    record_destroy(by_shared);
    if (!all(checks))
        return "what was verified";
    add_work(&alone->work, &shared->work);
    return NULL;
}

static const char *compare_references(const struct random_program *p, const struct program *program,
                                      const struct spread *spread)
{
    const struct verify_opts by_itself = reference_options(p, false),
                             together = reference_options(p, true);
    struct verify_reference alone, shared;
    struct shd_error err = {SHD_OK, ""};
    const char *differs = "an error";

    if (!all(verify_reference(&alone, p->graph, &by_itself, &err) == SHD_OK)) {
        diag("%s", err.text);
        return differs;
    }
    if (all(verify_reference(&shared, p->graph, &together, &err) == SHD_OK)) {
        differs = reference_difference(program, &alone, &shared, spread);
        verify_reference_fini(&shared);
    }
    verify_reference_fini(&alone);
    return differs;
}

/* Elements are 1 or infinite.  Very few exceed the range of float16 and may be anything; an
 * infinite element of the result may stem from one of these, on whichever rank it is. */
static struct graph *unknown_graph(void)
{
    struct graph *g = graph_create();
    uint32_t dims[2], most, x, rare;

    if (!g)
        return NULL;
    dims[0] = graph_dim(g, "rows", 96);
    dims[1] = graph_dim(g, "columns", 64);
    most = graph_dim(g, "most", 90);
    x = graph_param(g, "x", SHD_F16, dims, 2, (struct kern_source){.seed = 1, .modulus = 2});
    rare =
        graph_param(g, "rare", SHD_F16, dims, 2, (struct kern_source){.seed = 2, .modulus = 3200});
    rare = graph_map(g, "less", KERN_SCALE, rare, GRAPH_NONE, -20);
    rare = graph_map(g, "least", KERN_ADD_SCALAR, rare, GRAPH_NONE, 20);
    rare = graph_map(g, "zeros", KERN_RELU, rare, GRAPH_NONE, 0);
    x = graph_map(g, "large", KERN_SCALE, x, GRAPH_NONE, 800);
    x = graph_map(g, "sum", KERN_ADD, x, rare, 0);
    x = graph_map(g, "exp", KERN_EXP, x, GRAPH_NONE, 0);
    x = graph_slice(g, "slice", x, dims[0], most, 3);
    graph_output(g, GRAPH_OUTPUT, "slice", x, GRAPH_NONE);
    return g;
}

/* Elements without a bound: the finite ones, or the infinite ones. */
static uint64_t count_open(const struct reference_array *a, bool finite)
{
    uint64_t n = a->lies.outer * a->lies.rows * a->lies.inner, open = 0;

    for (uint64_t i = 0; i < n && a->allowed; i++)
        open += isinf(a->allowed[i]) && !isfinite(((const double *)a->values)[i]) != finite;
    return open;
}

static void test_unknown(void)
{
    struct verify_opts opts = {.ndevices = 4, .nthreads = 1, .least = LEAST};
    struct verify_reference alone, shared;
    struct graph *g = unknown_graph();
    bool is = false;

    if (!all(g && verify_reference(&alone, g, &opts, NULL) == SHD_OK)) {
        ok(false, "the reference of what is not known");
        return;
    }
    opts.shared = true;
    if (all(verify_reference(&shared, g, &opts, NULL) == SHD_OK)) {
        is = same_array(alone.last.arrays, shared.last.arrays, sizeof(double));
        verify_reference_fini(&shared);
    }
    ok(all(is) && count_open(alone.last.arrays, true) > 0 &&
           count_open(alone.last.arrays, false) > 0,
       "%d elements may be anything, and so may %d that are infinite",
       (int)count_open(alone.last.arrays, true), (int)count_open(alone.last.arrays, false));
    verify_reference_fini(&alone);
    graph_destroy(g);
}

/* Each of ten arrays has a row less than its predecessor, and at most two of them exist at a
 * time. */
static void test_peak(void)
{
    const struct verify_opts opts = {.ndevices = 1, .nthreads = 1};
    struct verify_reference alone;
    struct graph *g = graph_create();
    uint32_t dims[2] = {graph_dim(g, "rows", 96), graph_dim(g, "columns", 64)}, x;
    const uint64_t two = (UINT64_C(96) + 95) * 64 * 2 * sizeof(double); /* with variances */

    x = graph_param(g, "x", SHD_F32, dims, 2, (struct kern_source){.scale = 1});
    for (int rows = 95; rows > 86; rows--) {
        const char *name = graph_text(g, "rows_%d", rows);
        uint32_t fewer = graph_dim(g, name, rows);

        x = graph_slice(g, name, x, dims[0], fewer, 1);
        dims[0] = fewer;
    }
    graph_output(g, GRAPH_OUTPUT, "x", x, GRAPH_NONE);
    if (all(verify_reference(&alone, g, &opts, NULL) == SHD_OK)) {
        ok(all(alone.work.peak_bytes >= two && alone.work.peak_bytes < two + two / 2),
           "a reference drops what has been read: %llu bytes at most",
           (unsigned long long)alone.work.peak_bytes);
        verify_reference_fini(&alone);
    }
    graph_destroy(g);
}

/* ---- both ---- */

/* An axis along which to spread devices over ranks; NULL: in the order of devices. */
static const char *some_axis(const struct shd_mesh *mesh, uint64_t seed)
{
    size_t axis = (size_t)(seed % (shd_mesh_naxes(mesh) + 1));

    if (axis == shd_mesh_naxes(mesh) || shd_mesh_axis_size(mesh, axis) < ranks_count())
        return NULL;
    return shd_mesh_axis_name(mesh, axis);
}

static void test_program(struct random_program *p)
{
    struct partition_request request = {.graph = p->graph,
                                        .mesh = p->mesh,
                                        .nodes = p->nodes,
                                        .outputs = p->outputs,
                                        .placement = PARTITION_FOLLOW,
                                        .algos = p->algos,
                                        .memory_bytes = p->memory_bytes};
    const char *axis = some_axis(p->mesh, p->seed), *differs = "error";
    struct found one = {.record = NULL}, several = {.record = NULL};
    struct program *program = NULL;
    struct spread *spread = NULL;
    struct shd_error err;
    char mesh[128];

    if (all(partition_build(&program, &request, &err) == SHD_OK &&
            spread_create(&spread, p->mesh, axis, &err) == SHD_OK) &&
        all(walk(&one, program, NULL)) && all(walk(&several, program, spread)))
        differs = difference(&one, &several);
    if (all(!differs))
        differs = compare_references(p, program, spread);
    shd_mesh_print(p->mesh, mesh, sizeof mesh);
    ok(all(!differs), "seed %llu: %u nodes on %s, %s%s%s: %s", (unsigned long long)p->seed,
       p->graph->nnodes, mesh, spread ? "spread by " : "on each rank",
       !spread ? ""
       : axis  ? "axis "
               : "order",
       spread && axis ? axis : "", differs ? differs : "the same");
    free_found(&one);
    free_found(&several);
    spread_destroy(spread);
    program_destroy(program);
    random_program_destroy(p);
}

/* Each rank computed and kept about its share.  Small ops that cannot be cut are done by one rank,
 * and data moved for an op counts in addition to the pieces. */
static void test_shares(void)
{
    double n = ranks_count(), flops = (double)totals.most_flops / (double)totals.alone_flops;
    double bytes = (double)totals.most_bytes / (double)totals.alone_bytes;

    diag("of one process' flops the ranks did %.2f in all, one %.2f at most, and one had %.2f of "
         "its bytes",
         (double)totals.flops / (double)totals.alone_flops, flops, bytes);
    ok(flops < 1.5 / n && bytes < 0.25 + 1.25 / n, "each of %g ranks computed a share", n);
}

int main(void)
{
    static const enum shd_dtype types[] = {SHD_F32, SHD_F64, SHD_BF16, SHD_F16};
    unsigned long seed = from_env("SHD_TEST_SEED", SEED), n = from_env("SHD_TEST_COUNT", NPROGRAMS);
    struct shd_error err;

    if (ranks_begin(&err) != SHD_OK || (ranks_me() > 0 && !freopen("/dev/null", "w", stdout)))
        return 1;
    plan(0);
    test_pieces();
    test_unknown();
    test_peak();
    for (unsigned long i = 0; i < n; i++) {
        random_program_type(types[i % (sizeof types / sizeof *types)]);
        test_program(i % 2 ? random_layer_program(seed + i) : random_ops_program(seed + i));
    }
    test_shares();
    ranks_end();
    return done();
}
