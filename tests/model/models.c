/* Tests models of published sizes: the number of parameters, whole and scaled down; buckets of
 * relative positions; and texts, which each layout reads the same and which may be cut short.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graph/layers/attention.h"
#include "model/model.h"
#include "model/relative.h"
#include "scenario/scenario.h"
#include "../support/step.h"
#include "../support/tap.h"
#include "trial/trial.h"

/* Parameters as published with the weights (the sum over all arrays; a tied head counts once). */
static const struct {
    const char *size;
    int64_t nparams;
} published[] = {
    {"gpt2-small", 124439808},
    {"gpt2-medium", 354823168},
    {"gpt2-large", 774030080},
    {"gpt2-xl", 1557611200},
    {"llama3-1b", 1235814400},
    {"llama3-3b", 3212749824},
    {"llama3-8b", 8030261248},
    {"llama3-70b", 70553706496},
    {"llama3-405b", 405853388800},
    {"t5-small", 60506624},
    {"t5-base", 222903552},
    {"t5-large", 737668096},
    {"t5-3b", 2851598336},
    {"t5-11b", 11307321344},
    {"t5-v1.1-small", 76961152},
    {"t5-v1.1-base", 247577856},
    {"t5-v1.1-large", 783150080},
    {"t5-v1.1-xl", 2849757184},
    {"t5-v1.1-xxl", 11135332352},
    {"mixtral-8x7b", 46702792704},
    {"mixtral-8x22b", 140620634112},
    {"deepseek-v2-lite", 15706484224},
    {"deepseek-v2", 235741434880},
    {"mixtral-8x22b-instruct", 140630071296},
    {"starcoder2-15b", 15957889024},
    {"minitron-8b", 8271699968},
    {"seed-oss-36b", 36151104512},
    {"granite-3.0-8b", 8170835968},
    {"qwen3-coder-480b-a35b", 480154875392},
    {"qwen3-coder-30b-a3b", 30532122624},
    {"deepseek-v3", 671026404352}, /* without the 14,848 router biases, which no gradient changes */
};

/* The graph of a scenario's text; NULL if the text is refused, with the messages as diagnostics. */
static struct graph *graph_of(struct scenario_file **file, const char *text)
{
    struct graph *graph = NULL;
    struct diag errors;

    diag_init(&errors);
    *file = NULL;
    if (scenario_parse(file, "models.yaml", text, strlen(text), NULL, 0, &errors) == SHD_OK &&
        model_graph(&graph, (*file)->scenarios, &errors) != SHD_OK)
        graph = NULL;
    for (size_t i = 0; i < errors.nmessages; i++)
        diag("%s", errors.messages[i].text);
    diag_fini(&errors);
    return graph;
}

static struct graph *graph_of_size(struct scenario_file **file, const char *size, const char *more)
{
    char text[400];

    snprintf(text, sizeof text,
             "version: 1\nmesh: {dp: 1}\nmodel: {size: %s%s}\nbatch: {size: 2, seq: 16}\n"
             "step: [forward]\nparams: [[.*, []]]\n",
             size, more);
    return graph_of(file, text);
}

static int64_t count_params(const struct graph *g)
{
    int64_t total = 0;

    for (uint32_t n = 0; g && n < g->nnodes; n++) {
        int64_t shape[GRAPH_RANK_MAX], count = 1;

        if (g->nodes[n].op != GRAPH_PARAM)
            continue;
        graph_shape(g, n, shape);
        for (uint32_t d = 0; d < g->nodes[n].rank; d++)
            count *= shape[d];
        total += count;
    }
    return total;
}

static void test_published(void)
{
    for (size_t i = 0; i < sizeof published / sizeof published[0]; i++) {
        struct scenario_file *file;
        struct graph *g = graph_of_size(&file, published[i].size, "");
        int64_t got = count_params(g);

        ok(got == published[i].nparams, "%s has %" PRId64 " parameters", published[i].size,
           published[i].nparams);
        if (got != published[i].nparams)
            diag("found %" PRId64, got);
        graph_destroy(g);
        scenario_file_destroy(file);
    }
}

/* A scaled-down model divides over up to 8 devices wherever the whole model does. */
static void test_scale(void)
{
    for (size_t i = 0; i < sizeof published / sizeof published[0]; i++) {
        struct scenario_file *whole, *small;
        struct graph *g = graph_of_size(&whole, published[i].size, "");
        struct graph *h = graph_of_size(&small, published[i].size, ", scale: 1/8");
        const struct scenario_model *a = &whole->scenarios->model, *b = &small->scenarios->model;
        int64_t got = count_params(h);
        bool divides = true;

        for (int64_t n = 2; n <= 8; n *= 2)
            divides = divides && b->d_ff % n == 0 && b->vocab % n == 0 &&
                      (a->d_model % n != 0 || b->d_model % n == 0) &&
                      (a->heads % n != 0 || b->heads % n == 0) &&
                      (a->kv_heads % n != 0 || b->kv_heads % n == 0);
        ok(got > 0 && got < published[i].nparams / 30 && divides &&
               a->heads / a->kv_heads == b->heads / b->kv_heads && b->layers < a->layers,
           "%s at 1/8: smaller everywhere, cut as before", published[i].size);
        graph_destroy(g);
        graph_destroy(h);
        scenario_file_destroy(whole);
        scenario_file_destroy(small);
    }
}

/* Given sizes replace published ones and are not scaled down. */
static void test_given(void)
{
    struct scenario_file *file;
    struct graph *g = graph_of_size(&file, "llama3-8b", ", scale: 0.125, layers: 5, vocab: 256");
    const struct scenario_model *m = &file->scenarios->model;

    ok(m->kind == SCENARIO_LLAMA3 && m->layers == 5 && m->vocab == 256, "given: is as given");
    ok(m->d_model == 512 && m->d_ff == 1792 && m->heads == 32 && m->kv_heads == 8 &&
           m->head_dim == 16 && m->rope.theta == 500000 && !m->tied && m->norm_eps == 1e-5,
       "given: other sizes are shrunk, or published values");
    graph_destroy(g);
    scenario_file_destroy(file);
    g = graph_of_size(&file, "gpt2-small", ", d_model: 96, heads: 6, tied: false");
    m = &file->scenarios->model;
    ok(m->kv_heads == 6 && m->head_dim == 16 && !m->tied && m->positions == 1024 && m->bias &&
           m->attention_bias == SCENARIO_BIAS_ALL,
       "given: heads and width say the width of a head");
    graph_destroy(g);
    scenario_file_destroy(file);
}

/* Counted by hand from the T5 paper: half of the buckets are for exact distances, the others for
 * logarithmic steps up to 128. */
static void test_relative(void)
{
    static const struct {
        bool both;
        int64_t ahead;
        uint32_t bucket;
    } cases[] = {
        {true, 0, 0},      {true, -1, 1},      {true, -7, 7},    {true, -8, 8},
        {true, -11, 8},    {true, -12, 9},     {true, -15, 9},   {true, -16, 10},
        {true, -64, 14},   {true, -91, 15},    {true, -127, 15}, {true, -1000, 15},
        {true, 1, 17},     {true, 7, 23},      {true, 8, 24},    {true, 1000, 31},
        {false, 0, 0},     {false, 5, 0},      {false, -1, 1},   {false, -15, 15},
        {false, -16, 16},  {false, -18, 16},   {false, -19, 17}, {false, -113, 31},
        {false, -128, 31}, {false, -9999, 31},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct relative_opts opts = {32, 128, cases[i].both};
        uint32_t got = relative_bucket(&opts, cases[i].ahead);

        ok(got == cases[i].bucket, "relative: %lld ahead%s is in bucket %u",
           (long long)cases[i].ahead, cases[i].both ? "" : ", causal", cases[i].bucket);
        if (got != cases[i].bucket)
            diag("found %u", got);
    }
}

/* All elements of a graph's input of ids, as kern_fill() makes them. */
static int32_t *fill(const struct graph *g, const char *name, uint32_t step, uint32_t microbatch)
{
    int64_t shape[GRAPH_RANK_MAX], offset[GRAPH_RANK_MAX] = {0};
    struct kern_source source;
    int32_t *out;

    for (uint32_t n = 0; n < g->nnodes; n++) {
        if (g->nodes[n].op != GRAPH_INPUT || strcmp(g->nodes[n].name, name) != 0)
            continue;
        graph_shape(g, n, shape);
        source = g->nodes[n].source;
        source.step = step;
        source.microbatch = microbatch;
        out = calloc((size_t)(shape[0] * shape[1]), sizeof *out);
        kern_fill(&source, SHD_I32, 2, shape, offset, shape, out);
        return out;
    }
    return NULL;
}

/* In the graph's own inputs, row i and column j has the bucket of j - i. */
static void test_buckets(void)
{
    const struct relative_opts both = {32, 128, true}, causal = {32, 128, false};
    struct scenario_file *file;
    struct graph *g = graph_of_size(&file, "t5-small", ", scale: 1/8");
    int32_t *encoder = fill(g, "encoder/relative/buckets", 0, 0);
    int32_t *decoder = fill(g, "decoder/relative/buckets", 3, 0);
    bool good = encoder && decoder;

    for (int64_t i = 0; good && i < 16; i++)
        for (int64_t j = 0; j < 16; j++)
            good = good && encoder[i * 16 + j] == (int32_t)relative_bucket(&both, j - i) &&
                   decoder[i * 16 + j] == (int32_t)relative_bucket(&causal, j - i);
    ok(good, "relative: each query has the buckets of its keys, in every step");
    free(encoder);
    free(decoder);
    graph_destroy(g);
    scenario_file_destroy(file);
}

static uint32_t leaf(struct graph *g, const char *name, const char *const *names, uint32_t rank,
                     double scale)
{
    const struct kern_source source = {.seed = (uint32_t)(unsigned char)name[0] << 20,
                                       .scale = scale};
    uint32_t dims[4];

    for (uint32_t d = 0; d < rank; d++)
        dims[d] = graph_find_dim(g, names[d]);
    return graph_input(g, name, SHD_F64, dims, rank, source);
}

#define LEAF(g, name, scale, ...)                     \
    leaf(g, name, (const char *const[]){__VA_ARGS__}, \
         sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), scale)

/* The difference between fused attention and attention by products and a softmax, with a random
 * bias of the given spread. */
static struct graph *make_difference(bool causal, bool unscaled, double spread)
{
    static const struct {
        const char *name;
        int64_t size;
    } sizes[] = {{"batch", 2}, {"seq", 6},      {"keys", 6},    {"embed", 8},
                 {"heads", 4}, {"kv_heads", 2}, {"head_dim", 4}};
    struct attention_opts opts = {.causal = causal, .scale = unscaled};
    struct graph *g = graph_create();
    struct attention_weights w = {.biased = false};
    uint32_t x, fused, made;

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        graph_dim(g, sizes[i].name, sizes[i].size);
    x = LEAF(g, "x", 2, "batch", "seq", "embed");
    w.q = LEAF(g, "q", 2, "embed", "heads", "head_dim");
    w.k = LEAF(g, "k", 2, "embed", "kv_heads", "head_dim");
    w.v = LEAF(g, "v", 2, "embed", "kv_heads", "head_dim");
    w.o = LEAF(g, "o", 2, "heads", "head_dim", "embed");
    fused = layer_attention(g, "fused", x, &w, &opts);
    opts.relative = true;
    opts.bias = LEAF(g, "bias", spread, "seq", "keys", "heads");
    made = layer_attention(g, "made", x, &w, &opts);
    made = graph_map(g, "difference", KERN_SUB, fused, made, 0);
    graph_output(g, GRAPH_OUTPUT, "difference", made, GRAPH_NONE);
    return g;
}

/* The largest difference of any element; infinity on failure. */
static double difference(bool causal, bool unscaled, double spread)
{
    struct graph *g = make_difference(causal, unscaled, spread);
    struct partition_request request = {.graph = g};
    struct shd_mesh *mesh = NULL;
    double most = INFINITY;
    struct step step;

    if (graph_status(g, NULL) == SHD_OK && shd_mesh_create(&mesh, NULL, NULL, 0, NULL) == SHD_OK) {
        request.mesh = mesh;
        if (step_init(&step, &request)) {
            most = 0;
            for (int64_t i = 0; i < 2 * 6 * 8; i++)
                most = fmax(most, fabs(step_value(&step, 0, i)));
        }
        step_fini(&step);
    }
    shd_mesh_destroy(mesh);
    graph_destroy(g);
    return most;
}

/* Fused and unfused attention agree, also with fewer key heads than heads. */
static void test_biased_attention(void)
{
    for (int variant = 0; variant < 4; variant++) {
        bool causal = variant & 1, unscaled = variant & 2;

        ok(difference(causal, unscaled, 0) < 1e-12,
           "attention without a bias is that of the kernel, %d", variant);
        ok(difference(causal, unscaled, 2) > 1e-3, "attention with a bias is not, %d", variant);
    }
}

#define TEXT_PATH "models-text.tmp"
enum { TEXT_BYTES = 1003, STEPS = 40 };

static void write_text(uint8_t *bytes)
{
    FILE *f = fopen(TEXT_PATH, "wb");

    for (int i = 0; i < TEXT_BYTES; i++)
        bytes[i] = (uint8_t)(i * i % 251 + i % 3);
    if (!f || fwrite(bytes, 1, TEXT_BYTES, f) != TEXT_BYTES)
        abort(); /* the tests' folder is writable */
    fclose(f);
}

static struct graph *graph_of_text(struct scenario_file **file, const char *kind, int nmicro)
{
    char text[600];

    snprintf(text, sizeof text,
             "version: 1\nmesh: {dp: 1}\nmodel: {kind: %s, d_model: 16, d_ff: 32, heads: 2, "
             "vocab: 256}\nbatch: {size: 4, seq: 8, microbatches: %d}\ndata: " TEXT_PATH "\n"
             "step: [forward, backward, update]\nsteps: 50\noptimizer: {kind: sgd}\n"
             "params: [[.*, []]]\n",
             kind, nmicro);
    return graph_of(file, text);
}

/* Sequence r of 4 begins at r quarters of the text and wraps around at its end. */
static void test_text(void)
{
    uint8_t bytes[TEXT_BYTES];

    write_text(bytes);
    for (int nmicro = 1; nmicro <= 4; nmicro *= 2) {
        struct scenario_file *file;
        struct graph *g = graph_of_text(&file, "gpt2", nmicro);
        int rows = 4 / nmicro;
        bool good = g != NULL;

        for (uint32_t step = 0; good && step < STEPS; step++)
            for (int m = 0; m < nmicro; m++) {
                int32_t *tokens = fill(g, "tokens", step, (uint32_t)m);
                int32_t *labels = fill(g, "labels", step, (uint32_t)m);

                for (int i = 0; i < rows * 8; i++) {
                    int at = (m * rows + i / 8) * (TEXT_BYTES / 4) + (int)step * 8 + i % 8;

                    good = good && tokens[i] == bytes[at % TEXT_BYTES] &&
                           labels[i] == bytes[(at + 1) % TEXT_BYTES];
                }
                free(tokens);
                free(labels);
            }
        ok(good, "text: the bytes of each step, in %d microbatches", nmicro);
        graph_destroy(g);
        scenario_file_destroy(file);
    }
}

/* T5: the decoder continues where the encoder's text ends. */
static void test_text_t5(void)
{
    uint8_t bytes[TEXT_BYTES];
    struct scenario_file *file;
    struct graph *g;
    bool good = true;
    int32_t *source, *tokens, *labels;

    write_text(bytes);
    g = graph_of_text(&file, "t5", 1);
    source = fill(g, "source", 2, 0);
    tokens = fill(g, "tokens", 2, 0);
    labels = fill(g, "labels", 2, 0);
    for (int i = 0; i < 32; i++) {
        int at = i / 8 * (TEXT_BYTES / 4) + 16 + i % 8;

        good = good && source[i] == bytes[at] && tokens[i] == bytes[at + 8] &&
               labels[i] == bytes[at + 9];
    }
    ok(good, "text: a decoder reads on where its encoder ends");
    free(source);
    free(tokens);
    free(labels);
    graph_destroy(g);
    scenario_file_destroy(file);
}

/* A text that is cut short after its scenario was read gives an error of the file, in a run and in
 * training. */
static void test_text_cut(void)
{
    int (*const ways[])(struct trial *, const int *, struct shd_error *) = {trial_execute,
                                                                            trial_train};
    uint8_t bytes[TEXT_BYTES];

    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        struct scenario_file *file;
        struct diag found = DIAG_INIT;
        struct trial trial;
        struct shd_error err = {0};
        int status = SHD_ENOMEM;

        write_text(bytes);
        graph_destroy(graph_of_text(&file, "gpt2", 1));
        if (trial_init(&trial, &file->scenarios[0], &found) == SHD_OK && !truncate(TEXT_PATH, 600))
            status = ways[i](&trial, NULL, &err);
        ok(status == SHD_ESYSTEM &&
               !strcmp(err.text,
                       "'" TEXT_PATH "' was truncated during the read: no byte 600 of 1003"),
           "text: cut short, %s", i ? "to train" : "to execute");
        if (status != SHD_ESYSTEM)
            diag("%d %s", status, err.text);
        trial_fini(&trial);
        scenario_file_destroy(file);
    }
}

int main(void)
{
    plan(0);
    test_published();
    test_scale();
    test_given();
    test_relative();
    test_buckets();
    test_biased_attention();
    test_text();
    test_text_t5();
    test_text_cut();
    remove(TEXT_PATH);
    return done();
}
