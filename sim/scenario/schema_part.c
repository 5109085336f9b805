/* Writing parts of the schema (scenario/schema_part.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "scenario/schema_part.h"

#include <string.h>

void schema_add(struct json_out *out, const char *key, const char *json)
{
    json_out_key(out, key);
    json_out_raw(out, json, strlen(json));
}
