/* Answering questions, one JSON object a line (query.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "query/query.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "layouts/query/layout_ops.h"
#include "question/answer.h"
#include "question/fields.h"
#include "question/json_memory.h"

static const struct query_op *const families[] = {
    query_kernel_time_ops,
    query_layer_ops,
    query_moe_route_ops,
    query_pipeline_ops,
    query_plan_search_ops,
    query_replay_ops,
    query_reshard_ops,
    query_ring_balance_ops,
    query_scenario_ops,
    query_step_ops,
    query_train_ops,
    query_train_step_ops,
    NULL,
};

/* The lists of families: the layout systems beside the simulator, and what needs it. */
static const struct query_op *const *const lists[] = {layout_ops, families, NULL};

/* an op failed for lack of memory or threads, as its answer says */
static _Thread_local bool could_not_run;

const struct query_op *query_op_at(size_t n)
{
    for (size_t l = 0; lists[l]; l++)
        for (size_t f = 0; lists[l][f]; f++)
            for (const struct query_op *op = lists[l][f]; op->name; op++)
                if (n-- == 0)
                    return op;
    return NULL;
}

const struct query_op *query_op_find(const char *name)
{
    const struct query_op *op;

    for (size_t n = 0; (op = query_op_at(n)); n++)
        if (!strcmp(op->name, name))
            return op;
    return NULL;
}

const char *query_no_op(const char *name, char *buffer, size_t size)
{
    const struct query_op *op;
    struct nearest near;

    nearest_init(&near, name);
    for (size_t n = 0; (op = query_op_at(n)); n++)
        nearest_add(&near, op->name);
    snprintf(buffer, size, "unknown op '%.60s'%s", name,
             near.best ? nearest_hint(&near).text : "; 'shardsim query --list' lists them");
    return buffer;
}

static void write_id(struct json_out *out, const json_t *id)
{
    json_out_key(out, "id");
    answer_copy(out, id);
}

/* Answer with what the op writes, or with its error in place of what was written. */
static void answer_op(const struct query_op *op, const json_t *in, struct json_out *out)
{
    const struct json_out_mark mark = json_out_mark(out);
    struct shd_error err;
    int status = fields_check(op->in, op->name, in, &err);

    if (status == SHD_OK) {
        json_out_key(out, "out");
        status = op->answer(in, out, &err);
    }
    if (status == SHD_OK)
        return;
    could_not_run |= status == SHD_ENOMEM || status == SHD_ESYSTEM;
    json_out_undo(out, &mark);
    answer_error(out, shd_status_name(status), err.text);
}

/* Fields of a question; a file of questions with their answers may be used as it is. */
static const struct query_field question_fields[] = {
    {"id", "anything", "null", "Given back."},
    {"op", "name", NULL, "The op."},
    {"in", "anything", NULL, "Its fields."},
    {"out", "anything", "none", "An answer expected; not looked at."},
    {"err", "anything", "none", "An error expected; not looked at."},
    {NULL, NULL, NULL, NULL}};

static void answer_request(const json_t *request, struct json_out *out)
{
    const json_t *in = json_object_get(request, "in");
    const char *name = json_string_value(json_object_get(request, "op"));
    const struct query_op *op;
    struct shd_error err;
    char message[SHD_ERROR_TEXT_MAX];

    write_id(out, json_object_get(request, "id"));
    if (!json_is_object(request)) {
        answer_error(out, "bad-request", "a question is an object {\"id\", \"op\", \"in\"}");
        return;
    }
    if (!name || !json_is_object(in)) {
        answer_error(out, "bad-request",
                     name ? "'in' must be a JSON object, {} if empty"
                          : "'op' must be the name of an op ('shardsim query --list' lists them)");
        return;
    }
    op = query_op_find(name);
    if (fields_check(question_fields, "a question", request, &err) != SHD_OK)
        answer_error(out, "bad-request", err.text);
    else if (op)
        answer_op(op, in, out);
    else
        answer_error(out, "unknown-op", query_no_op(name, message, sizeof message));
}

static void write_answer(const json_t *request, const json_error_t *why, struct json_out *out)
{
    char message[SHD_ERROR_TEXT_MAX];

    json_out_begin_object(out);
    if (request) {
        answer_request(request, out);
    } else {
        snprintf(message, sizeof message, "column %d: %s", why->column, why->text);
        write_id(out, NULL);
        answer_error(out, "bad-json", message);
    }
    json_out_end_object(out);
    json_out_newline(out);
}

/* Write the answer "no memory" without needing memory.  It has the question's id if that is known
 * and not a list or object, which would need memory. */
static void refuse(const json_t *request, FILE *out)
{
    const json_t *id = json_object_get(request, "id");

    fputs("{\"id\":", out);
    if (!id || json_is_array(id) || json_is_object(id) ||
        json_dumpf(id, out, JSON_COMPACT | JSON_ENCODE_ANY) != 0)
        fputs("null", out);
    fprintf(out, ",\"err\":{\"kind\":\"%s\",\"message\":\"no memory for the answer\"}}\n",
            shd_status_name(SHD_ENOMEM));
}

/* Answer a line.  SHD_ENOMEM: there was no memory for the answer, which says so; SHD_ESYSTEM: it
 * cannot be written. */
static int answer_line(const char *line, size_t length, FILE *out)
{
    json_error_t why;
    json_t *request;
    struct text text = TEXT_INIT;
    struct json_out json;
    int status = SHD_OK;

    json_memory_reset();
    could_not_run = false;
    request = json_loadb(line, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &why);
    json_out_init_text(&json, &text, JSON_OUT_COMPACT);
    if (!json_memory_ran_out())
        write_answer(request, &why, &json);
    if (json_memory_ran_out() || text.failed) {
        refuse(request, out);
        status = SHD_ENOMEM;
    } else {
        fwrite(text_get(&text), 1, text.length, out);
        status = could_not_run ? SHD_ENOMEM : SHD_OK;
    }
    json_decref(request);
    text_fini(&text);
    return fflush(out) != 0 || ferror(out) ? SHD_ESYSTEM : status;
}

static bool blank(const char *line, size_t length)
{
    return strspn(line, " \t\r\n") >= length;
}

int query_serve(FILE *in, FILE *out, const int *stop_request, struct shd_error *err)
{
    char *line = NULL;
    size_t room = 0;
    bool stopped = false;
    int status = SHD_OK;

    json_memory_init();
    for (;;) {
        ssize_t length = getline(&line, &room, in);
        int one;

        stopped = stop_request && __atomic_load_n(stop_request, __ATOMIC_RELAXED);
        if (length < 0 || stopped)
            break;
        if (blank(line, (size_t)length))
            continue;
        one = answer_line(line, (size_t)length, out);
        status = one != SHD_OK ? one : status;
        if (status == SHD_ESYSTEM)
            break;
    }
    free(line);
    if (status == SHD_ESYSTEM)
        return shd_error_set(err, status, "cannot write the answer");
    if (ferror(in))
        return shd_error_set(err, SHD_ESYSTEM, "standard input: %s", strerror(errno));
    if (!stopped && !feof(in))
        return shd_error_set(err, SHD_ENOMEM,
                             "no memory for a question; no further questions are answered");
    if (status != SHD_OK)
        return shd_error_set(err, status,
                             "an answer failed for lack of memory or threads and says so");
    return SHD_OK;
}
