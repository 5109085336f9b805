"""Measure the seconds of a collective between JAX host devices, float32, sum.

    collectives_jax.py DEVICES OP BYTES...

BYTES is the larger of operand and result of a device.  Prints {"bytes", "seconds"} per line: the
median of the samples.  Exit status 3: there is no such collective.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import statistics
import sys
import time

DEVICES, OP, SIZES = int(sys.argv[1]), sys.argv[2], [int(s) for s in sys.argv[3:]]
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={DEVICES}"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P  # noqa: E402

SAMPLES, SAMPLE_S = 5, 0.005
RING = [(d, (d + 1) % DEVICES) for d in range(DEVICES)]
OPS = {
    "all-reduce": lambda x: lax.psum(x, "x"),
    "reduce-scatter": lambda x: lax.psum_scatter(x, "x", tiled=True),
    "all-gather": lambda x: lax.all_gather(x, "x", tiled=True),
    "all-to-all": lambda x: lax.all_to_all(x, "x", 0, 0, tiled=True),
    "permute": lambda x: lax.ppermute(x, "x", RING),
}
if OP not in OPS:
    sys.exit(3)


def sample(fn, x, calls):
    begin = time.perf_counter()
    for _ in range(calls):
        y = fn(x)
    jax.block_until_ready(y)
    return (time.perf_counter() - begin) / calls


mesh = Mesh(jax.devices(), ("x",))
shard_map = getattr(jax, "shard_map", None)
if shard_map is None:
    from jax.experimental.shard_map import shard_map
fn = jax.jit(shard_map(OPS[OP], mesh=mesh, in_specs=P("x"), out_specs=P("x")))
for size in SIZES:
    count = size // 4 // (DEVICES if OP == "all-gather" else 1)
    x = jax.device_put(jnp.arange(DEVICES * count, dtype=jnp.float32) % 8,
                       NamedSharding(mesh, P("x")))
    sample(fn, x, 1)
    calls = max(1, int(SAMPLE_S / sample(fn, x, 2)))
    seconds = statistics.median(sample(fn, x, calls) for _ in range(SAMPLES))
    print(json.dumps({"bytes": size, "seconds": seconds}), flush=True)
