#!/usr/bin/env python3
"""Random layouts of Muon, executed here, and the same steps by torch.optim.Muon and optax.contrib.muon.

    bench/muon_vs_peers.py SHARDSIM [COUNT] [SEED]    prints a table; PyTorch, JAX and optax are needed

Each scenario trains an MLP for some steps, sharded over data, fully sharded and tensor axes, with matrices
duplicated, distributed or owned.  The peers train the same numbers on one device.  What is compared: the losses and the
norms of gradients after each step, which are those of the parameters that the optimizer has made; the difference is told
in parts of the largest change of the loss, and of the norm, over the steps.  torch.optim.Muon computes its Newton-Schulz steps in
bfloat16, optax in the parameters' type: a scenario has the type of the peer.

SPDX-License-Identifier: Apache-2.0
"""
import json
import math
import random
import subprocess
import sys
import tempfile

WIDTHS, INNERS, ROWS = [16, 32], [32, 48, 64], 16
STEPS = 4
BOUNDS = {"torch": 0.02, "optax": 2e-4}


def uniform(name, first, n):
    """The n numbers from `first` on that a name has, from -0.5 to 0.5."""
    seed = 2166136261
    for c in name.encode():
        seed = (seed ^ c) * 16777619 & 0xffffffff
    return [((i * 2654435761 + seed) & 0xffffffff) / 2**32 - 0.5 for i in range(first, first + n)]


def draw(rng, name, peer):
    """A scenario of mesh, sharding, layout and Muon's options."""
    mesh = {axis: rng.choice([1, 2, 2, 4]) for axis in ("dp", "fsdp", "tp")}
    while mesh["dp"] * mesh["fsdp"] * mesh["tp"] > 8:
        mesh[max(mesh, key=mesh.get)] //= 2
    optimizer = {"kind": "muon", "lr": 0.02, "momentum": rng.choice([0.95, 0.8]), "weight_decay": rng.choice([0, 0.1]),
                 "nesterov": peer == "torch" and rng.random() < 0.6, "ns_steps": rng.choice([5, 5, 3]),
                 "ns_dtype": "bfloat16" if peer == "torch" else "float32", "rest": "adamw", "rest_lr": 0.01,
                 "adjust_lr": rng.choice(["original", "match_rms_adamw"]),
                 "layout": rng.choice(["duplicated", "distributed", "owned"])}
    if optimizer["layout"] == "owned":
        optimizer["homes"] = rng.sample(["dp", "fsdp", "tp"], rng.randint(1, 3))
    up, down = rng.choice([([None, "tp"], ["tp", None]), (["tp", None], [None, "tp"]), ([None, "tp"], [None, None])])
    scenario = {"name": name, "mesh": mesh, "optimizer": optimizer, "steps": STEPS,
                "model": {"kind": "mlp", "d_model": rng.choice(WIDTHS), "d_ff": rng.choice(INNERS), "layers": rng.choice([1, 2, 3]),
                          "activation": "silu", "bias": True},
                "batch": {"size": 8, "seq": ROWS // 8}, "step": ["forward", "backward", "update"],
                "axes": {"batch": ["dp", "fsdp"]}, "params": [["up/kernel", up], ["down/kernel", down], [".*", []]]}
    stage = rng.choice([0, 1, 2, 3])
    if stage:
        scenario["zero"] = {"stage": stage, "axis": rng.choice(["fsdp", ["dp", "fsdp"]])}
    return scenario


def parameters(numpy, model):
    """The parameters' first values, by name."""
    out = {}
    for layer in range(model["layers"]):
        for part, rows, columns in ("up", model["d_model"], model["d_ff"]), ("down", model["d_ff"], model["d_model"]):
            for name, shape, scale in ("kernel", (rows, columns), math.sqrt(12 / rows)), ("bias", (columns,), 0.2):
                full = f"layers/{layer}/mlp/{part}/{name}"
                out[full] = (numpy.array(uniform(full, 0, math.prod(shape))) * scale).astype("float32").reshape(shape)
    return out


def data(numpy, model, step):
    n = ROWS * model["d_model"]
    return [(numpy.array(uniform(name, step * n, n)) * 2).astype("float32").reshape(ROWS, -1) for name in ("x", "ct")]


def by_torch(s):
    """Losses and norms of each step by torch.optim."""
    import numpy, torch
    torch.set_num_threads(1)
    model, o = s["model"], s["optimizer"]
    # A weight is stored as [outputs, inputs], as torch.nn.Linear has it.
    params = {k: torch.tensor(v.T.copy() if v.ndim == 2 else v, requires_grad=True) for k, v in parameters(numpy, model).items()}
    muon = torch.optim.Muon([p for p in params.values() if p.ndim == 2], lr=o["lr"], weight_decay=o["weight_decay"],
                            momentum=o["momentum"], nesterov=o["nesterov"], ns_steps=o["ns_steps"], adjust_lr_fn=o["adjust_lr"])
    rest = torch.optim.AdamW([p for p in params.values() if p.ndim == 1], lr=o["rest_lr"], weight_decay=o["weight_decay"])
    losses, norms = [], []
    for step in range(STEPS):
        x, ct = map(torch.tensor, data(numpy, model, step))
        for layer in range(model["layers"]):
            at = f"layers/{layer}/mlp/"
            h = torch.nn.functional.silu(x @ params[at + "up/kernel"].T + params[at + "up/bias"])
            x = h @ params[at + "down/kernel"].T + params[at + "down/bias"]
        loss = (x * ct).sum()
        for optimizer in muon, rest:
            optimizer.zero_grad()
        loss.backward()
        norms.append(math.sqrt(sum(float((p.grad.double() ** 2).sum()) for p in params.values())))
        losses.append(float(loss.detach()))
        for optimizer in muon, rest:
            optimizer.step()
    return losses, norms


def by_optax(s):
    """The same by optax.contrib.muon, whose weights are [inputs, outputs]."""
    import jax, numpy, optax
    import jax.numpy as jnp
    model, o = s["model"], s["optimizer"]
    jax.config.update("jax_default_matmul_precision", "highest")
    params = {k: jnp.array(v) for k, v in parameters(numpy, model).items()}
    optimizer = optax.contrib.muon(
        o["lr"], ns_steps=o["ns_steps"], beta=o["momentum"], weight_decay=o["weight_decay"], nesterov=False,
        adam_weight_decay=o["weight_decay"], adam_learning_rate=o["rest_lr"],
        consistent_rms=0.2 if o["adjust_lr"] == "match_rms_adamw" else None)

    def loss_of(params, x, ct):
        for layer in range(model["layers"]):
            at = f"layers/{layer}/mlp/"
            h = jax.nn.silu(x @ params[at + "up/kernel"] + params[at + "up/bias"])
            x = h @ params[at + "down/kernel"] + params[at + "down/bias"]
        return (x * ct).sum()

    @jax.jit
    def step_of(params, state, x, ct):
        loss, gradients = jax.value_and_grad(loss_of)(params, x, ct)
        updates, state = optimizer.update(gradients, state, params)
        norm = jnp.sqrt(sum((g ** 2).sum() for g in gradients.values()))
        return loss, norm, optax.apply_updates(params, updates), state

    state, losses, norms = optimizer.init(params), [], []
    for step in range(STEPS):
        loss, norm, params, state = step_of(params, state, *data(numpy, model, step))
        losses.append(float(loss))
        norms.append(float(norm))
    return losses, norms


def off(a, b):
    """The largest difference in parts of the largest change."""
    return max(abs(x - y) for x, y in zip(a, b)) / max(abs(y - b[0]) for y in b[1:])


def main():
    program, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 300
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    rng, worst, wrong = random.Random(seed), {}, 0
    with tempfile.TemporaryDirectory() as folder:
        for first in range(0, count, 20):
            made = [draw(rng, f"s{i}", "torch" if i % 2 else "optax") for i in range(first, min(first + 20, count))]
            path = folder + "/muon.yaml"
            with open(path, "w", encoding="ascii") as file:
                json.dump({"version": 1, "strategies": made}, file)
            ran = subprocess.run([program, "run", "-q", "--json", path], capture_output=True, text=True, check=False)
            got = json.loads(ran.stdout) if ran.stdout else []
            for i, (s, r) in enumerate(zip(made, got if isinstance(got, list) else [got])):
                peer = "torch" if (first + i) % 2 else "optax"
                losses, norms = (by_torch if peer == "torch" else by_optax)(s)
                most = max(off(r["training"]["losses"], losses), off(r["training"]["grad_norms"], norms))
                key = peer, s["optimizer"]["layout"]
                n, least = worst.get(key, (0, 0))
                worst[key] = n + 1, max(least, most)
                if not r["verify"]["ok"] or not most <= BOUNDS[peer]:
                    wrong += 1
                    print("off by", most, json.dumps(s), losses, r["training"]["losses"], flush=True)
            print(f"{first + len(made)} scenarios, {wrong} wrong", file=sys.stderr, flush=True)
            if len(got) < len(made):
                wrong += len(made) - len(got)
                print(ran.stderr[-2000:])
    print("| peer | layout | scenarios | largest difference | bound |\n|---|---|---|---|---|")
    for (peer, layout), (n, most) in sorted(worst.items()):
        print(f"| {peer} | {layout} | {n} | {most:.2g} | {BOUNDS[peer]:g} |")
    print(f"\n{count} scenarios, seed {seed}: {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
