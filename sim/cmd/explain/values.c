/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "cmd/explain/values.h"

#include <stdlib.h>

#include "base/text.h"
#include "kern/convert.h"

#define SLOTS (PROGRAM_INPUTS_MAX + PROGRAM_OUTPUTS_MAX)

int values_init(struct values *out, const struct program *program, struct shd_error *err)
{
    int32_t ndevices = shd_mesh_size(program->mesh);
    char **texts;

    if (ndevices > VALUES_DEVICES_MAX)
        return shd_error_set(err, SHD_ERANGE, "values are shown for up to %d devices, not %d",
                             VALUES_DEVICES_MAX, (int)ndevices);
    texts = calloc((size_t)program->nops * SLOTS * (size_t)ndevices + 1, sizeof *texts);
    if (!texts)
        return shd_error_set(err, SHD_ENOMEM, "no memory for values");
    out->program = program;
    out->ndevices = ndevices;
    out->texts = texts;
    atomic_init(&out->failed, false);
    return SHD_OK;
}

void values_fini(struct values *values)
{
    for (size_t i = 0;
         values->texts && i < (size_t)values->program->nops * SLOTS * (size_t)values->ndevices; i++)
        free(values->texts[i]);
    free(values->texts);
    values->texts = NULL;
}

static char **slot_of(const struct values *v, uint32_t op, uint32_t slot, int32_t position)
{
    return &v->texts[((size_t)op * SLOTS + slot) * (size_t)v->ndevices + (size_t)position];
}

/* Print each row along the last dimension in brackets: "[1 2] [3 4]". */
static char *print_shard(struct values *v, const struct program_buffer *b, const void *shard)
{
    char *printed;
    double numbers[VALUES_ELEMENTS_MAX + KERN_LANES];
    struct text text = TEXT_INIT;
    int64_t count = 1, row = b->rank ? b->local[b->rank - 1] : 1;

    for (uint32_t d = 0; d < b->rank; d++)
        count *= b->local[d];
    if (!shard || count > VALUES_ELEMENTS_MAX)
        return NULL;
    kern_load_f64(b->dtype, shard, 1, (size_t)count, numbers);
    for (int64_t i = 0; i < count; i++)
        text_addf(&text, "%s%.4g%s", i % row == 0 ? i ? " [" : "[" : " ",
                  numbers[i] == 0 ? 0 : numbers[i], i % row == row - 1 ? "]" : "");
    printed = text_take(&text);
    if (!printed)
        atomic_store(&v->failed, true);
    return printed;
}

/* Keep a shard's text; of several microbatches the first is kept. */
static void keep(struct values *v, char **slot, uint32_t buffer, const void *const *shards)
{
    if (!*slot)
        *slot = print_shard(v, &v->program->buffers[buffer], shards[buffer]);
}

void values_observe(void *arg, int32_t position, uint32_t op, uint32_t microbatch,
                    const void *const *shards)
{
    struct values *v = arg;
    const struct program_op *o = &v->program->ops[op];

    (void)microbatch;
    for (uint32_t k = 0; k < o->ninputs; k++)
        keep(v, slot_of(v, op, k, position), o->inputs[k], shards);
    for (uint32_t k = 0; k < o->noutputs; k++)
        keep(v, slot_of(v, op, PROGRAM_INPUTS_MAX + k, position), o->outputs[k], shards);
}

const char *values_input(const struct values *values, uint32_t op, uint32_t k, int32_t position)
{
    return *slot_of(values, op, k, position);
}

const char *values_output(const struct values *values, uint32_t op, uint32_t k, int32_t position)
{
    return *slot_of(values, op, PROGRAM_INPUTS_MAX + k, position);
}
