/* Cursors over views (view.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/view.h"

#include <string.h>

#include "kern/kern.h"
#include "run/stream.h"

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Move the cursor to the array that contains element `at`; returns the position in that array. */
static uint64_t find_array(struct view_cursor *c, const struct coll_view *first, uint64_t at)
{
    const struct coll_view *view = first;
    uint64_t chunk = 0;

    for (const struct coll_view *v = first; v; v = v->next)
        chunk += v->chunk;
    c->chunk = at / chunk;
    for (at %= chunk; at >= view->chunk; view = view->next)
        at -= view->chunk;
    c->first = first;
    c->view = *view;
    return at;
}

void view_cursor_init(struct view_cursor *c, const struct coll_view *view, size_t elem_bytes,
                      uint64_t at)
{
    *c = (struct view_cursor){.view = *view, .elem_bytes = elem_bytes, .in_row = at - view->skip};
    if (view->next) {
        at = find_array(c, view, at);
        c->row = at / c->view.run;
        c->in_row = at % c->view.run;
        return;
    }
    if (view->chunk == 0 || view->chunk == view->run) {
        c->view.chunk = UINT64_MAX; /* one endless row */
        c->view.run = UINT64_MAX;
        return;
    }
    c->chunk = at / view->chunk;
    c->row = at % view->chunk / view->run;
    c->in_row = at % view->chunk % view->run;
}

void *view_cursor_span(const struct view_cursor *c, uint64_t *count)
{
    uint64_t at = c->in_row;

    if (c->view.run != UINT64_MAX)
        at += c->row * c->view.stride + c->chunk * c->view.run;
    *count = c->view.run - c->in_row;
    return (char *)c->view.base + at * c->elem_bytes;
}

void view_cursor_advance(struct view_cursor *c, uint64_t count)
{
    c->in_row += count;
    if (c->in_row < c->view.run)
        return;
    c->in_row = 0;
    c->row++;
    if (c->row * c->view.run < c->view.chunk)
        return;
    c->row = 0;
    if (c->view.next) {
        c->view = *c->view.next;
        return;
    }
    c->chunk++;
    if (c->first)
        c->view = *c->first;
}

/* Shorter runs are copied through the caches: too many of their cache lines would be written in
 * parts. */
#define STREAM_LEAST_BYTES 1024

static uint64_t copy(struct view_cursor *dst, struct view_cursor *src, uint64_t count, bool stream)
{
    uint64_t passed = 0;

    while (count > 0) {
        uint64_t dst_count;
        uint64_t src_count;
        void *to = view_cursor_span(dst, &dst_count);
        const void *from = view_cursor_span(src, &src_count);
        uint64_t n = least(count, least(dst_count, src_count));
        size_t bytes = n * dst->elem_bytes;

        if (to != from && stream && bytes >= STREAM_LEAST_BYTES)
            stream_copy(to, from, bytes);
        else if (to != from)
            memcpy(to, from, bytes);
        view_cursor_advance(dst, n);
        view_cursor_advance(src, n);
        count -= n;
        passed += n;
    }
    return passed;
}

uint64_t view_copy(struct view_cursor *dst, struct view_cursor *src, uint64_t count)
{
    return copy(dst, src, count, false);
}

void *view_in_a_row(const struct coll_view *view, size_t elem_bytes, uint64_t at, uint64_t count)
{
    struct view_cursor cursor;
    uint64_t n;
    void *place;

    view_cursor_init(&cursor, view, elem_bytes, at);
    place = view_cursor_span(&cursor, &n);
    return n >= count ? place : NULL;
}

void view_pack(void *to, const struct coll_view *view, size_t elem_bytes, uint64_t at,
               uint64_t count)
{
    struct coll_view row = {.base = to};
    struct view_cursor src, dst;

    view_cursor_init(&src, view, elem_bytes, at);
    view_cursor_init(&dst, &row, elem_bytes, 0);
    view_copy(&dst, &src, count);
}

uint64_t view_stream(struct view_cursor *dst, struct view_cursor *src, uint64_t count)
{
    return copy(dst, src, count, true);
}

uint64_t view_combine(enum shd_dtype dtype, enum shd_reduce_op op, void *block,
                      struct view_cursor *srcs, uint32_t nsrcs, uint64_t count)
{
    char *to = block;
    uint64_t passed = 0;

    while (count > 0) {
        const void *from[VIEW_SOURCES_MAX] = {NULL};
        uint64_t n = count;

        for (uint32_t i = 0; i < nsrcs; i++) {
            uint64_t span;

            from[i] = view_cursor_span(&srcs[i], &span);
            n = least(n, span);
        }
        kern_combine(dtype, op, to, from, nsrcs, n);
        for (uint32_t i = 0; i < nsrcs; i++)
            view_cursor_advance(&srcs[i], n);
        to += n * srcs->elem_bytes;
        count -= n;
        passed += n;
    }
    return passed;
}

uint64_t view_clear(struct view_cursor *dst, uint64_t count)
{
    uint64_t passed = 0;

    while (count > 0) {
        uint64_t n;
        void *to = view_cursor_span(dst, &n);

        n = least(n, count);
        memset(to, 0, n * dst->elem_bytes);
        view_cursor_advance(dst, n);
        count -= n;
        passed += n;
    }
    return passed;
}
