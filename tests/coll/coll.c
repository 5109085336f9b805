/* Tests coll/coll.h for every algorithm of its table, walked in one thread: values against a plain
 * loop, moves against closed forms.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/coll.h"
#include "../support/tap.h"

#define N_MAX 17
#define COUNT_MAX 100
#define ROOM (N_MAX * COUNT_MAX)
#define UNSET INT64_MIN

static const uint64_t counts[] = {0, 1, 3, 8, 17, 36, COUNT_MAX};
#define NCOUNTS (sizeof(counts) / sizeof(counts[0]))

/* buf[member][which][element] */
static int64_t buf[N_MAX][3][ROOM];
static int64_t want[N_MAX][ROOM];

/* The members that write (one bit each) and read each element within the current step. */
static uint32_t writers[N_MAX][3][ROOM];
static uint32_t readers[N_MAX][3][ROOM];

/* ---- the plain loop ---- */

static int64_t operand(uint32_t member, uint64_t i)
{
    return (int64_t)(member + 1) * 1000 + (int64_t)(i * i % 97);
}

static int64_t sum(uint32_t n, uint64_t i)
{
    int64_t total = 0;

    for (uint32_t m = 0; m < n; m++)
        total += operand(m, i);
    return total;
}

static void want_member(enum coll_kind kind, const struct coll_shape *shape, uint32_t m)
{
    uint32_t n = shape->nmembers;
    uint64_t at = coll_chunk_at(shape->count, n, m);
    uint64_t chunk = coll_chunk_count(shape->count, n, m);
    uint64_t nout = coll_out_count(kind, shape, m);

    for (uint64_t i = 0; i < nout; i++) {
        switch (kind) {
        case COLL_ALL_REDUCE:
        case COLL_REDUCE:
            want[m][i] = sum(n, i);
            break;
        case COLL_REDUCE_SCATTER:
            want[m][i] = sum(n, at + i);
            break;
        case COLL_ALL_GATHER:
        case COLL_GATHER:
            want[m][i] = operand((uint32_t)(i / shape->count), i % shape->count);
            break;
        case COLL_ALL_TO_ALL:
            want[m][i] = operand((uint32_t)(i / chunk), at + i % chunk);
            break;
        case COLL_PERMUTE:
            want[m][i] = shape->source[m] == COLL_NOBODY ? 0 : operand(shape->source[m], i);
            break;
        case COLL_SCATTER:
            want[m][i] = operand(shape->root, at + i);
            break;
        default: /* broadcast and send-recv */
            want[m][i] = operand(kind == COLL_BROADCAST ? shape->root : 0, i);
            break;
        }
    }
    for (uint64_t i = nout; i < ROOM; i++)
        want[m][i] = UNSET;
}

/* ---- the walk ---- */

static void fill(enum coll_kind kind, const struct coll_shape *shape)
{
    for (uint32_t m = 0; m < shape->nmembers; m++) {
        for (size_t i = 0; i < ROOM; i++) {
            buf[m][COLL_IN][i] = i < coll_in_count(kind, shape, m) ? operand(m, i) : UNSET;
            buf[m][COLL_OUT][i] = UNSET;
            buf[m][COLL_TMP][i] = UNSET;
        }
    }
}

/* The number of elements that may be touched in a member's buffer. */
static uint64_t room_of(const struct coll_algo *algo, const struct coll_shape *shape,
                        uint32_t member, enum coll_buf which)
{
    if (which == COLL_IN)
        return coll_in_count(algo->kind, shape, member);
    if (which == COLL_OUT)
        return coll_out_count(algo->kind, shape, member);
    return algo->tmp_count ? algo->tmp_count(shape) : 0;
}

static bool in_bounds(const struct coll_algo *algo, const struct coll_shape *shape, uint32_t member,
                      const struct coll_move *move)
{
    return move->peer < shape->nmembers && move->dst != COLL_IN &&
           (move->act == COLL_ZERO ||
            move->src_at + move->count <= room_of(algo, shape, move->peer, move->src)) &&
           move->dst_at + move->count <= room_of(algo, shape, member, move->dst);
}

static void make_move(uint32_t member, const struct coll_move *move)
{
    for (uint64_t i = 0; i < move->count; i++) {
        int64_t *dst = &buf[member][move->dst][move->dst_at + i];
        int64_t src = move->act == COLL_ZERO ? 0 : buf[move->peer][move->src][move->src_at + i];

        *dst = move->act == COLL_COMBINE ? *dst + src : src;
        writers[member][move->dst][move->dst_at + i] |= UINT32_C(1) << member;
        if (move->act != COLL_ZERO)
            readers[move->peer][move->src][move->src_at + i] |= UINT32_C(1) << member;
    }
}

/* Whether no element is written by one member and read by another in the same step. */
static bool step_is_clean(uint32_t n)
{
    for (uint32_t m = 0; m < n; m++) {
        for (int b = 0; b < 3; b++) {
            for (size_t i = 0; i < ROOM; i++) {
                if (writers[m][b][i] && (readers[m][b][i] & ~writers[m][b][i]))
                    return false;
            }
        }
    }
    return true;
}

struct walked {
    bool bounds, clean;
    uint64_t received[N_MAX], sent[N_MAX];
};

static struct walked walk(const struct coll_algo *algo, const struct coll_shape *shape)
{
    struct walked w = {.bounds = true, .clean = true};

    fill(algo->kind, shape);
    for (uint32_t s = 0; s < algo->nsteps(shape); s++) {
        memset(writers, 0, sizeof(writers));
        memset(readers, 0, sizeof(readers));
        for (uint32_t m = 0; m < shape->nmembers; m++) {
            for (uint32_t i = 0; i < algo->nmoves(shape, m, s); i++) {
                struct coll_move move;

                algo->move(shape, m, s, i, &move);
                w.bounds = w.bounds && in_bounds(algo, shape, m, &move);
                if (!w.bounds)
                    return w;
                make_move(m, &move);
                w.received[m] += move.peer == m ? 0 : move.count;
                w.sent[move.peer] += move.peer == m ? 0 : move.count;
            }
        }
        w.clean = w.clean && step_is_clean(shape->nmembers);
    }
    return w;
}

static bool right_values(uint32_t n)
{
    for (uint32_t m = 0; m < n; m++) {
        if (memcmp(buf[m][COLL_OUT], want[m], sizeof(want[m])) != 0)
            return false;
    }
    return true;
}

/* Hops of a chunk that goes `distance` members on, one hop per binary digit 1. */
static uint64_t hops(uint32_t distance)
{
    return (uint64_t)__builtin_popcount(distance);
}

/* Received elements if members pass chunks on, so that some make several hops. */
static uint64_t travelled(const struct coll_algo *algo, const struct coll_shape *shape)
{
    uint32_t n = shape->nmembers;
    uint64_t total = 0;

    for (uint32_t d = 1; d < n; d++)
        total += hops(d) * (algo->kind == COLL_SCATTER
                                ? coll_chunk_count(shape->count, n, (shape->root + d) % n)
                                : shape->count);
    return total;
}

/* Received elements of an all-reduce among the largest power of two of members; the others hand
 * over and get back. */
static uint64_t folded(const struct coll_algo *algo, const struct coll_shape *shape)
{
    uint64_t p = 1;
    uint64_t rounds = 0;

    for (; 2 * p <= shape->nmembers; p *= 2)
        rounds++;
    return shape->count * (2 * (shape->nmembers - p) +
                           (!strcmp(algo->name, "recursive-doubling") ? rounds * p : 2 * (p - 1)));
}

/* Elements that all members receive together, by formula. */
static uint64_t formula(const struct coll_algo *algo, const struct coll_shape *shape)
{
    uint64_t g = shape->nmembers;
    uint64_t b = shape->count;
    uint64_t from_others = 0;
    bool tree = !strcmp(algo->name, "tree");

    if (algo->kind == COLL_ALL_REDUCE && strstr(algo->name, "doubling"))
        return folded(algo, shape);
    if ((tree && (algo->kind == COLL_GATHER || algo->kind == COLL_SCATTER)) ||
        (algo->kind == COLL_ALL_TO_ALL && !strcmp(algo->name, "bruck")))
        return travelled(algo, shape);
    switch (algo->kind) {
    case COLL_ALL_REDUCE:
        return 2 * (g - 1) * b;
    case COLL_ALL_GATHER:
        return g * (g - 1) * b;
    case COLL_SCATTER:
        return b - coll_chunk_count(b, shape->nmembers, shape->root);
    case COLL_PERMUTE:
        for (uint32_t m = 0; m < g; m++)
            from_others += shape->source[m] != COLL_NOBODY && shape->source[m] != m ? b : 0;
        return from_others;
    case COLL_SEND_RECV:
        return b;
    case COLL_BARRIER:
        return 0;
    default: /* reduce-scatter, all-to-all, broadcast, gather, reduce */
        return (g - 1) * b;
    }
}

static bool counts_agree(const struct coll_algo *algo, const struct coll_shape *shape,
                         const struct walked *w)
{
    uint64_t received = 0;
    uint64_t sent = 0;

    for (uint32_t m = 0; m < shape->nmembers; m++) {
        if (algo->received(shape, m) != w->received[m] || algo->sent(shape, m) != w->sent[m])
            return false;
        received += w->received[m];
        sent += w->sent[m];
    }
    return received == sent && received == formula(algo, shape) &&
           received == coll_received_by_all(algo, shape);
}

/* Whether members that alike() links receive and send the same, and the links end. */
static bool alike_agrees(const struct coll_algo *algo, const struct coll_shape *shape,
                         const struct walked *w)
{
    for (uint32_t m = 0; m < shape->nmembers; m++) {
        uint32_t next = algo->alike(shape, m);

        if (next <= m || next > shape->nmembers)
            return false;
        for (uint32_t k = m; k < next; k++)
            if (w->received[k] != w->received[m] || w->sent[k] != w->sent[m])
                return false;
    }
    return true;
}

/* ---- each row of the table ---- */

struct verdict {
    bool bounds, clean, values, counts, alike;
};

static void test_shape(const struct coll_algo *algo, const struct coll_shape *shape,
                       struct verdict *v)
{
    struct walked w = walk(algo, shape);
    struct verdict now;

    memset(want, 0, sizeof(want));
    for (uint32_t m = 0; m < shape->nmembers; m++)
        want_member(algo->kind, shape, m);
    now = (struct verdict){w.bounds, w.clean, right_values(shape->nmembers),
                           counts_agree(algo, shape, &w), alike_agrees(algo, shape, &w)};
    if (!now.bounds || !now.clean || !now.values || !now.counts || !now.alike)
        diag("%s/%s: n %" PRIu32 ", count %" PRIu64 ", root %" PRIu32 ": bounds %d, clean %d, "
             "values %d, counts %d, alike %d",
             coll_kind_name(algo->kind), algo->name, shape->nmembers, shape->count, shape->root,
             now.bounds, now.clean, now.values, now.counts, now.alike);
    v->bounds = v->bounds && now.bounds;
    v->clean = v->clean && now.clean;
    v->values = v->values && now.values;
    v->counts = v->counts && now.counts;
    v->alike = v->alike && now.alike;
}

/* A rotation; from 3 members on the last member has no source. */
static void rotate(uint32_t n, uint32_t *source)
{
    for (uint32_t m = 0; m < n; m++)
        source[m] = (m + n - 1) % n;
    if (n > 2)
        source[n - 1] = COLL_NOBODY;
    if (n > 3)
        source[1] = 1;
}

static void test_row(const struct coll_algo *algo)
{
    struct verdict v = {true, true, true, true, true};
    const char *kind = coll_kind_name(algo->kind);

    for (uint32_t n = 1; n <= N_MAX; n++) {
        uint32_t source[N_MAX];

        rotate(n, source);
        for (size_t c = 0; c < NCOUNTS && coll_serves(algo, n); c++) {
            struct coll_shape shape = {n, counts[c], 0, source};

            test_shape(algo, &shape, &v);
            shape.root = n - 1;
            test_shape(algo, &shape, &v);
        }
    }
    ok(v.bounds, "%s/%s stays inside its buffers", kind, algo->name);
    ok(v.clean, "%s/%s reads nothing that is written in the same step", kind, algo->name);
    ok(v.values, "%s/%s gives what a plain loop gives, and writes nothing else", kind, algo->name);
    ok(v.counts, "%s/%s: received = sent = the formula, for all members", kind, algo->name);
    ok(v.alike, "%s/%s: members called alike receive and send alike", kind, algo->name);
}

/* ---- closed forms in larger groups, where only the moves are counted ---- */

#define LARGE_MAX 131

static bool closed_forms_hold(const struct coll_algo *algo, const struct coll_shape *shape)
{
    static struct walked_large {
        uint64_t received[LARGE_MAX], sent[LARGE_MAX];
    } w;

    memset(&w, 0, sizeof w);
    for (uint32_t m = 0; m < shape->nmembers; m++)
        for (uint32_t s = 0; s < algo->nsteps(shape); s++)
            for (uint32_t i = 0; i < algo->nmoves(shape, m, s); i++) {
                struct coll_move move;

                algo->move(shape, m, s, i, &move);
                w.received[m] += move.peer == m ? 0 : move.count;
                w.sent[move.peer] += move.peer == m ? 0 : move.count;
            }
    for (uint32_t m = 0, next = 0; m < shape->nmembers; m++) {
        if (m == next)
            next = algo->alike(shape, m);
        if (algo->received(shape, m) != w.received[m] || algo->sent(shape, m) != w.sent[m] ||
            (m + 1 < next && (w.received[m + 1] != w.received[m] || w.sent[m + 1] != w.sent[m])))
            return false;
    }
    return true;
}

static void test_large(const struct coll_algo *algo)
{
    static const uint32_t sizes[] = {18, 32, 33, 48, 64, 96, 100, 127, 128, LARGE_MAX};
    uint32_t source[LARGE_MAX];
    bool hold = true;

    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        uint32_t n = sizes[k];
        const uint64_t large_counts[] = {0, 1, 5, n - 1, n, n + 1, 3 * n + n / 2, 4096, 100003};

        for (uint32_t m = 0; m < n; m++)
            source[m] = m % 7 == 3 ? COLL_NOBODY : (5 * m + 1) % n;
        for (size_t c = 0; c < sizeof large_counts / sizeof large_counts[0]; c++)
            for (uint32_t root = 0; root < n && coll_serves(algo, n); root += n / 3) {
                struct coll_shape shape = {n, large_counts[c], root, source};

                if (!hold || closed_forms_hold(algo, &shape))
                    continue;
                hold = false;
                diag("n %" PRIu32 ", count %" PRIu64 ", root %" PRIu32, n, shape.count, root);
            }
    }
    ok(hold, "%s/%s: closed forms hold in groups of up to %d", coll_kind_name(algo->kind),
       algo->name, LARGE_MAX);
}

/* ---- per-member figures of the default algorithms ---- */

static void test_members(void)
{
    struct coll_shape shape = {.nmembers = 4, .count = 10};
    static const uint64_t all_reduce[] = {16, 16, 14, 14}; /* chunks 3, 3, 2, 2 */
    static const uint64_t reduce_scatter[] = {9, 9, 6, 6};
    bool same = true;

    for (uint32_t m = 0; m < 4; m++) {
        same = same && coll_find(COLL_ALL_REDUCE, NULL)->received(&shape, m) == all_reduce[m] &&
               coll_find(COLL_REDUCE_SCATTER, NULL)->received(&shape, m) == reduce_scatter[m];
    }
    ok(same, "each member receives its real chunks");
}

static void test_find(void)
{
    bool all = true;

    for (int k = 0; k < COLL_NKINDS; k++) {
        const struct coll_algo *algo = coll_find((enum coll_kind)k, NULL);

        all = all && algo && algo->kind == (enum coll_kind)k && !strcmp(algo->name, "direct") &&
              coll_kind_parse(coll_kind_name((enum coll_kind)k)) == k;
    }
    ok(all, "every kind has a default called direct, and a name that is read back");
    ok(coll_find(COLL_ALL_REDUCE, "ring") != coll_find(COLL_ALL_REDUCE, NULL),
       "find: by name");
    ok(!coll_find(COLL_BARRIER, "ring"), "find: no such algorithm");
    ok(coll_kind_parse("all-reduc") == -1, "kind: no such collective");
    ok(!coll_serves(coll_find(COLL_SEND_RECV, NULL), 3), "send-recv is for two");
    ok(!coll_serves(coll_find(COLL_ALL_GATHER, "recursive-doubling"), 6) &&
           coll_serves(coll_find(COLL_ALL_REDUCE, "recursive-doubling"), 6),
       "some algorithms are for powers of two");
}

static void test_chunks(void)
{
    bool good = true;

    for (uint32_t n = 1; n <= N_MAX; n++) {
        for (uint64_t count = 0; count < 40; count++) {
            uint64_t at = 0;

            for (uint32_t i = 0; i < n; i++) {
                good = good && coll_chunk_at(count, n, i) == at;
                at += coll_chunk_count(count, n, i);
            }
            good = good && at == count;
        }
    }
    ok(good, "chunks follow each other and add up");
}

static void test_chunk_of(void)
{
    bool good = true;
    uint64_t left;

    for (uint32_t n = 1; n <= N_MAX; n++) {
        for (uint64_t count = 0; count < 40; count++) {
            for (uint32_t i = 0; i < n; i++) {
                uint64_t first = coll_chunk_at(count, n, i), size = coll_chunk_count(count, n, i);

                for (uint64_t at = first; at < first + size; at++)
                    good = good && coll_chunk_of(count, n, at, &left) == i &&
                           left == first + size - at;
            }
            good = good && coll_chunk_of(count, n, count, &left) == COLL_NOBODY && left == 0;
        }
    }
    ok(good, "every element is in its chunk, with the rest of the chunk");
}

/* The value of an element of OUT, by the origin that coll.h tells. */
static int64_t value_from(uint32_t n, const struct coll_origin *origin, uint64_t i)
{
    if (origin->source == COLL_NOBODY)
        return 0;
    return origin->source == COLL_ALL ? sum(n, origin->at + i)
                                      : operand(origin->source, origin->at + i);
}

static bool origins_are_right(enum coll_kind kind, const struct coll_shape *shape, uint32_t m)
{
    uint64_t nout = coll_out_count(kind, shape, m);
    bool right = coll_origin(kind, shape, m, nout).count == 0;

    want_member(kind, shape, m);
    for (uint64_t at = 0; at < nout; at++) {
        struct coll_origin origin = coll_origin(kind, shape, m, at);

        right = right && origin.count > 0 && at + origin.count <= nout;
        for (uint64_t i = 0; i < origin.count && right; i++)
            right = want[m][at + i] == value_from(shape->nmembers, &origin, i);
    }
    return right;
}

static void test_origins(void)
{
    for (int k = 0; k < COLL_NKINDS; k++) {
        bool right = true;

        for (uint32_t n = 1; n <= N_MAX; n++) {
            uint32_t source[N_MAX];

            rotate(n, source);
            if (!coll_serves(coll_find((enum coll_kind)k, NULL), n))
                continue;
            for (size_t c = 0; c < NCOUNTS; c++) {
                struct coll_shape shape = {n, counts[c], k == COLL_SEND_RECV ? 0 : n - 1, source};

                for (uint32_t m = 0; m < n; m++)
                    right = right && origins_are_right((enum coll_kind)k, &shape, m);
            }
        }
        ok(right, "%s: every element of OUT comes from where the plain loop takes it",
           coll_kind_name((enum coll_kind)k));
    }
}

int main(void)
{
    plan(0);
    for (size_t i = 0; coll_algos[i]; i++) {
        test_row(coll_algos[i]);
        test_large(coll_algos[i]);
    }
    test_members();
    test_find();
    test_chunks();
    test_chunk_of();
    test_origins();
    return done();
}
