/* Tests that verification tells right from wrong: faults planted into runs of random programs are
 * found, and runs without a fault are not called wrong.
 *
 *   faults [FAULTS PROGRAMS PRESETS [TYPE [SEED]]]
 *
 * plants FAULTS faults of each kind in each type (or in one), runs PROGRAMS programs and PRESETS
 * presets without faults, and prints tables; as a test it does few.  A fault is planted through
 * walk_observe_fn, the function that a device's thread calls between its ops: the tested program
 * has no switch for faults.
 *
 * A fault that leaves every bit of every result unchanged does not count as tried.  A fault that is
 * not found must be explained: wherever it changed an element, the change is within the bound of
 * that element, or the element cannot be judged.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kern/convert.h"
#include "partition/partition.h"
#include "../support/random_preset.h"
#include "../support/random_program.h"
#include "../support/tap.h"
#include "trial/verify.h"
#include "run/walk/walk.h"

#define SEED 31000000u         /* seed of the first program, if none is given */
#define FAULTS_A_PROGRAM 10    /* faults of each kind */
#define OTHER_DATA 0x9e3779b9u /* added to the seeds of the filled arrays */

enum fault_kind { MISSING, STALE, EXCHANGED, LESSER, ELEMENT, NKINDS };

static const char *const kind_names[NKINDS] = {
    [MISSING] = "a device's contribution missing from a sum",
    [STALE] = "a stale shard: of the step before, on other data",
    [EXCHANGED] = "the shards of two devices exchanged",
    [LESSER] = "a sum done in a lesser type",
    [ELEMENT] = "one element off",
};

static uint64_t first_seed = SEED;

struct fault {
    enum fault_kind kind;
    uint32_t op;           /* the op that goes wrong */
    uint32_t part;         /* which of the op's arrays */
    int32_t device, other; /* the faulty device, and the device whose shard replaces its own */
    int64_t element;
};

/* ---- what every device had after every op ---- */

struct history {
    const struct program *program;
    void **shards; /* [device][op][output] */
};

static void **kept_at(const struct history *h, int32_t device, uint32_t op, uint32_t output)
{
    return &h->shards[((size_t)device * h->program->nops + op) * PROGRAM_OUTPUTS_MAX + output];
}

static void keep(void *arg, int32_t device, uint32_t i, uint32_t microbatch,
                 const void *const *shards)
{
    const struct history *h = arg;
    const struct program_op *op = &h->program->ops[i];

    (void)microbatch;
    for (uint32_t k = 0; k < op->noutputs; k++) {
        uint64_t bytes = h->program->buffers[op->outputs[k]].bytes;
        void *copy = malloc(bytes + 1);

        if (!copy)
            abort();
        memcpy(copy, shards[op->outputs[k]], bytes);
        free(*kept_at(h, device, i, k)); /* of the previous microbatch */
        *kept_at(h, device, i, k) = copy;
    }
}

static void history_fini(struct history *h)
{
    size_t n;

    if (!h->shards)
        return;
    n = (size_t)shd_mesh_size(h->program->mesh) * h->program->nops * PROGRAM_OUTPUTS_MAX;
    for (size_t i = 0; i < n; i++)
        free(h->shards[i]);
    free(h->shards);
}

/* ---- one program, with its runs ---- */

struct subject {
    struct random_program *random; /* this or `preset` is the source of the program */
    struct variant preset;
    const struct graph *graph;
    struct program *program;
    enum shd_dtype dtype;
    struct verify_reference reference;
    struct history now, before; /* histories of a run and of a run with other data */
};

static void change_data(struct program *program, uint32_t by)
{
    for (uint32_t i = 0; i < program->nops; i++)
        if (program->ops[i].kind == PROGRAM_FILL)
            program->ops[i].source.seed += by;
}

static void run_with_history(struct subject *s, struct history *h)
{
    struct walk_opts opts = {.observe = keep, .observe_arg = h};
    struct record *record;

    h->program = s->program;
    h->shards =
        calloc((size_t)shd_mesh_size(s->program->mesh) * s->program->nops * PROGRAM_OUTPUTS_MAX + 1,
               sizeof *h->shards);
    if (!h->shards || record_create(&record, s->program, RECORD_EXECUTED, false, NULL) != SHD_OK ||
        walk_run(record, &opts, NULL) != SHD_OK)
        abort();
    record_destroy(record);
}

enum subject_from { FROM_OPS, FROM_LAYERS, FROM_PRESETS, NSOURCES };

static bool create_program(struct subject *s, uint64_t seed, enum subject_from from)
{
    struct random_program *p;
    struct partition_request request = {.graph = NULL};

    if (from == FROM_PRESETS) {
        if (!random_preset_init(&s->preset, seed, s->dtype))
            return false;
        s->graph = s->preset.trial.graph;
        s->program = s->preset.trial.program;
        return true;
    }
    random_program_type(s->dtype);
    p = s->random = from == FROM_LAYERS ? random_layer_program(seed) : random_ops_program(seed);
    s->graph = p->graph;
    request = (struct partition_request){.graph = p->graph,
                                         .mesh = p->mesh,
                                         .nodes = p->nodes,
                                         .outputs = p->outputs,
                                         .algos = p->algos,
                                         .memory_bytes = p->memory_bytes};
    return partition_build(&s->program, &request, NULL) == SHD_OK;
}

static void subject_fini(struct subject *s)
{
    verify_reference_fini(&s->reference);
    history_fini(&s->now);
    history_fini(&s->before);
    if (s->random) {
        program_destroy(s->program);
        random_program_destroy(s->random);
    } else if (s->program) {
        variant_fini(&s->preset);
    }
}

/* Create the program of a seed and its reference.  False: this seed has no program. */
static bool subject_init(struct subject *s, uint64_t seed, enum shd_dtype dtype,
                         enum subject_from from)
{
    struct verify_opts opts = {.nthreads = 1};

    *s = (struct subject){.dtype = dtype};
    if (!create_program(s, seed, from)) {
        subject_fini(s);
        return false;
    }
    opts.ndevices = shd_mesh_size(s->program->mesh);
    if (verify_reference(&s->reference, s->graph, &opts, NULL) != SHD_OK)
        abort();
    return true;
}

static void run_twice(struct subject *s)
{
    run_with_history(s, &s->now);
    change_data(s->program, OTHER_DATA);
    run_with_history(s, &s->before);
    change_data(s->program, -OTHER_DATA);
}

/* ---- planting ---- */

struct planting {
    const struct subject *s;
    struct fault fault;
    void **saved;           /* by device: the operand of a sum, restored after the sum */
    struct effect *effects; /* by device */
};

/* The change that a fault made to the results of one device. */
struct effect {
    bool changed;
    double most;    /* the largest |with the fault - without| / allowed */
    uint64_t nopen; /* changed elements that cannot be judged */
};

static double rounded_to(int bits, double value)
{
    int exponent;

    if (!isfinite(value) || value == 0)
        return value;
    value = frexp(value, &exponent);
    return ldexp(rint(ldexp(value, bits)), exponent - bits);
}

/* Round as a lower precision does: float32 to bfloat16 (8 bits of significand), the 16-bit types
 * to float8 e4m3 (4 bits). */
static void round_all(enum shd_dtype dtype, void *values, uint64_t bytes)
{
    uint64_t n = bytes / shd_dtype_size(dtype);

    for (uint64_t i = 0; i < n; i++) {
        char *at = (char *)values + i * shd_dtype_size(dtype);
        double x[KERN_LANES];

        kern_load_f64(dtype, at, 1, 1, x);
        x[0] = rounded_to(dtype == SHD_F32 ? 8 : 4, x[0]);
        kern_store_f64(dtype, at, 1, 1, x);
    }
}

/* Change an element by 2^-8 of its value in float32, by half of it in 16 bits. */
static void put_off(enum shd_dtype dtype, void *values, int64_t element)
{
    char *at = (char *)values + (size_t)element * shd_dtype_size(dtype);
    double x[KERN_LANES];

    kern_load_f64(dtype, at, 1, 1, x);
    x[0] *= dtype == SHD_F32 ? 1 + 0x1p-8 : 1.5;
    kern_store_f64(dtype, at, 1, 1, x);
}

/* Spoil the operand of a sum before the step. */
static void spoil_operand(const struct planting *p, int32_t device, void *operand,
                          const struct program_buffer *b)
{
    const struct fault *f = &p->fault;

    if (f->kind != LESSER && !(f->kind == MISSING && device == f->device))
        return;
    p->saved[device] = malloc(b->bytes + 1);
    if (!p->saved[device])
        abort();
    memcpy(p->saved[device], operand, b->bytes);
    if (f->kind == MISSING)
        memset(operand, 0, b->bytes);
    else
        round_all(b->dtype, operand, b->bytes);
}

/* Spoil the result after the step. */
static void spoil_result(const struct planting *p, int32_t device, void *result,
                         const struct program_buffer *b)
{
    const struct fault *f = &p->fault;

    if (f->kind == LESSER)
        round_all(b->dtype, result, b->bytes);
    if (f->kind == STALE && device == f->device)
        memcpy(result, *kept_at(&p->s->before, device, f->op, f->part), b->bytes);
    if (f->kind == EXCHANGED && (device == f->device || device == f->other))
        memcpy(result,
               *kept_at(&p->s->now, device == f->device ? f->other : f->device, f->op, f->part),
               b->bytes);
    if (f->kind == ELEMENT && device == f->device)
        put_off(b->dtype, result, f->element);
}

/* The result of a right run, kept after the op that makes it. */
static const void *right_result(const struct subject *s, int32_t device, uint32_t result)
{
    uint32_t buffer = s->program->results[result].buffer;

    for (uint32_t i = 0; i < s->program->nops; i++)
        for (uint32_t k = 0; k < s->program->ops[i].noutputs; k++)
            if (s->program->ops[i].outputs[k] == buffer)
                return *kept_at(&s->now, device, i, k);
    abort();
}

/* Compare one result of one device with the result without the fault. */
static void measure(const struct subject *s, int32_t device, uint32_t r, const char *got,
                    struct effect *effect)
{
    const struct program_buffer *b = &s->program->buffers[s->program->results[r].buffer];
    const char *right = right_result(s, device, r);
    const double *allowed = s->reference.last.arrays[r].allowed;
    size_t size = shd_dtype_size(b->dtype);
    int64_t offset[SHD_RANK_MAX], n = (int64_t)(b->bytes / size);

    shd_sharding_offset(&b->sharding, b->shape, device, offset);
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = i, at = 0, stride = 1;
        double x[KERN_LANES], y[KERN_LANES];

        kern_load_f64(b->dtype, got + (size_t)i * size, 1, 1, x);
        kern_load_f64(b->dtype, right + (size_t)i * size, 1, 1, y);
        if (x[0] == y[0] || (isnan(x[0]) && isnan(y[0])))
            continue;
        effect->changed = true;
        for (uint32_t d = b->rank; d-- > 0;) {
            at += (offset[d] + rest % b->local[d]) * stride;
            rest /= b->local[d];
            stride *= b->shape[d];
        }
        if (allowed && isinf(allowed[at]))
            effect->nopen++;
        else
            effect->most =
                fmax(effect->most,
                     isfinite(x[0]) && allowed ? fabs(x[0] - y[0]) / allowed[at] : INFINITY);
    }
}

/* A walk_observe_fn.  The shards are the device's own memory, which this thread may write: other
 * devices read them only within collectives. */
static void plant(void *arg, int32_t device, uint32_t i, uint32_t microbatch,
                  const void *const *shards)
{
    const struct planting *p = arg;
    const struct program *program = p->s->program;
    const struct program_op *op = &program->ops[p->fault.op];

    (void)microbatch;
    if (i + 1 == p->fault.op && op->kind == PROGRAM_RESHARD) {
        uint32_t operand = op->inputs[p->fault.part];

        spoil_operand(p, device, (void *)(uintptr_t)shards[operand], &program->buffers[operand]);
    }
    if (i == p->fault.op) {
        uint32_t result = op->outputs[p->fault.part];

        if (p->saved[device])
            memcpy((void *)(uintptr_t)shards[op->inputs[p->fault.part]], p->saved[device],
                   program->buffers[op->inputs[p->fault.part]].bytes);
        free(p->saved[device]); /* no later execution of the op restores the operand again */
        p->saved[device] = NULL;
        spoil_result(p, device, (void *)(uintptr_t)shards[result], &program->buffers[result]);
    }
    if (i + 1 == program->nops)
        for (uint32_t r = 0; r < program->nresults; r++)
            measure(p->s, device, r, shards[program->results[r].buffer], &p->effects[device]);
}

/* ---- counting ---- */

struct count {
    unsigned long tried, seen, below, open, unexplained;
    double most_unseen; /* the largest effect of a fault that was not found, in multiples of the
                         * bound */
};

static bool is_sum(const struct program_op *op)
{
    return op->kind == PROGRAM_RESHARD &&
           (op->reshard.kind == SHD_RESHARD_ALL_REDUCE ||
            op->reshard.kind == SHD_RESHARD_REDUCE_SCATTER) &&
           op->reshard.from.partial_op == SHD_SUM;
}

/* Whether two devices hold the same part of an array: exchanged, equal shards stay as they are, and
 * partial sums of one part add up to the same. */
static bool is_same_part(const struct program_buffer *b, int32_t device, int32_t other)
{
    int64_t one[SHD_RANK_MAX] = {0}, two[SHD_RANK_MAX] = {0};

    shd_sharding_offset(&b->sharding, b->shape, device, one);
    shd_sharding_offset(&b->sharding, b->shape, other, two);
    return memcmp(one, two, sizeof one) == 0;
}

/* Draw a fault of a kind at a random place; false: no place was found. */
static bool draw_fault(struct random *random, const struct program *program, enum fault_kind kind,
                       struct fault *f)
{
    int32_t n = shd_mesh_size(program->mesh);

    for (int tries = 0; tries < 50; tries++) {
        const struct program_op *op;
        const struct program_buffer *b;

        *f = (struct fault){.kind = kind};
        f->op = 1 + random_below(random, program->nops - 1);
        op = &program->ops[f->op];
        f->part = random_below(random, op->noutputs);
        b = &program->buffers[op->outputs[f->part]];
        f->device = (int32_t)random_below(random, (uint32_t)n);
        f->other = (int32_t)random_below(random, (uint32_t)n);
        if (b->dtype == SHD_I32 || b->bytes == 0)
            continue;
        f->element = random_below(random, (uint32_t)(b->bytes / shd_dtype_size(b->dtype)));
        if ((kind == MISSING || kind == LESSER) && !is_sum(op))
            continue;
        if (kind == EXCHANGED && is_same_part(b, f->device, f->other))
            continue;
        return true;
    }
    return false;
}

static void tell(const struct subject *s, uint64_t seed, const struct fault *f,
                 const struct effect *all)
{
    fprintf(stderr,
            "# seed %llu, %s, not seen: %s at op %u (%s for %s), array %u, device %d: "
            "changes a result by up to %.2g of its bound, %llu open\n",
            (unsigned long long)seed, shd_dtype_name(s->dtype), kind_names[f->kind], f->op,
            program_step_name(&s->program->ops[f->op]), s->program->ops[f->op].name, f->part,
            (int)f->device, all->most, (unsigned long long)all->nopen);
}

static void try_fault(struct subject *s, uint64_t seed, const struct fault *f, struct count *count)
{
    int32_t n = shd_mesh_size(s->program->mesh);
    struct planting p = {s, *f, calloc((size_t)n, sizeof *p.saved),
                         calloc((size_t)n, sizeof *p.effects)};
    struct walk_opts opts = {.observe = plant, .observe_arg = &p};
    struct effect all = {.changed = false};
    struct record *run;

    if (!p.saved || !p.effects ||
        record_create(&run, s->program, RECORD_EXECUTED, false, NULL) != SHD_OK ||
        verify_run(run, &s->reference, &opts, NULL) != SHD_OK)
        abort();
    for (int32_t d = 0; d < n; d++) {
        all.changed |= p.effects[d].changed;
        all.most = fmax(all.most, p.effects[d].most);
        all.nopen += p.effects[d].nopen;
        free(p.saved[d]);
    }
    count->tried += all.changed;
    if (all.changed && !record_matches(run)) {
        count->seen++;
    } else if (all.changed) {
        /* Right and wrong value may each be off by the bound, to opposite sides. */
        if (all.most > 2)
            count->unexplained++;
        else if (all.nopen > 0)
            count->open++;
        else
            count->below++;
        count->most_unseen = fmax(count->most_unseen, all.most);
        tell(s, seed, f, &all);
    }
    record_destroy(run);
    free(p.saved);
    free(p.effects);
}

static bool enough(const struct count counts[NKINDS], unsigned long want)
{
    for (int k = 0; k < NKINDS; k++)
        if (counts[k].tried < want)
            return false;
    return true;
}

static void plant_all(struct count counts[NKINDS], enum shd_dtype dtype, unsigned long want)
{
    struct random random = {first_seed};

    memset(counts, 0, NKINDS * sizeof *counts);
    for (uint64_t seed = first_seed; !enough(counts, want); seed++) {
        struct subject s;
        struct fault f;

        if (!subject_init(&s, seed, dtype, (enum subject_from)(seed % NSOURCES)))
            continue;
        if (shd_mesh_size(s.program->mesh) > 1) {
            run_twice(&s);
            for (int k = 0; k < NKINDS; k++)
                for (int i = 0; i < FAULTS_A_PROGRAM && counts[k].tried < want; i++)
                    if (draw_fault(&random, s.program, (enum fault_kind)k, &f))
                        try_fault(&s, seed, &f, &counts[k]);
        }
        subject_fini(&s);
    }
}

/* ---- runs without a fault ---- */

struct alarms {
    unsigned long runs, alarms, arrays, open; /* arrays: all checked ones; open: those with an
                                               * element that cannot be judged */
    double nearest, nearest_step;             /* the largest error, in multiples of the bound */
};

static void judge_right(struct alarms *a, const struct subject *s, uint64_t seed)
{
    struct walk_opts opts = {.nthreads = 0};
    struct record *run;

    if (record_create(&run, s->program, RECORD_EXECUTED, false, NULL) != SHD_OK ||
        verify_run(run, &s->reference, &opts, NULL) != SHD_OK)
        abort();
    a->runs++;
    a->arrays += run->nchecks;
    a->alarms += !record_matches(run);
    a->nearest_step = fmax(a->nearest_step, run->step.error);
    for (uint32_t r = 0; r < run->nchecks; r++) {
        a->nearest = fmax(a->nearest, run->checks[r].error);
        a->open += run->checks[r].nopen > 0;
    }
    if (!record_matches(run))
        fprintf(stderr,
                "# seed %llu, %s: a false alarm; the worst step, op %u (%s for %s), is at %g of "
                "its bound (%g, not %g)\n",
                (unsigned long long)seed, shd_dtype_name(s->dtype), run->step_op,
                program_step_name(&s->program->ops[run->step_op]),
                s->program->ops[run->step_op].name, run->step.error, run->step.got, run->step.want);
    for (uint32_t r = 0; r < run->nchecks; r++)
        if (run->checks[r].error > 1)
            fprintf(stderr, "#   %s is at %g of its bound: %g, not %g within %g\n",
                    run->checks[r].name, run->checks[r].error, run->checks[r].got,
                    run->checks[r].want, run->checks[r].allowed);
    record_destroy(run);
}

/* Judge `want` programs of one source. */
static void judge_all(struct alarms *a, enum shd_dtype dtype, enum subject_from from,
                      unsigned long want)
{
    unsigned long until = a->runs + want;

    for (uint64_t seed = first_seed; a->runs < until; seed++) {
        struct subject s;

        if (!subject_init(&s, seed, dtype, from))
            continue;
        judge_right(a, &s, seed);
        subject_fini(&s);
    }
}

/* ---- telling ---- */

static void print_type(enum shd_dtype dtype, const struct count counts[NKINDS],
                       const struct alarms *programs, const struct alarms *presets)
{
    const struct alarms *all[2] = {programs, presets};

    printf("\n## %s\n\n", shd_dtype_name(dtype));
    printf("| fault | tried | seen | %% | not seen: within bounds | left open | unexplained |\n");
    printf("|---|---:|---:|---:|---:|---:|---:|\n");
    for (int k = 0; k < NKINDS; k++)
        printf("| %s | %lu | %lu | %.2f | %lu | %lu | %lu |\n", kind_names[k], counts[k].tried,
               counts[k].seen, 100.0 * (double)counts[k].seen / fmax(1, (double)counts[k].tried),
               counts[k].below, counts[k].open, counts[k].unexplained);
    printf("\n| without a fault | runs | called wrong | nearest result | nearest step | results | "
           "with elements left open |\n");
    printf("|---|---:|---:|---:|---:|---:|---:|\n");
    for (int i = 0; i < 2; i++)
        printf("| random %s | %lu | %lu | %.2f of its bound | %.2f | %lu | %lu |\n",
               i ? "presets" : "programs", all[i]->runs, all[i]->alarms, all[i]->nearest,
               all[i]->nearest_step, all[i]->arrays, all[i]->open);
    fflush(stdout);
}

/* Whether at least 99.9 % were found. */
static bool nearly_all(const struct count *c)
{
    return (c->tried - c->seen) * 1000 <= c->tried;
}

static bool is_good(const struct count counts[NKINDS], const struct alarms *programs,
                    const struct alarms *presets)
{
    bool good = programs->alarms == 0 && presets->alarms == 0;

    for (int k = 0; k < NKINDS; k++)
        good &= nearly_all(&counts[k]) && counts[k].unexplained == 0;
    return good;
}

static void test_type(enum shd_dtype dtype, const struct count counts[NKINDS],
                      const struct alarms *programs, const struct alarms *presets)
{
    const char *type = shd_dtype_name(dtype);

    for (int k = 0; k < NKINDS; k++) {
        ok(counts[k].unexplained == 0, "%s, %s: what is not seen is within bounds", type,
           kind_names[k]);
        ok(nearly_all(&counts[k]), "%s, %s: seen %lu of %lu", type, kind_names[k], counts[k].seen,
           counts[k].tried);
    }
    ok(programs->alarms == 0, "%s: %lu programs without a fault are not called wrong", type,
       programs->runs);
    ok(presets->alarms == 0, "%s: %lu presets without a fault are not called wrong", type,
       presets->runs);
}

int main(int argc, char **argv)
{
    static const enum shd_dtype types[] = {SHD_F32, SHD_BF16, SHD_F16};
    const char *sanitizer = getenv("SHD_SANITIZER");
    /* Every fault makes the threads do the same, so a few suffice under the thread sanitizer. */
    unsigned long few = sanitizer && !strcmp(sanitizer, "thread") ? 2 : small_size() ? 5 : 25;
    unsigned long nfaults = argc > 3 ? strtoul(argv[1], NULL, 10) : few;
    unsigned long nprograms = argc > 3 ? strtoul(argv[2], NULL, 10) : 2 * few;
    unsigned long npresets = argc > 3 ? strtoul(argv[3], NULL, 10) : few;

    bool good = true;

    if (argc > 5)
        first_seed = strtoull(argv[5], NULL, 10);
    if (argc <= 3)
        plan(0);
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        struct alarms programs = {0}, presets = {0};
        struct count counts[NKINDS];

        if (argc > 4 ? strcmp(argv[4], shd_dtype_name(types[t])) != 0 : !sampled(3, t))
            continue;
        plant_all(counts, types[t], nfaults);
        judge_all(&programs, types[t], FROM_OPS, nprograms / 2);
        judge_all(&programs, types[t], FROM_LAYERS, nprograms - nprograms / 2);
        judge_all(&presets, types[t], FROM_PRESETS, npresets);
        if (argc > 3)
            print_type(types[t], counts, &programs, &presets);
        else
            test_type(types[t], counts, &programs, &presets);
        good &= is_good(counts, &programs, &presets);
    }
    return argc > 3 ? !good : done();
}
