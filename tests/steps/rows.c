/* Tests dispatch and combine of tokens to rows of experts, on random meshes, shardings and
 * routings: executed bytes equal the planned ones and a count copy by copy, values equal those of
 * a plain loop, and a wrong row is found.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "graph/gradient.h"
#include "graph/recompute.h"
#include "graph/stages.h"
#include "program/classes.h"
#include "program/rows.h"
#include "../support/random_program.h"
#include "../support/step.h"
#include "../support/tap.h"
#include "timetable/timetable.h"
#include "trial/verify.h"
#include "run/walk/walk.h"

enum { NODES_MAX = 256, NAXES_MAX = 3 };

/* A graph whose tokens are dispatched to experts, multiplied there, and combined. */
struct experts {
    struct random random;
    uint64_t seed;
    struct shd_mesh *mesh;
    struct graph *graph;
    struct kern_routing routing, slots_as_ids;
    int32_t *room;
    int64_t batch, seq, width, hidden, groups;
    uint32_t stages; /* stages of a pipeline; 1: no pipeline */
    struct program_stages order;
    struct timetable *timetable;
    uint32_t x, ids, slots, weight[2], gates[2], rows[2], placed[2];
    struct shd_sharding storage[2 * NODES_MAX];
    const struct shd_sharding *nodes[NODES_MAX], *outputs[NODES_MAX];
};

/* Counts of the situations that the cases covered; the test fails if one stays at 0. */
static struct {
    unsigned dispatched, combined, local, partial, replicated, dropped, widths, gradients,
        sequences;
    unsigned experts, slots, recomputed, microbatches, staged, planted;
} seen;

static void make_mesh(struct experts *e)
{
    static const char *const names[] = {"p", "q", "r"};
    uint32_t naxes = e->stages + random_below(&e->random, NAXES_MAX - e->stages + 1);
    int32_t sizes[NAXES_MAX] = {(int32_t)e->stages}, size = (int32_t)e->stages;

    for (uint32_t a = e->stages - 1; a < naxes; a++) {
        do
            sizes[a] = 1 + (int32_t)random_below(&e->random, 4);
        while (size * sizes[a] > 8);
        size *= sizes[a];
    }
    if (shd_mesh_create(&e->mesh, names, sizes, naxes, NULL) != SHD_OK)
        abort();
}

static void make_routing(struct experts *e)
{
    static const uint32_t numbers[] = {4, 6, 8, 12, 16};
    struct kern_routing_spec spec = {
        .kind = (enum kern_routing_kind)random_below(&e->random, KERN_ROUTING_NKINDS),
        .tokens = e->batch / e->groups * e->seq,
        .choices = 1 + random_below(&e->random, 3),
        .experts = numbers[random_below(&e->random, 5)],
        .slot_major = random_chance(&e->random, 50),
        .skew = 1.2,
        .share = 0.4,
        .hot = random_below(&e->random, 4),
        .ranks = 2,
        .seed = random_below(&e->random, 1000)};

    if (spec.kind == KERN_ROUTING_HOT_RANK)
        spec.hot %= 2;
    if (random_chance(&e->random, 50))
        spec.capacity = 1 + spec.tokens * spec.choices / spec.experts;
    e->room = calloc(kern_routing_room(&spec), sizeof *e->room);
    if (!e->room || !kern_routing_make(&e->routing, &spec, e->room))
        abort();
    e->slots_as_ids = e->routing; /* slots are filled like ids */
    e->slots_as_ids.ids = e->routing.slots;
    e->slots_as_ids.experts = INT32_MAX;
    for (int64_t i = 0; i < spec.tokens * spec.choices; i++)
        seen.dropped += e->routing.ids[i] >= 0 && e->routing.slots[i] < 0;
}

/* The axis of the pipeline: the first one; -1: no pipeline. */
static int stage_axis(const struct experts *e)
{
    return e->stages > 1 ? 0 : -1;
}

/* Put each axis on a random dimension that it divides; the slots of a group mostly stay
 * together. */
static void ask(struct experts *e, uint32_t node)
{
    const struct graph_node *n = &e->graph->nodes[node];
    struct shd_sharding *s = &e->storage[node];
    int64_t left[GRAPH_RANK_MAX];

    shd_sharding_init(s, e->mesh, n->rank);
    graph_shape(e->graph, node, left);
    for (uint32_t d = 0; d < n->rank; d++) {
        const char *name = e->graph->dims[n->dims[d]].name;

        if (!strcmp(name, "slot") && random_chance(&e->random, 60))
            left[d] = e->groups;
        if (!strcmp(name, "choice"))
            left[d] = 1;
    }
    for (uint32_t a = 0; a < shd_mesh_naxes(e->mesh); a++) {
        uint32_t d = random_below(&e->random, n->rank);
        int32_t size = shd_mesh_axis_size(e->mesh, a);

        if ((int)a == stage_axis(e) || random_chance(&e->random, 20) || left[d] % size)
            continue;
        left[d] /= size;
        s->dims[d].axes[s->dims[d].naxes++] = (uint8_t)a;
    }
    e->nodes[node] = s;
}

static struct kern_source numbers(uint32_t seed)
{
    return (struct kern_source){.seed = seed, .scale = 2};
}

/* Numbers of the graph's dimensions. */
struct dims {
    uint32_t b, s, k, w, x, h, c;
};

/* One layer of experts, from dimension `from` of tokens to dimension `to`. */
static uint32_t add_layer(struct experts *e, const struct dims *d, uint32_t layer, uint32_t input,
                          uint32_t from, uint32_t to)
{
    struct graph *g = e->graph;
    const uint32_t id[] = {d->b, d->s, d->k}, weight[] = {d->x, from, to};
    const uint32_t out[] = {d->x, d->c, to}, y[] = {d->b, d->s, to};
    uint32_t groups = (uint32_t)e->groups, product;

    e->weight[layer] =
        graph_param(g, graph_text(g, "up%u", layer), SHD_F64, weight, 3, numbers(10 + layer));
    e->gates[layer] =
        graph_param(g, graph_text(g, "gates%u", layer), SHD_F64, id, 3, numbers(20 + layer));
    e->rows[layer] = graph_dispatch(g, graph_text(g, "dispatch%u", layer), input, e->ids, e->slots,
                                    d->x, d->c, groups, &e->routing);
    e->placed[layer] = graph_constraint(g, graph_text(g, "rows%u", layer), e->rows[layer]);
    product = graph_einsum(g, graph_text(g, "product%u", layer), e->placed[layer], e->weight[layer],
                           out, 3);
    product = graph_combine(g, graph_text(g, "combine%u", layer), product, e->ids, e->slots, groups,
                            &e->routing);
    return graph_einsum(g, graph_text(g, "y%u", layer), product, e->gates[layer], y, 3);
}

/* The stage of a node is the layer number at the end of its name; -1: no number. */
static int64_t stage_of(void *arg, const char *name)
{
    size_t n = strlen(name);

    (void)arg;
    return n > 1 && (name[n - 1] == '0' || name[n - 1] == '1') ? name[n - 1] - '0' : -1;
}

/* Find a node by name, because stages renumber nodes. */
static uint32_t node_of(const struct graph *g, const char *name)
{
    uint32_t n = 0;

    while (strcmp(g->nodes[n].name, name) != 0)
        n++;
    return n;
}

static void add_gradients(struct experts *e)
{
    static const char *const names[] = {"up0", "up1", "gates0", "gates1", "x"};
    struct graph *g = e->graph;
    uint32_t loss = node_of(g, "loss1"), wrt[5], grads[5];

    seen.gradients++;
    for (int i = 0; i < 5; i++)
        wrt[i] = node_of(g, names[i]);
    graph_gradient(g, loss, wrt, 5, grads);
    for (int i = 0; i < 5 - (e->stages > 1); i++) /* with stages, x differs from microbatch to
                                                   * microbatch */
        graph_output(g, GRAPH_GRADIENT, g->nodes[wrt[i]].name, grads[i], wrt[i]);
}

/* Recompute some forward values in the backward phase. */
static void recompute_some(struct experts *e)
{
    struct graph *g = e->graph;
    bool again[NODES_MAX] = {false};

    for (uint32_t n = 0; n < g->nnodes; n++)
        again[n] = g->nodes[n].phase == GRAPH_FORWARD && g->nodes[n].op > GRAPH_PARAM &&
                   g->nodes[n].op != GRAPH_CONSTRAINT && random_chance(&e->random, 40);
    recompute_clone(g, again, NULL, NULL);
    seen.recomputed++;
}

static void sum_microbatches(struct experts *e)
{
    struct graph *g = e->graph;

    g->microbatches = 3;
    for (uint32_t n = 0; n < g->nnodes; n++)
        if (g->nodes[n].op == GRAPH_INPUT && g->nodes[n].dtype == SHD_F64)
            g->nodes[n].source.place.per_microbatch = 1000;
    g->phase = GRAPH_BACKWARD;
    for (uint32_t o = 0; o < g->noutputs; o++) {
        g->stage = g->nodes[g->outputs[o].node].stage;
        g->outputs[o].node = graph_accumulate(g, g->outputs[o].name, SHD_F64, g->outputs[o].node);
    }
    g->phase = GRAPH_OPTIMIZER;
    for (uint32_t o = 0; o < g->noutputs; o++) {
        g->stage = g->nodes[g->outputs[o].node].stage;
        g->outputs[o].node =
            graph_map(g, g->outputs[o].name, KERN_COPY, g->outputs[o].node, GRAPH_NONE, 0);
    }
    seen.microbatches++;
}

static void add_leaves(struct experts *e, const struct dims *d)
{
    const uint32_t token[] = {d->b, d->s, d->w}, id[] = {d->b, d->s, d->k};
    struct kern_source ids = {.routing = &e->routing}, slots = {.routing = &e->slots_as_ids};

    e->x = graph_input(e->graph, "x", SHD_F64, token, 3, numbers(1));
    e->ids = graph_input(e->graph, "ids", SHD_I32, id, 3, ids);
    e->slots = graph_input(e->graph, "slots", SHD_I32, id, 3, slots);
}

static void build(struct experts *e)
{
    struct graph *g = e->graph = graph_create();
    struct dims d = {.b = graph_dim(g, "batch", e->batch),
                     .s = graph_dim(g, "seq", e->seq),
                     .k = graph_dim(g, "choice", e->routing.choices),
                     .w = graph_dim(g, "width", e->width),
                     .x = graph_dim(g, "expert", e->routing.experts),
                     .h = graph_dim(g, "hidden", e->hidden),
                     .c = graph_dim(g, "slot", e->groups * e->routing.capacity)};
    bool gradients = e->stages > 1 || random_chance(&e->random, 60);
    uint32_t y;

    add_leaves(e, &d);
    y = add_layer(e, &d, 0, e->x, d.w, d.h);
    y = add_layer(e, &d, 1, y, d.h, d.w);
    if (gradients)
        y = graph_einsum(g, "loss1", y, y, NULL, 0);
    if (e->stages > 1)
        graph_set_stages(g, e->stages, stage_of, NULL);
    else
        graph_output(g, GRAPH_OUTPUT, "rows", e->rows[0], GRAPH_NONE);
    if (gradients)
        add_gradients(e);
    else
        graph_output(g, GRAPH_OUTPUT, "y", y, GRAPH_NONE);
    if (g->noutputs > 2 && random_chance(&e->random, 40))
        recompute_some(e);
    if (e->stages > 1 || random_chance(&e->random, 30))
        sum_microbatches(e);
    if (graph_status(g, NULL) != SHD_OK) {
        diag("%s", g->err.text);
        abort();
    }
    for (uint32_t n = 0; n < g->nnodes; n++)
        if (g->nodes[n].op <= GRAPH_PARAM ||
            (g->nodes[n].op == GRAPH_CONSTRAINT && random_chance(&e->random, 70)))
            ask(e, n);
}

static void make_timetable(struct experts *e)
{
    const struct timetable_schedule *schedule;
    const struct timetable_sizes sizes = {
        .nranks = 2, .stages_per_rank = 1, .nmicrobatches = e->graph->microbatches};

    if (timetable_find(&schedule, "1F1B", NULL) != SHD_OK ||
        timetable_build(&e->timetable, schedule, &sizes, NULL) != SHD_OK)
        abort();
    e->order = (struct program_stages){stage_axis(e), e->timetable};
    seen.staged++;
}

static void make(struct experts *e, uint64_t seed)
{
    memset(e, 0, sizeof *e);
    e->seed = e->random.state = seed;
    e->stages = random_chance(&e->random, 15) ? 2 : 1;
    make_mesh(e);
    e->groups = 1 + random_below(&e->random, 2);
    e->batch = 4 * (1 + random_below(&e->random, 3));
    e->seq = 2 * (1 + random_below(&e->random, 4));
    e->width = 4;
    e->hidden = 1 + random_below(&e->random, 6);
    make_routing(e);
    build(e);
    if (e->stages > 1)
        make_timetable(e);
}

static void unmake(struct experts *e)
{
    graph_destroy(e->graph);
    timetable_destroy(e->timetable);
    shd_mesh_destroy(e->mesh);
    free(e->room);
}

/* ---- what must come of it ---- */

/* Whether the rows are those of a plain loop over tokens; rows without a token are zero. */
static bool rows_are_right(const struct experts *e, const struct step *step)
{
    const struct kern_routing *r = &e->routing;
    int64_t slots = e->groups * r->capacity, start[3] = {0}, n = e->batch * e->seq * e->width;
    const int64_t shape[3] = {e->batch, e->seq, e->width};
    int64_t nrows = r->experts * slots * e->width;
    double *x = calloc((size_t)n, sizeof *x), *want = calloc((size_t)nrows, sizeof *want);
    struct kern_source source = e->graph->nodes[e->x].source;
    bool right = x && want;

    if (right)
        kern_fill(&source, SHD_F64, 3, shape, start, shape, x);
    for (int64_t t = 0; right && t < e->batch * e->seq; t++)
        for (uint32_t k = 0; k < r->choices; k++) {
            int64_t i = t % r->tokens * r->choices + k, group = t / r->tokens;

            if (r->slots[i] >= 0)
                memcpy(want + (r->ids[i] * slots + group * r->capacity + r->slots[i]) * e->width,
                       x + t * e->width, (size_t)e->width * sizeof *x);
        }
    for (int64_t i = 0; right && i < nrows; i++)
        right = step_value(step, step_result(step, "rows"), i) == want[i];
    free(x);
    free(want);
    return right;
}

/* Whether a device's shard contains the element at (first, second) of the first two dimensions. */
static bool has(const struct program_buffer *b, int32_t device, int64_t first, int64_t second)
{
    int64_t offset[SHD_RANK_MAX];

    shd_sharding_offset(&b->sharding, b->shape, device, offset);
    return first >= offset[0] && first < offset[0] + b->local[0] && second >= offset[1] &&
           second < offset[1] + b->local[1];
}

/* Received bytes counted by hand: each kept choice whose result row the device has, but whose
 * operand it lacks, counts the row's local width. */
static uint64_t bytes_by_hand(const struct experts *e, const struct program *program,
                              const struct program_op *op, int32_t device)
{
    const struct kern_routing *r = &e->routing;
    const struct program_buffer *from = &program->buffers[op->inputs[0]];
    const struct program_buffer *to = &program->buffers[op->outputs[0]];
    uint64_t copies = 0;

    for (int64_t t = 0; t < e->batch * e->seq; t++)
        for (uint32_t k = 0; k < r->choices; k++) {
            int64_t i = t % r->tokens * r->choices + k;
            int64_t slot = t / r->tokens * r->capacity + r->slots[i];

            if (r->slots[i] < 0)
                continue;
            if (op->rows.combines)
                copies +=
                    has(to, device, t / e->seq, t % e->seq) && !has(from, device, r->ids[i], slot);
            else
                copies +=
                    has(to, device, r->ids[i], slot) && !has(from, device, t / e->seq, t % e->seq);
        }
    return copies * (uint64_t)to->local[to->rank - 1] * shd_dtype_size(to->dtype) * op->times;
}

static void count_op(const struct program *program, const struct program_op *op)
{
    const struct program_buffer *from = &program->buffers[op->inputs[0]];
    const struct program_buffer *to = &program->buffers[op->outputs[0]];
    const struct program_buffer *tokens = op->rows.combines ? to : from;
    const struct program_buffer *experts = op->rows.combines ? from : to;
    bool moves = program_communicates(op);

    seen.dispatched += moves && !op->rows.combines;
    seen.combined += moves && op->rows.combines;
    seen.local += !moves;
    seen.partial += from->sharding.partial != 0;
    seen.widths += to->sharding.dims[to->rank - 1].naxes > 0;
    seen.sequences += tokens->sharding.dims[1].naxes > 0;
    seen.experts += experts->sharding.dims[0].naxes > 0;
    seen.slots += experts->sharding.dims[1].naxes > 0;
    seen.replicated += moves && !shd_sharding_is_replicated(&from->sharding) &&
                       shd_mesh_naxes(program->mesh) > op->rows.naxes;
}

static bool bytes_are_right(const struct experts *e, const struct step *step)
{
    const struct program *program = step->program;

    for (uint32_t i = 0; i < program->nops; i++) {
        const struct program_op *op = &program->ops[i];

        if (op->kind != PROGRAM_ROWS)
            continue;
        count_op(program, op);
        for (int32_t d = 0; d < shd_mesh_size(program->mesh); d++) {
            uint64_t want = bytes_by_hand(e, program, op, d);

            if (!program_holds(program, program_rank(program, d), op))
                want = 0;
            if (record_received_in(step->executed, i, d) == want)
                continue;
            diag("op %u (%s): device %d received %llu bytes, not %llu", i, op->name, (int)d,
                 (unsigned long long)record_received_in(step->executed, i, d),
                 (unsigned long long)want);
            return false;
        }
    }
    return true;
}

/* Whether ops that program_rows_moves_alike() calls equal move the same bytes on every device, and
 * each op is equal to itself. */
static bool alike_are_alike(const struct program *program)
{
    for (uint32_t i = 0; i < program->nops; i++)
        for (uint32_t k = i; program->ops[i].kind == PROGRAM_ROWS && k < program->nops; k++) {
            const struct program_op *a = &program->ops[i], *b = &program->ops[k];
            bool alike = b->kind == PROGRAM_ROWS && program_rows_moves_alike(program, a, b);

            if (k == i && !alike)
                return false;
            for (int32_t d = 0; alike && a->stage == b->stage && d < shd_mesh_size(program->mesh);
                 d++) {
                struct program_moved x = program_moved(program, a, d);
                struct program_moved y = program_moved(program, b, d);

                if (x.received != y.received || x.sent != y.sent)
                    return false;
            }
        }
    return true;
}

/* ---- a fault ---- */

/* A fault: the last device overwrites the first row that differs from row 0 with row 0. */
struct fault {
    const struct program *program;
    uint32_t op;
    bool *planted; /* set once planted; stays false if all rows are equal */
};

static void plant(void *arg, int32_t device, uint32_t i, uint32_t microbatch,
                  const void *const *shards)
{
    const struct fault *f = arg;
    const struct program_buffer *b;
    double *shard;
    int64_t width, n;

    (void)microbatch;
    if (i != f->op || device != program_doer(f->program, &f->program->ops[i],
                                             shd_mesh_size(f->program->mesh) - 1))
        return;
    b = &f->program->buffers[f->program->ops[i].outputs[0]];
    shard = (double *)(uintptr_t)shards[f->program->ops[i].outputs[0]];
    width = b->local[b->rank - 1];
    n = (int64_t)(b->bytes / sizeof *shard);
    for (int64_t at = width; at < n; at++)
        if (shard[at] != shard[at % width]) {
            shard[at] = shard[at % width];
            *f->planted = true;
            return;
        }
}

/* Whether a run verifies; with a fault: whether verification finds it at the faulty op. */
static bool verifies(const struct experts *e, const struct program *program, uint32_t fault,
                     bool *planted)
{
    struct verify_opts verify = {.ndevices = shd_mesh_size(e->mesh), .nthreads = 1};
    struct fault f = {program, fault, planted};
    struct walk_opts opts = {.observe = fault == PROGRAM_NONE ? NULL : plant, .observe_arg = &f};
    struct verify_reference reference;
    struct record *run;
    struct shd_error err;
    int status = verify_reference(&reference, e->graph, &verify, &err);
    bool good = false;

    if (status != SHD_OK) {
        diag("reference: %s", err.text);
        return false;
    }
    status = record_create(&run, program, RECORD_EXECUTED, false, &err);
    if (status == SHD_OK) {
        status = verify_run(run, &reference, &opts, &err);
        good = status == SHD_OK && record_verified_ok(run);
        if (status == SHD_OK && fault != PROGRAM_NONE)
            good = run->step_op == fault && run->step.error > 1;
        record_destroy(run);
    }
    if (status != SHD_OK)
        diag("run: %s", err.text);
    verify_reference_fini(&reference);
    return good;
}

/* The first op of rows that communicates; PROGRAM_NONE if there is none. */
static uint32_t some_op(const struct program *program)
{
    for (uint32_t i = 0; i < program->nops; i++)
        if (program->ops[i].kind == PROGRAM_ROWS && program_communicates(&program->ops[i]))
            return i;
    return PROGRAM_NONE;
}

static void dump(const struct experts *e, const struct program *program)
{
    char from[256], to[256], mesh[128];

    shd_mesh_print(e->mesh, mesh, sizeof mesh);
    diag("mesh %s, %u experts, %u choices, capacity %lld, %lld groups", mesh, e->routing.experts,
         e->routing.choices, (long long)e->routing.capacity, (long long)e->groups);
    for (uint32_t i = 0; program && i < program->nops; i++) {
        const struct program_op *op = &program->ops[i];

        from[0] = '\0';
        if (op->ninputs)
            shd_sharding_print(&program->buffers[op->inputs[0]].sharding, from, sizeof from);
        to[0] = '\0';
        if (op->noutputs)
            shd_sharding_print(&program->buffers[op->outputs[0]].sharding, to, sizeof to);
        diag("%3u %s for %s: %s -> %s", i, program_step_name(op), op->name, from, to);
    }
}

static void test_case(uint64_t seed)
{
    struct experts e;
    struct step step;
    struct partition_request request;
    const char *differs = NULL;
    bool good;

    make(&e, seed);
    request =
        (struct partition_request){.graph = e.graph,
                                   .mesh = e.mesh,
                                   .nodes = e.nodes,
                                   .stages = e.stages > 1 ? &e.order : NULL,
                                   .placement = seed % 2 ? PARTITION_SEARCH : PARTITION_FOLLOW};
    good = step_init(&step, &request);
    if (good)
        differs = step_disagreement(step.planned, step.executed);
    if (differs)
        diag("plan and run differ in %s", differs);
    if (good && step_result(&step, "rows") != PROGRAM_NONE && e.graph->microbatches == 1 &&
        !rows_are_right(&e, &step)) {
        diag("rows differ from a plain loop's");
        good = false;
    }
    if (good && !alike_are_alike(step.program)) {
        diag("ops are wrongly classified as equal or unequal");
        good = false;
    }
    good = good && !differs && bytes_are_right(&e, &step) &&
           verifies(&e, step.program, PROGRAM_NONE, NULL);
    ok(good, "seed %llu", (unsigned long long)seed);
    if (!good)
        dump(&e, step.program);
    if (good && seed % 7 == 0 && some_op(step.program) != PROGRAM_NONE) {
        bool planted = false, found = verifies(&e, step.program, some_op(step.program), &planted);

        if (planted)
            ok(found, "seed %llu: a wrong row is seen", (unsigned long long)seed);
        seen.planted += planted;
    }
    step_fini(&step);
    unmake(&e);
}

int main(void)
{
    const char *seed = getenv("SHD_TEST_SEED");
    uint64_t n = small_size() ? 60 : 300;

    if (seed) {
        test_case(strtoull(seed, NULL, 10));
        return done();
    }
    for (uint64_t i = 0; i < n; i++)
        test_case(i);
    diag("moved to experts %u, back %u, local %u, of partial sums %u, of replicas %u, dropped %u",
         seen.dispatched, seen.combined, seen.local, seen.partial, seen.replicated, seen.dropped);
    diag("with the width cut %u, the sequence %u, experts %u, slots %u; gradients %u", seen.widths,
         seen.sequences, seen.experts, seen.slots, seen.gradients);
    diag("recomputed %u, of several microbatches %u, in stages %u", seen.recomputed,
         seen.microbatches, seen.staged);
    ok(seen.dispatched && seen.combined && seen.local && seen.partial && seen.replicated &&
           seen.dropped && seen.widths && seen.sequences && seen.experts && seen.slots &&
           seen.gradients && seen.recomputed && seen.microbatches && seen.staged && seen.planted,
       "everything came up");
    return done();
}
