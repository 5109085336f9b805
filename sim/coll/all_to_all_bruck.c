/* all-to-all/bruck - chunks travel by the binary digits of their distance.
 *
 * Chunk i of a member goes i members on: by 1 in step 0 if i is odd, by 2 in step 1, and so on.  So
 * there are few steps, each with half of the chunks, which may be passed on several times.  On the
 * way a chunk lies in slot i of one of TMP's two halves, written while the other is read.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "coll/counts.h"
#include "coll/table.h"

/* How many of 1..n-1 have binary digit `step`. */
static uint32_t nmoving(uint32_t n, uint32_t step)
{
    uint32_t digit = UINT32_C(1) << step;
    uint32_t rest = n & (2 * digit - 1);

    return (n >> (step + 1) << step) + (rest > digit ? rest - digit : 0);
}

/* Step 0 also copies the member's own chunk. */
static uint32_t nmoves(const struct coll_shape *shape, uint32_t member, uint32_t step)
{
    (void)member;
    return nmoving(shape->nmembers, step) + (step == 0 ? 1 : 0);
}

static uint64_t half(const struct coll_shape *shape)
{
    return coll_chunk_count(shape->count, shape->nmembers, 0) * shape->nmembers;
}

static uint64_t tmp_count(const struct coll_shape *shape)
{
    return shape->nmembers > 2 ? 2 * half(shape) : 0;
}

/* Position of slot `slot` in TMP after `hops` moves. */
static uint64_t slot_at(const struct coll_shape *shape, uint32_t slot, uint32_t hops)
{
    return (hops - 1) % 2 * half(shape) + slot * coll_chunk_count(shape->count, shape->nmembers, 0);
}

/* Set a move that pulls the chunk in a slot; its owner follows from the digits done so far. */
static void pull_slot(const struct coll_shape *shape, uint32_t member, uint32_t step, uint32_t slot,
                      struct coll_move *out)
{
    uint32_t n = shape->nmembers;
    uint32_t done = slot & ((UINT32_C(1) << step) - 1);
    uint32_t after = done | UINT32_C(1) << step;
    uint32_t hops = (uint32_t)__builtin_popcount(done);
    uint32_t source = (member + n - after) % n;
    uint32_t dest = (uint32_t)(((uint64_t)source + slot) % n);
    uint64_t count = coll_chunk_count(shape->count, n, dest);
    bool last = after == slot;

    *out = (struct coll_move){
        .peer = (member + n - (UINT32_C(1) << step)) % n,
        .src = hops == 0 ? COLL_IN : COLL_TMP,
        .dst = last ? COLL_OUT : COLL_TMP,
        .src_at = hops == 0 ? coll_chunk_at(shape->count, n, dest) : slot_at(shape, slot, hops),
        .dst_at = last ? source * count : slot_at(shape, slot, hops + 1),
        .count = count,
    };
}

static void move(const struct coll_shape *shape, uint32_t member, uint32_t step, uint32_t i,
                 struct coll_move *out)
{
    uint32_t digit = UINT32_C(1) << step;
    uint64_t count = coll_chunk_count(shape->count, shape->nmembers, member);

    if (i < nmoving(shape->nmembers, step)) {
        pull_slot(shape, member, step, (i >> step << (step + 1)) | digit | (i & (digit - 1)), out);
        return;
    }
    *out = (struct coll_move){.peer = member,
                              .src = COLL_IN,
                              .dst = COLL_OUT,
                              .src_at = coll_chunk_at(shape->count, shape->nmembers, member),
                              .dst_at = member * count,
                              .count = count};
}

/* In step s the slots from h + 2^s up to h + 2^(s+1), for each h that is a multiple of 2^(s+1),
 * hold chunks that are for the member h behind. */
static uint64_t in_step(const struct coll_shape *shape, uint32_t member, uint32_t step)
{
    uint32_t n = shape->nmembers;
    uint64_t digit = UINT64_C(1) << step;
    uint64_t count = 0;

    if (shape->count % n == 0)
        return nmoving(n, step) * (shape->count / n);
    for (uint64_t h = 0; h + digit < n; h += 2 * digit) {
        uint64_t nslots = n - h - digit < digit ? n - h - digit : digit;

        count += nslots * coll_chunk_count(shape->count, n, (uint32_t)((member + h) % n));
    }
    return count;
}

static uint64_t received(const struct coll_shape *shape, uint32_t member)
{
    uint64_t count = 0;

    for (uint32_t s = 0; shape->nmembers > 1 && s < coll_log_steps(shape); s++)
        count += in_step(shape, member, s);
    return count;
}

static uint64_t sent(const struct coll_shape *shape, uint32_t member)
{
    uint32_t n = shape->nmembers;
    uint64_t count = 0;

    for (uint32_t s = 0; n > 1 && s < coll_log_steps(shape); s++)
        count += in_step(shape, (uint32_t)((member + (UINT64_C(1) << s)) % n), s);
    return count;
}

const struct coll_algo coll_all_to_all_bruck = {
    .kind = COLL_ALL_TO_ALL,
    .name = "bruck",
    .desc = "chunks travel by the binary digits of their distance",
    .limits = COLL_ANY,
    .reduces = false,
    .nsteps = coll_log_steps,
    .nmoves = nmoves,
    .move = move,
    .received = received,
    .sent = sent,
    .alike = coll_alike_equal_chunks,
    .tmp_count = tmp_count,
};
