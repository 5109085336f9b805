/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/ranks/pieces.h"

#include <stdlib.h>
#include <string.h>

#include "run/ranks/ranks.h"

struct pieces pieces_everywhere(uint64_t nelements)
{
    return (struct pieces){.outer = 1, .rows = nelements, .inner = 1, .each = 1};
}

struct pieces pieces_with(uint64_t nelements, uint32_t rank)
{
    return (struct pieces){
        .outer = 1, .rows = 1, .inner = nelements, .each = 1, .nparts = 1, .first = rank};
}

uint64_t pieces_rows(const struct pieces *pieces, int rank, uint64_t *first)
{
    uint64_t n = pieces->rows / (pieces->each > 0 ? pieces->each : 1), nparts = pieces->nparts;
    uint64_t count = (uint64_t)ranks_count(), part = (uint64_t)rank + count - pieces->first;
    uint64_t end;

    *first = 0;
    if (nparts == 0)
        return pieces->rows;
    part %= count;
    if (part >= nparts)
        return 0;
    *first = n * part / nparts;
    end = n * (part + 1) / nparts;
    end = (end - *first) * pieces->each;
    *first *= pieces->each;
    return end;
}

uint64_t pieces_elements(const struct pieces *pieces, int rank)
{
    uint64_t first;

    return pieces->outer * pieces_rows(pieces, rank, &first) * pieces->inner;
}

/* ---- runs of elements ---- */

/* A rank's piece within the whole array: `n` runs of `length` elements, the first at `start`, each
 * `pitch` after the previous run's start. */
struct runs {
    uint64_t n, pitch, start, length;
};

static struct runs runs_of(const struct pieces *pieces, int rank)
{
    uint64_t first, count = pieces_rows(pieces, rank, &first);
    struct runs runs = {pieces->outer, pieces->rows * pieces->inner, first * pieces->inner,
                        count * pieces->inner};

    if (runs.length == runs.pitch) {
        runs.length *= runs.n;
        runs.n = 1;
    }
    if (runs.length == 0)
        runs.n = 0;
    return runs;
}

bool pieces_same(const struct pieces *a, const struct pieces *b)
{
    for (int rank = 0; rank < ranks_count(); rank++) {
        struct runs x = runs_of(a, rank), y = runs_of(b, rank);

        if (x.n != y.n || (x.n > 0 && (x.start != y.start || x.length != y.length)) ||
            (x.n > 1 && x.pitch != y.pitch))
            return false;
    }
    return true;
}

/* Intersection of two pieces, run by run. */
struct overlap {
    struct runs a, b;
    uint64_t i, j;       /* next runs */
    uint64_t in_a, in_b; /* position of the current overlap in each piece */
    uint64_t length;
};

static bool next_overlap(struct overlap *o)
{
    while (o->i < o->a.n && o->j < o->b.n) {
        uint64_t a = o->a.start + o->i * o->a.pitch, b = o->b.start + o->j * o->b.pitch;
        uint64_t a_end = a + o->a.length, b_end = b + o->b.length;
        uint64_t from = a > b ? a : b, end = a_end < b_end ? a_end : b_end;

        o->in_a = o->i * o->a.length + (from - a);
        o->in_b = o->j * o->b.length + (from - b);
        if (a_end <= b_end)
            o->i++;
        else
            o->j++;
        if (from >= end)
            continue;
        o->length = end - from;
        return true;
    }
    return false;
}

static uint64_t overlap_elements(struct overlap o, uint64_t *nruns)
{
    uint64_t n = 0;

    for (*nruns = 0; next_overlap(&o); ++*nruns)
        n += o.length;
    return n;
}

/* ---- sending ---- */

/* Elements that this rank sends to, or receives from, a peer. */
struct crate {
    struct ranks_parcel parcel;
    struct overlap overlap; /* a: the sender's piece; b: the receiver's */
    const struct pieces_move *move;
    void *packed; /* NULL: sent from, or received into, the array directly */
};

static void pack(const struct crate *crate)
{
    struct overlap o = crate->overlap;
    uint64_t size = crate->move->size;
    char *to = crate->packed;

    for (; next_overlap(&o); to += o.length * size)
        memcpy(to, (const char *)crate->move->have + o.in_a * size, o.length * size);
}

static void unpack(const struct crate *crate)
{
    struct overlap o = crate->overlap;
    uint64_t size = crate->move->size;
    const char *from = crate->packed;

    for (; next_overlap(&o); from += o.length * size)
        memcpy((char *)crate->move->got + o.in_b * size, from, o.length * size);
}

/* Make the crate of a move between this rank and a peer.  False: no memory. */
static bool fill_crate(struct crate *crate, const struct pieces_move *move, int peer, bool sends)
{
    int me = ranks_me(), from = sends ? me : peer, to = sends ? peer : me;
    struct overlap o = {.a = runs_of(&move->from, from), .b = runs_of(&move->to, to)};
    uint64_t nruns, n = overlap_elements(o, &nruns);
    char *at = sends ? (char *)(uintptr_t)move->have : move->got;

    *crate = (struct crate){.overlap = o, .move = move};
    crate->parcel = (struct ranks_parcel){.how = sends ? RANKS_SEND : RANKS_RECEIVE,
                                          .peer = peer,
                                          .tag = RANKS_TAG_PIECES,
                                          .bytes = n * move->size};
    if (nruns == 1 && next_overlap(&o)) {
        crate->parcel.data = at + (sends ? o.in_a : o.in_b) * move->size;
        return true;
    }
    crate->parcel.data = crate->packed = malloc(crate->parcel.bytes + 1);
    if (crate->packed && sends)
        pack(crate);
    return crate->packed != NULL;
}

static void keep_own(const struct pieces_move *move)
{
    struct overlap o = {.a = runs_of(&move->from, ranks_me()), .b = runs_of(&move->to, ranks_me())};

    while (next_overlap(&o))
        memcpy((char *)move->got + o.in_b * move->size,
               (const char *)move->have + o.in_a * move->size, o.length * move->size);
}

/* Whether elements are sent: not if every rank has the whole array. */
static bool is_sent(const struct pieces_move *move)
{
    return move->from.nparts > 0;
}

static bool fill_crates(struct crate *crates, uint32_t *ncrates, const struct pieces_move *moves,
                        uint32_t nmoves)
{
    for (uint32_t k = 0; k < nmoves; k++)
        for (int peer = 0; peer < ranks_count(); peer++)
            for (int sends = 0; sends < 2 && peer != ranks_me() && is_sent(&moves[k]); sends++)
                if (!fill_crate(&crates[(*ncrates)++], &moves[k], peer, sends))
                    return false;
    return true;
}

static void exchange(struct crate *crates, uint32_t ncrates)
{
    for (uint32_t i = 0; i < ncrates; i++)
        ranks_start(&crates[i].parcel);
    for (uint32_t i = 0; i < ncrates; i++) {
        ranks_finish(&crates[i].parcel);
        if (crates[i].parcel.how == RANKS_RECEIVE && crates[i].packed)
            unpack(&crates[i]);
    }
}

int pieces_move(struct pieces_move *moves, uint32_t nmoves, struct shd_error *err)
{
    size_t nmax = 2 * (size_t)nmoves * (size_t)ranks_count();
    struct crate *crates = malloc((nmax + 1) * sizeof *crates);
    bool done = crates != NULL;
    uint32_t ncrates = 0;

    for (uint32_t k = 0; k < nmoves; k++) {
        moves[k].got = malloc(pieces_elements(&moves[k].to, ranks_me()) * moves[k].size + 1);
        done = done && moves[k].got;
    }
    done = done && fill_crates(crates, &ncrates, moves, nmoves);
    if (done) {
        for (uint32_t k = 0; k < nmoves; k++)
            keep_own(&moves[k]);
        exchange(crates, ncrates);
    }
    for (uint32_t i = 0; i < ncrates; i++)
        free(crates[i].packed);
    free(crates);
    for (uint32_t k = 0; k < nmoves && !done; k++) {
        free(moves[k].got);
        moves[k].got = NULL;
    }
    return done ? SHD_OK : shd_error_set(err, SHD_ENOMEM, "no memory for pieces of an array");
}
