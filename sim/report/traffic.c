/* Summing up the communication of a step (traffic.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/traffic.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* The mesh axes that a step runs over; for a step without groups, the axes that the sharding change
 * involves, or that cut the dimension that is shifted or has a halo. */
static void find_axes(struct traffic_row *row, const struct shd_reshard_step *step)
{
    uint32_t changed = 0;

    row->naxes = step->naxes;
    memcpy(row->axis, step->axes, sizeof row->axis);
    if (step->naxes)
        return;
    for (uint32_t d = 0; d < step->from.rank; d++)
        if (memcmp(&step->from.dims[d], &step->to.dims[d], sizeof step->to.dims[d]) != 0)
            for (int side = 0; side < 2; side++) {
                const struct shd_dim_axes *t = side ? &step->to.dims[d] : &step->from.dims[d];

                for (uint8_t a = 0; a < t->naxes; a++)
                    changed |= 1u << t->axes[a];
            }
    for (uint8_t a = 0;
         (step->shift > 0 || step->reach.extent > 0) && a < step->to.dims[step->dim].naxes; a++)
        changed |= 1u << step->to.dims[step->dim].axes[a];
    for (uint8_t a = 0; a < SHD_MESH_AXES_MAX; a++)
        if (changed >> a & 1)
            row->axis[row->naxes++] = a;
}

static char *axes_text(const struct traffic_row *row, const struct program *program)
{
    size_t size = program_axes_print(program, row->axis, row->naxes, NULL, 0) + 1;
    char *text = malloc(size);

    if (text)
        program_axes_print(program, row->axis, row->naxes, text, size);
    return text;
}

/* Between stages, or over the axes of a collective. */
static void set_axes(struct traffic_row *row, const struct program *program,
                     const struct program_op *op)
{
    if (op->kind == PROGRAM_RESHARD) {
        find_axes(row, &op->reshard);
        return;
    }
    if (op->kind == PROGRAM_ROWS) {
        row->naxes = op->rows.naxes;
        memcpy(row->axis, op->rows.axes, sizeof row->axis);
        return;
    }
    row->naxes = 1;
    row->axis[0] = (uint8_t)program->stage_axis;
}

char *traffic_axes(const struct program *program, const struct program_op *op)
{
    struct traffic_row row;

    set_axes(&row, program, op);
    return axes_text(&row, program);
}

/* Whether an op has a row: a transfer is reported by its receive, not by its send. */
static bool is_told(const struct program_op *op)
{
    return program_communicates(op) && op->kind != PROGRAM_SEND;
}

/* Set the number of groups and devices in each: the groups of one rank; a receive has a group of
 * two devices. */
static void set_groups(struct traffic_row *row, const struct program *program,
                       const struct program_op *op)
{
    uint32_t ndevices = (uint32_t)shd_mesh_size(program->mesh) / program->nranks;

    row->group_size = (uint32_t)shd_mesh_size_of_axes(program->mesh, row->axis, row->naxes);
    if (op->kind == PROGRAM_RECV) {
        row->group_size = 2;
        ndevices *= 2;
    }
    row->groups = ndevices / row->group_size;
}

static char *any_layer(const char *where)
{
    struct text t = TEXT_INIT;

    text_add_any_layer(&t, where);
    return text_take(&t);
}

static bool describe(struct traffic_row *row, const struct record *record, uint32_t i)
{
    const struct program *program = record->program;
    const struct program_op *op = &program->ops[i];
    struct coll_shape shape;
    const struct coll_algo *algo = program_algo(program, op, &shape);

    *row =
        (struct traffic_row){.op = program_step_name(op), .phase = op->phase, .count = op->times};
    if (op->kind == PROGRAM_RECV)
        row->op = coll_kind_name(COLL_SEND_RECV);
    set_axes(row, program, op);
    row->axes = axes_text(row, program);
    row->where = any_layer(op->name);
    row->why = any_layer(op->why);
    set_groups(row, program, op);
    row->dtype = program->buffers[op->outputs[0]].dtype;
    row->algorithm = algo ? algo->name : NULL;
    for (uint32_t k = 0; k < op->ninputs; k++)
        row->operand_bytes += program->buffers[op->inputs[k]].bytes;
    if (op->kind == PROGRAM_RECV)
        row->operand_bytes = program->buffers[op->outputs[0]].bytes;
    for (uint32_t k = 0; k < op->noutputs; k++)
        row->result_bytes += program->buffers[op->outputs[k]].bytes;
    row->received_bytes = record_op_received(record, i);
    return row->axes && row->where && row->why;
}

static bool alike(const struct traffic_row *a, const struct traffic_row *b)
{
    return a->op == b->op && !strcmp(a->axes, b->axes) && a->phase == b->phase &&
           a->dtype == b->dtype && a->algorithm == b->algorithm &&
           a->operand_bytes == b->operand_bytes && a->result_bytes == b->result_bytes &&
           !strcmp(a->where, b->where);
}

static void free_row(struct traffic_row *row)
{
    free(row->axes);
    free(row->where);
    free(row->why);
}

static void add_row(struct traffic *t, struct traffic_row *row)
{
    for (size_t r = 0; r < t->nrows; r++)
        if (alike(&t->rows[r], row)) {
            t->rows[r].count += row->count;
            t->rows[r].received_bytes += row->received_bytes;
            free_row(row);
            return;
        }
    t->rows[t->nrows++] = *row;
}

static void add_sum(struct traffic_sum *sums, size_t *n, const char *name, uint128 bytes)
{
    for (size_t i = 0; i < *n; i++)
        if (!strcmp(sums[i].name, name)) {
            sums[i].bytes += bytes;
            return;
        }
    sums[(*n)++] = (struct traffic_sum){name, bytes};
}

static int add_sums(struct traffic *t)
{
    t->by_axis = calloc(t->nrows + 1, sizeof *t->by_axis);
    t->by_op = calloc(t->nrows + 1, sizeof *t->by_op);
    t->by_phase = calloc(t->nrows + 1, sizeof *t->by_phase);
    if (!t->by_axis || !t->by_op || !t->by_phase)
        return SHD_ENOMEM;
    for (size_t r = 0; r < t->nrows; r++) {
        const struct traffic_row *row = &t->rows[r];

        add_sum(t->by_axis, &t->nby_axis, row->axes, row->received_bytes);
        add_sum(t->by_op, &t->nby_op, row->op, row->received_bytes);
        add_sum(t->by_phase, &t->nby_phase, program_phase_name(row->phase), row->received_bytes);
    }
    return SHD_OK;
}

int traffic_init(struct traffic *out, const struct record *record, struct shd_error *err)
{
    const struct program *program = record->program;
    struct traffic t = {.nrows = 0};
    int status = SHD_OK;

    t.rows = calloc((size_t)program->nops + 1, sizeof *t.rows);
    if (!t.rows)
        status = SHD_ENOMEM;
    for (uint32_t i = 0; i < program->nops && status == SHD_OK; i++) {
        struct traffic_row row;

        if (!is_told(&program->ops[i]))
            continue;
        if (describe(&row, record, i)) {
            add_row(&t, &row);
        } else {
            free_row(&row);
            status = SHD_ENOMEM;
        }
    }
    if (status == SHD_OK)
        status = add_sums(&t);
    if (status == SHD_OK) {
        *out = t;
        return SHD_OK;
    }
    traffic_fini(&t);
    return shd_error_set(err, status, "no memory for the report");
}

void traffic_fini(struct traffic *traffic)
{
    for (size_t r = 0; traffic->rows && r < traffic->nrows; r++)
        free_row(&traffic->rows[r]);
    free(traffic->rows);
    free(traffic->by_axis);
    free(traffic->by_op);
    free(traffic->by_phase);
    memset(traffic, 0, sizeof *traffic);
}

void traffic_write_axes(struct json_out *out, const struct traffic_row *row)
{
    json_out_begin_flat_array(out);
    for (const char *name = row->axes; *name;) {
        size_t length = strcspn(name, ",");

        json_out_string_n(out, name, length);
        name += length + (name[length] == ',');
    }
    json_out_end_array(out);
}
