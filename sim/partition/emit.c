/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/emit.h"

#include <shd/reshard.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition/fuse.h"
#include "program/rows.h"

/* A version of a value: the value in one sharding, as a buffer of the program. */
struct version {
    uint32_t node;
    uint32_t sharding; /* sharding number */
    uint32_t buffer;
    uint8_t phase; /* phase that made the version */
    uint8_t part;
    bool again;     /* made by a recomputed op of the forward phase */
    uint32_t stage; /* stage that holds the version */
    uint32_t next;  /* older version of the same node, or PROGRAM_NONE */
};

/* Place of an op in a step: phase, part and stage. */
struct spot {
    uint8_t phase, part;
    bool again; /* a recomputed op of the forward phase */
    uint32_t stage;
};

struct emit {
    struct program *program;
    struct placement *placement;
    const struct graph *graph;
    struct version *versions;
    uint32_t nversions, room;
    uint32_t *newest; /* by node, from `first` on */
    uint32_t first;
    uint32_t only;       /* emit only this value's steps; GRAPH_NONE: emit everything */
    const bool *inlined; /* by node: computed inside its reader */
    struct emit_opts opts;
    struct shd_error *err;
};

/* Without a schedule there is one stage. */
static uint32_t stage_of(const struct emit *e, uint32_t node)
{
    return e->program && e->program->nstages > 1 ? e->graph->nodes[node].stage : 0;
}

static struct spot spot_of(const struct emit *e, uint32_t node)
{
    const struct graph_node *n = &e->graph->nodes[node];
    enum program_part part =
        e->opts.splits && n->weights ? PROGRAM_WEIGHTS : program_part_of_phase((uint8_t)n->phase);

    return (struct spot){(uint8_t)n->phase, (uint8_t)part, n->again, stage_of(e, node)};
}

/* An op of a kind and name at a spot. */
static struct program_op op_at(enum program_op_kind kind, const char *name, struct spot spot)
{
    return (struct program_op){.kind = kind,
                               .name = name,
                               .phase = spot.phase,
                               .part = spot.part,
                               .again = spot.again,
                               .stage = spot.stage};
}

static int keep_version(struct emit *e, uint32_t node, uint32_t sharding, uint32_t buffer,
                        struct spot spot)
{
    if (e->nversions == e->room) {
        uint32_t room = e->room ? 2 * e->room : 64;
        struct version *more = realloc(e->versions, room * sizeof *more);

        if (!more)
            return shd_error_set(e->err, SHD_ENOMEM, "no memory for the program");
        e->versions = more;
        e->room = room;
    }
    e->versions[e->nversions] = (struct version){
        node,       sharding,   buffer, spot.phase, spot.part, spot.again,
        spot.stage, e->newest[node - e->first]};
    e->newest[node - e->first] = e->nversions++;
    return SHD_OK;
}

/* Use of an array that the next step reads: the use of the argument that it replaces. */
static enum program_use use_of_next(const struct emit *e, uint32_t node, enum program_use otherwise)
{
    for (uint32_t o = e->placement->nodes[node].output; o < e->graph->noutputs; o++) {
        const struct graph_output *output = &e->graph->outputs[o];

        if (output->node == node && output->kind == GRAPH_NEXT)
            return e->graph->nodes[output->of].op == GRAPH_PARAM ? PROGRAM_PARAMETERS
                                                                 : PROGRAM_OPTIMIZER;
    }
    return otherwise;
}

/* Use of a new array of a node's value. */
static enum program_use use_of(const struct emit *e, uint32_t node)
{
    const struct graph_node *n = &e->graph->nodes[node];
    bool first = e->newest[node - e->first] == PROGRAM_NONE;

    if (n->op == GRAPH_PARAM)
        return first ? PROGRAM_PARAMETERS : PROGRAM_GATHERED;
    if (n->op == GRAPH_INPUT && n->state_of != GRAPH_NONE)
        return PROGRAM_OPTIMIZER;
    if (n->op == GRAPH_INPUT && first)
        return PROGRAM_DATA;
    if (n->op == GRAPH_ACCUMULATE ||
        (n->gradient_of != GRAPH_NONE && e->graph->nodes[n->gradient_of].op == GRAPH_PARAM))
        return PROGRAM_GRADIENTS;
    return n->phase == GRAPH_OPTIMIZER ? use_of_next(e, node, PROGRAM_WORKSPACE)
                                       : PROGRAM_ACTIVATIONS;
}

/* Add a buffer that is not registered as a version. */
static int add_alone(struct emit *e, uint32_t node, uint32_t sharding, uint32_t *buffer)
{
    const struct graph_node *n = &e->graph->nodes[node];
    int64_t shape[GRAPH_RANK_MAX];
    int status;

    graph_shape(e->graph, node, shape);
    status = program_add_buffer(buffer, e->program, n->name, n->dtype, shape,
                                price_sharding(e->placement->price, sharding), e->err);
    for (uint32_t d = 0; d < n->rank && status == SHD_OK; d++)
        e->program->buffers[*buffer].held[d] = e->graph->dims[n->dims[d]].held;
    return status;
}

/* Add a buffer for a node's array in a sharding, registered as its newest version. */
static int add_version(struct emit *e, uint32_t node, uint32_t sharding, struct spot spot,
                       uint32_t *buffer)
{
    const struct graph_node *n = &e->graph->nodes[node];
    int status = add_alone(e, node, sharding, buffer);

    if (status != SHD_OK)
        return status;
    e->program->buffers[*buffer].stored = n->stored;
    e->program->buffers[*buffer].use = use_of(e, node);
    return keep_version(e, node, sharding, *buffer, spot);
}

/* ---- why a step is there ---- */

/* Names of the dimensions that the op behind a partial value sums over.  Operands of integers (ids)
 * are skipped. */
static void summed_names(char *out, size_t size, const struct emit *e, uint32_t node)
{
    const struct graph_node *n = &e->graph->nodes[node];
    size_t used = 0;

    out[0] = '\0';
    for (uint32_t k = 0; k < n->ninputs && n->op != GRAPH_EXTRA; k++)
        for (uint32_t d = 0; d < e->graph->nodes[n->inputs[k]].rank && used < size; d++) {
            uint32_t dim = e->graph->nodes[n->inputs[k]].dims[d];

            if (e->graph->nodes[n->inputs[k]].dtype != SHD_I32 && !graph_has_dim(n, dim) &&
                !strstr(out, e->graph->dims[dim].name))
                used += (size_t)snprintf(out + used, size - used, "%s%s", used ? " and " : "",
                                         e->graph->dims[dim].name);
        }
}

/* The op that made a value, behind constraints that only rename the value. */
static uint32_t maker_of(const struct emit *e, uint32_t node)
{
    while (e->graph->nodes[node].op == GRAPH_CONSTRAINT && !e->placement->nodes[node].fixed)
        node = e->graph->nodes[node].inputs[0];
    return node;
}

/* Whether operand `k` is partial over an axis of a step and the op passes its partial sums on. */
static bool passes_parts(const struct emit *e, uint32_t node, uint32_t k,
                         const struct shd_reshard_step *step)
{
    uint32_t need = e->placement->nodes[node].needs[k];
    uint16_t partial =
        need == PLACEMENT_UNKNOWN ? 0 : price_sharding(e->placement->price, need)->partial;

    for (uint32_t a = 0; a < step->naxes; a++)
        if (partial >> step->axes[a] & 1)
            return true;
    return false;
}

/* The op that made the partial sums which a step combines, and the names of the dimensions that it
 * sums over.  Linear ops in between passed the partial sums on. */
static uint32_t summer_of(char *names, size_t size, const struct emit *e, uint32_t value,
                          const struct shd_reshard_step *step)
{
    for (;;) {
        uint32_t node = maker_of(e, value), k = 0;
        const struct graph_node *n = &e->graph->nodes[node];

        summed_names(names, size, e, node);
        while (k < n->ninputs && !passes_parts(e, node, k, step))
            k++;
        if (k == n->ninputs || !names[0])
            return node;
        value = n->inputs[k];
    }
}

static const char *why(struct emit *e, uint32_t value, const struct shd_reshard_step *step,
                       const char *reader)
{
    uint32_t node = maker_of(e, value);
    const struct graph_node *n = &e->graph->nodes[node];
    char axes[128], summed[128], sum[512];
    const char *summer, *dim = step->dim >= 0 ? e->graph->dims[n->dims[step->dim]].name : "";

    program_axes_print(e->program, step->axes, step->naxes, axes, sizeof axes);
    summer = e->graph->nodes[summer_of(summed, sizeof summed, e, node, step)].name;
    if (summed[0])
        snprintf(sum, sizeof sum, "%s sums over %s, sharded over %s", summer, summed, axes);
    else
        snprintf(sum, sizeof sum, "%s is a sum of parts over %s", summer, axes);
    if (shd_reshard_is_flat(step) && step->kind == SHD_RESHARD_REDUCE_SCATTER)
        return program_text(e->program, "%s; %s needs it in pieces over %s", sum, reader, axes);
    if (shd_reshard_is_flat(step) && step->kind == SHD_RESHARD_ALL_GATHER)
        return program_text(e->program, "%s needs %s whole; it is kept in pieces over %s", reader,
                            n->name, axes);
    switch (step->kind) {
    case SHD_RESHARD_ALL_REDUCE:
        return program_text(e->program, "%s; %s needs it replicated", sum, reader);
    case SHD_RESHARD_REDUCE_SCATTER:
        return program_text(e->program, "%s; %s needs it with %s sharded over %s", sum, reader, dim,
                            axes);
    case SHD_RESHARD_ALL_GATHER:
        return program_text(e->program, "%s needs %s with %s unsharded; it is sharded over %s",
                            reader, n->name, dim, axes);
    case SHD_RESHARD_ALL_TO_ALL:
        return program_text(e->program, "%s needs %s with %s sharded over %s, not %s", reader,
                            n->name, e->graph->dims[n->dims[step->dim2]].name, axes, dim);
    case SHD_RESHARD_PERMUTE:
        return program_text(e->program, "%s needs the shards of %s on other devices", reader,
                            n->name);
    case SHD_RESHARD_EXCHANGE:
        return program_text(e->program, "%s needs %s in another sharding", reader, n->name);
    default:
        return NULL; /* local step, nothing is communicated */
    }
}

/* ---- steps ---- */

static int emit_step(struct emit *e, uint32_t node, const struct shd_reshard_step *step,
                     struct spot spot, const char *asker, uint32_t *buffer)
{
    struct program_op op = op_at(PROGRAM_RESHARD, asker, spot);
    uint32_t sharding = price_number(e->placement->price, &step->to);
    int status;

    if (price_failed(e->placement->price))
        return shd_error_set(e->err, SHD_ENOMEM, "no memory for the program");
    op.ninputs = op.noutputs = 1;
    op.inputs[0] = *buffer;
    op.why = why(e, node, step, asker);
    op.reshard = *step;
    status = add_version(e, node, sharding, spot, &op.outputs[0]);
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

/* The usable version with the least reshard cost to `need`; NULL: none. */
static const struct version *cheapest(const struct emit *e, uint32_t node, uint32_t need,
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
    struct program_op send = op_at(PROGRAM_SEND, asker, from);
    struct program_op recv = op_at(PROGRAM_RECV, asker, to);
    uint32_t sharding = price_number(e->placement->price, &e->program->buffers[buffer].sharding);
    int status;

    if (price_failed(e->placement->price))
        return shd_error_set(e->err, SHD_ENOMEM, "no memory for the program");
    send.ninputs = recv.noutputs = 1;
    send.inputs[0] = buffer;
    send.why = recv.why = why_sent(e, name, from, to, asker);
    send.channel = recv.channel = e->program->nchannels++;
    status = add_version(e, node, sharding, to, &recv.outputs[0]);
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

    at.stage = stage_of(e, node);
    from = cheapest(e, node, need, at);
    if (!from)
        return shd_error_set(e->err, SHD_EUNSUPPORTED,
                             "stage %u needs '%.100s', which no stage before it has", reader.stage,
                             e->graph->nodes[node].name);
    status = plan_steps(&plan, e, node, from->sharding, need);
    if (status != SHD_OK)
        return status;
    send = spot_of_send(e, from, reader);
    if (comes_too_late(send, reader))
        return shd_error_set(e->err, SHD_EUNSUPPORTED,
                             "stage %u needs '%.100s' before stage %u has made it", reader.stage,
                             e->graph->nodes[node].name, send.stage);
    if (send.part == PROGRAM_START)
        reader.part = PROGRAM_START;
    buffer = from->buffer;
    n = steps_before_send(e, node, &plan);
    for (size_t s = 0; s < n && status == SHD_OK; s++)
        status = emit_step(e, node, &plan.steps[s], send, asker, &buffer);
    return status == SHD_OK ? emit_send(e, node, buffer, send, reader, asker) : status;
}

/* Whether a value is data that changes by microbatch or step.  In a pipeline each reading stage
 * fills in its own, for each microbatch in flight. */
static bool is_filled_anew(const struct emit *e, uint32_t node)
{
    const struct graph_node *n = &e->graph->nodes[node];

    return e->program->nstages > 1 && n->op == GRAPH_INPUT && kern_source_changes(&n->source);
}

/* Whether a value is a mask input of attention: generated on every device that reads it, and never
 * communicated. */
static bool is_known_everywhere(const struct emit *e, uint32_t node)
{
    return e->graph->nodes[node].op == GRAPH_INPUT && e->graph->nodes[node].source.sight;
}

static int emit_fill(struct emit *e, uint32_t node, uint32_t sharding, struct spot spot)
{
    struct program_op op = op_at(PROGRAM_FILL, e->graph->nodes[node].name, spot);
    int status;

    op.noutputs = 1;
    op.source = e->graph->nodes[node].source;
    status = add_version(e, node, sharding, spot, &op.outputs[0]);
    if (status != SHD_OK)
        return status;
    e->program->buffers[op.outputs[0]].argument = spot.part == PROGRAM_ARGUMENTS;
    return program_add_op(e->program, &op, e->err);
}

/* Make a version of a value available in the reader's stage. */
static int come_to_stage(struct emit *e, uint32_t node, uint32_t need, struct spot reader,
                         const char *asker)
{
    const struct version *from = cheapest(e, node, need, reader);

    if (is_known_everywhere(e, node) && !(from && from->sharding == need))
        return emit_fill(e, node, need, reader);
    if (from)
        return SHD_OK;
    if (is_filled_anew(e, node))
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
    from = cheapest(e, node, held, reader);
    return from && from->sharding != held;
}

/* Make the version of a parameter that is sharded among neighbours, a part of the gathered copy. */
static int bring_to_neighbours(struct emit *e, uint32_t node, struct spot spot, const char *asker)
{
    uint32_t buffer, held = number_among_neighbours(e, node);

    return emit_plan(e, node, cheapest(e, node, held, spot), held, spot, asker, &buffer);
}

/* ---- operands ---- */

/* Whether a constraint's resharded value was made for another phase only, so that it must be made
 * again. */
static bool is_to_ask_again(const struct emit *e, uint32_t node, uint32_t need, struct spot reader)
{
    return is_asked(e, node) && stage_of(e, node) == reader.stage &&
           !cheapest(e, node, need, reader);
}

/* Reshard from the cheapest version in the spot's stage.  After a parameter is gathered, keep the
 * neighbours' part of it. */
static int bring_to_spot(struct emit *e, uint32_t node, uint32_t need, struct spot spot,
                         const char *asker, uint32_t *buffer)
{
    int status = emit_plan(e, node, cheapest(e, node, need, spot), need, spot, asker, buffer);

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

/* Make a node's array available in the needed sharding, from the cheapest version. */
static int bring(struct emit *e, uint32_t node, uint32_t need, struct spot reader,
                 const char *asker, uint32_t *buffer)
{
    uint32_t home = e->placement->nodes[node].home;
    int status;

    if (is_to_ask_again(e, node, need, reader)) {
        status = bring(e, e->graph->nodes[node].inputs[0], home, reader, asker, buffer);
        if (status == SHD_OK)
            status = keep_version(e, node, home, *buffer, reader);
    } else {
        status = come_to_stage(e, node, need, reader, asker);
    }
    return status == SHD_OK ? bring_in_stage(e, node, need, reader, asker, buffer) : status;
}

/* ---- ops ---- */

/* Whether a shift moves elements between devices: the shifted dimension is sharded. */
static bool shifts_between_devices(const struct emit *e, uint32_t node)
{
    const struct graph_node *n = &e->graph->nodes[node];
    const struct shd_sharding *home =
        price_sharding(e->placement->price, e->placement->nodes[node].home);

    return n->op == GRAPH_SHIFT && home->dims[rule_place(n, n->attr.shift.dim)].naxes > 0;
}

/* Name of the op that reads a shifted array, past further shifts. */
static const char *reader_of_shift(const struct emit *e, uint32_t node)
{
    const struct placement_node *p = &e->placement->nodes[node];

    for (uint32_t r = 0; r < p->nreaders; r++)
        if (e->graph->nodes[p->readers[r].node].op != GRAPH_SHIFT)
            return e->graph->nodes[p->readers[r].node].name;
    return e->graph->nodes[node].name;
}

/* Why an array is shifted.  A sum that moves around a ring is read by the op that adds to it, which
 * has the same name. */
static const char *why_shifted(struct emit *e, uint32_t node)
{
    const char *name = e->graph->nodes[e->graph->nodes[node].inputs[0]].name;
    const char *reader = reader_of_shift(e, node);

    if (!strcmp(reader, name))
        return program_text(e->program, "the sum %s moves on with the block that it is of", name);
    return program_text(e->program, "%s needs the next block of %s", reader, name);
}

/* Turn an op, whose operand and result are set, into a step that shifts shards between devices. */
static int set_shift(struct program_op *op, struct emit *e, uint32_t node)
{
    const struct graph_node *n = &e->graph->nodes[node];
    const struct program_buffer *b = &e->program->buffers[op->outputs[0]];

    op->kind = PROGRAM_RESHARD;
    op->why = why_shifted(e, node);
    return shd_reshard_shift(&op->reshard, &b->sharding, b->shape, b->dtype,
                             (int)rule_place(n, n->attr.shift.dim), n->attr.shift.by, e->err);
}

/* Generate a mask input once for each sharding in which it is read. */
static int emit_known(struct emit *e, uint32_t node, struct spot spot)
{
    const struct placement_node *n = &e->placement->nodes[node];
    int status = SHD_OK;

    for (uint32_t r = 0; r < n->nreaders && status == SHD_OK; r++) {
        uint32_t need = e->placement->nodes[n->readers[r].node].needs[n->readers[r].operand];
        const struct version *from = cheapest(e, node, need, spot);

        if (!from || from->sharding != need)
            status = emit_fill(e, node, need, spot);
    }
    return status;
}

static int emit_leaf(struct emit *e, uint32_t node)
{
    struct spot spot = {GRAPH_FORWARD, PROGRAM_ARGUMENTS, false, stage_of(e, node)};

    if (is_filled_anew(e, node) || (is_known_everywhere(e, node) && e->program->nstages > 1))
        return SHD_OK;
    if (is_known_everywhere(e, node))
        return emit_known(e, node, spot);
    return emit_fill(e, node, e->placement->nodes[node].home, spot);
}

/* Reshard all operands of an op as it needs them; operands of inlined maps are operands of the
 * op. */
static int bring_inputs(struct emit *e, uint32_t node, const struct fused *fused,
                        struct program_op *op)
{
    int status = SHD_OK;

    op->ninputs = fused->ninputs;
    for (uint32_t i = 0; i < fused->ninputs && status == SHD_OK; i++)
        if (e->only == GRAPH_NONE || fused->inputs[i] == e->only)
            status = bring(e, fused->inputs[i], fused->needs[i], spot_of(e, node), op->name,
                           &op->inputs[i]);
    return status;
}

/* Collect the operands of a node that is not inlined, and its expression if it has one. */
static void collect_inputs(struct fused *out, const struct placement *p, const bool *inlined,
                           uint32_t node)
{
    const struct graph_node *n = &p->graph->nodes[node];

    if (rule_of(n->op)->fuses) {
        fuse_collect(out, p, inlined, node);
        return;
    }
    out->ninputs = n->ninputs;
    memcpy(out->inputs, n->inputs, n->ninputs * sizeof *n->inputs);
    memcpy(out->needs, p->nodes[node].needs, n->ninputs * sizeof *out->needs);
}

/* Add buffers for all results of an op. */
static int add_outputs(struct emit *e, uint32_t node, struct program_op *op)
{
    const struct placement_node *c = &e->placement->nodes[node];
    int status = SHD_OK;

    op->noutputs = c->rule.nresults;
    for (uint32_t r = 0; r < c->rule.nresults && status == SHD_OK; r++) {
        uint32_t result = assign_result_node(e->graph, node, r);

        status = add_version(e, result, e->placement->nodes[result].home, spot_of(e, node),
                             &op->outputs[r]);
    }
    return status;
}

/* Set the kernel of a node for given extents. */
static void lower(struct program_op *op, const struct placement *p, uint32_t node,
                  const struct fused *fused, const int64_t *extents)
{
    const struct rule_op *row = rule_of(p->graph->nodes[node].op);

    if (row->fuses)
        fuse_lower(op, fused, p, node, extents);
    else
        row->lower(op, p->graph, node, &p->nodes[node].rule, extents);
}

/* Set the work of the unsharded op: `whole` is the op lowered to one device with whole arrays. */
static void set_work(struct program_op *op, const struct program_op *whole,
                     const struct assign *assign)
{
    const int64_t first[KERN_OFFSETS_MAX] = {0};

    op->unsharded_flops = whole->kernel->flops(&whole->desc, first);
    op->model_flops = kern_model_flops(whole->kernel, &whole->desc);
    for (uint32_t a = 0; a < SHD_MESH_AXES_MAX; a++)
        if (assign->place[a] >= 0 || assign->place[a] == ASSIGN_FLAT)
            op->cut_axes |= UINT32_C(1) << a;
    op->dense_flops = kern_dense_flops(op->kernel, &op->desc);
    if (op->kernel->workspace_bytes)
        op->workspace_bytes = op->kernel->workspace_bytes(&op->desc);
}

/* Set the extents of an array's dimensions without their padding. */
static void set_held(int64_t *extents, const struct graph *graph, uint32_t array,
                     const int8_t *factors)
{
    const struct graph_node *n = &graph->nodes[array];

    for (uint32_t d = 0; d < n->rank; d++)
        if (graph->dims[n->dims[d]].held < graph->dims[n->dims[d]].size)
            extents[factors[d]] = graph->dims[n->dims[d]].held;
}

static void whole_extents(int64_t *extents, const struct graph *graph, uint32_t node,
                          const struct rule *rule)
{
    for (uint32_t f = 0; f < rule->nfactors; f++)
        extents[f] = rule->factors[f].size;
    set_held(extents, graph, node, rule->result[0]);
    for (uint32_t k = 0; k < rule->noperands; k++)
        set_held(extents, graph, graph->nodes[node].inputs[k], rule->operand[k]);
}

/* Set all of a kernel except its buffers. */
static int set_kernel(struct program_op *op, const struct placement *p, uint32_t node,
                      const struct fused *fused, struct shd_error *err)
{
    const struct placement_node *c = &p->nodes[node];
    const struct assigned a = {p->graph, node, &c->rule, &c->assign, p->mesh};
    int64_t extents[RULE_FACTORS_MAX];
    struct program_op whole;

    op->kind = PROGRAM_KERNEL;
    memset(&op->desc, 0, sizeof op->desc);
    whole = *op;
    whole_extents(extents, p->graph, node, &c->rule);
    lower(&whole, p, node, fused, extents);
    assign_extents(extents, &a);
    lower(op, p, node, fused, extents);
    set_work(op, &whole, &c->assign);
    if (op->dense_flops == UINT64_MAX || op->workspace_bytes == UINT64_MAX) /* the value at which
                                                                               kernels saturate */
        return shd_error_set(
            err, SHD_ERANGE, "'%.80s' (%s) is too large for one device: %s are 2^64 or more",
            op->name, program_phase_name(op->phase),
            op->dense_flops == UINT64_MAX ? "its flops" : "the bytes of its workspace");
    return SHD_OK;
}

static struct program_op op_of(const struct emit *e, uint32_t node)
{
    return op_at(PROGRAM_KERNEL, e->graph->nodes[node].name, spot_of(e, node));
}

/* Complete an op that moves rows; all else is set. */
static int set_rows(struct emit *e, struct program_op *op, uint32_t node)
{
    const struct graph *g = e->graph;
    const struct graph_node *n = &g->nodes[node];
    uint32_t from = n->inputs[0];
    char axes[128];
    int status;

    rule_of(n->op)->lower(op, g, node, &e->placement->nodes[node].rule, NULL);
    status = program_rows_set(e->program, op, e->err);
    if (status != SHD_OK || !program_communicates(op))
        return status;
    program_axes_print(e->program, op->rows.axes, op->rows.naxes, axes, sizeof axes);
    op->why = op->rows.combines
                  ? program_text(e->program,
                                 "%s needs the rows of its tokens; the experts that have "
                                 "them (%s) are sharded over %s",
                                 op->name, g->nodes[from].name, axes)
                  : program_text(e->program,
                                 "%s needs the tokens that name its experts; the tokens "
                                 "(%s) are sharded over %s",
                                 op->name, g->nodes[from].name, axes);
    return SHD_OK;
}

static int emit_op(struct emit *e, uint32_t node)
{
    const struct placement_node *c = &e->placement->nodes[node];
    struct program_op op = op_of(e, node);
    struct fused fused;
    int status;

    if (e->inlined[node])
        return SHD_OK;
    collect_inputs(&fused, e->placement, e->inlined, node);
    status = bring_inputs(e, node, &fused, &op);
    if (status != SHD_OK)
        return status;
    if (!c->works) /* an alias */
        return keep_version(e, node, c->home, op.inputs[0], spot_of(e, node));
    status = add_outputs(e, node, &op);
    if (status == SHD_OK)
        status = rule_moves_rows(e->graph->nodes[node].op) ? set_rows(e, &op, node)
                 : shifts_between_devices(e, node)
                     ? set_shift(&op, e, node)
                     : set_kernel(&op, e->placement, node, &fused, e->err);
    return status == SHD_OK ? program_add_op(e->program, &op, e->err) : status;
}

/* The buffer of an input or parameter as the step begins: its oldest version. */
static uint32_t argument_of(const struct emit *e, uint32_t node)
{
    uint32_t v = e->newest[node - e->first];

    while (e->versions[v].next != PROGRAM_NONE)
        v = e->versions[v].next;
    return e->versions[v].buffer;
}

static int add_result(struct emit *e, const struct graph_output *output, uint32_t buffer)
{
    static const enum program_result_kind kinds[] = {[GRAPH_OUTPUT] = PROGRAM_OUTPUT,
                                                     [GRAPH_LOSS] = PROGRAM_LOSS,
                                                     [GRAPH_GRADIENT] = PROGRAM_GRADIENT,
                                                     [GRAPH_NEXT] = PROGRAM_NEXT};

    if (output->kind == GRAPH_NEXT && e->only == GRAPH_NONE)
        return program_add_next(e->program, output->name, buffer, argument_of(e, output->of),
                                e->err);
    return program_add_result(e->program, kinds[output->kind], output->name, buffer, e->err);
}

/* Deliver a node's value to the outputs it belongs to, once the value is made. */
static int emit_outputs(struct emit *e, uint32_t node)
{
    static const char *const askers[] = {[GRAPH_OUTPUT] = "result",
                                         [GRAPH_LOSS] = "result",
                                         [GRAPH_GRADIENT] = "gradient of",
                                         [GRAPH_NEXT] = "next step's"};
    uint32_t buffer;

    for (uint32_t o = e->placement->nodes[node].output; o < e->graph->noutputs; o++) {
        const struct graph_output *output = &e->graph->outputs[o];
        const char *asker;
        int status;

        if (output->node != node)
            continue;
        asker = program_text(e->program, "%s %s", askers[output->kind], output->name);
        status = bring(e, node, placement_output_need(e->placement, o), spot_of(e, node), asker,
                       &buffer);
        if (status == SHD_OK)
            status = add_result(e, output, buffer);
        if (status != SHD_OK)
            return status;
    }
    return SHD_OK;
}

static int emit_all(struct emit *e)
{
    int status = SHD_OK;

    for (uint32_t node = 0; node < e->graph->nnodes && status == SHD_OK; node++)
        if (e->placement->nodes[node].live && e->graph->nodes[node].op <= GRAPH_PARAM)
            status = emit_leaf(e, node);
    for (uint32_t node = 0; node < e->graph->nnodes && status == SHD_OK; node++) {
        if (!e->placement->nodes[node].live)
            continue;
        if (rule_of(e->graph->nodes[node].op))
            status = emit_op(e, node);
        if (status == SHD_OK)
            status = emit_outputs(e, node);
    }
    return status;
}

int emit_program(struct program *program, struct placement *placement,
                 const struct emit_opts *opts, struct shd_error *err)
{
    size_t n = (size_t)placement->graph->nnodes + 1;
    bool *inlined = calloc(n, sizeof *inlined);
    struct emit e = {.program = program,
                     .placement = placement,
                     .graph = placement->graph,
                     .newest = malloc(n * sizeof *e.newest),
                     .only = GRAPH_NONE,
                     .inlined = inlined,
                     .opts = *opts,
                     .err = err};
    int status = SHD_OK;

    if (!e.newest || !inlined)
        status = shd_error_set(err, SHD_ENOMEM, "no memory for the program");
    if (status == SHD_OK) {
        memset(e.newest, 0xff, n * sizeof *e.newest);
        fuse_mark(inlined, placement);
        status = emit_all(&e);
    }
    free(e.newest);
    free(inlined);
    free(e.versions);
    return status;
}

/* ---- parts of a program ---- */

/* The next op after `after` that reads a value, directly or in its expression; GRAPH_NONE: no
 * more. */
static uint32_t next_reader(const struct emit *e, uint32_t value, uint32_t after)
{
    const struct placement_node *n = &e->placement->nodes[value];
    uint32_t next = GRAPH_NONE;

    for (uint32_t r = 0; r < n->nreaders; r++) {
        uint32_t reader = n->readers[r].node;

        while (e->inlined[reader])
            reader = e->placement->nodes[reader].readers[0].node;
        if (reader > after && reader < next)
            next = reader;
    }
    return next;
}

/* Emit an op that moves rows of a value, op->inputs[0], as a step by itself. */
static int emit_rows(struct emit *e, uint32_t node, struct program_op *op)
{
    const struct placement_node *c = &e->placement->nodes[node];
    const struct graph_node *n = &e->graph->nodes[node];
    int status = add_alone(e, node, c->home, &op->outputs[0]);

    op->noutputs = 1;
    for (uint32_t k = 1; k < n->ninputs && status == SHD_OK; k++)
        status = add_alone(e, n->inputs[k], c->needs[k], &op->inputs[k]);
    if (status == SHD_OK)
        status = set_rows(e, op, node);
    return status == SHD_OK ? program_add_op(e->program, op, e->err) : status;
}

static int emit_readers(struct emit *e, uint32_t value)
{
    int status = emit_outputs(e, value);

    for (uint32_t reader = next_reader(e, value, value); reader != GRAPH_NONE && status == SHD_OK;
         reader = next_reader(e, value, reader)) {
        struct program_op op = op_of(e, reader);
        struct fused fused;

        collect_inputs(&fused, e->placement, e->inlined, reader);
        status = bring_inputs(e, reader, &fused, &op);
        if (status == SHD_OK && rule_moves_rows(e->graph->nodes[reader].op) &&
            fused.inputs[0] == value)
            status = emit_rows(e, reader, &op);
    }
    return status;
}

int emit_steps(struct program *program, struct placement *placement, const bool *inlined,
               uint32_t value, struct shd_error *err)
{
    uint32_t newest = PROGRAM_NONE, buffer;
    struct emit e = {.program = program,
                     .placement = placement,
                     .graph = placement->graph,
                     .newest = &newest,
                     .first = value,
                     .only = value,
                     .inlined = inlined,
                     .err = err};
    int status;

    if (inlined[value]) /* an inlined map has no array */
        return SHD_OK;
    status = add_version(&e, value, placement->nodes[value].home, spot_of(&e, value), &buffer);
    if (status == SHD_OK)
        status = emit_readers(&e, value);
    free(e.versions);
    return status;
}

int emit_kernel(struct program_op *out, const struct placement *placement, const bool *inlined,
                uint32_t node, struct shd_error *err)
{
    const struct emit e = {.graph = placement->graph};
    struct fused fused;

    *out = op_of(&e, node);
    if (rule_moves_rows(placement->graph->nodes[node].op)) { /* no kernel, and no work */
        out->kind = PROGRAM_ROWS;
        return SHD_OK;
    }
    collect_inputs(&fused, placement, inlined, node);
    return set_kernel(out, placement, node, &fused, err);
}
