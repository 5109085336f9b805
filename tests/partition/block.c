/* Tests that the partitioner finds the published collectives of a transformer block, and that
 * fused attention needs memory linear in the tokens.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/step.h"
#include "../support/tap.h"
#include "../support/tried.h"

#define NLAYERS 2
#define BLOCK "model: {kind: block, d_model: 256, d_ff: 512, heads: 8, layers: 2}\n"
#define TENSOR                                                                                     \
    "params:\n"                                                                                    \
    "  - [attn/(q|k|v)/kernel, [null, tp, null]]\n"                                                \
    "  - [attn/o/kernel, [tp, null, null]]\n"                                                      \
    "  - [mlp/up/kernel, [null, tp]]\n"                                                            \
    "  - [mlp/down/kernel, [tp, null]]\n"                                                          \
    "  - [norm, []]\n"
#define INNER                                                                                      \
    "  - [attn/(q|kv), [null, null, tp, null]]\n"                                                  \
    "  - [mlp/hidden, [null, null, tp]]\n"

/* Build a scenario; one that is refused has no file. */
static void try_text(struct variant *out, const char *text)
{
    char whole[2048];
    int length = snprintf(whole, sizeof whole, "version: 1\nstep: [forward, backward]\n%s", text);

    (void)tried_init(out, whole, (size_t)length);
}

static const struct program_buffer *array_of(const struct program *p, uint32_t op)
{
    return &p->buffers[p->ops[op].inputs[0]];
}

/* Count the arrays of a rank (activations have 3, norm scales 1) in steps of a kind, in a phase
 * (-1: in all); a step may move several arrays. */
static int steps(const struct program *p, enum shd_reshard_kind kind, uint32_t rank, int phase)
{
    int n = 0;

    for (uint32_t i = 0; i < p->nops; i++)
        for (uint32_t k = 0; k < p->ops[i].ninputs; k++)
            n += p->ops[i].kind == PROGRAM_RESHARD && p->ops[i].reshard.kind == kind &&
                 p->buffers[p->ops[i].inputs[k]].rank == rank &&
                 (phase < 0 || p->ops[i].phase == phase);
    return n;
}

/* Count the arrays in all steps that communicate, except the loss. */
static int all_steps(const struct program *p)
{
    int n = 0;

    for (uint32_t i = 0; i < p->nops; i++)
        if (program_communicates(&p->ops[i]) && array_of(p, i)->rank > 0)
            n += (int)p->ops[i].ninputs;
    return n;
}

/* Bytes that device 0 receives of arrays of a rank. */
static uint64_t received(const struct program *p, uint32_t rank)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < p->nops; i++)
        if (p->ops[i].kind == PROGRAM_RESHARD && array_of(p, i)->rank == rank)
            bytes += program_moved(p, &p->ops[i], 0).received;
    return bytes;
}

/* Print every planned collective, to explain a wrong count. */
static void tell(const struct program *p)
{
    for (uint32_t i = 0; i < p->nops; i++)
        if (program_communicates(&p->ops[i]))
            diag("phase %d: %s of '%s' for '%s'", p->ops[i].phase, program_step_name(&p->ops[i]),
                 array_of(p, i)->name, p->ops[i].name);
}

/* ---- layouts ---- */

/* Bytes that device 0 receives by n all-reduces of an activation per layer. */
static uint64_t all_reduces(unsigned n, int ndevices)
{
    const uint64_t activation = 4 * 32 * 256 * sizeof(float);

    return (uint64_t)NLAYERS * n * 2 * (activation / (uint64_t)ndevices) * (uint64_t)(ndevices - 1);
}

/* A reduce-scatter and a later all-gather may replace an all-reduce: they move the same bytes and
 * share the elementwise work in between.  So halves of all-reduces are counted. */
static int halves(const struct program *p, int phase)
{
    return 2 * steps(p, SHD_RESHARD_ALL_REDUCE, 3, phase) +
           steps(p, SHD_RESHARD_REDUCE_SCATTER, 3, phase) +
           steps(p, SHD_RESHARD_ALL_GATHER, 3, phase);
}

/* With a sharded sequence, inputs of products are gathered again for the backward phase. */
static void test_megatron(const char *what, const char *text, bool sequence)
{
    const int again = sequence ? 2 : 0;
    struct variant t;

    try_text(&t, text);
    if (ok(t.file != NULL, "%s: is partitioned", what)) {
        const struct program *p = t.trial.program;
        uint64_t others = received(p, 1) + received(p, 2);
        bool good = halves(p, GRAPH_FORWARD) == 4 * NLAYERS &&
                    halves(p, GRAPH_BACKWARD) == (4 + again) * NLAYERS;
        uint64_t want = all_reduces(4 + (unsigned)again / 2, 8);

        ok(good, "%s: 2 all-reduces of the activation a layer forward and %d backward, or their "
           "halves", what, 2 + again / 2);
        ok(sequence ? steps(p, SHD_RESHARD_ALL_REDUCE, 3, -1) == 0
                    : steps(p, SHD_RESHARD_ALL_REDUCE, 3, GRAPH_FORWARD) == 2 * NLAYERS,
           "%s: %s", what, sequence ? "always in halves" : "forward they are whole");
        good = received(p, 3) == want && others * 50 < received(p, 3);
        ok(good, "%s: the bytes of %d all-reduces of the activation a layer, and next to no others",
           what, 4 + again / 2);
        if (!good)
            diag("%llu and %llu bytes, not %llu", (unsigned long long)received(p, 3),
                 (unsigned long long)others, (unsigned long long)want);
        if (!good)
            tell(p);
    }
    variant_fini(&t);
}

/* 8 parameters per layer: q, k, v, o of rank 3, up and down of rank 2, two norms of rank 1. */
static void test_fully_sharded(void)
{
    static const char text[] = "mesh: {fsdp: 4}\nbatch: {size: 8, seq: 64}\n" BLOCK
                               "params:\n  - [kernel, [fsdp]]\n  - [norm, [fsdp]]\n"
                               "axes: {batch: fsdp}\nconstraints:\n  - [.*, [fsdp]]\n";
    const int nparams = 8 * NLAYERS;
    char limited[1024];
    struct variant t, l;
    int gathers = 0, scatters = 0;

    snprintf(limited, sizeof limited, "%slimits: {memory: 1KiB}\n", text);
    try_text(&t, text);
    try_text(&l, limited);
    if (ok(t.file && l.file, "fully sharded blocks are partitioned")) {
        const struct program *p = t.trial.program;

        for (uint32_t rank = 1; rank <= 3; rank++) {
            gathers += steps(p, SHD_RESHARD_ALL_GATHER, rank, -1);
            scatters += steps(p, SHD_RESHARD_REDUCE_SCATTER, rank, -1);
        }
        if (!ok(gathers == nparams && scatters == nparams && all_steps(p) == 2 * nparams,
                "fully sharded: 1 gather and 1 reduce-scatter a parameter, and nothing else"))
            tell(p);
        p = l.trial.program;
        /* The scale of a norm is gathered again as well. */
        if (!ok(steps(p, SHD_RESHARD_ALL_GATHER, 2, GRAPH_FORWARD) == 2 * NLAYERS &&
                    steps(p, SHD_RESHARD_ALL_GATHER, 3, GRAPH_FORWARD) == 4 * NLAYERS &&
                    steps(p, SHD_RESHARD_ALL_GATHER, 1, GRAPH_FORWARD) == 2 * NLAYERS &&
                    steps(p, SHD_RESHARD_ALL_GATHER, 2, GRAPH_BACKWARD) == 2 * NLAYERS &&
                    steps(p, SHD_RESHARD_ALL_GATHER, 3, GRAPH_BACKWARD) == 4 * NLAYERS &&
                    steps(p, SHD_RESHARD_ALL_GATHER, 1, GRAPH_BACKWARD) == 2 * NLAYERS,
                "with a memory limit: each is gathered forward and again backward"))
            tell(p);
        ok(all_steps(p) == 3 * nparams, "with a memory limit: 1 reduce-scatter a parameter still");
        ok(program_peak_bytes(p) < program_peak_bytes(t.trial.program),
           "with a memory limit: less memory (%llu of %llu)",
           (unsigned long long)program_peak_bytes(p),
           (unsigned long long)program_peak_bytes(t.trial.program));
    }
    variant_fini(&t);
    variant_fini(&l);
}

/* ---- key heads ---- */

/* With 2 key heads on 4 devices, each pair of devices computes and holds one head, as on an axis
 * of two. */
static void test_key_heads(void)
{
    struct variant t;
    struct shd_error err = {0};
    const struct program *p;
    bool split = false, executed = false;

    try_text(&t, "mesh: {tp: 4}\nbatch: {size: 2, seq: 16}\n"
                 "model: {kind: attention, d_model: 32, heads: 8, kv_heads: 2}\n"
                 "params:\n  - [attn/q/kernel, [null, tp, null]]\n  - [attn/(k|v)/kernel, []]\n"
                 "  - [attn/o/kernel, [tp, null, null]]\n"
                 "constraints:\n  - [attn/q, [null, null, tp, null]]\n  - [out, []]\n");
    if (ok(t.file != NULL, "2 key heads on an axis of 4 are partitioned")) {
        p = t.trial.program;
        for (uint32_t i = 0; i < p->nops; i++)
            if (p->ops[i].kernel == &kern_kernel_attention)
                split = p->ops[i].desc->attention.heads == 2 &&
                        p->ops[i].desc->attention.kv_heads == 1;
        ok(p->own_mesh && shd_mesh_naxes(p->mesh) == 2 && shd_mesh_axis_size(p->mesh, 0) == 2 &&
               shd_mesh_axis_size(p->mesh, 1) == 2 && shd_mesh_naxes(p->asked_mesh) == 1,
           "2 key heads on an axis of 4: the axis is taken as 2 by 2");
        ok(split, "2 key heads on an axis of 4: a device has 2 query heads and 1 key head");
        executed = trial_execute(&t.trial, NULL, &err) == SHD_OK && t.trial.record->verified;
        ok(executed && record_verified_ok(t.trial.record), "2 key heads on an axis of 4: the results are right %s", err.text);
    }
    variant_fini(&t);
}

/* ---- memory ---- */

static bool plan_is_run(struct variant *t)
{
    struct shd_error err;
    struct record *planned = NULL;
    const char *differs;

    if (trial_plan(&t->trial, &err) != SHD_OK)
        return false;
    planned = t->trial.record;
    t->trial.record = NULL;
    differs = trial_execute(&t->trial, NULL, &err) == SHD_OK
                  ? step_disagreement(planned, t->trial.record)
                  : err.text;
    if (differs)
        diag("plan and run differ in %s", differs);
    record_destroy(planned);
    return !differs;
}

/* Four times as many tokens need at most four times the memory; stored scores would need sixteen
 * times. */
static void test_attention_memory(const char *mesh, const char *layout)
{
    struct variant one, four;
    char text[1024];

    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof text,
                 "mesh: {%s}\nbatch: {size: 1, seq: %d}\n"
                 "model: {kind: attention, d_model: 16, heads: 4, kv_heads: 2}\nparams: [[.*, []]]\n"
                 "%s",
                 mesh, i ? 1024 : 256, layout);
        try_text(i ? &four : &one, text);
    }
    if (ok(one.file && four.file, "attention on {%s} is partitioned", mesh)) {
        uint64_t less = program_peak_bytes(one.trial.program);
        uint64_t more = program_peak_bytes(four.trial.program);

        ok(more > less && more <= 4 * less, "attention on {%s}: memory grows with the tokens "
           "(%llu at 256, %llu at 1,024)", mesh, (unsigned long long)less,
           (unsigned long long)more);
        ok(plan_is_run(&one), "attention on {%s}, 256 tokens: the plan is the run", mesh);
        ok(plan_is_run(&four), "attention on {%s}, 1,024 tokens: the plan is the run", mesh);
    }
    variant_fini(&one);
    variant_fini(&four);
}

/* ---- places ---- */

/* exp(x w) with the rows of x sharded; `named` adds constraints on the way that ask for nothing. */
static bool build_places(struct step *out, struct graph *g, const struct shd_mesh *mesh, bool named)
{
    struct partition_request request = {.graph = g, .mesh = mesh};
    const struct shd_sharding *nodes[16] = {NULL};
    uint32_t dims[3] = {graph_dim(g, "a", 8), graph_dim(g, "b", 8), graph_dim(g, "c", 8)};
    const uint32_t of_y[2] = {dims[0], dims[2]};
    struct shd_sharding cut;
    uint32_t x, w;

    x = graph_input(g, "x", SHD_F64, dims, 2, (struct kern_source){.seed = 1, .scale = 2});
    w = graph_param(g, "w", SHD_F64, &dims[1], 2, (struct kern_source){.seed = 2, .scale = 2});
    shd_sharding_init(&cut, mesh, 2);
    cut.dims[0].naxes = 1;
    nodes[x] = &cut;
    request.nodes = nodes;
    x = named ? graph_constraint(g, "in", x) : x;
    x = graph_einsum(g, "product", x, w, of_y, 2);
    x = named ? graph_constraint(g, "hidden", x) : x;
    x = graph_map(g, "exp", KERN_EXP, x, GRAPH_NONE, 0);
    x = named ? graph_constraint(g, "there", named ? graph_constraint(g, "out", x) : x) : x;
    graph_output(g, GRAPH_OUTPUT, "y", x, GRAPH_NONE);
    return step_init(out, &request);
}

static void test_places(void)
{
    static const char *const names[] = {"p"};
    static const int32_t sizes[] = {4};
    struct graph *graphs[2] = {graph_create(), graph_create()};
    struct shd_mesh *mesh = NULL;
    struct step with, without;
    bool good;

    if (shd_mesh_create(&mesh, names, sizes, 1, NULL) != SHD_OK)
        abort();
    good = build_places(&with, graphs[0], mesh, true);
    good = build_places(&without, graphs[1], mesh, false) && good;
    ok(good && with.program->nops == without.program->nops &&
           with.program->nbuffers == without.program->nbuffers &&
           program_peak_bytes(with.program) == program_peak_bytes(without.program) &&
           step_value(&with, 0, 5) == step_value(&without, 0, 5),
       "places of which nothing is asked cost no op, buffer or byte");
    step_fini(&with);
    step_fini(&without);
    graph_destroy(graphs[0]);
    graph_destroy(graphs[1]);
    shd_mesh_destroy(mesh);
}

int main(void)
{
    plan(0);
    test_megatron("tensor parallel",
                  "mesh: {tp: 8}\nbatch: {size: 4, seq: 32}\n" BLOCK TENSOR "constraints:\n"
                  "  - [(attn|mlp)/in, []]\n" INNER "  - [out, []]\n",
                  false);
    test_megatron("sequence parallel",
                  "mesh: {tp: 8}\nbatch: {size: 4, seq: 32}\n" BLOCK TENSOR "axes: {seq: tp}\n"
                  "constraints:\n" INNER "  - [out, [null, tp, null]]\n",
                  true);
    test_fully_sharded();
    test_key_heads();
    test_attention_memory("one: 1", "");
    test_attention_memory("sp: 4", "axes: {seq: sp}\nconstraints:\n  - [q, [null, sp]]\n"
                                   "  - [(in|out), [null, sp]]\n");
    test_places();
    return done();
}
