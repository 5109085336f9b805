/* Tests kern/sight.h: orders of tokens, spans, counts of pairs, and the arrays filled from a
 * sight.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "../support/tap.h"

#include <stdlib.h>
#include <string.h>

#include "kern/kern.h"
#include "kern/pages.h"
#include "kern/pairs.h"

static const struct kern_order zigzag = {KERN_ZIGZAG, 2, 8};
static const struct kern_order striped = {KERN_STRIPED, 2, 8};

static bool lies(const struct kern_order *order, const int64_t *want)
{
    for (int64_t i = 0; i < order->extent; i++)
        if (kern_order_position(order, i) != want[i])
            return false;
    return true;
}

static void test_names(void)
{
    bool all = true;

    for (int kind = 0; kind < KERN_NORDERS; kind++)
        all = all && kern_order_find(kern_order_name((enum kern_order_kind)kind)) == kind;
    ok(all, "each order is found by its name");
    ok(kern_order_find("backwards") == -1, "another name is none");
}

/* Whether each position occurs once, and runs cover the positions and end only where the distance
 * of positions changes. */
static bool is_permutation(const struct kern_order *order)
{
    char *seen = calloc((size_t)order->extent + 1, 1);
    bool good = seen != NULL;

    for (int64_t i = 0, next; i < order->extent && good; i = next) {
        struct kern_run run = kern_order_run(order, i);

        next = i + run.count;
        good = run.count > 0 && run.step > 0 && next <= order->extent;
        for (int64_t j = 0; j < run.count && good; j++) {
            int64_t position = run.position + j * run.step;

            good = position >= 0 && position < order->extent && !seen[position] &&
                   position == kern_order_position(order, i + j);
            seen[position] = 1;
        }
    }
    free(seen);
    return good;
}

/* Whether the index of each position is where the position lies. */
static bool is_inverted(const struct kern_order *order)
{
    for (int64_t i = 0; i < order->extent; i++)
        if (kern_order_index(order, kern_order_position(order, i)) != i)
            return false;
    return true;
}

static void test_orders(void)
{
    ok(lies(&zigzag, (int64_t[]){0, 1, 6, 7, 2, 3, 4, 5}), "zigzag: head and tail");
    ok(lies(&striped, (int64_t[]){0, 2, 4, 6, 1, 3, 5, 7}), "striped: every second");
    ok(lies(&(struct kern_order){KERN_CONTIGUOUS, 4, 8}, (int64_t[]){0, 1, 2, 3, 4, 5, 6, 7}),
       "contiguous: tokens stay in place");
    ok(is_inverted(&(struct kern_order){KERN_CONTIGUOUS, 4, 3}) &&
           is_permutation(&(struct kern_order){KERN_CONTIGUOUS, 4, 3}),
       "contiguous: tokens may be fewer than parts");
}

static void test_each_order(bool (*holds)(const struct kern_order *), const char *what)
{
    for (int kind = 0; kind < KERN_NORDERS; kind++) {
        bool all = true;

        for (int64_t parts = 1; parts <= 9; parts++)
            for (int64_t n = 1; n <= 5; n++)
                all = all && holds(&(struct kern_order){
                                 (enum kern_order_kind)kind, parts,
                                 n * kern_order_unit((enum kern_order_kind)kind, parts)});
        ok(all, "%s: %s", kern_order_name((enum kern_order_kind)kind), what);
    }
}

/* Two rows of documents: one of 3 and 5 tokens, one of 8. */
static const int32_t first[16] = {0, 0, 0, 3, 3, 3, 3, 3};
static const int32_t last[16] = {2, 2, 2, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7};

static bool sees(const struct kern_sight *sight, int64_t row, int64_t position, int64_t from,
                 int64_t to)
{
    struct kern_span span = kern_sight_span(sight, row, position);

    return span.first == from && span.last == to;
}

static void test_spans(void)
{
    struct kern_sight sight = {.order = zigzag};

    ok(sees(&sight, 0, 5, 0, 7), "all are seen");
    sight.causal = true;
    ok(sees(&sight, 0, 5, 0, 5), "causal: none later");
    sight.window = 3;
    ok(sees(&sight, 0, 5, 3, 5) && sees(&sight, 0, 1, 0, 1), "a window of three");
    sight.chunk = 4;
    ok(sees(&sight, 0, 5, 4, 5) && sees(&sight, 0, 7, 5, 7), "a chunk begins inside the window");
    sight.chunk = 0;
    sight.rows = 2;
    sight.first = first;
    sight.last = last;
    ok(sees(&sight, 0, 3, 3, 3) && sees(&sight, 0, 4, 3, 4) && sees(&sight, 0, 7, 5, 7),
       "a document begins inside the window");
    ok(sees(&sight, 1, 3, 1, 3) && sees(&sight, 3, 3, 1, 3), "another row of the batch");
    sight.causal = false;
    sight.window = 0;
    ok(sees(&sight, 2, 1, 0, 2) && sees(&sight, 2, 3, 3, 7), "all of a document");
    sight.chunk = 3;
    ok(sees(&sight, 2, 1, 0, 2) && sees(&sight, 2, 3, 3, 5), "a chunk of a document");
}

/* ---- counts that are kept ---- */

static struct kern_blocks blocks_of(int64_t n)
{
    return (struct kern_blocks){n % 2, n / 64 * 256, 256, n % 64 * 256, 512};
}

/* The number of known counts among the first n; -1 if a known count is wrong. */
static int64_t nknown(const struct kern_pairs *pairs, int64_t n)
{
    int64_t known = 0;

    for (int64_t i = 0; i < n; i++) {
        struct kern_blocks blocks = blocks_of(i);
        uint64_t count = 0;

        if (kern_pairs_find(pairs, &blocks, &count) && count != (uint64_t)i)
            return -1;
        known += count == (uint64_t)i && i > 0;
    }
    return known;
}

static void test_pairs(void)
{
    struct kern_pairs *pairs = calloc(1, kern_pairs_bytes());
    struct kern_blocks blocks = blocks_of(7);

    ok(nknown(pairs, 4096) == 0 && nknown(NULL, 10) == 0, "an empty table, or none, knows nothing");
    kern_pairs_add(NULL, &blocks, 1);
    for (int64_t i = 0; i < 4096; i++) {
        blocks = blocks_of(i);
        kern_pairs_add(pairs, &blocks, (uint64_t)i);
    }
    ok(nknown(pairs, 4096) == 4095, "64 blocks by 64 are all kept");
    for (int64_t i = 4096; i < 100000; i++) {
        blocks = blocks_of(i);
        kern_pairs_add(pairs, &blocks, (uint64_t)i);
    }
    ok(nknown(pairs, 100000) >= 4095, "what a full table knows is right");
    free(pairs);
}

/* ---- arrays ---- */

static bool fills(const struct kern_source *source, uint32_t rank, const int64_t *shape,
                  const int64_t *offset, const int64_t *extent, const int32_t *want)
{
    int32_t got[64];
    size_t n = 1;

    for (uint32_t d = 0; d < rank; d++)
        n *= (size_t)extent[d];
    kern_fill(source, SHD_I32, rank, shape, offset, extent, got);
    return memcmp(got, want, n * sizeof *got) == 0;
}

static void test_arrays(void)
{
    const struct kern_sight sight = {
        .order = zigzag, .causal = true, .rows = 2, .first = first, .last = last};
    struct kern_source spans = {.sight = &sight, .sight_array = KERN_SPANS};
    struct kern_source positions = {.sight = &sight, .sight_array = KERN_POSITIONS};
    const int64_t whole[3] = {2, 8, 2}, from[3] = {0, 4, 0}, count[3] = {2, 2, 2};

    ok(fills(&positions, 1, &whole[1], (int64_t[]){2}, (int64_t[]){4}, (int32_t[]){6, 7, 2, 3}),
       "positions of a part");
    positions.moved = 4;
    ok(fills(&positions, 1, &whole[1], (int64_t[]){2}, (int64_t[]){4}, (int32_t[]){4, 5, 0, 1}),
       "positions of keys that were moved on");
    ok(fills(&spans, 3, whole, from, count, (int32_t[]){0, 2, 3, 3, 0, 2, 0, 3}),
       "spans of a part of two rows");
    spans.place.per_microbatch = 5;
    spans.microbatch = 1;
    ok(!kern_source_changes(&spans) &&
           fills(&spans, 3, whole, from, count, (int32_t[]){0, 2, 3, 3, 0, 2, 0, 3}),
       "spans are the same in each step and microbatch");
}

/* Two queries a step, the first at position 2, beside eight keys in striped order, of which they
 * see the last three; two parts, so that spans are there for each. */
static void test_queries(void)
{
    const struct kern_sight sight = {.order = striped,
                                     .causal = true,
                                     .window = 3,
                                     .queries = {.count = 2, .first = 2, .each = 2}};
    struct kern_source queries = {.sight = &sight, .sight_array = KERN_QUERIES};
    struct kern_source places = {.sight = &sight, .sight_array = KERN_PLACES};
    struct kern_source spans = {.sight = &sight, .sight_array = KERN_SPANS};
    struct kern_source positions = {.sight = &sight, .sight_array = KERN_POSITIONS};
    const int64_t none[2] = {0}, two[1] = {2}, all[2] = {4, 2}, keys[1] = {8};

    ok(fills(&queries, 1, two, none, two, (int32_t[]){2, 3}) &&
           fills(&places, 1, two, none, two, (int32_t[]){1, 5}),
       "queries of a step: their positions, and where they are kept");
    ok(fills(&spans, 2, all, none, all, (int32_t[]){0, 2, 1, 3, 0, 2, 1, 3}),
       "queries of a step: what they see, for each part");
    queries.step = places.step = spans.step = positions.step = 2;
    ok(fills(&queries, 1, two, none, two, (int32_t[]){6, 7}) &&
           fills(&places, 1, two, none, two, (int32_t[]){3, 7}) &&
           fills(&spans, 2, all, (int64_t[]){2, 0}, (int64_t[]){2, 2}, (int32_t[]){4, 6, 5, 7}),
       "queries of a later step");
    ok(fills(&positions, 1, keys, none, keys, (int32_t[]){0, 2, 4, 6, 1, 3, 5, 7}),
       "positions of keys are the same in all steps");
    ok(kern_source_changes(&queries) && kern_source_changes(&places) &&
           kern_source_changes(&spans) && !kern_source_changes(&positions),
       "arrays of queries change from step to step, positions of keys do not");
}

/* Whether sequences of a pool have pages of their own, but for the shared ones, within the room. */
static bool are_apart(const struct kern_pages *p)
{
    int64_t nslots = kern_pages_slots(p), ntokens = p->parts * p->tokens;
    int64_t *owner = calloc((size_t)nslots, sizeof *owner);
    bool good = owner != NULL;

    for (int64_t row = 0; row < p->rows && good; row++)
        for (int64_t token = 0; token < ntokens && good; token++) {
            int64_t slot = kern_pages_slot(p, row, token), mine = row * ntokens + token + 1;

            if (token % p->tokens < p->shared * p->page)
                mine = -1 - token;
            good = slot >= 0 && slot < nslots && (owner[slot] == 0 || owner[slot] == mine);
            owner[slot] = mine;
        }
    free(owner);
    return good;
}

static void test_pages(void)
{
    bool all = true;

    for (int64_t rows = 1; rows <= 5; rows++)
        for (int64_t entries = 1; entries <= 7; entries++)
            for (int64_t shared = 0; shared <= entries; shared++) {
                struct kern_pages pages = {.page = 3,
                                           .pools = 2,
                                           .rows = rows,
                                           .parts = 2,
                                           .tokens = 3 * entries,
                                           .shared = shared};

                kern_pages_init(&pages);
                all = all && are_apart(&pages);
            }
    ok(all, "each token of each sequence has a slot of its own, or one shared by all");
}

/* Tokens of a text and of pseudo-random numbers are stored in the order of the sight. */
static void test_tokens(void)
{
    static const uint8_t text[] = "abcdefghijklmnopqrstuvwxyz";
    const struct kern_source drawn = {.seed = 5, .modulus = 100};
    struct kern_source source = {.bytes = text,
                                 .nbytes = 26,
                                 .place = {.first = 1, .columns = 8, .row = 10},
                                 .order = zigzag};
    const int64_t shape[2] = {2, 8}, all[2] = {0, 0};
    int32_t plain[16], got[16];
    bool same = true;

    ok(fills(&source, 2, shape, (int64_t[]){1, 2}, (int64_t[]){1, 4},
             (int32_t[]){'r', 's', 'n', 'o'}),
       "a text in zigzag order");
    source = drawn;
    kern_fill(&source, SHD_I32, 2, shape, all, shape, plain);
    source.order = striped;
    kern_fill(&source, SHD_I32, 2, shape, all, shape, got);
    for (int64_t i = 0; i < 16; i++)
        same = same && got[i] == plain[i / 8 * 8 + kern_order_position(&striped, i % 8)];
    ok(same, "drawn tokens in striped order");
}

int main(void)
{
    plan(0);
    test_names();
    test_orders();
    test_each_order(is_permutation, "positions are a permutation, and runs are of it");
    test_each_order(is_inverted, "each position has its index");
    test_spans();
    test_pairs();
    test_arrays();
    test_queries();
    test_pages();
    test_tokens();
    return done();
}
