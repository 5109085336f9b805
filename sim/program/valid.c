/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "program/valid.h"

#include <stdlib.h>
#include <string.h>

struct checked {
    const struct program *program;
    uint32_t known; /* mask of the mesh's axes without the stage axis */
    struct shd_error *err;
};

static int wrong_buffer(const struct checked *c, uint32_t buffer, const char *what)
{
    return shd_error_set(c->err, SHD_EINTERNAL,
                         "internal error, please report it: array %u of the program, '%.80s', %s",
                         buffer, c->program->buffers[buffer].name, what);
}

static int wrong_op(const struct checked *c, uint32_t op, const char *what)
{
    return shd_error_set(c->err, SHD_EINTERNAL,
                         "internal error, please report it: op %u of the program, '%.80s' (%s), %s",
                         op, c->program->ops[op].name, program_kind_name(c->program->ops[op].kind),
                         what);
}

static uint32_t axes_of(const struct shd_sharding *sharding)
{
    return shd_sharding_axes(sharding) | sharding->partial;
}

/* ---- arrays ---- */

static int check_buffer(const struct checked *c, uint32_t i)
{
    const struct program_buffer *b = &c->program->buffers[i];
    int64_t local[PROGRAM_RANK_MAX];
    uint64_t bytes;

    if (!shd_mesh_equal(b->sharding.mesh, c->program->mesh))
        return wrong_buffer(c, i, "is sharded over another mesh");
    if (axes_of(&b->sharding) & ~c->known)
        return wrong_buffer(c, i,
                            "is sharded over the pipeline axis, or over an axis not in the mesh");
    shd_sharding_shard_shape(&b->sharding, b->shape, local);
    if (memcmp(local, b->local, b->rank * sizeof *local) != 0 ||
        shd_shape_bytes(&bytes, local, b->rank, b->dtype, NULL) != SHD_OK ||
        bytes != program_buffer_filled(b))
        return wrong_buffer(c, i, "has extents or bytes that differ from its sharding");
    if (b->over != PROGRAM_NONE &&
        (b->over >= c->program->nbuffers || !c->program->buffers[b->over].argument ||
         c->program->buffers[b->over].bytes < b->bytes))
        return wrong_buffer(c, i, "overwrites a buffer too small for it");
    return SHD_OK;
}

/* ---- ops ---- */

static bool writes(const struct program_op *op, uint32_t buffer)
{
    for (uint32_t k = 0; k < op->noutputs; k++)
        if (op->outputs[k] == buffer)
            return true;
    return false;
}

static uint32_t rank_of(const struct program *program, const struct program_op *op)
{
    return program->rank_of_stage ? program->rank_of_stage[op->stage] : 0;
}

/* An array that op `i` reads was written before, by an op of the same rank, and is still live. */
static int check_read(const struct checked *c, uint32_t i, uint32_t buffer)
{
    const struct program *program = c->program;
    const struct program_buffer *b = &program->buffers[buffer];
    const struct program_op *op = &program->ops[i];

    if (buffer >= program->nbuffers)
        return wrong_op(c, i, "reads an array that does not exist");
    if (b->first_op >= i || !writes(&program->ops[b->first_op], buffer))
        return wrong_op(c, i, "reads an array before any op writes it");
    if (b->last_op < i)
        return wrong_op(c, i, "reads a freed array");
    if (rank_of(program, &program->ops[b->first_op]) != rank_of(program, op))
        return wrong_op(c, i, "reads an array of another pipeline rank");
    return SHD_OK;
}

static int check_arrays(const struct checked *c, uint32_t i)
{
    const struct program_op *op = &c->program->ops[i];
    int status = SHD_OK;

    for (uint32_t k = 0; k < op->ninputs && status == SHD_OK; k++)
        status = check_read(c, i, op->inputs[k]);
    if (status == SHD_OK && op->holds)
        status = check_read(c, i, op->held);
    for (uint32_t k = 0; k < op->noutputs && status == SHD_OK; k++)
        if (op->outputs[k] >= c->program->nbuffers ||
            c->program->buffers[op->outputs[k]].first_op != i)
            status = wrong_op(c, i, "writes another op's array, or none");
    return status;
}

/* Whether a step's sharding is an array's.  Steps leave out axes of size 1; a step of several
 * arrays has the shardings of the first. */
static bool is_sharded_as(const struct program_buffer *b, const struct shd_sharding *sharding)
{
    struct shd_sharding buffer, step;

    shd_sharding_simplify(&buffer, &b->sharding);
    shd_sharding_simplify(&step, sharding);
    buffer.uneven = step.uneven;
    return shd_sharding_equal(&buffer, &step);
}

static int check_reshard(const struct checked *c, uint32_t i)
{
    const struct program_op *op = &c->program->ops[i];
    const struct shd_reshard_step *step = &op->reshard;
    uint32_t axes = axes_of(&step->from) | axes_of(&step->to);

    for (uint8_t a = 0; a < step->naxes; a++)
        axes |= UINT32_C(1) << step->axes[a];
    if (axes & ~c->known)
        return wrong_op(c, i, "communicates along the pipeline axis, or an axis not in the mesh");
    if (op->ninputs == 0 || op->ninputs != op->noutputs)
        return wrong_op(c, i, "has unequal numbers of operands and results");
    if (op->ninputs == 1 && (!is_sharded_as(&c->program->buffers[op->inputs[0]], &step->from) ||
                             !is_sharded_as(&c->program->buffers[op->outputs[0]], &step->to)))
        return wrong_op(c, i, "has shards unlike its reshard step");
    return SHD_OK;
}

static int check_rows(const struct checked *c, uint32_t i)
{
    const struct program_rows *rows = &c->program->ops[i].rows;
    uint32_t axes = rows->node_axes;

    for (uint8_t a = 0; a < rows->naxes; a++)
        axes |= UINT32_C(1) << rows->axes[a];
    return axes & ~c->known
               ? wrong_op(c, i, "moves rows along the pipeline axis, or an axis not in the mesh")
               : SHD_OK;
}

/* A send and its receive share a channel and a kind of shards, and one rank if the rank has both
 * stages. */
static int check_channel(const struct checked *c, uint32_t i)
{
    const struct program *program = c->program;
    const struct program_op *op = &program->ops[i];
    const struct program_op *send, *recv;

    if (op->channel >= program->nchannels)
        return wrong_op(c, i, "has a channel that does not exist");
    send = &program->ops[program->channels[op->channel].send];
    recv = &program->ops[program->channels[op->channel].recv];
    if (send->kind != PROGRAM_SEND || recv->kind != PROGRAM_RECV || (op != send && op != recv))
        return wrong_op(c, i, "has a channel without the other end");
    if (program->buffers[send->inputs[0]].dtype != program->buffers[recv->outputs[0]].dtype ||
        !shd_sharding_equal(&program->buffers[send->inputs[0]].sharding,
                            &program->buffers[recv->outputs[0]].sharding))
        return wrong_op(c, i, "sends shards that differ from the received shards");
    return SHD_OK;
}

static int check_op(const struct checked *c, uint32_t i)
{
    const struct program *program = c->program;
    const struct program_op *op = &program->ops[i];
    int status = op->stage < program->nstages ? check_arrays(c, i)
                                              : wrong_op(c, i, "is of a stage that does not exist");

    if (status != SHD_OK)
        return status;
    if (op->cut_axes & ~c->known)
        return wrong_op(c, i, "is sharded by the pipeline axis, or an axis not in the mesh");
    if (i >= program->first_op &&
        op->times != program_part_times((enum program_part)op->part, program->microbatches))
        return wrong_op(c, i, "runs neither once per microbatch nor once per step");
    switch (op->kind) {
    case PROGRAM_RESHARD:
        return check_reshard(c, i);
    case PROGRAM_ROWS:
        return check_rows(c, i);
    case PROGRAM_SEND:
    case PROGRAM_RECV:
        return check_channel(c, i);
    default:
        return SHD_OK;
    }
}

/* ---- order ---- */

/* Segments follow each other from the first op to the last; a segment of microbatches is of one
 * part and stage in a pipeline. */
static int check_segments(const struct checked *c)
{
    const struct program *program = c->program;
    uint32_t next = program->first_op;

    for (uint32_t s = 0; s < program->nsegments; s++) {
        const struct program_segment *segment = &program->segments[s];

        if (segment->first_op != next || segment->end_op <= next || segment->end_op > program->nops)
            return wrong_op(c, next < program->nops ? next : 0, "is in no segment, or in two");
        for (next = segment->first_op; next < segment->end_op; next++)
            if (program->nstages > 1 &&
                (program->ops[next].part != segment->part ||
                 (!program_segment_is_once(segment) && program->ops[next].stage != segment->stage)))
                return wrong_op(c, next, "is in a segment of another part or stage");
    }
    return next == program->nops ? SHD_OK : wrong_op(c, next, "is in no segment");
}

static int wrong_turns(const struct checked *c, uint32_t rank, uint32_t segment)
{
    return shd_error_set(c->err, SHD_EINTERNAL,
                         "internal error, please report it: rank %u of the pipeline does not do "
                         "each microbatch of segment %u once",
                         rank, segment);
}

/* Whether a rank does any op of a segment. */
static bool has_segment(const struct program *program, uint32_t rank, uint32_t segment)
{
    const struct program_segment *s = &program->segments[segment];

    for (uint32_t i = s->first_op; i < s->end_op; i++)
        if (program_holds(program, rank, &program->ops[i]))
            return true;
        else if (!program_segment_is_once(s))
            return false;
    return false;
}

/* done[segment]: microbatches that the rank's turns do, each counted once and its number added; n
 * microbatches that are done once each sum up to n * (n + 1) / 2 with numbers from 1 on. */
static int check_rank(const struct checked *c, uint32_t rank, uint64_t *done)
{
    const struct program *program = c->program;
    uint64_t n = program->microbatches;

    memset(done, 0, program->nsegments * sizeof *done);
    for (uint32_t t = program->first_turn[rank]; t < program->first_turn[rank + 1]; t++) {
        const struct program_turn *turn = &program->turns[t];
        uint64_t end = (uint64_t)turn->microbatch + turn->count;

        if (turn->segment >= program->nsegments || turn->count == 0 || end > n ||
            turn->first != (done[turn->segment] == 0))
            return wrong_turns(c, rank, turn->segment);
        done[turn->segment] +=
            (end * (end + 1) - (end - turn->count) * (end - turn->count + 1)) / 2;
    }
    for (uint32_t s = 0; s < program->nsegments; s++) {
        bool once = program_segment_is_once(&program->segments[s]);

        if (has_segment(program, rank, s) && (once ? done[s] == 0 : done[s] != n * (n + 1) / 2))
            return wrong_turns(c, rank, s);
    }
    return SHD_OK;
}

static int check_turns(const struct checked *c)
{
    uint64_t *done = malloc(((size_t)c->program->nsegments + 1) * sizeof *done);
    int status = done ? SHD_OK : shd_error_set(c->err, SHD_ENOMEM, "no memory to check a program");

    for (uint32_t rank = 0; rank < c->program->nranks && status == SHD_OK; rank++)
        status = check_rank(c, rank, done);
    free(done);
    return status;
}

/* ---- results ---- */

static int check_results(const struct checked *c)
{
    const struct program *program = c->program;

    for (uint32_t r = 0; r < program->nresults; r++) {
        const struct program_result *result = &program->results[r];
        const struct program_buffer *b = &program->buffers[result->buffer];
        const struct program_buffer *of =
            result->of == PROGRAM_NONE ? NULL : &program->buffers[result->of];

        if (b->last_op != program->nops || b->sharding.partial)
            return wrong_buffer(c, result->buffer, "is a result, and freed or a partial sum");
        if (of && (of->dtype != b->dtype || !shd_sharding_equal(&of->sharding, &b->sharding)))
            return wrong_buffer(c, result->buffer, "does not match the argument to replace");
    }
    return SHD_OK;
}

int program_check(const struct program *program, struct shd_error *err)
{
    uint32_t all = (UINT32_C(1) << shd_mesh_naxes(program->mesh)) - 1;
    uint32_t stages = program->stage_axis < 0 ? 0 : UINT32_C(1) << program->stage_axis;
    struct checked c = {program, all & ~stages, err};
    int status = SHD_OK;

    for (uint32_t b = 0; b < program->nbuffers && status == SHD_OK; b++)
        status = check_buffer(&c, b);
    for (uint32_t i = 0; i < program->nops && status == SHD_OK; i++)
        status = check_op(&c, i);
    if (status == SHD_OK)
        status = check_segments(&c);
    if (status == SHD_OK)
        status = check_turns(&c);
    return status == SHD_OK ? check_results(&c) : status;
}
