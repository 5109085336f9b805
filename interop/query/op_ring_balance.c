/* The op on ring attention: the number of query-key pairs on each rank in each step, for a causal
 * sequence that is distributed in some order.  Pairs are exact, whereas kernels work on whole
 * tiles.
 *
 * In step t rank r has the keys of rank (r - t) mod ranks.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>

#include "kern/sight.h"
#include "query/limits.h"
#include "query/query.h"
#include "question/read_field.h"

#define POSITIONS_LISTED 4096 /* the answer lists positions for up to this many tokens */

struct balance {
    struct kern_order order;
    int64_t ranks;
    uint64_t *pairs; /* [rank][step] */
    uint64_t total;
};

static int read_order(struct kern_order *out, const json_t *in, struct shd_error *err)
{
    const char *name;
    int64_t unit;
    int kind, status = read_size_up_to(&out->parts, in, "ranks", LIMIT_DEVICES, err);

    if (status == SHD_OK)
        status =
            read_size_up_to(&out->extent, in, "tokens", INT32_MAX, err); /* positions are int32 */
    if (status == SHD_OK)
        status = read_string(&name, in, "assignment", "contiguous", err);
    if (status != SHD_OK)
        return status;
    kind = kern_order_find(name);
    if (kind < 0)
        return shd_error_set(err, SHD_EINVAL,
                             "unknown assignment '%.40s'; expected contiguous, zigzag or striped",
                             name);
    out->kind = (enum kern_order_kind)kind;
    unit = kern_order_unit(out->kind, out->parts);
    if (out->extent % unit)
        return shd_error_set(err, SHD_EINDIVISIBLE,
                             "%lld tokens are not a multiple of %lld, the chunks of %s over %lld "
                             "ranks",
                             (long long)out->extent, (long long)unit, name, (long long)out->parts);
    return SHD_OK;
}

/* The sum of min(y, most) over y = 1..x; 0 if x is not positive. */
static uint64_t sum_to(int64_t x, int64_t most)
{
    uint64_t growing = (uint64_t)(x < most ? x : most), full = x > most ? (uint64_t)(x - most) : 0;

    return x > 0 ? growing * (growing + 1) / 2 + full * (uint64_t)most : 0;
}

/* The number of pairs with key <= query, for runs with equal step s: query i sees the keys j with j
 * * s <= q0 - k0 + i * s.  These are i + c keys, limited to between 0 and all. */
static uint64_t pairs_of_runs(struct kern_run queries, struct kern_run keys)
{
    int64_t apart = queries.position - keys.position, s = queries.step;
    int64_t c = (apart >= 0 ? apart / s : -((s - 1 - apart) / s)) + 1;

    return sum_to(queries.count - 1 + c, keys.count) - sum_to(c - 1, keys.count);
}

/* The number of pairs of one rank's queries with another rank's keys. */
static uint64_t pairs_of_ranks(const struct kern_order *order, int64_t rank, int64_t other)
{
    int64_t n = order->extent / order->parts;
    uint64_t pairs = 0;

    for (int64_t s = 0; s < n;) {
        struct kern_run queries = kern_order_run(order, rank * n + s);

        queries.count = queries.count < n - s ? queries.count : n - s;
        for (int64_t t = 0; t < n;) {
            struct kern_run keys = kern_order_run(order, other * n + t);

            keys.count = keys.count < n - t ? keys.count : n - t;
            pairs += pairs_of_runs(queries, keys);
            t += keys.count;
        }
        s += queries.count;
    }
    return pairs;
}

static int count(struct balance *b, struct shd_error *err)
{
    b->pairs = malloc((size_t)(b->ranks * b->ranks) * sizeof *b->pairs);
    if (!b->pairs)
        return shd_error_set(err, SHD_ENOMEM, "no memory for %lld steps on every rank",
                             (long long)b->ranks);
    for (int64_t rank = 0; rank < b->ranks; rank++)
        for (int64_t step = 0; step < b->ranks; step++) {
            uint64_t *pairs = &b->pairs[rank * b->ranks + step];

            *pairs = pairs_of_ranks(&b->order, rank, (rank - step + b->ranks) % b->ranks);
            b->total += *pairs;
        }
    return SHD_OK;
}

/* ---- the answer ---- */

static uint64_t of_rank(const struct balance *b, int64_t rank)
{
    uint64_t sum = 0;

    for (int64_t step = 0; step < b->ranks; step++)
        sum += b->pairs[rank * b->ranks + step];
    return sum;
}

static uint64_t most_in_step(const struct balance *b, int64_t step)
{
    uint64_t most = 0;

    for (int64_t rank = 0; rank < b->ranks; rank++)
        if (b->pairs[rank * b->ranks + step] > most)
            most = b->pairs[rank * b->ranks + step];
    return most;
}

static void write_ranks(struct json_out *out, const struct balance *b)
{
    uint64_t most = 0;

    json_out_key_array(out, "pairs_by_rank");
    for (int64_t rank = 0; rank < b->ranks; rank++) {
        uint64_t pairs = of_rank(b, rank);

        most = pairs > most ? pairs : most;
        json_out_uint(out, pairs);
    }
    json_out_end_array(out);
    json_out_key_uint(out, "pairs_total", b->total);
    json_out_key_double(out, "max_over_mean_rank",
                        (double)most * (double)b->ranks / (double)b->total);
}

static void write_steps(struct json_out *out, const struct balance *b)
{
    uint64_t sum = 0;

    json_out_key_array(out, "step_max");
    for (int64_t step = 0; step < b->ranks; step++) {
        sum += most_in_step(b, step);
        json_out_uint(out, most_in_step(b, step));
    }
    json_out_end_array(out);
    json_out_key_uint(out, "sum_of_step_max", sum);
    json_out_key_double(out, "lockstep_efficiency",
                        (double)b->total / ((double)b->ranks * (double)sum));
}

static void write_pairs(struct json_out *out, const struct balance *b)
{
    json_out_key_array(out, "pairs_by_rank_step");
    for (int64_t rank = 0; rank < b->ranks; rank++) {
        json_out_begin_array(out);
        for (int64_t step = 0; step < b->ranks; step++)
            json_out_uint(out, b->pairs[rank * b->ranks + step]);
        json_out_end_array(out);
    }
    json_out_end_array(out);
}

static void write_positions(struct json_out *out, const struct balance *b)
{
    int64_t n = b->order.extent / b->ranks;

    json_out_key_array(out, "positions_by_rank");
    for (int64_t rank = 0; rank < b->ranks; rank++) {
        json_out_begin_array(out);
        for (int64_t i = 0; i < n; i++)
            json_out_int(out, kern_order_position(&b->order, rank * n + i));
        json_out_end_array(out);
    }
    json_out_end_array(out);
}

static int answer_balance(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct balance b = {.total = 0};
    int status = read_order(&b.order, in, err);

    b.ranks = b.order.parts;
    if (status == SHD_OK)
        status = count(&b, err);
    if (status == SHD_OK) {
        json_out_begin_object(out);
        write_ranks(out, &b);
        write_steps(out, &b);
        write_pairs(out, &b);
        if (b.order.extent <= POSITIONS_LISTED)
            write_positions(out, &b);
        json_out_end_object(out);
    }
    free(b.pairs);
    return status;
}

const struct query_op query_ring_balance_ops[] = {
    {.name = "ring_attention.balance",
     .answer = answer_balance,
     .about = "Query-key pairs of each rank in each step of causal ring attention. In step t rank "
              "r has the keys of rank r - t, modulo ranks.",
     .in = QUERY_FIELDS({"ranks", "whole number from 1 to 1024", NULL, "Ranks, at most 1024."},
                        {"tokens", "whole number from 1 to 2147483647", NULL,
                         "Tokens of the sequence; a multiple of the ranks, for zigzag of twice the "
                         "ranks."},
                        {"assignment", "text", "\"contiguous\"",
                         "Assignment of tokens to ranks: contiguous, zigzag or striped."}),
     .gives = "object",
     .out = QUERY_FIELDS(
         {"pairs_by_rank", "list of whole numbers", NULL, "Pairs of each rank, in all steps."},
         {"pairs_total", "whole number", NULL, "Of all ranks."},
         {"max_over_mean_rank", "number", NULL, "Pairs of the busiest rank over the mean."},
         {"step_max", "list of whole numbers", NULL, "Pairs of the busiest rank of each step."},
         {"sum_of_step_max", "whole number", NULL, "Their sum."},
         {"lockstep_efficiency", "number", NULL, "pairs_total over ranks times sum_of_step_max."},
         {"pairs_by_rank_step", "list of lists", NULL, "Pairs of each rank in each step."},
         {"positions_by_rank", "list of lists", NULL,
          "Tokens of each rank; only for up to 4096 tokens."}),
     .errors = "indivisible",
     .question = "{'ranks': 2, 'tokens': 4, 'assignment': 'zigzag'}",
     .reply = "'out':{'pairs_by_rank':[5,5],'pairs_total':10,'max_over_mean_rank':1.0,'step_max':["
              "3,2],'sum_of_step_max':5,'lockstep_efficiency':1.0,'pairs_by_rank_step':[[3,2],[3,2]"
              "],'positions_by_rank':[[0,3],[1,2]]}"},
    {.name = NULL}};
