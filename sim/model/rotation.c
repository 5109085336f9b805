/* Frequencies of rotary embedding (model/rotation.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/rotation.h"

#include <math.h>

#define PI 3.14159265358979323846

int64_t rotation_width(const struct scenario_rope *rope, int64_t width)
{
    return rope->part > 0 ? (int64_t)((double)width * rope->part) : width;
}

/* ---- theta ---- */

/* Theta for sequences longer than the original ones, by dynamic scaling of `width` elements. */
static double grown_theta(const struct scenario_rope *rope, double width, int64_t seq)
{
    const struct scenario_rope_scaling *s = &rope->scaling;
    double longer = seq > s->original ? (double)seq / (double)s->original : 1;

    return rope->theta * pow(s->factor * longer - (s->factor - 1), width / (width - 2));
}

/* ---- frequencies ---- */

/* A frequency by llama3: waves longer than original / low are stretched, those shorter than
 * original / high are not, and between the two it goes over.  With low equal to high it is a step,
 * and a wave of just that length is stretched, as by vLLM. */
static double by_llama3(const struct scenario_rope_scaling *s, double frequency)
{
    double original = (double)s->original, wave = 2 * PI / frequency;
    double smooth = s->high > s->low ? (original / wave - s->low) / (s->high - s->low) : 0;

    if (wave < original / s->high)
        return frequency;
    if (wave > original / s->low)
        return frequency / s->factor;
    return (1 - smooth) * frequency / s->factor + smooth * frequency;
}

/* The pair, of those of `width` elements, that turns `turns` times in the original sequence. */
static double pair_of_turns(const struct scenario_rope_scaling *s, double theta, double width,
                            double turns)
{
    return width * log((double)s->original / (turns * 2 * PI)) / (2 * log(theta));
}

/* Frequency of pair i by yarn: pairs that turn often stay, those that turn seldom are stretched. */
static double by_yarn(const struct scenario_rope_scaling *s, double theta, double width, int64_t i,
                      double frequency)
{
    double fast = s->beta_fast > 0 ? s->beta_fast : 32, slow = s->beta_slow > 0 ? s->beta_slow : 1;
    double low = pair_of_turns(s, theta, width, fast), high = pair_of_turns(s, theta, width, slow);
    double stretched;

    if (!s->untruncated) {
        low = floor(low);
        high = ceil(high);
    }
    low = fmax(low, 0);
    high = fmin(high, width - 1);
    high += low == high ? 0.001 : 0;
    stretched = fmin(fmax(((double)i - low) / (high - low), 0), 1);
    return frequency / s->factor * stretched + frequency * (1 - stretched);
}

static double scaled(const struct scenario_rope *rope, double theta, double width, int64_t seq,
                     int64_t i, double frequency)
{
    const struct scenario_rope_scaling *s = &rope->scaling;

    switch (s->kind) {
    case SCENARIO_ROPE_LINEAR:
        return frequency / s->factor;
    case SCENARIO_ROPE_LLAMA3:
        return by_llama3(s, frequency);
    case SCENARIO_ROPE_YARN:
        return by_yarn(s, theta, width, i, frequency);
    case SCENARIO_ROPE_LONGROPE:
        return frequency / (seq > s->original ? s->long_factors : s->short_factors)[i];
    default:
        return frequency;
    }
}

/* ---- factors ---- */

static double log_scale(double factor, double weight)
{
    return factor <= 1 ? 1 : 0.1 * weight * log(factor) + 1;
}

/* The factor of rotated values. */
static double factor_of(const struct scenario_rope_scaling *s)
{
    if (s->attention_factor > 0)
        return s->attention_factor;
    if (s->kind == SCENARIO_ROPE_LONGROPE)
        return s->factor <= 1 ? 1 : sqrt(1 + log(s->factor) / log((double)s->original));
    if (s->kind != SCENARIO_ROPE_YARN)
        return 1;
    if (s->mscale > 0 && s->mscale_all > 0)
        return log_scale(s->factor, s->mscale) / log_scale(s->factor, s->mscale_all);
    return log_scale(s->factor, 1);
}

double rotation_score_factor(const struct scenario_rope *rope)
{
    const struct scenario_rope_scaling *s = &rope->scaling;
    double scale = s->mscale_all > 0 ? log_scale(s->factor, s->mscale_all) : 1;

    return scale * scale;
}

const struct kern_rotation *rotation_add(struct graph *graph, const struct scenario_rope *rope,
                                         int64_t width, int64_t seq, bool local)
{
    bool own = local && rope->local_theta > 0;
    bool is_scaled = !own && rope->scaling.kind != SCENARIO_ROPE_UNSCALED;
    double theta = own ? rope->local_theta : rope->theta;
    struct kern_rotation *out;

    width = rotation_width(rope, width);
    if (is_scaled && rope->scaling.kind == SCENARIO_ROPE_DYNAMIC)
        theta = grown_theta(rope, (double)width, seq);
    out = graph_rotation_pairs(graph, width / 2, theta, rope->interleaved);
    if (!out || !is_scaled)
        return out;
    out->theta = 0;
    out->factor = factor_of(&rope->scaling);
    for (int64_t i = 0; i < out->npairs; i++)
        out->frequencies[i] = scaled(rope, theta, (double)width, seq, i, out->frequencies[i]);
    return out;
}
