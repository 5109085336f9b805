/* Traces as JSON lines, an object a request, of which keys of other fields are skipped.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "serving/trace_fields.h"

/* Take a number, or a string that holds a date or a number. */
static void take_value(struct trace_reading *r, struct trace_row *row,
                       const struct trace_name *name, struct json_text *j)
{
    struct json_piece value;
    struct place place;
    char first = json_text_peek(j);

    place = json_text_place(j, r->path);
    if (!(first == '"' ? json_text_string(j, &value) : json_text_number(j, &value))) {
        if (!j->fault)
            diag_error(r->diag, place, "%s is no number", trace_field_name(name->field));
        row->has[name->field] = true;
        json_text_skip(j);
        return;
    }
    trace_take_value(r, row, name, name->json_ns, value, place);
}

static void take_blocks(struct trace_reading *r, struct json_text *j)
{
    struct place place;
    int64_t id;

    json_text_peek(j);
    place = json_text_place(j, r->path);
    if (!json_text_open(j, '[')) {
        diag_error(r->diag, place, "hash_ids is not a list; expected a number for each block");
        json_text_skip(j);
        return;
    }
    while (json_text_item(j)) {
        json_text_peek(j);
        place = json_text_place(j, r->path);
        if (!json_text_int(j, &id)) {
            diag_error(r->diag, place, "a block of hash_ids is not a whole number");
            json_text_skip(j);
        } else if (id < 0) {
            diag_error(r->diag, place, "a block of hash_ids is %lld; expected at least 0",
                       (long long)id);
        } else if (!trace_add_block(r, id)) {
            diag_no_memory(r->diag);
        }
    }
}

/* Take the value behind a key.  A key that is there twice, also by two names of one field, would
 * leave open which of its values is meant. */
static void take_field(struct trace_reading *r, struct trace_row *row, struct json_piece key,
                       struct json_text *j)
{
    const struct trace_name *name = trace_find_name(key);
    struct json_text at = *j;

    at.at = key.at - 1;
    if (name && row->has[name->field])
        diag_error(r->diag, json_text_place(&at, r->path), "a second key of %s",
                   trace_field_name(name->field));
    if (!name) {
        trace_skip_field(r, key);
        json_text_skip(j);
    } else if (name->field == TRACE_BLOCKS) {
        row->has[TRACE_BLOCKS] = true;
        take_blocks(r, j);
    } else {
        take_value(r, row, name, j);
    }
}

static void read_request(struct trace_reading *r, struct json_text *j)
{
    struct trace_row row = {.has = {false}};
    struct place place = json_text_place(j, r->path);
    uint32_t block = r->trace->nblocks;
    size_t before = r->diag->nerrors;
    struct json_piece key;

    (void)json_text_open(j, '{');
    while (json_text_key(j, &key))
        take_field(r, &row, key, j);
    if (!j->fault && r->diag->nerrors == before)
        trace_add_row(r, &row, block, place);
}

void trace_read_jsonl(struct trace_reading *r, const char *text, size_t length)
{
    struct json_text j;

    json_text_init(&j, text, length);
    while (json_text_peek(&j) == '{' && !diag_is_full(r->diag) && !r->diag->no_memory)
        read_request(r, &j);
    if (!j.fault && json_text_peek(&j) && json_text_peek(&j) != '{')
        diag_error(r->diag, json_text_place(&j, r->path),
                   "expected the object of a request on a line of its own");
    else if (j.fault)
        json_text_report(&j, r->path, r->diag);
}
