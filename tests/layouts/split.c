/* Tests shd/split.h: even splits of arrays into chunks, as views or contiguous, and splits of
 * vocabularies.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/split.h>

#include <string.h>

#include "../support/tap.h"

static void test_divide(void)
{
    static const struct {
        int64_t a, b;
        int status;
        int64_t quotient;
    } rows[] = {
        {8, 2, SHD_OK, 4},
        {0, 5, SHD_OK, 0},
        {-8, 2, SHD_OK, -4},
        {8, -2, SHD_OK, -4},
        {7, 2, SHD_EINDIVISIBLE, 0},
        {-7, 2, SHD_EINDIVISIBLE, 0},
        {7, -2, SHD_EINDIVISIBLE, 0},
        {1, 2, SHD_EINDIVISIBLE, 0},
        {8, 0, SHD_EINVAL, 0},
        {0, 0, SHD_EINVAL, 0},
        {INT64_MIN, -1, SHD_ERANGE, 0},
        {INT64_MAX, -1, SHD_OK, -INT64_MAX},
    };
    struct shd_error err;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t q = 99;
        int status = shd_divide(&q, rows[i].a, rows[i].b, NULL);
        int sure = shd_ensure_divisible(rows[i].a, rows[i].b, NULL);

        ok(status == rows[i].status && q == (status == SHD_OK ? rows[i].quotient : 99) &&
               sure == (status == SHD_ERANGE ? SHD_OK : status),
           "%lld by %lld", (long long)rows[i].a, (long long)rows[i].b);
    }
    ok(shd_ensure_divisible(7, 2, &err) == SHD_EINDIVISIBLE &&
           !strcmp(err.text, "7 is not divisible by 2"),
       "the numbers are told");
}

static void test_vocab(void)
{
    static const struct {
        int64_t vocab, rank, world;
        bool strict;
        int status;
        int64_t start, stop;
    } rows[] = {
        {32000, 3, 4, false, SHD_OK, 24000, 32000},
        {12, 5, 4, false, SHD_OK, 15, 18},
        {12, 5, 4, true, SHD_EINVAL, 0, 0},
        {12, -1, 4, true, SHD_EINVAL, 0, 0},
        {12, 3, 4, true, SHD_OK, 9, 12},
        {50257, 1, 2, false, SHD_EINDIVISIBLE, 0, 0},
        {12, 0, 0, false, SHD_EINVAL, 0, 0},
        {INT64_MAX, 2, 1, false, SHD_ERANGE, 0, 0},
        {INT64_MAX, 1, 1, false, SHD_ERANGE, 0, 0},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t start = 0, stop = 0;
        int status = shd_vocab_range(&start, &stop, rows[i].vocab, rows[i].rank, rows[i].world,
                                     rows[i].strict, NULL);

        ok(status == rows[i].status && start == rows[i].start && stop == rows[i].stop,
           "vocabulary of %lld, rank %d of %d", (long long)rows[i].vocab, (int)rows[i].rank,
           (int)rows[i].world);
    }
}

struct split_row {
    int64_t shape[4];
    size_t rank;
    int64_t n;
    bool contiguous;
    int status;
    int64_t nchunks;
    int64_t chunk[4], strides[4];
    int64_t second; /* the start of chunk 1 */
    bool is_contiguous;
};

static const struct split_row split_rows[] = {
    {{4, 8}, 2, 2, false, SHD_OK, 2, {4, 4}, {8, 1}, 4, false},
    {{4, 8}, 2, 2, true, SHD_OK, 2, {4, 4}, {4, 1}, 0, true},
    {{8}, 1, 2, true, SHD_OK, 2, {4}, {1}, 4, true}, /* already contiguous, so a view */
    {{1, 1, 16}, 3, 2, true, SHD_OK, 2, {1, 1, 8}, {16, 16, 1}, 8, true},
    {{3, 0}, 2, 2, false, SHD_OK, 1, {3, 0}, {1, 1}, 0, true},
    {{3, 0}, 2, -2, false, SHD_OK, 1, {3, 0}, {1, 1}, 0, true},
    {{0, 4}, 2, 2, false, SHD_OK, 2, {0, 2}, {4, 1}, 2, true},
    {{4, 8}, 2, 1, false, SHD_OK, 1, {4, 8}, {8, 1}, 8, true},
    {{4, 8}, 2, 3, false, SHD_EINDIVISIBLE, 0, {0}, {0}, 0, false},
    {{4, 8}, 2, 16, false, SHD_EINDIVISIBLE, 0, {0}, {0}, 0, false},
    {{4, 8}, 2, 0, false, SHD_EINVAL, 0, {0}, {0}, 0, false},
    {{4, 8}, 2, -2, false, SHD_EINVAL, 0, {0}, {0}, 0, false},
    {{0}, 0, 1, false, SHD_ERANGE, 0, {0}, {0}, 0, false},
    {{0}, 17, 1, false, SHD_ERANGE, 0, {0}, {0}, 0, false},
    {{-1, 8}, 2, 2, false, SHD_EINVAL, 0, {0}, {0}, 0, false},
    {{INT64_MAX, 4, 2}, 3, 2, false, SHD_ERANGE, 0, {0}, {0}, 0, false},
};

static void test_split(void)
{
    for (size_t i = 0; i < sizeof split_rows / sizeof split_rows[0]; i++) {
        const struct split_row *row = &split_rows[i];
        struct shd_split s;
        int status = shd_split_last_dim(&s, row->shape, row->rank, row->n, row->contiguous, NULL);

        ok(status == row->status &&
               (status != SHD_OK ||
                (s.nchunks == row->nchunks && s.contiguous == row->is_contiguous &&
                 !memcmp(s.shape, row->chunk, row->rank * sizeof(int64_t)) &&
                 !memcmp(s.strides, row->strides, row->rank * sizeof(int64_t)) &&
                 shd_split_offset(&s, 0) == 0 && shd_split_offset(&s, 1) == row->second)),
           "split: row %zu", i);
    }
}

/* Through the view, chunk k of a matrix has its columns from k * width on. */
static void test_views(void)
{
    static const int64_t shape[] = {3, 6};
    struct shd_split s;
    int bad = 0;

    ok(shd_split_last_dim(&s, shape, 2, 3, false, NULL) == SHD_OK, "three chunks of 3x6");
    for (int64_t k = 0; k < 3; k++)
        for (int64_t i = 0; i < 3; i++)
            for (int64_t j = 0; j < 2; j++)
                bad += shd_split_offset(&s, k) + i * s.strides[0] + j * s.strides[1] !=
                       i * 6 + k * 2 + j;
    ok(bad == 0, "each element of a view is in place");
}

int main(void)
{
    plan(0);
    test_divide();
    test_vocab();
    test_split();
    test_views();
    return done();
}
