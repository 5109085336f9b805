/* view.h - walking the elements of a view, one contiguous span after the other.
 *
 * Thread class: a cursor is owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_VIEW_H
#define RUN_VIEW_H

#include <stddef.h>
#include <stdint.h>

#include "run/collective.h"

struct view_cursor {
    struct coll_view view;         /* of the current array */
    const struct coll_view *first; /* first of several arrays; NULL: a single one */
    size_t elem_bytes;
    uint64_t chunk;  /* at chunk i / view.chunk, */
    uint64_t row;    /* in the row k / view.run of it, */
    uint64_t in_row; /* at element k % view.run */
};

/* Set a cursor to element `at`. */
void view_cursor_init(struct view_cursor *c, const struct coll_view *view, size_t elem_bytes,
                      uint64_t at);

/* The cursor's memory, and the number of contiguous elements from there (at least 1). */
void *view_cursor_span(const struct view_cursor *c, uint64_t *count);

/* Advance by at most the span's count. */
void view_cursor_advance(struct view_cursor *c, uint64_t count);

/* Copy elements; a span whose source is its destination is skipped.  Both cursors advance.  Returns
 * how many elements they passed. */
uint64_t view_copy(struct view_cursor *dst, struct view_cursor *src, uint64_t count);

/* view_copy() with stores past the caches; see stream_fence(). */
uint64_t view_stream(struct view_cursor *dst, struct view_cursor *src, uint64_t count);

/* Maximum operands combined in one pass.  Four make a quarter of the loads and stores of the block,
 * and two passes of the seven operands that 8 devices add to the first: a reduce-scatter of 1 MiB
 * took 0.96 of the processor time that it took with three.  With three, an all-reduce of 64 MiB
 * took 0.84 of the time with one (`bench`). */
#define VIEW_SOURCES_MAX 4

/* block[i] = block[i] op srcs[0][i] op srcs[1][i] .., over contiguous elements, with one to
 * VIEW_SOURCES_MAX sources.  All cursors advance.  Returns the number of elements of each source.
 */
uint64_t view_combine(enum shd_dtype dtype, enum shd_reduce_op op, void *block,
                      struct view_cursor *srcs, uint32_t nsrcs, uint64_t count);

/* The memory of elements at..at+count-1 if it is contiguous, else NULL; and a copy of them that is.
 */
void *view_in_a_row(const struct coll_view *view, size_t elem_bytes, uint64_t at, uint64_t count);
void view_pack(void *to, const struct coll_view *view, size_t elem_bytes, uint64_t at,
               uint64_t count);

/* Store zeros.  Returns the number of elements. */
uint64_t view_clear(struct view_cursor *dst, uint64_t count);

#endif /* RUN_VIEW_H */
