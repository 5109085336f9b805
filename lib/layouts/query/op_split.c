/* Ops on exact division, as in ezpz.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/split.h>

#include "layouts/query/layout_ops.h"
#include "layouts/query/write_layout.h"
#include "question/read_field.h"

#define CHUNKS_MAX 65536 /* an answer lists every chunk */

static int answer_ensure(const json_t *in, struct json_out *out, struct shd_error *err)
{
    int64_t a, b;
    int status = read_int(&a, in, "numerator", 0, err);

    if (status == SHD_OK)
        status = read_int(&b, in, "denominator", 0, err);
    if (status == SHD_OK)
        status = shd_ensure_divisible(a, b, err);
    if (status == SHD_OK)
        json_out_null(out);
    return status;
}

static int answer_divide(const json_t *in, struct json_out *out, struct shd_error *err)
{
    int64_t a, b, quotient;
    int status = read_int(&a, in, "numerator", 0, err);

    if (status == SHD_OK)
        status = read_int(&b, in, "denominator", 0, err);
    if (status == SHD_OK)
        status = shd_divide(&quotient, a, b, err);
    if (status == SHD_OK)
        json_out_int(out, quotient);
    return status;
}

static int answer_vocab(const json_t *in, struct json_out *out, struct shd_error *err)
{
    int64_t vocab, rank, world, range[2];
    bool strict;
    int status = read_int(&vocab, in, "global_vocab_size", 0, err);

    if (status == SHD_OK)
        status = read_int(&rank, in, "rank", 0, err);
    if (status == SHD_OK)
        status = read_int(&world, in, "world_size", 0, err);
    if (status == SHD_OK)
        status = read_bool(&strict, in, "strict", false, err);
    if (status == SHD_OK)
        status = shd_vocab_range(&range[0], &range[1], vocab, rank, world, strict, err);
    if (status == SHD_OK)
        write_ints(out, range, 2);
    return status;
}

/* The first and last element, and the number of elements, of a chunk of an array that holds 0, 1,
 * 2, ... */
struct chunk_elements {
    int64_t first;
    int64_t last;
    int64_t count;
};

static struct chunk_elements chunk_elements(const struct shd_split *split, const int64_t *shape,
                                            int64_t chunk)
{
    struct chunk_elements e = {chunk * split->width, chunk * split->width, 1};
    int64_t stride = 1; /* in the whole array */

    for (size_t d = split->rank; d-- > 0;) {
        e.count *= split->shape[d];
        e.last += (split->shape[d] - 1) * stride;
        stride *= shape[d];
    }
    return e;
}

enum { SHAPES, OFFSETS, STRIDES, CONTIGUOUS, FIRST, LAST, SUMS, NKEYS };

static const char *const keys[NKEYS] = {"shapes",        "element_offsets", "strides",
                                        "is_contiguous", "first_elements",  "last_elements",
                                        "sums"};

/* Write a chunk's sum.  Elements are symmetric between the first and the last, so their mean is the
 * middle. */
static void write_sum(struct json_out *out, const struct chunk_elements *e)
{
    int64_t doubled;

    if (e->count == 0)
        json_out_int(out, 0);
    else if (!__builtin_mul_overflow(e->count, e->first + e->last, &doubled))
        json_out_int(out, doubled / 2);
    else
        json_out_double(out, (double)e->count * ((double)e->first + (double)e->last) / 2);
}

static void write_element(struct json_out *out, const struct chunk_elements *e, int64_t element)
{
    if (e->count > 0)
        json_out_int(out, element);
    else
        json_out_null(out);
}

static void write_chunk(struct json_out *out, const struct shd_split *split, const int64_t *shape,
                        int64_t chunk, int key)
{
    struct chunk_elements e = chunk_elements(split, shape, chunk);

    switch (key) {
    case SHAPES:
        write_ints(out, split->shape, split->rank);
        break;
    case OFFSETS:
        json_out_int(out, shd_split_offset(split, chunk));
        break;
    case STRIDES:
        write_ints(out, split->strides, split->rank);
        break;
    case CONTIGUOUS:
        json_out_bool(out, split->contiguous);
        break;
    case FIRST:
        write_element(out, &e, e.first);
        break;
    case LAST:
        write_element(out, &e, e.last);
        break;
    default:
        write_sum(out, &e);
    }
}

static int answer_split(const json_t *in, struct json_out *out, struct shd_error *err)
{
    int64_t shape[SHD_RANK_MAX], nchunks;
    struct shd_split split;
    bool contiguous;
    size_t rank;
    int status = read_shape(shape, &rank, in, "shape", err);

    if (status == SHD_OK)
        status = read_int(&nchunks, in, "num_partitions", 1, err);
    if (status == SHD_OK)
        status = read_bool(&contiguous, in, "contiguous_split_chunks", false, err);
    if (status == SHD_OK)
        status = shd_split_last_dim(&split, shape, rank, nchunks, contiguous, err);
    if (status == SHD_OK && split.nchunks > CHUNKS_MAX)
        status = shd_error_set(err, SHD_EUNSUPPORTED, "%lld chunks are not listed",
                               (long long)split.nchunks);
    if (status != SHD_OK)
        return status;
    json_out_begin_object(out);
    json_out_key_int(out, "count", split.nchunks);
    for (int key = 0; key < NKEYS; key++) {
        json_out_key_array(out, keys[key]);
        for (int64_t c = 0; c < split.nchunks; c++)
            write_chunk(out, &split, shape, c, key);
        json_out_end_array(out);
    }
    json_out_end_object(out);
    return SHD_OK;
}

#define DIVISION_FIELDS                                                 \
    {"numerator", "whole number of 64 bits", "0", "The number."},       \
    {                                                                   \
        "denominator", "whole number of 64 bits", "0",                  \
            "What divides it; 0 is an error."                           \
    }

const struct query_op query_split_ops[] = {
    {.name = "ezpz.divide_and_check_no_remainder",
     .answer = answer_divide,
     .about = "A quotient, or the error indivisible.",
     .in = QUERY_FIELDS(DIVISION_FIELDS),
     .gives = "whole number",
     .errors = "indivisible",
     .question = "{'numerator': 12, 'denominator': 4}",
     .reply = "'out':3"},
    {.name = "ezpz.ensure_divisibility",
     .answer = answer_ensure,
     .about = "Whether a number divides another without remainder.",
     .in = QUERY_FIELDS(DIVISION_FIELDS),
     .gives = "null, or the error indivisible",
     .errors = "indivisible",
     .question = "{'numerator': 12, 'denominator': 5}",
     .reply = "'err':{'kind':'indivisible','message':'12 is not divisible by 5'}"},
    {.name = "ezpz.split_tensor_along_last_dim",
     .answer = answer_split,
     .about = "The chunks of a row-major array that is split along its last dimension. Figures are "
              "lists with an entry for each chunk; for those on elements the array holds 0, 1, 2 "
              "and so on.",
     .in = QUERY_FIELDS(
         {"shape", "shape", NULL, "Extents of the array."},
         {"num_partitions", "whole number", "1", "Chunks."},
         {"contiguous_split_chunks", "boolean", "false", "Chunks are copies without gaps."}),
     .gives = "object",
     .out =
         QUERY_FIELDS({"count", "whole number", NULL, "Chunks."},
                      {"shapes", "list of shapes", NULL, "Extents of each chunk."},
                      {"element_offsets", "list of whole numbers", NULL,
                       "Where a chunk begins in its storage, in elements."},
                      {"strides", "list of lists", NULL,
                       "Elements of storage from one index to the next along each dimension."},
                      {"is_contiguous", "list of booleans", NULL, "Whether a chunk has no gaps."},
                      {"first_elements", "list of whole numbers", NULL,
                       "The first element of a chunk; null if it is empty."},
                      {"last_elements", "list of whole numbers", NULL, "The last one."},
                      {"sums", "list of numbers", NULL, "The sum of a chunk's elements."}),
     .errors = "indivisible",
     .question = "{'shape': [2, 4], 'num_partitions': 2}",
     .reply = "'out':{'count':2,'shapes':[[2,2],[2,2]],'element_offsets':[0,2],'strides':[[4,1],[4,"
              "1]],'is_contiguous':[false,false],'first_elements':[0,2],'last_elements':[5,7],'"
              "sums':[10,18]}"},
    {.name = "ezpz.vocab_range_from_global_vocab_size",
     .answer = answer_vocab,
     .about = "The entries of a vocabulary that a rank holds.",
     .in = QUERY_FIELDS(
         {"global_vocab_size", "whole number", "0", "Entries of the whole vocabulary."},
         {"rank", "whole number", "0", "The rank."},
         {"world_size", "whole number", "0",
          "Ranks that the vocabulary is divided over; 0 is an error."},
         {"strict", "boolean", "false", "A rank outside of the world is an error."}),
     .gives = "[start, stop)",
     .errors = "indivisible",
     .question = "{'global_vocab_size': 12, 'rank': 1, 'world_size': 4}",
     .reply = "'out':[3,6]"},
    {.name = NULL}};
