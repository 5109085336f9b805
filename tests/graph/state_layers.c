/* Tests the values of layers with a state (layers/mamba.h, gated_delta.h, lightning.h,
 * short_conv.h) beside the
 * recurrences of their papers, written here token by token in float64: a loss and its gradient
 * agree with each other whatever a layer computes.
 *
 * Dimensions are letters: b batches, f tokens, c embed, a key heads of d, e heads of g, h taps.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>

#include "gradient_check.h"
#include "graph/layers/gated_delta.h"
#include "graph/layers/lightning.h"
#include "graph/layers/mamba.h"
#include "graph/layers/short_conv.h"
#include "../support/tap.h"

enum {
    KEY_HEADS = 2,
    BATCH = 3,
    EMBED = 4,
    KEY_DIM = 5,
    HEADS = 6,
    SEQ = 7,
    VALUE_DIM = 8,
    TAPS = 9
};

#define NORM_EPS 1e-2
#define UNIT_EPS 1e-6
#define SLOPE 0.8 /* of lightning attention */
#define TOLERANCE 1e-12

/* Of the layer that is tested; without factors all are 1. */
static struct state_factors factors;

static double times(double factor)
{
    return factor > 0 ? factor : 1;
}

/* A leaf that is a result, too, so that the recurrence reads what the layer read. */
static uint32_t shown(struct maker *m, const char *name, const char *letters)
{
    uint32_t x = leaf(m, name, letters);

    graph_output(m->graph, GRAPH_OUTPUT, name, x, GRAPH_NONE);
    return x;
}

/* Element [i, j, k] of an array of up to three dimensions. */
static double at(const struct step *s, const char *name, int i, int j, int k)
{
    uint32_t r = step_result(s, name);
    const struct program_buffer *b = &s->program->buffers[s->program->results[r].buffer];
    const int index[3] = {i, j, k};
    int64_t place = 0;

    for (uint32_t d = 0; d < b->rank; d++)
        place = place * b->shape[d] + index[d];
    return step_value(s, r, place);
}

static double silu(double x)
{
    return x / (1 + exp(-x));
}

/* Column [i, j] of x[batch, token] times a kernel. */
static double projected(const struct step *s, const char *kernel, int b, int t, int i, int j)
{
    double sum = 0;

    for (int c = 0; c < EMBED; c++)
        sum += at(s, "x", b, t, c) * at(s, kernel, c, i, j);
    return sum;
}

/* What a token and the tokens before it come to under a kernel, its taps and their bias. */
static double operand(const struct step *s, char letter, bool biased, int b, int t, int i, int j)
{
    const char kernel[] = {letter, '\0'}, taps[] = {letter, '_', 't', 'a', 'p', 's', '\0'};
    const char bias[] = {letter, '_', 'b', 'i', 'a', 's', '\0'};
    double sum = biased ? at(s, bias, i, j, 0) : 0;
    double factor = times(letter == 'q' ? factors.q : letter == 'k' ? factors.k : factors.v);

    for (int tap = 0; tap < TAPS; tap++)
        if (t - (TAPS - 1) + tap >= 0)
            sum += factor * at(s, taps, tap, i, j) *
                   projected(s, kernel, b, t - (TAPS - 1) + tap, i, j);
    return silu(sum);
}

static double steps(const struct step *s, int b, int t, int head)
{
    return log1p(exp(times(factors.decay) * projected(s, "decay", b, t, head, 0) +
                     at(s, "bias", head, 0, 0)));
}

static double decay(const struct step *s, int b, int t, int head)
{
    return exp(-exp(at(s, "log", head, 0, 0)) * steps(s, b, t, head));
}

/* Column [i, j] of x[batch, token] times two matrices, with TAPS numbers between them. */
static double twice_projected(const struct step *s, const char *first, const char *second, int b,
                              int t, int i, int j)
{
    double sum = 0;

    for (int h = 0; h < TAPS; h++)
        sum += projected(s, first, b, t, h, 0) * at(s, second, h, i, j);
    return sum;
}

/* KDA's decay of a channel of keys. */
static double channel_decay(const struct step *s, int b, int t, int head, int k)
{
    double x = times(factors.decay) * twice_projected(s, "decay_in", "decay", b, t, head, k);

    return exp(-exp(at(s, "log", head, 0, 0)) * log1p(exp(x + at(s, "bias", head, k, 0))));
}

/* The outputs of one head for each token; `state` is of its keys and values. */
typedef void (*recurrence)(const struct step *s, int b, int t, int head,
                           double state[KEY_DIM][VALUE_DIM], double *out);

/* S = decay S + dt b x^T, y = c S + skip x. */
static void mamba_token(const struct step *s, int b, int t, int head,
                        double state[KEY_DIM][VALUE_DIM], double *out)
{
    int group = head / (HEADS / KEY_HEADS);

    for (int v = 0; v < VALUE_DIM; v++) {
        double x = operand(s, 'v', true, b, t, head, v);

        out[v] = at(s, "skip", head, 0, 0) * x;
        for (int k = 0; k < KEY_DIM; k++) {
            state[k][v] = decay(s, b, t, head) * state[k][v] +
                          steps(s, b, t, head) * operand(s, 'k', true, b, t, group, k) * x;
            out[v] += operand(s, 'q', true, b, t, group, k) * state[k][v];
        }
    }
}

/* q or k of unit length. */
static void unit(const struct step *s, char letter, int b, int t, int group, double *out)
{
    double squares = UNIT_EPS;

    for (int k = 0; k < KEY_DIM; k++) {
        out[k] = operand(s, letter, false, b, t, group, k);
        squares += out[k] * out[k];
    }
    for (int k = 0; k < KEY_DIM; k++)
        out[k] /= sqrt(squares);
}

/* S = diag(decay) S, then S = S + beta k (v - k S)^T; o = q S key_dim^-1/2. */
static void delta_rule(const struct step *s, int b, int t, int head, const double *decays,
                       double state[KEY_DIM][VALUE_DIM], double *out)
{
    double q[KEY_DIM], k[KEY_DIM], beta = 1 / (1 + exp(-projected(s, "beta", b, t, head, 0)));
    int group = head / (HEADS / KEY_HEADS);

    unit(s, 'q', b, t, group, q);
    unit(s, 'k', b, t, group, k);
    for (int v = 0; v < VALUE_DIM; v++) {
        double kept = 0;

        out[v] = 0;
        for (int i = 0; i < KEY_DIM; i++) {
            state[i][v] *= decays[i];
            kept += k[i] * state[i][v];
        }
        for (int i = 0; i < KEY_DIM; i++) {
            state[i][v] += beta * k[i] * (operand(s, 'v', false, b, t, head, v) - kept);
            out[v] += q[i] * state[i][v] / sqrt(KEY_DIM);
        }
    }
}

static void delta_token(const struct step *s, int b, int t, int head,
                        double state[KEY_DIM][VALUE_DIM], double *out)
{
    double decays[KEY_DIM];

    for (int k = 0; k < KEY_DIM; k++)
        decays[k] = decay(s, b, t, head);
    delta_rule(s, b, t, head, decays, state, out);
}

static void kda_token(const struct step *s, int b, int t, int head,
                      double state[KEY_DIM][VALUE_DIM], double *out)
{
    double decays[KEY_DIM];

    for (int k = 0; k < KEY_DIM; k++)
        decays[k] = channel_decay(s, b, t, head, k);
    delta_rule(s, b, t, head, decays, state, out);
}

/* x divided by the root of the mean square of the `count` numbers at y. */
static double rms(const double *y, int count)
{
    double squares = 0;

    for (int i = 0; i < count; i++)
        squares += y[i] * y[i];
    return sqrt(squares / count + NORM_EPS);
}

enum kind { MAMBA, DELTA, KDA };

static double gate_of(const struct step *s, enum kind kind, int b, int t, int i, int j)
{
    if (kind != KDA)
        return silu(times(factors.gate) * projected(s, "gate", b, t, i, j));
    return 1 / (1 + exp(-times(factors.gate) * twice_projected(s, "gate_in", "gate", b, t, i, j)));
}

/* The largest difference of a layer's result from heads[token][head][value], gated, normed and
 * projected: Mamba-2 norms a group's heads together behind the gate, the delta rules each head
 * before it. */
static double worst_of(const struct step *s, int b, enum kind kind,
                       double heads[SEQ][HEADS][VALUE_DIM])
{
    double worst = 0, gated[HEADS][VALUE_DIM];

    for (int t = 0; t < SEQ; t++) {
        for (int e = 0; e < HEADS; e++)
            for (int g = 0; g < VALUE_DIM; g++) {
                double gate = gate_of(s, kind, b, t, e, g);

                gated[e][g] = kind == MAMBA ? heads[t][e][g] * gate
                                            : heads[t][e][g] / rms(heads[t][e], VALUE_DIM) *
                                                  at(s, "scale", g, 0, 0) * gate;
            }
        for (int c = 0; c < EMBED; c++) {
            double want = 0;

            for (int e = 0; e < HEADS; e++)
                for (int g = 0; g < VALUE_DIM; g++) {
                    int first = e - e % (HEADS / KEY_HEADS);
                    double y = gated[e][g];

                    if (kind == MAMBA)
                        y *= at(s, "scale", e, g, 0) /
                             rms(gated[first], HEADS / KEY_HEADS * VALUE_DIM);
                    want += y * at(s, "o", e, g, c);
                }
            want *= times(factors.out);
            worst = fmax(worst, fabs(want - at(s, "y", b, t, c)));
        }
    }
    return worst;
}

static double state_layer_error(const struct step *s, recurrence token, enum kind kind)
{
    double worst = 0, heads[SEQ][HEADS][VALUE_DIM];

    for (int b = 0; b < BATCH; b++) {
        for (int head = 0; head < HEADS; head++) {
            double state[KEY_DIM][VALUE_DIM] = {{0}};

            for (int t = 0; t < SEQ; t++)
                token(s, b, t, head, state, heads[t][head]);
        }
        worst = fmax(worst, worst_of(s, b, kind, heads));
    }
    return worst;
}

static double mamba_error(const struct step *s)
{
    return state_layer_error(s, mamba_token, MAMBA);
}

static double delta_error(const struct step *s)
{
    return state_layer_error(s, delta_token, DELTA);
}

static double kda_error(const struct step *s)
{
    return state_layer_error(s, kda_token, KDA);
}

static struct state_weights state_weights(struct maker *m, const char *scale, bool kda)
{
    struct state_weights w = {.norm_eps = NORM_EPS,
                              .decay_in = GRAPH_NONE,
                              .gate_in = GRAPH_NONE,
                              .beta = GRAPH_NONE,
                              .q_bias = GRAPH_NONE,
                              .k_bias = GRAPH_NONE,
                              .v_bias = GRAPH_NONE,
                              .skip = GRAPH_NONE};

    w.q = shown(m, "q", "cad");
    w.k = shown(m, "k", "cad");
    w.v = shown(m, "v", "ceg");
    w.gate = shown(m, "gate", kda ? "heg" : "ceg");
    w.decay = shown(m, "decay", kda ? "hed" : "ce");
    if (kda) {
        w.gate_in = shown(m, "gate_in", "ch");
        w.decay_in = shown(m, "decay_in", "ch");
    }
    w.q_taps = shown(m, "q_taps", "had");
    w.k_taps = shown(m, "k_taps", "had");
    w.v_taps = shown(m, "v_taps", "heg");
    w.log = shown(m, "log", "e");
    w.bias = shown(m, "bias", kda ? "ed" : "e");
    w.scale = shown(m, "scale", scale);
    w.o = shown(m, "o", "egc");
    return w;
}

static uint32_t build_mamba(struct maker *m)
{
    struct state_weights w = state_weights(m, "eg", false);

    w.names = &state_names_mamba;
    w.q_bias = shown(m, "q_bias", "ad");
    w.k_bias = shown(m, "k_bias", "ad");
    w.v_bias = shown(m, "v_bias", "eg");
    w.skip = shown(m, "skip", "e");
    w.factors = factors;
    return layer_mamba(m->graph, "layer", shown(m, "x", "bfc"), &w);
}

static uint32_t build_factors(struct maker *m)
{
    factors = (struct state_factors){0.3, 0.6, 1.2, 1.4, 0.7, 0.5};
    return build_mamba(m);
}

static uint32_t build_delta_rule(struct maker *m, bool kda)
{
    struct state_weights w = state_weights(m, "g", kda);

    w.names = &state_names_delta;
    w.beta = shown(m, "beta", "ce");
    w.factors = factors;
    return layer_gated_delta(m->graph, "layer", shown(m, "x", "bfc"), &w);
}

static uint32_t build_delta(struct maker *m)
{
    return build_delta_rule(m, false);
}

static uint32_t build_kda(struct maker *m)
{
    return build_delta_rule(m, true);
}

static uint32_t build_kda_factors(struct maker *m)
{
    factors = (struct state_factors){0.3, 0.6, 1.2, 1.4, 0.7, 0.5};
    return build_kda(m);
}

static uint32_t build_conv(struct maker *m)
{
    const struct short_conv_weights w = {.in = shown(m, "in", "cd"),
                                         .gate = shown(m, "gate", "cd"),
                                         .value = shown(m, "value", "cd"),
                                         .taps = shown(m, "taps", "hd"),
                                         .o = shown(m, "o", "dc")};

    return layer_short_conv(m->graph, "layer", shown(m, "x", "bfc"), &w);
}

/* o (gate x . taps(in x . value x)). */
static double conv_error(const struct step *s)
{
    double worst = 0;

    for (int b = 0; b < BATCH; b++)
        for (int t = 0; t < SEQ; t++)
            for (int c = 0; c < EMBED; c++) {
                double want = 0;

                for (int d = 0; d < KEY_DIM; d++) {
                    double y = 0;

                    for (int u = 0; u <= t; u++)
                        y += at(s, "taps", TAPS - 1 - t + u, d, 0) *
                             projected(s, "in", b, u, d, 0) * projected(s, "value", b, u, d, 0);
                    want += projected(s, "gate", b, t, d, 0) * y * at(s, "o", d, c, 0);
                }
                worst = fmax(worst, fabs(want - at(s, "y", b, t, c)));
            }
    return worst;
}

static uint32_t build_lightning(struct maker *m)
{
    const struct state_weights w = {.names = &state_names_lightning,
                                    .q = shown(m, "q", "ced"),
                                    .k = shown(m, "k", "ced"),
                                    .v = shown(m, "v", "ceg"),
                                    .gate = shown(m, "gate", "ceg"),
                                    .q_taps = GRAPH_NONE,
                                    .k_taps = GRAPH_NONE,
                                    .v_taps = GRAPH_NONE,
                                    .q_bias = GRAPH_NONE,
                                    .k_bias = GRAPH_NONE,
                                    .v_bias = GRAPH_NONE,
                                    .scale = shown(m, "scale", "eg"),
                                    .o = shown(m, "o", "egc"),
                                    .norm_eps = NORM_EPS};

    return layer_lightning(m->graph, "layer", shown(m, "x", "bfc"), SLOPE, &w);
}

/* y = q sum over u <= t of exp(-(t - u) rate) k v^T, of the heads of one token. */
static void lightning_token(const struct step *s, int b, int t, double y[HEADS][VALUE_DIM])
{
    for (int e = 0; e < HEADS; e++) {
        double rate = SLOPE * pow(2, -8.0 * (e + 1) / HEADS);

        for (int g = 0; g < VALUE_DIM; g++)
            y[e][g] = 0;
        for (int u = 0; u <= t; u++) {
            double score = 0;

            for (int d = 0; d < KEY_DIM; d++)
                score += silu(projected(s, "q", b, t, e, d)) * silu(projected(s, "k", b, u, e, d));
            for (int g = 0; g < VALUE_DIM; g++)
                y[e][g] += exp(-(t - u) * rate) * score * silu(projected(s, "v", b, u, e, g));
        }
    }
}

static double lightning_error(const struct step *s)
{
    double worst = 0, y[HEADS][VALUE_DIM];

    for (int b = 0; b < BATCH; b++)
        for (int t = 0; t < SEQ; t++) {
            lightning_token(s, b, t, y);
            for (int c = 0; c < EMBED; c++) {
                double want = 0;

                for (int e = 0; e < HEADS; e++)
                    for (int g = 0; g < VALUE_DIM; g++)
                        want += y[e][g] / rms(y[0], HEADS * VALUE_DIM) * at(s, "scale", e, g, 0) /
                                (1 + exp(-projected(s, "gate", b, t, e, g))) * at(s, "o", e, g, c);
                worst = fmax(worst, fabs(want - at(s, "y", b, t, c)));
            }
        }
    return worst;
}

static void check_layer(const char *what, uint32_t (*build)(struct maker *m),
                        double (*error)(const struct step *s))
{
    struct maker m = {.graph = graph_create()};
    struct step step;
    double worst = INFINITY;

    graph_output(m.graph, GRAPH_OUTPUT, "y", build(&m), GRAPH_NONE);
    if (run_graph(&step, m.graph))
        worst = error(&step);
    ok(worst <= TOLERANCE, "%s: off by at most %.2g", what, worst);
    step_fini(&step);
    graph_destroy(m.graph);
}

int main(void)
{
    plan(7);
    check_layer("Mamba-2 beside its recurrence", build_mamba, mamba_error);
    check_layer("Mamba-2 with factors", build_factors, mamba_error);
    factors = (struct state_factors){0};
    check_layer("gated delta rule beside its recurrence", build_delta, delta_error);
    check_layer("KDA beside its recurrence", build_kda, kda_error);
    check_layer("KDA with factors", build_kda_factors, kda_error);
    factors = (struct state_factors){0};
    check_layer("lightning attention beside its sums", build_lightning, lightning_error);
    check_layer("gated short convolution beside its sums", build_conv, conv_error);
    return done();
}
