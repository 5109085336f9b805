/* Sizes of a step of serving (scenario.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "scenario/scenario.h"

#include <string.h>

#include "base/pace.h"

bool scenario_is_called(const char *strategy, const char *name)
{
    size_t n = strlen(name);

    return !strncmp(strategy, name, n) &&
           (strategy[n] == '\0' || !strcmp(strategy + n, "/prefill") ||
            !strcmp(strategy + n, "/decode"));
}

bool scenario_serves(const struct scenario *scenario)
{
    return scenario->step.prefill || scenario->step.decode;
}

int64_t scenario_new_tokens(const struct scenario *scenario)
{
    return scenario->step.decode ? 1 + scenario->decode.draft : scenario->batch.seq;
}

double scenario_step_tokens(const struct scenario *scenario)
{
    return 1 + scenario->decode.accepted;
}

int64_t scenario_decode_steps(const struct scenario *scenario)
{
    int64_t steps = 1;

    while (pace_tokens(scenario_step_tokens(scenario), steps) < scenario->decode.tokens)
        steps++;
    return steps;
}

int64_t scenario_kept_tokens(const struct scenario *scenario)
{
    return scenario->step.decode && scenario->decode.context == 0 ? scenario->batch.seq
                                                                  : scenario->decode.context;
}

int64_t scenario_most_sequences(const struct scenario *scenario)
{
    const struct scenario_limits *limits = &scenario->limits;
    int64_t most = limits->sequences > 0 ? limits->sequences : INT64_MAX;
    int64_t room =
        limits->tokens > 0 ? limits->tokens / scenario_cache_tokens(scenario) : INT64_MAX;

    return room < most ? room : most;
}

int scenario_cache_bits(const struct scenario *scenario)
{
    static const int bits[SCENARIO_NCACHE_TYPES] = {[SCENARIO_CACHE_E4M3] = 8,
                                                    [SCENARIO_CACHE_E5M2] = 8,
                                                    [SCENARIO_CACHE_INT4] = 4,
                                                    [SCENARIO_CACHE_MXFP4] = 4};

    return bits[scenario->decode.cache];
}

int64_t scenario_cache_parts(const struct scenario *scenario)
{
    return scenario_axis_size(scenario, scenario->context.axis);
}

int64_t scenario_pieces(const struct scenario *scenario)
{
    int64_t parts = scenario_cache_parts(scenario);

    return scenario->context.order == SCENARIO_ZIGZAG ? 2 * parts : parts;
}

bool scenario_shards_batch(const struct scenario *scenario, const char *axis)
{
    const struct scenario_logical *batch = scenario_find_logical(scenario, "batch");

    for (size_t a = 0; batch && a < batch->naxes; a++)
        if (!strcmp(batch->axes[a], axis))
            return true;
    return false;
}

int64_t scenario_batch_shards(const struct scenario *scenario)
{
    const struct scenario_logical *batch = scenario_find_logical(scenario, "batch");
    int64_t n = 1;

    for (size_t a = 0; batch && a < batch->naxes; a++)
        n *= scenario_axis_size(scenario, batch->axes[a]);
    return n;
}

int64_t scenario_sequence_tokens(const struct scenario *scenario)
{
    int64_t n = scenario_kept_tokens(scenario) + scenario_new_tokens(scenario);

    return scenario->step.decode ? n + scenario->decode.tokens - 1 : n; /* no step begins later */
}

/* What pages and the order over context.axis need a multiple of. */
static int64_t cache_unit(const struct scenario *s)
{
    int64_t unit = scenario_pieces(s);

    return s->decode.page > 0 ? unit * s->decode.page : unit;
}

int64_t scenario_cache_tokens(const struct scenario *scenario)
{
    int64_t n = scenario_sequence_tokens(scenario), unit = cache_unit(scenario);

    return (n + unit - 1) / unit * unit;
}

int64_t scenario_cache_from(const struct scenario *scenario, enum scenario_layer_type sees)
{
    int64_t kept = scenario_kept_tokens(scenario), unit = cache_unit(scenario);
    int64_t query = kept > 0 ? kept : scenario_new_tokens(scenario); /* the first that will look */
    int64_t each = sees == SCENARIO_LAYER_CHUNK ? scenario->model.chunk : 1, from = 0;

    if (sees == SCENARIO_LAYER_WINDOW && scenario->model.window > 0)
        from = query - (scenario->model.window - 1);
    else if (sees == SCENARIO_LAYER_CHUNK && each > 0)
        from = query / each * each;
    while (from > 0 && (from % each != 0 || from % unit != 0))
        from = (from - 1) / each * each;
    return from > 0 ? from : 0;
}

int64_t scenario_cache_room(const struct scenario *scenario, enum scenario_layer_type sees)
{
    int64_t from = scenario_cache_from(scenario, sees), unit = cache_unit(scenario);
    int64_t room = scenario_cache_tokens(scenario) - from;
    int64_t chunk = (scenario->model.chunk + unit - 1) / unit * unit;
    int64_t least = sees == SCENARIO_LAYER_CHUNK && from > 0 ? chunk : unit;

    return room < least ? least : room;
}
