/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "trial/op_verdicts.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "kern/convert.h"
#include "kern/error.h"
#include "program/shard.h"
#include "run/ranks/ranks.h"
#include "run/ranks/spread.h"
#include "trial/elements.h"
#include "trial/moved_shards.h"
#include "trial/replay_sum.h"

/* Up to this work, in floating-point operations and elements (some tenths of a second of a core),
 * all devices judge all ops.  Above it, every n-th device judges an op, a different set for each
 * op, but at least JUDGES_LEAST devices: so the second run takes a few times as long as the first,
 * not a hundred times. */
#define WORK_MAX (UINT64_C(1) << 28)
#define JUDGES_LEAST 16

/* Work of judging an op without elements. */
#define WORK_OF_OP 4096

/* The first microbatch of a step is judged, and one other. */
#define SENT_KEPT 2

struct steps {
    const struct program *program;
    uint32_t *step; /* [device]: number of its current step */
    void **left;    /* [device][result]: copies of results that replace arguments in the next
                       step; NULL for others */
    const void *const **shards; /* [device][buffer]; each device's own array, set at its first op */
    void ***peers; /* [device][buffer]: copies of shards of other ranks' devices; NULL: none */
    struct kern_difference *found; /* [device][op] */
    void **sent;     /* [device][channel][SENT_KEPT]: copies of sent messages that are judged */
    uint32_t *times; /* [device][op]: how often the op ran in the current step */
    uint32_t *judged_arguments; /* [device]: last step whose arguments the device judged */
    int32_t *number;            /* by device: its number among the devices of its pipeline rank */
    bool *judged;               /* [op]; set by the lowest-numbered device that judges the op */
    int32_t stride;             /* distance between devices that judge an op */
    atomic_bool failed;         /* memory ran out */
};

static double *zeros(uint64_t n)
{
    return kern_zeroed(n, sizeof(double));
}

/* Load values as float64, followed by KERN_LANES zeros. */
static double *loaded(enum shd_dtype dtype, const void *values, uint64_t n)
{
    double *out = malloc((size_t)(n + KERN_LANES) * sizeof *out);

    if (out) {
        kern_load_f64(dtype, values, 1, (size_t)n, out);
        memset(out + n, 0, KERN_LANES * sizeof *out);
    }
    return out;
}

/* Compare a shard with the expected values. */
static void judge(const struct steps *s, int32_t device, uint32_t op, uint32_t buffer,
                  const double *want, const double *allowed)
{
    static const int64_t start[PROGRAM_RANK_MAX] = {0};
    const struct program_buffer *b = &s->program->buffers[buffer];

    kern_compare(b->dtype, b->rank, b->local, start, b->local, s->shards[device][buffer], want,
                 allowed, &s->found[(size_t)device * s->program->nops + op]);
}

/* Compare a shard with expected values bit by bit: `values` are in the shard's type. */
static bool judge_exact(const struct steps *s, int32_t device, uint32_t op, uint32_t buffer,
                        const void *values)
{
    const struct program_buffer *b = &s->program->buffers[buffer];
    double *want = loaded(b->dtype, values, elements_of(b));

    if (!want)
        return false;
    judge(s, device, op, buffer, want, NULL);
    free(want);
    return true;
}

/* The type in which a kernel computes: kernels of 16-bit arrays compute in float32. */
static enum shd_dtype computed_in(enum shd_dtype dtype)
{
    return dtype == SHD_F64 ? SHD_F64 : SHD_F32;
}

/* A value that may deviate by `off` before it is stored in 16 bits rounds to one of few numbers,
 * mostly to one: allow the range from the smallest to the largest. */
static void allow_rounded(enum shd_dtype dtype, double *value, double off, double *allowed)
{
    double least = kern_round(dtype, *value - off), most = kern_round(dtype, *value + off);

    *value = (least + most) / 2;
    *allowed = (most - least) / 2;
}

/* Turn the variances of a kernel's results before storing into the allowed deviation of each
 * element; the expected value may move to the middle of the allowed range.  `kept`: storing loses
 * nothing. */
static void allow(double *variances, double *values, const struct program_buffer *b, bool kept)
{
    enum shd_dtype computed = computed_in(b->dtype);

    for (uint64_t i = 0; i < elements_of(b); i++) {
        double off = KERN_ERROR_ALLOWED * sqrt(variances[i]);

        if (variances[i] < 0) {
            variances[i] = INFINITY;
            continue;
        }
        if (!kept)
            off += kern_store_loss(computed, values[i]);
        off *= KERN_ERROR_SLACK;
        if (!isfinite(values[i]))
            variances[i] = 0; /* infinities and NaNs are compared by place */
        else if (!(fabs(values[i]) + off <= kern_largest(b->dtype)))
            variances[i] = INFINITY;
        else if (computed == b->dtype)
            variances[i] = off;
        else
            allow_rounded(b->dtype, &values[i], off, &variances[i]);
    }
}

/* ---- arguments ---- */

static void *copy_of(const void *bytes, uint64_t n)
{
    void *copy = malloc(n + 1);

    if (copy)
        memcpy(copy, bytes, n);
    return copy;
}

/* A walk_stepped_fn: keep the results of the first step that replace arguments in the second. */
static void end_step(void *arg, int32_t device, uint32_t step, const void *const *shards)
{
    struct steps *s = arg;
    const struct program *program = s->program;

    for (uint32_t r = 0; r < program->nresults && step == 0; r++) {
        const struct program_result *result = &program->results[r];
        void **left = &s->left[(size_t)device * program->nresults + r];

        if (result->kind != PROGRAM_NEXT || !shards[r]) /* another rank's device */
            continue;
        *left = copy_of(shards[r], program->buffers[result->buffer].bytes);
        if (!*left)
            atomic_store(&s->failed, true);
    }
    memset(s->times + (size_t)device * program->nops, 0, program->nops * sizeof *s->times);
    s->step[device] = step + 1;
}

/* The previous step's result that replaces an argument; NULL: none. */
static const void *left_for(const struct steps *s, int32_t device, uint32_t argument)
{
    const struct program *program = s->program;

    for (uint32_t r = 0; r < program->nresults && s->step[device] > 0; r++)
        if (program->results[r].of == argument)
            return s->left[(size_t)device * program->nresults + r];
    return NULL;
}

/* Judge an argument: it must equal its source in this step, or the previous step's result. */
static bool judge_fill(const struct steps *s, int32_t device, uint32_t i)
{
    const struct program_op *op = &s->program->ops[i];
    const struct program_buffer *b = &s->program->buffers[op->outputs[0]];
    const void *left = left_for(s, device, op->outputs[0]);
    struct kern_source source = op->source;
    void *values;
    bool done;

    if (left)
        return judge_exact(s, device, i, op->outputs[0], left);
    values = kern_zeroed(b->bytes, 1);
    if (!values)
        return false;
    source.step = s->step[device];
    program_shard_fill(values, b, device, &source);
    done = judge_exact(s, device, i, op->outputs[0], values);
    free(values);
    return done;
}

/* ---- kernels ---- */

/* A kernel run again in float64, on the shards that the device read. */
struct again {
    union kern_desc desc;
    const void *in[PROGRAM_INPUTS_MAX];
    double *read[PROGRAM_INPUTS_MAX]; /* operands in float64; NULL: integers */
    void *values[PROGRAM_OUTPUTS_MAX];
    double *variances[PROGRAM_OUTPUTS_MAX];
    int64_t offsets[KERN_OFFSETS_MAX];
    void *workspace;
};

static bool again_read(struct again *a, const struct steps *s, int32_t device,
                       const struct program_op *op)
{
    uint32_t first = op->accumulates; /* the accumulated input 0 stays zeros, as in the first
                                         microbatch */

    if (first) {
        a->in[0] = a->read[0] = zeros(elements_of(&s->program->buffers[op->outputs[0]]));
        if (!a->read[0])
            return false;
    }
    for (uint32_t k = 0; k < op->ninputs; k++) {
        const struct program_buffer *b = &s->program->buffers[op->inputs[k]];

        a->in[first + k] = s->shards[device][op->inputs[k]];
        if (kern_is_whole(b->dtype))
            continue;
        a->read[first + k] = loaded(b->dtype, a->in[first + k], elements_of(b));
        if (!a->read[first + k])
            return false;
        a->in[first + k] = a->read[first + k];
    }
    return true;
}

static bool again_init(struct again *a, const struct steps *s, int32_t device,
                       const struct program_op *op)
{
    uint64_t (*workspace_bytes)(const union kern_desc *) = op->kernel->workspace_bytes;

    a->desc = *op->desc;
    kern_set_dtype(op->kernel, &a->desc, SHD_F64);
    program_op_offsets(s->program, op, device, a->offsets);
    for (uint32_t k = 0; k < op->noutputs; k++) {
        uint64_t n = elements_of(&s->program->buffers[op->outputs[k]]);

        a->values[k] = zeros(n);
        a->variances[k] = zeros(n);
        if (!a->values[k] || !a->variances[k])
            return false;
    }
    a->workspace = malloc((workspace_bytes ? workspace_bytes(&a->desc) : 0) + 1);
    return a->workspace && again_read(a, s, device, op);
}

static void again_fini(struct again *a)
{
    for (uint32_t k = 0; k < PROGRAM_INPUTS_MAX; k++)
        free(a->read[k]);
    for (uint32_t k = 0; k < PROGRAM_OUTPUTS_MAX; k++) {
        free(a->values[k]);
        free(a->variances[k]);
    }
    free(a->workspace);
}

/* In float32 parts of a sum may overflow to both infinities, and give NaN, where float64 has only
 * the infinity of an operand. */
static void accept_overflow(const struct steps *s, int32_t device, const struct program_op *op,
                            double *values)
{
    const struct program_buffer *b = &s->program->buffers[op->outputs[0]];
    uint64_t n = elements_of(b), first = 0;
    double *found;

    if (op->kernel != &kern_kernel_einsum || b->dtype == SHD_F64)
        return;
    while (first < n && !isinf(values[first]))
        first++;
    if (first == n)
        return;
    found = loaded(b->dtype, s->shards[device][op->outputs[0]], n);
    for (uint64_t i = first; found && i < n; i++)
        if (isinf(values[i]) && isnan(found[i]))
            values[i] = found[i];
    free(found);
}

/* Run the kernel and its error rule, and judge all results. */
static bool judge_again(const struct steps *s, int32_t device, uint32_t i, const struct again *a)
{
    static const double *const exact[PROGRAM_INPUTS_MAX] = {NULL};
    const struct program_op *op = &s->program->ops[i];
    const struct program_buffer *buffers = s->program->buffers;
    const struct kern_args args = {a->in, a->values, a->workspace, a->offsets, 1};
    struct kern_error error = {.args = &args,
                               .variances = exact,
                               .out = a->variances,
                               .type = computed_in(buffers[op->outputs[0]].dtype),
                               .parts = 1};

    op->kernel->run(&a->desc, &args);
    if (!op->kernel->error(&a->desc, &error))
        return false;
    accept_overflow(s, device, op, a->values[0]);
    for (uint32_t k = 0; k < op->noutputs; k++) {
        allow(a->variances[k], a->values[k], &buffers[op->outputs[k]], error.kept);
        judge(s, device, i, op->outputs[k], a->values[k], a->variances[k]);
    }
    return true;
}

static bool judge_bounds(const struct steps *s, int32_t device, uint32_t i)
{
    struct again a = {.workspace = NULL};
    bool done = again_init(&a, s, device, &s->program->ops[i]) && judge_again(s, device, i, &a);

    again_fini(&a);
    return done;
}

/* Run the kernel again in its own types on the shards that the device read.  Kernels are
 * deterministic to the bit, so a shard that was mixed up with the result is found even if the two
 * are nearly equal. */
static bool judge_bits(const struct steps *s, int32_t device, uint32_t i)
{
    const struct program_op *op = &s->program->ops[i];
    const void *in[PROGRAM_INPUTS_MAX];
    void *out[PROGRAM_OUTPUTS_MAX] = {NULL}, *workspace = malloc(op->workspace_bytes + 1);
    int64_t offsets[KERN_OFFSETS_MAX];
    const struct kern_args args = {in, out, workspace, offsets, 1};
    bool done = workspace != NULL;
    uint32_t n = 0;

    program_op_offsets(s->program, op, device, offsets);
    for (uint32_t k = 0; k < op->noutputs; k++) {
        out[k] = kern_zeroed(s->program->buffers[op->outputs[k]].bytes, 1);
        done = done && out[k];
    }
    if (op->accumulates) /* the first microbatch adds to zeros */
        in[n++] = out[0];
    for (uint32_t k = 0; k < op->ninputs; k++)
        in[n++] = s->shards[device][op->inputs[k]];
    if (done)
        op->kernel->run(op->desc, &args);
    for (uint32_t k = 0; k < op->noutputs && done; k++)
        done = judge_exact(s, device, i, op->outputs[k], out[k]);
    for (uint32_t k = 0; k < op->noutputs; k++)
        free(out[k]);
    free(workspace);
    return done;
}

static bool judge_kernel(const struct steps *s, int32_t device, uint32_t i)
{
    bool whole_numbers = kern_is_whole(s->program->buffers[s->program->ops[i].outputs[0]].dtype);

    return judge_bits(s, device, i) && (whole_numbers || judge_bounds(s, device, i));
}

/* ---- steps between shardings ---- */

static bool judge_part(const struct steps *s, int32_t device, uint32_t i, uint32_t part)
{
    const struct program_op *op = &s->program->ops[i];
    struct moved moved;
    bool done = moved_init(&moved, s->program, op, device, part, s->shards);

    if (!done)
        return false;
    judge(s, device, i, op->outputs[part], moved.want, moved.allowed);
    if (moved.allowed && replay_sum_serves(s->program, op)) {
        done = replay_sum(s->program, op, device, part, s->shards, moved.want);
        if (done)
            judge(s, device, i, op->outputs[part], moved.want, NULL);
    }
    moved_fini(&moved);
    return done;
}

static bool judge_rows(const struct steps *s, int32_t device, uint32_t i)
{
    const struct program_op *op = &s->program->ops[i];
    struct moved moved;

    if (!moved_rows(&moved, s->program, op, device, s->shards))
        return false;
    judge(s, device, i, op->outputs[0], moved.want, NULL);
    moved_fini(&moved);
    return true;
}

/* ---- steps between stages ---- */

/* Where a device's message of the `time`-th microbatch is kept. */
static void **sent_by(const struct steps *s, int32_t device, const struct program_op *op,
                      uint32_t time)
{
    size_t at = (size_t)device * s->program->nchannels + op->channel;

    return &s->sent[at * SENT_KEPT + (time > 0)];
}

static bool keep_sent(struct steps *s, int32_t device, uint32_t i, uint32_t time)
{
    const struct program_op *op = &s->program->ops[i];
    void **sent = sent_by(s, device, op, time);

    free(*sent);
    *sent = copy_of(s->shards[device][op->inputs[0]], s->program->buffers[op->inputs[0]].bytes);
    return *sent != NULL;
}

/* Both ranks run microbatches in the same order, so the n-th message received is the n-th sent. */
static bool judge_received(const struct steps *s, int32_t device, uint32_t i, uint32_t time)
{
    const struct program *program = s->program;
    const struct program_op *op = &program->ops[i];
    const struct program_op *send = &program->ops[program->channels[op->channel].send];

    return judge_exact(s, device, i, op->outputs[0],
                       *sent_by(s, program_doer(program, send, device), op, time));
}

/* ---- judging ops during a run ---- */

static bool is_judge(const struct steps *s, int32_t device, uint32_t op)
{
    return ((int64_t)s->number[device] + op) % s->stride == 0;
}

/* Judge the arguments once per step, at the device's first op: before the first step they are
 * filled, and before later steps replaced or refilled. */
static bool judge_arguments(struct steps *s, int32_t device)
{
    const struct program *program = s->program;
    uint32_t rank = program_rank(program, device);
    bool done = true;

    if (s->judged_arguments[device] == s->step[device])
        return true;
    s->judged_arguments[device] = s->step[device];
    for (uint32_t i = 0; i < program->first_op && done; i++)
        if (program_holds(program, rank, &program->ops[i]) && is_judge(s, device, i))
            done = judge_fill(s, device, i);
    return done;
}

/* The microbatch, besides the first (0), for which an op is judged: it varies by op, device and
 * step; both ends of a channel agree. 0: no other microbatch, for ops whose expected result depends
 * on the microbatch (data), or on earlier ones (sums). */
static uint32_t other_time(const struct steps *s, int32_t device, uint32_t i)
{
    const struct program_op *op = &s->program->ops[i];
    bool between = op->kind == PROGRAM_SEND || op->kind == PROGRAM_RECV;
    uint32_t n = between ? op->channel : i + (uint32_t)s->number[device];

    if (op->times == 1 || op->accumulates || op->kind == PROGRAM_FILL)
        return 0;
    return 1 + (n + s->step[device]) % (op->times - 1);
}

static bool judge_op(struct steps *s, int32_t device, uint32_t i, uint32_t time)
{
    const struct program_op *op = &s->program->ops[i];
    bool done = true;

    switch (op->kind) {
    case PROGRAM_FILL:
        return judge_fill(s, device, i);
    case PROGRAM_KERNEL:
        return judge_kernel(s, device, i);
    case PROGRAM_RECV:
        return judge_received(s, device, i, time);
    case PROGRAM_ROWS:
        return judge_rows(s, device, i);
    case PROGRAM_HOST:
        return judge_exact(s, device, i, op->outputs[0], s->shards[device][op->inputs[0]]);
    default:
        for (uint32_t k = 0; k < op->noutputs && done; k++)
            done = judge_part(s, device, i, k);
        return done;
    }
}

static void judge_step(void *arg, int32_t device, uint32_t i, uint32_t microbatch,
                       const void *const *shards)
{
    struct steps *s = arg;
    size_t at = (size_t)device * s->program->nops + i;
    bool sends = s->program->ops[i].kind == PROGRAM_SEND, done;
    uint32_t time = s->times[at]++;

    (void)microbatch;
    if (!s->shards[device]) /* set at the first op, where devices do not meet; other devices read
                               the entry only after they met */
        s->shards[device] = shards;
    done = judge_arguments(s, device);
    if (!done)
        atomic_store(&s->failed, true);
    if (!done || !(sends || is_judge(s, device, i)) ||
        (time > 0 && time != other_time(s, device, i)))
        return;
    done = sends ? keep_sent(s, device, i, time) : judge_op(s, device, i, time);
    if (!done)
        atomic_store(&s->failed, true);
    else if (s->number[device] < s->stride)
        s->judged[i] = true;
}

static void forget_peers(const struct steps *s, const struct program_op *op)
{
    for (int32_t d = 0; d < shd_mesh_size(s->program->mesh); d++)
        for (uint32_t k = 0; s->peers[d] && k < op->ninputs; k++) {
            free(s->peers[d][op->inputs[k]]);
            s->peers[d][op->inputs[k]] = NULL;
        }
}

/* A walk_peer_fn: keep a copy of another rank's shard until a newer one replaces it. */
static void keep_peer(void *arg, int32_t position, uint32_t i, int32_t peer, uint32_t buffer,
                      const void *shard)
{
    struct steps *s = arg;
    const struct program *program = s->program;
    const struct program_op *op = &program->ops[i];
    uint32_t time = s->times[(size_t)position * program->nops + i];
    void **kept;

    if (!shard) {
        forget_peers(s, op);
        return;
    }
    if (op->kind == PROGRAM_RECV && time > 0 && time != other_time(s, position, i))
        return;
    if (op->kind == PROGRAM_RECV) {
        kept = sent_by(s, peer, &program->ops[program->channels[op->channel].send], time);
    } else {
        if (!s->peers[peer])
            s->peers[peer] = calloc((size_t)program->nbuffers + 1, sizeof *s->peers[peer]);
        s->shards[peer] = (const void *const *)s->peers[peer];
        kept = s->peers[peer] ? &s->peers[peer][buffer] : NULL;
    }
    if (kept) {
        free(*kept);
        *kept = copy_of(shard, program->buffers[buffer].bytes);
    }
    if (!kept || !*kept)
        atomic_store(&s->failed, true);
}

static void fill_record(struct record *record, const struct steps *s)
{
    record->step = (struct record_check){.error = 0};
    record->nsteps = 0;
    for (uint32_t i = 0; i < s->program->nops; i++) {
        struct record_check check = record_check_of(record, s->found, s->program->nops, i);

        record->nsteps += s->judged[i];
        if (record->step.error > 1 || check.error <= record->step.error)
            continue;
        record->step = check; /* of an op with results; else nothing differs */
        record->step.name = s->program->buffers[s->program->ops[i].outputs[0]].name;
        record->step_op = i;
    }
}

/* Merge the verdicts that each rank reached on its own devices. */
static void gather(struct steps *s, const struct spread *spread)
{
    int64_t failed = atomic_load(&s->failed);

    if (!spread)
        return;
    spread_merge_rows(spread, s->found, s->program->nops * sizeof *s->found);
    ranks_merge(s->judged, s->program->nops * sizeof *s->judged, RANKS_JOIN);
    ranks_merge(&failed, sizeof failed, RANKS_MOST);
    atomic_store(&s->failed, failed != 0);
}

static int run_again(struct record *record, struct steps *s, const struct walk_opts *opts,
                     struct shd_error *err)
{
    struct walk_opts run = *opts;
    struct record *again;
    int status = record_create(&again, s->program, RECORD_EXECUTED, false, err);

    if (status != SHD_OK)
        return status;
    run.repeats = opts->repeats > 1 && program_has_state(s->program) ? 2 : 1;
    run.stepped = end_step;
    run.stepped_arg = s;
    run.finish = NULL;
    run.repeated = NULL;  /* this run is not measured */
    run.memory_bytes = 0; /* and takes memory for shards that are otherwise overwritten */
    run.inspect = judge_step;
    run.inspect_arg = s;
    run.peer = keep_peer;
    status = walk_run(again, &run, err);
    record_destroy(again);
    if (status == SHD_OK)
        gather(s, opts->spread);
    if (status == SHD_OK && atomic_load(&s->failed))
        status = shd_error_set(err, SHD_ENOMEM, "no memory to judge the steps");
    if (status == SHD_OK)
        fill_record(record, s);
    return status;
}

/* Work of judging all ops on one device, in floating-point operations and elements. */
static uint64_t work_of_device(const struct program *program)
{
    uint64_t work = 0;

    for (uint32_t i = 0; i < program->nops && work < WORK_MAX; i++) {
        const struct program_op *op = &program->ops[i];

        work += WORK_OF_OP;
        if (op->kind == PROGRAM_KERNEL)
            work += op->dense_flops < WORK_MAX ? op->dense_flops : WORK_MAX;
        for (uint32_t k = 0; k < op->noutputs; k++)
            work += elements_of(&program->buffers[op->outputs[k]]);
    }
    return work < WORK_MAX ? work : WORK_MAX;
}

static int32_t stride_of(const struct program *program)
{
    uint64_t ndevices = (uint64_t)shd_mesh_size(program->mesh) / program->nranks;
    uint64_t wanted = ndevices * work_of_device(program) / WORK_MAX + 1;
    uint64_t most = (ndevices + JUDGES_LEAST - 1) / JUDGES_LEAST;

    return (int32_t)(wanted < most ? wanted : most);
}

/* Number the devices of each pipeline rank, in the order of their positions. */
static void number_devices(int32_t *number, const struct program *program)
{
    for (uint32_t rank = 0; rank < program->nranks; rank++) {
        int32_t n = 0;

        for (int32_t d = 0; d < shd_mesh_size(program->mesh); d++)
            if (program_rank(program, d) == rank)
                number[d] = n++;
    }
}

static void free_peers(struct steps *s)
{
    for (int32_t d = 0; s->peers && d < shd_mesh_size(s->program->mesh); d++) {
        for (uint32_t b = 0; s->peers[d] && b < s->program->nbuffers; b++)
            free(s->peers[d][b]);
        free(s->peers[d]);
    }
    free(s->peers);
}

int steps_verify(struct record *record, const struct walk_opts *opts, struct shd_error *err)
{
    size_t n = (size_t)record->ndevices, nops = record->program->nops;
    size_t nleft = n * record->program->nresults,
           nsent = n * record->program->nchannels * SENT_KEPT;
    struct steps s = {.program = record->program, .stride = stride_of(record->program)};
    int status;

    atomic_init(&s.failed, false);
    s.shards = calloc(n, sizeof *s.shards);
    s.peers = calloc(n, sizeof *s.peers);
    s.found = calloc(n * nops + 1, sizeof *s.found);
    s.times = calloc(n * nops + 1, sizeof *s.times);
    s.judged = calloc(nops + 1, sizeof *s.judged);
    s.step = calloc(n, sizeof *s.step);
    s.left = calloc(nleft + 1, sizeof *s.left);
    s.sent = calloc(nsent + 1, sizeof *s.sent);
    s.judged_arguments = calloc(n, sizeof *s.judged_arguments);
    s.number = calloc(n, sizeof *s.number);
    if (s.shards && s.peers && s.found && s.times && s.judged && s.step && s.left && s.sent &&
        s.judged_arguments && s.number) {
        number_devices(s.number, s.program);
        status = run_again(record, &s, opts, err);
    } else {
        status = shd_error_set(err, SHD_ENOMEM, "no memory to judge the steps");
    }
    free_peers(&s);
    for (size_t i = 0; s.left && i < nleft; i++)
        free(s.left[i]);
    for (size_t i = 0; s.sent && i < nsent; i++)
        free(s.sent[i]);
    free(s.sent);
    free(s.judged_arguments);
    free(s.number);
    free(s.left);
    free(s.step);
    free(s.shards);
    free(s.found);
    free(s.times);
    free(s.judged);
    return status;
}
