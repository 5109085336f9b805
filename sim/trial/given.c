/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "trial/given.h"

#include <string.h>

void given_set(const struct trial *trial, const char *input, const struct kern_source *source)
{
    struct program *p = trial->program;

    for (uint32_t n = 0; n < trial->graph->nnodes; n++)
        if (trial->graph->nodes[n].op == GRAPH_INPUT &&
            !strcmp(trial->graph->nodes[n].name, input))
            trial->graph->nodes[n].source = *source;
    for (uint32_t k = 0; k < p->nops; k++)
        if (p->ops[k].kind == PROGRAM_FILL &&
            !strcmp(p->buffers[p->ops[k].outputs[0]].name, input))
            p->ops[k].source = *source;
}
