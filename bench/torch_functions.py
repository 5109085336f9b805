#!/usr/bin/env python3
"""Trace PyTorch's functions one by one, and compare with PyTorch: torch_functions.py [--only REGEX] [--uses N] [--seed S] [--log FILE]

The functions are those of torch.testing's op_db, with its sample inputs, a quarter of them with other strides, and, where these
are few, with the same inputs at random shapes: N uses of each function, over float32, bfloat16, float64, complex64, complex128,
int64, int32 and bool as the function takes them.  A use is traced with the gradients of a weighted sum of its outputs, and executed over two devices along
the first dimension of each argument that divides (over one device if none does); a run also compares the devices with one device.
Random functions draw the same numbers on both sides.

A use is right if types and shapes are PyTorch's, whole numbers and booleans equal, and others nearer than the tolerance, or no
farther from PyTorch's result in float64 than twice PyTorch's own in the type; NaN and infinities are at the same places.
TOLERANCES are relative to an element's size plus a part of the largest element, of gradients at least of 1, as the weights are;
beyond that an element may differ from PyTorch's in float64 by SPREAD times as much as that differs if the last digit of each
argument changes.  Uses that PyTorch itself refuses, and arrays without elements, do not count.
Refused is a use with a sentence of the tracer, or of the program while it runs; whole numbers beyond 2^53 are refused there by the package; an exception's name in a sentence is a crash.
A function of which the tracer refuses all uses with a sentence is not known.  Needs shardsim, torch, numpy, scipy and expecttest.

SPDX-License-Identifier: Apache-2.0
"""

import argparse
import collections
import contextlib
import itertools
import json
import logging
import random
import re
import sys
import time
import traceback
import warnings
import zlib

import numpy as np
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

import shardsim
from shardsim.trace.complex_arrays import parts_of
from shardsim.trace.torch import from_torch

#: Relative errors, and the part of the largest element that an element counts as at least.
TOLERANCES = {torch.float32: (1e-4, 0.05), torch.bfloat16: (3e-2, 1.0), torch.float64: (1e-9, 0.02),
              torch.complex64: (1e-4, 0.05), torch.complex128: (1e-9, 0.02)}  # fmt: skip
#: Types that the tracer keeps in another, those of the parts of complex numbers, and the types in which a run returns arrays, where
#: they are others.
CARRIERS = {**dict.fromkeys((torch.int16, torch.int8, torch.uint8), "int32"), torch.complex64: "float32", torch.complex128: "float64"}
RETURNED = {"bfloat16": "float32"}
SHARES = {torch.float32: 0.4, torch.bfloat16: 0.15, torch.float64: 0.15, torch.complex64: 0.2, torch.complex128: 0.1, torch.int64: 0.1, torch.int32: 0.1, torch.bool: 0.1}
ELEMENTS_MOST = 20000
SPREAD = 8
SAMPLES_MOST = 200

#: Functions that are left out, with the reason.
LEFT_OUT = {
    **dict.fromkeys(("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"), "memory that is not initialized"),
    "nn.functional.rrelu": "its noise is no result of it",
}
#: Types of a function that are left out, with the reason.
TYPES_LEFT_OUT = {("nn.functional.hardsigmoid", torch.float64): "its gradient in PyTorch is multiplied by 1/6 in float32"}

#: Functions whose places are open where elements are equal, unless they are stable: their first argument has different ones.
OPEN_WHERE_EQUAL = ("kthvalue", "median", "mode", "nanmedian", "topk", "sort", "argsort", "msort")
#: Functions whose results have as many elements as values decide.
SIZED_BY_VALUES = ("masked_select", "nonzero", "argwhere")
CRASHES = re.compile(r"Error: |Error\)|Exception|fails while it is traced|PyTorch does not trace this|internal|Traceback")


def tensors_of(sample):
    leaves, tree = pytree.tree_flatten((sample.input, tuple(sample.args), dict(sample.kwargs)))
    return leaves, tree


def is_learned(t):
    return t.dtype.is_floating_point or t.dtype.is_complex


def in_double(t):
    return t.cdouble() if t.dtype.is_complex else t.double()


def resized(leaves, dtype, draw):
    """The same arguments at other sizes: sizes that are equal stay so.  None if the values may be positions."""
    tensors = [v for v in leaves if isinstance(v, torch.Tensor)]
    if not tensors or any(t.dtype not in (dtype, torch.bool) for t in tensors):
        return None
    sizes = sorted({n for t in tensors for n in t.shape})
    to = {n: n if n < 2 else draw.choice((1, 2, 3, 4, 5, 6, 8)) for n in sizes}

    def other(t):
        shape = [to[n] for n in t.shape]
        if not t.numel():
            return t.new_empty(shape)
        if t.dtype.is_complex:
            return torch.complex(other(t.real), other(t.imag))
        if t.dtype.is_floating_point:
            low, high = t[t.isfinite()].double().aminmax() if t.isfinite().any() else (0.0, 1.0)
            return (torch.rand(shape, dtype=torch.float64) * float(high - low) + float(low)).to(t.dtype)
        return t.reshape(-1)[torch.randint(t.numel(), shape)]

    return [other(v) if isinstance(v, torch.Tensor) else v for v in leaves]


def without_ties(sample):
    """The first tensor has other elements everywhere, where equal elements would leave the result open."""
    (t, *rest), tree = tensors_of(sample)
    return [(torch.randperm(t.numel()) - t.numel() // 2).to(t.dtype).reshape(t.shape), *rest], tree


def strided(t):
    """The same values with gaps between the elements of each row."""
    if not t.dim() or t.dtype.is_complex:
        return t
    wide = torch.zeros((*t.shape, 2), dtype=t.dtype)
    wide[..., 0] = t
    return wide[..., 0]


def fits(leaves):
    """Whether all tensors have elements, and not too many."""
    sizes = [v.numel() if v.layout == torch.strided else 0 for v in leaves if isinstance(v, torch.Tensor)]
    return 0 not in sizes and sum(sizes) <= ELEMENTS_MOST


def uses_of(op, dtype, count, seed):
    """Up to `count` argument lists in a type."""
    torch.manual_seed(seed)
    draw = random.Random(seed)
    samples = []
    with contextlib.suppress(Exception):  # a sample that does not suit the type
        for sample in itertools.islice(op.sample_inputs_func(op, "cpu", dtype, requires_grad=False), SAMPLES_MOST):
            if op.full_name not in OPEN_WHERE_EQUAL or sample.kwargs.get("stable"):
                samples.append(tensors_of(sample))
            elif dtype != torch.bool and sample.input.numel() < 256:
                samples.append(without_ties(sample))
    draw.shuffle(samples)
    samples = [s for s in samples if fits(s[0])]
    made = samples[:count]
    for k in range(count - len(made)):
        if not samples or "cholesky" in op.full_name or "linalg" in op.full_name:
            break  # matrices that have to be positive definite, or regular
        leaves, tree = draw.choice(samples)
        other = resized(leaves, dtype, draw)
        if other is not None and fits(other):
            made.append((other, tree))
    return [([strided(v) if isinstance(v, torch.Tensor) and k % 4 == 3 else v for v in leaves], tree) for k, (leaves, tree) in enumerate(made)]


def weighted(op, v):
    """The sum of an output, with a weight for each place if the number of places is known."""
    weights = 1.5 if op.full_name in SIZED_BY_VALUES else torch.linspace(-1, 1.5, v.numel(), dtype=torch.float64).view(v.shape)
    return (v.double() * weights).sum()


def function_of(op, leaves, tree):
    """A function of the tensors alone: a loss, and the outputs."""
    call = op.get_op()

    def use(*tensors):
        rest = iter(tensors)
        input, args, kwargs = pytree.tree_unflatten([next(rest) if isinstance(v, torch.Tensor) else v for v in leaves], tree)
        made = call(input, *args, **kwargs)
        outputs = [v for v in pytree.tree_leaves(made) if isinstance(v, torch.Tensor)]
        learned = [torch.view_as_real(v.resolve_conj()) if v.dtype.is_complex else v for v in outputs if is_learned(v)]
        loss = sum([weighted(op, v) for v in learned], torch.zeros((), dtype=torch.float64))
        return loss, outputs

    return use


def framework(use, tensors, grad, seed):
    """Outputs and gradients of PyTorch itself."""
    torch.manual_seed(seed)
    leaves = [torch.empty_strided(t.shape, t.stride(), dtype=t.dtype).copy_(t).requires_grad_(grad and is_learned(t)) for t in tensors]
    loss, outputs = use(*leaves)
    if grad and loss.requires_grad:
        loss.backward()
    gradients = [None if not leaf.requires_grad else torch.zeros_like(leaf) if leaf.grad is None else leaf.grad for leaf in leaves]
    return [v.detach() for v in outputs], gradients if grad else [None] * len(leaves)


def off(got, want, traced, least=0.0, exact=None, spread=None):
    """How a result differs, or None; `traced` is its type in the traced program, the largest element counts as
    `least` at least, `exact` is the result in float64, and `spread` how much that depends on roundings."""
    dtype = want.dtype
    kind = CARRIERS.get(dtype, str(dtype)[6:])
    if traced != kind or str(got.dtype) != (str(dtype)[6:] if dtype.is_complex else RETURNED.get(kind, kind)):
        return f"type {traced} in {got.dtype}, expected {kind}"
    if tuple(got.shape) != tuple(want.shape):
        return f"shape {tuple(got.shape)}, expected {tuple(want.shape)}"
    if not is_learned(want):
        expected = want.numpy(force=True)
        bad = got.astype(np.float64) != expected.astype(np.float64)
        return f"{int(bad.sum())} of {bad.size} differ: {got[bad][0]}, expected {expected[bad][0]}" if bad.any() else None
    expected, got = in_double(want).numpy(force=True), got.astype(np.complex128 if dtype.is_complex else np.float64)
    finite = np.abs(expected[np.isfinite(expected)])
    relative, part = TOLERANCES.get(dtype, TOLERANCES[torch.bfloat16])
    allowed = relative * (np.abs(expected) + part * max(finite.max() if finite.size else 0.0, least)) + 1e-30
    with np.errstate(all="ignore"):
        good = (got == expected) | (np.isnan(got) & np.isnan(expected)) | (np.abs(got - expected) <= allowed)
        if exact is not None and exact.shape == want.shape:
            exact = in_double(exact).numpy(force=True)
            good |= np.abs(got - exact) <= 2 * np.abs(expected - exact) + allowed / 10 + SPREAD * spread
            good |= np.isinf(expected) & (got == exact)  # an overflow inside of PyTorch's
    at = np.argwhere(~good)
    if not len(at):
        return None
    first = tuple(at[0])
    return f"{len(at)} of {good.size} off: {got[first]:.7g}, expected {expected[first]:.7g}"


def in_float64(op, dtype, leaves, tree, grad, seed):
    """Outputs and gradients of PyTorch in float64, and how much they change with the last digits of the arguments."""
    found = []
    for k in range(4):
        torch.manual_seed(seed + k)
        near = [in_double(v) if isinstance(v, torch.Tensor) and v.dtype == dtype else v for v in leaves]
        if k:
            near = [v * (1 + (torch.rand(v.shape, dtype=torch.float64) * 2 - 1) * torch.finfo(dtype).eps)
                    if isinstance(v, torch.Tensor) and v.dtype in (torch.float64, torch.complex128) else v for v in near]  # fmt: skip
        outputs, gradients = framework(function_of(op, near, tree), [v for v in near if isinstance(v, torch.Tensor)], grad, seed)
        found.append([*outputs, *(g for g in gradients if g is not None)])
    exact, *others = found
    spreads = [np.max([(in_double(o) - in_double(e)).abs().numpy(force=True) for o in each], axis=0) for e, *each in zip(exact, *others)]
    return list(zip(exact, spreads))


def layout(tensors, draw):
    """Two devices along each argument's first dimension that divides."""
    rules = []
    for k, t in enumerate(tensors):
        at = next((a for a, n in enumerate(t.shape) if n and n % 2 == 0), None)
        if at is not None:
            rules.append((f"^arg{k}$|^tensors.{k}$", (*[None] * at, "dp")))
    return ({"dp": 2}, rules) if rules else ({"dp": 1}, [])


def judged(op, dtype, leaves, tree, seed):
    """The outcome of a use, and why."""
    tensors = [v for v in leaves if isinstance(v, torch.Tensor)]
    use = function_of(op, leaves, tree)
    grad = is_learned(torch.empty(0, dtype=dtype)) and op.supports_autograd
    try:
        wanted, gradients = framework(use, tensors, grad, seed)
    except Exception:
        grad = False
        try:
            wanted, gradients = framework(use, tensors, grad, seed)
        except Exception:
            return "none", ""
    if not wanted or any(not v.numel() for v in wanted):
        return "none", ""
    mesh, rules = layout(tensors, random.Random(seed))
    at_run = False
    try:
        torch.manual_seed(seed)
        traced = from_torch(use, *tensors, mesh=mesh, rules=rules, grad=grad)
        at_run = True
        ran = traced.run()
    except shardsim.InputError as error:
        text = str(error)
        if CRASHES.search(text):
            return "crash", text
        return "refused by the program" if at_run and ": error:" in text else "refused by the tracer", text
    except Exception as error:
        return "crash", f"{type(error).__name__}: {str(error)[:300]} {traceback.format_exc().splitlines()[-3:]}"
    faults = [] if ran.verify.ok else ["devices differ from one device"]
    made = [np.asarray(v) for v in (*ran.outputs[1], *ran.gradients.values())]
    wanted += [g for g in gradients if g is not None]
    least = [0.0] * len(ran.outputs[1]) + [1.0] * len(ran.gradients)
    kinds = [parts_of(x)[0].dtype for x in traced._outputs[1 : 1 + len(made)]]  # behind the loss
    compared = [off(got, want, kind, n) for got, want, kind, n in zip(made, wanted, kinds, least, strict=True)]
    if any(compared) and is_learned(torch.empty(0, dtype=dtype)):
        with contextlib.suppress(ZeroDivisionError):
            exact = in_float64(op, dtype, leaves, tree, grad, seed)
            compared = [off(got, want, kind, n, *near) for got, want, kind, n, near in zip(made, wanted, kinds, least, exact, strict=True)]
    faults += [f"result {k}: {fault}" for k, fault in enumerate(compared) if fault]
    return ("wrong", "; ".join(faults)) if faults else ("right", "")


def described(leaves, tree):
    """The arguments as text."""
    short = [f"{str(v.dtype)[6:]}{list(v.shape)}" if isinstance(v, torch.Tensor) else v for v in leaves]
    input, args, kwargs = pytree.tree_unflatten(short, tree)
    return ", ".join([str(input), *(str(a) for a in args), *(f"{k}={v}" for k, v in kwargs.items())])


def uses(op, count, seed):
    """Uses of a function over its types."""
    kinds = [d for d in SHARES if d in op.supported_dtypes("cpu") and (op.full_name, d) not in TYPES_LEFT_OUT]
    total = sum(SHARES[d] for d in kinds)
    for dtype in kinds:
        own = zlib.crc32(f"{op.full_name}/{dtype}/{seed}".encode())
        for k, (leaves, tree) in enumerate(uses_of(op, dtype, max(1, round(count * SHARES[dtype] / total)), own)):
            yield dtype, leaves, tree, own + k


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--only", default="")
    options.add_argument("--uses", type=int, default=50)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--log", default="")
    given = options.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.ERROR)
    torch.set_num_threads(1)
    start = time.process_time()
    log = open(given.log, "w", encoding="utf-8") if given.log else None
    known, unknown, total = {}, {}, collections.Counter()
    for op in op_db:
        if op.full_name in LEFT_OUT or not re.search(given.only, op.full_name):
            continue
        found = collections.Counter()
        for dtype, leaves, tree, seed in uses(op, given.uses, given.seed):
            outcome, why = judged(op, dtype, leaves, tree, seed)
            found[outcome] += 1
            if outcome not in ("right", "none"):
                line = {"name": op.full_name, "dtype": str(dtype)[6:], "seed": seed, "outcome": outcome, "why": why, "use": described(leaves, tree)}
                if log:
                    print(json.dumps(line), file=log, flush=True)
                elif given.only:
                    print(f"{outcome}: {op.full_name}({line['use']}): {why}")
        del found["none"]
        if found.total() > found["refused by the tracer"]:
            known[op.full_name] = found
            total += found
        elif found:
            unknown[op.full_name] = found
        if sum(found.values()):
            print(op.full_name, dict(found), file=sys.stderr, flush=True)
    print(f"torch {torch.__version__}, {time.process_time() - start:.0f} CPU seconds of this process\n")
    print("| outcome | uses |\n|---|--:|")
    for outcome in ("right", "refused by the tracer", "refused by the program", "wrong", "crash"):
        print(f"| {outcome} | {total[outcome]:,} |")
    print(f"\n{len(known)} functions are known, {len(unknown)} are not: {', '.join(unknown)}")


if __name__ == "__main__":
    main()
