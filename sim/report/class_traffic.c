/* Bytes received by each class of devices of a planned step (class_traffic.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/class_traffic.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "report/traffic.h"

/* Add a class's coordinates along one axis of the program's mesh, unless it spans the axis. */
static void add_coordinates(struct text *text, const char *name, int32_t start, int32_t size)
{
    text_addf(text, "%s%s=%d", text->length ? ", " : "", name, (int)start);
    if (size > 1)
        text_addf(text, "-%d", (int)(start + size - 1));
}

/* The coordinates of a class along an axis that was asked for, whose parts are axes of the
 * program's mesh, the most major first: one run where all parts behind the first that is no single
 * coordinate are whole, else part by part. */
static void add_axis(struct text *text, const struct program *program,
                     const struct program_class *class, size_t asked)
{
    const struct shd_mesh *mesh = program->mesh;
    int32_t start = 0, size = 1, whole = 1;
    bool run = true;

    for (size_t a = 0; a < shd_mesh_naxes(mesh); a++) {
        int32_t extent = shd_mesh_axis_size(mesh, a);

        if (program->asked_axis[a] != asked)
            continue;
        run = run && (size == 1 || class->size[a] == extent);
        start = start * extent + class->start[a];
        size = size == 1 ? class->size[a] : size * extent;
        whole *= extent;
    }
    if (run) {
        if (size < whole)
            add_coordinates(text, shd_mesh_axis_name(program->asked_mesh, asked), start, size);
        return;
    }
    for (size_t a = 0; a < shd_mesh_naxes(mesh); a++)
        if (program->asked_axis[a] == asked && class->size[a] < shd_mesh_axis_size(mesh, a))
            add_coordinates(text, shd_mesh_axis_name(mesh, a), class->start[a], class->size[a]);
}

char *class_traffic_name(const struct program *program, const struct program_class *devices)
{
    struct text text = TEXT_INIT;

    for (size_t a = 0; a < shd_mesh_naxes(program->asked_mesh); a++)
        add_axis(&text, program, devices, a);
    text_addf(&text, "%s%d device%s", text.length ? ": " : "", (int)devices->ndevices,
              devices->ndevices == 1 ? "" : "s");
    return text_take(&text);
}

/* Find or make the column of an op's axes; -1: no memory. */
static int column_of(struct class_traffic *t, const struct program *program,
                     const struct program_op *op)
{
    char *axes = traffic_axes(program, op);

    if (!axes)
        return -1;
    for (uint32_t i = 0; i < t->naxes; i++)
        if (!strcmp(t->axes[i], axes)) {
            free(axes);
            return (int)i;
        }
    t->axes[t->naxes] = axes;
    return (int)t->naxes++;
}

/* Fill the table.  Each kind of move has at most one column, so rows have room for that many until
 * the columns are known. */
static int fill(struct class_traffic *t, const struct record *record)
{
    const struct program_classes *classes = record->classes;
    const struct program *program = record->program;

    for (uint32_t k = 0; k < classes->nmoves; k++) {
        const struct program_op *op = &program->ops[classes->moves[k].op];
        int column = column_of(t, program, op);

        if (column < 0)
            return SHD_ENOMEM;
        for (uint32_t row = 0; row < t->nclasses; row++)
            t->bytes[(size_t)row * classes->nmoves + (uint32_t)column] +=
                (uint128)classes->moves[k].times *
                program_moved(program, op, record_row(record, row).first).received;
    }
    for (size_t row = 0; row < t->nclasses; row++)
        memmove(t->bytes + row * t->naxes, t->bytes + row * classes->nmoves,
                t->naxes * sizeof *t->bytes);
    return SHD_OK;
}

int class_traffic_init(struct class_traffic *out, const struct record *record,
                       struct shd_error *err)
{
    struct class_traffic t = {.nclasses = record->nrows};
    int status = SHD_ENOMEM;

    t.classes = calloc(t.nclasses, sizeof *t.classes);
    t.axes = calloc(record->classes->nmoves + 1, sizeof *t.axes);
    t.bytes = calloc((size_t)t.nclasses * record->classes->nmoves + 1, sizeof *t.bytes);
    if (t.classes && t.axes && t.bytes)
        status = fill(&t, record);
    for (uint32_t row = 0; row < t.nclasses && status == SHD_OK; row++) {
        struct program_class devices = record_row(record, row);

        t.classes[row] = class_traffic_name(record->program, &devices);
        if (!t.classes[row])
            status = SHD_ENOMEM;
    }
    if (status == SHD_OK) {
        *out = t;
        return SHD_OK;
    }
    class_traffic_fini(&t);
    return shd_error_set(err, status, "no memory for the traffic of classes");
}

void class_traffic_fini(struct class_traffic *traffic)
{
    for (uint32_t i = 0; traffic->classes && i < traffic->nclasses; i++)
        free(traffic->classes[i]);
    for (uint32_t i = 0; traffic->axes && i < traffic->naxes; i++)
        free(traffic->axes[i]);
    free(traffic->classes);
    free(traffic->axes);
    free(traffic->bytes);
    memset(traffic, 0, sizeof *traffic);
}
