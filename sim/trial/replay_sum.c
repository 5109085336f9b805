/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "trial/replay_sum.h"

#include <stdlib.h>
#include <string.h>

#include "coll/coll.h"
#include "kern/convert.h"
#include "trial/elements.h"

/* Buffers of a member: one for each of enum coll_buf. */
#define NBUFS 3

struct replay {
    const struct program *program;
    const struct program_op *op;
    const struct coll_algo *algo;
    struct coll_shape shape;
    struct shd_groups groups;
    int32_t group; /* the group of the device that is checked */
    enum shd_dtype dtype;
    double **bufs; /* [member][enum coll_buf] */
};

static double *buf_at(const struct replay *r, uint32_t member, enum coll_buf buf, uint64_t at)
{
    return r->bufs[(size_t)member * NBUFS + (size_t)buf] + at;
}

/* ---- the members' operands ---- */

/* Load a shard chunk by chunk, as a reduce-scatter numbers its elements, cut along a dimension.
 * Chunks of several arrays are joined: `joined` elements a chunk, of which this array's begin at
 * `first`. */
static void load_chunks(const struct replay *r, const struct program_buffer *b, const void *shard,
                        uint64_t first, uint64_t joined, double *in)
{
    uint64_t n = r->shape.nmembers, size = shd_dtype_size(b->dtype);
    uint64_t dim = (uint64_t)r->op->reshard.dim;
    uint64_t run = (uint64_t)b->local[dim] / n, nruns; /* consecutive elements of a chunk, and
                                                          their number */

    for (uint64_t d = dim + 1; d < b->rank; d++)
        run *= (uint64_t)b->local[d];
    nruns = run ? elements_of(b) / n / run : 0;
    for (uint64_t chunk = 0; chunk < n; chunk++)
        for (uint64_t row = 0; row < nruns; row++)
            kern_load_f64(b->dtype, (const char *)shard + (row * n + chunk) * run * size, 1, run,
                          in + chunk * joined + first + row * run);
}

/* Load a shard that is cut into consecutive pieces, with zeros behind its end. */
static void load_pieces(const struct replay *r, const struct program_buffer *b, const void *shard,
                        uint64_t piece, uint64_t first, uint64_t joined, double *in)
{
    uint64_t count = elements_of(b), size = shd_dtype_size(b->dtype);

    for (uint64_t chunk = 0, at = 0; chunk < r->shape.nmembers && at < count; chunk++, at += piece)
        kern_load_f64(b->dtype, (const char *)shard + at * size, 1,
                      count - at < piece ? count - at : piece, in + chunk * joined + first);
}

static void load_member(const struct replay *r, uint32_t member, const void *const *shards)
{
    const struct program_buffer *buffers = r->program->buffers;
    uint64_t at = 0;

    for (uint32_t k = 0; k < r->op->ninputs; k++) {
        const struct program_buffer *b = &buffers[r->op->inputs[k]];
        const void *shard = shards[r->op->inputs[k]];

        if (r->algo->kind == COLL_REDUCE_SCATTER && shd_reshard_is_flat(&r->op->reshard)) {
            uint64_t piece = elements_of(&buffers[r->op->outputs[k]]);

            load_pieces(r, b, shard, piece, at, r->shape.count / r->shape.nmembers,
                        buf_at(r, member, COLL_IN, 0));
            at += piece;
        } else if (r->algo->kind == COLL_REDUCE_SCATTER) {
            load_chunks(r, b, shard, at, r->shape.count / r->shape.nmembers,
                        buf_at(r, member, COLL_IN, 0));
            at += elements_of(b) / r->shape.nmembers;
        } else {
            kern_load_f64(b->dtype, shard, 1, (size_t)elements_of(b),
                          buf_at(r, member, COLL_IN, at));
            at += elements_of(b);
        }
    }
}

/* ---- executing the moves ---- */

static void add(enum shd_dtype dtype, double *to, const double *from, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        to[i] = kern_round(dtype, to[i] + from[i]);
}

static void make_move(const struct replay *r, uint32_t member, const struct coll_move *m)
{
    double *to = buf_at(r, member, m->dst, m->dst_at);
    const double *from = buf_at(r, m->peer, m->src, m->src_at);

    if (m->act == COLL_COMBINE)
        add(r->dtype, to, from, m->count);
    else if (m->act == COLL_COPY)
        memmove(to, from, m->count * sizeof *to);
    else
        memset(to, 0, m->count * sizeof *to);
}

static void make_moves(const struct replay *r)
{
    struct coll_move move;
    uint32_t nsteps = r->algo->nsteps(&r->shape);

    for (uint32_t s = 0; s < nsteps; s++)
        for (uint32_t m = 0; m < r->shape.nmembers; m++)
            for (uint32_t i = 0; i < r->algo->nmoves(&r->shape, m, s); i++) {
                r->algo->move(&r->shape, m, s, i, &move);
                make_move(r, m, &move);
            }
}

/* ---- the replay ---- */

static void fini(struct replay *r)
{
    for (size_t i = 0; r->bufs && i < (size_t)r->shape.nmembers * NBUFS; i++)
        free(r->bufs[i]);
    free(r->bufs);
}

static bool init(struct replay *r, int32_t position)
{
    const struct shd_reshard_step *step = &r->op->reshard;
    uint32_t n = r->shape.nmembers;

    if (shd_groups_init(&r->groups, step->from.mesh, step->axes, step->naxes, NULL) != SHD_OK)
        abort(); /* cannot fail: axes of the mesh, without repeats */
    r->group = shd_groups_find(&r->groups, position);
    r->dtype = r->program->buffers[r->op->inputs[0]].dtype;
    r->bufs = calloc((size_t)n * NBUFS, sizeof *r->bufs);
    for (uint32_t m = 0; r->bufs && m < n; m++) {
        uint64_t counts[NBUFS] = {coll_in_count(r->algo->kind, &r->shape, m),
                                  coll_out_count(r->algo->kind, &r->shape, m),
                                  r->algo->tmp_count ? r->algo->tmp_count(&r->shape) : 0};

        for (size_t b = 0; b < NBUFS; b++) {
            double *buf = calloc(counts[b] + KERN_LANES, sizeof(double));

            r->bufs[m * NBUFS + b] = buf;
            if (!buf)
                return false;
        }
    }
    return r->bufs != NULL;
}

bool replay_sum_serves(const struct program *program, const struct program_op *op)
{
    struct coll_shape shape;
    const struct coll_algo *algo = program_algo(program, op, &shape);

    return algo && algo->reduces && shape.count <= REPLAY_SUM_ELEMENTS_MAX / shape.nmembers;
}

bool replay_sum(const struct program *program, const struct program_op *op, int32_t position,
                uint32_t part, const void *const *const *shards, double *want)
{
    struct replay r = {.program = program, .op = op};
    uint64_t at = 0;
    bool done;

    r.algo = program_algo(program, op, &r.shape);
    done = init(&r, position);
    for (uint32_t m = 0; done && m < r.shape.nmembers; m++)
        load_member(&r, m, shards[shd_groups_position(&r.groups, r.group, (int32_t)m)]);
    if (done) {
        make_moves(&r);
        for (uint32_t k = 0; k < part; k++)
            at += elements_of(&program->buffers[op->outputs[k]]);
        memcpy(want, buf_at(&r, (uint32_t)shd_groups_member(&r.groups, position), COLL_OUT, at),
               elements_of(&program->buffers[op->outputs[part]]) * sizeof *want);
    }
    fini(&r);
    return done;
}
