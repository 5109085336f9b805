/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "model/weigh.h"

#include <math.h>

/* ---- the work of a value ---- */

static double bytes_of(const struct graph *graph, const struct graph_node *node)
{
    return graph_elements(graph, node) * (double)shd_dtype_size(node->dtype);
}

static void multiply(int64_t *size, int64_t by)
{
    if (__builtin_mul_overflow(*size, by, size))
        *size = INT64_MAX;
}

/* Set the sizes of a product [batch][m][k] by [batch][k][n]. */
static void set_product(struct hardware_work *work, const struct graph *graph,
                        const struct graph_node *node)
{
    const struct graph_node *a = &graph->nodes[node->inputs[0]];
    const struct graph_node *b = &graph->nodes[node->inputs[1]];

    work->kind = HARDWARE_MATMUL;
    for (uint32_t d = 0; d < node->rank; d++) {
        bool in_a = graph_has_dim(a, node->dims[d]), in_b = graph_has_dim(b, node->dims[d]);

        multiply(in_a && in_b ? &work->batch
                 : in_a       ? &work->m
                              : &work->n,
                 graph->dims[node->dims[d]].size);
    }
    for (uint32_t d = 0; d < a->rank; d++)
        if (!graph_has_dim(node, a->dims[d]))
            multiply(&work->k, graph->dims[a->dims[d]].size);
    work->flops = 2 * graph_elements(graph, node) * (double)work->k;
}

#define NSAMPLES 1024 /* of positions, as sequences are long */

/* The part of `keys` keys that a query sees, in the mean over positions of the first row. */
static double seen_part(const struct graph_node *node, int64_t keys)
{
    int64_t step = keys > NSAMPLES ? keys / NSAMPLES : 1;
    double seen = 0, n = 0;

    if (!node->attr.attention.sight)
        return node->attr.attention.causal ? 0.5 : 1;
    for (int64_t i = 0; i < keys; i += step, n++) {
        struct kern_span span = kern_sight_span(node->attr.attention.sight, 0, i);

        seen += (double)(span.last - span.first);
    }
    return keys > 0 ? seen / (n * (double)keys) : 0;
}

/* Two products of queries with keys and of probabilities with values. */
static void set_attention(struct hardware_work *work, const struct graph *graph,
                          const struct graph_node *node)
{
    const struct graph_node *q = &graph->nodes[node->inputs[0]];
    const struct graph_node *k = &graph->nodes[node->inputs[1]];

    work->kind = HARDWARE_ATTENTION;
    work->batch = graph->dims[q->dims[0]].size;
    multiply(&work->batch, graph->dims[q->dims[2]].size);
    work->m = graph->dims[q->dims[1]].size;
    work->n = graph->dims[k->dims[1]].size /
              (node->attr.attention.blocks > 1 ? (int64_t)node->attr.attention.blocks : 1);
    work->k = graph->dims[q->dims[3]].size;
    work->flops = 2 * (graph_elements(graph, q) + graph_elements(graph, node)) * (double)work->n *
                  seen_part(node, graph->dims[k->dims[1]].size);
}

/* Products of tokens with the state, and of the pairs in chunks (kern/linear_attention.h). */
static void set_linear_attention(struct hardware_work *work, const struct graph *graph,
                                 const struct graph_node *node)
{
    const struct graph_node *q = &graph->nodes[node->inputs[0]];
    double tokens = graph_elements(graph, node), turns = node->attr.linear_attention.delta ? 6 : 4;

    work->kind = HARDWARE_MATMUL;
    work->m = node->attr.linear_attention.chunk;
    work->n = graph->dims[node->dims[3]].size;
    work->k = graph->dims[q->dims[3]].size;
    work->flops = tokens * (turns * (double)work->k + (turns - 2) / 2 * (double)work->m *
                                                          (1 + (double)work->k / (double)work->n));
    work->batch =
        (int64_t)(work->flops / (2 * (double)work->m * (double)work->n * (double)work->k));
    work->batch = work->batch > 1 ? work->batch : 1;
}

double weigh_value(const struct graph *graph, uint32_t id, const struct hardware *hardware)
{
    const struct graph_node *node = &graph->nodes[id];
    struct hardware_work work = {
        .kind = HARDWARE_MEMORY, .dtype = node->dtype, .batch = 1, .m = 1, .n = 1, .k = 1};

    if (node->op <= GRAPH_PARAM || node->op == GRAPH_EXTRA || node->op == GRAPH_CONSTRAINT)
        return 0;
    if (node->op == GRAPH_EINSUM || node->op == GRAPH_GROUPED)
        set_product(&work, graph, node);
    else if (node->op == GRAPH_ATTENTION)
        set_attention(&work, graph, node);
    else if (node->op == GRAPH_LINEAR_ATTENTION)
        set_linear_attention(&work, graph, node);
    if (!hardware)
        return work.flops;
    work.bytes = bytes_of(graph, node);
    for (uint32_t k = 0; k < node->ninputs; k++) /* of a table only the rows that are looked up */
        if (node->op != GRAPH_EMBED || k > 0)
            work.bytes += bytes_of(graph, &graph->nodes[node->inputs[k]]);
        else
            work.bytes += bytes_of(graph, node);
    return hardware_kernel_seconds(hardware, &work);
}

/* ---- the split ---- */

/* need[i]: how many runs of at most `most` the units from i on take. */
static void find_need(uint32_t *need, const double *work, uint32_t nunits, double most)
{
    uint32_t end = nunits;
    double sum = 0;

    need[nunits] = 0;
    for (uint32_t i = nunits; i-- > 0;) {
        sum += work[i];
        while (end > i + 1 && sum > most)
            sum -= work[--end];
        need[i] = need[end] + 1;
    }
}

/* The smallest bound on runs that `nstages` of them can keep, to within rounding. */
static double find_most(uint32_t nstages, const double *work, uint32_t nunits, uint32_t *need)
{
    double low = 0, high = 0;

    for (uint32_t i = 0; i < nunits; i++) {
        low = fmax(low, work[i]);
        high += work[i];
    }
    high = high * (1 + 1e-9);
    for (int step = 0; step < 60; step++) {
        double middle = (low + high) / 2;

        find_need(need, work, nunits, middle);
        if (need[0] <= nstages)
            high = middle;
        else
            low = middle;
    }
    return high;
}

void weigh_split(uint32_t *counts, uint32_t nstages, const double *work, uint32_t nunits,
                 uint32_t *need)
{
    /* Runs are added up from both ends, which may differ in the last bit. */
    double most = find_most(nstages, work, nunits, need) * (1 + 1e-9), left = 0;
    uint32_t unit = 0;

    find_need(need, work, nunits, most);
    for (uint32_t i = 0; i < nunits; i++)
        left += work[i];
    for (uint32_t stage = 0; stage < nstages; stage++) {
        uint32_t after = nstages - stage - 1, first = unit;
        double mean = left / (after + 1), sum = work[unit++];

        /* A unit more if the others cannot do without, or if that comes nearer to the mean. */
        while (nunits - unit > after && sum + work[unit] <= most &&
               (need[unit] > after || sum + work[unit] / 2 < mean))
            sum += work[unit++];
        left -= sum;
        counts[stage] = unit - first;
    }
}
