/* links_json.c - a collective on the links of a cluster, as JSON (links.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/explain/links.h"

static void write_part(const struct links_question *q, const struct hardware_part *part,
                       struct json_out *out)
{
    json_out_begin_object(out);
    json_out_key_string(out, "tier", q->hardware->tiers[part->tier].name);
    json_out_key_int(out, "members", part->members);
    json_out_key_double(out, "bytes", part->bytes);
    json_out_key_double(out, "bytes_per_second", part->bytes_per_s);
    json_out_key_double(out, "steps", part->steps);
    json_out_key_double(out, "start_seconds", part->start_s);
    json_out_key_double(out, "latency_seconds", part->latency_s);
    json_out_key_double(out, "bandwidth_seconds", part->bandwidth_s);
    json_out_key_double(out, "copy_seconds", part->copy_s);
    json_out_key_double(out, "seconds", part->seconds);
    json_out_end_object(out);
}

static void write_slice(const struct hardware_tier *tier, struct json_out *out)
{
    json_out_key_flat_array(out, "slice");
    for (int d = 0; d < tier->ndims; d++)
        json_out_int(out, tier->dims[d]);
    json_out_end_array(out);
    json_out_key_flat_array(out, "wrap");
    for (int d = 0; d < tier->ndims; d++)
        json_out_bool(out, tier->wrap[d]);
    json_out_end_array(out);
}

void links_json(const struct links_answer *a, const struct links_question *q, struct json_out *out)
{
    static const char *const schedules[] = {[HARDWARE_ALONE] = "alone",
                                            [HARDWARE_RING] = "ring",
                                            [HARDWARE_LEVELS] = "levels",
                                            [HARDWARE_TREE] = "tree",
                                            [HARDWARE_DIRECT] = "direct",
                                            [HARDWARE_MEASURED] = "measured"};

    json_out_begin_object(out);
    json_out_key_string(out, "hardware", q->hardware->name);
    json_out_key_string(out, "op", coll_kind_name(q->kind));
    json_out_key_int(out, "members", a->group.members);
    json_out_key_double(out, "operand_bytes", q->operand_bytes);
    json_out_key_double(out, "array_bytes", a->array_bytes);
    if (q->hardware->tiers[0].torus)
        write_slice(&q->hardware->tiers[0], out);
    json_out_key_string(out, "schedule", schedules[a->collective.schedule]);
    json_out_key_bool(out, "small_protocol", a->collective.small);
    json_out_key_array(out, "tiers");
    for (int p = 0; p < a->collective.nparts; p++)
        write_part(q, &a->collective.parts[p], out);
    json_out_end_array(out);
    json_out_key_double(out, "host_seconds", a->collective.host_s);
    json_out_key_double(out, "latency_seconds", a->latency_s);
    json_out_key_double(out, "bandwidth_seconds", a->bandwidth_s);
    json_out_key_double(out, "seconds", a->collective.seconds);
    json_out_key_string(out, "bound", a->bound);
    json_out_key_double(out, "algorithm_bytes_per_second", a->algorithm_bytes_per_s);
    json_out_key_double(out, "bus_bytes_per_second", a->bus_bytes_per_s);
    json_out_key_double(out, "equal_operand_bytes", a->equal_operand_bytes);
    if (a->long_ring_s > 0 && a->collective.nparts == 1)
        json_out_key_double(out, "long_ring_seconds", a->long_ring_s);
    json_out_end_object(out);
}
