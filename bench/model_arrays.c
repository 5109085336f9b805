/* Writes what a scenario's unsharded step computes in float64, for bench/models_vs_transformers.py:
 * parameters and inputs, the loss, and the gradients of parameters.  An array is a line of its
 * kind, name and extents, and then its elements as doubles.
 *
 * Parameters that begin with one value in all elements, as scales and biases do, get random numbers
 * around it, so that a misplaced one shows.
 *
 * With --sizes it writes a line for each published size instead: its name, how many parameters it
 * has, its config, and the tokens of its longest sequence (0: unknown), with tabs between them.
 *
 * usage: model_arrays SCENARIO [KEY=VALUE...] >ARRAYS
 *        model_arrays --sizes >LINES
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "model/model.h"
#include "partition/partition.h"
#include "run/ranks/ranks.h"
#include "scenario/published.h"
#include "scenario/scenario.h"
#include "trial/reference.h"

#define SPREAD 0.4 /* of vectors' random numbers */

static void scatter(struct graph *graph, uint64_t seed)
{
    for (uint32_t n = 0; n < graph->nnodes; n++) {
        struct graph_node *node = &graph->nodes[n];
        double offset = node->source.offset;

        if (node->op != GRAPH_PARAM || node->source.scale > 0)
            continue;
        node->source = model_source(seed, node->name, SPREAD);
        node->source.offset = offset;
    }
}

static size_t write_line(const struct graph *g, const char *kind, const char *name, uint32_t n)
{
    const struct graph_node *node = &g->nodes[n];
    size_t count = 1;

    printf("%s %s", kind, name);
    for (uint32_t d = 0; d < node->rank; d++) {
        printf(" %lld", (long long)g->dims[node->dims[d]].size);
        count *= (size_t)g->dims[node->dims[d]].size;
    }
    putchar('\n');
    return count;
}

/* Write a parameter or an input, which the kernel of random numbers fills. */
static bool write_leaf(const struct graph *g, uint32_t n)
{
    const struct graph_node *node = &g->nodes[n];
    int64_t shape[GRAPH_RANK_MAX], offset[GRAPH_RANK_MAX] = {0};
    size_t count = write_line(g, node->op == GRAPH_PARAM ? "param" : "input", node->name, n);
    double *values = malloc((count + 1) * sizeof *values);

    if (!values)
        return false;
    for (uint32_t d = 0; d < node->rank; d++)
        shape[d] = g->dims[node->dims[d]].size;
    if (node->dtype == SHD_F64) {
        kern_fill(&node->source, SHD_F64, node->rank, shape, offset, shape, values);
    } else {
        int32_t *ids = malloc((count + 1) * sizeof *ids);

        if (!ids)
            abort();
        kern_fill(&node->source, node->dtype, node->rank, shape, offset, shape, ids);
        for (size_t i = 0; i < count; i++)
            values[i] = ids[i];
        free(ids);
    }
    fwrite(values, sizeof *values, count, stdout);
    free(values);
    return true;
}

/* The graph's output that a result of its program is. */
static const struct graph_output *find_output(const struct graph *g,
                                              const struct program_result *result)
{
    for (uint32_t o = 0; o < g->noutputs; o++)
        if ((g->outputs[o].kind == GRAPH_GRADIENT) == (result->kind == PROGRAM_GRADIENT) &&
            !strcmp(g->outputs[o].name, result->name))
            return &g->outputs[o];
    abort();
}

static int write_results(const struct graph *g, struct shd_error *err)
{
    struct shd_mesh *mesh = NULL;
    struct program *program = NULL;
    struct reference_results results = {.arrays = NULL};
    struct reference_work work;
    struct reference_opts opts = {.nsteps = 1, .bounds = true, .ndevices = 1, .nthreads = 1};
    int status = shd_mesh_create(&mesh, NULL, NULL, 0, err);
    struct partition_request request = {.graph = g, .mesh = mesh};

    if (status == SHD_OK)
        status = partition_build(&program, &request, err);
    if (status == SHD_OK)
        status = reference_compute(&results, NULL, &work, program, &opts, err);
    for (uint32_t r = 0; status == SHD_OK && r < results.n; r++) {
        const struct graph_output *out = find_output(g, &program->results[r]);
        const char *kind = out->kind == GRAPH_LOSS       ? "loss"
                           : out->kind == GRAPH_GRADIENT ? "gradient"
                                                         : "output";
        struct reference_whole whole;

        status = reference_gather(&whole, &results.arrays[r], sizeof(double), err);
        if (status != SHD_OK)
            break;
        fwrite(whole.values, sizeof(double), write_line(g, kind, out->name, out->node), stdout);
        reference_drop(&whole);
    }
    reference_fini(&results);
    program_destroy(program);
    shd_mesh_destroy(mesh);
    return status;
}

static int write_all(const struct scenario *scenario, struct diag *diag, struct shd_error *err)
{
    struct graph *graph = NULL, *exact;
    int status = model_graph(&graph, scenario, diag);

    if (status != SHD_OK)
        return status;
    scatter(graph, scenario->seed);
    exact = graph_in_dtype(graph, SHD_F64);
    for (uint32_t n = 0; exact && n < exact->nnodes; n++)
        if (exact->nodes[n].op == GRAPH_PARAM || exact->nodes[n].op == GRAPH_INPUT)
            if (!write_leaf(exact, n))
                status = shd_error_set(err, SHD_ENOMEM, "no memory");
    if (exact && status == SHD_OK)
        status = write_results(exact, err);
    graph_destroy(exact);
    graph_destroy(graph);
    return status;
}

/* ---- published sizes ---- */

static int64_t count_parameters(const struct graph *g)
{
    int64_t total = 0;

    for (uint32_t n = 0; n < g->nnodes; n++) {
        int64_t count = 1;

        for (uint32_t d = 0; d < g->nodes[n].rank; d++)
            count *= g->dims[g->nodes[n].dims[d]].size;
        total += g->nodes[n].op == GRAPH_PARAM ? count : 0;
    }
    return total;
}

static int write_size(size_t n, struct diag *diag)
{
    struct text text = TEXT_INIT;
    struct scenario_file *file = NULL;
    struct graph *graph = NULL;
    int status;

    text_addf(&text,
              "version: 1\nmesh: {dp: 1}\nmodel: {size: %s}\nbatch: {size: 1, seq: 16}\n"
              "step: [forward]\nparams: [[.*, []]]\n",
              scenario_model_name(n));
    status = scenario_parse(&file, "size", text_get(&text), text.length, NULL, 0, diag);
    if (status == SHD_OK)
        status = model_graph(&graph, &file->scenarios[0], diag);
    if (status == SHD_OK)
        printf("%s\t%lld\t{%s}\t%lld\n", scenario_model_name(n), (long long)count_parameters(graph),
               published_text(n), (long long)published_longest(n));
    graph_destroy(graph);
    scenario_file_destroy(file);
    text_fini(&text);
    return status;
}

static int write_sizes(struct diag *diag)
{
    int status = SHD_OK;

    for (size_t n = 0; status == SHD_OK && scenario_model_name(n); n++)
        status = write_size(n, diag);
    return status;
}

int main(int argc, char **argv)
{
    struct diag diag = DIAG_INIT;
    struct text text = TEXT_INIT;
    struct scenario_file *file = NULL;
    struct shd_error err = {.status = SHD_OK};
    int status = ranks_begin(&err);

    if (argc < 2)
        fprintf(stderr, "usage: model_arrays SCENARIO [KEY=VALUE...] >ARRAYS\n");
    else if (status == SHD_OK && !strcmp(argv[1], "--sizes"))
        status = write_sizes(&diag);
    else if (status == SHD_OK)
        status =
            scenario_load(&file, argv[1], (const char *const *)argv + 2, (size_t)argc - 2, &diag);
    if (file && status == SHD_OK)
        status = write_all(&file->scenarios[0], &diag, &err);
    diag_print(&diag, &text);
    fputs(text_get(&text), stderr);
    if (err.status != SHD_OK)
        fprintf(stderr, "%s\n", err.text);
    text_fini(&text);
    scenario_file_destroy(file);
    diag_fini(&diag);
    ranks_end();
    return status != SHD_OK;
}
