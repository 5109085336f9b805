/* Finding the values of a graph's arrays in a file (scenario/graph_file.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "scenario/graph_file.h"

#include <string.h>

#include <shd/shape.h>

#include "base/array_file.h"

/* Sizes of an array's dims; false: a dim is not known, which the model reports. */
static bool sizes_of(const struct scenario_graph *graph, const struct scenario_array *array,
                     int64_t *sizes)
{
    for (size_t d = 0; d < array->ndims; d++) {
        size_t i = 0;

        while (i < graph->ndims && strcmp(graph->dims[i].name, array->dims[d]) != 0)
            i++;
        if (i == graph->ndims)
            return false;
        sizes[d] = graph->dims[i].size;
    }
    return true;
}

/* Whether one shape becomes the other by splitting and merging dimensions: [6, 4] and [2, 3, 4] do,
 * [4, 6] does not. */
static bool same_elements(const int64_t *a, size_t na, const int64_t *b, size_t nb)
{
    size_t i = 0, k = 0;

    while (i < na || k < nb) {
        int64_t x = i < na ? a[i++] : 1, y = k < nb ? b[k++] : 1;

        while (x != y) {
            int64_t *less = x < y ? &x : &y, more = x < y ? y : x, next;

            if (x < y ? i == na : k == nb)
                return false;
            next = x < y ? a[i++] : b[k++];
            if (*less == 0 || next == 0 || next > more / *less || more % (*less * next) != 0)
                return false;
            *less *= next;
        }
    }
    return true;
}

static void report_shape(struct reader *r, const struct scenario_array *array,
                         const struct stored_array *stored, const int64_t *sizes)
{
    char wanted[128], found[128];

    shd_shape_print(wanted, sizeof wanted, sizes, array->ndims);
    shd_shape_print(found, sizeof found, stored->shape, stored->rank);
    diag_error(r->diag, array->values_place,
               "'%.100s' is %s in the file; expected %s, or the same elements with dims merged or "
               "split",
               array->values, found, wanted);
}

static bool is_whole(enum shd_dtype dtype)
{
    return dtype == SHD_I8 || dtype == SHD_U8 || dtype == SHD_I16 || dtype == SHD_I32 ||
           dtype == SHD_I64;
}

/* Whole numbers stay whole numbers, and floats floats; bools are 0 and 1 of either kind.  `below`
 * makes whole numbers of any array. */
static void check_type(struct reader *r, const struct scenario_array *array,
                       const struct stored_array *stored)
{
    bool whole = array->below || (array->typed && is_whole(array->dtype));

    if (stored->dtype != SHD_BOOL && (array->typed || array->below) &&
        whole != is_whole(stored->dtype))
        diag_error(r->diag, array->values_place, "'%.100s' is %s%s in the file; expected %s",
                   array->values, stored->is_unsigned ? "u" : "", shd_dtype_name(stored->dtype),
                   whole ? "whole numbers" : "floats: 'dtype: int32' is for integers");
}

static void bind(struct reader *r, struct scenario_array *array)
{
    const struct scenario_graph *graph = &r->scenario->graph;
    int64_t sizes[SCENARIO_ARRAY_RANK_MAX];
    const struct stored_array *stored;
    struct nearest nearest;

    nearest_init(&nearest, array->values);
    stored = array_file_find(graph->values, array->values, &nearest);
    array->stored = stored;
    if (!stored) {
        diag_error(r->diag, array->values_place, "'%s' has no array '%.100s'%s", graph->path,
                   array->values, nearest_hint(&nearest).text);
        return;
    }
    check_type(r, array, stored);
    if (sizes_of(graph, array, sizes) &&
        !same_elements(stored->shape, stored->rank, sizes, array->ndims))
        report_shape(r, array, stored, sizes);
}

static void bind_all(struct reader *r, struct scenario_arrays *arrays)
{
    for (size_t i = 0; i < arrays->count; i++) {
        struct scenario_array *array = &arrays->list[i];

        if (array->values && r->scenario->graph.values)
            bind(r, array);
        else if (array->values && !r->scenario->graph.path)
            diag_error(
                r->diag, array->values_place,
                "'%s' has values, but graph has no values file; expected 'values: FILE' in graph",
                array->name);
    }
}

void graph_file_load(struct reader *r)
{
    struct scenario_graph *graph = &r->scenario->graph;
    struct diag own = DIAG_INIT;

    if (graph->path && array_file_open(&graph->values, graph->path, &own) != SHD_OK)
        diag_error(r->diag, scenario_place(r->scenario, "graph.values"),
                   "'%s' cannot be used; expected a .safetensors or .npz file", graph->path);
    diag_append(r->diag, &own);
    diag_fini(&own);
    bind_all(r, &graph->inputs);
    bind_all(r, &graph->params);
}
