/* Generating routings as workloads.
 *
 * A token draws its experts by systematic sampling (Madow, "On the theory of systematic sampling",
 * 1949): experts are segments of a line of length `choices`, each as long as its probability, at
 * most 1; the token takes the experts at u, u + 1, u + 2, ..., which are distinct.  Tokens
 * alternate between several orders of the experts, so that not always the same experts go together.
 * Lengths are multiples of 2^-32: nothing is lost by rounding.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/routing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define NORDERS 16u
#define ONE (UINT64_C(1) << 32)
#define GOLDEN 2654435769u /* 2^32 / golden ratio: its multiples fill 0..2^32 evenly */
#define SILVER                                                                         \
    1779033703u /* 2^32 * (sqrt(2) - 1), made odd: its multiples do so, too, and pairs \
                   with those of GOLDEN fill a square */

/* The experts in one order; [experts] each. */
struct order {
    uint32_t *expert;
    uint64_t *end;  /* end of its segment */
    uint32_t *near; /* i: the first expert whose segment ends after i / experts of the line */
};

/* ---- probabilities of experts ---- */

static void weigh(const struct kern_routing_spec *s, double *weight)
{
    uint32_t nhot = s->kind == KERN_ROUTING_HOT_RANK ? s->experts / s->ranks : 1;
    uint32_t first = s->hot * nhot, others = s->experts - nhot;

    for (uint32_t e = 0; e < s->experts; e++) {
        bool hot = e >= first && e - first < nhot;

        weight[e] = 1;
        if (s->kind == KERN_ROUTING_ZIPF)
            weight[e] = pow(e + 1.0, -s->skew);
        else if (s->kind == KERN_ROUTING_EMPTY)
            weight[e] = !hot;
        else if (s->kind == KERN_ROUTING_HOT_EXPERT || s->kind == KERN_ROUTING_HOT_RANK)
            weight[e] = hot ? s->share / nhot : (1 - s->share) / (others ? others : 1);
    }
}

/* The total weight of the experts whose length is not 1 yet. */
static double sum_open(const uint64_t *length, const double *weight, uint32_t n)
{
    double sum = 0;

    for (uint32_t e = 0; e < n; e++)
        if (length[e] < ONE)
            sum += weight[e];
    return sum;
}

/* Divide the rest of the line among the open experts by weight; those whose share is 1 or more get
 * 1 and are settled.  Returns whether any was settled. */
static bool settle(uint64_t *length, const double *weight, uint32_t n, uint64_t left, double sum)
{
    bool any = false;

    for (uint32_t e = 0; e < n; e++) {
        double share = weight[e] / sum * (double)left;

        if (length[e] == ONE)
            continue;
        length[e] = share < (double)ONE ? (uint64_t)share : ONE;
        any |= length[e] == ONE;
    }
    return any;
}

static uint64_t line_left(const uint64_t *length, uint32_t n, uint64_t line, bool settled_only)
{
    for (uint32_t e = 0; e < n; e++)
        if (!settled_only || length[e] == ONE)
            line -= length[e];
    return line;
}

/* Set the lengths, which add up to the choices of a token. */
static void find_lengths(const struct kern_routing_spec *s, double *weight, uint64_t *length)
{
    uint64_t line = s->choices * ONE, left;
    bool again = true;

    memset(length, 0, s->experts * sizeof *length);
    while (again) {
        double sum = sum_open(length, weight, s->experts);

        left = line_left(length, s->experts, line, true);
        if (left > 0 && !(sum > 0)) { /* more choices than experts with a weight */
            for (uint32_t e = 0; e < s->experts; e++)
                weight[e] = 1;
            sum = sum_open(length, weight, s->experts);
        }
        again = left > 0 && settle(length, weight, s->experts, left, sum);
    }
    left = line_left(length, s->experts, line, false); /* the remainder of rounding down */
    for (uint32_t e = 0; left > 0; e = (e + 1) % s->experts) {
        uint64_t more = ONE - length[e] < left ? ONE - length[e] : left;

        if (weight[e] > 0 && more > 0) {
            length[e] += more;
            left -= more;
        }
    }
}

/* ---- drawing ---- */

/* The next random number of a sequence. */
static uint64_t draw(uint64_t *state)
{
    return hash_mix(*state += HASH_MIX_STEP);
}

static void shuffle(uint32_t *expert, uint32_t n, uint64_t *state)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t j = (uint32_t)(draw(state) % (i + 1));

        expert[i] = expert[j];
        expert[j] = i;
    }
}

static void lay_out(const struct order *o, const struct kern_routing_spec *s,
                    const uint64_t *length, uint64_t *state)
{
    uint64_t end = 0;
    uint32_t place = 0;

    shuffle(o->expert, s->experts, state);
    for (uint32_t i = 0; i < s->experts; i++) {
        end += length[o->expert[i]];
        o->end[i] = end;
    }
    for (uint32_t i = 0; i < s->experts; i++) {
        while (o->end[place] <= i * (s->choices * ONE / s->experts))
            place++;
        o->near[i] = place;
    }
}

static void draw_token(const struct order *o, const struct kern_routing_spec *s, uint32_t first,
                       int32_t *ids)
{
    uint64_t part = s->choices * ONE / s->experts;

    for (uint32_t j = 0; j < s->choices; j++) {
        uint64_t at = first + j * ONE, i = at / part;
        uint32_t place = o->near[i < s->experts ? i : s->experts - 1];

        while (o->end[place] <= at)
            place++;
        ids[j] = (int32_t)o->expert[place];
    }
}

/* ---- drawing from some groups only ---- */

static bool is_limited(const struct kern_routing_spec *s)
{
    return s->kind == KERN_ROUTING_UNIFORM && s->kept > 0 && s->kept < s->groups;
}

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
    while (b > 0) {
        uint32_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* A stride coprime to n, which visits all of 0..n-1; varies with `which`. */
static uint32_t step_through(uint32_t n, uint32_t which)
{
    uint32_t step = 1 + which % (n > 1 ? n - 1 : 1);

    while (common_divisor(step, n) != 1)
        step--;
    return step;
}

struct steps {
    uint32_t groups, experts;
};

/* The next place of an order of n, of which a stride is at most n. */
static uint32_t next_place(uint32_t at, uint32_t stride, uint32_t n)
{
    return at + stride < n ? at + stride : at + stride - n;
}

/* The token's `kept` groups follow each other from one place of an order of groups, and in each its
 * choices follow each other from one place of an order of experts.  Places are drawn evenly, so
 * that all groups and all experts get equally many. */
static void draw_limited(const struct kern_routing_spec *s, const struct steps *steps,
                         const uint32_t at[2], int32_t *ids)
{
    uint32_t each = s->experts / s->groups;
    uint32_t first = (uint32_t)((uint64_t)at[0] * s->groups >> 32), group = first;
    uint32_t expert = (uint32_t)((uint64_t)at[1] * each >> 32);

    for (uint32_t j = 0, turn = 0; j < s->choices; j++) {
        ids[j] = (int32_t)(group * each + expert);
        group = next_place(group, steps->groups, s->groups);
        if (++turn == s->kept) {
            turn = 0;
            group = first;
            expert = next_place(expert, steps->experts, each);
        }
    }
}

/* ---- ids ---- */

/* Whether a ragged source has a token. */
static bool has_token(const struct kern_routing_spec *s, int64_t token)
{
    int64_t block, source;

    if (s->kind != KERN_ROUTING_RAGGED)
        return true;
    block = s->tokens / s->ranks;
    source = token / block;
    return token % block * s->ranks < block * (s->ranks - source);
}

static void draw_ids(const struct order *orders, const struct kern_routing_spec *s, uint64_t *state,
                     int32_t *ids)
{
    uint32_t at[NORDERS], inside[NORDERS];
    struct steps steps[NORDERS];

    for (uint32_t o = 0; o < NORDERS; o++)
        at[o] = (uint32_t)draw(state);
    for (uint32_t o = 0; o < NORDERS && is_limited(s); o++) {
        inside[o] = (uint32_t)draw(state);
        steps[o] =
            (struct steps){step_through(s->groups, o), step_through(s->experts / s->groups, o)};
    }
    for (int64_t t = 0; t < s->tokens; t++, ids += s->choices) {
        uint32_t o = t % NORDERS;

        if (is_limited(s))
            draw_limited(s, &steps[o], (const uint32_t[]){at[o] += GOLDEN, inside[o] += SILVER},
                         ids);
        else if (has_token(s, t))
            draw_token(&orders[o], s, at[o] += GOLDEN, ids);
        else
            memset(ids, -1, s->choices * sizeof *ids);
    }
}

/* ---- making ---- */

/* The largest count; at least 1, as an array has no dimension of size 0. */
static int64_t most(const int32_t *counts, uint32_t n)
{
    int64_t found = 1;

    for (uint32_t i = 0; i < n; i++)
        found = counts[i] > found ? counts[i] : found;
    return found;
}

/* The initial rotation, with which the last step arrives at 0. */
static uint32_t first_move(const struct kern_routing_spec *s)
{
    uint64_t moved = (uint64_t)(s->steps ? s->steps - 1 : 0) * s->rotate % s->experts;

    return (uint32_t)((s->experts - moved) % s->experts);
}

/* For ids, slots, counts, shares and what blocks keep. */
static size_t room_of(int64_t tokens, uint32_t choices, uint32_t experts)
{
    return 2 * (size_t)tokens * choices +
           (2 + (size_t)tokens / KERN_ROUTING_BLOCK) * (size_t)experts + 1;
}

/* Count what each block keeps. */
static void count_blocks(int32_t *out, const struct kern_routing *r)
{
    size_t n = (size_t)KERN_ROUTING_BLOCK * r->choices;

    memset(out, 0, (size_t)r->tokens / KERN_ROUTING_BLOCK * r->experts * sizeof *out);
    for (int64_t b = 0; b < r->tokens / KERN_ROUTING_BLOCK; b++, out += r->experts)
        for (size_t i = (size_t)b * n; i < (size_t)(b + 1) * n; i++)
            if (r->slots[i] >= 0)
                out[r->ids[i]]++;
}

size_t kern_routing_room(const struct kern_routing_spec *spec)
{
    if (spec->tokens < 0 || spec->tokens > INT32_MAX / (int64_t)(spec->choices ? spec->choices : 1))
        return 0;
    return room_of(spec->tokens, spec->choices, spec->experts);
}

/* The part of the tokens that choose experts. */
static double present(const struct kern_routing_spec *s)
{
    int64_t n = 0;

    if (s->kind != KERN_ROUTING_RAGGED || s->tokens == 0)
        return 1;
    for (int64_t t = 0; t < s->tokens; t++)
        n += has_token(s, t);
    return (double)n / (double)s->tokens;
}

static void set_shares(uint32_t *out, const struct kern_routing_spec *s, const uint64_t *length)
{
    double part = present(s) * UINT32_MAX / (double)ONE;

    for (uint32_t e = 0; e < s->experts; e++)
        out[e] = (uint32_t)llround((double)length[e] * part);
}

bool kern_routing_make(struct kern_routing *out, const struct kern_routing_spec *spec,
                       int32_t *room)
{
    size_t n = spec->experts, nids = (size_t)spec->tokens * spec->choices;
    uint64_t *numbers = malloc((NORDERS + 2) * n * sizeof *numbers + 1);
    uint32_t *places = malloc(2 * NORDERS * n * sizeof *places + 1);
    double *weight = malloc(n * sizeof *weight + 1);
    uint64_t state = spec->seed;
    struct order orders[NORDERS];
    int64_t capacity = spec->capacity > 0 ? spec->capacity : spec->tokens;
    bool made = numbers && places && weight;

    if (made) {
        weigh(spec, weight);
        find_lengths(spec, weight, numbers);
        set_shares((uint32_t *)room + 2 * nids + n, spec, numbers);
        for (uint32_t o = 0; o < NORDERS; o++) {
            orders[o] =
                (struct order){places + 2 * o * n, numbers + (o + 1) * n, places + (2 * o + 1) * n};
            lay_out(&orders[o], spec, numbers, &state);
        }
        draw_ids(orders, spec, &state, room);
        kern_route(room, spec->tokens, spec->choices, spec->experts, capacity, spec->slot_major,
                   room + nids, room + 2 * nids);
        if (spec->capacity == 0 && !spec->roomy)
            capacity = most(room + 2 * nids, spec->experts);
        *out = (struct kern_routing){.tokens = spec->tokens,
                                     .choices = spec->choices,
                                     .experts = spec->experts,
                                     .capacity = capacity,
                                     .slot_major = spec->slot_major,
                                     .ids = room,
                                     .slots = room + nids,
                                     .counts = room + 2 * nids,
                                     .kept = room + 2 * nids + 2 * n,
                                     .shares = (uint32_t *)room + 2 * nids + n,
                                     .absent = spec->kind == KERN_ROUTING_RAGGED,
                                     .assumed = spec->assumed,
                                     .rotate = spec->rotate,
                                     .first = first_move(spec)};
        count_blocks(room + 2 * nids + 2 * n, out);
    }
    free(numbers);
    free(places);
    free(weight);
    return made;
}

bool kern_routing_shares(uint64_t *out, const struct kern_routing_spec *spec)
{
    double *weight = malloc(spec->experts * sizeof *weight + 1);

    if (weight) {
        weigh(spec, weight);
        find_lengths(spec, weight, out);
    }
    free(weight);
    return weight != NULL;
}

/* From this many expected tokens on an expert is surely named: 1 - (1 - p)^n > 1 - e^-pn, and e^-40
 * is below a double's rounding. */
#define SURELY 40.0

double kern_routing_named(const struct kern_routing *routing, int64_t first, int64_t n,
                          int64_t groups)
{
    double tokens = (double)routing->tokens * (double)groups, sum = 0;

    for (int64_t e = first; e < first + n && e < routing->experts; e++) {
        double p = routing->shares ? (double)routing->shares[e] / UINT32_MAX : 0;

        if (!routing->shares)
            sum += routing->counts[e] > 0;
        else if (p * tokens >= SURELY)
            sum += 1;
        else if (p > 0)
            sum -= expm1(tokens * log1p(-p));
    }
    return sum;
}

/* ---- copies ---- */

size_t kern_routing_copies_room(const struct kern_routing *routing, uint32_t places)
{
    return room_of(routing->tokens, routing->choices, places);
}

void kern_routing_to_copies(struct kern_routing *out, const struct kern_routing *routing,
                            const struct kern_routing_spec *spec, const struct kern_copies *copies,
                            int32_t *room)
{
    size_t nids = (size_t)routing->tokens * routing->choices;
    int32_t *slots = room + nids, *counts = slots + nids;
    uint32_t *shares = (uint32_t *)counts + copies->places;
    int64_t capacity = spec->capacity > 0 ? spec->capacity : spec->tokens;

    for (size_t i = 0; i < nids; i++)
        room[i] = kern_copies_find(copies, routing->ids[i], (int64_t)(i / routing->choices));
    kern_route(room, routing->tokens, routing->choices, copies->places, capacity, spec->slot_major,
               slots, counts);
    if (spec->capacity == 0 && !spec->roomy && spec->rotate == 0)
        capacity = most(counts, copies->places);
    for (uint32_t place = 0; place < copies->places; place++) {
        int32_t expert = copies->expert[place];

        shares[place] =
            routing->shares[expert] / (uint32_t)(copies->first[expert + 1] - copies->first[expert]);
    }
    *out = *routing;
    out->experts = copies->places;
    out->capacity = capacity;
    out->ids = room;
    out->slots = slots;
    out->counts = counts;
    out->shares = shares;
    out->kept = counts + 2 * copies->places;
    out->copies = copies;
    out->rotate = out->first = 0;
    count_blocks(counts + 2 * copies->places, out);
}

int32_t kern_routing_id(const struct kern_routing *routing, uint64_t index, uint32_t step)
{
    int32_t id = routing->ids[index % ((uint64_t)routing->tokens * routing->choices)];
    uint64_t moved = (uint64_t)id + routing->first + (uint64_t)step * routing->rotate;

    return id < 0 ? id : (int32_t)(moved % routing->experts);
}

/* ---- queues ---- */

static int32_t take_slot(int32_t id, int64_t experts, int64_t capacity, int32_t *counts)
{
    if (id < 0 || id >= experts || counts[id] >= capacity)
        return -1;
    return counts[id]++;
}

void kern_route(const int32_t *ids, int64_t tokens, int64_t choices, int64_t experts,
                int64_t capacity, bool slot_major, int32_t *slots, int32_t *counts)
{
    memset(counts, 0, (size_t)experts * sizeof *counts);
    if (!slot_major)
        for (int64_t i = 0; i < tokens * choices; i++)
            slots[i] = take_slot(ids[i], experts, capacity, counts);
    for (int64_t j = 0; slot_major && j < choices; j++)
        for (int64_t i = j; i < tokens * choices; i += choices)
            slots[i] = take_slot(ids[i], experts, capacity, counts);
}
