/* The op on compiled programs: the collectives of an XLA module, and the bytes that devices
 * receive.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "capture/hlo.h"
#include "capture/sums.h"
#include "query/limits.h"
#include "query/query.h"
#include "question/read_field.h"

static int read_module(struct capture *out, const json_t *in, struct shd_error *err)
{
    struct hlo_request request = {.devices = 0};
    struct diag diag = DIAG_INIT;
    const char *text;
    int64_t devices, trips;
    int status = read_string(&text, in, "text", NULL, err);

    if (status == SHD_OK)
        status = read_int(&devices, in, "devices", 0, err);
    if (status == SHD_OK)
        status = read_int(&trips, in, "trips", 0, err);
    if (status != SHD_OK)
        return status;
    if (!text)
        return shd_error_set(err, SHD_EINVAL, "expected 'text', the text of a compiled module");
    if (devices < 0 || devices > LIMIT_DEVICES || trips < 0)
        return shd_error_set(err, SHD_ERANGE, "'devices' and 'trips' must be from 1 to %d",
                             LIMIT_DEVICES);
    request.devices = (int32_t)devices;
    request.trips = (uint64_t)trips;
    status = hlo_read(out, "text", text, strlen(text), &request, &diag);
    if (status != SHD_OK)
        status =
            shd_error_set(err, status, "line %d: %s", diag.nmessages ? diag.messages[0].line : 0,
                          diag_first(&diag, "no memory"));
    diag_fini(&diag);
    return status;
}

static void write_counts(struct json_out *out, const struct capture *capture)
{
    json_out_key_object(out, "op_counts");
    for (uint32_t i = 0; i < capture->ncollectives; i++) {
        const char *op = capture->collectives[i].op;
        uint32_t first = 0;

        while (strcmp(capture->collectives[first].op, op) != 0)
            first++;
        if (first == i)
            json_out_key_uint(out, op, sums_count(capture, op));
    }
    json_out_end_object(out);
}

static int write_bytes(struct json_out *out, const struct capture *capture, struct shd_error *err)
{
    uint128 *received = calloc((size_t)capture->ndevices, sizeof *received);
    int status;

    if (!received)
        return shd_error_set(err, SHD_ENOMEM, "no memory for %d devices", capture->ndevices);
    status = sums_by_device(received, capture, err);
    json_out_key_object(out, "received_bytes");
    json_out_key_uint(out, "total", sums_total(capture));
    json_out_key_array(out, "per_device");
    for (int32_t d = 0; d < capture->ndevices; d++)
        json_out_uint(out, received[d]);
    json_out_end_array(out);
    json_out_end_object(out);
    free(received);
    return status;
}

static int answer_hlo(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct capture capture;
    int status;

    capture_init(&capture);
    status = read_module(&capture, in, err);
    if (status == SHD_OK) {
        json_out_begin_object(out);
        write_counts(out, &capture);
        status = write_bytes(out, &capture, err);
        json_out_end_object(out);
    }
    capture_fini(&capture);
    return status;
}

const struct query_op query_replay_ops[] = {
    {.name = "replay.hlo",
     .answer = answer_hlo,
     .about = "Counts the collectives of a compiled XLA module and the bytes that devices receive.",
     .in = QUERY_FIELDS(
         {"text", "text", NULL, "The text of the module, after compilation."},
         {"devices", "whole number", "from the module", "Devices, at most 1024."},
         {"trips", "whole number", "0",
          "Trip count of loops without a known trip count; 0: such a loop is an error."}),
     .gives = "object",
     .out = QUERY_FIELDS({"op_counts", "object", NULL,
                          "Collectives of each kind, those in loops multiplied by the trip count."},
                         {"received_bytes", "object", NULL, "total, and per_device."}),
     .question =
         "{'text': 'HloModule m, num_partitions=2\\n\\nENTRY %main (p: f32[256]) -> f32[512] {\\n  "
         "%p = f32[256]{0} parameter(0)\\n  ROOT %all = f32[512]{0} all-gather(%p), channel_id=1, "
         "replica_groups={{0,1}}, dimensions={0}, use_global_device_ids=true\\n}\\n'}",
     .reply = "'out':{'op_counts':{'all-gather':1},'received_bytes':{'total':2048,'per_device':["
              "1024,1024]}}"},
    {.name = NULL}};
