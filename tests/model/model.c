/* Tests the presets of model/model.h: names, shapes, descriptions, sources of specs, and bad
 * layouts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/model.h"

#include <math.h>
#include <string.h>

#include "model/weigh.h"
#include "../support/tap.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define HEAD "version: 1\nmesh: {dp: 2, tp: 4}\nbatch: {size: 4, seq: 8}\n"

static struct scenario_file *load(const char *text)
{
    struct diag errors = DIAG_INIT;
    struct scenario_file *file = NULL;

    if (scenario_parse(&file, "m.yaml", text, strlen(text), NULL, 0, &errors) != SHD_OK)
        diag_write(&errors, stderr);
    diag_fini(&errors);
    return file;
}

/* Print all forward nodes of an op, in order, as "name[embed,heads] ". */
static void list_nodes(const struct graph *g, enum graph_op op, struct text *out)
{
    for (uint32_t n = 0; n < g->nnodes; n++) {
        if (g->nodes[n].op != op || g->nodes[n].phase != GRAPH_FORWARD)
            continue;
        text_addf(out, "%s[", g->nodes[n].name);
        for (uint32_t d = 0; d < g->nodes[n].rank; d++)
            text_addf(out, "%s%s", d ? "," : "", g->dims[g->nodes[n].dims[d]].name);
        text_add(out, "] ");
    }
}

static const struct {
    const char *what;
    const char *model;
    const char *inputs;
    const char *params;
    const char *places;
    const char *describe;
} models[] = {
    {"mlp", "{kind: mlp, d_model: 16, d_ff: 32, bias: true}",
     "x[batch,seq,embed] ct[batch,seq,embed] ",
     "layers/0/mlp/up/kernel[embed,mlp] layers/0/mlp/up/bias[mlp] "
     "layers/0/mlp/down/kernel[mlp,embed] layers/0/mlp/down/bias[embed] ",
     "layers/0/mlp/in[batch,seq,embed] layers/0/mlp/hidden[batch,seq,mlp] "
     "layers/0/mlp/out[batch,seq,embed] ",
     "1 layer of mlp gelu, embed 16, mlp 32, float32; batch 4x8; forward and backward"},
    {"attention", "{kind: attention, d_model: 16, heads: 4, kv_heads: 2, layers: 1, causal: false}",
     "x[batch,seq,embed] ct[batch,seq,embed] ",
     "layers/0/attn/q/kernel[embed,heads,head_dim] layers/0/attn/k/kernel[embed,kv_heads,head_dim] "
     "layers/0/attn/v/kernel[embed,kv_heads,head_dim] "
     "layers/0/attn/o/kernel[heads,head_dim,embed] ",
     "layers/0/attn/in[batch,seq,embed] layers/0/attn/projected[batch,seq,heads,head_dim] "
     "layers/0/attn/q[batch,seq,heads,head_dim] "
     "layers/0/attn/projected[batch,seq,kv_heads,head_dim] "
     "layers/0/attn/kv[batch,seq,kv_heads,head_dim] "
     "layers/0/attn/projected[batch,seq,kv_heads,head_dim] "
     "layers/0/attn/kv[batch,seq,kv_heads,head_dim] layers/0/attn/q[batch,seq,heads,head_dim] "
     "layers/0/attn/attended[batch,seq,heads,head_dim] layers/0/attn/out[batch,seq,embed] ",
     "1 layer of attention, embed 16, 4 heads of 4 on 2 key heads, float32; batch 4x8; forward "
     "and "
     "backward"},
    {"transformer",
     "{kind: transformer, d_model: 16, d_ff: 32, heads: 4, head_dim: 6, vocab: 40, norm: layer, "
     "activation: swiglu, rope: {interleaved: true}}",
     "tokens[batch,seq] labels[batch,seq] ",
     "embed/table[vocab,embed] layers/0/norm1/scale[embed] layers/0/norm1/bias[embed] "
     "layers/0/attn/q/kernel[embed,heads,head_dim] layers/0/attn/k/kernel[embed,kv_heads,head_dim] "
     "layers/0/attn/v/kernel[embed,kv_heads,head_dim] "
     "layers/0/attn/o/kernel[heads,head_dim,embed] layers/0/norm2/scale[embed] "
     "layers/0/norm2/bias[embed] layers/0/mlp/gate/kernel[embed,mlp] "
     "layers/0/mlp/up/kernel[embed,mlp] layers/0/mlp/down/kernel[mlp,embed] "
     "final_norm/scale[embed] final_norm/bias[embed] head/kernel[embed,vocab] ",
     NULL,
     "1 layer of transformer swiglu, embed 16, mlp 32, 4 heads of 6, causal, rope, vocab 40, "
     "float32; batch 4x8; forward and backward"},
    {"a decoder with norms on both sides, biases and a module for further tokens",
     "{kind: decoder, d_model: 16, d_ff: 32, heads: 4, vocab: 40, norm_place: both, bias: true, "
     "norm_one_plus: true, residual: beside, activation: geglu-exact, embed_scale: 4, "
     "logit_cap: 30, head_bias: true, mtp: 1}",
     "tokens[batch,seq] labels[batch,seq] labels/1[batch,seq] ",
     "embed/table[vocab,embed] layers/0/norm1/scale[embed] "
     "layers/0/attn/q/kernel[embed,heads,head_dim] "
     "layers/0/attn/k/kernel[embed,kv_heads,head_dim] "
     "layers/0/attn/v/kernel[embed,kv_heads,head_dim] "
     "layers/0/attn/o/kernel[heads,head_dim,embed] layers/0/norm1_after/scale[embed] "
     "layers/0/mlp/gate/kernel[embed,mlp] layers/0/mlp/gate/bias[mlp] "
     "layers/0/mlp/up/kernel[embed,mlp] layers/0/mlp/up/bias[mlp] "
     "layers/0/mlp/down/kernel[mlp,embed] layers/0/mlp/down/bias[embed] "
     "layers/0/norm2_after/scale[embed] final_norm/scale[embed] head/kernel[embed,vocab] "
     "head/bias[vocab] mtp/layers/0/embed_norm/scale[embed] mtp/layers/0/hidden_norm/scale[embed] "
     "mtp/layers/0/join/kernel[joined,embed] mtp/layers/0/norm1/scale[embed] "
     "mtp/layers/0/attn/q/kernel[embed,heads,head_dim] "
     "mtp/layers/0/attn/k/kernel[embed,kv_heads,head_dim] "
     "mtp/layers/0/attn/v/kernel[embed,kv_heads,head_dim] "
     "mtp/layers/0/attn/o/kernel[heads,head_dim,embed] mtp/layers/0/norm1_after/scale[embed] "
     "mtp/layers/0/mlp/gate/kernel[embed,mlp] mtp/layers/0/mlp/gate/bias[mlp] "
     "mtp/layers/0/mlp/up/kernel[embed,mlp] mtp/layers/0/mlp/up/bias[mlp] "
     "mtp/layers/0/mlp/down/kernel[mlp,embed] mtp/layers/0/mlp/down/bias[embed] "
     "mtp/layers/0/norm2_after/scale[embed] mtp/layers/0/final_norm/scale[embed] ",
     NULL,
     "1 layer of decoder geglu-exact, embed 16, mlp 32, 4 heads of 4, causal, rope, norms on both "
     "sides, norms by 1 + scale, parallel attention and mlp, vocab 40, embeddings times 4, logits "
     "capped at 30, head bias, 1 module for further tokens, float32; batch 4x8; forward and "
     "backward"},
    {"a decoder of states alone, which has no heads of attention and no mlp",
     "{kind: decoder, d_model: 16, d_ff: 32, heads: 4, vocab: 40, residual: alone, "
     "layer_types: [mamba]}",
     "tokens[batch,seq] labels[batch,seq] ", NULL, NULL,
     "1 layer of decoder, embed 16, Mamba-2 in 1 layer, attention, a state or an mlp in each "
     "layer, vocab "
     "40, float32; batch 4x8; forward and backward"},
};

static int is_list(const struct graph *g, enum graph_op op, const char *expected)
{
    struct text text = TEXT_INIT;
    int same;

    list_nodes(g, op, &text);
    same = !expected || !strcmp(text_get(&text), expected);
    if (!same)
        diag("got %s", text_get(&text));
    text_fini(&text);
    return same;
}

static void test_names(void)
{
    for (size_t i = 0; i < COUNT(models); i++) {
        struct diag errors = DIAG_INIT;
        struct text text = TEXT_INIT;
        struct graph *g = NULL;

        text_addf(&text, HEAD "model: %s\n", models[i].model);
        struct scenario_file *file = load(text_get(&text));
        int status = file ? model_graph(&g, &file->scenarios[0], &errors) : SHD_EINVAL;
        ok(status == SHD_OK && errors.nerrors == 0, "%s: a graph", models[i].what);
        diag_write(&errors, stderr);
        if (g) {
            ok(is_list(g, GRAPH_INPUT, models[i].inputs), "%s: inputs", models[i].what);
            ok(is_list(g, GRAPH_PARAM, models[i].params), "%s: parameters", models[i].what);
            ok(is_list(g, GRAPH_CONSTRAINT, models[i].places), "%s: places", models[i].what);
            text_clear(&text);
            model_describe(&text, &file->scenarios[0]);
            if (!ok(!strcmp(text_get(&text), models[i].describe), "%s: in words", models[i].what))
                diag("got %s", text_get(&text));
        }
        graph_destroy(g);
        scenario_file_destroy(file);
        text_fini(&text);
        diag_fini(&errors);
    }
}

/* Outputs of a graph as "kind:name ". */
static void test_outputs(void)
{
    struct diag errors = DIAG_INIT;
    struct graph *g = NULL;
    struct scenario_file *file =
        load(HEAD "model: {kind: transformer, d_model: 8, d_ff: 8, heads: 2, vocab: 9}\n"
                  "step: forward\n");

    ok(model_graph(&g, &file->scenarios[0], &errors) == SHD_OK && g->noutputs == 1 &&
           g->outputs[0].kind == GRAPH_OUTPUT && graph_find_dim(g, "vocab") != GRAPH_NONE,
       "a transformer forward: logits only");
    graph_destroy(g);
    g = NULL;
    scenario_file_destroy(file);
    file = load(HEAD "model: {kind: transformer, d_model: 8, d_ff: 8, heads: 2, vocab: 9}\n");
    int good = model_graph(&g, &file->scenarios[0], &errors) == SHD_OK;
    uint32_t nlosses = 0, ngradients = 0;
    for (uint32_t o = 0; good && o < g->noutputs; o++) {
        nlosses += g->outputs[o].kind == GRAPH_LOSS;
        ngradients += g->outputs[o].kind == GRAPH_GRADIENT;
        good &= strcmp(g->outputs[o].name, "tokens") != 0;
    }
    ok(good && nlosses == 1 && ngradients == 11,
       "and backward: its own loss, gradients of parameters and not of tokens");
    graph_destroy(g);
    scenario_file_destroy(file);
    diag_fini(&errors);
}

static const struct {
    const char *what;
    const char *text;
    const char *message;
} bad_layouts[] = {
    {"heads that do not divide",
     HEAD "model: {kind: attention, d_model: 12, heads: 6}\n"
          "params: [[attn/q, [null, tp]], [.*, []]]\n",
     "m.yaml:5:19: error: 'layers/0/attn/q/kernel': dimension 1 of extent 6 does not divide"},
    {"kv heads fewer than the axis",
     HEAD "model: {kind: attention, d_model: 16, heads: 4, kv_heads: 2}\n"
          "params: [['attn/.*/kernel', [null, tp]]]\n",
     "m.yaml:5:29: error: 'layers/0/attn/k/kernel': dimension 1 of extent 2 does not divide"},
    {"heads that do not divide at a constraint",
     HEAD "model: {kind: attention, d_model: 12, heads: 6}\nparams: [[.*, []]]\n"
          "constraints: [[attn/q, [null, null, tp]]]\n",
     "m.yaml:6:24: error: 'layers/0/attn/q': dimension 2 of extent 6 does not divide"},
    {"tokens that do not divide",
     "version: 1\nmesh: {dp: 3}\nbatch: {size: 4, seq: 8}\n"
     "model: {kind: transformer, d_model: 8, d_ff: 8, heads: 2, vocab: 9}\n"
     "params: [[.*, []]]\naxes: {batch: dp}\n",
     "m.yaml:6:15: error: 'tokens': dimension 0 of extent 4 does not divide"},
};

static void test_bad_layouts(void)
{
    for (size_t i = 0; i < COUNT(bad_layouts); i++) {
        struct scenario_file *file = load(bad_layouts[i].text);
        struct diag errors = DIAG_INIT;
        struct text messages = TEXT_INIT;
        struct model_shardings shardings;
        struct graph *g = NULL;
        struct shd_mesh *mesh = NULL;
        int status = model_graph(&g, &file->scenarios[0], &errors);

        if (status == SHD_OK)
            status = scenario_mesh(&mesh, &file->scenarios[0], NULL);
        if (status == SHD_OK) {
            status = model_shardings(&shardings, g, mesh, &file->scenarios[0], &errors);
            if (status == SHD_OK)
                model_shardings_fini(&shardings);
        }
        diag_print(&errors, &messages);
        if (!ok(status != SHD_OK && strstr(text_get(&messages), bad_layouts[i].message),
                "refused: %s", bad_layouts[i].what))
            diag("%s", text_get(&messages));
        shd_mesh_destroy(mesh);
        graph_destroy(g);
        scenario_file_destroy(file);
        text_fini(&messages);
        diag_fini(&errors);
    }
}

/* Whether the arrays of one layer are sharded as expected: "kernel[...] ... place[...]". */
static int lie(const struct scenario *s, const char *expected)
{
    struct diag errors = DIAG_INIT;
    struct text text = TEXT_INIT;
    struct model_shardings shardings;
    struct graph *g = NULL;
    struct shd_mesh *mesh = NULL;
    int status = model_graph(&g, s, &errors);

    if (status == SHD_OK)
        status = scenario_mesh(&mesh, s, NULL);
    if (status == SHD_OK)
        status = model_shardings(&shardings, g, mesh, s, &errors);
    for (uint32_t n = 0; status == SHD_OK && n < g->nnodes; n++) {
        char buf[200];

        if (!shardings.nodes[n] || g->nodes[n].phase != GRAPH_FORWARD)
            continue;
        shd_sharding_print(shardings.nodes[n], buf, sizeof(buf));
        text_addf(&text, "%s%s ", g->nodes[n].name, buf);
    }
    int same = status == SHD_OK && !strcmp(text_get(&text), expected);
    if (!same)
        diag("%s", text_get(&text));
    diag_write(&errors, stderr);
    if (status == SHD_OK)
        model_shardings_fini(&shardings);
    shd_mesh_destroy(mesh);
    graph_destroy(g);
    text_fini(&text);
    diag_fini(&errors);
    return same;
}

/* Specs made from shapes, or from names of dimensions. */
static void test_sources(void)
{
    struct scenario_file *file =
        load("version: 1\nbatch: {size: 4, seq: 8}\nmodel: {kind: mlp, d_model: 12, d_ff: 32}\n"
             "step: [forward]\nrules: auto\nstrategies:\n"
             "  - {name: a, mesh: {dp: 2, tp: 4}}\n"
             "  - {name: b, mesh: {fsdp: 6, sp: 2}}\n"
             "  - {name: c, mesh: {tp: 8}}\n"
             "  - {name: d, mesh: {tp: 5}}\n");

    ok(lie(&file->scenarios[0], "x[{}, {}, {}] layers/0/mlp/up/kernel[{}, {dp}] "
                                "layers/0/mlp/down/kernel[{dp}, {}] "),
       "rules: auto, the large dimension first");
    ok(lie(&file->scenarios[1], "x[{}, {}, {}] layers/0/mlp/up/kernel[{fsdp}, {sp}] "
                                "layers/0/mlp/down/kernel[{}, {}] "),
       "rules: auto, never what does not divide: 32 by 6");
    ok(lie(&file->scenarios[2], "x[{}, {}, {}] layers/0/mlp/up/kernel[{}, {tp}] "
                                "layers/0/mlp/down/kernel[{tp}, {}] "),
       "rules: auto, the first dimension that divides");
    ok(lie(&file->scenarios[3], "x[{}, {}, {}] layers/0/mlp/up/kernel[{}, {}] "
                                "layers/0/mlp/down/kernel[{}, {}] "),
       "rules: auto, whole where nothing divides");
    scenario_file_destroy(file);
    file = load("version: 1\nbatch: {size: 4, seq: 8}\nmodel: {kind: mlp, d_model: 12, d_ff: 32}\n"
                "step: [forward]\nmesh: {dp: 2, fsdp: 2, tp: 2}\n"
                "params: [[up, [_, mlp_intermediate]], [down, [mlp_intermediate, fsdp]]]\n"
                "axes: {batch: batch, seq: sequence}\n"
                "constraints: [[mlp/hidden, [batch, query_sequence, head]]]\n"
                "partition_axis: {sequence_parallel: null}\n"
                "strategies: [{name: a}, {name: b, partition_axis: {mode: generation, "
                "sequence_parallel: null, generation_head: fsdp}}]\n");
    ok(lie(&file->scenarios[0],
           "x[{fsdp,dp}, {}, {}] layers/0/mlp/up/kernel[{}, {tp}] "
           "layers/0/mlp/down/kernel[{tp}, {fsdp}] layers/0/mlp/hidden[{fsdp,dp}, {}, {tp}] "),
       "partition_axis: training");
    ok(lie(&file->scenarios[1],
           "x[{}, {}, {}] layers/0/mlp/up/kernel[{}, {tp}] "
           "layers/0/mlp/down/kernel[{tp}, {fsdp}] layers/0/mlp/hidden[{}, {}, {fsdp}] "),
       "partition_axis: generation");
    scenario_file_destroy(file);
}

/* The least that the busiest of `nstages` runs of work[0..n-1] can have. */
static double least_of(uint32_t nstages, const double *work, uint32_t n)
{
    double best = INFINITY, sum = 0;

    if (nstages == 1) {
        for (uint32_t i = 0; i < n; i++)
            sum += work[i];
        return sum;
    }
    for (uint32_t last = 1; last <= n - nstages + 1; last++) {
        double rest;

        sum += work[n - last];
        if (sum >= best)
            break;
        rest = least_of(nstages - 1, work, n - last);
        best = fmin(best, fmax(rest, sum));
    }
    return best;
}

/* Equal layers between two heavier ends, whose sums from both ends differ in the last bit. */
static void test_weigh(void)
{
    int nlost = 0, nworse = 0;

    for (uint32_t seed = 0; seed < 400; seed++) {
        uint32_t nstages = 2 + seed % 3, n = nstages + 3 + seed % 17, counts[4], need[32], sum = 0;
        double work[32], most = 0;

        for (uint32_t i = 0; i < n; i++)
            work[i] = 0.1 + seed * 0.037;
        work[0] += 0.3 * (seed % 5);
        work[n - 1] += 0.7 * (seed % 7);
        weigh_split(counts, nstages, work, n, need);
        for (uint32_t s = 0; s < nstages; s++) {
            double run = 0;

            for (uint32_t i = sum; i < sum + counts[s]; i++)
                run += work[i];
            most = fmax(most, run);
            sum += counts[s];
        }
        nlost += sum != n;
        nworse += sum == n && most > least_of(nstages, work, n) * (1 + 1e-6);
    }
    ok(nlost == 0, "weighed stages have all layers: %d of 400 lost some", nlost);
    ok(nworse == 0, "and the largest stage is minimal: %d of 400 have more", nworse);
}

int main(void)
{
    plan(0);
    test_weigh();
    test_names();
    test_outputs();
    test_bad_layouts();
    test_sources();
    return done();
}
