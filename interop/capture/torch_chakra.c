/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "capture/torch_chakra.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "capture/torch_own.h"

#define LOOKED_AT_MAX ((size_t)64 << 10) /* bytes of a file in which its first node must lie */

/* Scope numbers of PyTorch's records. */
#define BACKWARD_SCOPE 1
#define USER_SCOPE 7

bool torch_chakra_is(const char *text, size_t length)
{
    struct json_piece head = {text, length < LOOKED_AT_MAX ? length : LOOKED_AT_MAX};
    struct json_text j;

    json_text_init(&j, text, length);
    return json_text_peek(&j) == '{' && json_piece_has(head, "\"nodes\"") &&
           json_piece_has(head, "\"schema\"");
}

/* Each node, by number. */
struct node {
    int64_t id, parent, end; /* one past the last node inside */
};

struct reader {
    struct torch_trace trace;
    struct node *nodes;
    size_t nnodes;
};

/* The fields of a node before they are interpreted. */
struct fields {
    struct json_piece name;
    int64_t id, parent, thread, scope;
    struct json_text at, inputs, outputs, attributes;
    bool has_inputs, has_outputs, has_attributes;
};

/* ---- fields of a node ---- */

/* {"name": "rf_id", "type": "uint64", "value": 1} */
static bool read_attribute(struct json_piece *name, struct json_text *value, struct json_text *j)
{
    struct json_piece key;
    bool has_value = false;

    *name = (struct json_piece){NULL, 0};
    if (!json_text_open(j, '{'))
        return json_text_skip(j) && false;
    while (json_text_key(j, &key)) {
        if (json_piece_is(key, "name") && json_text_string(j, name))
            continue;
        if (json_piece_is(key, "value")) {
            *value = json_text_again(j);
            has_value = true;
        }
        (void)json_text_skip(j);
    }
    return !j->fault && name->at && has_value;
}

static void read_own_attributes(struct fields *f)
{
    struct json_text j = f->attributes, value;
    struct json_piece name;

    if (!f->has_attributes || !json_text_open(&j, '['))
        return;
    while (json_text_item(&j)) {
        if (!read_attribute(&name, &value, &j))
            continue;
        if (json_piece_is(name, "tid"))
            (void)json_text_int(&value, &f->thread);
        else if (json_piece_is(name, "scope"))
            (void)json_text_int(&value, &f->scope);
    }
}

static bool read_fields(struct fields *f, struct json_text *j)
{
    struct json_piece key;

    *f = (struct fields){.id = TORCH_UNKNOWN, .parent = TORCH_UNKNOWN, .scope = TORCH_UNKNOWN};
    (void)json_text_peek(j);
    f->at = json_text_again(j);
    if (!json_text_open(j, '{'))
        return json_text_skip(j);
    while (json_text_key(j, &key)) {
        bool taken = false;

        if (json_piece_is(key, "name"))
            taken = json_text_string(j, &f->name);
        else if (json_piece_is(key, "id"))
            taken = json_text_int(j, &f->id);
        else if (json_piece_is(key, "ctrl_deps") || json_piece_is(key, "parent"))
            taken = json_text_int(j, &f->parent);
        if (!taken && json_text_peek(j)) {
            struct json_text *part = json_piece_is(key, "inputs")    ? &f->inputs
                                     : json_piece_is(key, "outputs") ? &f->outputs
                                     : json_piece_is(key, "attrs")   ? &f->attributes
                                                                     : NULL;

            if (part)
                *part = json_text_again(j);
            f->has_inputs |= part == &f->inputs;
            f->has_outputs |= part == &f->outputs;
            f->has_attributes |= part == &f->attributes;
            (void)json_text_skip(j);
        }
    }
    return !j->fault;
}

/* Read the "values" of inputs or outputs. */
static void read_values(struct torch_arrays *arrays, bool has, struct json_text j)
{
    struct json_piece key;

    if (!has || !json_text_open(&j, '{'))
        return;
    while (json_text_key(&j, &key))
        if (!json_piece_is(key, "values") || !torch_arrays_read_values(arrays, &j))
            (void)json_text_skip(&j);
}

/* ---- process group calls ---- */

/* By position: [arrays], sequence, group, rank, "all_gather", [splits], [splits], (start, stride,)
 * size; a group is a number or ["name", "description"]. */
static void read_group_arguments(struct torch_call *call, const struct torch_arrays *in,
                                 const struct torch_arrays *out)
{
    uint32_t name = 0, numbers = 0;
    int64_t behind[3] = {TORCH_UNKNOWN, TORCH_UNKNOWN, TORCH_UNKNOWN};

    while (name < in->n && (in->arguments[name].is_number || in->arguments[name].is_array ||
                            !torch_op_find(in->arguments[name].word)))
        name++;
    if (name == in->n)
        return;
    call->name = in->arguments[name].word;
    call->op = torch_op_find(call->name);
    if (name >= 1 && in->arguments[name - 1].is_number)
        call->own = in->arguments[name - 1].number;
    if (name >= 2)
        call->group_name = in->arguments[name - 2].word;
    for (uint32_t i = name + 1; i < in->n; i++)
        if (in->arguments[i].is_number && numbers < 3)
            behind[numbers++] = in->arguments[i].number;
    if (numbers)
        call->group_size = behind[numbers - 1];
    if (numbers == 3) {
        call->group_start = behind[0];
        call->group_stride = behind[1];
    }
    if (in->arguments[0].is_array) {
        call->in_elements = in->arguments[0].elements;
        call->npieces = in->arguments[0].narrays;
        call->element_bytes = 1;
    }
    if (out->n && out->arguments[0].is_array) {
        call->out_elements = out->arguments[0].elements;
        call->element_bytes = 1;
    }
}

static void read_group_attribute(struct torch_call *call, struct json_piece name,
                                 struct json_text *value)
{
    struct json_piece piece;

    if (json_piece_is(name, "collective_name")) {
        if (json_text_string(value, &call->name))
            call->op = torch_op_find(call->name);
    } else if (json_piece_is(name, "dtype")) {
        if (json_text_string(value, &piece))
            call->element_bytes = (int64_t)torch_element_bytes(piece);
    } else if (json_piece_is(name, "in_msg_nelems")) {
        (void)json_text_int(value, &call->in_elements);
    } else if (json_piece_is(name, "out_msg_nelems")) {
        (void)json_text_int(value, &call->out_elements);
    } else if (json_piece_is(name, "pg_name")) {
        (void)json_text_string(value, &call->group_name);
    } else if (json_piece_is(name, "pg_size")) {
        (void)json_text_int(value, &call->group_size);
    } else if (json_piece_is(name, "global_rank_start")) {
        (void)json_text_int(value, &call->group_start);
    } else if (json_piece_is(name, "global_rank_stride")) {
        (void)json_text_int(value, &call->group_stride);
    }
}

static bool has_attribute(const struct fields *f, const char *wanted)
{
    struct json_text j = f->attributes, value;
    struct json_piece name;

    if (!f->has_attributes || !json_text_open(&j, '['))
        return false;
    while (json_text_item(&j))
        if (read_attribute(&name, &value, &j) && json_piece_is(name, wanted))
            return true;
    return false;
}

/* Read a process group's call.  Attributes count elements and name their type, arguments count
 * bytes; a trace has one or the other. */
static void read_group_call(struct torch_call *call, const struct fields *f,
                            const struct torch_arrays *in)
{
    struct json_text j = f->attributes, value;
    struct torch_arrays out = {.n = 0};
    struct json_piece name;

    read_values(&out, f->has_outputs, f->outputs);
    read_group_arguments(call, in, &out);
    if (!has_attribute(f, "collective_name") || !json_text_open(&j, '['))
        return;
    call->in_elements = call->out_elements = call->element_bytes = TORCH_UNKNOWN;
    while (json_text_item(&j))
        if (read_attribute(&name, &value, &j))
            read_group_attribute(call, name, &value);
}

/* ---- nodes ---- */

static bool add_call(struct reader *r, struct torch_event *event, const struct fields *f)
{
    struct torch_arrays in = {.n = 0};
    struct torch_call call = torch_call_named(torch_op_name(event->name), event->role);

    read_values(&in, f->has_inputs, f->inputs);
    call.at = f->at;
    if (event->role == TORCH_GROUP_CALL) {
        call.op = NULL;
        read_group_call(&call, f, &in);
        if (json_piece_is(call.name, "record_param_comms"))
            return true; /* the op around it says more */
        if (call.op && (call.op->sends || call.op->receives))
            call.other_in_group = call.own;
    } else if (event->role == TORCH_FUNCTIONAL) {
        call.group_name = in.n ? in.arguments[in.n - 1].word : call.group_name;
        return torch_trace_add_call(&r->trace, &call, event);
    } else if (event->role == TORCH_OWN) {
        call.op = torch_own_op(call.name);
        torch_own_sizes(&in, &call);
    } else {
        torch_arrays_of_call(&in, &call);
    }
    if (call.op && !call.op->op)
        return true;
    return torch_trace_add_call(&r->trace, &call, event);
}

static bool add_node(struct reader *r, const struct fields *f)
{
    if (!array_make_room(&r->nodes, r->nnodes, sizeof *r->nodes)) {
        diag_no_memory(r->trace.diag);
        return false;
    }
    r->nodes[r->nnodes++] = (struct node){f->id, f->parent, f->id + 1};
    return true;
}

/* Read the groups, which are JSON in a string. */
static bool read_groups(struct reader *r, const struct fields *f)
{
    struct torch_arrays in = {.n = 0};

    read_values(&in, f->has_inputs, f->inputs);
    return !in.n || !in.arguments[0].word.at ||
           torch_trace_read_groups_of_string(&r->trace, in.arguments[0].word);
}

static bool read_node(struct reader *r, struct json_text *j)
{
    struct torch_event event = {.call = 0};
    struct fields f;

    if (!read_fields(&f, j))
        return false;
    if (!f.name.at)
        return true;
    if (f.id < 0 || f.id > INT64_MAX / 2) {
        diag_error(r->trace.diag, json_text_place(&f.at, r->trace.file),
                   "a node without an id; expected its 'id', 0 or more");
        return false;
    }
    read_own_attributes(&f);
    if (!add_node(r, &f))
        return false;
    if (json_piece_begins(f.name, "## process_group:init"))
        return read_groups(r, &f);
    if (json_piece_begins(f.name, "##") || json_piece_begins(f.name, "["))
        return true;
    if (!torch_role_of(&event.role, f.name, f.scope == USER_SCOPE)) {
        if (f.scope != BACKWARD_SCOPE)
            return true;
        event.role = TORCH_BACKWARD;
    }
    event.name = f.name;
    event.thread = (uint64_t)f.thread;
    event.begin = f.id;
    event.end = f.id + 1;
    return event.role < TORCH_FUNCTIONAL ? torch_trace_add_event(&r->trace, &event)
                                         : add_call(r, &event, &f);
}

/* ---- ends of nodes ---- */

static int by_id(const void *a, const void *b)
{
    const struct node *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

static struct node *find(const struct reader *r, int64_t id)
{
    const struct node key = {.id = id};

    return r->nnodes ? bsearch(&key, r->nodes, r->nnodes, sizeof *r->nodes, by_id) : NULL;
}

/* Set ends: a node ends after the last node inside it. */
static void find_ends(struct reader *r)
{
    if (r->nnodes)
        qsort(r->nodes, r->nnodes, sizeof *r->nodes, by_id);
    for (size_t i = r->nnodes; i-- > 0;) {
        struct node *parent =
            r->nodes[i].parent < r->nodes[i].id ? find(r, r->nodes[i].parent) : NULL;

        if (parent && parent->end < r->nodes[i].end)
            parent->end = r->nodes[i].end;
    }
    for (uint32_t i = 0; i < r->trace.nevents; i++) {
        const struct node *node = find(r, r->trace.events[i].begin);

        if (node)
            r->trace.events[i].end = node->end;
    }
}

/* ---- the file ---- */

static bool read_top(struct reader *r, struct json_text *j)
{
    struct json_piece key;

    if (!json_text_open(j, '{'))
        return json_text_skip(j);
    while (json_text_key(j, &key)) {
        if (!json_piece_is(key, "nodes") || !json_text_open(j, '[')) {
            (void)json_text_skip(j);
            continue;
        }
        while (json_text_item(j))
            if (!read_node(r, j))
                return false;
    }
    return !j->fault;
}

/* Take the world size from the default group. */
static void find_world(struct torch_trace *trace)
{
    for (uint32_t i = 0; i < trace->ngroups && trace->world < 0; i++)
        if (json_piece_is(trace->groups[i].name, "0") ||
            json_piece_is(trace->groups[i].description, "default_pg"))
            trace->world = trace->groups[i].size;
}

int torch_chakra_read(struct traces *out, const char *file, const char *text, size_t length,
                      struct diag *diag)
{
    struct reader r = {.nnodes = 0};
    struct json_text j;
    size_t before = diag->nerrors;

    torch_trace_init(&r.trace, file, out, diag);
    json_text_init(&j, text, length);
    if (read_top(&r, &j) && json_text_end(&j)) {
        find_ends(&r);
        find_world(&r.trace);
        torch_trace_finish(&r.trace);
    } else if (j.fault && diag->nerrors == before) {
        json_text_report(&j, file, diag);
    }
    free(r.nodes);
    torch_trace_fini(&r.trace);
    return diag_status(diag, before);
}
