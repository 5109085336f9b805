/* Sizes of a step of serving (scenario.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "scenario/scenario.h"

#include <string.h>

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
    return scenario->step.decode ? 1 : scenario->batch.seq;
}

int64_t scenario_kept_tokens(const struct scenario *scenario)
{
    return scenario->step.decode && scenario->decode.context == 0 ? scenario->batch.seq
                                                                  : scenario->decode.context;
}

int64_t scenario_cache_parts(const struct scenario *scenario)
{
    for (size_t i = 0; i < scenario->nmesh; i++)
        if (scenario->context.axis && !strcmp(scenario->mesh[i].name, scenario->context.axis))
            return scenario->mesh[i].size;
    return 1;
}

int64_t scenario_cache_tokens(const struct scenario *scenario)
{
    int64_t n = scenario_kept_tokens(scenario) + scenario_new_tokens(scenario);
    int64_t unit = scenario_cache_parts(scenario);

    if (scenario->step.decode)
        n += scenario->decode.tokens - 1;
    if (scenario->context.order == SCENARIO_ZIGZAG)
        unit *= 2;
    return (n + unit - 1) / unit * unit;
}
