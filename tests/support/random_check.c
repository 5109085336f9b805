/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "random_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/ops.h"
#include "graph/pad.h"
#include "step.h"
#include "tap.h"
#include "trial/verify.h"

static void dump_program(const struct program *program)
{
    char text[256];

    for (uint32_t i = 0; i < program->nops; i++) {
        const struct program_op *op = &program->ops[i];

        shd_sharding_print(&program->buffers[op->outputs[0]].sharding, text, sizeof text);
        diag("%3u %s for %s: buffer %u = %s(%d, %d) %s", i, program_step_name(op), op->name,
             op->outputs[0], program->buffers[op->outputs[0]].name,
             op->ninputs > 0 ? (int)op->inputs[0] : -1, op->ninputs > 1 ? (int)op->inputs[1] : -1,
             text);
    }
}

/* ---- what occurred ---- */

struct random_seen random_seen;

static void count_buffer(const struct program_buffer *b)
{
    for (uint32_t d = 0; d < b->rank; d++) {
        const struct shd_dim_axes *t = &b->sharding.dims[d];

        random_seen.tuples += t->naxes > 1;
        random_seen.turned += t->naxes > 1 && t->axes[0] > t->axes[1];
    }
    random_seen.summed += b->sharding.partial && b->sharding.partial_op == SHD_SUM;
    random_seen.extremes += b->sharding.partial && b->sharding.partial_op != SHD_SUM;
}

static void count_program(const struct random_program *p, const struct program *program)
{
    struct coll_shape shape;

    for (uint32_t i = 0; i < program->nops; i++) {
        const struct program_op *op = &program->ops[i];
        const struct coll_algo *algo = program_algo(program, op, &shape);

        count_buffer(&program->buffers[op->outputs[0]]);
        random_seen.rings += algo && !strcmp(algo->name, "ring");
        if (op->kind == PROGRAM_RESHARD)
            random_seen.steps[op->reshard.kind]++;
        for (uint32_t k = 0; k < op->ninputs && op->kind != PROGRAM_RESHARD; k++)
            random_seen.passed += program->buffers[op->inputs[k]].sharding.partial != 0;
    }
    for (size_t a = 0; a < shd_mesh_naxes(p->mesh); a++)
        if (shd_mesh_axis_size(p->mesh, a) == 1) {
            random_seen.ones++;
            break;
        }
    for (uint32_t n = 0; n < p->graph->nnodes; n++) {
        const struct graph_node *node = &p->graph->nodes[n];

        random_seen.nodes[node->op]++;
        if (node->op == GRAPH_MAP)
            random_seen.functions[node->fn]++;
        random_seen.converted += node->op == GRAPH_MAP && node->fn == KERN_CONVERT;
        random_seen.mixed_sums +=
            node->op == GRAPH_ACCUMULATE && node->dtype != p->graph->nodes[node->inputs[0]].dtype;
    }
    random_seen.naxes[shd_mesh_naxes(p->mesh)]++;
    random_seen.split += program->own_mesh != NULL;
    random_seen.backward += p->backward;
    random_seen.f32 += p->dtype == SHD_F32;
    random_seen.ops += program->nops;
}

/* ---- the properties ---- */

/* All devices together do the flops of an op once per device along axes that do not shard the op,
 * and skip none.  Exceptions: gradients of look-ups, which pass over all tokens if the table is
 * sharded, products of experts, whose even share need not be a whole number of rows, and sums of
 * halos and carries of scans, which an op on whole arrays has not. */
static bool work_adds_up(const struct program *program)
{
    uint64_t ndevices = (uint64_t)shd_mesh_size(program->mesh);

    for (uint32_t i = 0; i < program->nops; i++) {
        const struct program_op *op = &program->ops[i];
        uint64_t times = 1;

        for (size_t a = 0; a < shd_mesh_naxes(program->mesh); a++)
            if (!(op->cut_axes >> a & 1))
                times *= (uint64_t)shd_mesh_axis_size(program->mesh, a);
        if (op->kind == PROGRAM_KERNEL && op->kernel != &kern_kernel_embed_grad &&
            op->kernel != &kern_kernel_overlaps && op->kernel != &kern_kernel_carry &&
            !(op->kernel == &kern_kernel_scan && op->unsharded_flops == 0) &&
            op->kernel != &kern_kernel_grouped && op->kernel != &kern_kernel_coded_grouped &&
            kern_model_flops(op->kernel, op->desc) * ndevices != op->model_flops * times) {
            diag("the work of op %u (%s for %s) does not add up", i, program_step_name(op), op->name);
            return false;
        }
    }
    return true;
}

static bool verified(const struct record *run)
{
    for (uint32_t r = 0; r < run->nchecks; r++) {
        const struct record_check *c = &run->checks[r];

        if (!record_check_matches(run, c))
            diag("%s is off by %g bounds: element %lld of device %d is %.9g, not %.9g +- %.2g",
                 c->name, c->error, (long long)c->at, (int)c->device, c->got, c->want, c->allowed);
    }
    return record_matches(run);
}

static bool check_results(const struct random_program *p, struct step *step)
{
    struct verify_opts verify = {.ndevices = shd_mesh_size(p->mesh), .nthreads = 1};
    struct verify_reference reference;
    struct walk_opts opts = {.nthreads = 0};
    struct shd_error err;
    struct record *run;
    int status = verify_reference(&reference, p->graph, &verify, &err);
    bool good = false;

    if (status != SHD_OK) {
        diag("reference: %s", err.text);
        return false;
    }
    status = record_create(&run, step->program, RECORD_EXECUTED, true, &err);
    if (status == SHD_OK) {
        status = verify_run(run, &reference, &opts, &err);
        if (status == SHD_OK)
            good = verified(run);
        if (good && step_disagreement(step->planned, run)) {
            diag("a second run differs in %s", step_disagreement(step->planned, run));
            good = false;
        }
        record_destroy(run);
    }
    if (status != SHD_OK)
        diag("run: %s", err.text);
    verify_reference_fini(&reference);
    return good;
}

static bool check_same_bits(const struct step *step)
{
    struct collect again;
    struct walk_opts opts = {.finish = collect_finish, .finish_arg = &again};
    struct record *run;
    bool same = false;

    if (record_create(&run, step->program, RECORD_EXECUTED, false, NULL) != SHD_OK)
        return false;
    if (collect_init(&again, step->program, NULL) == SHD_OK) {
        same = walk_run(run, &opts, NULL) == SHD_OK && step_same_bits(&step->results, &again);
        collect_fini(&again);
    }
    record_destroy(run);
    if (!same)
        diag("a second run has other bits");
    return same;
}

static void test_program(struct random_program *p, bool twice)
{
    struct partition_request request = {.graph = p->graph,
                                        .mesh = p->mesh,
                                        .nodes = p->nodes,
                                        .outputs = p->outputs,
                                        /* both placements see the same kinds of programs */
                                        .placement =
                                            p->seed % 2 ? PARTITION_SEARCH : PARTITION_FOLLOW,
                                        .algos = p->algos,
                                        .memory_bytes = p->memory_bytes};
    struct step step;
    const char *differs = NULL;
    char mesh[128];
    bool good = step_init(&step, &request);

    if (good) {
        count_program(p, step.program);
        differs = step_disagreement(step.planned, step.executed);
        if (differs)
            diag("plan and run differ in %s", differs);
        good = check_results(p, &step) && !differs && work_adds_up(step.program);
        if (twice)
            good = check_same_bits(&step) && good;
    }
    shd_mesh_print(p->mesh, mesh, sizeof mesh);
    ok(good, "seed %llu: %u nodes%s in %s on %s", (unsigned long long)p->seed, p->graph->nnodes,
       p->backward ? " with gradients" : "", shd_dtype_name(p->dtype), mesh);
    if (!good) {
        random_dump(p);
        if (step.program)
            dump_program(step.program);
    }
    step_fini(&step);
    random_program_destroy(p);
}

static void tell_seen(void)
{
    for (int op = 0; op < GRAPH_NOPS; op++)
        if (random_seen.nodes[op] > 0)
            diag("nodes, %s: %u", graph_op((enum graph_op)op)->name, random_seen.nodes[op]);
    for (int kind = 0; kind < SHD_RESHARD_NKINDS; kind++)
        diag("%s: %u", shd_reshard_kind_name((enum shd_reshard_kind)kind), random_seen.steps[kind]);
    diag("steps by a ring: %u; partial sums %u, read by ops %u; partial extremes %u",
         random_seen.rings, random_seen.summed, random_seen.passed, random_seen.extremes);
    diag("dimensions over several axes: %u, in another order than the mesh's %u",
         random_seen.tuples, random_seen.turned);
    diag("meshes of 1 to 4 axes: %u %u %u %u, with axes of size 1: %u", random_seen.naxes[1],
         random_seen.naxes[2], random_seen.naxes[3], random_seen.naxes[4], random_seen.ones);
    diag("conversions: %u; sums over microbatches in another type: %u", random_seen.converted,
         random_seen.mixed_sums);
    diag("meshes with axes split in parts: %u", random_seen.split);
    diag("ops: %u; programs with gradients: %u, in float32: %u", random_seen.ops,
         random_seen.backward, random_seen.f32);
}

/* ---- padding ---- */

/* For each dimension a multiple of the number of its shards, sometimes a larger one. */
static void draw_multiples(int64_t *multiples, struct random_program *p)
{
    for (uint32_t d = 0; d < p->graph->ndims; d++)
        multiples[d] = random_chance(&p->random, 30) ? 2 + random_below(&p->random, 4) : 1;
    for (uint32_t n = 0; n < p->graph->nnodes; n++)
        for (uint32_t d = 0; p->nodes[n] && d < p->graph->nodes[n].rank; d++) {
            int64_t *multiple = &multiples[p->graph->nodes[n].dims[d]];
            int64_t nshards = shd_sharding_nshards(p->nodes[n], d), step = *multiple;

            while (*multiple % nshards)
                *multiple += step;
        }
}

/* Ask the padded graph's leaves for the shardings of the original leaves. */
static void ask_leaves(const struct shd_sharding **nodes, const struct random_program *p,
                       const struct graph *padded)
{
    uint32_t leaf = 0;

    for (uint32_t n = 0; n < padded->nnodes; n++) {
        nodes[n] = NULL;
        if (padded->nodes[n].op > GRAPH_PARAM)
            continue;
        while (p->graph->nodes[leaf].op > GRAPH_PARAM)
            leaf++;
        nodes[n] = p->nodes[leaf++];
    }
}

static bool test_padded_graph(const struct random_program *p, const struct graph *padded)
{
    const struct shd_sharding **nodes = malloc(((size_t)padded->nnodes + 1) * sizeof *nodes);
    struct partition_request request = {.graph = padded,
                                        .mesh = p->mesh,
                                        .nodes = nodes,
                                        .placement =
                                            p->seed % 2 ? PARTITION_SEARCH : PARTITION_FOLLOW};
    struct step step;
    bool good;

    if (!nodes)
        return false;
    ask_leaves(nodes, p, padded);
    good = step_init(&step, &request);
    if (good && step_disagreement(step.planned, step.executed)) {
        diag("plan and run differ in %s", step_disagreement(step.planned, step.executed));
        good = false;
    }
    good = good && check_results(p, &step);
    step_fini(&step);
    free(nodes);
    return good;
}

static void count_masks(const struct graph *padded)
{
    random_seen.padded++;
    for (uint32_t n = 0; n < padded->nnodes; n++)
        random_seen.masks += padded->nodes[n].op == GRAPH_CAUSAL &&
                             padded->nodes[n].attr.causal.query_dim == GRAPH_NONE;
}

static void test_padding(struct random_program *p)
{
    int64_t *multiples = malloc(2 * ((size_t)p->graph->ndims + 1) * sizeof *multiples);
    struct graph *padded = NULL;
    struct shd_error err = {SHD_ENOMEM, ""};
    int status = SHD_ENOMEM;
    bool good;

    if (multiples) {
        draw_multiples(multiples, p);
        status = graph_padded_sizes(multiples + p->graph->ndims, p->graph, multiples, &err);
    }
    if (status == SHD_OK)
        status = graph_pad(&padded, p->graph, multiples + p->graph->ndims, &err);
    if (status == SHD_EUNSUPPORTED || status == SHD_EINDIVISIBLE) {
        random_seen.not_padded++;
    } else {
        good = status == SHD_OK && test_padded_graph(p, padded);
        ok(good, "seed %llu, padded%s%s", (unsigned long long)p->seed, status ? ": " : "",
           status ? err.text : "");
        if (padded)
            count_masks(padded);
        for (uint32_t d = 0; padded && !good && d < padded->ndims; d++)
            if (padded->dims[d].size > padded->dims[d].held)
                diag("%s: %lld padded to %lld", padded->dims[d].name,
                     (long long)padded->dims[d].held, (long long)padded->dims[d].size);
        if (!good)
            random_dump(p);
    }
    graph_destroy(padded);
    free(multiples);
    random_program_destroy(p);
}

void random_test_padding(struct random_program *(*make)(uint64_t seed), unsigned long seed,
                         unsigned long count)
{
    seed = from_env("SHD_TEST_SEED", seed);
    count = from_env("SHD_TEST_COUNT", small_size() ? count / 5 : count);
    diag("SHD_TEST_SEED=%lu, %lu programs", seed, count);
    for (unsigned long i = 0; i < count; i++)
        if (sampled(2, i))
            test_padding(make(seed + i));
    diag("padded graphs: %u, with %u masks; refused: %u", random_seen.padded, random_seen.masks,
         random_seen.not_padded);
    ok(random_seen.padded > 0 && random_seen.masks > 0 && random_seen.not_padded > 0,
       "occurred: padded graphs, masked graphs, and refused graphs");
}

bool random_test(struct random_program *(*make)(uint64_t seed), unsigned long seed,
                 unsigned long count)
{
    unsigned long all = count, ntried = 0;

    seed = from_env("SHD_TEST_SEED", seed);
    count = from_env("SHD_TEST_COUNT", small_size() ? count / 5 : count);
    diag("SHD_TEST_SEED=%lu, %lu programs", seed, count);
    for (unsigned long i = 0; i < count; i++) {
        if (!sampled(2, i))
            continue;
        test_program(make(seed + i), ntried % 3 == 0);
        ntried++;
    }
    tell_seen();
    return ntried >= all;
}
