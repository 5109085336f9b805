/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "cmd/explain/head.h"

#include <string.h>

#include "base/units.h"
#include "base/wrap.h"

/* Add a finished sentence, wrapped, and clear it for the next. */
static void put(const struct lesson *l, struct text *out, struct text *sentence, size_t indent)
{
    wrap_add(out, l->width, 0, indent, text_get(sentence));
    out->failed |= sentence->failed;
    text_clear(sentence);
}

static void add_rounds(const struct program *program, struct text *t)
{
    if (program->nstages > 1)
        text_addf(t,
                  "%u stages on %u ranks, %u microbatches; 'shardsim show timetable' draws their "
                  "schedule. Bytes below are of all microbatches.",
                  program->nstages, program->nranks, program->microbatches);
    else if (program->microbatches > 1)
        text_addf(t,
                  "Ops %u to %u run once for each of %u microbatches; their bytes below are of all "
                  "microbatches.",
                  program->first_op + 1, program->update_op, program->microbatches);
}

void head_add(const struct lesson *l, struct text *out)
{
    const struct program *program = l->record->program;
    int ndevices = (int)l->record->ndevices;
    char mesh[256];
    struct text t = TEXT_INIT;
    uint32_t n = 0;

    for (uint32_t i = 0; i < program->nops; i++)
        n += program_communicates(&program->ops[i]) && program->ops[i].kind != PROGRAM_SEND;
    text_add(&t, l->scenario);
    if (strcmp(l->strategy, "default") != 0)
        text_addf(&t, ", strategy %s", l->strategy);
    text_addf(&t, ": %s", l->what);
    put(l, out, &t, 2);
    shd_mesh_print(program->asked_mesh, mesh, sizeof mesh);
    text_addf(&t, "mesh %s, %d device%s; %u ops, of which %u communicate: %s received in total.",
              mesh[0] ? mesh : "of no axes", ndevices, ndevices == 1 ? "" : "s", program->nops, n,
              units_print_bytes(record_received(l->record)).text);
    put(l, out, &t, 2);
    add_rounds(program, &t);
    if (t.length > 0)
        put(l, out, &t, 0);
    text_fini(&t);
}

void head_add_placement(const struct lesson *l, struct text *out)
{
    const struct shd_mesh *mesh = l->record->program->asked_mesh;
    const char *axis = shd_mesh_naxes(mesh) ? shd_mesh_axis_name(mesh, 0) : "dp";
    struct text t = TEXT_INIT;

    text_add(&t, l->placement == PARTITION_SEARCH
                     ? "placement: search. Ops are sharded to minimize the bytes of collectives."
                     : "placement: follow. An op is sharded over the axes of its operands' "
                       "shardings and of the sharding required of its result.");
    put(l, out, &t, 0);
    text_addf(&t,
              "[{%s}, {}] means: dimension 0 is sharded over axis %s, dimension 1 is not sharded.",
              axis, axis);
    put(l, out, &t, 0);
    text_fini(&t);
}
