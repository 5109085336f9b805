#!/usr/bin/env python3
"""Trace small models of pip packages with gradients and an optimizer, and compare with JAX and XLA: jax_models.py [REGEX]

Each model has random weights.  It is run in three layouts (batches over 2 devices; batches and parameters over 2; batches over 2
and columns of weights over 2): its result, a weighted sum of that as loss, the gradients, and parameters and states after a step
of an optimizer of optax.  An error is the largest difference of an array in any layout by its largest element, of gradients by 1e-3
of the largest one at least, and of parameters by the rate: a gradient may be 0 in exact arithmetic.  Bytes are those received
in the step, beside those of the program that XLA makes of the same shardings, which `shardsim replay` counts.  A model is
wrong if the first layout, traced again after the others, is another scenario, or if the function computes something else than
before.  Needs shardsim, jax, optax, flax, equinox, dm-haiku and jraph.

SPDX-License-Identifier: Apache-2.0
"""

import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

import equinox as eqx
import haiku as hk
import jax
import jax.numpy as jnp
import jraph
import numpy as np
import optax
from flax import linen as nn
from flax import nnx
from jax.sharding import NamedSharding, PartitionSpec

import shardsim

PACKAGES = ("jax", "optax", "flax", "equinox", "dm-haiku", "jraph")
WRONG_ABOVE = 1e-3
LEAST = 1e-3
RATE = 1e-3
KEY = jax.random.key(0)


def numbers(*shape, high=None):
    made = np.random.RandomState(sum(shape))
    return jnp.asarray(made.randint(high, size=shape) if high else made.randn(*shape).astype(np.float32))


# ---- models: parameters, the function of these and of x, and x


def of_flax(module, x):
    return module.init(KEY, x)["params"], lambda params, x: module.apply({"params": params}, x), x


def of_nnx(module, x):
    graph, params = nnx.split(module)
    return params.to_pure_dict(), lambda params, x: nnx.merge(graph, nnx.State(params))(x), x


def of_equinox(module, x):
    """A module of one element, mapped over the batch."""
    params, rest = eqx.partition(module, eqx.is_inexact_array)
    leaves, tree = jax.tree.flatten(params)
    return leaves, lambda leaves, x: jax.vmap(eqx.combine(jax.tree.unflatten(tree, leaves), rest))(x), x


def of_haiku(call, x):
    """A module's state is the one that it begins with."""
    made = hk.transform_with_state(call)
    params, state = made.init(KEY, x)
    return params, lambda params, x: made.apply(params, state, None, x)[0], x


def of_jraph(layer, width):
    """A ring of 8 nodes with an edge to the next but one as well; x are the nodes' features."""
    to = np.arange(8)
    senders, receivers = jnp.asarray(np.tile(to, 2)), jnp.asarray(np.concatenate([(to + 1) % 8, (to + 2) % 8]))

    def call(x):
        graph = jraph.GraphsTuple(
            nodes=x, edges=x[senders], senders=senders, receivers=receivers, globals=jnp.ones((1, 3)), n_node=jnp.array([8]), n_edge=jnp.array([16])
        )
        return layer()(graph).nodes

    return of_haiku(call, numbers(8, width))


class Block(nn.Module):
    """A layer of a transformer."""

    @nn.compact
    def __call__(self, ids):
        x = nn.Embed(64, 32)(ids)
        mask = nn.make_causal_mask(ids)
        x = x + nn.MultiHeadDotProductAttention(num_heads=4)(nn.LayerNorm()(x), mask=mask)
        x = x + nn.Dense(32)(nn.gelu(nn.Dense(64)(nn.RMSNorm()(x))))
        return nn.Dense(64)(x)


class Mixing(nn.Module):
    """A layer of FNet."""

    @nn.compact
    def __call__(self, ids):
        x = nn.Embed(64, 32)(ids)
        x = nn.LayerNorm()(x + jnp.fft.fftn(x, axes=(-2, -1)).real)
        return nn.Dense(64)(nn.LayerNorm()(x + nn.Dense(32)(nn.gelu(nn.Dense(64)(x)))))


def state_spaces(width=8, states=4, n=64):
    """S4D: a convolution with sums of complex exponentials, by spectra."""
    params = {
        "c": numbers(width, states, 2), "step": jnp.linspace(-6, -2, width), "decay": jnp.full((width, states), -0.7),
        "turn": jnp.pi * jnp.arange(states) * jnp.ones((width, 1)), "direct": numbers(width), "out": numbers(width, width) / 3,
    }  # fmt: skip

    def apply(p, x):
        a, n = -jnp.exp(p["decay"]) + 1j * p["turn"], x.shape[1]
        steps = a * jnp.exp(p["step"])[:, None]
        c = jax.lax.complex(p["c"][..., 0], p["c"][..., 1]) * (jnp.exp(steps) - 1) / a
        kernel = 2 * jnp.einsum("hn,hnl->hl", c, jnp.exp(steps[..., None] * jnp.arange(n))).real
        made = jnp.fft.irfft(jnp.fft.rfft(x.swapaxes(1, 2), n=2 * n) * jnp.fft.rfft(kernel, n=2 * n), n=2 * n)[..., :n]
        return jax.nn.gelu(made.swapaxes(1, 2) + x * p["direct"]) @ p["out"]

    return params, apply, numbers(2, n, width)


class Images(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.relu(nn.GroupNorm(4)(nn.Conv(16, (3, 3))(x)))
        x = nn.avg_pool(x, (2, 2), (2, 2)) + nn.max_pool(x, (2, 2), (2, 2))
        return nn.Dense(10)(nn.silu(nn.ConvTranspose(8, (3, 3), (2, 2))(x)).mean((1, 2)))


class Experts(nnx.Module):
    """A dense mixture."""

    def __init__(self, rngs):
        self.gate, self.up, self.down = nnx.Linear(16, 4, rngs=rngs), nnx.LinearGeneral(16, (4, 24), rngs=rngs), nnx.LinearGeneral((4, 24), 16, axis=(-2, -1), rngs=rngs)

    def __call__(self, x):
        return self.down(jax.nn.gelu(self.up(x)) * jax.nn.softmax(self.gate(x))[..., None])


class Recurrent(eqx.Module):
    cell: eqx.nn.GRUCell

    def __call__(self, x):
        return jax.lax.scan(lambda state, one: (self.cell(one, state),) * 2, jnp.zeros(self.cell.hidden_size), x)[1]


class Attention(eqx.Module):
    inner: eqx.nn.MultiheadAttention
    rotary: eqx.nn.RotaryPositionalEmbedding

    def __call__(self, x):
        turned = lambda q, k, v: (jax.vmap(self.rotary, 1, 1)(q), jax.vmap(self.rotary, 1, 1)(k), v)
        return x + self.inner(x, x, x, process_heads=turned)


def transformer_of_haiku(x):
    for _ in range(2):
        attention = hk.MultiHeadAttention(4, 8, w_init=hk.initializers.VarianceScaling(1.0), model_size=32)
        y = hk.LayerNorm(-1, True, True)(x)
        x = x + attention(y, y, y)
        x = x + hk.nets.MLP([64, 32], activation=jax.nn.gelu)(hk.LayerNorm(-1, True, True)(x))
    return x


def attention_of_nodes():
    return jraph.GAT(lambda x: hk.Linear(16)(x), lambda s, r, e: jax.nn.leaky_relu(hk.Linear(1)(jnp.concatenate([s, r], -1))), lambda x: x)


def dense(width):
    return lambda *parts: hk.nets.MLP([32, width])(jnp.concatenate([p for p in parts if p.ndim == 2], -1))


MODELS = {
    "transformer of flax": (lambda: of_flax(Block(), numbers(2, 8, high=64)), optax.adamw),
    "FNet of flax": (lambda: of_flax(Mixing(), numbers(2, 8, high=64)), optax.adamw),
    "S4D": (state_spaces, optax.adam),
    "images, flax": (lambda: of_flax(Images(), numbers(2, 8, 8, 3)), optax.sgd),
    "LSTM of flax": (lambda: of_flax(nn.RNN(nn.OptimizedLSTMCell(16)), numbers(2, 5, 8)), optax.adam),
    "gated units of flax": (lambda: of_flax(nn.Sequential([nn.Dense(32), nn.glu, nn.Dense(8, use_bias=False)]), numbers(4, 16)), optax.lion),
    "Linear of nnx": (lambda: of_nnx(nnx.Sequential(nnx.Linear(16, 32, rngs=nnx.Rngs(0)), nnx.relu, nnx.LayerNorm(32, rngs=nnx.Rngs(0)), nnx.Linear(32, 8, rngs=nnx.Rngs(1))), numbers(4, 16)), optax.adamw),
    "attention of nnx": (lambda: of_nnx(nnx.MultiHeadAttention(4, 32, decode=False, rngs=nnx.Rngs(0)), numbers(2, 6, 32)), optax.rmsprop),
    "experts of nnx": (lambda: of_nnx(Experts(nnx.Rngs(0)), numbers(4, 16)), optax.adam),
    "MLP of equinox": (lambda: of_equinox(eqx.nn.MLP(16, 8, 32, 2, key=KEY), numbers(4, 16)), optax.adam),
    "convolutions of equinox": (
        lambda: of_equinox(eqx.nn.Sequential([eqx.nn.Conv2d(3, 8, 3, padding=1, key=KEY), eqx.nn.Lambda(jax.nn.elu), eqx.nn.MaxPool2d(2, 2), eqx.nn.GroupNorm(4, 8), eqx.nn.Conv2d(8, 4, 3, key=KEY)]), numbers(2, 3, 8, 8)),
        optax.adamw),
    "GRU of equinox": (lambda: of_equinox(Recurrent(eqx.nn.GRUCell(8, 16, key=KEY)), numbers(2, 5, 8)), optax.sgd),
    "attention of equinox": (lambda: of_equinox(Attention(eqx.nn.MultiheadAttention(4, 32, key=KEY), eqx.nn.RotaryPositionalEmbedding(8)), numbers(2, 6, 32)), optax.adamw),
    "MLP of haiku": (lambda: of_haiku(lambda x: hk.nets.MLP([32, 32, 8])(x), numbers(4, 16)), optax.adagrad),
    "transformer of haiku": (lambda: of_haiku(transformer_of_haiku, numbers(2, 6, 32)), optax.adamw),
    "MobileNet of haiku": (lambda: of_haiku(lambda x: hk.nets.MobileNetV1(num_classes=10, strides=(1,), channels=(8,))(x, True), numbers(2, 8, 8, 3)), optax.sgd),
    "LSTM of haiku": (lambda: of_haiku(lambda x: hk.dynamic_unroll(hk.LSTM(16), jnp.swapaxes(x, 0, 1), hk.LSTM(16).initial_state(2))[0], numbers(2, 5, 8)), optax.adam),
    "graph convolution of jraph": (lambda: of_jraph(lambda: jraph.GraphConvolution(lambda x: hk.Linear(16)(x)), 8), optax.adam),
    "attention of jraph": (lambda: of_jraph(attention_of_nodes, 8), optax.adam),
    "interactions of jraph": (lambda: of_jraph(lambda: jraph.InteractionNetwork(dense(8), dense(8)), 8), optax.adamw),
}  # fmt: skip


# ---- layouts


def layouts():
    """Mesh and spec of a parameter in each of the three layouts: parameters are sharded where two devices can share them."""
    even = lambda n: n % 2 == 0
    rows = lambda p: ("dp",) if p.ndim and even(p.shape[0]) else ()
    columns = lambda p: (*[None] * (p.ndim - 1), "tp") if p.ndim > 1 and even(p.shape[-1]) else ()
    return [({"dp": 2}, lambda p: ()), ({"dp": 2}, rows), ({"dp": 2, "tp": 2}, columns)]


def small(optimizer):
    """An epsilon above the noise of gradients that are 0 in exact arithmetic, of optimizers that divide by their size."""
    return {"eps": LEAST} if "eps" in inspect.signature(optimizer).parameters else {}


def step_of(apply, optimizer):
    def step(params, state, x):
        def loss(params):
            made = apply(params, x)
            return jnp.sum(made * jnp.linspace(-1, 1, made.size).reshape(made.shape)), made

        (value, made), grads = jax.value_and_grad(loss, has_aux=True)(params)
        updates, state = optimizer.update(grads, state, params)
        return value, made, grads, optax.apply_updates(params, updates), state

    return step


def bytes_of_xla(step, args, mesh, specs):
    devices = np.array(jax.devices()[: int(np.prod(list(mesh.values())))]).reshape(list(mesh.values()))
    of = lambda spec: NamedSharding(jax.sharding.Mesh(devices, tuple(mesh)), PartitionSpec(*spec))
    shardings = jax.tree.map(of, specs, is_leaf=lambda s: isinstance(s, tuple) and all(a is None or isinstance(a, str) for a in s))
    text = jax.jit(step, in_shardings=shardings).lower(*args).compile().as_text()
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(text)
        file.flush()
        axes = ",".join(f"{a}={n}" for a, n in mesh.items())
        ran = subprocess.run([os.environ["SHARDSIM"], "replay", "--json", "--mesh", axes, file.name], capture_output=True, text=True, check=False)
    return sum(c["received_bytes"] for c in json.loads(ran.stdout)["collectives"]) if ran.stdout else 0  # none of a program without


def off(got, want, by=0.0):
    got, want = np.asarray(got), np.asarray(want)
    return float(np.abs(got - want).max() / max(np.abs(want).max(), by, 1e-30)) if want.size else 0.0


def errors(ran, wanted):
    """Of results, of gradients, and of what the step changes."""
    (value, made, grads, params, state), (value_w, made_w, grads_w, params_w, state_w) = ran, wanted
    most = max(np.abs(g).max() for g in jax.tree.leaves(grads_w))
    each = lambda got, want, by: max([0.0, *(off(g, w, by) for g, w in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True))])
    return [max(off(value, value_w), off(made, made_w)), each(grads, grads_w, LEAST * most), max(each(params, params_w, RATE), each(state, state_w, LEAST * most))]


def compare(params, apply, x, optimizer):
    """Errors, seconds of a trace, bytes of each layout beside XLA's, and whether all else is as it must be."""
    state = optimizer.init(params)
    step = step_of(apply, optimizer)
    wanted = jax.jit(step)(params, state, x)
    found, good, texts, seconds, moved = [0.0] * 3, True, [], [], []
    laid = layouts()
    for mesh, spec in [*laid, laid[0]]:
        specs = (jax.tree.map(spec, params), jax.tree.map(spec, state), ("dp",))
        start = time.process_time()
        traced = shardsim.from_jax(step, params, state, x, mesh=mesh, in_specs=specs, data="^x$")
        seconds.append(time.process_time() - start)
        texts.append(json.dumps(traced.scenario()))
        if len(texts) > len(laid):
            break
        ran = traced.run()
        good = good and ran.verify.ok
        found = [max(pair) for pair in zip(found, errors(ran.outputs, wanted))]
        moved.append((ran.received_bytes.total, bytes_of_xla(step, (params, state, x), mesh, specs)))
    after = jax.jit(step)(params, state, x)
    same = all(np.array_equal(a, b) for a, b in zip(jax.tree.leaves(after), jax.tree.leaves(wanted), strict=True))
    return found, min(seconds), moved, good and same and texts[0] == texts[-1]


def main():
    chosen = {name: made for name, made in MODELS.items() if re.search(sys.argv[1] if sys.argv[1:] else "", name)}
    right = 0
    print(", ".join(f"{name} {version(name)}" for name in PACKAGES))
    print("\n| model | parameters | optimizer | traced in | outputs | gradients | step | bytes / XLA's |\n|---|--:|---|--:|--:|--:|--:|---|")
    for name, (build, optimizer) in chosen.items():
        params, apply, x = build()
        row = f"| {name} | {sum(p.size for p in jax.tree.leaves(params)):,} | {optimizer.__name__}"
        try:
            found, seconds, moved, good = compare(params, apply, x, optimizer(RATE, **small(optimizer)))
            good = good and max(found) < WRONG_ABOVE
            right += bool(good)
            beside = ", ".join(f"{ours:,} / {theirs:,}" for ours, theirs in moved)
            print(f"{row} | {seconds:.2f} s | {' | '.join(f'{e:.1e}' for e in found)} | {beside} |{'' if good else ' WRONG'}", flush=True)
        except shardsim.InputError as error:
            why = re.sub(r"\S+/", "", str(error).splitlines()[-1].strip())
            print(f"{row} | refused: {why} | | | | |", flush=True)
    print(f"\n{right} of {len(chosen)} right")


if __name__ == "__main__":
    main()
