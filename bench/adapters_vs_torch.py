#!/usr/bin/env python3
"""A transformer with adapters, trained here and by PyTorch: losses and the gradients' norm.

    bench/adapters_vs_torch.py --scenario >lora.yaml
    shardsim run --json lora.yaml >lora.json
    bench/adapters_vs_torch.py lora.json         prints a table; PyTorch is needed

The scenario shards the model over data and tensor parallelism.  PyTorch trains it unsharded, from the
same numbers, with kernels in float32, int8 and NF4: quantized here by plain tensor operations on
matrices as PyTorch stores them, in blocks of consecutive inputs.

SPDX-License-Identifier: Apache-2.0
"""
import json
import math
import sys

WIDTH, INNER, HEADS, KEY_HEADS, HEAD_DIM = 64, 128, 4, 2, 16
VOCAB, LAYERS, BATCH, SEQ, RANK, ALPHA = 256, 2, 4, 16, 4, 8.0
STEPS, RATE = 4, 0.05
SCENARIO = f"""version: 1
name: adapters
mesh: {{dp: 2, tp: 2}}
model: {{kind: transformer, d_model: {WIDTH}, d_ff: {INNER}, activation: swiglu, layers: {LAYERS},
        heads: {HEADS}, kv_heads: {KEY_HEADS}, vocab: {VOCAB}, rope: {{}}}}
batch: {{size: {BATCH}, seq: {SEQ}}}
step: [forward, backward, update]
optimizer: {{kind: sgd, lr: {RATE}}}
steps: {STEPS}
lora: {{rank: {RANK}, alpha: {ALPHA}, targets: [attn/., mlp/.*]}}
axes: {{batch: dp}}
params:
  - ['(q|k|v|up|gate)/kernel', [null, tp]]
  - ['(o|down)/kernel', [tp]]
  - [.*, []]
strategies:
  - {{name: float32}}
  - {{name: int8, lora: {{base: int8}}}}
  - {{name: nf4, lora: {{base: nf4}}}}
"""
# name, shape, number of dimensions that a product sums over
KERNELS = [("attn/q", (WIDTH, HEADS, HEAD_DIM), 1), ("attn/k", (WIDTH, KEY_HEADS, HEAD_DIM), 1),
           ("attn/v", (WIDTH, KEY_HEADS, HEAD_DIM), 1), ("attn/o", (HEADS, HEAD_DIM, WIDTH), 2),
           ("mlp/gate", (WIDTH, INNER), 1), ("mlp/up", (WIDTH, INNER), 1),
           ("mlp/down", (INNER, WIDTH), 1)]
NF4 = [-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635,
       -0.18477343022823334, -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725,
       0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941,
       0.7229568362236023, 1.0]


def uniform(torch, name, first, n):
    """The n numbers from `first` on that a name has: whole, below 2^32."""
    seed = 2166136261
    for c in name.encode():
        seed = (seed ^ c) * 16777619 & 0xffffffff
    return [(i * 2654435761 + seed) & 0xffffffff for i in range(first, first + n)]


def values(torch, name, shape, scale):
    u = torch.tensor(uniform(torch, name, 0, math.prod(shape)), dtype=torch.float64)
    return ((u / 2**32 - 0.5) * scale).float().reshape(shape)


def tokens(torch, name, step):
    u = uniform(torch, name, step * BATCH * SEQ, BATCH * SEQ)
    return torch.tensor([(x >> 8) % VOCAB for x in u]).reshape(BATCH, SEQ)


def quantized(torch, kernel, inputs, kind):
    """A weight matrix dequantized from quantized values and scales."""
    matrix = kernel.reshape(math.prod(kernel.shape[:inputs]), -1).t().contiguous()
    if kind == "int8":
        scale = matrix.abs().amax(1, keepdim=True) / 127
        back = torch.round(matrix / scale) * scale
    else:
        levels, blocks = torch.tensor(NF4), matrix.reshape(-1, 64)
        scale = blocks.abs().amax(1)
        mean = scale.double().mean().float()
        factor = (scale - mean).abs().max() / 127  # there are fewer than 256 scales
        codes = (blocks / scale[:, None])[..., None].sub(levels).abs().argmin(-1)
        scale = torch.round((scale - mean) / factor) * factor + mean
        back = (levels[codes] * scale[:, None]).reshape(matrix.shape)
    return back.t().reshape(kernel.shape)


class Model:
    def __init__(self, torch, kind):
        self.torch, self.frozen, self.learned = torch, {}, {}
        self.frozen["embed/table"] = values(torch, "embed/table", (VOCAB, WIDTH), 2)
        self.frozen["head/kernel"] = values(torch, "head/kernel", (WIDTH, VOCAB),
                                            math.sqrt(12 / WIDTH))
        for layer in range(LAYERS):
            for name, shape, inputs in KERNELS:
                self.add_kernel("layers/%d/%s" % (layer, name), shape, inputs, kind)
            for norm in ("norm1", "norm2"):
                self.add_norm("layers/%d/%s" % (layer, norm))
        self.add_norm("final_norm")

    def add_norm(self, name):
        self.frozen[name] = values(self.torch, name + "/scale", (WIDTH,), 2)

    def add_kernel(self, name, shape, inputs, kind):
        size = math.prod(shape[:inputs])
        kernel = values(self.torch, name + "/kernel", shape, math.sqrt(12 / size))
        if kind != "float32":
            kernel = quantized(self.torch, kernel, inputs, kind)
        self.frozen[name] = kernel.reshape(size, -1)
        for part, of, scale in (("lora_a", (size, RANK), 2 / math.sqrt(size)),
                                ("lora_b", (RANK, math.prod(shape[inputs:])),
                                 math.sqrt(12 / RANK))):
            self.learned[name, part] = values(self.torch, "%s/%s/kernel" % (name, part), of,
                                              scale).requires_grad_()

    def project(self, x, name):
        low = x @ self.learned[name, "lora_a"] @ self.learned[name, "lora_b"]
        return x @ self.frozen[name] + ALPHA / RANK * low

    def norm(self, x, name):
        return x * self.torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * self.frozen[name]

    def heads(self, x, name, rotate):
        torch, x = self.torch, self.project(x, name).reshape(BATCH, SEQ, -1, HEAD_DIM)
        if not rotate:
            return x
        half = HEAD_DIM // 2
        angle = torch.arange(SEQ)[:, None] * 10000.0**(-torch.arange(half) / half)
        cos, sin = angle.cos()[:, None], angle.sin()[:, None]
        a, b = x[..., :half], x[..., half:]
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)

    def attention(self, x, name):
        q, k, v = (self.heads(x, name + part, part != "/v") for part in ("/q", "/k", "/v"))
        k, v = (y.repeat_interleave(HEADS // KEY_HEADS, 2).transpose(1, 2) for y in (k, v))
        o = self.torch.nn.functional.scaled_dot_product_attention(q.transpose(1, 2), k, v,
                                                                  is_causal=True)
        return self.project(o.transpose(1, 2).reshape(BATCH, SEQ, -1), name + "/o")

    def loss(self, step):
        functional = self.torch.nn.functional
        x = self.frozen["embed/table"][tokens(self.torch, "tokens", step)]
        for layer in range(LAYERS):
            name = "layers/%d/" % layer
            x = x + self.attention(self.norm(x, name + "norm1"), name + "attn")
            h = self.norm(x, name + "norm2")
            h = functional.silu(self.project(h, name + "mlp/gate")) * self.project(h, name + "mlp/up")
            x = x + self.project(h, name + "mlp/down")
        x = self.norm(x, "final_norm") @ self.frozen["head/kernel"]
        return functional.cross_entropy(x.reshape(-1, VOCAB),
                                        tokens(self.torch, "labels", step).reshape(-1))


def train(torch, kind):
    """Losses and norms of each step."""
    model = Model(torch, kind)
    for step in range(STEPS):
        loss = model.loss(step)
        grads = torch.autograd.grad(loss, list(model.learned.values()))
        yield loss.item(), math.sqrt(sum(g.double().square().sum().item() for g in grads))
        with torch.no_grad():
            for param, grad in zip(model.learned.values(), grads):
                param -= RATE * grad


def main():
    if sys.argv[1:] == ["--scenario"]:
        sys.stdout.write(SCENARIO)
        return
    import torch
    print("PyTorch %s\n\n| kernels | step | loss | PyTorch's | off by | gradients' norm | off by |\n"
          "|---|---:|---:|---:|---:|---:|---:|" % torch.__version__.split("+")[0])
    for result in json.load(open(sys.argv[1], encoding="utf-8")):
        told = result["training"]
        for step, (loss, norm) in enumerate(train(torch, result["strategy"])):
            print("| %s | %d | %.6f | %.6f | %.0e | %.6f | %.0e |" % (
                result["strategy"], step, told["losses"][step], loss,
                abs(told["losses"][step] / loss - 1), told["grad_norms"][step],
                abs(told["grad_norms"][step] / norm - 1)))


if __name__ == "__main__":
    main()
