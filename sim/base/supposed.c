/* Splitting a cluster name from its overrides (base/supposed.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/supposed.h"

#include <string.h>

/* The separator before the overrides; NULL: none.  A path may contain the same word, so it counts
 * only if a '=' follows. */
static const char *find_with(const char *cluster)
{
    const char *with = strstr(cluster, SUPPOSED_WITH);

    return with && strchr(with, '=') ? with : NULL;
}

size_t supposed_name_length(const char *cluster)
{
    const char *with = find_with(cluster);

    return with ? (size_t)(with - cluster) : strlen(cluster);
}

const char *supposed_first(const char *cluster)
{
    const char *with = find_with(cluster);

    return with ? with + strlen(SUPPOSED_WITH) : "";
}

const char *supposed_next(const char *at, size_t *length)
{
    const char *end = strstr(at, SUPPOSED_AND);

    *length = end ? (size_t)(end - at) : strlen(at);
    return end ? end + strlen(SUPPOSED_AND) : at + *length;
}
