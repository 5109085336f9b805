/* Building a graph from the lines of a `graph:` section (graph_text.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/graph_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/stored_array.h"
#include "base/wrap.h"
#include "graph/graph.h"
#include "model/lines.h"
#include "model/model.h"

/* ---- arrays whose values lie in a file ---- */

#define BLOCK 256

/* Check that the whole numbers of a stored array are from `least` to `most`.  Reports the first
 * that is not at `place`, and what cannot be read; false then. */
static bool stored_values_check(const struct stored_array *stored, double least, double most,
                                struct place place, struct diag *diag)
{
    int64_t count = (int64_t)(stored->bytes / shd_dtype_size(stored->dtype));
    double values[BLOCK];
    struct shd_error err;

    for (int64_t at = 0; at < count; at += BLOCK) {
        size_t n = (size_t)(count - at < BLOCK ? count - at : BLOCK);

        kern_stored_values(stored, at, 1, n, values);
        for (size_t i = 0; i < n; i++) {
            if (values[i] >= least && values[i] <= most)
                continue;
            diag_error(diag, place,
                       "element %" PRId64 " of '%.100s' is %.0f; expected a whole number from %.0f "
                       "to %.0f",
                       at + (int64_t)i, stored->name, values[i], least, most);
            return false;
        }
    }
    if (file_bytes_check(stored->file, &err) == SHD_OK)
        return true;
    diag_failure(diag, place, err.status, "%s", err.text);
    return false;
}

#define HELP_COLUMNS 80 /* the width of all help texts, whatever the terminal's */

/* Check that a name is new; otherwise report it at the line's place and return false. */
static bool check_new(struct lines *l, const char *name)
{
    if (lines_find(l, name))
        lines_error(l, 0, "there is an array '%s' already; expected another name", name);
    else if (graph_find_dim(l->graph, name) != GRAPH_NONE)
        lines_error(l, 0, "'%s' is a dim; expected another name for an array", name);
    else if (!strcmp(name, "ct"))
        lines_error(l, 0, "'ct' is reserved for the loss's cotangent; expected another name");
    else
        return true;
    return false;
}

/* The type of an array: as given, of whole numbers int32, else the model's. */
static enum shd_dtype array_dtype(const struct scenario *s, const struct scenario_array *a)
{
    bool whole = a->stored && a->stored->dtype != SHD_BOOL &&
                 (a->stored->dtype == SHD_I16 || a->stored->dtype == SHD_I64 ||
                  kern_is_whole(a->stored->dtype));

    if (a->typed)
        return a->dtype;
    return a->below || whole ? SHD_I32 : s->model.dtype;
}

/* Take the values of a file.  Whole numbers that are not what the array may have would be cut or
 * read beside a table, so that they are looked at before anything is executed. */
static bool take_stored(struct lines *l, const struct scenario *s, const struct scenario_array *a,
                        struct kern_source *out)
{
    double least = a->below ? 0 : INT32_MIN, most = a->below ? out->modulus - 1.0 : INT32_MAX;

    out->stored = a->stored;
    return s->planned || array_dtype(s, a) != SHD_I32 ||
           stored_values_check(a->stored, least, most, a->values_place, l->diag);
}

/* The content of an array: random numbers scaled so that products keep their variance, or integers
 * below the size of a dim, 0 and 1 without one; or values of a file. */
static bool array_source(struct lines *l, const struct scenario *s, const struct scenario_array *a,
                         bool param, const uint32_t *dims, struct kern_source *out)
{
    double scale = model_scale(l->graph, dims, (uint32_t)a->ndims, param);
    bool whole = array_dtype(s, a) == SHD_I32;
    uint32_t below = GRAPH_NONE;

    *out = model_source(s->seed, a->name, a->scale > 0 ? a->scale : scale);
    if (a->below) {
        l->place = a->below_place;
        below = lines_dim(l, a->below, 0);
        if (below == GRAPH_NONE)
            return false;
        if (!whole) {
            lines_error(l, 0, "'%s' is %s, but below needs integers", a->name,
                        shd_dtype_name(a->dtype));
            return false;
        }
    }
    if (whole && param) {
        lines_error(l, 0, "parameter '%s' of integers; expected an input", a->name);
        return false;
    }
    if (whole)
        out->modulus = a->below ? (uint32_t)l->graph->dims[below].size : 2;
    return !a->stored || take_stored(l, s, a, out);
}

static uint32_t add_array(struct lines *l, const struct scenario *s, const struct scenario_array *a,
                          bool param)
{
    uint32_t dims[SCENARIO_ARRAY_RANK_MAX];
    struct kern_source source;

    for (size_t d = 0; d < a->ndims; d++) {
        l->place = a->dim_places[d];
        dims[d] = lines_dim(l, a->dims[d], 0);
        if (dims[d] == GRAPH_NONE)
            return GRAPH_NONE;
        for (size_t e = 0; e < d; e++)
            if (dims[e] == dims[d])
                return lines_error(l, 0, "dim '%s' appears twice", a->dims[d]);
    }
    l->place = a->place;
    if (!array_source(l, s, a, param, dims, &source))
        return GRAPH_NONE;
    l->place = a->place;
    return lines_checked(l, 0,
                         (param ? graph_param : graph_input)(l->graph, a->name, array_dtype(s, a),
                                                             dims, (uint32_t)a->ndims, source));
}

static void add_arrays(struct lines *l, const struct scenario *s,
                       const struct scenario_arrays *arrays, bool param)
{
    for (size_t i = 0; i < arrays->count; i++) {
        const struct scenario_array *a = &arrays->list[i];

        l->place = a->place;
        if (check_new(l, a->name))
            lines_add(l, a->name, add_array(l, s, a, param), false);
    }
}

static void add_dims(struct lines *l, const struct scenario *s)
{
    for (size_t i = 0; i < s->graph.ndims; i++) {
        l->place = s->graph.dims[i].key_place;
        lines_checked(l, 0, graph_dim(l->graph, s->graph.dims[i].name, s->graph.dims[i].size));
    }
}

/* Add the op of one line.  After an error its name maps to GRAPH_NONE, so that lines which use it
 * report no further errors. */
static uint32_t add_op(struct lines *l, const struct scenario_line *line)
{
    uint32_t node = GRAPH_NONE;
    struct expr_line *parsed;
    struct shd_error err;
    size_t at;

    l->place = line->place;
    if (expr_parse(&parsed, line->text, &at, &err) != SHD_OK)
        return lines_failure(l, at, &err);
    if (check_new(l, parsed->name)) {
        l->left = graph_text(l->graph, "%s", parsed->name);
        node = lines_eval_any(l, parsed->value, parsed->dims.given ? &parsed->dims : NULL);
        node = lines_conform(l, node, &parsed->dims, parsed->value->at);
        if (node != GRAPH_NONE)
            node = lines_checked(l, 0, graph_constraint(l->graph, l->left, node));
        lines_add(l, l->left, node, true);
    }
    expr_destroy(parsed);
    return node;
}

static void add_output(struct lines *l, const struct scenario_line *line)
{
    const struct lines_name *found = lines_find(l, line->text);
    struct nearest near;

    l->place = line->place;
    if (found && found->computed) {
        if (found->output)
            lines_error(l, 0, "output '%s' appears twice", found->name);
        l->names[found - l->names].output = true;
        graph_output(l->graph, GRAPH_OUTPUT, found->name, found->node, GRAPH_NONE);
        return;
    }
    nearest_init(&near, line->text);
    for (uint32_t n = 0; n < l->nnames; n++)
        if (l->names[n].computed)
            nearest_add(&near, l->names[n].name);
    lines_error(l, 0, "no op has the result '%.60s'%s", line->text, nearest_hint(&near).text);
}

static void add_outputs(struct lines *l, const struct scenario *s)
{
    const struct lines_name *last = l->nnames ? &l->names[l->nnames - 1] : NULL;

    for (size_t i = 0; i < s->graph.noutputs; i++)
        add_output(l, &s->graph.outputs[i]);
    if (s->graph.noutputs == 0 && last && last->computed)
        graph_output(l->graph, GRAPH_OUTPUT, last->name, last->node, GRAPH_NONE);
}

void graph_text_build(struct graph *graph, const struct scenario *scenario, struct diag *diag)
{
    const struct scenario_graph *s = &scenario->graph;
    struct lines l = {.graph = graph,
                      .diag = diag,
                      .place = scenario->model.place,
                      .dtype = scenario->model.dtype};

    l.names = calloc(s->inputs.count + s->params.count + s->nops + 1, sizeof *l.names);
    if (!l.names) {
        graph_fail(graph, SHD_ENOMEM, "no memory for the names of a graph");
        return;
    }
    add_dims(&l, scenario);
    add_arrays(&l, scenario, &s->inputs, false);
    add_arrays(&l, scenario, &s->params, true);
    for (size_t i = 0; i < s->nops && !diag_is_full(diag); i++)
        add_op(&l, &s->ops[i]);
    add_outputs(&l, scenario);
    map_fini(&l.by_name);
    free(l.names);
}

/* Collect the names that a line may use: inputs and parameters, and the latest constraint of each
 * name. */
static void find_names(struct lines *l)
{
    for (uint32_t n = l->graph->nnodes; n-- > 0;) {
        const struct graph_node *node = &l->graph->nodes[n];

        if (node->op == GRAPH_CONSTRAINT || node->op == GRAPH_INPUT || node->op == GRAPH_PARAM)
            if (!lines_find(l, node->name))
                lines_add(l, node->name, n, node->op == GRAPH_CONSTRAINT);
    }
}

uint32_t graph_text_add(struct graph *graph, const char *line)
{
    const struct scenario_line op = {(char *)(uintptr_t)line, {NULL, 1, 1}};
    struct diag diag = DIAG_INIT;
    struct lines l = {.graph = graph, .diag = &diag, .dtype = SHD_F32};
    uint32_t node;

    if (graph->err.status != SHD_OK)
        return GRAPH_NONE;
    l.names = calloc((size_t)graph->nnodes + 1, sizeof *l.names);
    if (!l.names)
        return graph_fail(graph, SHD_ENOMEM, "no memory for the names of a graph");
    find_names(&l);
    node = add_op(&l, &op);
    if (diag.no_memory)
        graph_fail(graph, SHD_ENOMEM, "no memory for a line");
    else if (node == GRAPH_NONE && diag.nmessages > 0) /* also if the graph failed */
        graph_fail(graph, SHD_EINVAL, "'%.80s', column %d: %s", line, diag.messages[0].column,
                   diag.messages[0].text);
    map_fini(&l.by_name);
    free(l.names);
    diag_fini(&diag);
    return node;
}

static void describe(struct text *out, const struct scenario *s)
{
    text_addf(out, "a graph of %zu op%s:", s->graph.nops, s->graph.nops == 1 ? "" : "s");
    for (size_t d = 0; d < s->graph.ndims; d++)
        text_addf(out, "%s %s %lld", d ? "," : "", s->graph.dims[d].name,
                  (long long)s->graph.dims[d].size);
    text_addf(out, "; %s", shd_dtype_name(s->model.dtype));
}

const struct model_kind model_graph_text = {SCENARIO_GRAPH, graph_text_build, describe};

static void print_function(struct text *out, const struct lines_function *f)
{
    text_addf(out, "%s(%s)\n    ", f->name, f->arguments);
    wrap_add(out, HELP_COLUMNS, 4, 4, f->help);
}

void graph_text_print_help(struct text *out)
{
    struct text names = TEXT_INIT;

    text_add(out, "elementwise, of arrays and numbers\n    ");
    for (int f = 0; f < KERN_NSAME; f++)
        if (kern_fns[f].noperands < 3) /* others have a builder */
            text_addf(&names, "%s%s", f ? ", " : "", kern_fns[f].name);
    wrap_add(out, HELP_COLUMNS, 4, 4, text_get(&names));
    out->failed |= names.failed;
    text_fini(&names);
    for (const struct lines_function *f = lines_functions; f->name; f++)
        print_function(out, f);
}
