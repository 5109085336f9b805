/* A file of torchtitan: the part of TOML that such files are written in, sections with keys whose
 * values stand in one line.  What is not of the layout is left out, and named.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "family/flavors.h"
#include "import/job.h"
#include "import/rows.h"

#define NUMBER(option, field, least)                                          \
    {                                                                         \
        .name = option, .type = IMPORT_INT, .offset = AT(field), .min = least \
    }
#define SIZE(option, field, taken)                                                           \
    {                                                                                        \
        .name = option, .type = IMPORT_INT, .offset = AT(field), .min = 1, .standard = taken \
    }
#define FRACTION(option, field, taken)                                                  \
    {                                                                                   \
        .name = option, .type = IMPORT_FRACTION, .offset = AT(field), .standard = taken \
    }

static const char *const types[] = {"float32", "bfloat16", NULL};
static const char *const schedules[] = {
    "1F1B",      "GPipe",         "Interleaved1F1B", "InterleavedZeroBubble",
    "LoopedBFS", "ZBVZeroBubble", "DualPipeV",       NULL};
static const char *const rotations[] = {"allgather", "alltoall", NULL};
static const char *const modes[] = {"none", "full", "selective", NULL};
static const char *const reshards[] = {"default", "always", "never", NULL};
static const char *const optimizers[] = {"AdamW", NULL};
static const char *const models[] = {"llama3", "deepseek_v3", NULL};
static const char *const flavors[] = {"8B", "70B", "405B", "16B", "236B", "671B", "custom", NULL};

/* What a scenario plans anyway. */
static const char *const no[] = {"false", NULL};
static const char *const one[] = {"1", NULL};
static const char *const empty[] = {"[]", NULL};
static const char *const no_file[] = {"", NULL};
static const char *const float32[] = {"float32", NULL};
static const char *const standard[] = {"standard", NULL};

#define EQUAL_STAGES \
    "expected stages of equal layers; leave it out, and give the scenario pipeline.layers"
#define NO_TRICK "memory and traffic are planned without it; leave it out to plan so"

static const struct import_option options[] = {
    WORD("model.name", model, models),
    WORD("model.flavor", flavor, flavors),
    UNLESS("model.converters", empty, "there are no types of 8 bits; expected []"),
    QUIET("model.hf_assets_path"),
    QUIET("model.print_after_conversion"),
    QUIET("model.tokenizer_path"),
    SIZE("training.local_batch_size", sequences, "8"),
    NUMBER("training.global_batch_size", batch, -1),
    SIZE("training.seq_len", seq, "2048"),
    WORD("training.mixed_precision_param", type, types),
    {.name = "training.max_norm", .type = IMPORT_LIMIT, .offset = AT(clip), .standard = "1.0"},
    UNLESS("training.dtype", float32, "parameters are updated in float32; leave it out"),
    UNLESS("training.enable_cpu_offload", no,
           "what lies in the host's memory cannot be said; expected false"),
    QUIET("training.compile"),
    QUIET("training.dataloader."),
    QUIET("training.dataset"),
    QUIET("training.dataset_path"),
    QUIET("training.deterministic"),
    QUIET("training.gc_debug"),
    QUIET("training.gc_freq"),
    QUIET("training.mixed_precision_reduce"),
    QUIET("training.seed"),
    QUIET("training.steps"),
    WORD("optimizer.name", optimizer, optimizers),
    FRACTION("optimizer.lr", lr, "0.0008"),
    FRACTION("optimizer.beta1", betas[0], "0.9"),
    FRACTION("optimizer.beta2", betas[1], "0.95"),
    FRACTION("optimizer.eps", eps, "1e-08"),
    FRACTION("optimizer.weight_decay", weight_decay, "0.1"),
    UNLESS("optimizer.early_step_in_backward", no,
           "gradients are planned to wait for the whole backward phase; expected false"),
    QUIET("optimizer.fused"),
    QUIET("optimizer.implementation"),
    NUMBER("parallelism.data_parallel_replicate_degree", replicas, 1),
    NUMBER("parallelism.data_parallel_shard_degree", shards, -1),
    NUMBER("parallelism.tensor_parallel_degree", tensor, 1),
    NUMBER("parallelism.context_parallel_degree", context, 1),
    NUMBER("parallelism.pipeline_parallel_degree", stages, 1),
    NUMBER("parallelism.expert_parallel_degree", expert_devices, 1),
    WORD("parallelism.fsdp_reshard_after_forward", reshard, reshards),
    WORD("parallelism.context_parallel_rotate_method", comm, rotations),
    WORD("parallelism.pipeline_parallel_schedule", schedule, schedules),
    NUMBER("parallelism.pipeline_parallel_microbatch_size", microbatch, 1),
    UNLESS("parallelism.disable_loss_parallel", no,
           "the loss is planned with words sharded over tensor parallelism; expected false"),
    UNLESS("parallelism.expert_parallel_comm_backend", standard, NO_TRICK),
    REFUSED("parallelism.module_fqns_per_model_part", EQUAL_STAGES),
    UNLESS("parallelism.pipeline_parallel_first_stage_less_layers", one, EQUAL_STAGES),
    UNLESS("parallelism.pipeline_parallel_last_stage_less_layers", one, EQUAL_STAGES),
    REFUSED("parallelism.pipeline_parallel_layers_per_stage", EQUAL_STAGES),
    UNLESS("parallelism.pipeline_parallel_schedule_csv", no_file,
           "expected a schedule by its name, pipeline_parallel_schedule"),
    UNLESS("parallelism.pipeline_parallel_split_points", empty, EQUAL_STAGES),
    QUIET("parallelism.enable_async_tensor_parallel"),
    QUIET("parallelism.enable_compiled_autograd"),
    {.name = "activation_checkpoint.mode",
     .type = IMPORT_WORD,
     .offset = AT(recompute),
     .words = modes,
     .standard = "selective"},
    {.name = "activation_checkpoint.selective_ac_option",
     .type = IMPORT_TEXT,
     .offset = AT(every_layer)},
    QUIET("activation_checkpoint."),
    UNLESS("fault_tolerance.enable", no, "the number of replicas does not change; expected false"),
    QUIET("fault_tolerance."),
    QUIET("checkpoint."),
    QUIET("comm."),
    QUIET("compile."),
    QUIET("debug."),
    QUIET("float8."), /* with the next two: what model.converters turns on */
    QUIET("mx."),
    QUIET("quantize."),
    QUIET("job."),
    QUIET("lr_scheduler."),
    QUIET("memory_estimation."),
    QUIET("metrics."),
    QUIET("profiling."),
    QUIET("validation."),
    {.name = NULL},
};

struct line {
    const char *from, *to; /* without spaces around and the comment behind */
    struct place place;    /* of `from` */
};

static void trim(struct line *l)
{
    for (; l->from < l->to && isspace((unsigned char)*l->from); l->from++)
        l->place.column++;
    while (l->to > l->from && isspace((unsigned char)l->to[-1]))
        l->to--;
}

/* Up to a # that stands in no string. */
static void cut_comment(struct line *l)
{
    char quote = 0;

    for (const char *c = l->from; c < l->to; c++) {
        if (quote)
            quote = *c == quote ? 0 : quote;
        else if (*c == '"' || *c == '\'')
            quote = *c;
        else if (*c == '#') {
            l->to = c;
            return;
        }
    }
}

static struct line part(const struct line *l, const char *from, const char *to)
{
    struct line p = {from, to, l->place};

    p.place.column += (int)(from - l->from);
    trim(&p);
    return p;
}

/* A value as plain text: strings without quotes, numbers without underscores. */
static void read_value(struct text *out, const struct line *value)
{
    size_t length = (size_t)(value->to - value->from);
    bool quoted = length >= 2 && (*value->from == '"' || *value->from == '\'') &&
                  value->to[-1] == *value->from;

    if (quoted) {
        text_add_bytes(out, value->from + 1, length - 2);
        return;
    }
    for (const char *c = value->from; c < value->to; c++)
        if (*c != '_')
            text_add_char(out, *c);
}

static void read_pair(struct import_job *job, const struct line *l, const struct text *section,
                      const char *equals, struct diag *diag)
{
    struct line key = part(l, l->from, equals), value = part(l, equals + 1, l->to);
    struct text name = TEXT_INIT, text = TEXT_INIT;
    const struct import_option *option;

    text_addf(&name, "%s.", text_get(section));
    text_add_bytes(&name, key.from, (size_t)(key.to - key.from));
    option = import_option_find(options, text_get(&name));
    read_value(&text, &value);
    if (name.failed || text.failed)
        diag_no_memory(diag);
    else if (!option)
        import_job_unknown(job, options, text_get(&name), key.place, diag);
    else
        import_job_set(job, options, option, text_get(&name),
                       value.from < value.to ? text_get(&text) : NULL, value.place, diag);
    text_fini(&name);
    text_fini(&text);
}

static void read_line(struct import_job *job, struct line l, struct text *section,
                      struct diag *diag)
{
    const char *equals;

    cut_comment(&l);
    trim(&l);
    if (l.from == l.to || *l.from == ']' || *l.from == '"')
        return; /* of a list over several lines, too: no option of the layout is one */
    if (*l.from == '[' && l.to[-1] == ']') {
        text_clear(section);
        text_add_bytes(section, l.from + 1, (size_t)(l.to - l.from) - 2);
        return;
    }
    equals = memchr(l.from, '=', (size_t)(l.to - l.from));
    if (equals)
        read_pair(job, &l, section, equals, diag);
    else
        diag_error(diag, l.place, "expected [SECTION] or KEY = VALUE");
}

/* ---- what follows from it ---- */

static void find_model(struct import_job *job, struct diag *diag)
{
    if (job->size)
        return;
    for (const struct family_flavor *f = family_flavors; f->size && job->model && job->flavor; f++)
        if (!strcmp(f->model, job->model) && !strcmp(f->flavor, job->flavor))
            job->size = f->size;
    if (!job->size && diag->nerrors == 0)
        diag_error(diag, job->end,
                   "no published model; expected model.name and flavor of one (llama3 8B, 70B, "
                   "405B; deepseek_v3 16B, 236B, 671B), or its size by --model");
}

/* Its "selective" is by layers, every N-th of them whole, or by ops. */
static void find_recompute(struct import_job *job, struct diag *diag)
{
    const char *option = job->every_layer.text;
    struct place place = option ? job->every_layer.place : job->end;

    if (!job->recompute || strcmp(job->recompute, "selective") != 0)
        return;
    if (!option) {
        option = "2";
        text_add(&job->taken, " activation_checkpoint.selective_ac_option 2");
    }
    if (!strcmp(option, "op"))
        diag_error(diag, place,
                   "activation_checkpoint.selective_ac_option is 'op', which keeps every second "
                   "product and cannot be said; expected a number of layers, or mode none (more "
                   "memory, less work) and full (less, more), which have it between them");
    else if (!*option || option[strspn(option, "0123456789")] || strlen(option) > 5)
        diag_error(diag, place,
                   "activation_checkpoint.selective_ac_option is '%.40s'; expected op, or a number "
                   "of layers",
                   option);
    else
        job->recompute_every = strtoll(option, NULL, 10);
    if (job->recompute_every == 0)
        job->recompute_every = 1; /* as there: all layers */
    if (job->recompute_every > 1)
        text_addf(&job->notes,
                  "# Of every %lld layers the first is computed again here, the last there.\n",
                  (long long)job->recompute_every);
    job->recompute = "full";
}

static void finish(struct import_job *job, struct diag *diag)
{
    import_job_take_standards(job, options, diag);
    find_recompute(job, diag);
    find_model(job, diag);
    job->bf16 = !job->type || !strcmp(job->type, "bfloat16");
    job->sequence = job->tensor > 1;
    job->gathers = !job->comm || !strcmp(job->comm, "allgather");
    job->optimizer = "adam";
    if (!job->schedule)
        job->schedule = "1F1B";
    if (job->stages > 1)
        text_add(&job->notes, "# torchtitan counts the embedding and the head as a layer each: its "
                              "first and last stage may have fewer than here.\n");
    job->keep = job->reshard && (!strcmp(job->reshard, "never") ||
                                 (!strcmp(job->reshard, "default") && job->stages > 1));
    job->zero = 3; /* where there are shards */
    if (job->batch < 0)
        job->batch = 0;
    if (job->stages > 1 && job->sequences > 0) {
        int64_t microbatch = job->microbatch > 0 ? job->microbatch : 1;

        if (job->sequences % microbatch)
            diag_error(diag, job->end,
                       "microbatches of %lld do not divide a local batch of %lld sequences",
                       (long long)microbatch, (long long)job->sequences);
        job->local = job->sequences;
        job->sequences = microbatch;
    }
}

void import_torchtitan(struct import_job *job, struct place first, const char *text,
                       struct diag *diag)
{
    struct text section = TEXT_INIT;

    job->system = "torchtitan";
    job->end = first;
    while (*text && !diag_is_full(diag)) {
        size_t length = strcspn(text, "\n");

        read_line(job, (struct line){text, text + length, job->end}, &section, diag);
        text += length + (text[length] == '\n');
        job->end.line++;
    }
    if (section.failed)
        diag_no_memory(diag);
    text_fini(&section);
    finish(job, diag);
}
