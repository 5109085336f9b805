/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "search/hops.h"

#include <stdlib.h>
#include <string.h>

struct reading {
    const struct op_seconds *seconds;
    const struct program *program;
    double slower; /* slowdown of the slowest node */
    enum program_part part;
    bool *waits; /* [buffer] is, or is made of, a message from another stage */
};

/* The axes over which a message may be scattered, by name: ranks of the pipeline hold different
 * arrays, and so do replicas in a piece whose mesh has no axis for them. */
static uint32_t axes_along(const struct program *program)
{
    static const char *const names[] = {"tp", "cp", "ep", "dp", "shard"};
    uint32_t along = 0;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        int axis = shd_mesh_find_axis(program->mesh, names[i]);

        along |= axis < 0 ? 0 : UINT32_C(1) << axis;
    }
    return along;
}

/* Time of an array's message over each tier: from the first device to the first device outside its
 * domain of the tier inside. */
static void add_message(struct hop *hop, const struct reading *r, uint32_t buffer)
{
    const struct hardware *hardware = r->seconds->hardware;

    for (int t = 0; t < hardware->ntiers; t++) {
        double seconds =
            op_seconds_message(r->seconds, 0, t == 0 ? 1 : hardware->tiers[t - 1].devices, buffer,
                               axes_along(r->program));

        if (seconds > hop->message_s[t])
            hop->message_s[t] = seconds;
    }
}

static bool is_of(const struct reading *r, const struct program_op *op, uint32_t stage)
{
    return op->part == r->part && op->stage == stage && op->kind != PROGRAM_FILL;
}

/* Times of a stage's messages; of several messages the longest counts. */
static void read_messages(struct hop *hop, const struct reading *r, uint32_t stage)
{
    for (uint32_t i = r->program->first_op; i < r->program->nops; i++) {
        const struct program_op *op = &r->program->ops[i];

        if (is_of(r, op, stage) && op->kind == PROGRAM_RECV)
            add_message(hop, r, op->outputs[0]);
    }
}

static bool must_wait(const struct reading *r, const struct program_op *op)
{
    for (uint32_t k = 0; k < op->ninputs; k++)
        if (r->waits[op->inputs[k]])
            return true;
    return op->kind == PROGRAM_RECV;
}

/* Seconds of computations and transfers of a stage before its first computation that must wait. */
static double free_seconds(const struct reading *r, uint32_t stage)
{
    double seconds = 0;

    memset(r->waits, 0, r->program->nbuffers * sizeof *r->waits);
    for (uint32_t i = r->program->first_op; i < r->program->nops; i++) {
        const struct program_op *op = &r->program->ops[i];

        if (!is_of(r, op, stage))
            continue;
        if (must_wait(r, op)) {
            if (!program_communicates(op))
                return seconds;
            for (uint32_t k = 0; k < op->noutputs; k++)
                r->waits[op->outputs[k]] = true;
        } else if (!program_communicates(op) || op->kind == PROGRAM_RESHARD ||
                   op->kind == PROGRAM_ROWS) {
            seconds += op_seconds_of(r->seconds, i, 0) * r->slower;
        }
    }
    return seconds;
}

/* Seconds of a stage's ops after its last send. */
static double late_seconds(const struct reading *r, uint32_t stage)
{
    double seconds = 0;
    bool sent = false;

    for (uint32_t i = r->program->first_op; i < r->program->nops; i++) {
        const struct program_op *op = &r->program->ops[i];

        if (!is_of(r, op, stage))
            continue;
        if (op->kind == PROGRAM_SEND) {
            sent = true;
            seconds = 0;
        } else if (sent && op->kind != PROGRAM_RECV) {
            seconds += op_seconds_of(r->seconds, i, 0) * r->slower;
        }
    }
    return seconds;
}

static double above(double whole, double part)
{
    return whole > part ? whole - part : 0;
}

static void read_hop(struct hop *hop, const struct reading *r)
{
    *hop = (struct hop){.free_s = free_seconds(r, 1), .late_s = late_seconds(r, 1)};
    hop->free_layer_s = above(free_seconds(r, 2), hop->free_s);
    hop->late_layer_s = above(late_seconds(r, 2), hop->late_s);
    read_messages(hop, r, 2);
}

int hops_read(struct hop hops[HOP_NWAYS], const struct op_seconds *seconds, double slower,
              struct shd_error *err)
{
    struct reading r = {.seconds = seconds, .program = seconds->program, .slower = slower};

    r.waits = calloc((size_t)r.program->nbuffers + 1, sizeof *r.waits);
    if (!r.waits)
        return shd_error_set(err, SHD_ENOMEM, "no memory to read a piece");
    for (int way = 0; way < HOP_NWAYS; way++) {
        r.part = way == HOP_FORWARD ? PROGRAM_FORWARD : PROGRAM_BACKWARD;
        read_hop(&hops[way], &r);
    }
    free(r.waits);
    return SHD_OK;
}

void hops_read_update(double message_s[HARDWARE_TIERS_MAX], const struct op_seconds *seconds)
{
    const struct reading r = {
        .seconds = seconds, .program = seconds->program, .part = PROGRAM_UPDATE};
    struct hop hop = {.free_s = 0};

    read_messages(&hop, &r, 0);
    memcpy(message_s, hop.message_s, sizeof hop.message_s);
}
