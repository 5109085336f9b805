/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/limit.h"

#include <stddef.h>

const char *limit_text(enum limit limit)
{
    static const char *const texts[LIMIT_COUNT] = {
        [LIMIT_SWEEPS] = "passes over all ops after the 8th that still improved",
        [LIMIT_SHARES] = "rounds of moving readers together after the 4th that still improved",
        [LIMIT_COMBINATIONS] = "ways to shard one op beyond 4096",
        [LIMIT_VERSIONS] = "shardings of one value beyond 64",
        [LIMIT_TOGETHER] = "values with more than 16 readers, not moved together",
        [LIMIT_AFFECTED] = "costs of values beyond 256 around a moved value",
    };

    return limit < LIMIT_COUNT ? texts[limit] : NULL;
}
