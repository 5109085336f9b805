/* Token and label inputs (model/token_inputs.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/token_inputs.h"

#include "base/file.h"
#include "model/model.h"

/* The source of tokens in the scenario's text.  Products may wrap, as positions do. */
static struct kern_source text_source(const struct graph *graph, const struct scenario *scenario,
                                      uint32_t batch, uint32_t seq, struct tokens_part part)
{
    uint64_t row = file_bytes_count(scenario->data.bytes) / (uint64_t)scenario->batch.size;

    return (struct kern_source){
        .file = scenario->data.bytes,
        .place = {.first = part.first,
                  .per_step = part.each,
                  .per_microbatch = (uint64_t)graph->dims[batch].size * row,
                  .columns = (uint64_t)graph->dims[seq].size,
                  .row = row}};
}

uint32_t tokens_add(struct graph *graph, const struct scenario *scenario, const char *name,
                    uint32_t batch, uint32_t seq, struct tokens_part part)
{
    const uint32_t dims[2] = {batch, seq};
    struct kern_source source = model_source(scenario->seed, name, 0);

    if (graph->err.status != SHD_OK)
        return GRAPH_NONE;
    source.modulus = (uint32_t)scenario->model.vocab;
    if (scenario->data.bytes)
        source = text_source(graph, scenario, batch, seq, part);
    return graph_input(graph, name, SHD_I32, dims, 2, source);
}
