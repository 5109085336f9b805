/* Tests random models over all options of blocks, on random meshes: norms, residuals, attention,
 * mlps, experts, ends, and modules for further tokens.
 *
 * Each is executed, has the numbers of the unsharded computation and the figures of its plan; and
 * where no router decides and nothing is updated, the gradients of all its parameters are compared
 * with a difference of losses.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "model/model.h"
#include "../support/step.h"
#include "../support/tap.h"
#include "../support/tried.h"

#define NCASES 160
#define NCASES_SMALL 16 /* for SHD_TEST_SIZE=small */
#define TEXTS_MAX 6

/* Of all parameters, in both directions: so small that curves are straight, and large against the
 * rounding of parameters to float32 when they are filled. */
#define MOVE (1.0 / 32768)
#define MOVE_LESS (1.0 / 262144) /* for models too curved for MOVE */
#define TOLERANCE 1e-4           /* of the sum of the absolute terms */

static uint64_t state;

static uint32_t below(uint32_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 20) % n);
}

static bool one_in(uint32_t n)
{
    return below(n) == 0;
}

/* ---- options ---- */

/* Non-default values of an option; every `one_in`-th model has such a value. */
struct choice {
    uint32_t one_in;
    const char *texts[TEXTS_MAX];
    bool seen[TEXTS_MAX]; /* in a model that was tried */
};

static struct choice model_choices[] = {
    {2, {"norm: layer"}, {false}},
    {2, {"norm_place: after", "norm_place: both"}, {false}},
    {3, {"norm_weights: scale", "norm_weights: bare"}, {false}},
    {3, {"norm_one_plus: true"}, {false}},
    {4, {"norm_eps: 1e-3"}, {false}},
    {2, {"residual: beside", "residual: beside-norms", "residual: normed"}, {false}},
    {4, {"residual_scale: 0.3"}, {false}},
    {4, {"skip_scale: 1.7"}, {false}},
    {4, {"attention_out_scale: 0.6"}, {false}},
    {4, {"activation_scale: 1.2"}, {false}},
    {4, {"mlp_out_scale: 0.7"}, {false}},
    {4, {"embed_scale: 3.3"}, {false}},
    {4, {"logit_scale: 0.3"}, {false}},
    {4, {"logit_cap: 2"}, {false}},
    {4, {"head_bias: true"}, {false}},
    {3, {"tied: true"}, {false}},
    {3, {"positions: 20"}, {false}},
    {3, {"bias: true"}, {false}},
    {3, {"attention_bias: qkv", "attention_bias: all"}, {false}},
    {2,
     {"qk_norm: true", "qk_norm: heads", "qk_norm: whole", "qk_norm: late", "qk_norm: bare"},
     {false}},
    {4, {"attention_scale: 0.3"}, {false}},
    {4, {"attention_cap: 1.5"}, {false}},
    {4, {"sinks: true"}, {false}},
    {3,
     {"window: 3", "chunk: 3", "window: 3, layer_types: [window, full-plain]",
      "chunk: 4, layer_types: [chunk, full-plain]"},
     {false}},
    {2,
     {"rope: {theta: 100}", "rope: {theta: 100, interleaved: true}",
      "rope: {theta: 100, part: 0.5}", "rope: {theta: 100, scaling: {kind: linear, factor: 2}}"},
     {false}},
    {4, {"attention: unfused"}, {false}},
    {4, {"mtp: 1", "mtp: 2, mtp_weight: 0.7"}, {false}},
};

static struct choice expert_choices[] = {
    {3, {"top_k: 1", "top_k: 1, gates_input: true"}, {false}},
    {4, {"shared: 1", "shared: 2, shared_gate: true", "shared: 1, shared_d_ff: 12"}, {false}},
    {3, {"score: sigmoid", "after: true"}, {false}},
    {3, {"renormalize: false"}, {false}},
    {3, {"router_bias: true"}, {false}},
    {2, {"expert_bias: true"}, {false}},
    {4, {"bias: true"}, {false}},
    {4, {"first_dense: 1", "every: 2"}, {false}},
    {4, {"capacity: 1"}, {false}},
    {4, {"scale: 2.5"}, {false}},
    {3, {"aux_loss: 0.01", "z_loss: 0.001"}, {false}},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Choices of the model under construction, to be marked as seen. */
static bool *drawn[2 * (COUNT(model_choices) + COUNT(expert_choices))];
static size_t ndrawn;

static void add_choices(struct text *t, struct choice *choices, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t ntexts = 0, text;

        if (!one_in(choices[i].one_in))
            continue;
        while (ntexts < TEXTS_MAX && choices[i].texts[ntexts])
            ntexts++;
        text = below(ntexts);
        text_addf(t, ", %s", choices[i].texts[text]);
        drawn[ndrawn++] = &choices[i].seen[text];
    }
}

/* ---- models ---- */

struct drawn_case {
    uint32_t dp, tp, pp, experts, kv_heads;
    bool updates, uneven, learned;
    const char *activation;
};

static void add_model(struct text *t, const struct drawn_case *d)
{
    static const char *const kinds[] = {"transformer", "transformer", "decoder"};
    static const char *const types[] = {"float32", "float64", "bfloat16", "float16"};

    text_addf(t, "model: {kind: %s, activation: %s, dtype: %s, d_model: %u, layers: 2",
              kinds[below(3)], d->activation, d->updates ? types[below(4)] : "float64",
              d->uneven ? 12 : 16);
    text_addf(t, ", head_dim: 4, heads: %u, kv_heads: %u, d_ff: %u, vocab: %u", d->uneven ? 6 : 4,
              d->kv_heads, d->uneven ? 18 : 16, d->uneven ? 15 : 16);
    add_choices(t, model_choices, COUNT(model_choices));
    text_addf(t, "}\nuneven: %s\n", d->uneven ? "pad" : "refuse");
}

static void add_experts(struct text *t, const struct drawn_case *d)
{
    static const char *const routings[] = {"uniform", "zipf", "empty"};

    if (d->experts == 0)
        return;
    text_addf(t, "moe: {experts: %u, d_ff: 8, routing: %s", d->experts,
              d->learned ? "learned" : routings[below(3)]);
    add_choices(t, expert_choices, COUNT(expert_choices));
    text_add(t, "}\n");
}

static void add_step(struct text *t, const struct drawn_case *d)
{
    static const char *const again[] = {"none", "selective", "full", "[mlp/, norm]"};
    uint32_t microbatches = d->updates ? 1 + below(2) : 1;

    microbatches = d->pp > 1 ? 2 : microbatches;
    text_addf(t, "batch: {size: %u, seq: 8, microbatches: %u}\n", 4 * microbatches, microbatches);
    if (!d->updates) {
        text_add(t, "step: [forward, backward]\n");
        return;
    }
    text_addf(t, "step: [forward, backward, update]\noptimizer: {kind: %s, lr: 1e-2}\n",
              one_in(2) ? "adamw" : "sgd");
    text_addf(t, "recompute: %s\n", again[below(d->experts ? 3 : 4)]);
    if (d->pp > 1)
        text_addf(t, "pipeline: {axis: pp, schedule: %s}\n", one_in(2) ? "1F1B" : "GPipe");
    if (d->dp > 1 && one_in(2))
        text_addf(t, "zero: {stage: %u, axis: dp}\n", 1 + below(3));
}

static void add_layout(struct text *t, const struct drawn_case *d)
{
    const char *experts = one_in(2) ? "tp" : "dp";

    text_addf(t, "mesh: {dp: %u, tp: %u%s}\naxes: {batch: dp}\nparams:\n", d->dp, d->tp,
              d->pp > 1 ? ", pp: 2" : "");
    if (d->experts > 0 && one_in(2))
        text_addf(t, "  - [moe/(gate|up|down)/(kernel|bias), [%s]]\n", experts);
    else if (d->experts > 0)
        text_add(t, "  - [moe/(gate|up)/kernel, [null, null, tp]]\n"
                    "  - [moe/down/kernel, [null, tp]]\n");
    if (!one_in(3))
        text_addf(t, "  - ['attn/(%s)/kernel', [null, tp]]\n  - [attn/o/kernel, [tp]]\n",
                  d->kv_heads > 1 ? "q|k|v" : "q");
    if (!one_in(3) && d->experts == 0)
        text_add(t, "  - [mlp/(up|gate)/kernel, [null, tp]]\n  - [mlp/down/kernel, [tp]]\n");
    if (one_in(3))
        text_addf(t, "  - ['norm[12]|embed/table', [%s]]\n", one_in(2) ? "tp" : "dp");
    text_add(t, "  - [.*, []]\n");
    if (one_in(3))
        text_addf(t, "constraints: [[/out, [null, %s]]]\n", one_in(2) ? "tp" : "null, tp");
}

static void write_case(struct text *t, const struct drawn_case *d)
{
    ndrawn = 0;
    text_add(t, "version: 1\n");
    add_model(t, d);
    add_experts(t, d);
    add_step(t, d);
    add_layout(t, d);
}

static struct drawn_case draw(void)
{
    static const char *const activations[] = {"gelu",        "swiglu",       "relu",
                                              "silu",        "geglu",        "gelu-exact",
                                              "geglu-exact", "relu-squared", "swiglu-clamped"};
    struct drawn_case d = {.dp = 1 + below(2), .tp = 1 + below(2), .pp = 1};

    d.activation = activations[below(9)];
    d.updates = one_in(2);
    d.uneven = one_in(4);
    d.kv_heads = one_in(4) ? 1 : 2;
    d.experts = one_in(2) ? 4 : 0;
    d.learned = d.experts > 0 && one_in(2);
    if (d.updates && one_in(3))
        d.pp = 2;
    return d;
}

/* ---- gradients ---- */

/* Run a graph unsharded; false with a diagnostic. */
static bool run_whole(struct step *step, const struct graph *graph)
{
    static struct shd_mesh *one; /* static, because programs keep a pointer to the mesh */
    struct partition_request request = {.graph = graph};

    memset(step, 0, sizeof *step);
    if (!one && shd_mesh_create(&one, NULL, NULL, 0, NULL) != SHD_OK)
        return false;
    request.mesh = one;
    return step_init(step, &request);
}

/* The direction of a parameter's movement: 1 or -1. */
static double sign_of(uint32_t node)
{
    return (node * UINT32_C(0x9e3779b1)) >> 31 ? 1 : -1;
}

/* Move all parameters: random numbers grow or shrink, and all are shifted. */
static void move(struct graph *g, double by)
{
    for (uint32_t n = 0; n < g->nnodes; n++) {
        if (g->nodes[n].op != GRAPH_PARAM)
            continue;
        g->nodes[n].source.scale *= 1 + by * sign_of(n);
        g->nodes[n].source.offset += by * sign_of(n + 1);
    }
}

static double loss_when_moved(const struct scenario *scenario, double by)
{
    struct diag errors = DIAG_INIT;
    struct graph *g = NULL;
    struct step step;
    double loss = NAN;

    if (model_graph(&g, scenario, &errors) == SHD_OK) {
        move(g, by);
        if (run_whole(&step, g))
            loss = step_value(&step, step_result(&step, "loss"), 0);
        step_fini(&step);
    }
    graph_destroy(g);
    diag_fini(&errors);
    return loss;
}

/* Add what the loss changes with one parameter's movement, by its gradient: to *sum, and its size
 * to *size. */
static void add_terms(const struct step *step, const struct graph *g, uint32_t node, double *sum,
                      double *size)
{
    static double values[4096];
    static const int64_t none[GRAPH_RANK_MAX];
    const struct graph_node *n = &g->nodes[node];
    uint32_t result = step_result(step, n->name);
    int64_t shape[GRAPH_RANK_MAX], count = 1;

    graph_shape(g, node, shape);
    for (uint32_t d = 0; d < n->rank; d++)
        count *= shape[d];
    if (result == PROGRAM_NONE || count > (int64_t)COUNT(values)) {
        *sum = NAN;
        return;
    }
    kern_fill(&n->source, SHD_F64, n->rank, shape, none, shape, values);
    for (int64_t i = 0; i < count; i++) {
        double gradient = step_value(step, result, i);
        double term =
            gradient * ((values[i] - n->source.offset) * sign_of(node) + sign_of(node + 1));

        *sum += term;
        *size += fabs(term);
    }
}

/* Whether the loss changes by `sum` when all parameters move. */
static bool is_slope(const struct scenario *scenario, double sum, double size, double by)
{
    double up = loss_when_moved(scenario, by), down = loss_when_moved(scenario, -by);
    double want = (up - down) / (2 * by);

    if (fabs(sum - want) <= TOLERANCE * size)
        return true;
    diag("the loss changes by %.9g and not by %.9g, in terms of %.9g", want, sum, size);
    return false;
}

/* Whether gradients say how the loss changes with all parameters. */
static bool check_gradients(const struct scenario *scenario)
{
    double sum = 0, size = 0;
    struct diag errors = DIAG_INIT;
    struct graph *g = NULL;
    struct step step;

    if (model_graph(&g, scenario, &errors) != SHD_OK)
        return false;
    if (!run_whole(&step, g))
        sum = NAN;
    for (uint32_t n = 0; n < g->nnodes && !isnan(sum); n++)
        if (g->nodes[n].op == GRAPH_PARAM)
            add_terms(&step, g, n, &sum, &size);
    step_fini(&step);
    graph_destroy(g);
    diag_fini(&errors);
    return is_slope(scenario, sum, size, MOVE) || is_slope(scenario, sum, size, MOVE_LESS);
}

/* ---- cases ---- */

/* Whether the options of a text are refused together, with a message. */
static bool is_refused(const struct text *text)
{
    struct diag errors = DIAG_INIT;
    struct scenario_file *file = NULL;
    bool refused = scenario_parse(&file, "blocks.yaml", text_get(text), text->length, NULL, 0,
                                  &errors) != SHD_OK;

    scenario_file_destroy(file);
    refused = refused && errors.nmessages > 0;
    diag_fini(&errors);
    return refused;
}

static void try_case(const struct text *text, const struct drawn_case *d, const char *what)
{
    struct variant tried;
    bool good = tried_init(&tried, text_get(text), text->length);

    if (good)
        good = tried_check(&tried, what);
    else
        ok(false, "%s: is built", what);
    if (good && !d->updates && !d->learned && strcmp(d->activation, "relu") != 0)
        good = ok(check_gradients(&tried.file->scenarios[0]), "%s: gradients are slopes", what);
    if (!good)
        diag("%s", text_get(text));
    for (size_t i = 0; i < ndrawn; i++)
        *drawn[i] = true;
    variant_fini(&tried);
}

static void test_case(uint32_t i)
{
    struct text text = TEXT_INIT;
    struct drawn_case d;
    char what[32];

    state = UINT64_C(0x9e3779b97f4a7c15) * (i + 1);
    do {
        text_fini(&text);
        text = (struct text)TEXT_INIT;
        d = draw();
        write_case(&text, &d);
    } while (is_refused(&text));
    snprintf(what, sizeof what, "case %u", i);
    try_case(&text, &d, what);
    text_fini(&text);
}

static bool all_seen(const struct choice *choices, size_t n)
{
    bool all = true;

    for (size_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < TEXTS_MAX && choices[i].texts[k]; k++)
            if (!choices[i].seen[k]) {
                diag("no case has %s", choices[i].texts[k]);
                all = false;
            }
    return all;
}

/* Later cases that found faults, to be tried with the first ones: a module for further tokens with
 * experts by a workload, recomputed, in a pipeline. */
static const uint32_t found[] = {1065, 1843};

int main(void)
{
    uint32_t n = (uint32_t)from_env("SHD_TEST_COUNT", small_size() ? NCASES_SMALL : NCASES);
    uint32_t from = (uint32_t)from_env("SHD_TEST_FIRST", 0);

    for (uint32_t i = from; i < from + n; i++)
        if (sampled(4, i))
            test_case(i);
    for (uint32_t i = 0; i < COUNT(found) && n < 1000; i++)
        if (sampled(4, i))
            test_case(found[i]);
    if (n >= 1000)
        ok((int)all_seen(model_choices, COUNT(model_choices)) &
               (int)all_seen(expert_choices, COUNT(expert_choices)),
           "each option occurs");
    return done();
}
