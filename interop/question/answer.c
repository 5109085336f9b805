/* Writing parts of any answer (answer.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "question/answer.h"

#include <string.h>

#include "question/json_memory.h"

void answer_copy(struct json_out *out, const json_t *value)
{
    char *text = value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;

    if (text)
        json_out_raw(out, text, strlen(text));
    else
        json_out_null(out);
    json_memory_free(text);
}

void answer_error(struct json_out *out, const char *kind, const char *message)
{
    json_out_key_object(out, "err");
    json_out_key_string(out, "kind", kind);
    json_out_key_string(out, "message", message);
    json_out_end_object(out);
}
