/* Tests every shipped scenario: its plan equals its run to the last byte, it verifies, and each
 * run computes the same bits.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cost/plan.h"
#include "../support/step.h"
#include "../support/tap.h"
#include "trial/trial.h"
#include "run/walk/walk.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Build the program of a scenario, run it and collect its results. */
static bool run_once(struct trial *trial, struct collect *results, const struct scenario *scenario,
                     struct diag *diag)
{
    struct walk_opts opts = {.finish = collect_finish, .finish_arg = results};
    struct record *record;
    bool good = false;

    if (trial_init(trial, scenario, diag) != SHD_OK)
        return false;
    if (collect_init(results, trial->program, NULL) != SHD_OK ||
        record_create(&record, trial->program, RECORD_EXECUTED, false, NULL) != SHD_OK)
        abort();
    good = walk_run(record, &opts, NULL) == SHD_OK;
    record_destroy(record);
    return good;
}

static bool same_each_time(const struct scenario *scenario, struct diag *diag)
{
    struct trial trials[2] = {{.scenario = NULL}, {.scenario = NULL}};
    struct collect results[2] = {{.wholes = NULL}, {.wholes = NULL}};
    bool same = run_once(&trials[0], &results[0], scenario, diag) &&
                run_once(&trials[1], &results[1], scenario, diag);

    same = same && trials[0].program->nops == trials[1].program->nops &&
           trials[0].program->nresults == trials[1].program->nresults &&
           step_same_bits(&results[0], &results[1]);
    for (int i = 0; i < 2; i++) {
        if (results[i].wholes)
            collect_fini(&results[i]);
        trial_fini(&trials[i]);
    }
    return same;
}

static void test_scenario(const char *file, const struct scenario *scenario)
{
    struct diag errors = DIAG_INIT;
    struct trial trial = {.scenario = NULL};
    struct record *planned = NULL;
    static unsigned long nrun;
    struct shd_error err = {0};
    const char *differs;
    int status = trial_init(&trial, scenario, &errors);

    if (status == SHD_OK)
        status = trial_execute(&trial, NULL, &err);
    if (status == SHD_OK)
        status = plan_create(&planned, trial.program, &err);
    if (ok(status == SHD_OK, "%s, %s: runs", file, scenario->strategy)) {
        differs = step_disagreement(planned, trial.record);
        ok(!differs, "%s, %s: the plan is what runs", file, scenario->strategy);
        if (differs)
            diag("they differ in %s", differs);
        ok(record_verified_ok(trial.record), "%s, %s: is verified", file, scenario->strategy);
        if (sampled(16, nrun++)) /* runs the scenario twice more */
            ok(same_each_time(scenario, &errors), "%s, %s: the same bits again", file,
               scenario->strategy);
    } else {
        diag("%s", err.text);
    }
    diag_write(&errors, stderr);
    diag_fini(&errors);
    record_destroy(planned);
    trial_fini(&trial);
}

/* Of a sweep one strategy in a few is tested, and only if it divides, as the program skips the
 * rest.  Under a sanitizer, where tests/steps/scenarios.sh runs the others, one strategy per file is
 * tested, and none with a thousand threads. */
static bool chosen(const struct scenario *scenario, size_t i)
{
    struct diag errors = DIAG_INIT;
    struct trial trial;
    int64_t ndevices = 1;
    bool divides;

    for (size_t a = 0; a < scenario->nmesh; a++)
        ndevices *= scenario->mesh[a].size;
    if (small_size() && (ndevices > 64 || i > 0))
        return false;
    if (!scenario->swept)
        return true;
    if (i % 7 != 0)
        return false;
    divides = trial_init(&trial, scenario, &errors) == SHD_OK;
    if (divides)
        trial_fini(&trial);
    diag_fini(&errors);
    return divides;
}

/* Test every strategy of a file; `sets` override values in all strategies; not `needed`: a file
 * that does not accept them is skipped. */
static void test_file(const char *directory, const char *name, const char *const *sets,
                      size_t nsets, bool needed)
{
    struct diag errors = DIAG_INIT;
    struct scenario_file *file = NULL;
    char path[4096];
    int status;

    snprintf(path, sizeof path, "%s/%s", directory, name);
    status = scenario_load(&file, path, sets, nsets, &errors);
    if (status != SHD_OK && !needed) { /* a model without these options */
        diag_fini(&errors);
        diag_init(&errors);
        status = scenario_load(&file, path, NULL, 0, &errors);
    }
    ok(status == SHD_OK, "%s loads", name);
    diag_write(&errors, stderr);
    for (size_t i = 0; status == SHD_OK && i < file->nscenarios; i++)
        if (chosen(&file->scenarios[i], i))
            test_scenario(name, &file->scenarios[i]);
    scenario_file_destroy(file);
    diag_fini(&errors);
}

static int is_scenario(const struct dirent *entry)
{
    const char *end = strrchr(entry->d_name, '.');

    return end && !strcmp(end, ".yaml");
}

static void test_shipped(const char *directory)
{
    const char *const sets[] = {"batch.seq=16"}; /* the same program with less work */
    struct dirent **entries;
    int n = scandir(directory, &entries, is_scenario, alphasort);

    ok(n > 0, "there are scenarios");
    for (int i = 0; i < n; i++) {
        if (sampled(2, (unsigned long)i))
            test_file(directory, entries[i]->d_name, sets, COUNT(sets), false);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
}

/* ---- algorithms ---- */

/* Run x[b,e] w[e,f] of integers, sharded so that the program has one reshard step of `kind`. */
static bool run_product(struct step *step, const struct shd_mesh *mesh, enum shd_reshard_kind kind,
                        const char *algo)
{
    struct graph *g = graph_create();
    const uint32_t b = graph_dim(g, "b", 12), e = graph_dim(g, "e", 512), f = graph_dim(g, "f", 8);
    struct kern_source source = {.seed = 3, .modulus = 17};
    struct shd_sharding storage[3];
    const struct shd_sharding *nodes[8] = {&storage[0], &storage[1]}, *outputs[1] = {&storage[2]};
    const struct coll_algo *algos[COLL_NKINDS];
    struct partition_request request = {
        .graph = g, .mesh = mesh, .nodes = nodes, .outputs = outputs, .algos = algos};
    uint32_t x = graph_input(g, "x", SHD_F32, (uint32_t[]){b, e}, 2, source);
    uint32_t w = graph_param(g, "w", SHD_F32, (uint32_t[]){e, f}, 2, source);
    bool good;

    for (int i = 0; i < COLL_NKINDS; i++)
        algos[i] = coll_find((enum coll_kind)i, algo);
    for (int i = 0; i < 3; i++)
        shd_sharding_init(&storage[i], mesh, 2);
    if (kind == SHD_RESHARD_ALL_GATHER) {
        storage[0].dims[0] = (struct shd_dim_axes){.naxes = 1};
    } else {
        storage[0].dims[1] = storage[1].dims[0] = (struct shd_dim_axes){.naxes = 1};
        storage[2].dims[1].naxes = kind == SHD_RESHARD_REDUCE_SCATTER;
    }
    graph_output(g, GRAPH_OUTPUT, "y", graph_einsum(g, "y", x, w, (uint32_t[]){b, f}, 2),
                 GRAPH_NONE);
    good = step_init(step, &request) && step_count(step->program, kind, -1) == 1 &&
           !step_disagreement(step->planned, step->executed);
    if (good) /* the names belong to the graph */
        step->program->results[0].name = "y";
    graph_destroy(g);
    return good;
}

static void test_algorithms(void)
{
    static const enum shd_reshard_kind kinds[] = {
        SHD_RESHARD_ALL_REDUCE, SHD_RESHARD_REDUCE_SCATTER, SHD_RESHARD_ALL_GATHER};
    const char *const name = "tp";
    const int32_t size = 4;
    struct shd_mesh *mesh;

    if (shd_mesh_create(&mesh, &name, &size, 1, NULL) != SHD_OK)
        abort();
    for (size_t i = 0; i < COUNT(kinds); i++) {
        struct step direct, ring;
        bool good = run_product(&direct, mesh, kinds[i], "direct");

        good = run_product(&ring, mesh, kinds[i], "ring") && good;
        ok(good && step_same_bits(&direct.results, &ring.results),
           "%s of whole numbers: direct and ring give the same bits",
           shd_reshard_kind_name(kinds[i]));
        step_fini(&direct);
        step_fini(&ring);
    }
    shd_mesh_destroy(mesh);
}

int main(void)
{
    static const char *const rings[] = {
        "algorithms={all-reduce: ring, all-gather: ring, reduce-scatter: ring}", "model.layers=1",
        "batch.seq=16"};
    const char *top = getenv("top_srcdir");
    char directory[4000];

    plan(0);
    snprintf(directory, sizeof directory, "%s/scenarios", top ? top : ".");
    test_shipped(directory);
    test_file(directory, "strategies.yaml", rings, COUNT(rings), true);
    test_file(directory, "fsdp_tp.yaml", rings, COUNT(rings), true);
    test_algorithms();
    return done();
}
