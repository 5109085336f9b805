"""Random convolutions, reshapes, transposes, sorts and reductions of JAX and PyTorch, of every type, with gradients.

Each is executed and equals the framework's own, or is refused with a place.  As a script it tries as many as asked and counts:
`python3 test_random_ops.py 700 5` (seed 5).
"""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import collections
import dataclasses
import importlib.util
import os
import sys
import unittest
import warnings
from typing import Any, Callable, Dict, Iterator, List, Tuple

try:
    import numpy as np
except ImportError as error:
    raise unittest.SkipTest("numpy is not installed") from error

from shardsim import InputError

Case = Tuple[str, Callable[..., Any], List[Any], bool]  # with a gradient or without

#: Errors of one rounding, by types.
ROUNDING = {"float64": 1e-11, "float32": 3e-5, "float16": 1e-2, "bfloat16": 6e-2}

#: Between which numbers whole ones of 32 bits are drawn.
ENDS = {"int32": (-(2**31), 2**31), "uint32": (0, 2**32)}

#: How many are tried when the tests run: every night all that docs/jax.md tells of.
CASES = 700 if os.environ.get("SHD_TEST_TIER") == "nightly" else 24


class Draw:
    """Random numbers of one case."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.RandomState(seed)

    def of(self, *choices: Any) -> Any:
        return choices[self.random.randint(len(choices))]

    def below(self, first: int, last: int) -> int:
        return int(self.random.randint(first, last + 1))

    def shape(self, rank: int) -> List[int]:
        return [self.below(1, 5) for _ in range(rank)]

    def array(self, shape: List[int], kind: str, smooth: bool = False) -> Any:
        """Random numbers of a type: integers over the whole range, floats with infinities and NaN unless smooth."""
        if kind == "bool":
            return self.random.randint(0, 2, shape).astype(bool)
        if kind.startswith(("int", "uint")):
            ends = np.iinfo(kind)
            few = self.of(True, False)
            low, high = (max(int(ends.min), -4), 5) if few else (max(int(ends.min), -(2**40)), min(int(ends.max), 2**40) + 1)
            return self.random.randint(low, high, shape, dtype=np.int64).astype(kind)
        x = self.random.randn(*shape)
        if not smooth and self.of(True, False):
            x = np.round(x)
            x[self.random.rand(*shape) < 0.2] = self.of(np.nan, np.inf, -np.inf)
        return x.astype("float32" if kind == "bfloat16" else kind)


# ---- what is drawn


def jax_convolution(d: Draw) -> Case:
    import jax
    from jax import lax

    space, groups = d.below(1, 2), d.below(1, 3)
    batches = d.of(1, 1, 2)
    groups = groups if batches == 1 else 1
    letters = "HW"[:space]
    layout = d.of(("N" + letters + "C", letters + "IO", "N" + letters + "C"), ("NC" + letters, "OI" + letters, "NC" + letters))
    inside = d.below(1, 2)
    sizes = {"N": 2 * batches, "C": inside * groups, "I": inside, "O": d.below(1, 2) * groups * batches}
    x = d.array([sizes.get(c) or d.below(5, 8) for c in layout[0]], "float32", True)
    w = d.array([sizes.get(c) or d.below(1, 3) for c in layout[1]], "float32", True)
    padding = d.of("SAME", "VALID", [(d.below(0, 2), d.below(-1, 2)) for _ in letters])
    stride, dilation, spread = ([d.of(1, 1, 2, 3) for _ in letters] for _ in range(3))
    spread = spread if padding != "SAME" else [1] * space

    def fn(x: Any, w: Any) -> Any:
        return lax.conv_general_dilated(x, w, stride, padding, [min(s, 2) for s in spread], dilation, layout,
                                        feature_group_count=groups, batch_group_count=batches)  # fmt: skip

    return f"jax convolution {x.shape} {w.shape} {stride} {padding} {spread} {dilation} {layout[0]} {groups} {batches}", fn, [jax.numpy.asarray(x), jax.numpy.asarray(w)], True


def torch_convolution(d: Draw) -> Case:
    import torch
    from torch.nn import functional as F

    space, groups, turned = d.below(1, 3), d.below(1, 3), d.of(False, False, True)
    inside, out = d.below(1, 2), d.below(1, 2)
    x = d.array([2, inside * groups, *(d.below(5, 7) for _ in range(space))], "float32", True)
    taps = [d.below(1, 3) for _ in range(space)]
    w = d.array([inside * groups, out, *taps] if turned else [out * groups, inside, *taps], "float32", True)
    b = d.array([out * groups], "float32", True)
    stride, dilation, padding = ([d.of(*c) for _ in range(space)] for c in ((1, 2, 3), (1, 2), (0, 1)))
    name = f"conv{'_transpose' if turned else ''}{space}d"
    options: Dict[str, Any] = {"stride": stride, "dilation": dilation, "groups": groups, "padding": padding}

    def fn(x: Any, w: Any, b: Any) -> Any:
        return getattr(F, name)(x, w, b, **options)

    return f"torch {name} {x.shape} {w.shape} {options}", fn, [torch.from_numpy(v) for v in (x, w, b)], True


def jax_op(d: Draw) -> Case:
    import jax
    import jax.numpy as jnp
    from jax import lax

    kind = d.of("float32", "float32", "float16", "bfloat16", "int32", "uint32", "uint32", "bool", "int8", "uint8", "int16")
    rank = d.below(1, 3)
    shape, axis = d.shape(rank), d.below(0, rank - 1)
    order = [int(a) for a in d.random.permutation(rank)]
    axes = tuple(order[: d.below(1, rank)])
    total = int(np.prod(shape))
    flat = d.of([total], [1, total], [total, 1, 1], *([[2, total // 2]] if total % 2 == 0 else []))
    back = bool(d.below(0, 1))
    to = d.of("float32", "int32", "uint32", "bool", "float16")
    smooth: Dict[str, Callable[..., Any]] = {
        f"reshape {flat} {order}": lambda x, y: lax.reshape(x, flat, order), f"transpose {order}": lambda x, y: jnp.transpose(x, order),
        "ravel F": lambda x, y: jnp.ravel(x, order="F"), f"sum {axes}": lambda x, y: jnp.sum(x, axes), f"prod {axes}": lambda x, y: jnp.prod(x, axes),
        f"max {axes}": lambda x, y: jnp.max(x, axes), f"min {axes}": lambda x, y: jnp.min(x, axes, keepdims=True), f"sort {axis}": lambda x, y: jnp.sort(x, axis),
        f"cumsum {axis} {back}": lambda x, y: lax.cumsum(x, axis, back), f"flip {axis}": lambda x, y: jnp.flip(x, axis), f"roll {axis}": lambda x, y: jnp.roll(x, 2, axis),
        f"mean {axes}": lambda x, y: jnp.mean(x, axes), "maximum": lambda x, y: jnp.maximum(x, y), "times": lambda x, y: x * y, "minus": lambda x, y: x - y,
        "clip": lambda x, y: jnp.clip(x, y, 3), f"cumprod {axis} {back}": lambda x, y: lax.cumprod(x, axis, back), "where": lambda x, y: jnp.where(x > y, x, y),
        f"concatenate {axis}": lambda x, y: jnp.concatenate([x, y, x], axis), "pad": lambda x, y: jnp.pad(x, [(1, 2)] * rank),
        "tile": lambda x, y: jnp.tile(x, 2), "repeat": lambda x, y: jnp.repeat(x, 2, axis), "every other": lambda x, y: x[..., ::2], "swapped": lambda x, y: jnp.swapaxes(x, 0, -1),
    }  # fmt: skip
    other: Dict[str, Callable[..., Any]] = {
        f"argsort {axis} {back}": lambda x, y: jnp.argsort(x, axis, descending=back), f"argmax {axis}": lambda x, y: jnp.argmax(x, axis), f"argmin {axis}": lambda x, y: jnp.argmin(x, axis),
        "top_k": lambda x, y: lax.top_k(x + jnp.zeros_like(x), min(2, shape[-1])), f"cummax {axis} {back}": lambda x, y: lax.cummax(x, axis, back), f"cummin {axis}": lambda x, y: lax.cummin(x, axis, back),
        "quotient": lambda x, y: x // y, "rest": lambda x, y: lax.rem(x, y), "remainder": lambda x, y: jnp.remainder(x, y), f"as {to}": lambda x, y: x.astype(to),
        "compared": lambda x, y: (x < y, x <= y, x == y, x != y, x > 3), f"any {axes}": lambda x, y: (jnp.any(x, axes), jnp.all(x, axes)), "sign": lambda x, y: (jnp.sign(x), jnp.abs(x), -x),
        f"sort by two {axis}": lambda x, y: lax.sort((x, y, x), axis, num_keys=2), "bits": lambda x, y: (x & y, x | y, x ^ y, ~x), "shift": lambda x, y: (x << 3, x >> 2),
        f"unique order {axis}": lambda x, y: jnp.take_along_axis(y, jnp.argsort(x, axis), axis), "minimum": lambda x, y: jnp.minimum(x, y), "halved": lambda x, y: x / 2,
        "fewer bits": lambda x, y: lax.reduce_precision(x, d.of(5, 8), 7), "nonzero count": lambda x, y: jnp.count_nonzero(x, axis), "integer power": lambda x, y: x**3,
        f"added at ids {axis}": lambda x, y: jnp.swapaxes(x, 0, axis).at[(ids := jnp.arange(shape[axis]) // 2)].add(jnp.swapaxes(y, 0, axis)).at[ids[::-1]].add(3),
        f"product {axis}": lambda x, y: jnp.tensordot(x, y, (axis, axis)),
        f"extremes {axes}": lambda x, y: (jnp.max(x, axes), jnp.min(x, axes)), "median": lambda x, y: jnp.sort(x.ravel())[total // 2], "dot": lambda x, y: jnp.vdot(x, y),
    }  # fmt: skip
    gradient = kind == "float32" and d.of(True, False)
    name = d.of(*sorted(smooth if gradient else {**smooth, **other}))
    if name == "fewer bits":
        bits = d.of(5, 8)
        other[name] = lambda x, y: lax.reduce_precision(x, bits, 7)
    args = [jax.numpy.asarray(d.array(shape, kind, gradient), kind) for _ in range(2)]
    return f"jax {kind} {shape} {name}", {**smooth, **other}[name], args, gradient


def torch_op(d: Draw) -> Case:
    import torch

    kind = d.of("float32", "float32", "float64", "float16", "bfloat16", "int64", "int64", "int32", "bool", "uint8", "int8", "int16")
    rank = d.below(1, 3)
    shape, axis = d.shape(rank), d.below(0, rank - 1)
    order = [int(a) for a in d.random.permutation(rank)]
    axes = tuple(order[: d.below(1, rank)])
    total, back = int(np.prod(shape)), bool(d.below(0, 1))
    flat = d.of([total], [1, total], [total, 1, 1], [-1], *([[2, total // 2]] if total % 2 == 0 else []))
    to = d.of(torch.float32, torch.float64, torch.int32, torch.int64, torch.bool, torch.float16)
    smooth: Dict[str, Callable[..., Any]] = {
        f"reshape {order} {flat}": lambda x, y: x.permute(order).reshape(flat), f"permute {order}": lambda x, y: x.permute(order), f"sum {axes}": lambda x, y: x.sum(axes),
        f"prod {axis}": lambda x, y: x.prod(axis), f"amax {axes}": lambda x, y: x.amax(axes, keepdim=back), f"amin {axes}": lambda x, y: x.amin(axes),
        f"max {axis}": lambda x, y: x.max(axis).values, f"sort {axis} {back}": lambda x, y: x.sort(axis, descending=back, stable=True).values, f"cumsum {axis}": lambda x, y: x.cumsum(axis),
        f"flip {axis}": lambda x, y: x.flip(axis), f"roll {axis}": lambda x, y: x.roll(2, axis), f"mean {axes}": lambda x, y: x.mean(axes), "maximum": lambda x, y: torch.maximum(x, y),
        "times": lambda x, y: x * y, "minus": lambda x, y: x - 2 * y, "clamp": lambda x, y: x.clamp(-1, 3), "where": lambda x, y: torch.where(x > y, x, y),
        f"cat {axis}": lambda x, y: torch.cat([x, y, x], axis), "pad": lambda x, y: torch.nn.functional.pad(x, (1, 2)), "repeat": lambda x, y: x.repeat_interleave(2, axis),
        "every other": lambda x, y: x[..., ::2], "var": lambda x, y: x.var(axis, correction=0), f"logsumexp {axis}": lambda x, y: x.logsumexp(axis), f"softmax {axis}": lambda x, y: x.softmax(axis),
        f"topk {axis} {back}": lambda x, y: x.topk(1, axis, largest=back).values, f"cumprod {axis}": lambda x, y: x.cumprod(axis), f"norm {axis}": lambda x, y: x.norm(dim=axis),
    }  # fmt: skip
    other: Dict[str, Callable[..., Any]] = {
        f"argsort {axis} {back}": lambda x, y: x.argsort(axis, descending=back, stable=True), f"argmax {axis}": lambda x, y: x.argmax(axis, keepdim=back), f"argmin {axis}": lambda x, y: x.argmin(axis),
        f"places {axis}": lambda x, y: (x.max(axis).indices, x.min(axis).values), "quotient": lambda x, y: x // y, "rest": lambda x, y: x % y, "fmod": lambda x, y: torch.fmod(x, y),
        f"as {to}": lambda x, y: x.to(to), "compared": lambda x, y: [x < y, x <= y, x == y, x != y, x > 3], f"any {axis}": lambda x, y: [x.any(axis), x.all(axis)],
        "sign": lambda x, y: [x.sign(), x.abs(), -x], "bits": lambda x, y: [x & y, x | y, x ^ y, ~x], "shift": lambda x, y: [x << 3, x >> 2], "minimum": lambda x, y: torch.minimum(x, y),
        f"gathered {axis}": lambda x, y: y.gather(axis, x.argsort(axis, stable=True)), "halved": lambda x, y: x / 2, "extremes": lambda x, y: [x.max(), x.min(), x.argmax()],
        "divided": lambda x, y: torch.div(x, y, rounding_mode=d.of("floor", "trunc")), "counted": lambda x, y: [(x > 0).sum(axis), x.count_nonzero(axis)], "cube": lambda x, y: x**3,
        f"added at ids {axis}": lambda x, y: x.index_add(axis, torch.arange(shape[axis]) // 2, y), f"product {axis}": lambda x, y: torch.tensordot(x % 50, y % 50, ([axis], [axis])),
        "dot": lambda x, y: (x * y).sum(), "all of it": lambda x, y: [x.sum(), x.prod(), x.amax()],
    }  # fmt: skip
    gradient = kind in ("float32", "float64") and d.of(True, False)
    if kind not in ("float16", "bfloat16"):  # a chain of functions is one kernel, which rounds to 16 bits at its end
        other["hashed"] = lambda x, y: (x * 1_000_003 + y) % 97
    name = d.of(*sorted(smooth if gradient else {**smooth, **other}))
    if name == "divided":
        mode = d.of("floor", "trunc")
        other[name] = lambda x, y: torch.div(x, y, rounding_mode=mode)
    args = [torch.from_numpy(d.array(shape, kind, gradient)).to(getattr(torch, kind)) for _ in range(2)]
    return f"torch {kind} {shape} {name}", {**smooth, **other}[name], args, gradient


# ---- what is right


def leaves(value: Any) -> List[Any]:
    return [leaf for v in value for leaf in leaves(v)] if isinstance(value, (list, tuple)) else [value]


def as_numpy(value: Any) -> Any:
    if hasattr(value, "detach"):
        value = value.detach()
        return value.float().numpy() if "bfloat16" in str(value.dtype) else value.numpy()
    array = np.asarray(value)
    return array.astype(np.float32) if str(array.dtype) == "bfloat16" else array


def jax_both(fn: Callable[..., Any], args: List[Any], gradient: bool) -> Tuple[Any, Callable[[], Any]]:
    import jax
    import jax.numpy as jnp
    from shardsim.trace.jax import from_jax

    def loss(*args: Any) -> Any:
        made = fn(*args)
        return jnp.sum(made * ((7 * jnp.arange(made.size) % 11) / 8 - 0.5).reshape(made.shape).astype(made.dtype))

    tried = jax.grad(loss, tuple(range(len(args)))) if gradient else fn
    want = [tried(*args), fn(*args)] if gradient else jax.jit(tried)(*args)
    specs = [("^x$", ("dp",))] if args[0].shape[0] % 2 == 0 else []
    step = (lambda *args: [tried(*args), fn(*args)]) if gradient else tried
    return want, lambda: from_jax(step, *args, mesh={"dp": 2}, in_specs=specs).run()


def torch_both(fn: Callable[..., Any], args: List[Any], gradient: bool) -> Tuple[Any, Callable[[], Any]]:
    import torch
    from shardsim.trace.torch import from_torch

    rules = [("^x$", ("dp",))] if args[0].shape[0] % 2 == 0 else []
    if not gradient:
        return fn(*args), lambda: from_torch(fn, *args, mesh={"dp": 2}, rules=rules).run()

    def loss(*args: Any) -> Any:
        made = fn(*args)
        return (made * ((7 * torch.arange(made.numel()) % 11) / 8 - 0.5).reshape(made.shape).to(made.dtype)).sum(), made

    def run() -> Any:
        names: List[Callable[..., Any]] = [lambda x, y: loss(x, y), lambda x, y, b: loss(x, y, b)]
        named = names[len(args) - 2]
        ran = from_torch(named, *args, mesh={"dp": 2}, rules=rules, grad=True).run()
        return dataclasses.replace(ran, outputs=[*ran.gradients.values(), ran.outputs[1]])

    owned = [a.clone().requires_grad_() for a in args]
    total, made = loss(*owned)
    grads = torch.autograd.grad(total, owned, allow_unused=True)
    return [*(torch.zeros_like(a) if g is None else g for a, g in zip(owned, grads)), made], run


def judged(got: Any, want: Any) -> bool:
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape:
        return False
    if want.dtype.kind != "f":
        return bool(np.array_equal(got, want))
    finite = np.isfinite(want)
    size = float(np.abs(want[finite]).max()) if finite.any() else 0.0
    with np.errstate(invalid="ignore"):
        same = (got == want) | (np.isnan(got) & np.isnan(want)) | (finite & (np.abs(got - want) <= TOLERANCE[0] * (np.abs(want) + size)))
    return bool(same.all())


TOLERANCE = [0.0]


def tried(case: Case, both: Callable[..., Any]) -> Tuple[str, str]:
    """The verdict (right, refused or wrong), and the observed values."""
    name, fn, args, gradient = case
    TOLERANCE[0] = next((ROUNDING[k] for k in ROUNDING if k in name or k in str(args[0].dtype)), ROUNDING["float32"])
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            want, run = both(fn, args, gradient)
    except Exception:  # the framework itself has no such function of this type
        return "none", ""
    try:
        ran = run()
    except InputError as error:
        placed = ".py:" in str(error) or "is an array of" in str(error)
        return ("refused" if placed else "wrong"), str(error)[-200:]
    except Exception as error:
        return "wrong", f"{type(error).__name__}: {str(error)[:300]}"
    gots, wants = leaves(ran.outputs), [as_numpy(v) for v in leaves(want)]
    for got, need in zip(gots, wants):
        if not judged(got, need):
            return "wrong", f"is {np.asarray(got).ravel()[:8]}, not {need.ravel()[:8]}; of {[as_numpy(a).ravel()[:12] for a in args]}"
    return ("right", "") if ran.verify.ok and len(gots) == len(wants) else ("wrong", "not verified")


def kinds() -> Iterator[Tuple[Callable[[Draw], Case], Callable[..., Any]]]:
    try:
        import jax  # noqa: F401

        yield jax_convolution, jax_both
        yield jax_op, jax_both
        yield jax_op, jax_both
    except ImportError:
        pass
    try:
        import torch  # noqa: F401

        yield torch_convolution, torch_both
        yield torch_op, torch_both
        yield torch_op, torch_both
    except ImportError:
        pass


def many(count: int, seed: int) -> "collections.Counter[str]":
    """Try a number of cases, and report failures."""
    table = list(kinds())
    if not table:
        raise unittest.SkipTest("neither JAX nor PyTorch is installed")
    found: "collections.Counter[str]" = collections.Counter()
    at = 0
    while sum(found.values()) < count:
        draw, both = table[at % len(table)]
        case = draw(Draw((seed * 1_000_003 + at) % 2**32))
        verdict, said = tried(case, both)
        at += 1
        if verdict == "none":
            continue
        found[verdict] += 1
        if verdict == "wrong" or (verdict == "refused" and "-v" in sys.argv):
            print(f"{verdict} (seed {seed}, number {at - 1}): {case[0]}: {said}", flush=True)
    return found


class Random(unittest.TestCase):
    def test_equal_or_refused(self) -> None:
        found = many(CASES, int(os.environ.get("SHD_TEST_TURN", "1")))
        self.assertEqual(found["wrong"], 0)
        self.assertGreater(found["right"], found["refused"])

    @unittest.skipUnless(importlib.util.find_spec("jax"), "JAX is not installed")
    def test_whole_numbers_begin_anew_beyond_32_bits(self) -> None:
        """Products, sums at ids and cumulative products of int32 and uint32, executed."""
        import jax.numpy as jnp
        from jax import lax

        rows: Dict[str, Callable[..., Any]] = {
            "product": lambda x, y: (x // 2**9) @ (y // 2**9).T,
            "small product": lambda x, y: jnp.einsum("ab,ab->a", x % 9, y % 7),
            "at ids": lambda x, y: x.at[jnp.array([1, 1, 0])].add(y[:3]),
            "at ids of rows": lambda x, y: jnp.zeros_like(x).at[jnp.arange(4)[:, None], jnp.abs(y % 5).astype("int32")].add(x),
            "to words and back": lambda x, y: (x.astype("float32") * jnp.float32(-2.5)).astype("uint32") - (y / 3).astype("uint32"),
            "products so far": lambda x, y: (lax.cumprod(x, 1), lax.cumprod(y, 0, True)),
        }
        for kind in ("int32", "uint32"):
            random = np.random.RandomState(7)
            args = [jnp.asarray(random.randint(*ENDS[kind], (4, 5), dtype=np.int64), kind) for _ in range(2)]
            for name, fn in rows.items():
                with self.subTest(f"{kind} {name}"):
                    self.assertEqual(tried((name, fn, args, False), jax_both), ("right", ""))

    @unittest.skipUnless(importlib.util.find_spec("jax"), "JAX is not installed")
    def test_an_argument_of_another_type_is_named(self) -> None:
        import jax.numpy as jnp
        from shardsim.trace.jax import from_jax

        with self.assertRaisesRegex(InputError, "'x/small' is an array of int8; known are float32"):
            from_jax(lambda x: x["small"], {"small": jnp.ones(3, "int8")}, mesh={"a": 1})


if __name__ == "__main__":
    numbers = [int(a) for a in sys.argv[1:] if a.isdigit()]
    made = many(*(numbers + [700, 1][len(numbers) :]))
    print(f"right {made['right']}, refused {made['refused']}, wrong {made['wrong']}")
    sys.exit(made["wrong"] > 0)
