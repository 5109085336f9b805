/* roofline_json.c - the time of each op of a plan on its cluster, as JSON (roofline.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/explain/roofline.h"
#include "cmd/explain/roofline_table.h"

#define SCHEMA 1

static int write_name(struct json_out *out, const struct program_op *op, struct shd_error *err)
{
    struct text name = TEXT_INIT;
    int status = SHD_OK;

    roofline_add_name(&name, op);
    if (name.failed)
        status = shd_error_set(err, SHD_ENOMEM, "no memory for the name of an op");
    else
        json_out_key_string(out, "name", text_get(&name));
    text_fini(&name);
    return status;
}

/* Bytes that a device receives in a collective, or reads and writes in a computation. */
static double bytes_of(const struct roofline_table *t, const struct roofline_line *line,
                       int32_t position)
{
    const struct program_op *op = &t->seconds.program->ops[line->op];

    return program_communicates(op)
               ? (double)program_moved(t->seconds.program, op, position).received
               : line->work.bytes;
}

/* Seconds, flops and bytes are of one execution of one op; the share is of all `times` executions
 * of ops of this line. */
static int write_line(struct json_out *out, const struct roofline_table *t,
                      const struct roofline_line *line, int32_t position, struct shd_error *err)
{
    const struct program_op *op = &t->seconds.program->ops[line->op];
    double all = t->all_s;
    int status;

    json_out_begin_object(out);
    status = write_name(out, op, err);
    if (status != SHD_OK)
        return status;
    json_out_key_string(out, "kind", program_step_name(op));
    json_out_key_string(out, "phase", program_phase_name(op->phase));
    json_out_key_bool(out, "again", op->again);
    json_out_key_uint(out, "times", line->times);
    json_out_key_double(out, "flops", line->work.flops);
    json_out_key_double(out, "bytes", bytes_of(t, line, position));
    json_out_key_double(out, "seconds", line->seconds);
    json_out_key_double(out, "share", all > 0 ? roofline_line_seconds(line) / all : 0);
    json_out_key_string(out, "bound_by", roofline_line_bound(t, line, position));
    json_out_end_object(out);
    return SHD_OK;
}

int roofline_json(const struct program *program, const struct hardware *hardware, int32_t position,
                  struct json_out *out, struct shd_error *err)
{
    struct roofline_table t;
    int status = roofline_table_init(&t, program, hardware, position, err);

    if (status != SHD_OK)
        return status;
    json_out_begin_object(out);
    json_out_key_int(out, "schema", SCHEMA);
    json_out_key_string(out, "hardware", hardware->name);
    json_out_key_int(out, "device", position);
    json_out_key_double(out, "all_seconds", t.all_s);
    json_out_key_array(out, "ops");
    for (uint32_t k = 0; k < t.nlines && status == SHD_OK; k++)
        status = write_line(out, &t, &t.lines[k], position, err);
    roofline_table_fini(&t);
    if (status != SHD_OK)
        return status;
    json_out_end_array(out);
    json_out_end_object(out);
    json_out_newline(out);
    return SHD_OK;
}
