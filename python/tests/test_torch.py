"""Modules and functions in PyTorch: what they compute when traced, by the interpreter in numpy."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import contextlib
import importlib.util
import re
import unittest
from functools import partial
from typing import Any, Callable, Dict, Iterator, List, Tuple
from unittest import mock

try:
    import numpy as np
    import torch
    from torch import nn
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor import DTensor, Partial, Shard, distribute_tensor
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    from torch.nn import functional as F
    from torch.testing._internal.distributed.fake_pg import FakeStore
    from torch.utils.checkpoint import checkpoint
except ImportError as error:
    raise unittest.SkipTest("PyTorch and numpy are not installed") from error

from interpret import evaluate, needed_by

from shardsim import InputError
from shardsim.trace.arrays import Program, uniform
from shardsim.trace.torch import from_torch
from shardsim.trace.torch_graph import HANDLERS
from shardsim.trace.torch_rules import layout_of_dtensors, rules_of_tp_plan

class Signs(torch.autograd.Function):  # type: ignore[misc]
    """A straight-through estimator."""

    @staticmethod
    def forward(x: Any) -> Any:
        return x.sign()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * (ctx.saved_tensors[0].abs() < 1)


class Clipped(torch.autograd.Function):  # type: ignore[misc]
    """In the old style, with its context in `forward`."""

    @staticmethod
    def forward(ctx: Any, x: Any, most: float) -> Any:
        ctx.save_for_backward(x)
        ctx.most = most
        return x.clamp(max=most) * 2

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * ctx.most * ctx.saved_tensors[0], None


Case = Tuple[Callable[..., Any], List[Any]]


def normal(*shape: int, seed: int = 0) -> Any:
    return torch.from_numpy(np.random.RandomState(sum(shape) + seed).randn(*shape).astype(np.float32))


def positive(*shape: int) -> Any:
    return normal(*shape).abs() + 0.5


def ints(high: int, *shape: int) -> Any:
    return torch.from_numpy(np.random.RandomState(sum(shape) + high).randint(0, high, shape))


def distinct(*shape: int) -> Any:
    """No two elements are equal, or near each other."""
    count = int(np.prod(shape))
    return torch.from_numpy(np.random.RandomState(count).permutation(count).reshape(shape).astype(np.float32) / count - 0.4)


X, Y, S = normal(4, 6), normal(4, 6, seed=1), positive(4, 6)
GENERATOR = torch.Generator()
IMAGE = distinct(2, 4, 9, 8)
K = normal(6, 4, 3, 3)

def past_autograd(x: Any, y: Any) -> Any:
    x.data[1] = 0
    x.data.mul_(3)
    return x * y + x.detach().square()


def copied(x: Any, y: Any) -> Any:
    made = torch.empty(4, 6)
    made[:, 1:].copy_(y[:, :1])
    made[:, 0] = 2
    return made * x


def thirds(x: Any) -> Any:
    """With a function that is rewritten while it is traced."""
    return F.adaptive_avg_pool1d(x, 3)


def written_parts(x: Any, y: Any) -> Any:
    made = torch.zeros(4, 6)
    made[:, :3] = y[:, 3:]
    made[1:, 1::2].mul_(x[1:, :3])
    made[2] += x[0]
    x = x.clone()
    x[:, 2].relu_()
    x = x.clone()
    x.t()[1:4, ::3].add_(y.t()[:3, :2])
    made.view(2, 12)[:, 5:9] *= 2
    return made * x


def strided(x: Any, y: Any) -> Any:
    made = x * 2
    made.as_strided((2, 3), (4, 8), 1).mul_(y[:2, :3])
    return made.t() * torch.as_strided_scatter(y, x[:2, :3], (2, 3), (6, 2), 6)


def masks_of_heads(x: Any) -> Any:
    """A key's mask as nn.MultiheadAttention spreads it over heads."""
    hidden = torch.zeros(2, 6, dtype=torch.bool)
    hidden[1, 4:] = True
    spread = torch.zeros(2, 6).masked_fill(hidden, -torch.inf).view(2, 1, 1, 6).expand(-1, 2, -1, -1).reshape(4, 1, 6)
    return [(x[:, None] + spread).softmax(-1), torch.ones(6, 4).t().reshape(2, 2, 6)[0] + x[:2], torch.eye(4).expand(2, 4, 4).as_strided((2, 2), (1, 1), 3)]


def rotated(x: Any, angles: Any) -> Any:
    """Rotary positions as in Llama's reference code."""
    turns = torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2)) * turns).flatten(-2)


def convolved(x: Any, k: Any) -> Any:
    """A long convolution by its spectrum."""
    n = x.shape[-1]
    return torch.fft.irfft(torch.fft.rfft(x, n=2 * n) * torch.fft.rfft(k, n=2 * n), n=2 * n)[..., :n]


def filtered(x: Any, w: Any) -> Any:
    """The low frequencies of an image, each with a matrix of channels."""
    spectrum = torch.fft.rfft2(x, norm="ortho")
    made = torch.zeros_like(spectrum)
    made[:, :, :3, :2] = torch.einsum("bixy,ioxy->boxy", spectrum[:, :, :3, :2], torch.view_as_complex(w))
    return torch.fft.irfft2(made, s=x.shape[-2:], norm="ortho")


def set_complex(z: Any) -> Any:
    z = z.clone()
    z[:, 0] = 1j
    z[1].fill_(2 - 1j)
    z[2].fill_(z[0, 1])
    return z * z


def real(z: Any) -> Any:
    return torch.cat([z.real, z.imag])


Z = torch.complex(X, Y)

SQUARE = normal(2, 5, 5) + 3 * torch.eye(5).flip(0)

#: Functions of floating-point arrays, which have gradients.
SMOOTH: Dict[str, Case] = {
    "gamma": (lambda x: x.mul(4).lgamma() + (x * 9).square().digamma(), [X]),
    "factors of matrices": (
        lambda x, y: torch.linalg.cholesky(x @ x.mT + 2 * torch.eye(4, dtype=x.dtype)).sum() + torch.cholesky_solve(
            y[:, :2], torch.linalg.cholesky(x @ x.mT + 3 * torch.eye(4, dtype=x.dtype), upper=True), upper=True).sum(), [X, Y],
    ),
    "triangular systems": (
        lambda a, b: torch.linalg.solve_triangular(a, b, upper=True).sum() + torch.linalg.solve_triangular(a[0], b.mT, upper=False, left=False).sum()
        + torch.linalg.solve_triangular(a, b, upper=False, unitriangular=True).sum(), [normal(2, 5, 5) + 3 * torch.eye(5), normal(2, 5, 3)],
    ),
    "systems of equations": (
        lambda a, b: torch.linalg.solve(a, b).sin().sum() + torch.linalg.solve(a, b.mT, left=False).sin().sum()
        + torch.linalg.solve(a[0], b[0, :, 0]).sum() + (torch.linalg.inv(a) * torch.inverse(a.mT)).sum(), [SQUARE, normal(2, 5, 3)],
    ),
    "systems of equations, whose matrices are not looked at": (
        lambda a, b: torch.linalg.inv_ex(a).inverse.sum() + torch.linalg.solve_ex(a, b)[0].sin().sum() + torch.linalg.solve_ex(a, b).info.sum()
        + torch.linalg.lu_factor(a).LU.sum() + torch.linalg.slogdet(a).logabsdet.sum(), [SQUARE, normal(2, 5, 3)],
    ),
    "determinants": (lambda a: torch.linalg.det(a).sum() + torch.slogdet(a)[1].sum() + torch.slogdet(a)[0].sum() + torch.det(a[0]), [SQUARE]),
    "LU and QR factors": (
        lambda a: torch.cat([x.flatten() for x in (*torch.linalg.lu(a[..., :3]), *torch.linalg.lu(a[..., :3, :]), *torch.linalg.qr(a[..., :3]),
                                                   *torch.linalg.qr(a, mode="complete"))]),
        [SQUARE],
    ),
    "more functions of complex numbers": (
        lambda x, y: real((z := torch.complex(x, y)).exp2() + z.expm1() + torch.add(z, z.square(), alpha=2j) - torch.rsub(z, x, alpha=1j) + torch.sub(x, z, alpha=3j)
                          + z[0].repeat(4, 1).index_add(0, ints(4, 4), z.square(), alpha=1 + 1j) + z.masked_scatter(x > 0, z.square()))
        + torch.cat([z.var() + z.std(1, keepdim=True), torch.var_mean(z, 1, keepdim=True)[1].real]), [X, Y],
    ),
    "complex numbers set": (lambda x, y: real(set_complex(torch.complex(x, y))), [X, Y]),
    "rotary positions": (rotated, [normal(2, 3, 4, 6), normal(4, 3)]),
    "complex arithmetic": (
        lambda x, y: real((z := torch.complex(x, y)) * z.conj() + 2j * z - z / (z.square() + 3) + 1 / (x - 2j) + (z * x) ** 3 + z**-2 + z**(y + 0j) + (1 - z).neg()),
        [X, Y],
    ),
    "parts of complex numbers": (lambda x, y: (z := torch.complex(x, y)).abs() + z.angle() + z.imag * z.sgn().real + torch.view_as_real(z).sum(-1), [X, Y]),
    "functions of complex numbers": (
        lambda x, y: real((z := torch.complex(x, y)).exp() + z.log() + z.sqrt() + z.sin() + z.cos() + z.tan() + z.sinh() + z.cosh() + z.tanh() + z.sigmoid() + z.rsqrt()),
        [X, Y],
    ),
    "arranged complex numbers": (
        lambda x, y: real(torch.cat([(z := torch.complex(x, y)).t()[:4, 1:], z.flip(1)[:, ::2].roll(1, 0), torch.where(x > y, z, z.mH.mT)[:, ints(6, 3)]], 1)
                          + torch.stack([z.sum(1), z.mean(1, keepdim=True).squeeze(1), z.cumsum(1)[:, 2]], 1).repeat(1, 3)), [X, Y],
    ),
    "complex matmuls": (
        lambda x, y: real((z := torch.complex(x, y)) @ z.mH + torch.addmm(z @ z.mT, z, z.mH.conj(), beta=2, alpha=3) + torch.einsum("ij,kj->ik", z, z.conj())
                          + torch.vdot(z[0], z[1]) + z @ (x.mT + 0j)), [X, Y],
    ),
    "Fourier transforms": (
        lambda x, y: torch.cat([f.flatten() for z in (torch.fft.fft(torch.complex(x, y)), torch.fft.ifft2(torch.complex(x, y), norm="ortho"), torch.fft.fft(x, n=9),
                                                      torch.fft.rfft(x), torch.fft.ihfft(y), torch.fft.rfftn(y, norm="forward"))
                                for f in (z.real, z.imag)] + [torch.fft.irfft(torch.complex(x, y)).flatten(), torch.fft.irfft2(torch.complex(x, y), (3, 7)).flatten(),
                                                              torch.fft.hfft(torch.complex(x, y), 5).flatten(), torch.fft.fftshift(x).flatten()]), [X, Y],
    ),
    "a Fourier transform of many points": (lambda x: real(torch.fft.fft(x)).square() + torch.fft.irfft(torch.fft.rfft(x).square()).repeat(2, 1), [0.1 * normal(2, 384)]),
    "a short-time Fourier transform": (lambda x: torch.stft(x, 8, 3, 8, torch.hann_window(8, dtype=x.dtype) + 0.1, return_complex=True).abs(), [normal(2, 24)]),
    "a signal of its spectrum": (
        lambda x: torch.istft(torch.complex(x[:, :5], x[:, 5:]), 8, 2, 6, torch.hann_window(6, dtype=x.dtype) + 0.1, length=19) + torch.istft(torch.complex(x[:, :5], x[:, 5:]), 8)[:, :19],
        [normal(2, 10, 12)],
    ),
    "a convolution by spectra": (convolved, [normal(2, 3, 10), normal(3, 10)]),
    "a layer of a neural operator": (filtered, [normal(2, 3, 6, 5), normal(3, 3, 3, 2, 2)]),
    "arithmetic": (lambda x, y: (x + 2 * y - 1) / (y * y + 1) - (3 - x) ** 3, [X, Y]),
    "alpha": (lambda x, y: torch.add(x, y, alpha=2) + torch.sub(x, y, alpha=3) + torch.rsub(x, y, alpha=2), [X, Y]),
    "powers": (lambda s: s**2 + s**0.5 + s**-0.5 + s**-2 + s**1.7 + 2**s + s.square() + s.reciprocal(), [S]),
    "powers of arrays": (torch.pow, [S, Y]),
    "exponentials": (lambda x: x.exp() + x.sigmoid() + x.tanh() + torch.exp2(x) + torch.expm1(x), [X]),
    "logarithms": (lambda s: s.log() + s.log1p() + s.sqrt() + s.rsqrt() + torch.log2(s) + torch.log10(s), [S]),
    "angles": (lambda x, y: x.sin() + y.cos() + torch.atan2(x, y), [X, Y]),
    "gradients that are known to be 0": (lambda x: torch.sgn(x), [X]),
    "errors": (lambda x: torch.erf(x) + torch.erfc(x), [X]),
    "pieces": (lambda x, y: x.abs() + torch.maximum(x, y) + torch.minimum(x, 2 * y) + x.clamp(-1, 0.5) + y.clamp(min=0), [X, Y]),
    "activations": (lambda x: F.relu(x) + F.silu(x) + F.gelu(x) + F.gelu(x, approximate="tanh") + F.softplus(x), [X]),
    "more activations": (
        lambda x: F.leaky_relu(x) + F.elu(x) + F.mish(x) + F.hardtanh(x) + F.logsigmoid(x) + F.hardswish(x) + F.relu6(x), [X],
    ),
    "gates": (lambda x: F.glu(x, -1) + F.softsign(x[:, :3]) + F.tanhshrink(x[:, 3:]), [X]),
    "choices": (lambda x, y: torch.where(x > y, x, 0.0) + x.masked_fill(y < 0, 3.0) + torch.lerp(x, y, 0.3), [X, Y]),
    "in place": (lambda x: (x * 2).add_(1).mul_(x).relu_(), [X]),
    "repeated": (lambda x, b: x + b + b[None, :] * x.sum(0, keepdim=True), [X, normal(6)]),
    "sums": (lambda x: x.sum() + x.mean() * x.sum(0) + x.mean(0, keepdim=True) + x.sum(-1, keepdim=True), [X]),
    "extremes": (lambda x: x.amax(1, keepdim=True) + x.amin(0) + x.max() - x.min() + x.max(1).values.sum(), [distinct(4, 6)]),
    "products": (lambda x: x.prod(1) + x.prod(), [X]),
    "variances": (lambda x: x.var(1) + x.std(1, correction=0) + torch.var_mean(x, 1)[1], [X]),
    "norms": (lambda x: x.norm(dim=1) + torch.linalg.vector_norm(x, 1) + F.normalize(x, dim=1).sum(1), [X]),
    "cumulative": (lambda x: x.cumsum(1) + x.cumsum(0) + torch.logcumsumexp(x, 1), [X]),
    "softmax": (lambda x: x.softmax(1) + x.log_softmax(0) + x.logsumexp(1, keepdim=True), [X]),
    "matrices": (lambda a, b: a @ b + torch.einsum("ij,kj->ik", a, b.t()) + torch.addmm(a @ b, a, b, beta=2, alpha=3)
                 + torch.addbmm(a @ b, a[None], b[None], beta=0), [X, normal(6, 4)]),
    "vectors": (lambda a, v: (a @ v).dot(a @ v) + torch.outer(v, v).sum(0) @ v, [X, normal(6)]),
    "batches": (lambda a, b: torch.matmul(a, b) + torch.bmm(a[:, 0], b[:, 0])[:, None], [normal(2, 3, 4, 5), normal(2, 3, 5, 4)]),
    "broadcast batches": (lambda a, b: torch.matmul(a, b), [normal(2, 3, 4, 5), normal(5, 6)]),
    "tensordot": (lambda a, b: torch.tensordot(a, b, dims=([1, 2], [0, 1])), [normal(2, 3, 4), normal(3, 4, 5)]),
    "linear": (F.linear, [normal(2, 3, 6), normal(5, 6), normal(5)]),
    "views": (lambda x: (x.view(2, 2, 6).transpose(0, 2).permute(1, 0, 2).reshape(6, 4) * x.t()).flatten().unflatten(0, (3, 8)), [X]),
    "slices": (lambda x: x[1:, ::2] + x[:-1, 3:] + x[0, None, 1::2] + x.select(1, 4)[:3, None] + x.narrow(0, 1, 3)[:, :3], [X]),
    "slices at computed places": (lambda x: parts_at(x, (x.sum() * 0 + 1).long(), (x.sum() * 0 - 2).int()), [X]),
    "set slices": (lambda x, y: set_parts(x, y), [X, Y]),
    "pieces in order": (lambda x: torch.cat([*x.chunk(2, 1), x.split([1, 5], 1)[1], x.unbind(0)[2][None].expand(4, 6)], 1), [X]),
    "stacks": (lambda x, y: torch.stack([x, y, x * y], 1), [X, Y]),
    "copies": (lambda x: x.repeat(2, 3) + x.repeat_interleave(2, 0).repeat_interleave(3, 1) + x.tile((2, 3)), [X]),
    "a number along its axis": (
        lambda x: x.cumsum(0) * x.cummax(0).values + x.sort(0).values + x.topk(1).values + x.gather(0, torch.tensor(0)) + x.scatter_add(0, torch.tensor(0), x)
        + x.median(0).values + x.amax(0) * x.max(0).values + x.index_add(0, torch.tensor([0]), x) + x.softmax(0) + x.sum(0, keepdim=True) + x.flip(0),
        [torch.tensor(0.7)],
    ),
    "a diagonal of one element": (lambda x: x.diagonal(2) * x.diagonal(-3), [X[:, :3]]),
    "reflected volumes": (lambda x: F.pad(x, (1, 1, 1, 1, 1, 1), "reflect"), [normal(1, 2, 4, 4, 4)]),
    "sums of nothing": (lambda x, y: torch.addbmm(x, y.new_ones(2, 4, 0), y.new_ones(2, 0, 6), beta=0.5) + x[:, :0] @ y[:0] + (x[:0] * torch.ones(0, 6)).sum(0)
                        + x.index_add(0, torch.zeros(0).long(), y[:0]), [X, Y]),
    "order": (lambda x: x.flip(1) + x.flip([0, 1]) + x.roll(2, 1) + x.roll((1, 3), (0, 1)), [X]),
    "padding": (lambda x: F.pad(x, (1, 2)) + F.pad(x, (2, 1), value=3.0) + F.pad(x, (3, 0)), [X]),
    "repeated ends": (lambda x: F.pad(x, (1, 2, 3, 0), "replicate") + F.pad(x[:, :, :4, 0], (4, 3), "replicate").sum(), [IMAGE]),
    "negative padding": (lambda x: F.pad(x, (-1, 2, 1, -2)), [X]),
    "triangles": (lambda x: x.tril() + x.triu(1) + x.tril(-2), [X]),
    "diagonals": (lambda x: x.diagonal(0, 1, 2) + x.diagonal(0, 2, 0)[0, 2] + x.diagonal(-1, 0, 1).sum(), [normal(3, 4, 4)]),
    "rows": (lambda w: F.embedding(ints(7, 3, 4), w) + F.embedding(ints(7, 3, 4), w, padding_idx=2), [normal(7, 5)]),
    "rows that are made shorter": (
        lambda w: F.embedding(ints(7, 3, 4), 2 * w, max_norm=3.0) + F.embedding_bag(ints(7, 3, 4), 3 * w, max_norm=2.0, norm_type=1.0)[:, None],
        [normal(7, 5)],
    ),
    "bags": (lambda w: F.embedding_bag(ints(7, 3, 4), w) + F.embedding_bag(ints(7, 3, 4), w, mode="sum"), [normal(7, 5)]),
    "by ids": (lambda x: x[ints(4, 5)] + x[:, ints(6, 6)][ints(4, 5)] + x.index_select(0, ints(4, 5)), [X]),
    "by two ids": (lambda x: x[ints(2, 5), ints(3, 5)] + x[ints(2, 5), :, ints(4, 5)].sum(1, keepdim=True), [normal(2, 3, 4)]),
    "by ids apart": (lambda x: x[:, torch.tensor([[0], [2]]), torch.tensor([1, -1, 0])], [normal(2, 3, 4)]),
    "gather": (lambda x: x.gather(1, ints(6, 4, 3)) + x.gather(1, ints(6, 4, 1)) + torch.take_along_dim(x, ints(4, 2, 6), 0)[:1, :3], [X]),
    "scatter": (lambda x, y: torch.zeros(4, 9).scatter_add(1, ints(9, 4, 6), x) + x.new_ones(4, 9).index_add(1, ints(9, 6), y), [X, Y]),
    "largest": (lambda x: x.topk(3, 1).values + x.topk(3, 1, largest=False).values, [distinct(4, 6)]),
    "largest along another axis": (lambda x: x.topk(2, 0).values, [distinct(4, 6)]),
    "layer norm": (lambda x, w, b: F.layer_norm(x, (6,), w, b) + F.layer_norm(x, (4, 6)), [X, normal(6), normal(6, seed=3)]),
    "rms norm": (lambda x, w: F.rms_norm(x, (6,), w), [X, normal(6)]),
    "weight norm": (lambda v, g: torch._weight_norm(v, g[:, None], 0) + torch._weight_norm(v, g[:1, None], -1), [X, normal(4)]),
    "group norm": (lambda x, w, b: F.group_norm(x, 2, w, b), [normal(2, 4, 5, 3), normal(4), normal(4, seed=1)]),
    "batch norm": (lambda x, w, b: F.batch_norm(x, torch.zeros(4), torch.ones(4), w, b, training=True), [normal(3, 4, 5), normal(4), normal(4, seed=1)]),
    "instance norm": (lambda x: F.instance_norm(x), [normal(2, 4, 5, 3)]),
    "attention": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), [normal(2, 3, 4, 5, seed=i) for i in range(3)]),
    "attention of grouped heads": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.3, enable_gqa=True),
        [normal(2, 6, 4, 5), normal(2, 3, 7, 5), normal(2, 3, 7, 5, seed=1)],
    ),
    "attention without causes, of one of a batch": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v).sum(1), [normal(1, 2, 4, 5), normal(1, 2, 3, 5), normal(1, 2, 3, 5, seed=1)],
    ),
    "attention of another width": (F.scaled_dot_product_attention, [normal(2, 3, 4, 5), normal(2, 3, 4, 5), normal(2, 3, 4, 6)]),
    "attention of three dimensions": (F.scaled_dot_product_attention, [normal(3, 4, 5), normal(3, 6, 5), normal(3, 6, 5, seed=1)]),
    "attention with a mask": (
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m, scale=0.3),
        [*(normal(2, 3, 4, 5, seed=i) for i in range(3)), normal(4, 4)],
    ),
    "attention of rows that see nothing": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=torch.tensor([[0, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0], [1, 1, 1, 0]]).bool()),
        [normal(2, 3, 4, 5, seed=i) for i in range(3)],
    ),
    "cross entropy": (lambda x: F.cross_entropy(x, torch.tensor([1, -100, 5, 0])) + F.cross_entropy(x, ints(6, 4), label_smoothing=0.1), [X]),
    "cross entropy of shares": (lambda x, y: F.cross_entropy(x, y.softmax(1), reduction="sum"), [X, Y]),
    "losses": (lambda x, y: F.mse_loss(x, y) + F.l1_loss(x, y) + F.smooth_l1_loss(x, y) + F.huber_loss(x, y, delta=0.5), [X, Y]),
    "losses of chances": (
        lambda x, y: F.binary_cross_entropy_with_logits(x, y.sigmoid()) + F.binary_cross_entropy(x.sigmoid(), y.sigmoid())
        + F.kl_div(x.log_softmax(1), y.softmax(1)), [X, Y],
    ),
    "similarity": (lambda x, y: F.cosine_similarity(x, y) + F.pairwise_distance(x, y), [X, Y]),
    "convolution": (lambda x, w, b: F.conv2d(x, w, b, padding=1), [IMAGE, K, normal(6)]),
    "strided convolution": (lambda x, w: F.conv2d(x, w, stride=2, padding=1), [IMAGE, K]),
    "dilated convolution": (lambda x, w: F.conv2d(x, w, stride=(1, 2), dilation=2, padding=(2, 1)), [IMAGE, K]),
    "convolution in groups": (lambda x, w: F.conv2d(x, w, groups=2, padding=1), [IMAGE, normal(6, 2, 3, 3)]),
    "convolution of each channel": (lambda x, w: F.conv2d(x, w, groups=4), [IMAGE, normal(4, 1, 3, 3)]),
    "convolution of patches": (lambda x, w: F.conv2d(x, w, stride=4), [IMAGE, normal(6, 4, 4, 4)]),
    "pointwise convolution": (lambda x, w: F.conv2d(x, w) + F.conv2d(x, w, stride=2).sum(), [IMAGE, normal(6, 4, 1, 1)]),
    "convolution of a sequence": (lambda x, w: F.conv1d(F.pad(x, (3, 0)), w, groups=4), [normal(2, 4, 7), normal(4, 1, 4)]),
    "convolution of a volume": (lambda x, w: F.conv3d(x, w, padding=1), [normal(1, 2, 4, 5, 3), normal(3, 2, 3, 3, 3)]),
    "transposed convolution": (lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1, output_padding=1), [IMAGE, normal(4, 3, 3, 3)]),
    "largest of windows": (lambda x: F.max_pool2d(x, 3, 2, padding=1) + F.max_pool2d(x, 2, ceil_mode=True)[:, :, :5, :4], [IMAGE]),
    "largest of windows in a sequence": (lambda x: F.max_pool1d(x, 2), [distinct(2, 3, 8)]),
    "mean of windows": (
        lambda x: F.avg_pool2d(x, 3, 2, padding=1) + F.avg_pool2d(x, 3, 2, padding=1, count_include_pad=False)
        + F.avg_pool2d(x, 2, ceil_mode=True)[:, :, :5, :4], [IMAGE],
    ),
    "pooling to a size": (lambda x: F.adaptive_avg_pool2d(x, 1) + F.adaptive_avg_pool2d(x, (3, 4)).sum((2, 3), True), [IMAGE]),
    "pooling to the largest of a size": (lambda x: F.adaptive_max_pool2d(x, (3, 5)) + F.adaptive_max_pool2d(x, (9, 1)).sum(2, True), [IMAGE]),
    "larger images": (lambda x: F.interpolate(x, scale_factor=2, mode="nearest") + F.pixel_shuffle(x, 2).sum(), [normal(2, 4, 3, 3)]),
    "between pixels": (lambda x: F.interpolate(x, size=(5, 7), mode="bilinear") + F.interpolate(x, (5, 7), mode="nearest"), [normal(2, 4, 3, 3)]),
    "a function with its own gradient": (lambda x, y: Clipped.apply(Signs.apply(x * y), 3.0), [X, Y]),
    "recomputed": (lambda x, y: checkpoint(lambda v: thirds(v.sin() * y).exp(), x * 2, use_reentrant=False), [X, Y]),
    "recomputed by a backward inside": (lambda x, y: checkpoint(lambda v: thirds(v.sin() * y).exp(), x * 2, use_reentrant=True), [X, Y]),
    "data written past autograd": (lambda x, y: past_autograd(x * 2, y), [X, Y]),
    "parts written in place": (lambda x, y: written_parts(x * 2, y), [X, Y]),
    "every other element": (lambda x, y: torch.slice_scatter(x, y[:, :2], 1, 1, 5, 2) + torch.slice_scatter(y, x[1:3], 0, 0, 4, 2), [X, Y]),
    "by places in the storage": (lambda x, y: strided(x.t(), y), [X, Y]),
    "inverse and hyperbolic functions": (
        lambda x: x.sinh() + x.cosh() + x.asinh() + (x / 4).asin() + (x / 4).acos() + x.atan() + (x / 4).atanh() + (x.abs() + 1.1).acosh()
        + torch.erfinv(x / 4), [X],
    ),
    "of two numbers": (lambda x, y: torch.hypot(x, y) + torch.fmax(x, y) + torch.fmin(x, 2 * y) + torch.copysign(x, y), [X, Y]),
    "set on a diagonal": (lambda x, y: torch.diagonal_scatter(x, y[:, 0], 1) + torch.diagonal_scatter(x, y[0, :3], -1, 0, 1), [X, Y]),
    "loss of known variances": (
        lambda x, y: F.gaussian_nll_loss(x, y, y.square()) + F.gaussian_nll_loss(x, y, (x[:, 0] / 9).square(), full=True, reduction="sum"), [X, Y],
    ),
    "shrunk": (lambda x: F.hardshrink(x) + F.softshrink(x), [X]),
    "the first of equal ones in windows": (lambda x: F.adaptive_max_pool2d(x, (3, 4)) + F.adaptive_max_pool2d(x, (3, 2))[..., :1], [torch.ones(2, 2, 6, 5)]),
    "largest so far": (lambda x: x.cummax(1).values + x.cummin(0).values, [distinct(4, 6)]),
    "products so far": (lambda x, y: x.cumprod(1) + y.cumprod(0), [X, Y]),
    "order statistics": (lambda x: x.median(1).values + x.median() + x.kthvalue(2, 1).values + x.quantile(0.3, dim=1), [distinct(4, 6)]),
    "copied over an axis": (lambda x, y: copied(x * 2, y), [X, Y]),
    "a gradient inside": (lambda x, y: torch.func.grad(lambda v: (v.sin() * y).sum())(x), [X, Y]),
}  # fmt: skip

#: Others: whole numbers, comparisons, and what has no gradient.
def counted(x: Any) -> Any:
    """Reads values that depend on no argument."""
    mask = torch.ones(4, 6)
    mask[:, 2:4] = 0
    if bool((mask[0] > 5).any()):
        return x
    steps = torch.zeros(())
    steps += 1
    return x * int((mask == 0).sum()) / (steps.item() + 1)


DISCRETE: Dict[str, Case] = {
    "comparisons": (lambda x, y: [x == y, x != y, x < y, x <= y, x > 0, x >= 1], [X, Y]),
    "logic": (lambda x, y: [(x > 0) & (y > 0), (x > 0) | (y > 0), (x > 0) ^ (y > 0), ~(x > 0), torch.logical_not(x), (x > 0).sgn()], [X, Y]),
    "all and any": (lambda x: [(x > 0).any(1), (x > -9).all(), (x > 0).sum(0), (x > 0).float().mean()], [X]),
    "whole numbers": (lambda a, b: [a + b, a - 2 * b, a // (b + 1), a % (b + 1), -a // 3, a / (b + 1), a & b, a | b, a ^ b], [ints(9, 12), ints(5, 12)]),
    "hashes": (lambda i, j: [(i * 1_000_003) % 97, (i * 1_000_003 + j) // 1000, (i * i * 2**20) ^ j, torch.cumsum(i * 2**30, 0), i << 40, i >> 3, -j >> 31], [ints(50_000, 12), ints(2**31, 12)]),
    "large whole numbers by ids": (lambda x, i: [(x * 2**33)[i], torch.zeros(9).long().index_add(0, i, x * 2**33), (x * 2**33).sort().values, (x * 2**33).max()], [ints(99, 9), ints(9, 9)]),
    "places of what is no number": (
        lambda x: [x.argmax(1), x.argmin(0), x.max(1).indices, x.sort(1).indices, x.sort(1, descending=True).indices, x.topk(2, 1).indices],
        [torch.tensor([[1.0, torch.nan, 3.0, torch.inf], [torch.inf, 2.0, torch.nan, 5.0]])],
    ),
    "divisions of large whole numbers": (
        lambda a, b: [x for y in (a, a.int()) for x in (y // b.to(y.dtype), y % b.to(y.dtype), torch.div(y, b.to(y.dtype), rounding_mode="trunc"))],
        [torch.tensor([-4, -1, 7, -(2**31), 2**31 - 1, 5]), torch.tensor([1998612228, -1887504737, -(2**31), 3, -7, 2**31 - 1])],
    ),
    "factors of whole numbers": (lambda a, b: [torch.addmv(a, a.outer(b), b, beta=1.6, alpha=2.2), torch.add(a > 4, b > 2, alpha=False)], [ints(9, 5), ints(5, 5)]),
    "windows of whole numbers": (
        lambda a, w: [F.avg_pool1d(a, 3, ceil_mode=True), F.avg_pool2d(a, 3, 2, 1, count_include_pad=False), F.conv_transpose1d(a, w, stride=2), F.conv1d(a, w.mT)],
        [ints(19, 2, 3, 8) - 9, ints(9, 3, 3, 3) - 4],
    ),
    "divisions": (lambda x, y: [torch.div(x, y, rounding_mode="floor"), torch.div(x, y, rounding_mode="trunc"), x // y, x % y, torch.fmod(x, y)], [X, Y]),
    "rounding": (lambda x: [x.floor(), x.ceil(), x.round(), x.trunc(), x.sign(), x.int(), x.long() + 0.5], [3 * X]),
    "places": (lambda x: [x.argmax(1), x.argmin(0), x.argmax(), x.max(1).indices, x.topk(3, 1).indices, x.argmax(0, keepdim=True)], [distinct(4, 6)]),
    "sort": (lambda x: [*x.sort(1), *x.sort(0, descending=True), x.argsort(1)], [distinct(4, 6)]),
    "one hot": (lambda i: [F.one_hot(i, 7), F.one_hot(i, num_classes=9).float()], [ints(7, 3, 4)]),
    "constants": (lambda x: [torch.arange(2, 8), torch.ones(4, 6) * 3, torch.eye(4) @ x, torch.linspace(0, 1, 6), torch.full((2,), 7)], [X]),
    "scatter of values": (lambda x: [x.scatter(1, ints(6, 4, 2), 9.0), torch.zeros(4, 6).scatter(1, ints(6, 4, 1), 1.0)], [X]),
    "equal elements at one place": (
        lambda v, i: [torch.zeros(9).scatter(0, i.flip(0), v), torch.ones(9).scatter(0, i.flip(0), v), torch.ones(9).index_put((i.flip(0),), v),
                      torch.zeros(9).long().scatter(0, i.flip(0), v.long()), torch.zeros(9).bool().scatter(0, i.flip(0), v > 3)],
        [torch.tensor([2.5, 2.5, 5.5, 2.5]), torch.tensor([3, 1, 3, 3])],
    ),
    "equal elements at one place of views": (
        lambda x, v, i: [
            torch.zeros(2, 2).scatter(1, torch.tensor([[0, 1], [0, 1]]).t(), v), torch.zeros(2, 2).scatter(1, i.t(), v),
            torch.zeros(4, 6).scatter(1, x.topk(3, 1).indices[:, :1].expand(4, 3), torch.ones(4, 3) * x[0, 0]),
            torch.zeros(4, 6).scatter(1, x.topk(3, 1).indices.flip(0)[:, 1:], torch.ones(4, 2) * x[0, 0]),
            torch.zeros(6, 3).scatter(0, x.topk(3, 1).indices[:3, 0].expand(3, 3), torch.ones(3, 3) * x[0, 0]),
            torch.zeros(2, 6).scatter(1, x.topk(2, 0).indices, torch.ones(2, 6) * x[0, 0]),
            torch.zeros(2, 6).scatter(1, torch.tensor([[1], [2]]).expand(2, 3), torch.ones(2, 3) * x[0, 0]),
            torch.zeros(5).index_put((torch.tensor([1, 3])[:, None].expand(2, 2),), v), torch.zeros(5).index_put((i[0, :, None].expand(2, 2),), v)],
        [distinct(4, 6), torch.full((2, 2), 5.0), torch.tensor([[0, 1], [0, 1]])],
    ),
    "equal elements at one known place": (
        lambda v: [torch.ones(9).index_put((torch.tensor([3, 1, 3, 3]),), v), put_twice(v), torch.zeros(4, 9).index_put((torch.arange(4), torch.arange(4)), v)],
        [torch.tensor([2.5, 2.5, 2.5, 2.5])],
    ),
    "equal elements at one place, as large as they may be": (
        lambda i, *v: [y.double() if x.is_floating_point() else y for x in v for y in (torch.zeros(5, dtype=x.dtype).index_put((i,), x), torch.ones(5, dtype=x.dtype).scatter(0, i, x))],
        [torch.tensor([3, 1, 3, 3, 3, 3, 3, 3]), torch.full((8,), 60000.0).half(), torch.full((8,), 257 / 256).bfloat16(),
         torch.full((8,), 2**31 - 1).int(), torch.full((8,), -(2**50) - 1), torch.full((8,), 255).to(torch.uint8)],
    ),
    "set by a mask": (
        lambda x, m: [x.index_put((m,), torch.tensor(7.0)), x.index_put((m[:, 0],), x[0]), x.index_put((m,), torch.ones(1)), x.masked_fill(m, 2.0)], [X, Y > 0],
    ),
    "set by a mask of later axes": (
        lambda x, m: [put_behind(x, m, v) for v in (x[0, 0, 0], x[:, 0, :1], x[0, 0, :1], 7)] + [put_behind(x, m[0], v) for v in (x[0, 0, 0], x[:, :, :1])]
        + [put_between(x, m[:, 0], v) for v in (x[0, 0, 0], x[0, 0], x[:, :1], x[:, :1, :1])], [normal(2, 3, 4), normal(3, 4) > 0],
    ),
    "reduced at ids": (
        lambda x, i: [torch.zeros(3, 6).scatter_reduce(0, i[:, None].expand_as(x), x, r, include_self=s) for r in ("sum", "mean", "amax")
                      for s in (True, False)], [normal(8, 6), ints(3, 8)],
    ),
    "extremes and means of whole numbers at ids": (
        lambda x, y, i: [x.scatter_reduce(0, i[:, None].expand_as(y), y, r, include_self=s) for r in ("amax", "amin", "mean") for s in (True, False)],
        [ints(9, 4, 6), ints(9, 8, 6) - 4, ints(3, 8)],
    ),
    "extremes that are no numbers at ids": (
        lambda x, y, i: [x.scatter_reduce(1, i.expand_as(y), y, r, include_self=s) for r in ("amax", "amin") for s in (True, False)],
        [X, torch.tensor([-torch.inf, torch.inf, torch.nan, 1.0]).repeat(4, 1), torch.tensor([0, 1, 3, 5])],
    ),
    "counts in intervals": (
        lambda x, i: [torch.histc(x, 5, -1, 1.5), torch.histc(i.float(), bins=7, min=0, max=6), torch.histc(x, 3, 0, 0.5)], [X, ints(9, 20)],
    ),
    "masks that are known": (masks_of_heads, [X]),
    "narrow whole numbers": (
        lambda a, b, u, x: [y for v in (a, b, u) for y in (v + v, v * v - 3, -v, ~v, v << 1, v // 3, v.float() / 255, v.sum(), v.cumsum(0), v > 5, v[1:], v & 6)]
        + [(x * 40).to(torch.int8), (x.abs() * 90).to(torch.uint8), a.to(torch.int16) * 300, a.abs(), u.to(torch.int8), torch.tensor([7], dtype=torch.int8) * a],
        [torch.arange(-128, 127, 20).to(torch.int8), torch.arange(-32768, 32767, 5000).short(), torch.arange(0, 255, 20).to(torch.uint8), X],
    ),
    "narrow whole numbers summed": (
        lambda a, u, i: [y for v in (a, u) for y in (
            v[:, None] @ v[None], v[None] @ v[:, None], v.index_add(0, i, v), v.scatter_add(0, i, v), v.index_put((i,), v, accumulate=True),
            v.scatter_reduce(0, i, v, "sum"), torch.einsum("i,i", v, v))],
        [torch.arange(-128, 127, 20).to(torch.int8), torch.arange(0, 255, 20).to(torch.uint8), ints(3, 13)],
    ),
    "sorted rows": (
        lambda x, y: [torch.searchsorted(x[0], y), torch.searchsorted(x, y, right=True), torch.bucketize(y, x[0])], [normal(4, 6).sort(1).values, Y],
    ),
    "no numbers in order": (
        lambda x: [*x.median(1), x.median(), *x.cummax(1), *x.cummin(1)],
        [torch.tensor([[1.0, torch.nan, 3.0, 2.0], [4.0, 2.0, 2.0, 5.0]])[:, [0, 2, 3, 1]]],
    ),
    "variance of one element": (lambda x: [x[:1, :1].var(), *torch.std_mean(x[:1], 0)], [X]),
    "steps between numbers": (
        lambda x: [torch.linspace(x[0, 0], 3, 7), torch.linspace(4.3, 1, 50, dtype=torch.int32), torch.linspace(x[0, 0], 3, 1)],
        [20 * X],
    ),
    "rounding to decimals": (lambda x: [x.round(decimals=2), (x * 1000).round(decimals=-2), x.round(decimals=400), x.round(decimals=-400)], [X]),
    "orders of minors that are not positive": (
        lambda x: [torch.linalg.cholesky_ex(x).info, torch.linalg.cholesky_ex(x[1], upper=True).info],
        [torch.stack([torch.diag(torch.tensor(d)) for d in ([1.0, 2.0, 3.0], [1.0, 4.0, -1.0], [-1.0, 2.0, 3.0])])],
    ),
    "loss of infinite variances": (
        lambda x, v: [F.gaussian_nll_loss(x, 2 * x, v, reduction="none"), F.gaussian_nll_loss(x, x, v[:, :1], reduction="none")],
        [normal(2, 3), torch.tensor([[torch.inf, 0.0, 1.0], [2.0, torch.nan, torch.inf]])],
    ),
    "orders of minors that are zero": (
        lambda x, y: [torch.linalg.cholesky_ex(x).info, torch.linalg.cholesky_ex(y).info],
        [torch.stack([torch.diag(torch.tensor([1.0, 1.0, 0.0])), torch.tensor([[1.0, 0, 0], [0, 0, 1], [0, 1, 3]]), torch.eye(3)]), torch.zeros(1, 1)],
    ),
    "truth of complex numbers": (
        lambda x, y: [(1j * torch.complex(x, y).real).bool(), torch.complex(x, y).any(1), (z := torch.complex(x, y) * 1j).all(0), z.logical_not(), z.logical_and(x), torch.logical_xor(x, z)],
        [torch.tensor([[0.0, 1, 0, 2], [0, 1, 0, 1]]), torch.tensor([[0.0, 0, 1, 2], [0, 0, 0, 1]])],
    ),
    "signs of imaginary parts that are zero": (
        lambda x: [torch.sqrt(torch.complex(x, torch.tensor([-0.0, 0.0, 0.0, -0.0]))).imag, (x + 0j).conj().angle(), (x + 0j).conj().conj().log().imag], [torch.tensor([-1.0, -2.0, 4.0, 5.0])],
    ),
    "complex numbers divided by zero and by infinity": (
        lambda x: [f for z in (torch.complex(x, 2 * x) / (torch.complex(x, x) * 0), 1 / torch.complex(x / 0, x), torch.complex(x, x) / torch.complex(x, -x / 0), (x / 0) / torch.complex(x, x + 1),
                               torch.complex(x, x) / (3e38 + 3e38j)) for f in (z.real, z.imag)], [torch.tensor([1.0, -2.0])],
    ),
    "divided by zero": (lambda x, i: [x / 0, x / -0.0, x // 0, i / 0, (x * 0) / 0], [X, ints(3, 4)]),
    "infinite logarithms": (lambda x: [torch.logcumsumexp(x, 0)], [torch.tensor([-torch.inf, -torch.inf, 1.0, -200.0, torch.inf, 3.0, torch.inf])]),
    "lengths of any size": (
        lambda x, y: [torch.hypot(x, y), torch.hypot(x * 1e-36, y * 1e-36) * 1e36],
        [torch.tensor([torch.inf, -torch.inf, 0.0, 3.0, -3.0, torch.inf, torch.nan]), torch.tensor([torch.inf, -torch.inf, 0.0, 4.0, 3.0, 1.0, -torch.inf])],
    ),
    "signs": (lambda x: [torch.signbit(x), torch.signbit(x.int()), torch.copysign(torch.ones(4), x), x.sign()], [torch.tensor([-0.0, 0.0, -2.0, 3.0])]),
    "a sign of what is no number": (lambda x: [x.sign(), x.bfloat16().sgn().float()], [torch.tensor([torch.nan, -2.0, torch.inf])]),
    "hyperbolic, close to the largest number": (lambda x: [x.cosh(), x.sinh()], [torch.linspace(-89, 89, 9)]),
    "known counts": (counted, [X]),
    "densities": (lambda x, y: torch.distributions.Normal(x, 2.0).log_prob(y), [X, Y]),
    "finite": (lambda x: [(x / 0).isinf(), (x / x.relu()).isnan(), x.isfinite()], [X]),
    "batch norm of stored statistics": (lambda x: F.batch_norm(x, torch.arange(4.0), torch.arange(1.0, 5)), [normal(3, 4, 5)]),
    "dropout that is off": (lambda x: F.dropout(x, 0.5, training=False), [X]),
    "large constants": (lambda x: [torch.ones(600, 600).tril() @ x, torch.arange(600)[:, None] * torch.arange(600)[None]], [normal(600, 2)]),
}  # fmt: skip


def put_behind(x: Any, mask: Any, v: Any) -> Any:
    made = x.clone()
    made[..., mask] = v
    return made


def put_between(x: Any, mask: Any, v: Any) -> Any:
    made = x.clone()
    made[:, mask] = v
    return made


def put_twice(v: Any) -> Any:
    made = torch.zeros(9)
    made[torch.tensor([1, 1])] = v[:2]
    return made


def parts_at(x: Any, i: Any, j: Any) -> Any:
    parts = (x[i], x[j], x[:, i], x[..., j], x[j, ..., None, 1:3], x[i, j], x[1:, None, i], x.narrow(1, i, 3), torch.narrow(x, 0, j, 2), x[i + j])
    return torch.cat([part.square().flatten() for part in parts])


def set_parts(x: Any, y: Any) -> Any:
    made = torch.zeros(4, 6)
    made[1:3, :4] = x[1:3, :4]
    made[:, 5] = y[:, 0]
    return made + x


def flat(value: Any) -> List[Any]:
    return [t.detach().numpy() for t in (value if isinstance(value, (list, tuple)) else [value])]


def wide(args: List[Any]) -> List[Any]:
    return [a.double() if a.is_floating_point() else a for a in args]


def exact(fn: Callable[..., Any], args: List[Any]) -> Any:
    """What PyTorch itself computes in float64."""
    torch.set_default_dtype(torch.float64)
    try:
        return fn(*wide(args))
    finally:
        torch.set_default_dtype(torch.float32)


class Operations(unittest.TestCase):
    def compare(self, fn: Callable[..., Any], args: List[Any]) -> None:
        traced = from_torch(fn, *args, mesh={"a": 2})
        for got, want, single in zip(evaluate(traced._arrays, {}), flat(exact(fn, args)), flat(fn(*args)), strict=True):
            self.assertEqual(got.shape, want.shape)
            if single.dtype.kind == "f":
                np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
            else:
                np.testing.assert_array_equal(got, single)

    def test_values(self) -> None:
        for name, (fn, args) in {**SMOOTH, **DISCRETE}.items():
            with self.subTest(name):
                self.compare(fn, args)

    def test_complex_inputs_and_outputs(self) -> None:
        """Each is two arrays of the scenario, and one of the function."""

        def loss(z: Any, w: Any) -> Any:
            made = torch.fft.fft(z) @ w
            return made.abs().sum(), made

        w = torch.complex(normal(6, 3), normal(6, 3, seed=2))
        traced = from_torch(loss, Z, w, mesh={"a": 2}, rules=[("z", ("a",))], grad=True)
        self.assertEqual(traced._names[3:], [*(f"gradient.{n}.{p}" for n in "zw" for p in ("real", "imag"))])
        self.assertEqual(traced.scenario()["params"][0][:2], ["^(z[.]real|z[.]imag)$", ["a", None]])
        leaves = [v.to(torch.complex128).requires_grad_() for v in (Z, w)]
        total, made = loss(*leaves)
        total.backward()
        got = evaluate(traced._arrays, {})
        for want, pair in zip((made.detach(), *(v.grad for v in leaves)), (got[1:3], got[3:5], got[5:7]), strict=True):
            np.testing.assert_allclose(pair[0] + 1j * pair[1], want.numpy(), rtol=1e-5, atol=1e-5)

    def test_constants_of_complex_numbers(self) -> None:
        turns = torch.polar(torch.ones(4, 3), normal(4, 3))

        def rotate(x: Any) -> Any:
            return torch.view_as_real(torch.view_as_complex(x.unflatten(1, (3, 2))) * turns).flatten(1)

        self.compare(rotate, [X])

    def test_a_transform_by_three_factors(self) -> None:
        """Numbers along an axis of two factors, also of equal ones, are sums of those along the factors."""
        with mock.patch("shardsim.trace.fourier.DIRECT_MOST", 4):
            for n in (60, 64):
                x = normal(2, n)
                ran = from_torch(lambda x: torch.fft.ifft(x, norm="forward"), x, mesh={"a": 2}, rules=[("x", ("a",))]).run()
                np.testing.assert_allclose(ran.outputs, torch.fft.ifft(x, norm="forward").resolve_conj().numpy(), atol=1e-5)
                self.assertEqual(ran.outputs.dtype, np.complex64)

    def test_a_part_of_what_was_put_together(self) -> None:
        """No line is left of a concatenation, or of padding, of which one operand is read."""
        p = Program("parts")
        x, y = (p.leaf(name, (2, size), "float32") for name, size in (("x", 3), ("y", 4)))
        both = p.concat([x, y], 1)
        self.assertIs(p.slice(both, 1, 3, 4), y)
        self.assertEqual(p.slice(both, 1, 2, 4).op, "along")
        self.assertEqual(p.slice(both, 0, 1, 1).inputs, (both,))
        wide = p.pad(x, 1, 2, 3, 0.5)
        self.assertIs(p.slice(wide, 1, 2, 3), x)
        self.assertEqual(p.slice(wide, 1, 3, 2).attrs["options"], {"start": 1})
        self.assertEqual([uniform(p.slice(wide, 1, at, 2)) for at in (0, 5)], [0.5, 0.5])
        self.assertEqual(p.slice(wide, 1, 1, 2).inputs, (wide,))

    def test_floor_of_a_quotient(self) -> None:
        numbers = [float("inf"), float("-inf"), float("nan"), 0.0, 1.0, -1.0, 2.5, -7.0, 0.1, 1000.0, 3.0]
        a, b = (torch.tensor(numbers).repeat_interleave(11), torch.tensor(numbers * 11))
        divided: List[Callable[..., Any]] = [
            lambda x, y: x // y,
            lambda x, y: torch.div(x, y, rounding_mode="floor"),
            lambda x, y: x // 0.1,
        ]
        for kind in (torch.float32, torch.float64, torch.bfloat16):
            for fn in divided:
                x, y = a.to(kind), b.to(kind)
                (got,) = evaluate(from_torch(fn, x, y, mesh={"a": 1})._arrays, {})
                np.testing.assert_array_equal(np.asarray(got, "float64"), fn(x, y).double().numpy())

    def test_functions_of_16_bits_are_computed_in_float32(self) -> None:
        for kind, digits in ((torch.bfloat16, 2**-7), (torch.float16, 2**-9)):
            for fn in (torch.lgamma, torch.digamma, torch.asinh, torch.erfinv, partial(torch.round, decimals=5)):
                x = torch.linspace(0.3, 0.99, 40).to(kind)
                (got,) = evaluate(from_torch(fn, x, mesh={"a": 1})._arrays, {})
                np.testing.assert_allclose(got, fn(x).double().numpy(), rtol=digits, atol=digits)

    def test_steps_of_16_bits_are_computed_in_float32(self) -> None:
        for kind, digits in ((torch.bfloat16, 2**-8), (torch.float16, 2**-11)):
            (got,) = evaluate(from_torch(lambda x: torch.linspace(x[0], x[1], 3001, dtype=x.dtype), torch.tensor([0.0, 3.0]).to(kind), mesh={"a": 1})._arrays, {})
            np.testing.assert_allclose(got, np.linspace(0, 3, 3001), rtol=1.001 * digits)

    def test_weights_of_windows_have_the_precision_of_the_array(self) -> None:
        x = normal(2, 3, 8).double()
        pools: List[Callable[..., Any]] = [lambda x: F.adaptive_avg_pool1d(x, 5), lambda x: F.interpolate(x, size=13, mode="linear")]
        for pool in pools:
            (got,) = evaluate(from_torch(pool, x, mesh={"a": 1})._arrays, {})
            np.testing.assert_allclose(got, pool(x).numpy(), rtol=1e-12, atol=1e-14)

    def test_arrays_without_elements_are_told_at_their_line(self) -> None:
        x, weight = torch.ones(0, 2, 5), torch.ones(3, 2, 2)
        for convolve in (lambda x, w: F.conv1d(x, w).sum(), lambda x, w: F.conv_transpose1d(x, w.transpose(0, 1)).sum()):
            with self.assertRaisesRegex(InputError, r"test_torch[.]py:\d+: gradient[.]x is an array without elements, of \[0, 2, 5\]"):
                from_torch(convolve, x, weight, mesh={"a": 1}, grad=True)

    def test_a_diagonal_is_compared_by_places(self) -> None:
        """Without a mask of all elements as a constant."""
        traced = from_torch(lambda x, y: torch.diagonal_scatter(x, y[0, :3], -1, 0, 1), X, Y, mesh={"a": 2})
        self.assertNotIn("constant", {key for a in needed_by(traced._arrays).values() for key in a.attrs})

    def test_what_pytorch_does_not_trace_has_its_line(self) -> None:
        with self.assertRaisesRegex(InputError, r"test_torch[.]py:\d+: PyTorch does not trace this: lshift"):
            from_torch(lambda x: x << 3, torch.tensor([True, False]), mesh={"a": 1})

    def test_matmuls_of_groups(self) -> None:
        x, y, w = normal(4, 8), normal(4, 8, seed=1), normal(3, 8, 4)
        ends = [torch.tensor(n, dtype=torch.int32) for n in ([1, 1, 4], [2, 6, 8])]
        cases: List[Case] = [
            (lambda x, w: F.grouped_mm(x, w, offs=ends[0]), [x, w]),
            (lambda x, y: F.grouped_mm(x, y.t(), offs=ends[1]), [x, y]),
            (lambda w, y: F.grouped_mm(w.transpose(1, 2), y.t(), offs=ends[0]), [w, y]),
            (lambda w, v: F.grouped_mm(w, v.transpose(1, 2)), [w, normal(3, 8, 4, seed=1)]),
        ]
        for k, (fn, args) in enumerate(cases):
            with self.subTest(k):
                values = evaluate(from_torch(lambda *a: fn(*a).square().sum(), *args, mesh={"a": 2}, grad=True)._arrays, {})
                leaves = [a.clone().requires_grad_() for a in args]
                (made := fn(*leaves).square().sum()).backward()
                for got, want in zip(values, [made, *(leaf.grad for leaf in leaves)], strict=True):
                    np.testing.assert_allclose(got, want.detach().numpy(), rtol=1e-4, atol=1e-5)

    def test_parts_written_in_place_are_slices(self) -> None:
        """Slices keep the array's sharding; places in the storage would be gathered."""
        traced = from_torch(lambda x, y: written_parts(x * 2, y).square().sum(), X, Y, mesh={"a": 2}, grad=True)
        self.assertFalse({"embed", "embed_add"} & {a.op for a in needed_by(traced._arrays).values()})

    def test_example_ids_are_not_taken_for_known(self) -> None:
        fns: List[Callable[..., Any]] = [
            lambda x, i: x.new_zeros(4, 6).scatter(1, i, x), lambda x, i: x.new_ones(4, 6).scatter(1, i, x),
            lambda x, i: x.new_zeros(4, 6).index_put((i[:, 0],), x), lambda x, i: x[i[:, 0]],
        ]  # fmt: skip
        for fn in fns:
            ids = [torch.arange(6).repeat(4, 1), torch.zeros(4, 6).long(), torch.arange(4)[:, None].repeat(1, 6), torch.empty(4, 6, device="meta").long()]
            found = {str(from_torch(fn, X, i, mesh={"a": 2}).scenario()["graph"]) for i in ids[:3]}
            self.assertEqual(found, {str(from_torch(fn, X.to("meta"), ids[3], mesh={"a": 2}).scenario()["graph"])})

    def test_places_in_the_storage_of_a_large_array(self) -> None:
        """What a view costs depends on its own size; elements before or behind the array are refused."""
        with torch.device("meta"):
            x = torch.empty(1 << 20, 1 << 20)
        traced = from_torch(lambda x: torch.as_strided(x * 2, (2, 3), (4, 8), 1), x, mesh={"a": 2})
        self.assertEqual(traced._arrays[0].shape, (2, 3))
        for part, offset in ((slice(1, 4), 5), (slice(0, 3), 12), ((slice(2, 4), slice(0, 4)), 0), ((slice(0, 4), slice(0, 4)), 3)):
            with self.subTest(part), self.assertRaisesRegex(InputError, "outside it"):
                from_torch(lambda x: (x * 2)[part].as_strided((2, 2), (6, 1), offset), X, mesh={"a": 2})

    def test_what_stops_a_trace_is_told_in_a_sentence(self) -> None:
        """With its line; PyTorch's own text is in the exception's cause."""
        around, ids = torch.zeros(6), ints(5, 4)
        value = "what is computed depends on a tensor's value"
        cases: Dict[str, Case] = {
            value: (lambda x: x * 2 if x.sum() > 0 else x, [X]),
            f"{value}, ": (lambda x: x.split(int(x[0, 0]) + 1), [X]),
            "'aten.arange.default' makes an array whose size depends on values": (lambda i: torch.arange(i[0]), [ids]),
            "reading a tensor's value while tracing": (lambda x: x * sum(x[0].tolist()), [X]),
            "a tensor is converted to numpy": (lambda x: x + torch.from_numpy(np.sin(x.detach().numpy())), [X]),
            "a tensor is changed in place that is no argument": (lambda x: around.add_(x.sum(0)) * 1, [X]),
            "PyTorch does not trace this: .* same reduction dim": (lambda x: x @ x, [X]),
            "IndexError: index 7 is out of bounds": (lambda x: x[7], [X]),
            "IndexError: Dimension out of range (expected to be in range of [-2, 1], but got 5)": (lambda x: x.sum(5), [X]),
            "ValueError: var is of incorrect size": (lambda x: F.gaussian_nll_loss(x, x, torch.tensor(2.0)), [X]),
            "var is of incorrect size": (lambda x: F.gaussian_nll_loss(x, x, x[0, :1]), [X]),
            "ValueError: median is not valid": (lambda x: F.gaussian_nll_loss(x, x, x, reduction="median"), [X]),
            "the program fails while it is traced: KeyError: 'a'": (lambda x: {"b": 1}["a"] * x, [X]),
            "PyTorch does not trace 'native_batch_norm_helper' of these arguments": (
                lambda x: torch.native_batch_norm(x[:1, :1], None, None, torch.ones(1), torch.ones(1), True, 0.5, 1e-5)[0], [X]),
            "sums of scores of an attention kernel": (
                lambda x: torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(*[x[None, None]] * 3, 0.0)[1] * 2, [X]),
            "steps of whole numbers between computed ends": (lambda x: torch.linspace(x[0, 0], 3, 5, dtype=torch.int64), [X]),
            "interpolation by bicubic": (lambda x: F.interpolate(x[None, None], (5, 5), mode="bicubic"), [X]),
            "indices of max pooling as an array": (lambda x: F.max_pool1d(x, 2, return_indices=True), [X]),
            "resize_ of a view to more elements": (lambda x: x[:2].resize_(9, 9), [X]),
            "random numbers ('_standard_gamma') whose parameters depend on inputs": (lambda x: torch.distributions.Gamma(x.exp(), 1.0).rsample(), [X]),
            "'aten.cumprod.default' of complex numbers is not supported": (lambda x: torch.complex(x, x).cumprod(1).abs(), [X]),
            "'aten.asin.default' of complex numbers is not supported": (lambda x: torch.complex(x, x).asin().abs(), [X]),
            "istft of win_length=9, of 1 to n_fft=8": (lambda x: torch.istft(torch.complex(x[:, :5], x[:, :5])[:1].mT, 8, 2, 9), [X]),
            "istft of win_length=0": (lambda x: torch.istft(torch.complex(x[:, :5], x[:, :5])[:1].mT, 8, 2, 0), [X]),
            "istft of hop_length=0": (lambda x: torch.istft(torch.complex(x[:, :5], x[:, :5])[:1].mT, 8, 0), [X]),
            "linalg.det of complex matrices": (lambda x: torch.linalg.det(torch.complex(x[:, :4], x[:, 2:])).abs(), [X]),
            "a Fourier transform of 2053 points, a number without divisors; pad with zeros to 4096 points":
                (lambda x: torch.fft.fft(x.sum() * torch.ones(2053)).abs(), [X]),
            "the bits of torch.float32 as torch.int32": (lambda x: x.view(torch.int32), [X]),
            "'cond' is not supported": (lambda x: torch.cond(x.sum() > 0, lambda v: v + 1, lambda v: v - 1, (x,)), [X]),
            "an array of 13 dimensions, of 12 at most": (lambda x: x.repeat(512, 1).reshape([2] * 10 + [2, 2, 3]).permute(12, *range(12)).exp(), [X]),
            f"{value}, which is not known": (lambda x: x.take(ids[0]) + x.take(x[0, 0].long()), [X]),
            f"{value}, which is": (lambda x: x.tensor_split(x[0, :2].long()), [X]),
            "random numbers ('_standard_gamma') whose parameters depend on inputs, or are too many": (
                lambda x: x * torch._standard_gamma(torch.ones(1 << 11, 1 << 10)).sum(), [X]),
            "random numbers of the program's own generator": (lambda x: x * torch.poisson(torch.ones(6), GENERATOR), [X]),
            "random numbers of the program's own generator; torch.manual_seed": (lambda x: x * torch.empty(6).uniform_(generator=GENERATOR), [X]),
            r"\blogdet: .*must be square": (lambda x: torch.logdet(x), [X]),
            "linalg.inv: the matrices must be square, but their sizes are [4, 6]": (lambda x: torch.linalg.inv(x), [X]),
            "check_errors, which looks at the matrix": (lambda x: torch.linalg.inv_ex(x[:, :4], check_errors=True)[0], [X]),
            "a factor whose matrix is looked at": (lambda x: torch.linalg.ldl_factor(x[:, :4])[0], [X]),
        }
        for wanted, (fn, args) in cases.items():
            with self.subTest(wanted):
                with self.assertRaisesRegex(InputError, rf"test_torch[.]py:{fn.__code__.co_firstlineno}: .*{re.escape(wanted) if '.*' not in wanted else wanted}"):
                    from_torch(fn, *args, mesh={"a": 2})
        with self.assertRaisesRegex(InputError, "returns no tensor"):
            from_torch(lambda x: None, X, mesh={"a": 2})

    def test_the_way_back_is_told_at_the_call(self) -> None:
        def modified(x: Any) -> Any:
            y = x.exp()
            y.add_(1)
            return y.sum()

        with self.assertRaisesRegex(InputError, r"test_torch[.]py:\d+: PyTorch does not trace this: .* modified by an inplace operation"):
            from_torch(modified, X, mesh={"a": 2}, grad=True)

    def test_a_handler_that_fails_is_told(self) -> None:
        with mock.patch.dict(HANDLERS, {"sin": lambda c: c.nothing}):
            with self.assertRaisesRegex(InputError, r"test_torch[.]py:\d+: 'aten.sin.default' is not read with these arguments"):
                from_torch(lambda x: x.sin(), X, mesh={"a": 2})

    def test_outputs_that_are_no_tensors(self) -> None:
        traced = from_torch(lambda x: {"loss": x.sum(), "name": "text", "none": None, "more": [3, x * 2]}, X, mesh={"a": 2})
        values = traced._rebuild(evaluate(traced._arrays, {}))
        self.assertEqual((values["name"], values["none"], values["more"][0]), ("text", None, 3))
        np.testing.assert_allclose(values["more"][1], 2 * X.numpy())

    def test_places_of_gradients(self) -> None:
        """A gradient's op has the line of its forward op, also inside a checkpoint."""

        def loss(x: Any, y: Any) -> Any:
            z = x.sin()
            return checkpoint(lambda v: v.exp() * y, z, use_reentrant=False).sum()

        first = loss.__code__.co_firstlineno
        arrays = needed_by(from_torch(loss, X, Y, mesh={"a": 2}, grad=True)._arrays).values()
        lines = {(a.attrs["fn"], int(a.where.rpartition(":")[2]) - first) for a in arrays if a.op == "map"}
        self.assertEqual(lines, {("sin", 1), ("cos", 1), ("exp", 2), ("mul", 1), ("mul", 2)})

    def test_gradients(self) -> None:
        for name, (fn, args) in SMOOTH.items():
            with self.subTest(name):

                def loss(*inputs: Any, fn: Callable[..., Any] = fn) -> Any:
                    made = fn(*inputs)
                    return (made * ((7 * torch.arange(made.numel()) % 11) / 8 - 0.5).reshape(made.shape)).sum()

                traced = from_torch(loss, *args, mesh={"a": 2}, grad=True)
                values = evaluate(traced._arrays, {})
                leaves = [a.requires_grad_() for a in wide(args)]
                exact(loss, leaves).backward()
                for got, leaf in zip(values[1:], leaves, strict=True):
                    np.testing.assert_allclose(got, leaf.grad.numpy(force=True), rtol=1e-5, atol=2e-6)


class Embedded(nn.Module):  # type: ignore[misc]
    """Tied weights, a buffer, nested arguments, an attribute that is updated."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(16, 8)
        self.norm = nn.BatchNorm1d(5)
        self.head = nn.Linear(8, 16, bias=False)
        self.head.weight = self.embed.weight
        self.frozen = nn.Parameter(torch.ones(8), requires_grad=False)
        self.register_buffer("mask", torch.ones(5, 5).tril())

    def forward(self, batch: Dict[str, Any], scale: float = 1.0) -> Dict[str, Any]:
        x = self.mask @ self.norm(self.embed(batch["ids"]) * self.frozen * scale)
        return {"loss": F.cross_entropy(self.head(x).flatten(0, 1), batch["ids"].flatten()), "x": x}


class Random(nn.Module):  # type: ignore[misc]
    def forward(self, x: Any) -> Any:
        y = torch.linalg.eigvalsh(x @ x.mT)[:1]  # the first line that is told
        return torch.bernoulli(y.sigmoid()) + x.sum().item()


@contextlib.contextmanager
def a_process_group(devices: int, rank: int) -> Iterator[None]:
    """A process group whose other ranks do not exist."""
    torch.distributed.init_process_group("fake", rank=rank, world_size=devices, store=FakeStore())
    try:
        yield
    finally:
        torch.distributed.destroy_process_group()


class Remembers(nn.Module):  # type: ignore[misc]
    """Keeps a table, and counts."""

    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(6, 6)
        self.table: Any = None
        self.seen: Dict[str, Any] = {"calls": 0, "shapes": [], "names": set()}

    def forward(self, x: Any) -> Any:
        if self.table is None or self.table.shape[0] != x.shape[-1]:
            self.table = torch.arange(float(x.shape[-1]), device=x.device)
        self.seen["calls"] += 1
        self.seen["shapes"].append(x)
        self.seen["names"].add("x")
        self.seen[f"{len(self.seen)}"] = self.up.scratch = x * 2
        self.eval()
        return self.up(x) + self.table


def loss_of(module: Any, x: Any, y: Any) -> Any:
    return F.mse_loss(module(x), y)


class Scale(nn.Module):  # type: ignore[misc]
    """By one number."""

    def __init__(self) -> None:
        super().__init__()
        self.by = nn.Parameter(torch.tensor(1.5))

    def forward(self, x: Any) -> Any:
        return x * self.by


class Spectral(nn.Module):  # type: ignore[misc]
    """A factor for each frequency."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.randn(4, dtype=torch.cfloat))

    def forward(self, x: Any) -> Any:
        return torch.fft.irfft(torch.fft.rfft(x) * self.w, n=x.shape[-1])


class Trainer:
    """A step as a method: clipped gradients, an optimizer, a schedule."""

    def __init__(self, optimizer: Callable[..., Any]) -> None:
        torch.manual_seed(0)
        self.net = nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 6), Scale())
        self.opt = optimizer(self.net.parameters(), lr=0.1)
        self.plan = torch.optim.lr_scheduler.StepLR(self.opt, 1)

    def step(self, x: Any, y: Any) -> Any:
        self.opt.zero_grad()
        loss = loss_of(self.net, x, y)
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), 0.2)
        self.opt.step()
        self.plan.step()
        return loss

    def by_hand(self, x: Any, y: Any) -> Any:
        loss = loss_of(self.net, x, y)
        self.net.zero_grad()
        loss.backward()
        with torch.no_grad():
            for p in self.net[0].parameters():
                p -= 0.1 * p.grad
        return loss

    def own(self) -> Dict[str, Any]:
        """Parameters and states, but for counters of steps."""
        made = {f"net.{name}": p.detach().clone() for name, p in self.net.named_parameters()}
        for name, p in self.net.named_parameters():
            made.update((f"opt.{k}.net.{name}", v.clone()) for k, v in self.opt.state[p].items() if torch.is_tensor(v) and k != "step")
        return made


#: What functions find by its name.
LAYER = nn.Linear(6, 6)
OPTIMIZER = torch.optim.SGD(LAYER.parameters(), lr=0.1)
SCHEDULE = torch.optim.lr_scheduler.StepLR(OPTIMIZER, 1)


def step_of_functions(x: Any, y: Any) -> Any:
    (loss := loss_of(LAYER, x, y)).backward()
    step_all()
    return loss


def step_all() -> None:
    def last() -> None:
        SCHEDULE.step()

    OPTIMIZER.step()
    last()


class Noisy(nn.Module):  # type: ignore[misc]
    """Dropout, also of transposed arrays, and other random numbers, in a part that is recomputed or not."""

    def __init__(self, recomputed: bool) -> None:
        super().__init__()
        self.up = nn.Linear(6, 6)
        self.recomputed = recomputed

    def part(self, x: Any) -> Any:
        x = F.dropout(self.up(x).t(), 0.4).t() + torch.randn_like(x) * torch.rand(6, device=x.device)
        return F.alpha_dropout(x, 0.3, training=True) * torch.randint(3, (4, 6), device=x.device) + torch.empty_like(x).uniform_(1, 2)

    def forward(self, x: Any) -> Any:
        x = self.up(x)
        return (checkpoint(self.part, x, use_reentrant=False) if self.recomputed else self.part(x)).square().sum()


class Reshapes(unittest.TestCase):
    def test_axes_of_many_factors(self) -> None:
        """Halved again and again, two axes would have more factors than an array has dimensions."""

        def pyramid(x: Any, w: Any) -> Any:
            for _ in range(5):
                x = F.max_pool2d(F.conv2d(x, w, padding=1, groups=3), 2)
            return x

        args = [normal(2, 3, 64, 64), normal(3, 1, 3, 3)]
        traced = from_torch(pyramid, *args, mesh={"a": 2})
        np.testing.assert_allclose(evaluate(traced._arrays, {})[0], pyramid(*args).numpy(), rtol=1e-4, atol=1e-3)
        ranks = [len(re.findall(r"[^,]+", line.partition("[")[2].partition("]")[0])) for line in traced._writer.lines]
        self.assertLessEqual(max(ranks), 12)


class Steps(unittest.TestCase):
    """Training steps that use a module and an optimizer from around them."""

    def compare(self, trainer: Trainer, step: Callable[..., Any], **options: Any) -> Any:
        """What a step returns and changes, and that the trace changes nothing."""
        before, rate = trainer.own(), trainer.opt.param_groups[0]["lr"]
        traced = from_torch(step, X, Y, mesh={"a": 2}, **options)
        for name, tensor in trainer.own().items():
            self.assertTrue(torch.equal(tensor, before[name]), name)
        self.assertEqual((trainer.opt.param_groups[0]["lr"], set(trainer.own())), (rate, set(before)))
        values = evaluate(traced._arrays, {})
        np.testing.assert_allclose(values[0], step(X, Y).item(), rtol=1e-5)
        changed = {name: t for name, t in trainer.own().items() if name not in before or not torch.equal(t, before[name])}
        self.assertEqual(set(traced._updated), set(changed))
        for name, at in traced._updated.items():
            np.testing.assert_allclose(values[at], changed[name].numpy(), rtol=1e-4, atol=1e-6, err_msg=name)
        return traced

    def test_optimizers(self) -> None:
        """Of one kernel and of many tensors at once as well; a first step, and one with states."""
        algorithms: Dict[str, Tuple[Any, Dict[str, Any]]] = {
            "AdamW": (torch.optim.AdamW, {}), "fused AdamW": (torch.optim.AdamW, {"fused": True}),
            "AdamW of many": (torch.optim.AdamW, {"foreach": True, "amsgrad": True}),
            "SGD": (torch.optim.SGD, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
            "fused SGD": (torch.optim.SGD, {"fused": True, "momentum": 0.9}), "Adagrad": (torch.optim.Adagrad, {}),
            "RMSprop": (torch.optim.RMSprop, {"foreach": True}), "Adamax": (torch.optim.Adamax, {}),
            "Adafactor": (torch.optim.Adafactor, {"weight_decay": 0.1}),
        }  # fmt: skip
        for name, (kind, options) in algorithms.items():
            with self.subTest(name):
                trainer = Trainer(partial(kind, **options))
                for _ in range(2):
                    self.compare(trainer, trainer.step)

    def test_random_numbers(self) -> None:
        """Equal to PyTorch's from the same seed; without values if the module is on the device meta."""
        for recomputed in (False, True):
            module = Noisy(recomputed)
            torch.manual_seed(7)
            traced = from_torch(module, X, mesh={"a": 2}, grad=True)
            values = evaluate(traced._arrays, {})
            (loss := module(X)).backward()
            np.testing.assert_allclose(values[0], loss.item(), rtol=1e-5)
            for name, p in module.named_parameters():
                np.testing.assert_allclose(values[traced._gradients[name]], p.grad.numpy(), rtol=1e-4, atol=1e-5)
        counts = torch.tensor([0.5, 2.0, 7.0])

        def counted(x: Any) -> Any:
            many = torch.distributions
            return x[:, :3] * many.Gamma(counts, 2.0).rsample((4,)) + many.Beta(2.0, 0.5).sample((4, 3)) + torch.poisson(counts) + torch.rand(3)

        torch.manual_seed(7)
        values = evaluate(from_torch(counted, X, mesh={"a": 2})._arrays, {})
        torch.manual_seed(7)
        np.testing.assert_allclose(values[0], counted(X).numpy(), rtol=1e-6)
        with torch.device("meta"):
            small, x = Noisy(False), torch.empty(4, 6)
        traced = from_torch(small, x, mesh={"a": 2}, grad=True)
        self.assertIn("random", {name.partition(".")[0] for name in traced._leaves})

    def test_an_optimizer_of_complex_parameters(self) -> None:
        """A state is complex like its parameter."""
        torch.manual_seed(0)
        net = Spectral()
        opt = torch.optim.Adam(net.parameters(), lr=0.1)

        def step(x: Any) -> Any:
            opt.zero_grad()
            loss = net(x).square().mean()
            loss.backward()
            opt.step()
            return loss

        for _ in range(2):  # a first step, and one with states
            ran = from_torch(step, X, mesh={"a": 2}, rules=[("x", ("a",))]).run()
            np.testing.assert_allclose(ran.outputs, step(X).item(), rtol=1e-5)
            names = {"net.w": net.w, **{f"opt.{key}.net.w": opt.state[net.w][key] for key in ("exp_avg", "exp_avg_sq")}}
            self.assertEqual(set(ran.updated), set(names))
            for name, want in names.items():
                np.testing.assert_allclose(ran.updated[name], want.detach().numpy(), rtol=1e-3, atol=1e-5)

    def test_by_hand(self) -> None:
        trainer = Trainer(torch.optim.SGD)
        self.assertEqual(set(self.compare(trainer, trainer.by_hand)._updated), {"net.0.weight", "net.0.bias"})

    def test_rows_that_a_lookup_makes_shorter(self) -> None:
        """They stay so."""
        trainer = Trainer(torch.optim.SGD)
        net = trainer.net.append(nn.Embedding(8, 6, max_norm=1.0))
        self.compare(trainer, lambda x, y: (net[4](torch.tensor([1, 5, 5])).sum(0) * x).square().sum())

    def test_called_functions(self) -> None:
        """The trace restores a schedule of which only a called function has the name."""
        traced = from_torch(step_of_functions, X, Y, mesh={"a": 2})
        self.assertEqual(set(traced._updated), {"LAYER.weight", "LAYER.bias"})
        self.assertEqual((OPTIMIZER.param_groups[0]["lr"], SCHEDULE.last_epoch), (0.1, 0))

    def test_a_copy_of_another_parameter(self) -> None:
        trainer, average = Trainer(torch.optim.SGD), nn.Linear(6, 8)
        net = trainer.net

        def step(x: Any, y: Any) -> Any:
            with torch.no_grad():
                net[0].weight.copy_(average.weight)
            return loss_of(net, x, y)

        self.compare(trainer, step)

    def test_layouts_of_states(self) -> None:
        """As the parameter's, or by their own rule, which a state of one number does without."""
        trainer = Trainer(torch.optim.AdamW)
        for _ in range(2):
            rules = [("exp_avg_sq.net.0.weight", (None, "a")), ("^net.0.weight$", ("a",)), ("exp_avg.*net.3", ("a",))]
            traced = self.compare(trainer, trainer.step, rules=rules)
            specs = {name: traced._arrays[at].attrs.get("spec", ()) for name, at in traced._updated.items()}
            self.assertEqual(specs["net.0.weight"], ("a",))
            self.assertEqual(specs["opt.exp_avg.net.0.weight"], ("a",))
            self.assertEqual(specs["opt.exp_avg_sq.net.0.weight"], (None, "a"))
            self.assertEqual(specs["opt.exp_avg.net.2.weight"], ())
        leaves = {leaf.array.attrs["path"]: leaf.array.attrs["spec"] for leaf in traced._leaves.values()}
        self.assertEqual(leaves["opt.exp_avg.net.0.weight"], ("a",))

    def test_an_optimizer_of_the_arguments(self) -> None:
        def step(w: Any, x: Any, y: Any) -> Any:
            w = w.detach().clone().requires_grad_()
            optimizer = torch.optim.AdamW([w], lr=0.1)
            (loss := F.mse_loss(x @ w, y)).backward()
            optimizer.step()
            return loss, w

        args = [normal(6, 6), X, Y]
        for got, want in zip(evaluate(from_torch(step, *args, mesh={"a": 2})._arrays, {}), step(*args), strict=True):
            np.testing.assert_allclose(got, want.detach().numpy(), rtol=1e-4, atol=1e-6)


class Modules(unittest.TestCase):
    def test_left_as_it_was(self) -> None:
        """Attributes, containers, modes, gradients and random numbers, also where the trace fails."""
        module, x = Remembers(), normal(4, 6)
        module.up.weight.grad = before = torch.ones(6, 6)
        torch.manual_seed(3)
        wanted = torch.rand(2)
        asked: List[Callable[..., Any]] = [module, lambda x: module(x) + torch.rand(4, 6), lambda x: module(x).item(), lambda x: 1 / 0]
        for fn in asked:
            torch.manual_seed(3)
            with contextlib.suppress(InputError, ZeroDivisionError, RuntimeError):
                from_torch(fn, x, mesh={"a": 2})
            np.testing.assert_array_equal(torch.rand(2), wanted)
            self.assertIsNone(module.table)
            self.assertEqual(module.seen, {"calls": 0, "shapes": [], "names": set()})
            self.assertFalse(hasattr(module.up, "scratch"))
            self.assertTrue(module.training and module.up.training)
            self.assertIs(module.up.weight.grad, before)
        again = evaluate(from_torch(module, x, mesh={"a": 2})._arrays, {})
        np.testing.assert_allclose(again[0], module(x).detach().numpy(), rtol=1e-5, atol=1e-6)

    def test_types_are_kept(self) -> None:
        traced = from_torch(lambda x, i: (x * 3, i * 2, x.argmax(1)), torch.ones(2, 2).double(), ints(5, 2), mesh={"a": 2})
        self.assertEqual([a.dtype for a in traced._arrays], ["float64", "int64", "int64"])

    def test_module(self) -> None:
        module, batch = Embedded(), {"ids": ints(16, 3, 5)}
        rules: List[Tuple[str, List[Any]]] = [("weight", ["a"]), ("ids", [None, ["a"]])]
        traced = from_torch(module, batch, mesh={"a": 1}, rules=rules, grad=True, kwargs={"scale": 0.5})
        leaves = {leaf.array.attrs["path"]: leaf.array.attrs["spec"] for leaf in traced._leaves.values()}
        self.assertEqual(leaves["embed.weight"], ("a",))
        self.assertEqual(leaves["batch.ids"], (None, ("a",)))
        self.assertEqual(leaves["mask"], ())
        before = {name: b.clone() for name, b in module.named_buffers()}
        values = evaluate(traced._arrays, {})
        wanted = module(batch, scale=0.5)
        wanted["loss"].backward()
        np.testing.assert_allclose(values[0], wanted["loss"].item(), rtol=1e-5)
        np.testing.assert_allclose(values[1], wanted["x"].detach().numpy(), rtol=1e-4, atol=1e-5)
        learned = {name: p for name, p in module.named_parameters() if p.requires_grad}
        self.assertEqual(set(traced._gradients), set(learned))
        for name, at in traced._gradients.items():
            np.testing.assert_allclose(values[at], learned[name].grad.numpy(), rtol=1e-3, atol=1e-5)
        self.assertTrue(torch.equal(before["norm.running_mean"], torch.zeros(5)))

    def test_recurrent_layers_and_attention(self) -> None:
        x = normal(2, 5, 16)
        for module in (
            nn.LSTM(16, 4, batch_first=True),
            nn.GRU(16, 4, 2),
            nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True),
        ):
            with self.subTest(type(module).__name__):
                traced = from_torch(module, x, mesh={"a": 2})
                fused = [line for line in traced.scenario()["graph"]["ops"] if "= attention(" in line]
                self.assertEqual(len(fused), int(isinstance(module, nn.TransformerEncoderLayer)))
                wanted = torch.utils._pytree.tree_leaves(module(x))
                for got, want in zip(evaluate(traced._arrays, {}), wanted, strict=True):
                    np.testing.assert_allclose(got, want.detach().numpy(), rtol=1e-4, atol=1e-5)

    @unittest.skipUnless(importlib.util.find_spec("transformers"), "transformers is not installed")
    def test_experts_of_transformers(self) -> None:
        """As they are without options: matmuls of groups of rows; the layers are recomputed, in both ways of PyTorch."""
        from transformers import MixtralConfig, MixtralForCausalLM

        sizes = {"vocab_size": 16, "hidden_size": 8, "intermediate_size": 12, "num_hidden_layers": 1, "num_attention_heads": 2}
        ids = ints(16, 2, 5)
        for reentrant in (False, True):
            model = MixtralForCausalLM(MixtralConfig(**sizes, num_key_value_heads=1, num_local_experts=3))
            model.gradient_checkpointing_enable({"use_reentrant": reentrant})
            options = {"labels": ids, "use_cache": False, "return_dict": False}
            traced = from_torch(model, ids, mesh={"a": 2}, grad=True, kwargs=options)
            values = evaluate(traced._arrays, {})
            (loss := model(ids, **options)[0]).backward()
            np.testing.assert_allclose(values[0], loss.item(), rtol=1e-5)
            for name, p in model.named_parameters():
                np.testing.assert_allclose(values[traced._gradients[name]], p.grad.numpy(), rtol=1e-3, atol=1e-6)

    def test_a_compiled_module(self) -> None:
        module = nn.Linear(6, 3)
        (got,) = evaluate(from_torch(torch.compile(module), X, mesh={"a": 2})._arrays, {})
        np.testing.assert_allclose(got, module(X).detach().numpy(), rtol=1e-5, atol=1e-6)

    def test_rules_of_a_tp_plan(self) -> None:
        module = nn.ModuleDict({"up": nn.Linear(8, 16), "down": nn.Linear(16, 8), "norm": nn.LayerNorm(8)})
        model = nn.Sequential(nn.Sequential(*module.values()), nn.Linear(8, 4))
        rules = rules_of_tp_plan({"*.0": "colwise", "*.1": "rowwise", "*.2": "sequence_parallel"})
        traced = from_torch(model, normal(2, 8), mesh={"tp": 2}, rules=rules)
        specs = {leaf.array.attrs["path"]: leaf.array.attrs["spec"] for leaf in traced._leaves.values()}
        wanted = {"0.0.weight": ("tp",), "0.0.bias": ("tp",), "0.1.weight": (None, "tp"), "0.1.bias": (), "0.2.weight": ()}
        self.assertEqual({path: specs[path] for path in wanted}, wanted)
        self.assertEqual(specs["1.weight"], ())
        experts = nn.ParameterDict({"up": torch.ones(3, 8, 4), "down": torch.ones(3, 4, 8)})
        rules = rules_of_tp_plan({"*.up": "packed_colwise", "*.down": "rowwise", "*": "moe_tp_experts"})
        found = {name: next(spec for pattern, spec in rules if re.search(pattern, f"0.{name}")) for name in experts}
        self.assertEqual(found, {"up": [None, "tp"], "down": [None, None, "tp"]})
        with self.assertRaisesRegex(InputError, "h.0: a style 'local'"):
            rules_of_tp_plan({"h.0": "local"})

    def test_layout_of_dtensors(self) -> None:
        """A module parallelized over eight devices, seen from one: its shards are where the rules say."""
        at = {"dp": 2, "tp": 1}
        with a_process_group(8, rank=5):
            mesh = init_device_mesh("cpu", (4, 2), mesh_dim_names=("dp", "tp"))
            model = nn.Sequential(nn.Linear(16, 32), nn.Linear(32, 16), nn.LayerNorm(16))
            whole = {name: p.detach().clone() for name, p in model.named_parameters()}
            styles = {"0": ColwiseParallel(), "1": RowwiseParallel()}
            parallelize_module(model, mesh["tp"], styles, src_data_rank=None)
            for part in (*model, model):
                fully_shard(part, mesh=mesh["dp"])
            sizes, rules = layout_of_dtensors(model)
            self.assertEqual(sizes, {"dp": 4, "tp": 2})
            specs = {re.sub(r"[\^$\\]", "", pattern): spec for pattern, spec in rules}
            self.assertEqual(specs["0.weight"], [["tp", "dp"], None])  # tp cuts first, and dp what tp left
            self.assertEqual(specs["0.bias"], [["tp", "dp"]])
            self.assertEqual((specs["1.weight"], specs["1.bias"]), (["dp", "tp"], ["dp"]))
            self.assertEqual(specs["2.weight"], ["dp"])
            for name, p in model.named_parameters():
                piece = whole[name]
                for dim, entry in enumerate(specs[name]):
                    for axis in [entry] if isinstance(entry, str) else entry or []:
                        piece = piece.chunk(sizes[axis], dim)[at[axis]]
                np.testing.assert_array_equal(p.to_local().detach().numpy(), piece.numpy(), name)
            with self.assertRaisesRegex(InputError, "0.weight is a DTensor"):
                from_torch(model, normal(8, 16), mesh=sizes)
            both = nn.ParameterDict({"w": distribute_tensor(torch.arange(16.0), mesh, [Shard(0), Shard(0)])})
            self.assertEqual(layout_of_dtensors(both)[1], [("^w$", [["dp", "tp"]])])
            partial = nn.ParameterDict({"w": DTensor.from_local(torch.ones(4), mesh, [Partial(), Shard(0)])})
            with self.assertRaisesRegex(InputError, "w: a placement .* over 'dp'"):
                layout_of_dtensors(partial)
            unnamed = init_device_mesh("cpu", (8,))
            with self.assertRaisesRegex(InputError, "w: the device mesh has no dimension names"):
                layout_of_dtensors(nn.ParameterDict({"w": distribute_tensor(torch.ones(8), unnamed, [Shard(0)])}))
        with self.assertRaisesRegex(InputError, "no parameter or buffer of the module is a DTensor"):
            layout_of_dtensors(nn.Linear(2, 2))
        plain = nn.Sequential(nn.Linear(16, 32), nn.Linear(32, 16), nn.LayerNorm(16))
        traced = from_torch(plain, normal(8, 16), mesh=sizes, rules=rules)
        specs = {leaf.array.attrs["path"]: leaf.array.attrs["spec"] for leaf in traced._leaves.values()}
        self.assertEqual(specs["0.weight"], (("tp", "dp"), None))

    def test_sizes_alone(self) -> None:
        with torch.device("meta"):
            traced = from_torch(nn.Linear(4096, 8192), torch.empty(512, 4096), mesh={"a": 2})
        self.assertEqual(traced._arrays[0].shape, (512, 8192))

    def test_all_that_is_not_known_is_told_at_once(self) -> None:
        with self.assertRaises(InputError) as raised:
            from_torch(Random(), X, mesh={"a": 2})
        text = str(raised.exception)
        with open(__file__, encoding="utf-8") as source:
            line = next(k for k, text in enumerate(source, 1) if "the first line that is told" in text)
        for place, what in ((line, "_linalg_eigh"), (line + 1, "random numbers"), (line + 1, "item")):
            self.assertRegex(text, rf"test_torch[.]py:{place}: .*{what}")

    def test_arguments_that_are_not_known(self) -> None:
        """An argument that a handler does not read, and that is not its default, is refused, whatever the operation."""

        def least(c: Any) -> Any:
            return c.program.reduce("sum", c.array(c.self), [1])  # looks at no argument but one

        for name, fn in {"sum": lambda x: x.sum(1, keepdim=True), "topk": lambda x: x.topk(2, 1).values, "amax": lambda x: x.amax(1)}.items():
            from_torch(fn, X, mesh={"a": 2})
            with self.subTest(name), mock.patch.dict(HANDLERS, {name: least}):
                with self.assertRaisesRegex(InputError, "test_torch.py:.* with unsupported (dim|k)="):
                    from_torch(fn, X, mesh={"a": 2})

    def test_what_depends_on_values(self) -> None:
        with self.assertRaisesRegex(InputError, "test_torch.py:.*size depends on values"):
            from_torch(lambda i: torch.arange(i[0]).sum(), ints(5, 4), mesh={"a": 2})
        with self.assertRaisesRegex(InputError, "loss"):
            from_torch(lambda x: x * 2, X, mesh={"a": 2}, grad=True)


if __name__ == "__main__":
    unittest.main()
