#!/usr/bin/env python3
"""Compare the shardings chosen by `shardsim search --tensors` and by AutoParallel, both priced by shardsim's model.

    tensors_vs_autoparallel.py [--program ./shardsim] [--hardware h100-sxm]

AutoParallel (github.com/meta-pytorch/autoparallel, with PyTorch) places parameters, input and activations by an integer
program over its own prices, which depend on the name of the card.  No card is needed: the process group is PyTorch's
fake one, and the card's name is given.  Parameters and input are taken as AutoParallel places them, and `placement:
follow` places the rest.  The search may use as much memory as that layout, so that it has no advantage by more memory.

The two limits of memory differ: AutoParallel limits the share of the parameters, shardsim the peak of a device.
Needs a Python with torch and autoparallel; PYTHONPATH may name a checkout of autoparallel.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import logging
import os
import subprocess
import sys
import tempfile

SCENARIO = """version: 1
name: mlp
hardware: {hardware}
mesh: {mesh}
model: {{kind: mlp, d_model: {d}, d_ff: {f}, activation: gelu, layers: 2, dtype: {dtype}}}
batch: {{size: 8, seq: {seq}}}
step: [forward, backward]
params: [['.*', []]]
axes: {{}}
"""
AXES = ("dp", "tp")
CASES = [(mesh, d, 4 * d, seq, dtype, share)
         for d, seq, dtype in ((128, 64, "float32"), (4096, 2048, "bfloat16"))
         for mesh in ((8,), (4, 2))
         for share in (1, 8)]


def autoparallel_choice(mesh_sizes, d, f, seq, dtype, share, card):
    """The placements of the parameters, in their order, and of the input: for each axis the dimension, or None."""
    import torch
    from torch import nn
    from torch.distributed.tensor.placement_types import Shard
    from torch.testing._internal.distributed.fake_pg import FakeStore
    from autoparallel.api import AutoParallel

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.up = nn.Linear(d, f, bias=False)
            self.down = nn.Linear(f, d, bias=False)

        def forward(self, x):
            return self.down(nn.functional.gelu(self.up(x), approximate="tanh"))

    torch.cuda.get_device_name = lambda *a: card
    if not torch.distributed.is_initialized():
        torch.distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=8)
    mesh = torch.distributed.device_mesh.init_device_mesh("cpu", mesh_sizes, mesh_dim_names=AXES[:len(mesh_sizes)])
    kind = getattr(torch, dtype)
    with torch.device("meta"):
        model = nn.Sequential(Layer(), Layer()).to(kind)
    with AutoParallel(model, lambda: torch.rand(8, seq, d, dtype=kind), mesh) as ap:
        if share > 1:
            ap.add_parameter_memory_constraint(low=None, high=1 / share)
        chosen = ap.optimize_placement()
        specs = [s.output_specs for n, s in chosen.items() if n.op == "placeholder" and n.name.startswith("primals")]
    places = [[p.dim if isinstance(p, Shard) else None for p in s.placements] for s in specs]
    return places[:4], places[4]


def spec(dims, rank):
    cut = [[a for a, d in zip(AXES, dims) if d == n] for n in range(rank)]
    return "[" + ", ".join("[" + ", ".join(c) + "]" if c else "null" for c in cut) + "]"


def sets_of(params, given):
    """The choice in a scenario's form; a Linear's weight is our kernel transposed."""
    names = [f"layers/{n}/mlp/{k}/kernel" for n in (0, 1) for k in ("up", "down")]
    rules = [f"[{n}, {spec([None if d is None else 1 - d for d in p], 2)}]" for n, p in zip(names, params)]
    if 2 in given:  # `axes` shard only the batch and the sequence
        return None
    cut = {n: [a for a, d in zip(AXES, given) if d == at] for at, n in enumerate(("batch", "seq"))}
    axes = ", ".join(f"{n}: [{', '.join(a)}]" for n, a in cut.items() if a)
    return [f"params=[{', '.join(rules)}]", f"axes={{{axes}}}"]


def ask(program, *words):
    run = subprocess.run([program, *words], stdout=subprocess.PIPE)
    if run.returncode != 0:
        sys.exit(f"{' '.join(words)}: status {run.returncode}")
    return json.loads(run.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="./shardsim")
    parser.add_argument("--hardware", default="h100-sxm")
    parser.add_argument("--card", default="NVIDIA H100", help="its name to AutoParallel")
    a = parser.parse_args()
    logging.disable(logging.WARNING)
    print("| mesh | width, tokens | parameters | AutoParallel's | step | memory | ours within that | step | better by |")
    print("|---|---|---|---|---|---|---|---|---|")
    for sizes, d, f, seq, dtype, share in CASES:
        params, given = autoparallel_choice(sizes, d, f, seq, dtype, share, a.card)
        sets = sets_of(params, given)
        mesh = "{" + ", ".join(f"{n}: {s}" for n, s in zip(AXES, sizes)) + "}"
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "mlp.yaml")
            with open(file, "w", encoding="utf-8") as out:
                out.write(SCENARIO.format(hardware=a.hardware, mesh=mesh, d=d, f=f, seq=seq, dtype=dtype))
            where = ", ".join(dict.fromkeys(spec([None if x is None else 1 - x for x in p], 2) for p in params))
            row = f"| {' x '.join(map(str, sizes))} | {d}, {8 * seq:,} | {'an eighth' if share > 1 else 'any'} | {where}; x {spec(given, 3)}"
            if sets is None:
                print(row + " | not supported | | | | |")
                continue
            plan = ask(a.program, "plan", "-q", "--json", file, *[w for s in sets for w in ("-s", s)])
            peak = max(c["value"] if isinstance(c, dict) else c for c in plan["memory"]["peak_bytes"])
            step = plan["time"]["modelled"]["step_seconds"]
            best = ask(a.program, "search", "--tensors", "--json", file, "--memory", str(peak))["best"]
        ours = ", ".join(dict.fromkeys(best["specs"].values())) + f"; batch {best['batch']}"
        print(f"{row} | {step * 1e6:,.0f} us | {peak / 2**20:,.1f} MiB | {ours} | {best['step_seconds'] * 1e6:,.0f} us "
              f"| {100 * (step / best['step_seconds'] - 1):.1f} % |", flush=True)


if __name__ == "__main__":
    main()
