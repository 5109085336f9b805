/* Tests program/classes.h: devices of a class have equal figures, in steps of all kinds and with
 * all algorithms; and a plan of a million devices takes no more work than one of a thousand.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "program/classes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cost/plan.h"
#include "../support/reshard_case.h"
#include "../support/tap.h"
#include "../support/tried.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define NCASES 400
#define SEED 20261122

/* ---- steps between random shardings, under random algorithms ---- */

static struct shd_mesh *random_mesh(void)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    static const int32_t choice[] = {2, 3, 4, 5, 6};
    int32_t sizes[4], ndevices = 1;
    size_t naxes = 0;
    struct shd_mesh *mesh;

    while (naxes < 4 && ndevices * (sizes[naxes] = choice[random_below(5)]) <= 64)
        ndevices *= sizes[naxes++];
    if (shd_mesh_create(&mesh, names, sizes, naxes, NULL) != SHD_OK)
        abort();
    return mesh;
}

static const struct coll_algo *random_algo(enum coll_kind kind)
{
    const struct coll_algo *found = NULL;
    uint32_t n = 0;

    for (size_t i = 0; coll_algos[i]; i++)
        if (coll_algos[i]->kind == kind && random_below(++n) == 0)
            found = coll_algos[i];
    return found;
}

/* Add the steps that reshard an array from one random sharding to another. */
static void add_steps(struct program *p)
{
    struct shd_sharding from = random_sharding(p->mesh, 2, 30);
    struct shd_sharding to = random_sharding(p->mesh, 2, 0);
    static struct shd_reshard_plan plan;
    int64_t shape[2];
    uint32_t buffers[2];

    for (size_t d = 0; d < 2; d++) /* all-reduces mostly have uneven chunks */
        shape[d] = common_multiple(shd_sharding_nshards(&from, d), shd_sharding_nshards(&to, d)) *
                   (1 + random_below(3));
    if (shd_reshard_build(&plan, &from, &to, shape, SHD_F32, NULL) != SHD_OK ||
        program_add_buffer(&buffers[0], p, "x", SHD_F32, shape, &from, NULL) != SHD_OK)
        abort();
    for (size_t i = 0; i < plan.nsteps; i++) {
        struct program_op op = {.kind = PROGRAM_RESHARD,
                                .name = "x",
                                .ninputs = 1,
                                .noutputs = 1,
                                .reshard = plan.steps[i]};

        if (program_add_buffer(&buffers[1], p, "x", SHD_F32, shape, &plan.steps[i].to, NULL))
            abort();
        op.inputs[0] = buffers[0];
        op.outputs[0] = buffers[1];
        if (program_add_op(p, &op, NULL) != SHD_OK)
            abort();
        buffers[0] = buffers[1];
    }
}

struct walked {
    uint64_t received[64], sent[64];
    int32_t position;
};

static bool walk(void *arg, int32_t source, uint64_t bytes)
{
    struct walked *w = arg;

    w->received[w->position] += bytes;
    w->sent[source] += bytes;
    return true;
}

/* Whether the figures of each device's class equal those of walking its moves and boxes. */
static bool is_walked(const struct record *r)
{
    struct walked w = {{0}, {0}, 0};
    const struct program *p = r->program;

    for (; w.position < r->ndevices; w.position++)
        for (uint32_t i = 0; i < p->nops; i++)
            program_transfers(p, &p->ops[i], w.position, walk, &w);
    for (int32_t d = 0; d < r->ndevices; d++) {
        uint32_t row = record_row_of(r, d);
        struct program_class class = record_row(r, row);

        for (size_t a = 0; a < shd_mesh_naxes(p->mesh); a++)
            if (shd_mesh_coord(p->mesh, d, a) < class.start[a] ||
                shd_mesh_coord(p->mesh, d, a) >= class.start[a] + class.size[a])
                return false;
        if (r->received_bytes[row] != w.received[d] || r->sent_bytes[row] != w.sent[d])
            return false;
    }
    return true;
}

static bool totals_agree(const struct record *r)
{
    const struct program *p = r->program;
    uint128 by_ops = 0;

    for (uint32_t i = 0; i < p->nops; i++) {
        const struct program_buffer *b = &p->buffers[p->ops[i].inputs[0]];

        if (program_step_received(&p->ops[i].reshard, b->shape, b->dtype, p->algos) !=
            record_op_received(r, i))
            return false;
        by_ops += record_op_received(r, i);
    }
    return record_received(r) == by_ops && record_sum(r, r->sent_bytes) == by_ops;
}

static struct {
    uint32_t exchanges, fewer, several;
} seen;

static bool random_case(uint64_t seed)
{
    struct shd_mesh *mesh;
    struct program *p;
    struct record *r;
    bool good;

    random_state = seed;
    mesh = random_mesh();
    p = program_create(mesh);
    if (!p)
        abort();
    for (int k = 0; k < COLL_NKINDS; k++)
        p->algos[k] = random_algo((enum coll_kind)k);
    for (uint32_t n = 1 + random_below(3); n > 0; n--)
        add_steps(p);
    if (program_set_order(p, 1, NULL, NULL) != SHD_OK || plan_create(&r, p, NULL) != SHD_OK)
        abort();
    good = is_walked(r) && totals_agree(r);
    for (uint32_t k = 0; k < r->classes->nmoves; k++)
        seen.exchanges += program_coll_kind(&p->ops[r->classes->moves[k].op]) < 0;
    seen.fewer += r->nrows < (uint32_t)r->ndevices;
    seen.several += r->nrows > 1;
    record_destroy(r);
    program_destroy(p);
    shd_mesh_destroy(mesh);
    return good;
}

static void test_random(void)
{
    uint32_t ngood = 0;

    for (uint32_t i = 0; i < NCASES; i++) {
        bool good = random_case(SEED + i);

        if (!good)
            diag("seed %" PRIu32 " differs", SEED + i);
        ngood += good;
    }
    ok(ngood == NCASES, "classes of random steps have what each device's moves come to");
    ok(seen.exchanges > NCASES / 8 && seen.fewer > NCASES / 4 && seen.several > NCASES / 4,
       "among them exchanges (%u), plans with fewer classes than devices (%u), with several (%u)",
       seen.exchanges, seen.fewer, seen.several);
}

/* ---- cuts ---- */

/* An all-reduce of `count` elements over both axes of {a: 4, b: 6}, 24 members. */
static void test_cuts(void)
{
    static const struct {
        int64_t count;
        uint32_t nclasses, na, nb;
        const char *what;
    } cases[] = {
        {48, 1, 1, 1, "none where chunks are equal"},
        {12, 2, 2, 1, "the major axis alone, where the longer chunks end with its digit"},
        {1, 4, 2, 2, "both, for a single element: the first member has it"},
        {27, 4, 2, 2, "both, where they end inside the first digit"},
        {15, 6, 3, 2, "the major axis around its digit, the minor at its own"},
    };
    const char *const names[] = {"a", "b"};
    const int32_t sizes[] = {4, 6};
    struct shd_mesh *mesh;

    if (shd_mesh_create(&mesh, names, sizes, 2, NULL) != SHD_OK)
        abort();
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct program_op op = {.kind = PROGRAM_RESHARD, .ninputs = 1, .noutputs = 1};
        struct program *p = program_create(mesh);
        struct program_classes *c;
        struct shd_sharding s;

        shd_sharding_init(&s, mesh, 1);
        op.reshard = (struct shd_reshard_step){
            .kind = SHD_RESHARD_ALL_REDUCE, .naxes = 2, .axes = {0, 1}, .from = s, .to = s};
        if (!p || program_add_buffer(&op.inputs[0], p, "x", SHD_F32, &cases[i].count, &s, NULL) ||
            program_add_op(p, &op, NULL) || program_add_op(p, &op, NULL) ||
            program_classes_create(&c, p, NULL))
            abort();
        ok(c->nclasses == cases[i].nclasses && c->nsegments[0] == cases[i].na &&
               c->nsegments[1] == cases[i].nb && c->nmoves == 1 && c->moves[0].times == 2,
           "cut: %s", cases[i].what);
        program_classes_destroy(c);
        program_destroy(p);
    }
    shd_mesh_destroy(mesh);
}

/* ---- growth ---- */

static const char transformer[] =
    "version: 1\n"
    "mesh: {dp: %d, tp: 8}\n"
    "model: {kind: transformer, d_model: 8192, d_ff: 28672, heads: 64, kv_heads: 8,\n"
    "        activation: swiglu, layers: %d, vocab: 128256}\n"
    "batch: {size: %d, seq: 4096}\n"
    "step: [forward, backward]\n"
    "params:\n"
    "  - [attn/(q|k|v)/kernel, [null, tp, null]]\n"
    "  - [attn/o/kernel, [tp, null, null]]\n"
    "  - [mlp/(up|gate)/kernel, [null, tp]]\n"
    "  - [mlp/down/kernel, [tp, null]]\n"
    "  - [.*, []]\n"
    "axes: {batch: dp}\n";

/* Plan the step of a scenario on `ndevices` devices. */
static bool plan_text(const char *text, int32_t ndevices, const struct coll_algo *all_reduce,
                      uint32_t *nclasses)
{
    struct variant v;
    bool good = tried_init(&v, text, strlen(text));

    if (good) {
        v.trial.program->algos[COLL_ALL_REDUCE] = all_reduce;
        good = variant_plan(&v, false, NULL) == SHD_OK && v.trial.record->ndevices == ndevices;
        *nclasses = good ? v.trial.record->nrows : 0;
        variant_fini(&v);
    }
    return good;
}

static bool plan_transformer(int32_t ndevices, int nlayers, const struct coll_algo *all_reduce,
                             uint32_t *nclasses)
{
    char text[1024];

    snprintf(text, sizeof text, transformer, (int)ndevices / 8, nlayers, (int)ndevices / 8);
    return plan_text(text, ndevices, all_reduce, nclasses);
}

static uint64_t ncalls;

static uint64_t count_received(const struct coll_shape *shape, uint32_t member)
{
    ncalls++;
    return coll_find(COLL_ALL_REDUCE, NULL)->received(shape, member);
}

static uint64_t count_sent(const struct coll_shape *shape, uint32_t member)
{
    ncalls++;
    return coll_find(COLL_ALL_REDUCE, NULL)->sent(shape, member);
}

static uint32_t count_alike(const struct coll_shape *shape, uint32_t member)
{
    ncalls++;
    return coll_find(COLL_ALL_REDUCE, NULL)->alike(shape, member);
}

static void test_growth(void)
{
    struct coll_algo counting = *coll_find(COLL_ALL_REDUCE, NULL);
    uint64_t calls[2];
    uint32_t nclasses[2];
    bool good;

    counting.received = count_received;
    counting.sent = count_sent;
    counting.alike = count_alike;
    good = plan_transformer(1024, 4, &counting, &nclasses[0]);
    calls[0] = ncalls;
    good = plan_transformer(1048576, 4, &counting, &nclasses[1]) && good;
    calls[1] = ncalls - calls[0];
    ok(good && calls[0] > 0 && calls[1] <= 3 * calls[0],
       "closed forms are asked for %" PRIu64 " times on 1,024 devices, %" PRIu64
       " times on 1,048,576",
       calls[0], calls[1]);
    ok(good && nclasses[1] <= 3 * nclasses[0], "classes: %u on 1,024 devices, %u on 1,048,576",
       nclasses[0], nclasses[1]);
}

#define MEMORY_MAX_KIB (200 << 10)

static bool plan_layers(void)
{
    uint32_t nclasses;

    return plan_transformer(1048576, 80, NULL, &nclasses);
}

/* With 8,192 shards of tokens and as many of experts, most pairs have no rows to move; a table of
 * all pairs would take 512 MiB. */
static bool plan_experts(void)
{
    static const char text[] =
        "version: 1\n"
        "mesh: {ep: 8192}\n"
        "model: {kind: transformer, d_model: 64, heads: 8, d_ff: 128, vocab: 128}\n"
        "moe: {experts: 8192, top_k: 2, d_ff: 128}\n"
        "batch: {size: 8192, seq: 8}\n"
        "step: [forward, backward]\n"
        "params: [[moe/(up|down)/kernel, [ep]], [.*, []]]\n"
        "axes: {batch: ep}\n";
    uint32_t nclasses;

    return plan_text(text, 8192, NULL, &nclasses);
}

/* Plan in a process of its own, whose memory the system reports; skipped under a sanitizer. */
static void test_memory(const char *what, bool (*plans)(void))
{
    pid_t pid = fork();
    struct rusage usage;
    int status;

    if (pid == 0)
        _exit(plans() ? 0 : 1);
    if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
        abort();
    ok(status == 0 && (SANITIZED || usage.ru_maxrss < MEMORY_MAX_KIB), "%s are planned%s", what,
       SANITIZED ? "" : " in less than 200 MiB");
    diag("%ld KiB at most", usage.ru_maxrss);
}

int main(void)
{
    plan(0);
    test_random();
    test_cuts();
    test_growth();
    test_memory("80 layers on 1,048,576 devices", plan_layers);
    test_memory("8,192 experts on as many devices", plan_experts);
    return done();
}
