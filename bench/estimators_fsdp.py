#!/usr/bin/env python3
"""Print the figures of PyTorch's FSDPMemTracker for a step of a Llama under FSDP2 as JSON, for estimators.py.

    bench/estimators_fsdp.py '{"model": {...}, "world": 8, "recompute": "none", "dtype": "bfloat16"}'

Tensors and process group are fake: nothing is computed and nothing is sent.  Norms and attention keep
the arrays that fused GPU kernels keep: a deviation per token, and a log-sum-exp per head and token.  The
first step is not watched, because the optimizer creates its state then, and DTensor examines each op with
tensors of full size, which the tracker would count as temporaries.

SPDX-License-Identifier: Apache-2.0
"""
import json
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed._tools.fsdp2_mem_tracker import FSDPMemTracker
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils.checkpoint import checkpoint


class FusedNorm(torch.autograd.Function):
    """Keeps what the fused kernel of GPUs keeps: its input, the scale and 1/rms a token in float32.  On
    other devices PyTorch takes the norm apart, and keeps arrays in float32 between its ops."""

    @staticmethod
    def forward(ctx, x, scale):
        wide = x.float()
        inverse = torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-5)
        ctx.save_for_backward(x, scale, inverse)
        return (wide * inverse).to(x.dtype) * scale

    @staticmethod
    def backward(ctx, grad):
        x, scale, _ = ctx.saved_tensors
        return torch.empty_like(x), torch.empty_like(scale)  # only the sizes of the gradients count


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return FusedNorm.apply(x, self.weight)


def rotate(x, cos, sin):
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)


class Layer(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.width = m["hidden"] // m["heads"]
        q, kv = m["heads"] * self.width, m["kv"] * self.width

        def linear(i, o):
            return nn.Linear(i, o, bias=False)

        self.norm1, self.norm2 = Norm(m["hidden"]), Norm(m["hidden"])
        self.q, self.k, self.v, self.o = linear(m["hidden"], q), linear(m["hidden"], kv), linear(m["hidden"], kv), linear(q, m["hidden"])
        self.gate, self.up = linear(m["hidden"], m["ff"]), linear(m["hidden"], m["ff"])
        self.down = linear(m["ff"], m["hidden"])

    def heads(self, x):
        return x.unflatten(-1, (-1, self.width))

    def forward(self, x, cos, sin):
        y = self.norm1(x)
        q, k = (rotate(self.heads(w(y)), cos, sin).transpose(1, 2) for w in (self.q, self.k))
        v = self.heads(self.v(y)).transpose(1, 2)
        y = torch.ops.aten._scaled_dot_product_flash_attention(q, k, v, 0.0, True)[0]
        x = x + self.o(y.transpose(1, 2).flatten(2))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self, m, dtype, recompute):
        super().__init__()
        self.recompute = recompute
        self.embed = nn.Embedding(m["vocab"], m["hidden"])
        self.layers = nn.ModuleList(Layer(m) for _ in range(m["layers"]))
        self.norm = Norm(m["hidden"])
        self.head = nn.Linear(m["hidden"], m["vocab"], bias=False)
        for name in ("cos", "sin"):
            self.register_buffer(name, torch.ones(m["seq"], 1, m["hidden"] // m["heads"] // 2, dtype=dtype))

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = checkpoint(layer, x, self.cos, self.sin, use_reentrant=False) if self.recompute else layer(x, self.cos, self.sin)
        return self.head(self.norm(x))


def kinds(snapshot):
    (told,) = snapshot.values()
    return {getattr(kind, "value", kind): told[kind] for kind in told}


def step(model, optimizer, ids, labels, between=lambda: None):
    logits = model(ids).float()
    loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten())
    del logits
    loss.backward()
    between()
    optimizer.step()
    optimizer.zero_grad()


def main():
    asked = json.loads(sys.argv[1])
    m, dtype = asked["model"], getattr(torch, asked["dtype"])
    dist.init_process_group("fake", rank=0, world_size=asked["world"], store=FakeStore())
    mesh = init_device_mesh("cpu", (asked["world"],))
    policy = MixedPrecisionPolicy(param_dtype=dtype, reduce_dtype=torch.float32)
    told = {}
    with FakeTensorMode():
        model = Llama(m, dtype, asked["recompute"] == "full")
        for layer in model.layers:
            fully_shard(layer, mesh=mesh, mp_policy=policy)
        fully_shard(model, mesh=mesh, mp_policy=policy)
        optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
        ids, labels = (torch.zeros(1, m["seq"], dtype=torch.int64) for _ in range(2))
        step(model, optimizer, ids, labels)
        tracker = FSDPMemTracker(model, optimizer)
        tracker.track_inputs((ids, labels))
        with tracker:
            step(model, optimizer, ids, labels,
                 lambda: told.update(after_backward=kinds(tracker.get_tracker_snapshot("current"))))
        told["peak"] = kinds(tracker.get_tracker_snapshot("peak"))
    print(json.dumps(told))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
