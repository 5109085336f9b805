/* The op on mixtures of experts: the choices of a softmax router for generated scores, which tokens
 * get a slot in the experts' queues, and how many copies each rank sends to each.
 *
 * Scores, choices and queues come from the kernels that devices run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kern/kernel.h"
#include "query/limits.h"
#include "query/query.h"
#include "question/read_field.h"

#define SCORES_MAX (int64_t)(LIMIT_LISTED_ELEMENTS / 4) /* of all tokens */
#define LOOKS_MAX                                                                 \
    (256 * SCORES_MAX) /* comparisons of scores: all of a token's for each of its \
                          choices */

struct route {
    int64_t tokens, experts, choices, ranks;
    int64_t capacity; /* slots of each expert */
    bool dropless;
    double quantum; /* scores are multiples of it; 0: any value */
    struct kern_source source;
    float *logits;      /* [tokens][experts] */
    double *probs;      /* [tokens][choices]: of the choices, by a softmax over all experts */
    int32_t *ids;       /* [tokens][choices] */
    int32_t *slots;     /* for token-major, then slot-major queues */
    int32_t *counts;    /* [experts] before drops, then for both queue orders */
    uint64_t *copies;   /* [ranks][ranks] */
    double *softmax;    /* [experts]: probabilities of one token */
    double *importance; /* [experts]: mean probability */
};

/* ---- the question ---- */

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int read_sizes(struct route *r, const json_t *in, struct shd_error *err)
{
    int status = read_size_up_to(&r->tokens, in, "tokens", SCORES_MAX, err);

    if (status == SHD_OK)
        status = read_size_up_to(&r->experts, in, "experts",
                                 least(KERN_TOPK_CLASSES_MAX, SCORES_MAX / r->tokens), err);
    if (status == SHD_OK)
        status = read_size_up_to(&r->choices, in, "top_k",
                                 least(r->experts, LOOKS_MAX / (r->tokens * r->experts)), err);
    if (status == SHD_OK)
        status = read_size_up_to(&r->ranks, in, "ranks", LIMIT_DEVICES, err);
    if (status != SHD_OK)
        return status;
    if (r->tokens % r->ranks || r->experts % r->ranks)
        return shd_error_set(err, SHD_EINDIVISIBLE,
                             "%lld tokens and %lld experts do not both divide over %lld ranks",
                             (long long)r->tokens, (long long)r->experts, (long long)r->ranks);
    return SHD_OK;
}

/* Read a number above 0; *given is set to whether the key exists. */
static int read_positive(double *out, bool *given, const json_t *in, const char *key,
                         struct shd_error *err)
{
    const json_t *value = json_object_get(in, key);
    int status;

    *given = value && !json_is_null(value);
    if (!*given)
        return SHD_OK;
    status = read_number(out, in, key, 0, err);
    if (status == SHD_OK && !(*out > 0 && isfinite(*out)))
        return shd_error_set(err, SHD_ERANGE, "'%s' is %g; expected a number above 0, or null", key,
                             *out);
    return status;
}

static int read_route(struct route *r, const json_t *in, struct shd_error *err)
{
    double factor = 0, slots;
    bool limited = false, given;
    int64_t seed = 0;
    int status = read_sizes(r, in, err);

    if (status == SHD_OK)
        status = read_positive(&factor, &limited, in, "capacity_factor", err);
    if (status == SHD_OK)
        status = read_positive(&r->quantum, &given, in, "tie_quantum", err);
    if (status == SHD_OK)
        status = read_int(&seed, in, "seed", 0, err);
    if (status == SHD_OK)
        status = read_number(&r->source.scale, in, "scale", 1, err);
    if (status != SHD_OK)
        return status;
    r->source.seed = (uint32_t)seed;
    slots = ceil((double)(r->choices * r->tokens) / (double)r->experts * factor);
    r->dropless = !limited;
    r->capacity = limited && slots < (double)r->tokens ? (int64_t)slots : r->tokens;
    return SHD_OK;
}

static int allocate(struct route *r, struct shd_error *err)
{
    size_t nscores = (size_t)(r->tokens * r->experts), nids = (size_t)(r->tokens * r->choices);

    r->logits = malloc(nscores * sizeof *r->logits);
    r->probs = malloc(nids * sizeof *r->probs);
    r->ids = malloc(nids * sizeof *r->ids);
    r->slots = malloc(2 * nids * sizeof *r->slots);
    r->counts = calloc(3 * (size_t)r->experts, sizeof *r->counts);
    r->copies = malloc((size_t)(r->ranks * r->ranks) * sizeof *r->copies);
    r->softmax = malloc((size_t)r->experts * sizeof *r->softmax);
    r->importance = calloc((size_t)r->experts, sizeof *r->importance);
    if (!r->logits || !r->probs || !r->ids || !r->slots || !r->counts || !r->copies ||
        !r->softmax || !r->importance)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the scores of %lld tokens",
                             (long long)r->tokens);
    return SHD_OK;
}

static void release(struct route *r)
{
    free(r->logits);
    free(r->probs);
    free(r->ids);
    free(r->slots);
    free(r->counts);
    free(r->copies);
    free(r->softmax);
    free(r->importance);
}

/* ---- routing ---- */

static void make_logits(struct route *r)
{
    const int64_t shape[] = {r->tokens, r->experts}, start[] = {0, 0};
    float per = r->quantum > 0 ? (float)(1 / r->quantum) : 0;

    kern_fill(&r->source, SHD_F32, 2, shape, start, shape, r->logits);
    for (int64_t i = 0; per > 0 && i < r->tokens * r->experts; i++)
        r->logits[i] = rintf(r->logits[i] * per) / per;
}

static int choose(struct route *r, struct shd_error *err)
{
    const union kern_desc desc = {.topk = {.dtype = SHD_F32,
                                           .tokens = r->tokens,
                                           .classes = r->experts,
                                           .choices = r->choices,
                                           .groups = 1,
                                           .kept = 1}};
    const int64_t offsets[KERN_OFFSETS_MAX] = {0};
    const void *in[] = {r->logits};
    void *out[] = {r->ids}, *workspace = malloc(kern_kernel_topk.workspace_bytes(&desc) + 1);
    const struct kern_args args = {in, out, workspace, offsets, 1};

    if (!workspace)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the choices of %lld tokens",
                             (long long)r->tokens);
    kern_kernel_topk.run(&desc, &args);
    free(workspace);
    return SHD_OK;
}

/* Probabilities of one token's experts. */
static void softmax(const float *logits, int64_t n, double *out)
{
    double most = -INFINITY, sum = 0;

    for (int64_t e = 0; e < n; e++)
        most = fmax(most, (double)logits[e]);
    for (int64_t e = 0; e < n; e++)
        sum += out[e] = exp((double)logits[e] - most);
    for (int64_t e = 0; e < n; e++)
        out[e] /= sum;
}

static void weigh(struct route *r)
{
    for (int64_t t = 0; t < r->tokens; t++) {
        softmax(r->logits + t * r->experts, r->experts, r->softmax);
        for (int64_t e = 0; e < r->experts; e++)
            r->importance[e] += r->softmax[e] / (double)r->tokens;
        for (int64_t i = t * r->choices; i < (t + 1) * r->choices; i++)
            r->probs[i] = r->softmax[r->ids[i]];
    }
}

static void queue(struct route *r)
{
    for (int64_t i = 0; i < r->tokens * r->choices; i++)
        r->counts[r->ids[i]]++;
    for (int order = 0; order < 2; order++)
        kern_route(r->ids, r->tokens, r->choices, r->experts, r->capacity, order == 1,
                   r->slots + order * r->tokens * r->choices, r->counts + (1 + order) * r->experts);
}

/* ---- the answer ---- */

static void write_counts(struct json_out *out, const char *key, const int32_t *counts, int64_t n)
{
    json_out_key_array(out, key);
    for (int64_t i = 0; i < n; i++)
        json_out_int(out, counts[i]);
    json_out_end_array(out);
}

/* Write a number for each choice of each token; negative ones as null. */
static void write_choices(struct json_out *out, const char *key, const struct route *r,
                          const int32_t *numbers)
{
    json_out_key_array(out, key);
    for (int64_t t = 0; t < r->tokens; t++) {
        json_out_begin_array(out);
        for (int64_t j = 0; j < r->choices; j++) {
            int32_t number = numbers[t * r->choices + j];

            if (number < 0)
                json_out_null(out);
            else
                json_out_int(out, number);
        }
        json_out_end_array(out);
    }
    json_out_end_array(out);
}

/* Write the probabilities of the choices, as they are or divided by their sum. */
static void write_gates(struct json_out *out, const char *key, const struct route *r,
                        bool renormalized)
{
    json_out_key_array(out, key);
    for (int64_t t = 0; t < r->tokens; t++) {
        const double *probs = r->probs + t * r->choices;
        double sum = 0;

        for (int64_t j = 0; j < r->choices; j++)
            sum += probs[j];
        json_out_begin_array(out);
        for (int64_t j = 0; j < r->choices; j++)
            json_out_double(out, renormalized ? probs[j] / sum : probs[j]);
        json_out_end_array(out);
    }
    json_out_end_array(out);
}

/* Write the number of copies from each token's rank to its expert's rank; of copies with a slot, or
 * of all (slots is NULL). */
static void write_copies(struct json_out *out, const char *key, const struct route *r,
                         const int32_t *slots)
{
    memset(r->copies, 0, (size_t)(r->ranks * r->ranks) * sizeof *r->copies);
    for (int64_t i = 0; i < r->tokens * r->choices; i++) {
        int64_t from = i / r->choices / (r->tokens / r->ranks);
        int64_t to = r->ids[i] / (r->experts / r->ranks);

        r->copies[from * r->ranks + to] += !slots || slots[i] >= 0;
    }
    json_out_key_array(out, key);
    for (int64_t from = 0; from < r->ranks; from++) {
        json_out_begin_array(out);
        for (int64_t to = 0; to < r->ranks; to++)
            json_out_uint(out, r->copies[from * r->ranks + to]);
        json_out_end_array(out);
    }
    json_out_end_array(out);
}

static void write_one_dropped(struct json_out *out, const struct route *r, const int32_t *slots,
                              int64_t t, int64_t j)
{
    int64_t i = t * r->choices + j;

    if (slots[i] >= 0)
        return;
    json_out_begin_array(out);
    json_out_int(out, t);
    json_out_int(out, r->ids[i]);
    json_out_int(out, j);
    json_out_end_array(out);
}

/* Write the dropped choices, in queue order. */
static void write_dropped(struct json_out *out, const struct route *r, const int32_t *slots,
                          bool slot_major)
{
    int64_t outer = slot_major ? r->choices : r->tokens;
    int64_t inner = slot_major ? r->tokens : r->choices;

    json_out_key_array(out, "dropped");
    for (int64_t i = 0; i < outer; i++)
        for (int64_t j = 0; j < inner; j++)
            write_one_dropped(out, r, slots, slot_major ? j : i, slot_major ? i : j);
    json_out_end_array(out);
}

static void write_queue(struct json_out *out, const struct route *r, bool slot_major)
{
    const int32_t *slots = r->slots + (slot_major ? r->tokens * r->choices : 0);
    const int32_t *counts = r->counts + (slot_major ? 2 : 1) * r->experts;
    int64_t kept = 0;

    for (int64_t e = 0; e < r->experts; e++)
        kept += counts[e];
    json_out_key_object(out, slot_major ? "slot_major" : "token_major");
    write_counts(out, "tokens_per_expert", counts, r->experts);
    json_out_key_int(out, "dropped_count", r->tokens * r->choices - kept);
    write_dropped(out, r, slots, slot_major);
    write_choices(out, "slot_in_expert", r, slots);
    write_copies(out, "a2a_send_counts", r, slots);
    json_out_end_object(out);
}

static void write_balance(struct json_out *out, const struct route *r)
{
    double loss = 0, choices = (double)(r->tokens * r->choices);
    int32_t most = 0;

    for (int64_t e = 0; e < r->experts; e++) {
        most = r->counts[e] > most ? r->counts[e] : most;
        loss += r->counts[e] / choices * r->importance[e];
    }
    json_out_key_double(out, "switch_aux_loss", (double)r->experts * loss);
    json_out_key_double(out, "imbalance_max_over_mean", most * (double)r->experts / choices);
}

static void write_answer(struct json_out *out, const struct route *r)
{
    json_out_begin_object(out);
    json_out_key(out, "capacity");
    if (r->dropless)
        json_out_null(out);
    else
        json_out_int(out, r->capacity);
    write_choices(out, "topk", r, r->ids);
    write_gates(out, "gate_renorm", r, true);
    write_gates(out, "softmax_prob", r, false);
    write_counts(out, "tokens_per_expert_before_capacity", r->counts, r->experts);
    write_queue(out, r, false);
    write_queue(out, r, true);
    write_copies(out, "a2a_send_counts_dropless", r, NULL);
    write_balance(out, r);
    json_out_end_object(out);
}

static int answer_route(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct route r = {.dropless = false};
    int status = read_route(&r, in, err);

    if (status == SHD_OK)
        status = allocate(&r, err);
    if (status == SHD_OK) {
        make_logits(&r);
        status = choose(&r, err);
    }
    if (status == SHD_OK) {
        weigh(&r);
        queue(&r);
        write_answer(out, &r);
    }
    release(&r);
    return status;
}

const struct query_op query_moe_route_ops[] = {
    {.name = "moe.route",
     .answer = answer_route,
     .about = "Routing of a mixture of experts on random scores: chosen experts, slots in the "
              "experts' queues, and all-to-all send counts from rank to rank.",
     .in = QUERY_FIELDS(
         {"tokens", "whole number", NULL, "Tokens of all ranks; a multiple of ranks."},
         {"experts", "whole number", NULL, "Experts of all ranks; a multiple of ranks."},
         {"top_k", "whole number", NULL, "Experts per token."},
         {"ranks", "whole number", NULL, "Ranks, at most 1024."},
         {"capacity_factor", "number or null", "null",
          "Capacity factor: slots of an expert are this times top_k * tokens / experts, rounded "
          "up; null: no token is dropped."},
         {"seed", "whole number from 0 to 4294967295", "0", "Seed of the scores."},
         {"scale", "number", "1", "Of the scores."},
         {"tie_quantum", "number or null", "null",
          "Scores are rounded to multiples of this value."}),
     .gives = "object",
     .out = QUERY_FIELDS(
         {"capacity", "whole number or null", NULL, "Slots of each expert."},
         {"topk", "list of lists", NULL, "Experts chosen by each token, best first."},
         {"gate_renorm", "list of lists", NULL,
          "Gates: probabilities of the choices, normalized over the choices."},
         {"softmax_prob", "list of lists", NULL,
          "Softmax probabilities of the choices over all experts."},
         {"tokens_per_expert_before_capacity", "list of whole numbers", NULL,
          "Tokens routed to each expert."},
         {"token_major", "object", NULL,
          "Queue in token order: tokens_per_expert kept; dropped_count; dropped, each [token, "
          "expert, choice]; slot_in_expert of each choice, null if dropped; a2a_send_counts from "
          "rank to rank."},
         {"slot_major", "object", NULL,
          "Queue with all first choices before all second choices; keys as in token_major."},
         {"a2a_send_counts_dropless", "list of lists", NULL,
          "Send counts from rank to rank if no token is dropped."},
         {"switch_aux_loss", "number", NULL,
          "Switch Transformer load-balancing loss: experts * sum over experts of (fraction of "
          "choices * mean probability)."},
         {"imbalance_max_over_mean", "number", NULL,
          "Tokens of the most loaded expert, divided by the mean of all experts."}),
     .errors = "indivisible",
     .question =
         "{'tokens': 4, 'experts': 2, 'top_k': 1, 'ranks': 2, 'capacity_factor': 0.5, 'seed': 5}",
     .reply = "'out':{'capacity':1,'topk':[[1],[1],[0],[0]],'gate_renorm':[[1.0],[1.0],[1.0],[1.0]]"
              ",'softmax_prob':[[0.6497713],[0.6497713],[0.5943472],[0.5943472]],'tokens_per_"
              "expert_before_capacity':[2,2],'token_major':{'tokens_per_expert':[1,1],'dropped_"
              "count':2,'dropped':[[1,1,0],[3,0,0]],'slot_in_expert':[[0],[null],[0],[null]],'a2a_"
              "send_counts':[[0,1],[1,0]]},'slot_major':{'tokens_per_expert':[1,1],'dropped_count':"
              "2,'dropped':[[1,1,0],[3,0,0]],'slot_in_expert':[[0],[null],[0],[null]],'a2a_send_"
              "counts':[[0,1],[1,0]]},'a2a_send_counts_dropless':[[0,2],[2,0]],'switch_aux_loss':1."
              "0,'imbalance_max_over_mean':1.0}"},
    {.name = NULL}};
