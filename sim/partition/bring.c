/* bring.c - how a reader gets a value: the steps from one of its versions to the sharding and the
 * stage where it is needed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>

#include <shd/reshard.h>

#include "partition/versions.h"

/* ---- steps ---- */

static int emit_step(struct emit *e, uint32_t node, const struct shd_reshard_step *step,
                     struct spot spot, const char *asker, uint32_t *buffer)
{
    struct program_op op = emit_op_at(PROGRAM_RESHARD, asker, spot);
    uint32_t sharding = price_number(e->placement->price, &step->to);
    int status;

    op.ninputs = op.noutputs = 1;
    op.inputs[0] = *buffer;
    op.why = emit_why(e, node, step, asker);
    op.reshard = *step;
    status = emit_add_version(e, node, sharding, spot, &op.outputs[0]);
    if (status != SHD_OK)
        return status;
    program_make_step_room(e->program, &op);
    *buffer = op.outputs[0];
    return program_add_op(e->program, &op, e->err);
}

static bool is_param(const struct emit *e, uint32_t node)
{
    return e->graph->nodes[node].op == GRAPH_PARAM;
}

/* Whether a gathered copy of a node's array is freed after the phase that gathered it.  Ids and
 * slots are kept: they are few bytes beside the rows they index. */
static bool is_gathered_again(const struct emit *e, uint32_t node)
{
    const struct partition_request *r = e->placement->request;
    enum partition_gathered asked = is_param(e, node) ? r->params : partition_values(r);

    if (e->graph->nodes[node].dtype == SHD_I32)
        return false;
    return asked == PARTITION_AGAIN || (asked == PARTITION_KEPT_IF_FITS && e->opts.short_of_memory);
}

/* Whether a version belongs to another phase than its reader, or to the start of the step.  A
 * parameter gathered for recomputed values is kept for their gradients: FSDP frees it after both.
 * A value gathered for a recomputed product is freed, and gathered again for the product's
 * gradient. */
static bool is_of_other_phase(const struct emit *e, const struct version *v, struct spot spot)
{
    return v->phase != spot.phase || (!is_param(e, v->node) && v->again != spot.again) ||
           (v->part == PROGRAM_START && spot.part != PROGRAM_START);
}

/* Whether `sharding` results from gathering `home` over some of its axes. */
static bool is_gathered_from(const struct shd_sharding *sharding, const struct shd_sharding *home)
{
    uint32_t axes = shd_sharding_axes(sharding), of = shd_sharding_axes(home);

    return !home->partial && axes != of && (axes & ~of) == 0;
}

/* Whether a value is its operand, resharded as a constraint asks. */
static bool is_asked(const struct emit *e, uint32_t node)
{
    return e->graph->nodes[node].op == GRAPH_CONSTRAINT && e->placement->nodes[node].fixed;
}

/* The sharding that a value's maker gave it, before constraints resharded it.  If only one value's
 * steps are emitted, the value's home. */
static const struct shd_sharding *made_as(const struct emit *e, uint32_t node)
{
    while (e->only == GRAPH_NONE && is_asked(e, node))
        node = e->graph->nodes[node].inputs[0];
    return price_sharding(e->placement->price, e->placement->nodes[node].home);
}

static void keep_inner(struct shd_dim_axes *out, const struct shd_dim_axes *axes, uint32_t outer)
{
    for (uint8_t a = 0; a < axes->naxes; a++)
        if (!(outer >> axes->axes[a] & 1))
            out->axes[out->naxes++] = axes->axes[a];
}

/* The sharding in which a parameter is kept among neighbours (sharded over the inner axes only);
 * PLACEMENT_UNKNOWN: none. */
static uint32_t number_among_neighbours(const struct emit *e, uint32_t node)
{
    const struct shd_sharding *home =
        price_sharding(e->placement->price, e->placement->nodes[node].home);
    struct shd_sharding s;

    if (!is_param(e, node) || !is_gathered_again(e, node) ||
        !(shd_sharding_axes(home) & e->opts.outer_axes))
        return PLACEMENT_UNKNOWN;
    shd_sharding_init(&s, home->mesh, home->rank);
    for (uint32_t d = 0; d < s.rank; d++)
        keep_inner(&s.dims[d], &home->dims[d], e->opts.outer_axes);
    keep_inner(&s.flat, &home->flat, e->opts.outer_axes);
    s.flat_dims = s.flat.naxes > 0 ? home->flat_dims : 0;
    return price_number(e->placement->price, &s);
}

/* Whether a version is a gathered copy of an earlier phase, which is gathered again instead of
 * kept. */
static bool forgotten(const struct emit *e, const struct version *v, struct spot spot)
{
    const struct price *price = e->placement->price;
    const struct shd_sharding *is = price_sharding(price, v->sharding);

    return is_gathered_again(e, v->node) && is_of_other_phase(e, v, spot) &&
           v->sharding != number_among_neighbours(e, v->node) &&
           (is_gathered_from(is, price_sharding(price, e->placement->nodes[v->node].home)) ||
            is_gathered_from(is, made_as(e, v->node)));
}

/* Whether a version belongs to one microbatch, and the reader to the update: the update reads
 * arguments of the step, and the sums over microbatches. */
static bool is_past(const struct emit *e, const struct version *v, struct spot spot)
{
    const struct program_buffer *b = &e->program->buffers[v->buffer];
    const struct graph_node *made = &e->graph->nodes[v->node];

    if (e->graph->microbatches == 1 || spot.phase != GRAPH_OPTIMIZER)
        return false;
    return v->phase != GRAPH_OPTIMIZER && !b->argument &&
           !(made->op == GRAPH_ACCUMULATE && v->next == PROGRAM_NONE);
}

/* Whether a reader at a spot can use a version: same stage, and made before. */
static bool is_there(const struct emit *e, const struct version *v, struct spot spot)
{
    return v->stage == spot.stage && !forgotten(e, v, spot) && !is_past(e, v, spot) &&
           !(v->part == PROGRAM_WEIGHTS && spot.part == PROGRAM_BACKWARD);
}

const struct version *emit_cheapest(const struct emit *e, uint32_t node, uint32_t need,
                                    struct spot spot)
{
    const struct version *from = NULL;
    double best = PRICE_IMPOSSIBLE;

    for (uint32_t v = e->newest[node - e->first]; v != PROGRAM_NONE; v = e->versions[v].next) {
        double cost = price_reshard(e->placement->price, node, e->versions[v].sharding, need);

        if (!is_there(e, &e->versions[v], spot))
            continue;
        if (cost <= best) { /* of equals the oldest, as the search counts */
            best = cost;
            from = &e->versions[v];
        }
    }
    return from;
}

static int plan_steps(struct shd_reshard_plan *plan, const struct emit *e, uint32_t node,
                      uint32_t from, uint32_t need)
{
    struct shd_error why;
    int status = price_plan(plan, e->placement->price, node, from, need, &why);

    return status == SHD_OK ? SHD_OK
                            : shd_error_set(e->err, status, "'%.100s': %.140s",
                                            e->graph->nodes[node].name, why.text);
}

/* ---- between stages ---- */

/* Number of steps to take before a value is sent to another stage: sent where its shards are
 * smallest. */
static size_t steps_before_send(const struct emit *e, uint32_t node,
                                const struct shd_reshard_plan *plan)
{
    int64_t shape[GRAPH_RANK_MAX], local[GRAPH_RANK_MAX];
    uint32_t rank = e->graph->nodes[node].rank;
    double least = INFINITY;
    size_t best = 0;

    graph_shape(e->graph, node, shape);
    for (size_t s = 0; s <= plan->nsteps && plan->nsteps > 0; s++) {
        const struct shd_sharding *at = s == 0 ? &plan->steps[0].from : &plan->steps[s - 1].to;
        double elements = 1;

        shd_sharding_shard_shape(at, shape, local);
        for (uint32_t d = 0; d < rank; d++)
            elements *= (double)local[d];
        if (elements <= least) {
            least = elements;
            best = s;
        }
    }
    return best;
}

/* Where a value's stage sends it to a reader's: as soon as it is made; an argument that all
 * microbatches read, once, before the first microbatch. */
static struct spot spot_of_send(const struct emit *e, const struct version *from,
                                struct spot reader)
{
    struct spot spot = {from->phase, from->part, false, from->stage};

    if (reader.phase == GRAPH_OPTIMIZER)
        spot = (struct spot){reader.phase, reader.part, false, from->stage};
    else if (e->program->buffers[from->buffer].argument)
        spot.part = PROGRAM_START;
    return spot;
}

/* Why a value is sent.  A neighbour is named by direction, so that layers of all stages have equal
 * reasons. */
static const char *why_sent(struct emit *e, const char *name, struct spot from, struct spot to,
                            const char *asker)
{
    if (to.stage == from.stage + 1)
        return program_text(e->program, "the next stage's %s needs %s", asker, name);
    if (to.stage + 1 == from.stage)
        return program_text(e->program, "%s of the stage before needs %s", asker, name);
    return program_text(e->program, "%s of stage %u needs %s of stage %u", asker, to.stage, name,
                        from.stage);
}

static int emit_send(struct emit *e, uint32_t node, uint32_t buffer, struct spot from,
                     struct spot to, const char *asker)
{
    const char *name = e->graph->nodes[node].name;
    struct program_op send = emit_op_at(PROGRAM_SEND, asker, from);
    struct program_op recv = emit_op_at(PROGRAM_RECV, asker, to);
    uint32_t sharding = price_number(e->placement->price, &e->program->buffers[buffer].sharding);
    int status;

    send.ninputs = recv.noutputs = 1;
    send.inputs[0] = buffer;
    send.why = recv.why = why_sent(e, name, from, to, asker);
    send.channel = recv.channel = e->program->nchannels++;
    status = emit_add_version(e, node, sharding, to, &recv.outputs[0]);
    if (status == SHD_OK)
        status = program_add_op(e->program, &send, e->err);
    return status == SHD_OK ? program_add_op(e->program, &recv, e->err) : status;
}

static bool comes_too_late(struct spot send, struct spot reader)
{
    if (send.part != reader.part)
        return send.part > reader.part;
    return send.part == PROGRAM_FORWARD
               ? send.stage > reader.stage
               : send.part == PROGRAM_BACKWARD && send.stage < reader.stage;
}

/* Send a value from its stage to the reader's stage. */
static int cross(struct emit *e, uint32_t node, uint32_t need, struct spot reader,
                 const char *asker)
{
    struct spot at = reader, send;
    const struct version *from;
    struct shd_reshard_plan plan;
    uint32_t buffer;
    size_t n;
    int status;

    at.stage = emit_stage_of(e, node);
    from = emit_cheapest(e, node, need, at);
    if (!from)
        return shd_error_set(e->err, SHD_EUNSUPPORTED,
                             "pipeline: stage %u needs '%.100s', which no stage before it has",
                             reader.stage, e->graph->nodes[node].name);
    status = plan_steps(&plan, e, node, from->sharding, need);
    if (status != SHD_OK)
        return status;
    send = spot_of_send(e, from, reader);
    if (comes_too_late(send, reader))
        return shd_error_set(e->err, SHD_EUNSUPPORTED,
                             "pipeline: stage %u needs '%.100s' before stage %u has made it",
                             reader.stage, e->graph->nodes[node].name, send.stage);
    if (send.part == PROGRAM_START)
        reader.part = PROGRAM_START;
    buffer = from->buffer;
    n = steps_before_send(e, node, &plan);
    for (size_t s = 0; s < n && status == SHD_OK; s++)
        status = emit_step(e, node, &plan.steps[s], send, asker, &buffer);
    return status == SHD_OK ? emit_send(e, node, buffer, send, reader, asker) : status;
}

bool emit_is_filled_anew(const struct emit *e, uint32_t node)
{
    const struct graph_node *n = &e->graph->nodes[node];

    return e->program->nstages > 1 && n->op == GRAPH_INPUT && kern_source_changes(&n->source);
}

bool emit_is_known_everywhere(const struct emit *e, uint32_t node)
{
    return e->graph->nodes[node].op == GRAPH_INPUT && e->graph->nodes[node].source.sight;
}

int emit_fill(struct emit *e, uint32_t node, uint32_t sharding, struct spot spot)
{
    struct program_op op = emit_op_at(PROGRAM_FILL, e->graph->nodes[node].name, spot);
    int status;

    op.noutputs = 1;
    op.source = e->graph->nodes[node].source;
    status = emit_add_version(e, node, sharding, spot, &op.outputs[0]);
    if (status != SHD_OK)
        return status;
    e->program->buffers[op.outputs[0]].argument = spot.part == PROGRAM_ARGUMENTS;
    return program_add_op(e->program, &op, e->err);
}

/* Make a version of a value available in the reader's stage. */
static int come_to_stage(struct emit *e, uint32_t node, uint32_t need, struct spot reader,
                         const char *asker)
{
    const struct version *from = emit_cheapest(e, node, need, reader);

    if (emit_is_known_everywhere(e, node) && !(from && from->sharding == need))
        return emit_fill(e, node, need, reader);
    if (from)
        return SHD_OK;
    if (emit_is_filled_anew(e, node))
        return emit_fill(e, node, e->placement->nodes[node].home, reader);
    return cross(e, node, need, reader, asker);
}

/* Emit the steps from a version to a sharding; *buffer becomes the buffer of the result. */
static int emit_plan(struct emit *e, uint32_t node, const struct version *from, uint32_t need,
                     struct spot spot, const char *asker, uint32_t *buffer)
{
    struct shd_reshard_plan plan;
    int status;

    *buffer = from->buffer;
    if (from->sharding == need)
        return SHD_OK;
    status = plan_steps(&plan, e, node, from->sharding, need);
    for (size_t s = 0; status == SHD_OK && s < plan.nsteps; s++)
        status = emit_step(e, node, &plan.steps[s], spot, asker, buffer);
    return status;
}

/* ---- parameters ---- */

/* The spot in the reader's stage before the first microbatch, once a step. */
static struct spot start_of(struct spot reader)
{
    return (struct spot){GRAPH_FORWARD, PROGRAM_START, false, reader.stage};
}

/* Whether a parameter in a pipeline is gathered once a step: one gathered copy then serves all
 * microbatches, instead of one copy for each microbatch in flight. */
static bool is_gathered_once(const struct emit *e, uint32_t node, struct spot reader)
{
    return is_param(e, node) && e->program->nstages > 1 && reader.phase != GRAPH_OPTIMIZER &&
           !is_gathered_again(e, node);
}

/* Whether a parameter is to be kept sharded among neighbours, and no such version exists yet. */
static bool lacks_neighbours(const struct emit *e, uint32_t node, struct spot reader)
{
    uint32_t held = number_among_neighbours(e, node);
    const struct version *from;

    if (held == PLACEMENT_UNKNOWN || reader.phase != GRAPH_FORWARD)
        return false;
    from = emit_cheapest(e, node, held, reader);
    return from && from->sharding != held;
}

/* Make the version of a parameter that is sharded among neighbours, a part of the gathered copy. */
static int bring_to_neighbours(struct emit *e, uint32_t node, struct spot spot, const char *asker)
{
    uint32_t buffer, held = number_among_neighbours(e, node);

    return emit_plan(e, node, emit_cheapest(e, node, held, spot), held, spot, asker, &buffer);
}

/* ---- operands ---- */

/* Whether a constraint's resharded value was made for another phase only, so that it must be made
 * again. */
static bool is_to_ask_again(const struct emit *e, uint32_t node, uint32_t need, struct spot reader)
{
    return is_asked(e, node) && emit_stage_of(e, node) == reader.stage &&
           !emit_cheapest(e, node, need, reader);
}

/* Reshard from the cheapest version in the spot's stage.  After a parameter is gathered, keep the
 * neighbours' part of it. */
static int bring_to_spot(struct emit *e, uint32_t node, uint32_t need, struct spot spot,
                         const char *asker, uint32_t *buffer)
{
    int status = emit_plan(e, node, emit_cheapest(e, node, need, spot), need, spot, asker, buffer);

    return status == SHD_OK && lacks_neighbours(e, node, spot)
               ? bring_to_neighbours(e, node, spot, asker)
               : status;
}

/* As bring_to_spot(), for a reader in the same stage.  In a pipeline, neighbours hold their parts
 * of a parameter from the start of the step. */
static int bring_in_stage(struct emit *e, uint32_t node, uint32_t need, struct spot reader,
                          const char *asker, uint32_t *buffer)
{
    int status = SHD_OK;

    if (is_gathered_once(e, node, reader))
        return bring_to_spot(e, node, need, start_of(reader), asker, buffer);
    if (e->program->nstages > 1 && lacks_neighbours(e, node, reader))
        status = bring_to_spot(e, node, need, start_of(reader), asker, buffer);
    return status == SHD_OK ? bring_to_spot(e, node, need, reader, asker, buffer) : status;
}

int emit_bring(struct emit *e, uint32_t node, uint32_t need, struct spot reader, const char *asker,
               uint32_t *buffer)
{
    uint32_t home = e->placement->nodes[node].home;
    int status;

    if (is_to_ask_again(e, node, need, reader)) {
        status = emit_bring(e, e->graph->nodes[node].inputs[0], home, reader, asker, buffer);
        if (status == SHD_OK)
            emit_keep_version(e, node, home, *buffer, reader);
    } else {
        status = come_to_stage(e, node, need, reader, asker);
    }
    return status == SHD_OK ? bring_in_stage(e, node, need, reader, asker, buffer) : status;
}
