/* train.run: some training steps, executed by device threads: losses, and the distance that
 * parameters moved.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "partition/partition.h"
#include "query/limits.h"
#include "query/query.h"
#include "query/train.h"
#include "trial/collect.h"
#include "trial/curve.h"
#include "run/walk/walk.h"

struct train_run {
    struct train train;
    struct program *program;
    struct record *record;
    struct collect results;
};

static void fini(struct train_run *run)
{
    collect_fini(&run->results);
    record_destroy(run->record);
    program_destroy(run->program);
    train_fini(&run->train);
}

/* A walk_stepped_fn. */
static void keep_numbers(void *arg, int32_t position, uint32_t step, const void *const *shards)
{
    curve_keep(arg, position, step, shards);
}

static int partition(struct train_run *run, struct shd_error *err)
{
    const struct partition_request request = trial_request(&run->train.variant.trial);
    int status = partition_build(&run->program, &request, err);

    return status == SHD_OK ? limits_check(run->program, run->train.steps, false, err) : status;
}

static int execute(struct train_run *run, struct shd_error *err)
{
    struct walk_opts opts = {.repeats = run->train.steps,
                             .finish = collect_finish,
                             .finish_arg = &run->results,
                             .stepped = keep_numbers};
    int status = partition(run, err);

    if (status != SHD_OK)
        return status;
    status = record_create(&run->record, run->program, RECORD_EXECUTED, false, err);
    if (status != SHD_OK)
        return status;
    opts.stepped_arg = run->record;
    status = record_train(run->record, run->train.steps, err);
    if (status == SHD_OK)
        status = collect_init(&run->results, run->program, err);
    return status == SHD_OK ? walk_run(run->record, &opts, err) : status;
}

/* ---- the answer ---- */

/* Norm of a parameter, and of its difference from the initial value. */
struct norms {
    struct text name; /* in the question */
    double size, way;
};

static int norms_of(struct norms *out, const struct train_run *run, uint32_t result,
                    struct shd_error *err)
{
    static const int64_t start[PROGRAM_RANK_MAX] = {0};
    const struct program_buffer *b = &run->program->buffers[run->program->results[result].buffer];
    const double *now = run->results.wholes[result];
    double *first;
    uint64_t bytes;
    int status = shd_shape_bytes(&bytes, b->shape, b->rank, b->dtype, err);

    if (status != SHD_OK)
        return status;
    first = malloc(bytes + 1);
    if (!first)
        return shd_error_set(err, SHD_ENOMEM, "no memory for '%.60s'", b->name);
    for (uint32_t i = 0; i < run->program->nops; i++)
        if (run->program->ops[i].kind == PROGRAM_FILL &&
            run->program->ops[i].outputs[0] == run->program->results[result].of)
            kern_fill(&run->program->ops[i].source, b->dtype, b->rank, b->shape, start, b->shape,
                      first);
    *out = (struct norms){.name = TEXT_INIT};
    train_name(&out->name, &run->train, run->program->results[result].name);
    if (out->name.failed)
        status = shd_error_set(err, SHD_ENOMEM, "no memory for the names");
    for (uint64_t i = 0; i < bytes / sizeof *now; i++) {
        double x = now[i], dx = x - first[i];

        out->size += x * x;
        out->way += dx * dx;
    }
    out->size = sqrt(out->size);
    out->way = sqrt(out->way);
    free(first);
    return status;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(text_get(&((const struct norms *)a)->name),
                  text_get(&((const struct norms *)b)->name));
}

/* Compute the norms of parameters (not of optimizer state), sorted by name, and store how many. */
static int all_norms(struct norms *out, uint32_t *count, const struct train_run *run,
                     struct shd_error *err)
{
    int status = SHD_OK;

    *count = 0;
    for (uint32_t r = 0; r < run->program->nresults && status == SHD_OK; r++)
        if (run->program->results[r].kind == PROGRAM_NEXT &&
            strncmp(run->program->results[r].name, "opt/", 4) != 0)
            status = norms_of(&out[(*count)++], run, r, err);
    if (status == SHD_OK)
        qsort(out, *count, sizeof *out, by_name);
    return status;
}

/* Write a list of numbers that are `stride` bytes apart. */
static void write_list(struct json_out *out, const char *key, const double *values, size_t stride,
                       uint32_t n)
{
    json_out_key_object(out, key);
    json_out_key_array(out, "shape");
    json_out_int(out, n);
    json_out_end_array(out);
    json_out_key_array(out, "values");
    for (uint32_t i = 0; i < n; i++)
        json_out_double(out, *(const double *)(const void *)((const char *)values + i * stride));
    json_out_end_array(out);
    json_out_end_object(out);
}

static int write_answer(struct json_out *out, const struct train_run *run, struct shd_error *err)
{
    struct norms *norms = calloc((size_t)run->program->nresults + 1, sizeof *norms);
    uint32_t n = 0;
    int status;

    if (!norms)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the norms");
    status = all_norms(norms, &n, run, err);
    if (status == SHD_OK) {
        json_out_begin_object(out);
        write_list(out, "losses", run->record->training.losses, sizeof(double), run->train.steps);
        write_list(out, "grad_norms", run->record->training.grad_norms, sizeof(double),
                   run->train.steps);
        write_list(out, "param_norms", &norms->size, sizeof *norms, n);
        write_list(out, "update_norms", &norms->way, sizeof *norms, n);
        json_out_end_object(out);
    }
    for (uint32_t i = 0; i < n; i++)
        text_fini(&norms[i].name);
    free(norms);
    return status;
}

static int answer_run(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct train_run run = {.program = NULL};
    int status = train_init(&run.train, in, err);

    if (status == SHD_OK)
        status = execute(&run, err);
    if (status == SHD_OK)
        status = write_answer(out, &run, err);
    fini(&run);
    return status;
}

const struct query_op query_train_ops[] = {
    {.name = "train.run",
     .answer = answer_run,
     .about = "Trains a decoder for some steps, executed on device threads, and returns losses and "
              "norms. Hidden states go through norm, attention, norm and MLP in each layer; the "
              "loss is the mean cross-entropy of the next token.",
     .in = QUERY_FIELDS(
         {"config", "object", NULL, "Attributes that tensors lack; sizes may be repeated."},
         {"config.vocab", "whole number from 1 to 2147483647", NULL, "Entries of the vocabulary."},
         {"config.layers", "whole number from 1 to 2147483647", NULL, "Layers."},
         {"config.mlp", "text", "\"gelu\"", "gelu or swiglu."},
         {"config.rope", "number", "0", "0: no RoPE; else its theta."},
         {"config.tied", "boolean", "false", "The head is the transposed embedding."},
         {"config.d_model", "whole number", "as the tensors say", "Checked against them."},
         {"config.d_ff", "whole number", "as the tensors say", "Checked against them."},
         {"config.heads", "whole number", "as the tensors say", "Checked against them."},
         {"config.kv_heads", "whole number", "as the tensors say", "Checked against them."},
         {"config.head_dim", "whole number", "as the tensors say", "Checked against them."},
         {"tensors", "object", NULL,
          "Tensors by name: wte [vocab, embed], gf, head [embed, vocab] unless tied; for each "
          "layer layers.0.g1, wq, wk, wv, wo, g2, w2, and w1, or for swiglu wg and wu."},
         {"tensors.*", "tensor", "none", "Each of them."},
         {"tokens", "object", NULL, "Integers below vocab, generated as for a tensor."},
         {"tokens.shape", "shape", NULL, "[steps, batch, sequence + 1]."},
         {"tokens.seed", "whole number from 0 to 4294967295", "0", "As of a tensor."},
         {"optimizer", "object", "{}", "The optimizer."},
         {"optimizer.kind", "text", "\"sgd\"", "sgd or adamw."},
         {"optimizer.lr", "number", "1e-3", "Learning rate."},
         {"optimizer.weight_decay", "number", "0", "Weight decay."},
         {"optimizer.momentum", "number", "0", "Of sgd."},
         {"optimizer.betas", "list of numbers", "[0.9, 0.999]", "Of adamw."},
         {"optimizer.eps", "number", "1e-8", "Of adamw."},
         {"optimizer.clip", "number", "0", "The norm that gradients are clipped to; 0: none."},
         {"optimizer.warmup", "whole number from 0 to 2147483647", "0", "In steps."},
         {"optimizer.decay", "text", "\"constant\"", "constant or cosine."},
         {"layout", "object", NULL, "How it is laid out."},
         {"layout.mesh", "mesh", NULL, "Axes of the device mesh."},
         {"layout.data", "name", "none", "The axis of the batch."},
         {"layout.tensor", "name", "none", "The axis of heads, MLP and vocabulary."},
         {"layout.sequence", "boolean", "false", "Shard between layers over tensor, too."},
         {"layout.zero", "object", "none", "ZeRO."},
         {"layout.zero.stage", "whole number from 0 to 3", "0", "Its stage."},
         {"layout.zero.axis", "name or list of names", "none", "Its axis, or several."},
         {"layout.pipeline", "object", "none", "A pipeline of layers."},
         {"layout.pipeline.axis", "name", "\"pp\"", "Its axis."},
         {"layout.pipeline.schedule", "text", "\"1F1B\"", "Its schedule."},
         {"layout.pipeline.stages_per_rank", "whole number", "as the schedule has",
          "Stages of each rank."},
         {"layout.microbatches", "whole number", "1", "Microbatches, which divide the batch."},
         {"layout.recompute", "text", "\"none\"", "none, selective or full."}),
     .gives = "object",
     .out = QUERY_FIELDS(
         {"losses", "object", NULL, "shape and values: the loss of each step."},
         {"grad_norms", "object", NULL,
          "The norm of the gradient of each step, before it is clipped."},
         {"param_norms", "object", NULL, "The norm of each parameter at the end, sorted by name."},
         {"update_norms", "object", NULL, "The norm of each parameter's total change."}),
     .errors = "duplicate-axis, axis-not-in-mesh, not-found, indivisible",
     .question =
         "{'config': {'vocab': 8, 'layers': 1, 'tied': true}, 'tensors': {'wte': {'shape': [8, 4], "
         "'seed': 1}, 'gf': {'shape': [4], 'scale': 0, 'offset': 1}, 'layers.0.g1': {'shape': [4], "
         "'scale': 0, 'offset': 1}, 'layers.0.wq': {'shape': [4, 2, 2], 'seed': 2}, 'layers.0.wk': "
         "{'shape': [4, 2, 2], 'seed': 3}, 'layers.0.wv': {'shape': [4, 2, 2], 'seed': 4}, "
         "'layers.0.wo': {'shape': [2, 2, 4], 'seed': 5}, 'layers.0.g2': {'shape': [4], 'scale': "
         "0, 'offset': 1}, 'layers.0.w1': {'shape': [4, 8], 'seed': 6}, 'layers.0.w2': {'shape': "
         "[8, 4], 'seed': 7}}, 'tokens': {'shape': [2, 2, 4], 'seed': 8}, 'optimizer': {'lr': "
         "0.1}, 'layout': {'mesh': [['dp', 2]], 'data': 'dp'}}",
     .reply = "'out':{'losses':{'shape':[2],'values':[2.377418,1.957523]},'grad_norms':{'shape':[2]"
              ",'values':[0.9920854,1.591717]},'param_norms':{'shape':[10],'values':[1.974539,2."
              "008617,2.004339,1.665203,1.665719,1.180622,1.195491,1.180997,1.195692,1.618087]},'"
              "update_norms':{'shape':[10],'values':[0.03964238,0.01435082,0.01240928,0.05909771,0."
              "02504921,0.0175958,0.05248292,0.03379707,0.05044308,0.162498]}}"},
    {.name = NULL}};
