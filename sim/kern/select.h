/* select.h - kernels that move or choose elements by position: rotary embedding, causal mask,
 * look-up, choice by label, repetition of heads, slices.
 *
 * Flops are counted for rotation (3 an element) and for sums (1 an element of the gradient given;
 * to a look-up's also where another device has the row, as which these are only the ids know). The
 * gradient of a look-up asks for a workspace of 8 bytes per row and token; the others for none.
 *
 * Arrays are given by extents and strides as in kern.h; a stride of 0 where an array lacks a
 * dimension.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef KERN_SELECT_H
#define KERN_SELECT_H

#include <stdbool.h>
#include <stdint.h>

#include <shd/dtype.h>

#include "kern/rotation.h"

#define KERN_SELECT_DIMS_MAX 12 /* dimensions of an array of a program */

/* Rotate pairs along `pair_dim` by the position (offset + position0 + index) times the pair's
 * frequency: (a, b) -> factor * (a cos - b sin, b cos + a sin); the elements behind the pairs are
 * copied.  `inverse` rotates back, with the same factor.  offsets[0]: first position.  in and out
 * have equal strides. */
struct kern_rope {
    enum shd_dtype dtype;
    uint32_t ndims;
    int64_t extent[KERN_SELECT_DIMS_MAX];
    int64_t stride[KERN_SELECT_DIMS_MAX];
    uint32_t position_dim, pair_dim;
    int64_t position0;
    const struct kern_rotation *rotation; /* of the whole dimension; not owned */
    bool inverse;
    bool given; /* positions are in[1], int32[extent of position_dim]; there are no offsets */
};

/* out = in where key <= query, else `masked`; offsets[0]: first query, offsets[1]: first key.
 * Of padding, which has no queries (query_dim is ndims): in where key < `held`. */
struct kern_causal {
    enum shd_dtype dtype;
    uint32_t ndims;
    int64_t extent[KERN_SELECT_DIMS_MAX];
    int64_t stride[KERN_SELECT_DIMS_MAX]; /* of in and out */
    uint32_t query_dim, key_dim;
    int64_t held;
    double masked;
};

/* out[tokens][width] = table[id - offsets[0]][width], zeros where the device does not have that
 * row.  The gradient adds g[tokens][width] to row id - offsets[0] of d table[rows][width], in the
 * order of tokens, and leaves the rest zero.  All row-major; ids are int32. */
struct kern_embed {
    enum shd_dtype dtype;
    int64_t rows, tokens, width;
};

/* out[tokens] = x[tokens][classes] at class id - offsets[0], zero where the device does not have
 * it.  The gradient is g[token] at that class and zero elsewhere.  `inner` elements may follow the
 * class, and a token may have several choices, whose gradients are added where they are the same:
 * x[tokens][classes][inner] with ids[tokens][inner][choices]. */
struct kern_pick {
    enum shd_dtype dtype;
    int64_t tokens, classes, inner, choices;
};

/* out[outer][heads][inner] = in[outer][kv_heads][inner] with head h of the whole from key head
 * h / repeat; the sum adds back: in has heads, out kv_heads.  offsets[0]: first head, offsets[1]:
 * first key head. */
struct kern_repeat {
    enum shd_dtype dtype;
    int64_t outer, heads, kv_heads, inner;
    int64_t repeat;
};

/* out[outer][out_extent][inner]: input i's elements from[i] + k * from_step[i], k < count[i], of
 * [outer][in_extent[i]][inner] go to to[i] + k * to_step[i] of out; what no input covers is
 * `fill`.  A step may be negative; 0 stands for 1.
 *
 * `cut`: places and counts are of whole arrays; a device has the result's places from offsets[0]
 * on, and of each input one behind the other the elements k that go there, from the first k on that
 * would if there were more elements.  `to_step` is then not negative. */
struct kern_window {
    enum shd_dtype dtype;
    uint32_t ninputs; /* 1 or 2 */
    int64_t outer, inner, out_extent;
    int64_t in_extent[2], from[2], to[2], count[2], from_step[2], to_step[2];
    double fill;
    bool cut;
};

/* out[outer][windows][taps][inner]: tap t of window w of the whole is element w * stride +
 * t * dilation - low of in[outer][extent][inner] if that is in [0, held), else `fill`; elements
 * that the device lacks are `fill`, too.  The sum adds a device's taps back to its elements.
 * offsets[0]: first window; offsets[1]: first element, but with `around` the arrays of elements
 * begin where the first window does (window * stride - low), and there is no second offset. */
struct kern_taps {
    enum shd_dtype dtype;
    int64_t outer, windows, taps, inner, extent;
    int64_t stride, dilation, low, held;
    bool around;
    double fill;
};

/* out[t] is x[0] .. x[t] combined, along the dimension of `extent` in [outer][extent][inner]; of a
 * recurrence a[t] * out[t - 1] + x[t], with out 0 before the first.  `reverse`: from the last on.
 */
enum kern_scan_fn { KERN_SCAN_SUM, KERN_SCAN_PROD, KERN_SCAN_MAX, KERN_SCAN_MIN, KERN_SCAN_LINEAR };

struct kern_scan {
    enum shd_dtype dtype;
    enum kern_scan_fn fn;
    bool reverse;
    int64_t outer, extent, inner;
    int64_t shards; /* of a carry: the number of shards, to which offsets[0] is the device's */
};

/* out[outer][extent][inner] is the array, with rows[outer][rows][inner] at their places, which are
 * places[rows] or, `by_outer`, places[outer][rows], int32; a place outside of
 * [offsets[0], offsets[0] + extent) is passed over: another device has it.  If two rows have one
 * place, the later one stays. */
struct kern_append {
    enum shd_dtype dtype;
    int64_t outer, extent, rows, inner;
    bool by_outer;
};

enum { KERN_APPEND_ARRAY, KERN_APPEND_ROWS, KERN_APPEND_PLACES, KERN_APPEND_NINPUTS };

#define KERN_OVERLAPS_MAX 8

/* out[outer][extent][inner] is the sum of inputs [outer][count[k]][inner], of which the first
 * element is for place at[k] of out, if there is one. */
struct kern_overlaps {
    enum shd_dtype dtype;
    uint32_t ninputs;
    int64_t outer, inner, extent;
    int64_t at[KERN_OVERLAPS_MAX], count[KERN_OVERLAPS_MAX];
};

#endif /* KERN_SELECT_H */
