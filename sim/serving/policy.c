/* The table of policies (policy.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "serving/policy.h"

#include <string.h>

const struct serving_policy *const serving_policies[] = {
    &serving_static,   &serving_prefill_first, &serving_chunked,
    &serving_shortest, &serving_disaggregated, NULL};

const struct serving_policy *policy_find(const char *name)
{
    for (size_t i = 0; serving_policies[i]; i++)
        if (!strcmp(serving_policies[i]->name, name))
            return serving_policies[i];
    return NULL;
}
