/* Reads a file of torchtitan, in a part of TOML: sections with keys whose values stand on one line,
 * lists on several.  Options without effect on the layout are left out, and named.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/flavors.h"
#include "timetable/timetable.h"
#include "training/products.h"
#include "training/torchtitan.h"

#define FIELD(name) offsetof(struct import_job, name)

struct line {
    const char *from, *to; /* without surrounding spaces, and without comment */
    struct place place;    /* of `from` */
};

static void trim(struct line *l)
{
    for (; l->from < l->to && isspace((unsigned char)*l->from); l->from++)
        l->place.column++;
    while (l->to > l->from && isspace((unsigned char)l->to[-1]))
        l->to--;
}

/* End a line before a # outside of strings. */
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

/* A key or value as plain text: strings without quotes, numbers without underscores. */
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
        if (*c != '_' || !strchr("+-0123456789", *value->from))
            text_add_char(out, *c);
}

/* How many brackets of a list stay open behind a text, outside strings. */
static int open_brackets(const struct line *l)
{
    char quote = 0;
    int depth = 0;

    for (const char *c = l->from; c < l->to; c++) {
        if (quote)
            quote = *c == quote ? 0 : quote;
        else if (*c == '"' || *c == '\'')
            quote = *c;
        else
            depth += (*c == '[') - (*c == ']');
    }
    return depth;
}

struct toml {
    struct import_job *job;
    struct text section;        /* with its dot, or empty */
    int depth;                  /* open brackets of a list that continues */
    struct text name, list;     /* the list that continues: its key, and the lines so far */
    struct place key, value_at; /* and where they begin */
    struct diag *diag;
};

static void set_list(struct toml *t)
{
    if (t->name.failed || t->list.failed)
        diag_no_memory(t->diag);
    else
        torchtitan_set(t->job, text_get(&t->name), text_get(&t->list), t->key, t->value_at,
                       t->diag);
}

/* Add a line of a list, which ends with its last bracket. */
static void add_to_list(struct toml *t, const struct line *l)
{
    text_add_bytes(&t->list, l->from, (size_t)(l->to - l->from));
    t->depth += open_brackets(l);
    if (t->depth <= 0)
        set_list(t);
}

static void read_pair(struct toml *t, const struct line *l, const char *equals)
{
    struct line key = part(l, l->from, equals), value = part(l, equals + 1, l->to);
    struct text name = TEXT_INIT, text = TEXT_INIT;

    text_add(&name, text_get(&t->section));
    read_value(&name, &key);
    read_value(&text, &value);
    if (*value.from == '[' && open_brackets(&value) > 0) {
        text_clear(&t->name);
        text_clear(&t->list);
        text_add(&t->name, text_get(&name));
        t->key = key.place;
        t->value_at = value.place;
        add_to_list(t, &value);
    } else if (name.failed || text.failed)
        diag_no_memory(t->diag);
    else if (value.from == value.to)
        diag_error(t->diag, key.place, "'%.60s' has no value", text_get(&name));
    else if (value.to - value.from >= 3 && !strncmp(value.from, "\"\"\"", 3))
        diag_error(t->diag, value.place, "a string of several lines; expected one line");
    else if (torchtitan_check_quotes(text_get(&name), text_get(&text),
                                     *value.from == '"' || *value.from == '\'', value.place,
                                     t->diag))
        torchtitan_set(t->job, text_get(&name), text_get(&text), key.place, value.place, t->diag);
    text_fini(&name);
    text_fini(&text);
}

static void read_section(struct toml *t, const struct line *l)
{
    struct line name = part(l, l->from + 1, l->to - 1);

    text_clear(&t->section);
    text_add_bytes(&t->section, name.from, (size_t)(name.to - name.from));
    text_add_char(&t->section, '.');
}

static void read_line(struct toml *t, struct line l)
{
    const char *equals;

    cut_comment(&l);
    trim(&l);
    if (t->depth > 0) {
        add_to_list(t, &l);
        return;
    }
    if (l.from == l.to)
        return;
    if (*l.from == '[' && l.to[-1] == ']') {
        read_section(t, &l);
        return;
    }
    equals = memchr(l.from, '=', (size_t)(l.to - l.from));
    if (equals)
        read_pair(t, &l, equals);
    else
        diag_error(t->diag, l.place, "expected [SECTION] or KEY = VALUE");
}

/* ---- what follows from it ---- */

/* A model with --model overrides the model's name in the file. */
static void find_model(struct import_job *job, struct diag *diag)
{
    const char *name = job->model_name.text, *flavor = job->flavor.text;

    for (const struct family_flavor *f = family_flavors; !job->size && f->size; f++)
        if (name && flavor && !strcmp(f->model, name) && !strcmp(f->flavor, flavor))
            job->size = f->size;
    if (!job->size && (name || flavor || diag->nerrors == 0))
        diag_error(diag,
                   flavor ? job->flavor.place
                   : name ? job->model_name.place
                          : job->end,
                   "model '%.40s' has no published flavor '%.40s'; expected llama3 8B, 70B, 405B, "
                   "qwen3 0.6B to 235B-A22B, or deepseek_v3 16B, 236B, 671B; or add --model SIZE",
                   name ? name : "", flavor ? flavor : "");
    if (job->size)
        import_job_take_model(job, diag);
}

/* Whether compile.components lists "model" or "loss"; if it is not given, both are compiled. */
static bool compiles(const struct import_job *job, const char *part)
{
    const char *name;
    size_t length;

    if (!job->compiled_parts.text)
        return job->compiled;
    for (const char *at = job->compiled_parts.text; (name = import_next_name(&at, &length, NULL));)
        if (job->compiled && length == strlen(part) && !strncmp(name, part, length))
            return true;
    return false;
}

/* torchtitan's "selective" is by layers, the last of every N of them whole, or by ops. */
static void find_recompute(struct import_job *job, struct diag *diag)
{
    const char *option = job->every_layer.text;
    struct place place = option ? job->every_layer.place : job->end;

    job->known_fusions = true;
    job->fused_loss = compiles(job, "loss");
    job->split_activation = !compiles(job, "model");
    if (!job->recompute || strcmp(job->recompute, "selective") != 0)
        return;
    if (!option) {
        option = job->by_ops ? "op" : "2";
        text_addf(&job->taken, " activation_checkpoint.selective_ac_option %s", option);
    }
    job->recompute = strcmp(option, "op") ? "full" : "selective_op";
    job->recompute_hold = !strcmp(option, "op") && !compiles(job, "model");
    if (!strcmp(option, "op"))
        return;
    if (!*option || option[strspn(option, "0123456789")] || strlen(option) > 5)
        diag_error(diag, place,
                   "activation_checkpoint.selective_ac_option is '%.40s'; expected op, or a number "
                   "of layers",
                   option);
    else
        job->recompute_every = strtoll(option, NULL, 10);
    if (job->recompute_every == 0)
        job->recompute_every = 1; /* all layers, as in torchtitan */
}

/* Find the batch from its tokens, as given since August 2026: of a microbatch, and of a step. */
static void find_tokens(struct import_job *job, struct diag *diag)
{
    static const size_t fields[] = {FIELD(tokens), FIELD(batch_tokens), 0};

    if (job->batch < 0)
        job->batch = 0;
    if (job->tokens == 0)
        return;
    if (job->tokens % job->seq || (job->batch_tokens > 0 && job->batch_tokens % job->seq))
        diag_error(diag, import_job_place_of(job, fields),
                   "training.num_tokens_per_microbatch_per_dp_rank and num_tokens_per_train_step: "
                   "expected whole sequences of max_context_length %lld",
                   (long long)job->seq);
    job->sequences = job->tokens / job->seq;
    job->batch = job->batch_tokens > 0 ? job->batch_tokens / job->seq : 0;
}

/* Find the sequences of a microbatch of the pipeline.  A replica's batch is cut into a number of
 * microbatches (by default the stages, until April 2025), or into microbatches of a given size (1);
 * a number of tokens is that of a microbatch. */
static void find_microbatches(struct import_job *job, struct diag *diag)
{
    int64_t count = job->microbatches ? job->microbatches : job->old_stages ? job->stages : 0;
    int64_t local = job->sequences;
    static const size_t fields[] = {FIELD(microbatches), FIELD(microbatch), FIELD(sequences), 0};

    if (job->tokens > 0) {
        job->local = local * (count ? count : 1);
        return;
    }
    if (!count && !job->microbatch)
        text_add(&job->taken, " parallelism.pipeline_parallel_microbatch_size 1");
    if (count ? local % count : local % (job->microbatch ? job->microbatch : 1))
        diag_error(diag, import_job_place_of(job, fields),
                   "a local batch of %lld sequences does not divide into microbatches (%lld "
                   "microbatches, or of %lld sequences)",
                   (long long)local, (long long)count, (long long)job->microbatch);
    job->local = local;
    job->sequences = count ? local / count : job->microbatch ? job->microbatch : 1;
    if (job->sequences == 0)
        job->sequences = 1; /* after an error */
}

/* Find the layers of stages, and how many stages a rank has if not the schedule's own number. */
static void split_layers(struct import_job *job, const struct timetable_schedule *schedule,
                         struct diag *diag)
{
    job->virtual_stages = schedule->stages_per_rank;
    import_job_split_as_torchtitan(job, diag);
    if (!timetable_is_made_for(schedule, job->virtual_stages))
        diag_error(diag, job->schedule_name.text ? job->schedule_name.place : job->end,
                   "%s does not support %lld stages per rank", schedule->name,
                   (long long)job->virtual_stages);
    if (job->virtual_stages == schedule->stages_per_rank)
        job->virtual_stages = 1;
}

static void find_stages(struct import_job *job, struct diag *diag)
{
    const struct import_text *name = &job->schedule_name;
    const struct timetable_schedule *schedule = NULL;
    struct shd_error err;

    if (job->old_stages > 0)
        job->stages = job->old_stages;
    if (timetable_find_in(&schedule, name->text ? name->text : "1F1B", TIMETABLE_IN_TORCHTITAN,
                          "torchtitan", &err) != SHD_OK)
        diag_error(diag, name->place, "%s", err.text);
    else
        job->schedule = schedule->name;
    if (job->stages == 1)
        return;
    job->recompute_by_stage = true;
    if (schedule)
        split_layers(job, schedule, diag);
    if (job->sequences > 0)
        find_microbatches(job, diag);
}

/* The value "default", which is also the key's default, is the default of scenarios. */
static void find_shards(struct import_job *job)
{
    if (!job->reshard) {
        job->reshard = "default";
        text_add(&job->taken, " parallelism.fsdp_reshard_after_forward default");
    }
    job->resharded = strcmp(job->reshard, "default") != 0 ? job->reshard : NULL;
    job->zero = 3; /* if the job has shards */
    job->rows = true;
}

/* training.dtype is that of parameters, gradients and the optimizer's state; gradients are summed
 * over shards in mixed_precision_reduce. */
static void find_types(struct import_job *job, struct diag *diag)
{
    bool half = job->kept_type && !strcmp(job->kept_type, "bfloat16");

    job->bf16 = !job->type || !strcmp(job->type, "bfloat16");
    if (half && !job->bf16)
        diag_error(diag, import_job_place_named(job, "training.dtype"),
                   "training.dtype bfloat16 with mixed_precision_param float32 is not modelled: "
                   "bfloat16 parameters are used in bfloat16; expected one type");
    job->half_parameters = half;
    if (half)
        job->reduce = job->summed_type && !strcmp(job->summed_type, "bfloat16") ? NULL : "float32";
    else
        job->reduce =
            job->summed_type && strcmp(job->summed_type, "float32") != 0 ? job->summed_type : NULL;
}

static void find_optimizer(struct import_job *job)
{
    if (job->optimizer && !strcmp(job->optimizer, "Adam"))
        text_add(&job->notes, "# Adam adds weight decay to gradients, the planned AdamW subtracts "
                              "it from parameters: same memory and traffic.\n");
    if (job->implementation && !strcmp(job->implementation, "fused_opt_states_bf16"))
        job->moments = "bfloat16";
    job->optimizer = "adam";
}

/* By default, experts on several devices are not sharded over tensor parallelism, whose ranks then
 * have different experts.  Experts that each device has are sharded as all else is. */
static void find_experts(struct import_job *job, struct diag *diag)
{
    int64_t expert_tensor = job->expert_tensor ? job->expert_tensor : 1;

    job->expert_tensor = job->expert_devices > 1 ? expert_tensor : job->tensor;
    if (job->expert_devices > 1 && job->tensor > 1 && expert_tensor != 1 &&
        expert_tensor != job->tensor)
        diag_error(diag, import_job_place(job, FIELD(expert_tensor)),
                   "parallelism.expert_tensor_parallel_degree is %lld; expected 1, or %lld "
                   "(tensor_parallel_degree)",
                   (long long)expert_tensor, (long long)job->tensor);
    if (job->context > 1 && job->balancer && strcmp(job->balancer, "headtail") != 0)
        diag_error(diag, import_job_place_named(job, "parallelism.context_parallel_load_balancer"),
                   "parallelism.context_parallel_load_balancer is %s, but only zigzag order is "
                   "modelled; expected headtail",
                   job->balancer);
}

static void finish(struct import_job *job, struct diag *diag)
{
    if (job->tokens > 0) /* the tokens determine the batch, too */
        job->said[import_option_find(torchtitan_options, "training.local_batch_size") -
                  torchtitan_options] = true;
    import_job_take_standards(job, torchtitan_options, diag);
    find_model(job, diag);
    find_tokens(job, diag);
    find_recompute(job, diag);
    find_stages(job, diag);
    find_shards(job);
    find_optimizer(job);
    job->offload_state = job->offload_parameters =
        job->cpu_offload && !strcmp(job->cpu_offload, "true");
    find_experts(job, diag);
    import_torchtitan_products(job, diag);
    find_types(job, diag);
    job->sequence = job->keep_values = job->tensor > 1; /* autograd keeps the inputs of ops */
    job->known_overlaps = job->overlap_sums = job->overlap_gathers = true; /* FSDP2's streams */
    job->context_method = !job->comm || !strcmp(job->comm, "allgather") ? "gather" : "ring";
}

static void read_toml(struct import_job *job, struct place first, const char *text,
                      struct diag *diag)
{
    struct toml t = {
        .job = job, .section = TEXT_INIT, .name = TEXT_INIT, .list = TEXT_INIT, .diag = diag};

    job->end = first;
    while (*text && !diag_is_full(diag)) {
        size_t length = strcspn(text, "\n");

        read_line(&t, (struct line){text, text + length, job->end});
        text += length + (text[length] == '\n');
        job->end.line++;
    }
    if (job->end.line > first.line)
        job->end.line--; /* the last line */
    if (t.depth > 0)
        diag_error(diag, job->end, "a list that does not end");
    if (t.section.failed)
        diag_no_memory(diag);
    text_fini(&t.section);
    text_fini(&t.name);
    text_fini(&t.list);
}

void import_torchtitan(struct import_job *job, struct place first, const char *text,
                       struct diag *diag)
{
    job->system = "torchtitan";
    job->software = "fsdp2";
    if (text[strspn(text, " \t\r\n")] == '{')
        torchtitan_read_json(job, first, text, diag);
    else
        read_toml(job, first, text, diag);
    import_job_read_remarks(job, first, text, diag);
    finish(job, diag);
}
