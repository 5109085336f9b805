/* Bytes from device to device (matrix.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/matrix.h"

#include <stdlib.h>
#include <string.h>

#include "base/json_out.h"
#include "base/units.h"
#include "cost/plan.h"
#include "draw/layouts.h"
#include "report/class_traffic.h"

static int draw_devices(struct figure *figure, const struct record *record, struct shd_error *err)
{
    bool planned = record->mode == RECORD_PLANNED;
    uint128 *own = planned ? plan_matrix(record->program) : NULL;
    const uint128 *matrix = planned ? own : record->matrix;
    int status;

    if (matrix)
        status = layouts_matrix(figure, record->program->asked_mesh, matrix, err);
    else
        status = shd_error_set(err, SHD_ENOMEM, "no memory for the matrix");
    free(own);
    figure_add_note(figure, "A row is a receiver, a column a sender; K is 1024 bytes.");
    return status;
}

/* With many devices: bytes that a device of each class receives, by the axes along which the
 * senders lie. */
static int draw_classes(struct figure *figure, const struct record *record, struct shd_error *err)
{
    struct class_traffic t;
    struct layouts_table table;
    int status = class_traffic_init(&t, record, err);

    if (status != SHD_OK)
        return status;
    table = (struct layouts_table){
        "to a device of", "from those along", t.nclasses, t.naxes, t.classes, t.axes, t.bytes};
    status = layouts_bytes(figure, &table, err);
    class_traffic_fini(&t);
    figure_add_note(figure, "A row is a class of devices with equal traffic, a column the mesh "
                            "axes of the senders: bytes to one device.");
    return status;
}

static void write_rows(struct json_out *out, const uint128 *matrix, size_t ndevices)
{
    json_out_key_array(out, "received_bytes");
    for (size_t to = 0; to < ndevices; to++) {
        json_out_begin_flat_array(out);
        for (size_t from = 0; from < ndevices; from++)
            json_out_uint(out, matrix[to * ndevices + from]);
        json_out_end_array(out);
    }
    json_out_end_array(out);
}

int matrix_drawing(struct figure *figure, const struct record *record, const char *scenario,
                   const char *strategy, struct shd_error *err)
{
    bool many = record->ndevices > LAYOUTS_MATRIX_MAX, planned = record->mode == RECORD_PLANNED;
    bool only = !strcmp(strategy, "default");

    figure->title = figure_print(
        figure, "%s%s%s: bytes from device to device in a step, %s in total, %s", scenario,
        only ? "" : ": ", only ? "" : strategy, units_print_bytes(record_received(record)).text,
        planned ? "planned" : "executed");
    if (many && !planned)
        return shd_error_set(err, SHD_ERANGE,
                             "a matrix of copied bytes has at most %d devices; the planned step is "
                             "drawn by classes of devices",
                             LAYOUTS_MATRIX_MAX);
    return (many ? draw_classes : draw_devices)(figure, record, err);
}

int matrix_json(struct text *text, const struct record *record, const char *scenario,
                const char *strategy, struct shd_error *err)
{
    bool planned = record->mode == RECORD_PLANNED;
    struct json_out out;
    uint128 *own;

    if (record->ndevices > LAYOUTS_MATRIX_MAX)
        return shd_error_set(err, SHD_ERANGE,
                             "%zu devices are too many for a matrix; --json has at most %d",
                             (size_t)record->ndevices, LAYOUTS_MATRIX_MAX);
    own = planned ? plan_matrix(record->program) : NULL;
    if (planned && !own)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the matrix");
    json_out_init_text(&out, text, JSON_OUT_PRETTY);
    json_out_begin_object(&out);
    json_out_key_string(&out, "schema", "shardsim.matrix/1");
    json_out_key_string(&out, "scenario", scenario);
    json_out_key_string(&out, "strategy", strategy);
    json_out_key_string(&out, "mode", planned ? "plan" : "execute");
    write_rows(&out, planned ? own : record->matrix, record->ndevices);
    json_out_end_object(&out);
    free(own);
    json_out_newline(&out);
    text->failed |= json_out_fini(&out) != SHD_OK;
    return SHD_OK;
}
