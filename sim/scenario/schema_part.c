/* Writing parts of the schema (scenario/schema_part.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "scenario/schema_part.h"

#include <stdio.h>
#include <string.h>

void schema_add(struct json_out *out, const char *key, const char *json)
{
    json_out_key(out, key);
    json_out_raw(out, json, strlen(json));
}

/* Wrapped in allOf, as draft 7 ignores other keywords beside a bare $ref. */
void schema_refer(struct json_out *out, const char *definition)
{
    char ref[64];

    snprintf(ref, sizeof ref, "#/definitions/%s", definition);
    json_out_key(out, "allOf");
    json_out_begin_array(out);
    json_out_begin_object(out);
    json_out_key(out, "$ref");
    json_out_string(out, ref);
    json_out_end_object(out);
    json_out_end_array(out);
}
