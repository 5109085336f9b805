/* Communication of a program as an answer (moves.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "query/moves.h"

#include "cost/plan.h"
#include "query/limits.h"
#include "report/traffic.h"
#include "run/walk/walk.h"

static void write_collectives(struct json_out *out, const struct traffic *t)
{
    json_out_key_array(out, "collectives");
    for (size_t r = 0; r < t->nrows; r++) {
        const struct traffic_row *row = &t->rows[r];

        json_out_begin_object(out);
        json_out_key_string(out, "op", row->op);
        json_out_key(out, "axes");
        traffic_write_axes(out, row);
        json_out_key_uint(out, "count", row->count);
        json_out_key_uint(out, "received_bytes", row->received_bytes);
        json_out_key_string(out, "where", row->where);
        json_out_key_string(out, "why", row->why);
        json_out_end_object(out);
    }
    json_out_end_array(out);
}

static int write_planned(struct json_out *out, const struct record *planned, struct shd_error *err)
{
    struct traffic traffic;
    int status = traffic_init(&traffic, planned, err);

    if (status != SHD_OK)
        return status;
    json_out_key_object(out, "received_bytes");
    json_out_key_uint(out, "total", record_received(planned));
    json_out_key_array(out, "per_device");
    for (int32_t d = 0; d < planned->ndevices; d++)
        json_out_uint(out, planned->received_bytes[record_row_of(planned, d)]);
    json_out_end_array(out);
    json_out_end_object(out);
    write_collectives(out, &traffic);
    traffic_fini(&traffic);
    return SHD_OK;
}

int moves_write(struct json_out *out, const struct program *program, struct shd_error *err)
{
    struct walk_opts opts = {.nthreads = 1};
    struct record *planned = NULL, *executed = NULL;
    int status = limits_check(program, 1, false, err);

    if (status == SHD_OK)
        status = plan_create(&planned, program, err);

    if (status == SHD_OK)
        status = record_create(&executed, program, RECORD_EXECUTED, false, err);
    if (status == SHD_OK)
        status = write_planned(out, planned, err);
    if (status == SHD_OK)
        status = walk_run(executed, &opts, err);
    if (status == SHD_OK)
        json_out_key_uint(out, "executed_received_bytes", record_received(executed));
    record_destroy(planned);
    record_destroy(executed);
    return status;
}
