/* re.search: regular expressions as Python defines them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/regex.h>

#include "layouts/query/layout_ops.h"
#include "layouts/query/write_layout.h"
#include "question/read_field.h"

static void write_match(struct json_out *out, const struct shd_regex_match *match)
{
    json_out_begin_object(out);
    json_out_key_bool(out, "found", match->found);
    json_out_key(out, "span");
    if (match->found) {
        json_out_begin_array(out);
        json_out_uint(out, match->start);
        json_out_uint(out, match->end);
        json_out_end_array(out);
    } else {
        json_out_null(out);
    }
    json_out_end_object(out);
}

static int answer_search(const json_t *in, struct json_out *out, struct shd_error *err)
{
    const char *pattern, *string;
    struct shd_regex *regex = NULL;
    struct shd_regex_match match;
    int status = read_string(&pattern, in, "pattern", NULL, err);

    if (status == SHD_OK)
        status = read_string(&string, in, "string", NULL, err);
    if (status == SHD_OK && (!pattern || !string))
        status = shd_error_set(err, SHD_ETYPE, "'pattern' and 'string' must be strings");
    if (status == SHD_OK)
        status = shd_regex_compile(&regex, pattern, err);
    if (status == SHD_OK)
        status = shd_regex_search(&match, regex, string, err);
    if (status == SHD_OK)
        write_match(out, &match);
    shd_regex_destroy(regex);
    return status;
}

const struct query_op query_regex_ops[] = {
    {.name = "re.search",
     .answer = answer_search,
     .about = "Searches as Python's re.search does, and says where the pattern was found.",
     .in = QUERY_FIELDS({"pattern", "text", NULL, "The regular expression."},
                        {"string", "text", NULL, "Where to look for it."}),
     .gives = "object",
     .out = QUERY_FIELDS({"found", "boolean", NULL, "Whether it was found."},
                         {"span", "[start, end) or null", NULL, "Where, in characters."}),
     .errors = "regex",
     .question = "{'pattern': 'mlp/(up|down)', 'string': 'layers/0/mlp/up'}",
     .reply = "'out':{'found':true,'span':[9,15]}"},
    {.name = NULL}};
