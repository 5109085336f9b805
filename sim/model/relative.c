/* T5's relative position buckets (model/relative.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/relative.h"

#include <math.h>

uint32_t relative_bucket(const struct relative_opts *opts, int64_t ahead)
{
    uint32_t n = opts->both ? opts->buckets / 2 : opts->buckets, exact = n / 2;
    uint32_t base = opts->both && ahead > 0 ? n : 0;
    int64_t far = opts->both && ahead > 0 ? ahead : ahead < 0 ? -ahead : 0;
    double log_far;

    if (far < exact)
        return base + (uint32_t)far;
    log_far = log((double)far / exact) / log((double)opts->distance / exact) * (n - exact);
    return base + (log_far < n - exact ? exact + (uint32_t)log_far : n - 1);
}

/* The buckets of distances from 1 - nseq to nkeys - 1, as bytes owned by the graph. */
static const uint8_t *list_buckets(struct graph *g, int64_t nseq, int64_t nkeys,
                                   const struct relative_opts *opts)
{
    uint8_t *buckets = graph_bytes(g, (size_t)(nseq + nkeys - 1));

    for (int64_t i = 0; buckets && i < nseq + nkeys - 1; i++)
        buckets[i] = (uint8_t)relative_bucket(opts, i - (nseq - 1));
    return buckets;
}

uint32_t relative_bias(struct graph *graph, const char *name, uint32_t table, uint32_t seq,
                       uint32_t keys, const struct relative_opts *opts)
{
    const uint32_t dims[2] = {seq, keys};
    struct kern_source source = {.scale = 0};
    uint32_t ids;

    if (graph->err.status != SHD_OK)
        return GRAPH_NONE;
    source.nbytes = (uint64_t)(graph->dims[seq].size + graph->dims[keys].size - 1);
    source.bytes = list_buckets(graph, graph->dims[seq].size, graph->dims[keys].size, opts);
    /* Query i and key j read entry nseq - 1 - i + j. */
    source.place = (struct kern_place){.first = (uint64_t)graph->dims[seq].size - 1,
                                       .columns = (uint64_t)graph->dims[keys].size,
                                       .row = UINT64_MAX};
    ids = graph_input(graph, graph_text(graph, "%s/buckets", name), SHD_I32, dims, 2, source);
    return graph_embed(graph, name, table, ids);
}
