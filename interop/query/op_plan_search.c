/* plan.search: the best layouts of a scenario's model and batch on its cluster.
 *
 * Input {"yaml": text, "devices": N, "range": ["tp=8"], "forbid": ["zero=3"], "top": N, "plans":
 * N}, all but the first optional; output the object of `shardsim search --json`.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "query/query.h"
#include "question/read_field.h"
#include "search/outcome.h"

#define TOP 10

struct asked {
    int64_t devices;
    struct space_range ranges[SPACE_RANGES_MAX];
    size_t nranges;
    struct search_opts opts;
};

static int read_ranges(struct asked *out, const json_t *in, const char *key, bool forbids,
                       struct shd_error *err)
{
    const json_t *list = json_object_get(in, key);
    int status = SHD_OK;

    if (list && !json_is_array(list))
        return shd_error_set(err, SHD_ETYPE, "'%s' must be a list of strings such as \"tp=8\"",
                             key);
    for (size_t i = 0; i < json_array_size(list) && status == SHD_OK; i++) {
        const char *text = json_string_value(json_array_get(list, i));

        if (!text)
            return shd_error_set(err, SHD_ETYPE, "'%s' must be a list of strings such as \"tp=8\"",
                                 key);
        if (out->nranges == SPACE_RANGES_MAX)
            return shd_error_set(err, SHD_ERANGE, "more than %d ranges", SPACE_RANGES_MAX);
        status = space_parse_range(&out->ranges[out->nranges++], text, forbids, err);
    }
    return status;
}

static int read_number_of(int64_t *out, const json_t *in, const char *key, int64_t fallback,
                          struct shd_error *err)
{
    int status = read_int(out, in, key, fallback, err);

    if (status == SHD_OK && (*out < 0 || *out > INT32_MAX))
        return shd_error_set(err, SHD_ERANGE, "'%s' is %lld; expected 1 to %d", key,
                             (long long)*out, INT32_MAX);
    return status;
}

static int read_asked(struct asked *out, const json_t *in, struct shd_error *err)
{
    int64_t top = TOP, plans = 0;
    int status = read_number_of(&out->devices, in, "devices", 0, err);

    if (status == SHD_OK)
        status = read_number_of(&top, in, "top", TOP, err);
    if (status == SHD_OK)
        status = read_number_of(&plans, in, "plans", 0, err);
    if (status == SHD_OK)
        status = read_ranges(out, in, "range", false, err);
    if (status == SHD_OK)
        status = read_ranges(out, in, "forbid", true, err);
    out->opts = (struct search_opts){
        .ntop = top > 0 ? (size_t)top : TOP, .nplans = (size_t)plans, .nthreads = 1};
    return status;
}

static int search_subject(const struct subject *subject, const struct asked *asked,
                          struct json_out *out, struct shd_error *err)
{
    struct search found;
    struct search_outcome outcome = {.search = &found, .ntop = asked->opts.ntop};
    int status = search_run(&found, subject, &asked->opts, err);

    if (status != SHD_OK)
        return status;
    status = outcome_look_around(&outcome, &found, &asked->opts, err);
    if (status == SHD_OK)
        outcome_find_error(&outcome);
    if (status == SHD_OK)
        outcome_json(out, &outcome);
    search_fini(&found);
    return status;
}

static int search_variant(const struct variant *v, const struct asked *asked, struct json_out *out,
                          struct shd_error *err)
{
    const struct diag_message *first = v->errors.messages;
    struct subject subject;
    int status;

    if (v->file && v->file->nscenarios != 1)
        return shd_error_set(err, SHD_EINVAL, "the scenario has %zu strategies; expected one",
                             v->file->nscenarios);
    if (v->status != SHD_OK)
        return shd_error_set(err, v->status, "%d:%d: %s", first->line, first->column, first->text);
    status =
        subject_init(&subject, &v->trial, asked->devices, asked->ranges, asked->nranges, NULL, err);
    if (status == SHD_OK)
        status = search_subject(&subject, asked, out, err);
    subject_fini(&subject);
    return status;
}

static int answer(const json_t *in, struct json_out *out, struct shd_error *err)
{
    const json_t *yaml = json_object_get(in, "yaml");
    struct asked asked = {.nranges = 0};
    struct text text = TEXT_INIT;
    struct variant_ask ask = {.name = "<yaml>", .text = &text, .extent = VARIANT_BUILT};
    struct variant v;
    int status;

    if (!json_is_string(yaml))
        return shd_error_set(err, SHD_ETYPE, "'yaml' must be the text of a scenario");
    status = read_asked(&asked, in, err);
    if (status != SHD_OK)
        return status;
    text_add_bytes(&text, json_string_value(yaml), json_string_length(yaml));
    status = variant_init(&v, &ask, err);
    text_fini(&text);
    if (status != SHD_OK)
        return status;
    status = search_variant(&v, &asked, out, err);
    variant_fini(&v);
    return status;
}

const struct query_op query_plan_search_ops[] = {
    {.name = "plan.search",
     .answer = answer,
     .about = "The best layouts of a scenario's model and batch on its cluster: the object that "
              "'shardsim search --json' prints.",
     .in = QUERY_FIELDS(
         {"yaml", "text", NULL, "The text of a scenario with one strategy; shardsim-scenario(5)."},
         {"devices", "whole number", "the size of the mesh", "Number of devices."},
         {"range", "list of texts", "[]",
          "Restrictions such as 'tp=8' or 'pp=4..16' (option --range of shardsim-search(1))."},
         {"forbid", "list of texts", "[]", "Excluded choices, for example 'zero=3'."},
         {"top", "whole number", "10", "Layouts to find."},
         {"plans", "whole number", "no limit", "Maximum number of layouts to plan."}),
     .gives = "object",
     .out = QUERY_FIELDS(
         {"best", "list of objects", NULL,
          "The best layouts, shortest step first: layout (its choices), step_seconds, memory_bytes "
          "of the fullest device, mfu (0 to 1) and the time breakdown."},
         {"layouts", "whole number", NULL, "Number of valid layouts."},
         {"plans", "whole number", NULL,
          "Number of planned layouts; a lower bound ruled out the rest."},
         {"proven_seconds", "number", NULL,
          "Lower bound on the step of every layout that was not planned."},
         {"neighbours", "list of objects", NULL,
          "For each choice of the best layout, the best planned layout with another value."},
         {"families", "list of objects", NULL,
          "The best layout of each other family (such as FSDP alone), or why the family has none."},
         {"...", "anything", NULL,
          "schema, cut_short (null), hardware, devices, memory_margin (the part of a device's "
          "memory that is kept free), too_big (layouts that do not fit), refused, planned (all of "
          "them), expected_error (null: not known), tie_within (error of the cost model, as a "
          "fraction of the step), ties (how many of the best layouts are within that error of the "
          "first)."}),
     .errors = "not-found",
     .question = "{'yaml': 'version: 1\\nname: small\\nmesh: {dp: 4}\\nmodel: {kind: llama3, "
                 "d_model: 64, d_ff: 128, layers: 2, heads: 4, vocab: 64}\\nbatch: {size: 8, seq: "
                 "16}\\nhardware: h100-sxm\\nparams: [[.*, []]]\\nstep: [forward, backward, "
                 "update]\\noptimizer: {kind: sgd}\\n', 'top': 1, 'range': ['pp=1']}",
     .reply = "'out':{'schema':'shardsim.search/"
              "2','cut_short':null,'hardware':'h100-sxm','devices':4,'memory_margin':0.1,'layouts':"
              "350,...,'best':[{'layout':{'tp':1,'pp':1,'cp':1,'dp':4,...},...,'step_seconds':0."
              "000388219,...}],...}"},
    {.name = NULL}};
