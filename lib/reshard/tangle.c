/* Counting overlaps by digits of coordinates (reshard/tangle.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "tangle.h"

/* Maximum number of weights for the digits of a coordinate.  Each weight is at least twice the one
 * before, and the last is at most 2^31 times the first, since a mesh has fewer devices than 2^31:
 * so 32 are enough. */
#define WEIGHTS_MAX 33

/* The weights of digits, ascending; distinct, and each divides the next. */
struct weights {
    size_t n;
    uint64_t at[WEIGHTS_MAX];
};

/* A run of digits of the coordinate on an axis: weights from `low` up to, not including, `high`. */
struct digits {
    uint8_t axis;
    uint64_t low, high;
};

/* Two runs of digits that must be equal for an old and a new interval of a dimension to overlap:
 * one on an axis that cuts the dimension before, one on an axis that cuts it after. */
struct equal {
    struct digits a, b;
};

/* Maximum number of equations: each dimension has one between any two neighbouring ends of the axes
 * that cut it before or after. */
#define EQUALS_MAX (SHD_RANK_MAX * 2 * SHD_MESH_AXES_MAX)

/* The equations between digits, and the weights that split the axes' coordinates into digits. */
struct solving {
    struct weights weights[SHD_MESH_AXES_MAX]; /* by axis: weights of its digits; the last is its
                                                  size */
    size_t nequals;
    struct equal equals[EQUALS_MAX];
};

/* Add a weight, and set *is_new if it was new; false if it does not divide, or is not divisible by,
 * its neighbours. */
static bool add_weight(struct weights *w, uint64_t weight, bool *is_new)
{
    size_t i = 0;

    while (i < w->n && w->at[i] < weight)
        i++;
    if (i < w->n && w->at[i] == weight)
        return true;
    if (w->n == WEIGHTS_MAX || (i > 0 && weight % w->at[i - 1] != 0) ||
        (i < w->n && w->at[i] % weight != 0))
        return false;
    for (size_t k = w->n++; k > i; k--)
        w->at[k] = w->at[k - 1];
    w->at[i] = weight;
    *is_new = true;
    return true;
}

/* The old or the new side of a dimension: its axes, and the length of its intervals. */
struct side {
    const struct tangle *tangle;
    const struct shd_dim_axes *dim;
    size_t first;      /* first axis that the two sides do not share */
    uint64_t interval; /* elements of one interval */
};

/* Add the weights, in elements, at which each axis of a side begins and ends, except those below
 * `least`. */
static bool add_ends(struct weights *ends, const struct side *side, uint64_t least)
{
    uint64_t worth = side->interval;
    bool unused;

    for (size_t i = side->dim->naxes; i-- > side->first;) {
        if (worth >= least && !add_weight(ends, worth, &unused))
            return false;
        worth *= (uint64_t)shd_mesh_axis_size(side->tangle->mesh, side->dim->axes[i]);
    }
    return add_weight(ends, worth, &unused);
}

/* Find the axis of a side whose digits are worth from `low` up to `high` elements, and their
 * weights in the axis's coordinate.  False if no single axis has them.  If the axis has only part
 * of a digit the weights are rounded, and split() detects that they do not match the other side. */
static bool find_digits(struct digits *out, const struct side *side, uint64_t low, uint64_t high)
{
    uint64_t worth = side->interval;

    for (size_t i = side->dim->naxes; i-- > side->first;) {
        uint8_t axis = side->dim->axes[i];
        uint64_t end = worth * (uint64_t)shd_mesh_axis_size(side->tangle->mesh, axis);

        if (low >= worth && high <= end) {
            *out = (struct digits){axis, low / worth, high / worth};
            return true;
        }
        worth = end;
    }
    return false;
}

/* Add the equations between digits that make intervals of a dimension overlap. */
static bool add_equals(struct solving *s, const struct tangle *tangle, const struct cut *cut)
{
    struct side from = {tangle, cut->from, cut->ncommon, cut->extent / cut->nfrom};
    struct side to = {tangle, cut->to, cut->ncommon, cut->extent / cut->nto};
    uint64_t least = from.interval > to.interval ? from.interval : to.interval;
    struct weights ends = {.n = 1, .at = {least}};

    if (!add_ends(&ends, &from, least) || !add_ends(&ends, &to, least))
        return false;
    for (size_t i = 0; i + 1 < ends.n; i++) {
        struct equal *e = &s->equals[s->nequals];

        if (s->nequals++ == EQUALS_MAX || !find_digits(&e->a, &from, ends.at[i], ends.at[i + 1]) ||
            !find_digits(&e->b, &to, ends.at[i], ends.at[i + 1]))
            return false;
    }
    return true;
}

/* Give run `b` a weight for each weight of run `a`, which equals it: both are split alike. */
static bool share_weights(struct solving *s, const struct digits *a, const struct digits *b,
                          bool *is_new)
{
    const struct weights *w = &s->weights[a->axis];

    for (size_t i = 0; i < w->n; i++)
        if (w->at[i] >= a->low && w->at[i] <= a->high &&
            !add_weight(&s->weights[b->axis], w->at[i] / a->low * b->low, is_new))
            return false;
    return true;
}

/* Split the coordinates on all axes into digits so that each equation relates whole digits. */
static bool split(struct solving *s)
{
    bool is_new = true;

    for (size_t i = 0; i < s->nequals; i++) {
        const struct equal *e = &s->equals[i];

        if (!add_weight(&s->weights[e->a.axis], e->a.low, &is_new) ||
            !add_weight(&s->weights[e->a.axis], e->a.high, &is_new) ||
            !add_weight(&s->weights[e->b.axis], e->b.low, &is_new) ||
            !add_weight(&s->weights[e->b.axis], e->b.high, &is_new))
            return false;
    }
    while (is_new) {
        is_new = false;
        for (size_t i = 0; i < s->nequals; i++)
            if (!share_weights(s, &s->equals[i].a, &s->equals[i].b, &is_new) ||
                !share_weights(s, &s->equals[i].b, &s->equals[i].a, &is_new))
                return false;
    }
    return true;
}

/* ---- trees of equal digits; only each root is free ---- */

/* Every digit has a number: WEIGHTS_MAX times its axis, plus the index of its weight. */
#define NDIGITS (SHD_MESH_AXES_MAX * WEIGHTS_MAX)

static size_t root_of(const size_t *parents, size_t i)
{
    while (parents[i] != i)
        i = parents[i];
    return i;
}

/* The digit of an axis that begins at a weight. */
static size_t digit_at(const struct solving *s, uint8_t axis, uint64_t weight)
{
    size_t i = 0;

    while (s->weights[axis].at[i] != weight)
        i++;
    return axis * (size_t)WEIGHTS_MAX + i;
}

static void join(const struct solving *s, size_t *parents, const struct equal *e)
{
    const struct weights *w = &s->weights[e->a.axis];

    for (size_t i = 0; i < w->n; i++) {
        uint64_t weight = w->at[i];

        if (weight < e->a.low || weight >= e->a.high)
            continue;
        parents[root_of(parents, digit_at(s, e->a.axis, weight))] =
            root_of(parents, digit_at(s, e->b.axis, weight / e->a.low * e->b.low));
    }
}

/* The number of coordinates that satisfy all equations. */
static uint64_t count_free(const struct solving *s, const struct tangle *tangle)
{
    size_t parents[NDIGITS];
    uint64_t count = 1;

    for (size_t i = 0; i < NDIGITS; i++)
        parents[i] = i;
    for (size_t i = 0; i < s->nequals; i++)
        join(s, parents, &s->equals[i]);
    for (size_t i = 0; i < tangle->naxes; i++) {
        const struct weights *w = &s->weights[tangle->axes[i]];

        for (size_t k = 0; k + 1 < w->n; k++) {
            size_t digit = tangle->axes[i] * (size_t)WEIGHTS_MAX + k;

            count *= parents[digit] == digit ? w->at[k + 1] / w->at[k] : 1;
        }
    }
    return count;
}

bool reshard_count_nested(const struct tangle *tangle, uint64_t *sum)
{
    struct solving s = {.nequals = 0};
    uint64_t each = 1;
    bool unused;

    for (size_t i = 0; i < tangle->naxes; i++) {
        struct weights *w = &s.weights[tangle->axes[i]];

        w->at[w->n++] = 1;
        if (!add_weight(w, (uint64_t)shd_mesh_axis_size(tangle->mesh, tangle->axes[i]), &unused))
            return false;
    }
    for (size_t i = 0; i < tangle->ncuts; i++) {
        const struct cut *cut = &tangle->cuts[i];
        uint64_t n = cut->nfrom > cut->nto ? cut->nfrom : cut->nto;

        each *= cut->extent / n;
        if (!add_equals(&s, tangle, cut))
            return false;
    }
    if (!split(&s))
        return false;
    *sum = each * count_free(&s, tangle);
    return true;
}
