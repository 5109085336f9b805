/* Table of the Python functions that exported JAX code calls.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "export/jax_functions.h"

#include <stdbool.h>
#include <string.h>

static const struct {
    const char *name;
    const char *code;
} functions[] = {
    {"fit",
     "def fit(x, have, want):\n"
     "    \"\"\"x with the dimensions of another array: in its order, 1 where x lacks one.\"\"\"\n"
     "    x = jnp.transpose(x, [have.index(d) for d in want if d in have])\n"
     "    return jnp.expand_dims(x, [i for i, d in enumerate(want) if d not in have])\n"},
    {"reduced",
     "def reduced(function, x, have, want):\n"
     "    return fit(function(x, axis=tuple(i for i, d in enumerate(have) if d not in want)),\n"
     "               [d for d in have if d in want], want)\n"},
    {"slope", "def slope(function, x):\n"
              "    return jax.jvp(function, (x,), (jnp.ones_like(x),))[1]\n"},
    {"attention",
     "def attention(q, k, v, scale, causal, cap=0, sinks=None):\n"
     "    \"\"\"[batch, seq, heads, head_dim]; several heads may share one of k and v.\n"
     "\n"
     "    cap: of scores.  sinks: one more score per head, of a key without a value.\"\"\"\n"
     "    k, v = (jnp.repeat(x, q.shape[2] // x.shape[2], axis=2) for x in (k, v))\n"
     "    scores = jnp.einsum(\"bqhd,bkhd->bhqk\", q, k) * scale\n"
     "    if cap > 0:\n"
     "        scores = cap * jnp.tanh(scores / cap)\n"
     "    if causal:\n"
     "        ahead = jnp.arange(k.shape[1])[None, :] > jnp.arange(q.shape[1])[:, None]\n"
     "        scores = jnp.where(ahead, -jnp.inf, scores)\n"
     "    if sinks is not None:\n"
     "        sinks = jnp.broadcast_to(sinks[:, None, None], (*scores.shape[:3], 1))\n"
     "        scores = jnp.concatenate([scores, sinks], axis=-1)\n"
     "    weights = jax.nn.softmax(scores, axis=-1)[..., :k.shape[1]]\n"
     "    return jnp.einsum(\"bhqk,bkhd->bqhd\", weights, v)\n"},
    {"attention_to_seen",
     "def attention_to_seen(q, k, v, spans, positions, before, scale, blocks, more, cap=0,\n"
     "                      sinks=None):\n"
     "    \"\"\"Queries attend to the keys of their own block whose positions are in their spans.\n"
     "\n"
     "    before: sums, weights and maxima of other keys, to continue from; with `more`, the\n"
     "    result has this form, too.  cap: of scores.  sinks: one more score of each head,\n"
     "    of a key without a value.\"\"\"\n"
     "    def cut(x, axis):\n"
     "        return x.reshape(*x.shape[:axis], blocks, -1, *x.shape[axis + 1:])\n"
     "    dtype, sums = q.dtype, jnp.promote_types(q.dtype, jnp.float32)\n"
     "    k, v = (jnp.repeat(x, q.shape[2] // x.shape[2], axis=2) for x in (k, v))\n"
     "    q, k, v = (cut(x, 1) for x in (q, k, v))\n"
     "    spans = cut(spans if spans.ndim == 3 else spans[None], 1)[:, :, :, None, None]\n"
     "    at = cut(positions, 0)[None, :, None, None, :]\n"
     "    seen = (at >= spans[..., 0]) & (at <= spans[..., 1])\n"
     "    scores = jnp.einsum(\"bnqhd,bnkhd->bnqhk\", q, k, preferred_element_type=sums) * scale\n"
     "    if cap > 0:\n"
     "        scores = cap * jnp.tanh(scores / cap)\n"
     "    scores = jnp.where(seen, scores, -1e30)\n"
     "    most = jax.lax.stop_gradient(scores.max(axis=-1, keepdims=True))\n"
     "    if before is not None:\n"
     "        most = jnp.maximum(most, before[2])\n"
     "    if sinks is not None:\n"
     "        sinks = sinks.astype(sums)[:, None]\n"
     "        most = jnp.maximum(most, jax.lax.stop_gradient(sinks))\n"
     "    weights = jnp.where(seen, jnp.exp(scores - most), 0)\n"
     "    o = jnp.einsum(\"bnqhk,bnkhd->bnqhd\", weights.astype(dtype), v, "
     "preferred_element_type=sums)\n"
     "    total = weights.sum(axis=-1, keepdims=True)\n"
     "    if before is not None:\n"
     "        kept = jnp.exp(before[2] - most)\n"
     "        o, total = o + before[0] * kept, total + before[1] * kept\n"
     "    if more:\n"
     "        return o, total, most\n"
     "    if sinks is not None:\n"
     "        total = total + jnp.exp(sinks - most)\n"
     "    o = o / jnp.where(total > 0, total, 1)\n"
     "    return o.reshape(o.shape[0], -1, *o.shape[3:]).astype(dtype)\n"},
    {"rope",
     "def rope(x, positions, axis, pairs, frequencies, interleaved, factor=1):\n"
     "    \"\"\"Rotate the leading pairs of elements, a pair per frequency; keep the rest.\"\"\"\n"
     "    n = frequencies.shape[0]\n"
     "    angles = jnp.outer(positions, frequencies)\n"
     "    shape = [1] * x.ndim\n"
     "    shape[axis], shape[pairs] = x.shape[axis], n\n"
     "    cos, sin = ((factor * f(angles)).reshape(shape).astype(x.dtype)\n"
     "                for f in (jnp.cos, jnp.sin))\n"
     "    x = jnp.moveaxis(x, pairs, -1)\n"
     "    x, rest = x[..., :2 * n], x[..., 2 * n:]\n"
     "    cos, sin = jnp.moveaxis(cos, pairs, -1), jnp.moveaxis(sin, pairs, -1)\n"
     "    a, b = (x[..., 0::2], x[..., 1::2]) if interleaved else (x[..., :n], x[..., n:])\n"
     "    a, b = a * cos - b * sin, a * sin + b * cos\n"
     "    x = jnp.stack([a, b], axis=-1).reshape(x.shape) if interleaved else jnp.concatenate([a, "
     "b], -1)\n"
     "    return jnp.moveaxis(jnp.concatenate([x, rest], -1), -1, pairs)\n"},
    {"causal",
     "def causal(x, queries, keys, masked):\n"
     "    positions = [jax.lax.broadcasted_iota(int, x.shape, d) for d in (queries, keys)]\n"
     "    return jnp.where(positions[1] > positions[0], jnp.asarray(masked, x.dtype), x)\n"},
    {"window",
     "def window(x, axis, first, to, count, size, step=1, apart=1, fill=0):\n"
     "    \"\"\"The elements first + k * step of x at to + k * apart; `fill` elsewhere.\"\"\"\n"
     "    if step < 0:\n"
     "        x, first, step = jnp.flip(x, axis), x.shape[axis] - 1 - first, -step\n"
     "    x = jax.lax.slice_in_dim(x, first, first + (count - 1) * step + 1, step, axis)\n"
     "    if apart < 0:\n"
     "        x, to, apart = jnp.flip(x, axis), to + (count - 1) * apart, -apart\n"
     "    last = size - 1 - to - (count - 1) * apart\n"
     "    return jax.lax.pad(x, jnp.asarray(fill, x.dtype), [(to, last, apart - 1) if d == axis "
     "else (0, 0, 0)\n"
     "                                                       for d in range(x.ndim)])\n"},
    {"windows",
     "def windows(x, n, taps, axis, stride, dilation, low, fill):\n"
     "    \"\"\"Windows along an axis, followed by a new axis of their taps.\"\"\"\n"
     "    at = jnp.arange(n)[:, None] * stride + jnp.arange(taps) * dilation - low\n"
     "    found = jnp.take(x, jnp.clip(at, 0, x.shape[axis] - 1), axis=axis)\n"
     "    is_there = ((at >= 0) & (at < x.shape[axis])).reshape(n, taps, *[1] * (x.ndim - axis - "
     "1))\n"
     "    return jnp.where(is_there, found, jnp.asarray(fill, x.dtype))\n"},
    {"add_windows",
     "def add_windows(x, n, axis, stride, dilation, low):\n"
     "    at = jnp.arange(x.shape[axis])[:, None] * stride + jnp.arange(x.shape[axis + 1]) * "
     "dilation - low\n"
     "    x = jnp.moveaxis(x, (axis, axis + 1), (0, 1))\n"
     "    sums = jnp.zeros((n, *x.shape[2:]), x.dtype)\n"
     "    sums = sums.at[jnp.where(at < 0, n, at)].add(x, mode=\"drop\")\n"
     "    return jnp.moveaxis(sums, 0, axis)\n"},
    {"recurrence",
     "def recurrence(a, x, axis, reverse):\n"
     "    \"\"\"h = a * h + x along an axis, from 0.\"\"\"\n"
     "    return jax.lax.associative_scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (a, x),\n"
     "                                    axis=axis, reverse=reverse)[1]\n"},
    {"linear_attention",
     "def linear_attention(q, k, v, decay=None, beta=None, state=None):\n"
     "    \"\"\"Token after token S = exp(decay) S + k u and o = S q; u is v, or beta (v - S k).\"\"\"\n"
     "    wide = jnp.promote_types(q.dtype, jnp.float32)\n"
     "    decay = jnp.zeros(q.shape[:3], wide) if decay is None else decay\n"
     "    decay = decay[..., None] if decay.ndim == 3 else decay\n"
     "    steps = jnp.ones(q.shape[:3], wide) if beta is None else beta\n"
     "    if state is None:\n"
     "        state = jnp.zeros((q.shape[0], *q.shape[2:], v.shape[3]), wide)\n\n"
     "    def token(state, x):\n"
     "        q, k, v, g, b = (i.astype(wide) for i in x)\n"
     "        state = state * jnp.exp(g)[..., None]\n"
     "        v = v if beta is None else v - jnp.einsum(\"bhkv,bhk->bhv\", state, k)\n"
     "        state = state + jnp.einsum(\"bhk,bhv,bh->bhkv\", k, v, b)\n"
     "        return state, jnp.einsum(\"bhkv,bhk->bhv\", state, q)\n\n"
     "    tokens = [jnp.moveaxis(x, 1, 0) for x in (q, k, v, decay, steps)]\n"
     "    return jnp.moveaxis(jax.lax.scan(token, state, tokens)[1], 0, 1).astype(q.dtype)\n"},
    {"pick", "def pick(x, ids, axis):\n"
             "    \"\"\"The elements of x at ids along an axis, one or several per place; 0 where "
             "an id is -1.\"\"\"\n"
             "    x = jnp.moveaxis(x, axis, -1)\n"
             "    found = jnp.take_along_axis(x, ids.reshape(*x.shape[:-1], -1), axis=-1)\n"
             "    return jnp.where(ids < 0, 0, found.reshape(ids.shape))\n"},
    {"pick_add", "def pick_add(x, ids, n, rank, axis):\n"
                 "    \"\"\"Add the elements of x at ids along a new axis of size n; dimensions "
                 "from `rank` on hold several elements per place.\"\"\"\n"
                 "    at, x = (i.reshape(*i.shape[:rank], -1) for i in (ids, x))\n"
                 "    sums = (jax.nn.one_hot(at, n, dtype=x.dtype) * x[..., None]).sum(axis=-2)\n"
                 "    return jnp.moveaxis(sums, -1, axis)\n"},
    {"add_rows", "def add_rows(x, ids, n, rank):\n"
                 "    sums = jnp.zeros((n, *x.shape[rank:]), x.dtype)\n"
                 "    return sums.at[jnp.where(ids < 0, n, ids)].add(x, mode=\"drop\")\n"},
    {"largest",
     "def largest(scores, k, groups, kept, by_largest):\n"
     "    \"\"\"Ids of the k largest scores, chosen from the `kept` best groups.\"\"\"\n"
     "    if groups > 1:\n"
     "        parts = scores.reshape(*scores.shape[:-1], groups, -1)\n"
     "        best = jax.lax.top_k(parts, 1 if by_largest else min(2, "
     "parts.shape[-1]))[0].sum(-1)\n"
     "        good = jax.nn.one_hot(jax.lax.top_k(best, kept)[1], groups, dtype=bool).any(-2)\n"
     "        scores = jnp.where(good[..., None], parts, -jnp.inf).reshape(scores.shape)\n"
     "    return jax.lax.top_k(scores, k)[1]\n"},
    {"count", "def count(ids, n, dtype):\n"
              "    return jax.nn.one_hot(ids, n, dtype=dtype).sum(axis=tuple(range(ids.ndim)))\n"},
    {"deal",
     "def deal(ids, copies, tokens):\n"
     "    \"\"\"The copy of its expert that each token is sent to: copies take turns, by the "
     "token's number in its group.\"\"\"\n"
     "    n = jnp.array([len(c) for c in copies])\n"
     "    first, places = jnp.cumsum(n) - n, jnp.array(sum(copies, []))\n"
     "    token = jnp.arange(ids.shape[0] * ids.shape[1]).reshape(*ids.shape[:2], 1) % tokens\n"
     "    return jnp.where(ids < 0, ids, places[first[ids] + (token + ids) % n[ids]])\n"},
    {"queue",
     "def queue(ids, experts, groups, capacity, by_choice):\n"
     "    \"\"\"The slot of each choice in its expert's queue; an expert has one queue per group "
     "of tokens.\n"
     "\n"
     "    ids, and slots: [batch, seq, choice].  The value `capacity` means no slot.\n"
     "    by_choice: all first choices come before all second ones.\"\"\"\n"
     "    order = ids.reshape(groups, -1, ids.shape[-1])\n"
     "    order = order.swapaxes(1, 2) if by_choice else order\n"
     "    named = jax.nn.one_hot(order.reshape(groups, -1), experts, dtype=jnp.int32)\n"
     "    slots = jnp.where(named > 0, jnp.cumsum(named, axis=1) - 1, capacity).min(axis=-1)\n"
     "    slots = jnp.minimum(slots, capacity).reshape(order.shape)\n"
     "    return (slots.swapaxes(1, 2) if by_choice else slots).reshape(ids.shape)\n"},
    {"dispatch",
     "def dispatch(x, ids, slots, experts, groups, capacity, sharding):\n"
     "    \"\"\"Tokens [batch, seq, width], or a row of each choice, to [expert, "
     "slots of all groups, width].\"\"\"\n"
     "    width = x.shape[-1]\n"
     "    ids, slots = (i.reshape(groups, -1, i.shape[-1]) for i in (ids, slots))\n"
     "    x = x.reshape(groups, ids.shape[1], -1, width)\n"
     "    x = jnp.broadcast_to(x, (*ids.shape, width))\n"
     "    rows = jax.vmap(lambda x, e, s: jnp.zeros((experts, capacity, width), x.dtype)\n"
     "                    .at[e, s].add(x, mode=\"drop\"))(x, ids, slots)\n"
     "    rows = rows if sharding is None else jax.lax.with_sharding_constraint(rows, sharding)\n"
     "    return rows.swapaxes(0, 1).reshape(experts, groups * capacity, width)\n"},
    {"combine",
     "def combine(rows, ids, slots, groups, sharding):\n"
     "    \"\"\"The expert's output for each choice, [batch, seq, choice, width]; 0 without a "
     "slot.\"\"\"\n"
     "    rows = rows.reshape(rows.shape[0], groups, -1, rows.shape[-1]).swapaxes(0, 1)\n"
     "    rows = rows if sharding is None else jax.lax.with_sharding_constraint(rows, sharding)\n"
     "    of_groups = (i.reshape(groups, -1, i.shape[-1]) for i in (ids, slots))\n"
     "    back = jax.vmap(lambda r, e, s: r.at[e, s].get(mode=\"fill\", fill_value=0))(rows, "
     "*of_groups)\n"
     "    return back.reshape(*ids.shape, -1)\n"},
};

#define NFUNCTIONS (sizeof functions / sizeof functions[0])

static bool calls(const char *code, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = strstr(code, name); at; at = strstr(at + 1, name)) {
        bool whole = at == code || strchr(" (", at[-1]);

        if (whole && at[length] == '(')
            return true;
    }
    return false;
}

void jax_add_functions(struct text *out, const char *code)
{
    bool used[NFUNCTIONS];

    for (size_t i = NFUNCTIONS; i-- > 0;) { /* a function calls only functions above itself */
        used[i] = calls(code, functions[i].name);
        for (size_t k = i + 1; k < NFUNCTIONS; k++)
            used[i] |= used[k] && calls(functions[k].code, functions[i].name);
    }
    for (size_t i = 0; i < NFUNCTIONS; i++)
        if (used[i]) {
            text_add(out, "\n\n");
            text_add(out, functions[i].code);
        }
}
