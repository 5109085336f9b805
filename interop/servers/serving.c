/* What options of servers come to: the program, the model and the load (serving.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "servers/serving.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/nearest.h"
#include "base/words.h"
#include "scenario/family_table.h"
#include "scenario/published.h"

#define SEQUENCES 256    /* at once, where nothing says how many: vLLM's own on small devices */
#define STEP_TOKENS 8192 /* of a prefill */
#define TOKENS 1024      /* of a sequence, where nothing says how long it may be */
#define PAGE 16          /* tokens of a page of the cache, by default */
#define ROUNDING 1e-6    /* of whole tokens: 32.3 times 1000 is not 32300 in binary */

/* ---- the program ---- */

static bool is_in_name(const char *images, const char *name)
{
    size_t length;

    for (const char *image; (image = words_next(&images, &length));)
        for (const char *at = name; *at; at++)
            if (!strncmp(at, image, length))
                return true;
    return false;
}

/* Find an image that "docker run" or the like runs. */
static bool find_image(const struct shell *s, const char *images, size_t *first)
{
    bool runs = false;

    for (size_t i = 0; i < s->words.count; i++) {
        *first = i + 1;
        if (runs && is_in_name(images, shell_words_text(&s->words, i)))
            return true;
        runs |= !strcmp(shell_words_text(&s->words, i), "run");
    }
    return false;
}

bool serving_find_program(const struct shell *s, const struct serving_program *p, size_t *first)
{
    size_t n = s->words.count;

    for (size_t i = 0; i + 1 < n; i++) {
        const char *word = shell_words_text(&s->words, i);
        const char *next = shell_words_text(&s->words, i + 1);

        *first = i + 2;
        if (!strcmp(file_name(word), p->program) && !strcmp(next, "serve"))
            return true;
        if (!strcmp(word, "-m") && words_has(p->modules, next)) {
            *first += i + 2 < n && !strcmp(shell_words_text(&s->words, i + 2), "serve");
            return true;
        }
    }
    return find_image(s, p->images, first);
}

/* ---- the model ---- */

static const char *find_size(struct import_job *job, struct diag *diag)
{
    const struct import_text *name = &job->server.model;
    const char *size = job->size ? job->size : name->text ? serving_model_size(name->text) : NULL;

    if (!size && !name->text)
        diag_error(diag, job->end,
                   "no model; expected a model name in the command, or --model SIZE");
    else if (!size && family_refuses(name->text))
        diag_error(diag, name->place,
                   "'%.80s' is not modelled: %s; expected --model SIZE of a similar model",
                   name->text, family_refuses(name->text));
    else if (!size)
        diag_error(diag, name->place,
                   "unknown model '%.80s'; expected --model SIZE ('shardsim show options "
                   "model.size' lists sizes), or 'shardsim init --serve --model DIR/config.json'",
                   name->text);
    return size;
}

static void find_dtype(struct import_job *job, struct scenario_model *model)
{
    const char *dtype = job->server.dtype;

    if (!dtype || !strcmp(dtype, "auto"))
        text_add(&job->taken, " --dtype bfloat16");
    model->dtype = !dtype || !strcmp(dtype, "auto") || !strcmp(dtype, "bfloat16") ? SHD_BF16
                   : !strcmp(dtype, "half") || !strcmp(dtype, "float16")          ? SHD_F16
                                                                                  : SHD_F32;
}

/* Tell what of the weights is planned in another way, where they are asked for, or the model is. */
static void tell_weights(struct import_job *job, const char *otherwise, struct diag *diag)
{
    const struct import_server *o = &job->server;
    struct place place = o->quantization.text ? o->quantization.place
                         : o->model.text      ? o->model.place
                                              : job->end;

    text_addf(&job->unsaid, "# Planned differently, weights of %s: %s.\n", job->size, otherwise);
    import_job_note(job, "weights", "", place, place, diag);
    import_job_unplanned(job, "weights", otherwise);
}

static void find_weights(struct serving *out, struct import_job *job, struct diag *diag)
{
    const char *otherwise;

    if (serving_model_weights(&job->products, &otherwise, &out->model, job->server.model.text,
                              job->server.quantization.text, diag) != SHD_OK)
        return;
    out->products = text_get(&job->products);
    if (otherwise)
        tell_weights(job, otherwise, diag);
    else if (!strncmp(out->products, "weights", strlen("weights")))
        text_add(&job->notes, "# Quantized weights are planned without zero points "
                              "(products.weights).\n");
    else if (*out->products)
        text_addf(&job->notes, "# Weights and activations are in %d bits (products).\n",
                  strncmp(out->products, "recipe: nvfp4", strlen("recipe: nvfp4")) ? 8 : 4);
}

static void find_model(struct serving *out, struct import_job *job, struct diag *diag)
{
    const char *size = find_size(job, diag);
    struct nearest nearest;
    size_t n;

    if (!size)
        return;
    nearest_init(&nearest, size);
    if (!scenario_find_model(&n, size, &nearest)) {
        diag_error(diag, job->end, "--model %.60s is not a published model%s", size,
                   nearest_hint(&nearest).text);
        return;
    }
    job->size = scenario_model_name(n);
    if (!published_model(&out->model, n, INT32_MAX, diag))
        return;
    find_dtype(job, &out->model);
    out->model.size = (int64_t)n + 1;
    find_weights(out, job, diag);
}

void serving_read(struct serving *out, struct import_job *job, const struct launch_system *system,
                  void (*check)(const struct import_job *job, struct diag *diag),
                  struct place first, const char *text, struct diag *diag)
{
    job->system = system->name;
    launch_script_read(job, system, first, text, diag);
    if (diag->nerrors == 0)
        check(job, diag);
    if (diag->nerrors == 0)
        find_model(out, job, diag);
}

void serving_refuse_cuts(const struct import_job *job, const char *stages, const char *prompts,
                         struct diag *diag)
{
    const struct import_server *o = &job->server;

    if (o->stages > 1)
        diag_error(diag, job->end,
                   "%s %" PRId64 ": pipeline parallelism in serving is not modelled; expected "
                   "tensor parallelism alone",
                   stages, o->stages);
    if (o->prefill_parts > 1)
        diag_error(diag, job->end,
                   "%s %" PRId64 ": context-parallel prefill is not modelled; remove it", prompts,
                   o->prefill_parts);
}

/* ---- the load ---- */

/* Note a size that nothing says. */
static void take(struct import_job *job, const char *what, int64_t size)
{
    text_addf(&job->taken, "%s %lld %s", job->taken.length > 0 ? "," : "", (long long)size, what);
}

/* Read "16384", "16k" (16000) or "16K" (16384); 0: not known by the text. */
static int64_t read_length(const struct import_text *length, struct diag *diag)
{
    static const char units[] = "kKmMgG";
    const int64_t factors[] = {1000, 1 << 10, 1000000, 1 << 20, 1000000000, 1 << 30};
    const char *unit;
    double number;
    char *end;

    if (!length->text || !strcmp(length->text, "auto") || !strcmp(length->text, "-1"))
        return 0;
    number = isdigit((unsigned char)*length->text) ? strtod(length->text, &end) : 0;
    if (number > 0) {
        unit = *end ? strchr(units, *end) : NULL;
        number *= unit ? (double)factors[unit - units] : 1;
        end += unit != NULL;
    }
    if (number >= 2 && !*end && number <= INT32_MAX && fabs(number - round(number)) < ROUNDING)
        return llround(number);
    diag_error(diag, length->place,
               "the maximum sequence length is '%.40s'; expected a whole number of at least 2",
               length->text);
    return 0;
}

/* Without a length, a sequence may have as many tokens as the model has positions. */
static void take_seq(struct import_job *job, const struct serving *v)
{
    int64_t longest = serving_model_longest(&v->model, job->server.model.text);

    if (longest > 0)
        take(job, "tokens per sequence, the model's maximum", longest);
    else
        text_addf(&job->notes,
                  "# The model's maximum length is unknown: %d tokens are planned; set batch.seq "
                  "to yours.\n",
                  TOKENS);
    job->seq = longest > 0 ? longest - !v->prefill : TOKENS;
}

/* The tokens of a sequence: those of the longest, a decode's last token not counted. */
static void find_seq(struct import_job *job, const struct serving *v, struct diag *diag)
{
    int64_t longest = read_length(&job->server.length, diag);

    if (job->seq == 0 && longest > 0) {
        job->seq = longest - !v->prefill;
        text_add(&job->notes, "# Every sequence has the maximum length; set batch.seq to yours.\n");
    } else if (job->seq == 0) {
        take_seq(job, v);
    } else if (longest > 0 && job->seq + !v->prefill > longest) {
        diag_error(diag, job->end,
                   "--seq %" PRId64 ": the command limits sequences to %" PRId64 " "
                   "tokens",
                   job->seq, longest);
    }
}

const char *serving_cache_code(const char *type)
{
    if (!strcmp(type, "fp8") || !strcmp(type, "fp8_e4m3"))
        return "float8_e4m3";
    if (!strcmp(type, "fp4_e2m1"))
        return "mxfp4, block: 16";
    return strcmp(type, "fp8_e5m2") ? NULL : "float8_e5m2";
}

/* Whether a cache of this type is one of the type that the model is computed in. */
static bool is_computed(const char *type, enum shd_dtype dtype)
{
    enum shd_dtype of;

    return !strcmp(type, "auto") || (shd_dtype_parse(&of, type, NULL) == SHD_OK && of == dtype);
}

/* A prefill takes as many prompts as have the tokens of a step, at least one in each part of the
 * batch. */
static int64_t prompts(const struct import_job *job, int64_t ways, int64_t parts)
{
    int64_t tokens = job->server.step_tokens > 0 ? job->server.step_tokens : STEP_TOKENS;
    int64_t each = tokens * ways / (parts * job->seq);

    return parts * (each > 0 ? each : 1);
}

/* The part of a device's memory that is asked for, or that the system takes by itself. */
static void find_memory(struct serving *v, struct import_job *job, double standard,
                        struct diag *diag)
{
    const struct import_text *asked = &job->server.memory;
    char *end = asked->text;
    double part = asked->text ? strtod(asked->text, &end) : standard;

    if (!asked->text)
        text_addf(&job->taken, ", %g of the memory", part);
    else if (end == asked->text || *end || !(part >= 0.01 && part <= 1))
        diag_error(diag, asked->place,
                   "the server's memory fraction is '%.40s'; expected a number from 0.01 to 1",
                   asked->text);
    v->memory = part;
}

/* Sequences of a decode: as many as are taken at once, or as have room in the tokens of a cache. */
static void find_batch(struct serving *v, struct import_job *job, int64_t ways, struct diag *diag)
{
    int64_t parts = v->copies * v->parts, asked = job->server.sequences;
    int64_t room = v->tokens > 0 ? v->tokens / (job->seq + 1) : INT64_MAX;

    v->sequences = asked > 0 ? (asked * ways + parts - 1) / parts : v->fills ? 0 : SEQUENCES;
    if (job->batch > 0)
        return;
    job->batch = asked > 0 ? asked * ways : SEQUENCES * parts;
    if (room == 0)
        diag_error(diag, job->end,
                   "%" PRId64 " tokens fit the KV cache, but a sequence has %" PRId64 "; expected "
                   "a smaller --seq N",
                   v->tokens, job->seq + 1);
    if (room < job->batch / parts) {
        job->batch = room * parts;
        text_add(&job->notes, "# The number of sequences that fill the KV cache; set batch.size to "
                              "yours.\n");
    } else if (asked > 0) {
        text_add(&job->notes, "# The server's maximum number of sequences; set batch.size to "
                              "yours.\n");
    } else if (v->fills) {
        text_addf(&job->notes,
                  "# The server fills its KV cache with sequences: %d per data-parallel rank are "
                  "planned; set batch.size to yours.\n",
                  SEQUENCES);
    } else {
        take(job, "sequences at once", job->batch);
    }
}

/* Tell of a cache in another type than can be planned. */
static void check_cache(struct import_job *job, const struct serving *v)
{
    const char *cache = job->server.cache_type;

    if (!cache || serving_cache_code(cache) || is_computed(cache, v->model.dtype))
        return;
    text_add(&job->unsaid, "# Planned differently, --kv-cache-dtype: the KV cache is planned in "
                           "model.dtype.\n");
    import_job_unplanned(job, "--kv-cache-dtype", "the KV cache is planned in model.dtype");
}

void serving_find_load(struct import_job *job, struct serving *v, int64_t ways, double memory,
                       struct diag *diag)
{
    int64_t parts = v->copies * v->parts, page = job->server.page > 0 ? job->server.page : PAGE;

    v->tokens = job->server.blocks > 0 ? job->server.blocks * page : job->server.tokens;
    find_seq(job, v, diag);
    if (!v->prefill) {
        find_batch(v, job, ways, diag);
    } else if (job->batch == 0) {
        job->batch = prompts(job, ways, parts);
        text_add(&job->notes, "# The number of prompts that fill a step's token budget; set "
                              "batch.size to yours.\n");
    }
    find_memory(v, job, memory, diag);
    if (job->batch % parts)
        diag_error(diag, job->end,
                   "%" PRId64 " sequences are not a multiple of data parallelism %" PRId64 "; "
                   "expected a multiple with --batch N",
                   job->batch, parts);
    check_cache(job, v);
}
