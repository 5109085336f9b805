/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "cost/works.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/map.h"

#define NOT_SEEN (-1) /* nanoseconds in a column for a work that was not timed */

/* A thread has kept its core if its wall time exceeds its CPU time by no more than this: the time
 * of reading the clocks, and an eighth, by which the two clocks may disagree. */
#define KEPT_NS 2000
#define KEPT_SHARE 8

/* The properties that make two ops the same work.  Hashes and comparisons cover all bytes, so keys
 * are zeroed before they are filled. */
struct key {
    enum program_op_kind kind;
    union kern_desc desc; /* PROGRAM_KERNEL */
    const struct kern_kernel *kernel;
    int64_t offsets[KERN_OFFSETS_MAX];
    uint64_t amount;                      /* work skipped or done by offsets, from as_work() */
    uint32_t same_as[PROGRAM_INPUTS_MAX]; /* index of the first input that is the same array */
    /* PROGRAM_RESHARD: */
    enum shd_reshard_kind step;
    bool zeroes; /* a mask that keeps no element */
    enum shd_dtype dtype;
    int64_t from[PROGRAM_RANK_MAX], to[PROGRAM_RANK_MAX]; /* extents of the shards; 0 behind the
                                                             last */
};

_Static_assert(sizeof(struct key) % sizeof(uint64_t) == 0, "a key is hashed by words");

/* Least times of runs in which the thread kept its core, and of runs in which it lost the core. */
struct least {
    int64_t kept_ns, lost_ns;
};

struct work {
    struct key key;
    struct least columns[WORKS_COLUMNS_MAX];
};

struct works {
    struct work *works;
    uint32_t nworks;
    struct map numbers; /* by hash of the key */
};

struct works *works_create(void)
{
    return calloc(1, sizeof(struct works));
}

void works_destroy(struct works *works)
{
    if (!works)
        return;
    free(works->works);
    map_fini(&works->numbers);
    free(works);
}

/* ---- numbers by key ---- */

/* The number of a key, added if new; WORKS_NONE: no memory. */
static uint32_t number_of(struct works *w, const struct key *key)
{
    uint64_t h = hash_words(HASH_BEGIN, key, sizeof *key / sizeof(uint64_t));
    struct map_walk walk = map_find(&w->numbers, h);
    uint32_t i;

    while ((i = map_next(&walk)) != MAP_NONE)
        if (memcmp(&w->works[i].key, key, sizeof *key) == 0)
            return i;
    if (!array_make_room(&w->works, w->nworks, sizeof *w->works) ||
        !map_add(&w->numbers, h, w->nworks))
        return WORKS_NONE;
    w->works[w->nworks].key = *key;
    for (uint32_t c = 0; c < WORKS_COLUMNS_MAX; c++)
        w->works[w->nworks].columns[c] = (struct least){NOT_SEEN, NOT_SEEN};
    return w->nworks++;
}

/* ---- keys of ops ---- */

static void set_kernel_key(struct key *key, const struct program_op *op)
{
    key->kernel = op->kernel;
    memcpy(&key->desc, op->desc, sizeof key->desc);
    for (uint32_t k = 0; k < op->ninputs; k++)
        while (op->inputs[key->same_as[k]] != op->inputs[k])
            key->same_as[k]++;
}

static void set_step_key(struct key *key, const struct program *program,
                         const struct program_op *op)
{
    const struct program_buffer *in = &program->buffers[op->inputs[0]];
    const struct program_buffer *out = &program->buffers[op->outputs[0]];

    if (op->kind == PROGRAM_RESHARD)
        key->step = op->reshard.kind;
    key->dtype = in->dtype;
    memcpy(key->from, in->local, in->rank * sizeof *in->local);
    memcpy(key->to, out->local, out->rank * sizeof *out->local);
}

/* Set the part of a key that differs between devices; whether it changed. */
static bool set_device_key(struct key *key, const struct program *program,
                           const struct program_op *op, int32_t device)
{
    bool changed = false, zeroes = false;
    int64_t start[SHD_RANK_MAX];

    for (uint32_t k = 0; op->kind == PROGRAM_KERNEL && k < op->noffsets; k++) {
        const struct program_buffer *b = &program->buffers[op->offsets[k].buffer];

        shd_sharding_offset(&b->sharding, b->shape, device, start);
        changed |= key->offsets[k] != start[op->offsets[k].dim];
        key->offsets[k] = start[op->offsets[k].dim];
    }
    if (op->kind == PROGRAM_RESHARD && op->reshard.kind == SHD_RESHARD_MASK)
        for (uint8_t a = 0; a < op->reshard.naxes; a++)
            zeroes |= shd_mesh_coord(program->mesh, device, op->reshard.axes[a]) != 0;
    changed |= key->zeroes != zeroes;
    key->zeroes = zeroes;
    return changed;
}

/* Number of a work; devices whose offsets lead to the same amount of work share one number. */
static uint32_t number_as_work(struct works *works, const struct key *key)
{
    struct key work;

    memcpy(&work, key, sizeof work); /* with the zeros between fields */
    if (key->kind == PROGRAM_KERNEL && key->kernel->as_work)
        work.amount = key->kernel->as_work(&work.desc, work.offsets);
    return number_of(works, &work);
}

static bool number_op(uint32_t *ids, struct works *works, const struct program *program, uint32_t i)
{
    const struct program_op *op = &program->ops[i];
    int32_t ndevices = shd_mesh_size(program->mesh);
    uint32_t id = WORKS_NONE;
    bool first = true;
    struct key key;

    memset(&key, 0, sizeof key);
    key.kind = op->kind;
    if (op->kind == PROGRAM_KERNEL)
        set_kernel_key(&key, op);
    else
        set_step_key(&key, program, op);
    for (int32_t d = 0; d < ndevices; d++) {
        if (!program_holds(program, program_rank(program, d), op))
            continue;
        if (set_device_key(&key, program, op, d) || first)
            id = number_as_work(works, &key);
        if (id == WORKS_NONE)
            return false;
        first = false;
        ids[(size_t)d * program->nops + i] = id;
    }
    return true;
}

int works_number(uint32_t **out, struct works *works, const struct program *program,
                 struct shd_error *err)
{
    size_t cells = (size_t)shd_mesh_size(program->mesh) * program->nops;
    uint32_t *ids = malloc((cells + 1) * sizeof *ids);
    bool good = ids != NULL;

    if (good)
        memset(ids, 0xff, (cells + 1) * sizeof *ids); /* WORKS_NONE */
    for (uint32_t i = 0; i < program->nops && good; i++)
        if (program->ops[i].kind != PROGRAM_FILL && !program_communicates(&program->ops[i]))
            good = number_op(ids, works, program, i);
    if (good) {
        *out = ids;
        return SHD_OK;
    }
    free(ids);
    return shd_error_set(err, SHD_ENOMEM, "no memory for the works of a program of %" PRIu32 " ops",
                         program->nops);
}

uint32_t works_count(const struct works *works)
{
    return works->nworks;
}

/* ---- times ---- */

static void lower(int64_t *least_ns, int64_t ns)
{
    if (*least_ns == NOT_SEEN || (ns != NOT_SEEN && ns < *least_ns))
        *least_ns = ns;
}

static void take(struct least *least, const struct record_time *t)
{
    int64_t wall_ns = t->end_ns - t->start_ns;

    if (wall_ns <= t->cpu_ns + wall_ns / KEPT_SHARE + KEPT_NS)
        lower(&least->kept_ns, wall_ns);
    else
        lower(&least->lost_ns, t->cpu_ns);
}

void works_take(struct works *works, uint32_t column, const uint32_t *ids,
                const struct record *record, int32_t first, int32_t stride)
{
    size_t nops = record->program->nops;

    for (int32_t d = first; d < record->ndevices; d += stride)
        for (size_t at = (size_t)d * nops; at < ((size_t)d + 1) * nops; at++)
            if (ids[at] != WORKS_NONE)
                take(&works->works[ids[at]].columns[column], &record->times[at]);
}

int64_t works_least(const struct works *works, uint32_t id, uint32_t from, uint32_t to)
{
    const struct least *columns = works->works[id].columns;
    struct least least = {NOT_SEEN, NOT_SEEN};

    for (uint32_t c = from; c < to; c++) {
        lower(&least.kept_ns, columns[c].kept_ns);
        lower(&least.lost_ns, columns[c].lost_ns);
    }
    return least.kept_ns != NOT_SEEN ? least.kept_ns : least.lost_ns;
}
