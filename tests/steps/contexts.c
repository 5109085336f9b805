/* Tests sequences sharded by context parallelism: for each way of exchanging keys and each order
 * of tokens, loss and gradients are those of one device, received bytes are those of the formulas,
 * a ring holds two blocks of keys, and memory falls with the number of devices.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cost/plan.h"
#include "kern/kernel.h"
#include "../support/step.h"
#include "../support/tap.h"
#include "../support/tried.h"
#include "run/walk/walk.h"

#define TOLERANCE 1e-9 /* error relative to the largest element of an array, in float64 */

/* The fixed part of a scenario in float64; each case adds the rest. */
#define MODEL(kv_heads, rest)                                                             \
    "version: 1\nmodel: {kind: transformer, d_model: 16, d_ff: 24, heads: 4, layers: 2, " \
    "head_dim: 4, vocab: 32, rope: {}, dtype: float64, kv_heads: " kv_heads rest          \
    "}\nbatch: {size: 4, seq: 64}\nstep: [forward, backward]\n"
#define PLAIN MODEL("4", ", causal: true")
#define GROUPED MODEL("2", ", causal: true")
#define WHOLE "params: [[.*, []]]\n"

/* Ulysses: attention shards heads instead of the sequence. */
#define ULYSSES \
    "constraints: [[attn/(projected|attended), [null, cp]], [attn/(q|kv), [null, null, cp]]]\n"
#define MIX                                                                     \
    "axes: {seq: [across, within]}\nconstraints: [[attn/(projected|attended), " \
    "[null, [across, within]]], [attn/(q|kv), [null, across, within]]]\n"

static bool make(struct variant *out, const char *model, const char *rest)
{
    struct text text = TEXT_INIT;
    bool good;

    text_add(&text, model);
    text_add(&text, rest);
    good = tried_init(out, text_get(&text), text.length);
    text_fini(&text);
    return good;
}

/* ---- the same numbers ---- */

/* The largest difference of a result of two runs, relative to its largest element; infinity if run
 * `b` has no result of that name. */
static double difference(const struct step *a, uint32_t r, const struct step *b)
{
    const struct program_buffer *buffer = &a->program->buffers[a->program->results[r].buffer];
    uint32_t other = step_result(b, a->program->results[r].name);
    double most = 0, size = 0;
    int64_t n = 1;

    for (uint32_t d = 0; d < buffer->rank; d++)
        n *= buffer->shape[d];
    for (int64_t i = 0; i < n && other != PROGRAM_NONE; i++) {
        most = fmax(most, fabs(step_value(a, r, i) - step_value(b, other, i)));
        size = fmax(size, fabs(step_value(a, r, i)));
    }
    return other == PROGRAM_NONE || size == 0 ? INFINITY : most / size;
}

/* Compare the loss and the gradients of parameters; outputs differ in the order of tokens. */
static bool is_compared(const struct program_result *result)
{
    return result->kind == PROGRAM_LOSS || result->kind == PROGRAM_GRADIENT;
}

static void compare(const struct step *plain, const struct step *cut, const char *what)
{
    uint32_t ncompared = 0;
    double worst = 0;

    for (uint32_t r = 0; r < plain->program->nresults; r++) {
        if (!is_compared(&plain->program->results[r]))
            continue;
        worst = fmax(worst, difference(plain, r, cut));
        ncompared++;
    }
    ok(ncompared > 12 && worst <= TOLERANCE, "%s: loss and gradients of one device (%.1e)", what,
       worst);
}

struct layout {
    const char *what, *rest;
};

/* Compare each layout of a model with the model on one device. */
static void test_alike(const char *name, const char *model, const char *more,
                       const struct layout *layouts)
{
    struct variant plain, cut;
    struct step a = {.program = NULL}, b;
    struct partition_request request;
    char rest[600], what[100];

    snprintf(rest, sizeof rest, WHOLE "mesh: {one: 1}\n%s", more[0] ? "context: {documents: " : "");
    if (more[0])
        snprintf(rest + strlen(rest), sizeof rest - strlen(rest), "%s}\n", more);
    if (!ok(make(&plain, model, rest), "%s: one device", name))
        return;
    request = trial_request(&plain.trial);
    ok(step_init(&a, &request), "%s: one device runs", name);
    for (; layouts->what; layouts++) {
        snprintf(what, sizeof what, "%s: %s", name, layouts->what);
        snprintf(rest, sizeof rest, layouts->rest, more[0] ? ", documents: " : "", more);
        if (!strstr(rest, "params:"))
            snprintf(rest + strlen(rest), sizeof rest - strlen(rest), "%s", WHOLE);
        if (!ok(make(&cut, model, rest), "%s", what))
            continue;
        request = trial_request(&cut.trial);
        if (step_init(&b, &request))
            compare(&a, &b, what);
        step_fini(&b);
        tried_check(&cut, what);
        variant_fini(&cut);
    }
    step_fini(&a);
    variant_fini(&plain);
}

static const struct layout few[] = {
    {"ring, zigzag", "mesh: {cp: 4}\naxes: {seq: cp}\ncontext: {axis: cp, method: ring, order: "
                     "zigzag%s%s}\n"},
    {"gather, striped",
     "mesh: {cp: 4}\naxes: {seq: cp}\ncontext: {axis: cp, order: striped%s%s}\n"},
    {NULL, NULL}};

static const struct layout many[] = {
    {"gather", "mesh: {cp: 4}\naxes: {seq: cp}\n"},
    {"gather, zigzag", "mesh: {cp: 4}\naxes: {seq: cp}\ncontext: {axis: cp, order: zigzag}\n"},
    {"ring", "mesh: {cp: 4}\naxes: {seq: cp}\ncontext: {axis: cp, method: ring}\n"},
    {"ring, striped",
     "mesh: {cp: 8}\naxes: {seq: cp}\ncontext: {axis: cp, method: ring, order: striped}\n"},
    {"ring of one", "mesh: {cp: 1}\naxes: {seq: cp}\ncontext: {axis: cp, method: ring}\n"},
    {"Ulysses", "mesh: {cp: 4}\naxes: {seq: cp}\n" ULYSSES},
    {"Ulysses inside, ring across",
     "mesh: {across: 2, within: 2}\n" MIX "context: {axis: across, method: ring, order: zigzag}\n"},
    {"ring by data parallel", "mesh: {dp: 2, cp: 2}\naxes: {batch: dp, seq: cp}\n"
                              "context: {axis: cp, method: ring, order: zigzag}\n"},
    {"ring by tensor parallel",
     "mesh: {tp: 2, cp: 2}\naxes: {seq: cp}\ncontext: {axis: cp, method: ring}\n"
     "params: [['attn/[qkv]/kernel', [null, tp]], [attn/o/kernel, [tp]], [.*, []]]\n"},
    {"ring of half an axis", "mesh: {a: 2, b: 2}\naxes: {seq: a}\ncontext: {axis: b, method: "
                             "ring}\n"},
    {NULL, NULL}};

/* Fewer key heads than devices that shard the heads: each device has the key heads that it
 * reads. */
static const struct layout grouped[] = {
    {"ring", "mesh: {cp: 4}\naxes: {seq: cp}\ncontext: {axis: cp, method: ring}\n"},
    {"Ulysses", "mesh: {cp: 4}\naxes: {seq: cp}\n"
                "constraints: [[attn/(projected|attended), [null, cp]], [attn/q, [null, null, "
                "cp]]]\n"},
    {"ring by tensor parallel",
     "mesh: {tp: 4, cp: 2}\naxes: {seq: cp}\ncontext: {axis: cp, method: ring, order: zigzag}\n"
     "params: [[attn/q/kernel, [null, tp]], [attn/o/kernel, [tp]], [.*, []]]\n"},
    {NULL, NULL}};

/* ---- bytes ---- */

/* Bytes that a device receives by permutes of a phase. */
static uint64_t permuted(const struct program *program, uint8_t phase)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < program->nops; i++) {
        const struct program_op *op = &program->ops[i];

        if (op->kind == PROGRAM_RESHARD && op->reshard.kind == SHD_RESHARD_PERMUTE &&
            op->phase == phase)
            bytes += program_moved(program, op, 0).received;
    }
    return bytes;
}

static uint64_t exchanged(const struct program *program, uint8_t phase)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < program->nops; i++) {
        const struct program_op *op = &program->ops[i];

        if (op->phase == phase && program_coll_kind(op) == COLL_ALL_TO_ALL)
            bytes += program_moved(program, op, 0).received;
    }
    return bytes;
}

static uint64_t received_in_all(const struct program *program, uint8_t phase)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < program->nops; i++)
        if (program->ops[i].phase == phase)
            bytes += program_moved(program, &program->ops[i], 0).received;
    return bytes;
}

#define ATTENTION \
    "version: 1\nmodel: {kind: attention, d_model: 32, heads: 8, causal: true, kv_heads: "
#define ATTENTION_REST                                                                           \
    "}\nbatch: {size: 2, seq: 256}\nstep: [forward, backward]\nparams: [[.*, []]]\naxes: {seq: " \
    "cp}\n"

static void test_ring_bytes(uint64_t n, uint64_t kv_heads)
{
    const uint64_t block = 2 * 256 / n * kv_heads * 4 * sizeof(float);
    const uint64_t loss = 2 * (n - 1) * sizeof(float); /* upper bound of an all-reduce of one
                                                        * element */
    char model[400], rest[200];
    struct variant t;

    snprintf(model, sizeof model, ATTENTION "%" PRIu64 ATTENTION_REST, kv_heads);
    snprintf(rest, sizeof rest, "mesh: {cp: %" PRIu64 "}\ncontext: {axis: cp, method: ring}\n", n);
    if (ok(make(&t, model, rest), "ring of %" PRIu64, n)) {
        const struct program *p = t.trial.program;

        ok(permuted(p, 0) == 2 * (n - 1) * block && permuted(p, 1) == 4 * (n - 1) * block,
           "ring of %" PRIu64 ", %" PRIu64 " key heads: 2 (n - 1) blocks forward, 4 (n - 1) back",
           n, kv_heads);
        ok(received_in_all(p, 0) - permuted(p, 0) <= loss,
           "forward only the loss is received besides");
        ok(tried_check(&t, "ring's bytes"), "the run has the planned figures");
    }
    variant_fini(&t);
}

static void test_ulysses_bytes(uint64_t n)
{
    const uint64_t local = 2 * 256 / n * 32 * sizeof(float), each = local / n * (n - 1);
    char rest[400];
    struct variant t;

    snprintf(rest, sizeof rest, "mesh: {cp: %" PRIu64 "}\n%s", n, ULYSSES);
    if (ok(make(&t, ATTENTION "8" ATTENTION_REST, rest), "Ulysses of %" PRIu64, n)) {
        const struct program *p = t.trial.program;

        ok(exchanged(p, 0) == 4 * each && exchanged(p, 1) == 4 * each,
           "Ulysses of %" PRIu64 ": q, k, v and the heads, of each (n - 1)/n; as much back", n);
        ok(received_in_all(p, 0) - exchanged(p, 0) <= 2 * (n - 1) * sizeof(float),
           "forward only the loss is received besides");
        ok(tried_check(&t, "Ulysses' bytes"), "the run has the planned figures");
    }
    variant_fini(&t);
}

/* ---- memory ---- */

/* Bytes of keys and values in memory at once. */
struct keys {
    const struct program *program;
    const bool *is_key;       /* by buffer */
    uint64_t now[2], most[2]; /* most[phase]: the maximum over the ops of a phase; now[0]:
                               * current */
};

static void see_buffer(void *arg, uint32_t buffer, bool alive)
{
    struct keys *k = arg;

    if (k->is_key[buffer])
        k->now[0] += alive ? k->program->buffers[buffer].bytes : -k->program->buffers[buffer].bytes;
}

static void see_op(void *arg, uint32_t op, uint32_t microbatch)
{
    struct keys *k = arg;
    uint8_t phase = k->program->ops[op].phase;

    (void)microbatch;
    if (k->now[0] > k->most[phase])
        k->most[phase] = k->now[0];
}

/* Mark the buffers that attention reads as keys or values. */
static void mark_keys(bool *is_key, const struct program *program)
{
    for (uint32_t i = 0; i < program->nops; i++) {
        const struct program_op *op = &program->ops[i];

        if (op->kind == PROGRAM_KERNEL &&
            (op->kernel == &kern_kernel_attention || op->kernel == &kern_kernel_attention_grad))
            is_key[op->inputs[1]] = is_key[op->inputs[2]] = true;
    }
}

static void test_resident(uint64_t n)
{
    const uint64_t block = 2 * 256 / n * 32 * sizeof(float);
    char rest[200];
    struct variant t;

    snprintf(rest, sizeof rest, "mesh: {cp: %" PRIu64 "}\ncontext: {axis: cp, method: ring}\n", n);
    if (ok(make(&t, ATTENTION "8" ATTENTION_REST, rest), "keys of a ring of %" PRIu64, n)) {
        const struct program *p = t.trial.program;
        bool *is_key = calloc(p->nbuffers, sizeof *is_key);
        struct keys keys = {.program = p, .is_key = is_key};
        const struct program_memory_watch watch = {
            .buffer = see_buffer, .op = see_op, .arg = &keys};

        mark_keys(is_key, p);
        program_memory_walk(p, 0, &watch);
        ok(keys.most[0] == 2 * 2 * block && keys.most[1] == 2 * 2 * block,
           "ring of %" PRIu64 ": two blocks of keys and of values, forward and backward", n);
        free(is_key);
    }
    variant_fini(&t);
}

static const char long_model[] =
    "version: 1\nmodel: {kind: attention, d_model: 16, heads: 2, causal: true}\n"
    "step: [forward, backward]\nparams: [[.*, []]]\n"
    "axes: {seq: cp}\ncontext: {axis: cp, method: ring, order: zigzag}\n";

/* The peak memory of a device with sequences of `tokens` tokens on n devices; 0 on failure. */
static uint64_t peak(int64_t tokens, int n, bool executed)
{
    char rest[100];
    struct variant t;
    uint64_t most = 0;

    snprintf(rest, sizeof rest, "mesh: {cp: %d}\nbatch: {size: 1, seq: %lld}\n", n,
             (long long)tokens);
    if (ok(make(&t, long_model, rest), "memory of a ring of %d", n) && !executed)
        most = (uint64_t)program_peak_bytes(t.trial.program);
    else if (tried_check(&t, "memory of a ring"))
        for (int32_t d = 0; d < n; d++)
            if (t.trial.record->peak_bytes[d] > most)
                most = (uint64_t)t.trial.record->peak_bytes[d];
    variant_fini(&t);
    return most;
}

/* Memory falls as 1/n.  The planned sequence is so long that parameters and one block of scores are
 * small beside it; a short one is executed.  One device has one block of keys and no gradients in
 * flight; the additional buffers of a ring are a fixed part of its memory, which falls in the same
 * way. */
static void test_memory(void)
{
    double whole = (double)peak(131072, 1, false), short_one = (double)peak(1024, 1, true);
    double before = whole;

    for (int n = 2; n <= 8; n *= 2) {
        double most = (double)peak(131072, n, false), run = (double)peak(1024, n, true);

        diag("%d devices: %.3f of one device's, of 1024 tokens %.3f", n, most / whole,
             run / short_one);
        ok(most * n < 1.35 * whole && (n == 2 || (most < 0.56 * before && most > 0.44 * before)),
           "%d devices: as 1/%d", n, n);
        before = most;
        ok(run > 0 && run < short_one, "%d devices: less as it is run", n);
        short_one = run;
    }
}

/* ---- balance ---- */

/* The mean flops of attention per device, divided by the maximum. */
static double balance(const char *order)
{
    static const char model[] =
        "version: 1\nmesh: {cp: 8}\nmodel: {kind: attention, d_model: 8, heads: 1, causal: true}\n"
        "batch: {size: 1, seq: 1024}\nstep: [forward, backward]\nparams: [[.*, []]]\n"
        "axes: {seq: cp}\n";
    char rest[100];
    struct variant t;
    uint64_t flops[8] = {0}, sum = 0, most = 0;

    snprintf(rest, sizeof rest, "context: {axis: cp, method: ring, order: %s}\n", order);
    if (make(&t, model, rest) && tried_check(&t, order))
        for (int32_t d = 0; d < 8; d++)
            flops[d] = (uint64_t)t.trial.record->uneven_flops[KERN_BY_SIGHT][d];
    for (int d = 0; d < 8; d++) {
        sum += flops[d];
        most = flops[d] > most ? flops[d] : most;
    }
    variant_fini(&t);
    return most ? (double)sum / 8 / (double)most : 0;
}

static void test_balance(void)
{
    double contiguous = balance("contiguous"), zigzag = balance("zigzag");

    diag("contiguous %.4f, zigzag %.4f", contiguous, zigzag);
    ok(zigzag == 1, "zigzag: all devices have as much to do");
    ok(contiguous > 0.5 && contiguous < 0.56, "contiguous: the last has about twice the mean");
}

int main(void)
{
    const char *sanitizer = getenv("SHD_SANITIZER");

    plan(0);
    test_alike("plain", PLAIN, "", many);
    if (sanitizer && !strcmp(sanitizer, "thread")) /* the cases make threads do the same things */
        return done();
    test_alike("two key heads", GROUPED, "", grouped);
    test_alike("window of 7", MODEL("4", ", causal: true, window: 7"), "", few);
    test_alike("documents", PLAIN, "{mean: 9, seed: 3}", few);
    test_alike("documents of any direction", MODEL("4", ", causal: false"), "[1, 30, 33]", few);
    for (uint64_t n = 2; n <= 8; n *= 2) {
        test_ring_bytes(n, 8);
        test_ring_bytes(n, 2);
        test_ulysses_bytes(n);
        if (n > 2)
            test_resident(n);
    }
    test_memory();
    test_balance();
    return done();
}
