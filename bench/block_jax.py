"""Run one of the compared training steps in JAX and print its median duration.

    block_jax.py MODEL LAYOUT DEVICES REPEATS

MODEL is block or mlp, LAYOUT tp, fsdp, dp or none.  The mathematics is that of the scenarios in this
folder: forward, and the gradient of sum(y * ct) for all parameters and the input.  Prints a JSON object
{"step_seconds", "fastest_step_seconds", "cpu_seconds"}: medians of the repeats, after the first.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import statistics
import sys
import time

MODEL, LAYOUT, DEVICES, REPEATS = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={DEVICES}"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P  # noqa: E402

BATCH, SEQ, D_MODEL, HEADS, D_FF = (int(n) for n in os.environ.get(
    "SHAPE", "4,512,1024,16,4096").split(","))
HEAD = D_MODEL // HEADS
MESH = Mesh(jax.devices()[:DEVICES], ("x",))

# The mesh axis that shards the batch of activations; heads and hidden; the parameters.
BATCH_AXIS = "x" if LAYOUT in ("dp", "fsdp") else None
MODEL_AXIS = "x" if LAYOUT == "tp" else None


def named(*spec):
    return NamedSharding(MESH, P(*spec))


def keep(x, *spec):
    if LAYOUT == "none":
        return x
    return jax.lax.with_sharding_constraint(x, named(*spec))


def out(x):
    return keep(x, BATCH_AXIS, None, None)


def rms(x, gain):
    return x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6) * gain


def attention(p, x):
    head = (BATCH_AXIS, None, MODEL_AXIS, None)
    q, k, v = (keep(jnp.einsum("bsd,dhk->bshk", x, p[w]), *head) for w in ("wq", "wk", "wv"))
    scores = jnp.einsum("bshk,bthk->bhst", q, k) * HEAD ** -0.5
    causal = jnp.tril(jnp.ones((SEQ, SEQ), bool))
    weights = jax.nn.softmax(jnp.where(causal, scores, -1e30), axis=-1)
    heads = keep(jnp.einsum("bhst,bthk->bshk", weights, v), *head)
    return out(jnp.einsum("bshk,hkd->bsd", heads, p["wo"]))


def mlp(p, x):
    hidden = keep(x @ p["w1"], BATCH_AXIS, None, MODEL_AXIS)
    return out(jax.nn.gelu(hidden, approximate=True) @ p["w2"])


def block(p, x):
    h = out(x + attention(p, out(rms(x, p["g1"]))))
    return out(h + mlp(p, out(rms(h, p["g2"]))))


MLP = {"w1": (D_MODEL, D_FF), "w2": (D_FF, D_MODEL)}
SHAPES = {
    "mlp": MLP,
    "block": MLP | {
        "wq": (D_MODEL, HEADS, HEAD), "wk": (D_MODEL, HEADS, HEAD), "wv": (D_MODEL, HEADS, HEAD),
        "wo": (HEADS, HEAD, D_MODEL), "g1": (D_MODEL,), "g2": (D_MODEL,),
    },
}[MODEL]
TP = {"w1": (None, "x"), "w2": ("x", None), "wq": (None, "x"), "wk": (None, "x"),
      "wv": (None, "x"), "wo": ("x",)}


def spec_of(name):
    if LAYOUT == "tp":
        return TP.get(name, ())
    if LAYOUT == "fsdp" and len(SHAPES[name]) > 1:
        return ("x",)
    return ()


def main():
    key = jax.random.PRNGKey(0)
    params = {
        name: jax.device_put(jax.random.normal(key, shape) * shape[0] ** -0.5,
                             named(*spec_of(name)))
        for name, shape in SHAPES.items()
    }
    data = named(BATCH_AXIS, None, None)
    x = jax.device_put(jax.random.normal(key, (BATCH, SEQ, D_MODEL)), data)
    ct = jax.device_put(jax.random.normal(key, (BATCH, SEQ, D_MODEL)), data)
    model = {"block": block, "mlp": mlp}[MODEL]

    def loss(p, x, ct):
        return jnp.sum(model(p, out(x)) * ct)

    gradients = ({name: named(*spec_of(name)) for name in SHAPES}, data)
    step = jax.jit(jax.value_and_grad(loss, argnums=(0, 1)),
                   out_shardings=(named(), gradients))
    seconds, cpu = [], []
    for _ in range(REPEATS + 2):  # the first compiles, the second warms up
        begin, cpu_begin = time.perf_counter(), time.process_time()
        jax.block_until_ready(step(params, x, ct))
        seconds.append(time.perf_counter() - begin)
        cpu.append(time.process_time() - cpu_begin)
    print(json.dumps({"step_seconds": statistics.median(seconds[2:]),
                      "fastest_step_seconds": min(seconds[2:]),
                      "cpu_seconds": statistics.median(cpu[2:])}))


main()
