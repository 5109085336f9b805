/* Orders of sequences, and visible positions (kern/sight.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/sight.h"

#include <string.h>

#include "base/pace.h"

static const char *const names[KERN_NORDERS] = {"contiguous", "zigzag", "striped"};

const char *kern_order_name(enum kern_order_kind kind)
{
    return names[kind];
}

int kern_order_find(const char *name)
{
    for (int kind = 0; kind < KERN_NORDERS; kind++)
        if (!strcmp(name, names[kind]))
            return kind;
    return -1;
}

int64_t kern_order_unit(enum kern_order_kind kind, int64_t parts)
{
    return kind == KERN_ZIGZAG ? 2 * parts : parts;
}

/* Tokens of a piece.  Tokens in their own order need no pieces, and may be fewer than the parts. */
static int64_t piece_of(const struct kern_order *order)
{
    return order->kind == KERN_CONTIGUOUS
               ? order->extent
               : order->extent / kern_order_unit(order->kind, order->parts);
}

struct kern_run kern_order_run(const struct kern_order *order, int64_t index)
{
    int64_t parts = order->parts, piece = piece_of(order);
    int64_t n = index / piece, at = index % piece;

    switch (order->kind) {
    case KERN_ZIGZAG:
        n = n % 2 ? 2 * parts - 1 - n / 2 : n / 2;
        return (struct kern_run){n * piece + at, 1, piece - at};
    case KERN_STRIPED:
        return (struct kern_run){n + at * parts, parts, piece - at};
    default:
        return (struct kern_run){index, 1, order->extent - index};
    }
}

int64_t kern_order_position(const struct kern_order *order, int64_t index)
{
    return kern_order_run(order, index).position;
}

int64_t kern_order_index(const struct kern_order *order, int64_t position)
{
    int64_t parts = order->parts, piece = piece_of(order);
    int64_t n = position / piece, at = position % piece;

    switch (order->kind) {
    case KERN_ZIGZAG:
        return (n < parts ? 2 * n : 2 * (2 * parts - 1 - n) + 1) * piece + at;
    case KERN_STRIPED:
        return position % parts * piece + position / parts;
    default:
        return position;
    }
}

int64_t kern_sight_query(const struct kern_sight *sight, int64_t step, int64_t query)
{
    return sight->queries.first + pace_tokens(sight->queries.each, step) + query;
}

struct kern_span kern_sight_span(const struct kern_sight *sight, int64_t row, int64_t position)
{
    struct kern_span span = {0, sight->order.extent - 1};

    if (sight->rows > 0) {
        int64_t at = row % sight->rows * sight->order.extent + position;

        span = (struct kern_span){sight->first[at], sight->last[at]};
    }
    if (sight->window > 0 && position - sight->window >= span.first)
        span.first = position - sight->window + 1;
    if (sight->chunk > 0) {
        int64_t first = position - position % sight->chunk, last = first + sight->chunk - 1;

        span.first = first > span.first ? first : span.first;
        span.last = last < span.last ? last : span.last;
    }
    if (sight->causal)
        span.last = position;
    return span;
}
